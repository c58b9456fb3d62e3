"""The readable form of the figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from _audit_targets import TARGETS
from _audit_trial import BARE, BY_HAND, COMPLETE, NAIVE, OURS, SAME_PAIRS

Record = dict[str, Any]

EQUAL: Final = 1e-12  # two ways to add up the same numbers
HAVE_INTERVALS: Final = (NAIVE, "inFairness SenSeIAuditor")

INTRODUCTION: Final = """# An audit of a million comparable pairs: time and memory

Written by `python benchmarks/auditing.py`, which says how it is measured and can be run again.
{machine}. {versions}. Rivals: {rivals}.

People are scored by scikit-learn's logistic regression; intervals are of 95 %, from 1,000 bootstrap replicates over
people. Seconds are the processor's, all threads together, user and system, the best of a few calls. *Wall* is the best
by the clock, on all cores. *First result* is by the clock too, from the start of a fresh process on: libraries loaded,
people read, first call; compiled code is on disk. Memory is the peak above the input and the loaded libraries.
The machine was shared with other work: compare CPU seconds within a table, not with the clock, and take differences of
less than a third as none.
"""

METHODS: Final = """## What each method does

| method | finds the comparable pairs | gives | intervals |
| --- | --- | --- | --- |
| likewise.audit, complete | yes, and the pairs equal in the sensitive columns | {complete} numbers on Adult, \
{directions} directions with sign-flip tests, coverage, group rates, 100 worst pairs; codes the frame, too | \
over people, {intervals} |
| likewise.audit, no baseline / no intervals | yes | the same less the baseline / the intervals | over people / none |
| pandas + numpy, bootstrap over people | yes: merges on all discrete columns but one, filters | 4 numbers: mean and \
upper quartile of the gaps by label | over people, weights multiplied, percentiles |
| pandas + numpy, no intervals | yes | the same 4 | none |
| AIF360 consistency score | no: each person's 5 nearest in one-hot columns, the person included, whatever label or \
sensitive values | 1 number: how far scores are from the mean of those 5 | none |
| inFairness generate_data_pairs | yes, if the rule is given as a function and the number of pairs is known: it calls \
the function for every two rows and draws from what it accepts | the pairs; nothing is measured | none |
| inFairness SenSeIAuditor | no: moves each person by gradient, for nothing in the one-hot sensitive columns, to where \
no person is; needs a differentiable model | 1 number: how many times the loss grows | one lower bound, taking people \
as independent |

The last three answer other questions, or a part of this one. No setting of AIF360 or inFairness measures gaps between
comparable people, and none gives intervals for pairs that share people. *x complete* in the details divides a method's
CPU seconds by the complete audit's, *x nearest of ours* by those of the audit that does least beyond what the method
does: without the baseline, and without intervals where the method has none. The complete audit measures more pairs,
those equal in the sensitive columns added.
"""

AGREEMENT: Final = """## Agreement

