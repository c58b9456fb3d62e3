"""Where the time of the tests goes: ``python tests/durations.py LOG`` makes a table of a log with ``--durations=0``."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path, PurePosixPath

LINE = re.compile(r"\s*([\d.]+)s (?:call|setup|teardown)\s+(\S+?\.\w+)(?:::|$)")
END = re.compile(r"=* ?(\d+ passed.*?) in ([\d.]+)s")
N_FILES = 20  # the longest


def read_durations(text: str) -> Counter[str]:
    """Add up seconds by file, of calls, setups and teardowns; pytest leaves out those below 5 ms."""
    seconds: Counter[str] = Counter()
    for line in text.splitlines():
        if found := LINE.match(line):
            seconds[found[2]] += float(found[1])  # type: ignore[assignment]  # of a Counter of whole numbers
    return seconds


def folder_of(file: str) -> str:
    """Return the folder that a file is counted with: tests/FOLDER, or src for doctests."""
    parts = PurePosixPath(file).parts
    return "src (doctests)" if parts[0] == "src" else "/".join(parts[:2] if len(parts) > 2 else parts[:1])


def describe(text: str) -> str:
    """Return a Markdown table by folder, and one of the longest files."""
    files = read_durations(text)
    folders: Counter[str] = Counter()
    for file, seconds in files.items():
        folders[folder_of(file)] += seconds
    total = sum(files.values())
    end = END.search(text)
    lines = [f"{end[1]}; {float(end[2]):,.0f} s by the clock, {total:,.0f} s summed over processes." if end else ""]
    for head, counts, n in (("folder", folders, None), (f"file (the {N_FILES} longest)", files, N_FILES)):
        lines += ["", f"| {head} | seconds | share |", "|---|---:|---:|"]
        lines += [f"| {name} | {value:,.1f} | {value / total:.1%} |" for name, value in counts.most_common(n)]
    return "\n".join(lines)


if __name__ == "__main__":
    print(describe(Path(sys.argv[1]).read_text("utf-8", errors="replace")))
