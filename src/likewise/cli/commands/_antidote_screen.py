"""Antidotes → plain data for ``--json``, and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from likewise._format import count_of
from likewise._json import plain
from likewise.cli._console import Example, plain_table, share, show_side_by_side, shown, stack
from likewise.cli.commands._pair_findings import example_values, row_title
from likewise.generation import Antidotes
from likewise.schema import Roles

if TYPE_CHECKING:
    import pyarrow as pa

N_EXAMPLES: Final = 3
N_LINES: Final = 8


def record_antidotes(
    antidotes: Antidotes, together: pa.Table, question: dict[str, Any], *, out: str | None, only: bool
) -> dict[str, Any]:
    """Return question and result of antidotes that are at hand."""
    counts = {"n_with_antidote": len(np.unique(antidotes.source)), **antidotes.summary()}
    transitions = [_transition(antidotes.schema.roles, one, other, n) for (one, other), n in _transitions(antidotes)]
    return _record(counts, transitions, antidotes, together, question, out, only)


def record_parts(
    found: dict[str, Any], few: Antidotes, together: pa.Table, question: dict[str, Any], out: str
) -> dict[str, Any]:
    """Return question and result of antidotes that were written in parts; a few are at hand as examples."""
    counts = {name: value for name, value in found.items() if name != "n_wanted"}
    transitions = [
        _transition(few.schema.roles, one["source"], one["antidote"], one["n_antidotes"])
        for one in found["by_transition"]
    ]
    return _record(counts, transitions, few, together, question, out, True)


def _record(
    counts: dict[str, Any],
    transitions: list[dict[str, Any]],
    few: Antidotes,
    together: pa.Table,
    question: dict[str, Any],
    out: str | None,
    only: bool,
) -> dict[str, Any]:
    record: dict[str, Any] = plain(
        {
            **question,
            "n_rows": counts.pop("n_sources"),
            **counts,
            "antidotes_per_row": counts["ratio"],
            "ratio": question["ratio"],
            "by_transition": transitions,
            "examples": _record_examples(few, together),
            "out": out,
            "only": only,
        }
    )
    return record


def _transition(roles: Roles, one: Sequence[Any], other: Sequence[Any], n: int) -> dict[str, Any]:
    source, antidote = (dict(zip(roles.sensitive, values, strict=True)) for values in (one, other))
    return {"source": source, "antidote": antidote, "n_antidotes": n}


def _transitions(antidotes: Antidotes) -> list[tuple[tuple[Any, Any], int]]:
    names, categories = antidotes.table.names["sensitive"], antidotes.table.categories
    codes = np.column_stack([antidotes.sources.sensitive, antidotes.table.sensitive])
    found, counts = np.unique(codes, axis=0, return_counts=True)
    tally: Counter[tuple[Any, Any]] = Counter()
    for row, n in zip(found.tolist(), counts.tolist(), strict=True):
        values = [categories[name][code] for name, code in zip((*names, *names), row, strict=True)]
        tally[tuple(values[: len(names)]), tuple(values[len(names) :])] += n
    return sorted(tally.items(), key=lambda item: (-item[1], str(item[0])))


def _examples(antidotes: Antidotes, together: pa.Table) -> list[tuple[int, dict[str, tuple[Any, Any]]]]:
    """Rows from all over the table, with the values of source and antidote."""
    _, firsts = np.unique(antidotes.source, return_index=True)
    places = np.unique(np.linspace(0, len(firsts) - 1, min(N_EXAMPLES, len(firsts))).astype(np.intp))
    rows = [(int(antidotes.source[position]), antidotes.n_sources + int(position)) for position in firsts[places]]
    return [(row, example_values(together, antidotes.schema.roles, row, other)) for row, other in rows]


def _record_examples(antidotes: Antidotes, together: pa.Table) -> list[dict[str, Any]]:
    return [
        {
            "source_row": row,
            "label": values[str(antidotes.schema.roles.label)][0],
            "differs": {name: list(both) for name, both in values.items() if both[0] != both[1]},
        }
        for row, values in _examples(antidotes, together)
    ]


def show_antidotes(record: dict[str, Any], few: Antidotes, together: pa.Table, width: int) -> RenderableType:
    """Lay out the result for about one screen."""
    parts: list[RenderableType] = [_headline(record)]
    if record["n_antidotes"]:
        parts += [_show_transitions(record), _show_changes(record)]
    if len(few):
        parts.append(_show_examples(few, together, width))
    return stack(parts)


def _headline(record: dict[str, Any]) -> Text:
    n_rows, n_covered = record["n_rows"], record["n_with_antidote"]
    made = count_of(record["n_antidotes"], "antidote")
    text = Text.assemble((made, "bold"), f" for the {count_of(n_rows, 'row')} of {shown(record['file'], 60)}.")
    has = "person has" if n_covered == 1 else "people have"
    text.append(f"\n{n_covered:,} {has} at least one ({share(n_covered, n_rows)}).")
    text.append(f"\nChosen from {record['n_raw']:,} rows generated by {record['generator']}.")
    return text


def _show_transitions(record: dict[str, Any]) -> Table:
    table = plain_table()
    names = ", ".join(shown(name) for name in record["roles"]["sensitive"])
    table.add_column(Text(f"{names} of the person"), overflow="fold")
    table.add_column("of the antidote", overflow="fold")
    table.add_column("antidotes", justify="right")
    table.add_column("share", justify="right")
    rest = record["by_transition"][N_LINES:]
    for one in record["by_transition"][:N_LINES]:
        words = (Text(", ".join(map(shown, one[side].values()))) for side in ("source", "antidote"))
        table.add_row(*words, f"{one['n_antidotes']:,}", share(one["n_antidotes"], record["n_antidotes"]))
    if rest:
        n = sum(one["n_antidotes"] for one in rest)
        table.add_row(Text(f"{len(rest):,} others", style="dim"), "", f"{n:,}", share(n, record["n_antidotes"]))
    return table


def _show_changes(record: dict[str, Any]) -> Table:
    table = plain_table()
    table.add_column("other columns changed most often", overflow="fold")
    table.add_column("antidotes", justify="right")
    sensitive, n = record["roles"]["sensitive"], record["n_antidotes"]
    others = [(name, part) for name, part in record["changed"].items() if name not in sensitive and part]
    for name, part in sorted(others, key=lambda item: -item[1])[:N_LINES]:
        table.add_row(Text(shown(name)), share(round(part * n), n))
    if not others:
        table.add_row("none", "")
    return table


def _show_examples(antidotes: Antidotes, together: pa.Table, width: int) -> RenderableType:
    roles = antidotes.schema.roles
    examples = [
        Example((row_title(together, roles, row), "antidote"), values) for row, values in _examples(antidotes, together)
    ]
    return show_side_by_side(examples, roles.sensitive, width)
