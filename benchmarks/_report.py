"""The readable form of the figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from _rivals import COUNTING_RIVALS, FLOORS, RIVALS
from _targets import LISTED, TARGETS, times_faster

Record = dict[str, Any]

INTRODUCTION = """# Finding all comparable pairs: time and memory

Written by `python benchmarks/mining.py`, which says how it is measured and can be run again.
{machine}. {versions}.

Seconds are the processor's, all threads together, user and system, the best of a few calls where they are short.
Compilation is not in them (first call on a small table: see the last column of the details). Memory is the peak
above the input, which is in memory in the form that the method wants. *Brute force* compares every two rows of one
label on one thread in compiled code, with early exits; *vector code* is the same written for the vector units.
A method is *checked* when it found the pairs that likewise lists: equal number, equal 128-bit sum over the pairs.
"""


def write_report(results: Record, path: Path) -> None:
    """Write all tables of figures as Markdown."""
    tables = results["tables"]
    versions = ", ".join(f"{name} {number}" for name, number in results["versions"].items())
    parts = [INTRODUCTION.format(machine=results["machine"], versions=versions)]
    parts.append("## Targets\n\n" + _targets(tables))
    parts.append("## Listing all pairs: CPU seconds (and how many times ours)\n\n" + _overview(tables))
    if any(floor in table["methods"] for table in tables.values() for floor in FLOORS):
        parts.append("## What memory allows: CPU seconds\n\n" + MEMORY_WORDS + _floors(tables))
    parts.append("## Details")
    parts += [_details(table) for table in tables.values()]
    path.write_text("\n".join(part.rstrip() + "\n" for part in parts))


def _targets(tables: Record) -> str:
    rows = [[target.title, *target.judge(tables)] for target in TARGETS]
    return _markdown(["", "reasonable", "hard", "measured", "reached"], rows)


def _overview(tables: Record) -> str:
    rivals = list(RIVALS)
    rows = []
    for name, table in tables.items():
        methods = table["methods"]
        ours = methods.get(LISTED, {})
        if not any(method in methods for method in (LISTED, *rivals)):
            continue
        row = [table["title"], f"{table['rows']:,}", _count(methods), _seconds(ours)]
        for rival in rivals:
            ratio = times_faster(tables, name, rival)
            row.append(_seconds(methods.get(rival, {})) + (f" ({_short(ratio)}x)" if ratio else ""))
        rows.append(row)
    return _markdown(["table", "rows", "pairs", "likewise", *rivals], rows)


MEMORY_WORDS = """Pairs are eight bytes, two row numbers. *Writing* them fills two columns of that length in compiled
code, *copying* reads and writes those that were found; neither finds anything. Both ask for one block of memory, as
listing does where equal rows are merged; up to 32 MB, its pages are reused from call to call. The group form is the
search among distinct rows without the writing. Where listing takes many times as long as writing, memory does not
bound it.

"""


def _floors(tables: Record) -> str:
    rows = []
    for name, table in tables.items():
        methods = table["methods"]
        if not any(floor in methods for floor in FLOORS):
            continue
        row = [table["title"], _count(methods), _seconds(methods.get(LISTED, {}))]
        row.append(_seconds(methods.get("likewise memory group", {})))
        for floor in FLOORS:
            ratio = times_faster(tables, name, LISTED, floor)
            row.append(_seconds(methods.get(floor, {})) + (f" (1/{_short(ratio)})" if ratio else ""))
        rows.append(row)
    heads = ["table", "pairs", "likewise, listing", "likewise, groups", *(f"{floor} (of listing)" for floor in FLOORS)]
    return _markdown(heads, rows)


def _details(table: Record) -> str:
    methods = table["methods"]
    rule = f"at most {table['max_discrete_changes']} of {table['discrete']} discrete columns differ"
    rule += f", {table['continuous']} continuous within {table['max_continuous_shift']}" if table["continuous"] else ""
    rows = []
    for method, record in methods.items():
        if record["status"] == "not for this table":
            continue
        if record["status"] != "done":
            rows.append([method, record.get("reason", record["status"]), *["-"] * 6])
            continue
        rows.append(
            [
                method,
                f"{record['cpu_s']:,.3g}",
                f"{record['wall_s']:,.3g}",
                f"{record['peak_mb']:,.0f}",
                _ratio(methods, method),
                f"{record['n_pairs']:,}",
                _checked(methods, method),
                f"{record['warm_up_s']:.2g}",
            ]
        )
    head = ["method", "CPU s", "wall s", "peak MB", "x ours", "pairs", "checked", "first call s"]
    return f"### {table['title']}\n\n{table['rows']:,} rows; {rule}.\n\n{_markdown(head, rows)}"


def _ratio(methods: Record, method: str) -> str:
    """Compare with what likewise does in memory, listing with listing and counting with counting."""
    counts = method in COUNTING_RIVALS or method.endswith("count")
    mode = "count" if counts else next((mode for mode in ("stream", "sample") if method.endswith(mode)), "list")
    ours = methods.get(f"likewise memory {mode}", {})
    if ours.get("status") != "done" or not ours["cpu_s"] or method == f"likewise memory {mode}":
        return "-"
    return _short(methods[method]["cpu_s"] / ours["cpu_s"])


def _checked(methods: Record, method: str) -> str:
    """Say whether a method found what likewise found."""
    record = methods[method]
    references = ("likewise memory list", "likewise memory stream", "likewise memory count")
    reference = next((methods[name] for name in references if methods.get(name, {}).get("status") == "done"), None)
    if reference is None:
        return "ours not measured"
    if record["n_pairs"] != reference["n_pairs"] or not record.get("sample_is_right", True):
        return "**differs**"
    if "checksum" in record and "checksum" in reference:
        same = record["checksum"] == reference["checksum"]
        return "**differs**" if not same else "is the reference" if record is reference else "same pairs"
    if "sampled" in record:
        return "same number, all comparable"
    return "is the reference" if record is reference else "same number"


def _count(methods: Record) -> str:
    counts = [record["n_pairs"] for record in methods.values() if record["status"] == "done"]
    return f"{counts[0]:,}" if counts else "-"


def _seconds(record: Record) -> str:
    if record.get("status") == "done":
        return f"{record['cpu_s']:,.3g}"
    return str(record.get("reason", record.get("status", "-")))


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"


def _markdown(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
