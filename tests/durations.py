"""Where the time of the tests goes, by folder and file, from the log of a run with ``--durations=0``.

``python tests/durations.py LOG`` prints the tables; with ``benchmarks/results/test_durations.md`` as a second argument
they replace what stands there under "After".
"""

from __future__ import annotations

import re
import sys
from pathlib import Path, PurePosixPath

LINE = re.compile(r"\s*([\d.]+)s (?:call|setup|teardown)\s+(\S+?\.\w+)(?:::|$)")
END = re.compile(r"=* ?(\d+ passed.*?) in ([\d.]+)s")
N_FILES = 20  # the longest
AFTER = "## After\n"


def read_durations(text: str) -> dict[str, float]:
    """Add up seconds by file, of calls, setups and teardowns; pytest leaves out those below 5 ms."""
    seconds: dict[str, float] = {}
    for line in text.splitlines():
        if found := LINE.match(line):
            seconds[found[2]] = seconds.get(found[2], 0.0) + float(found[1])
    return seconds


def folder_of(file: str) -> str:
    """Return the folder that a file is counted with: tests/FOLDER, or src for doctests."""
    parts = PurePosixPath(file).parts
    return "src (doctests)" if parts[0] == "src" else "/".join(parts[:2] if len(parts) > 2 else parts[:1])


def describe(text: str) -> str:
    """Return a Markdown table by folder, and one of the longest files."""
    files = read_durations(text)
    folders: dict[str, float] = {}
    for file, seconds in files.items():
        folders[folder_of(file)] = folders.get(folder_of(file), 0.0) + seconds
    total = sum(files.values())
    end = END.search(text)
    lines = [f"{end[1]}; {float(end[2]):,.0f} s by the clock, {total:,.0f} s summed over processes." if end else ""]
    for head, counts, n in (("folder", folders, None), (f"file (the {N_FILES} longest)", files, N_FILES)):
        lines += ["", f"| {head} | seconds | share |", "|---|---:|---:|"]
        longest = sorted(counts.items(), key=lambda one: one[1], reverse=True)[:n]
        lines += [f"| {name} | {value:,.1f} | {value / total:.1%} |" for name, value in longest]
    return "\n".join(lines)


def main(log: str, page: str | None = None) -> None:
    """Print the tables of a log, or put them under "After" on a page."""
    found = describe(Path(log).read_text("utf-8", errors="replace"))
    if page is None:
        print(found)
    else:
        kept = Path(page).read_text("utf-8").partition(AFTER)[0]
        Path(page).write_text(f"{kept}{AFTER}\n{found}\n", "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