*Values* differ by at most 1e-12 between likewise and the way by hand, and the pairs are the same (equal number, equal
128-bit sum), unless the details say otherwise. Interval ends are not the same, and should not be. By hand, a pair
counts as often as its two people were drawn, multiplied. That gets what pairs share through a common person right, but
a pair's own noise three times too large; likewise takes the surplus out. So its intervals for means are narrower where
people are in few pairs, and about as wide where everybody is in many. It also allows for how little few people tell,
which widens them, and bounds quartiles by the uncertainty of a share instead of resampling them.
"""


def write_report(results: Record, path: Path) -> None:
    """Write all tables of figures as Markdown."""
    tables = results["tables"]
    head = INTRODUCTION.format(
        machine=results["machine"], versions=_list(results["versions"]), rivals=_list(_rival_versions(tables)) or "none"
    )
    parts = [head, "## Targets\n\n" + _targets(tables), "## CPU seconds\n\n" + _overview(tables), _methods(tables)]
    parts += [AGREEMENT + "\n" + _agreement(tables), "## Details"]
    parts += [_details(table) for table in tables.values()]
    path.write_text("\n".join(part.rstrip() + "\n" for part in parts))


def _list(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in versions.items())


def _rival_versions(tables: Record) -> dict[str, str]:
    found: dict[str, str] = {}
    for table in tables.values():
        for record in table["methods"].values():
            found |= {
                name: one for name, one in record.get("versions", {}).items() if name not in ("numpy", "scikit-learn")
            }
    return found


def _targets(tables: Record) -> str:
    rows = [[target.title, *target.judge(tables)] for target in TARGETS]
    return _markdown(["", "reasonable", "hard", "measured", "reached"], rows)


def _overview(tables: Record) -> str:
    methods = list(dict.fromkeys(method for table in tables.values() for method in table["methods"]))
    rows = [[method, *(_seconds(table["methods"].get(method, {})) for table in tables.values())] for method in methods]
    head = [f"{table['title']}: {table['rows']:,} people, {_count(table)} pairs" for table in tables.values()]
    return _markdown(["method", *head], rows)


def _methods(tables: Record) -> str:
    record = tables.get("adult", {"methods": {}})["methods"].get(COMPLETE, {})
    return METHODS.format(
        complete=record.get("n_numbers", "many"),
        directions=record.get("n_directions", "all"),
        intervals=f"{record['n_intervals']} of them" if "n_intervals" in record else "for most",
    )


def _agreement(tables: Record) -> str:
    rows = []
    for table in tables.values():
        ours, theirs = table["methods"].get(COMPLETE, {}), table["methods"].get(NAIVE, {})
        if ours.get("status") != "done" or theirs.get("status") != "done":
            continue
        for name, value in ours["values"].items():
            ends = ours["intervals"][name], theirs["intervals"][name]
            widths = [high - low for low, high in ends]
            shown = [f"{100 * low:.2f} to {100 * high:.2f}" for low, high in ends]
            difference = f"{abs(value - theirs['values'][name]):.0e}"
            rows.append(
                [table["title"], name, f"{100 * value:.2f}", difference, *shown, f"{widths[0] / widths[1]:.2f}"]
            )
    head = ["case", "measure", "value, %", "by hand differs by", "likewise", "by hand", "width, ours / by hand"]
    return _markdown(head, rows)


def _details(table: Record) -> str:
    methods = table["methods"]
    rows = []
    for method, record in methods.items():
        if record["status"] != "done":
            on = f"{record['cpu_s']:,.3g} on {record['n_rows']:,} rows" if "n_rows" in record else "-"
            rows.append([method, record.get("reason", record["status"]), on, *["-"] * 6])
            continue
        rows.append(
            [
                method,
                f"{record['cpu_s']:,.3g}",
                f"{record['wall_s']:,.3g}",
                f"{record['peak_mb']:,.0f}",
                f"{record['first_s']:,.1f}",
                f"{record['n_pairs'] + (record.get('n_within') or 0):,}" if "n_pairs" in record else "-",
                _ratio(methods, method, COMPLETE),
                _ratio(methods, method, SAME_PAIRS if method in HAVE_INTERVALS else BARE),
                _checked(methods, method),
            ]
        )
    head = ["method", "CPU s", "wall s", "peak MB", "first result s", "pairs measured"]
    head += ["x complete", "x nearest of ours", "checked"]
    people = f"{table['rows']:,} people, {_count(table)} comparable pairs; {table['sensitive']} sensitive"
    people += f", {table['discrete']} discrete, {table['continuous']} continuous columns"
    return f"### {table['title']}\n\n{people}.\n\n{_markdown(head, rows)}"


def _ratio(methods: Record, method: str, other: str) -> str:
    """Divide by what likewise takes: for everything, and for what comes nearest to what the method does."""
    ours = methods.get(other, {})
    if ours.get("status") != "done" or method in OURS:
        return "-"
    ratio = methods[method]["cpu_s"] / ours["cpu_s"]
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"


def _checked(methods: Record, method: str) -> str:
    """Say whether a method found what likewise found."""
    record, reference = methods[method], methods.get(COMPLETE, {})
    if "found" in record:
        return "other question: " + ", ".join(
            f"{name.replace('_', ' ')} {value:.3g}" for name, value in record["found"].items()
        )
    if "is_right" in record:
        return "same pairs" if record["is_right"] else "**differs**"
    if reference.get("status") != "done":
        return "ours not measured"
    if record is reference:
        return "is the reference"
    same_pairs = record["checksum"] == reference["checksum"] and record["n_pairs"] == reference["n_pairs"]
    apart = max(abs(value - record["values"][name]) for name, value in reference["values"].items())
    return "same pairs, same values" if same_pairs and apart <= EQUAL else "**differs**"


def _count(table: Record) -> str:
    counts = [table["methods"].get(method, {}).get("n_pairs") for method in (*OURS, *BY_HAND)]
    known = [count for count in counts if count is not None]
    return f"{known[0]:,}" if known else "-"


def _seconds(record: Record) -> str:
    if record.get("status") == "done":
        return f"{record['cpu_s']:,.3g}"
    return str(record.get("reason", record.get("status", "-")))


def _markdown(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
