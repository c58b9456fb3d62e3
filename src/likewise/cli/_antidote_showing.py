"""Antidotes → plain data, and tables a person can read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from likewise._json import plain
from likewise.cli._findings import example_values
from likewise.cli._side_by_side import Example, lay_side_by_side, plain_table
from likewise.cli._text import share, shown
from likewise.generation import Antidotes
from likewise.schema import Roles

if TYPE_CHECKING:
    import pyarrow as pa

N_EXAMPLES: Final = 3
N_LINES: Final = 8


def record_antidotes(
    antidotes: Antidotes, together: pa.Table, roles: Roles, question: dict[str, Any], *, out: str | None, only: bool
) -> dict[str, Any]:
    """Say everything once: what was asked, and what was made."""
    summary = antidotes.summary()
    record: dict[str, Any] = plain(
        {
            **question,
            "n_rows": summary.pop("n_sources"),
            "n_with_antidote": len(np.unique(antidotes.source)),
            **summary,
            "antidotes_per_row": summary["ratio"],
            "ratio": question["ratio"],
            "by_transition": [name_transition(roles, one, other, n) for (one, other), n in _transitions(antidotes)],
            "examples": record_examples(antidotes, together, roles),
            "out": out,
            "only": only,
        }
    )
    return record


def record_stream(
    found: dict[str, Any], few: Antidotes, together: pa.Table, question: dict[str, Any], out: str
) -> dict[str, Any]:
    """Say the same of antidotes that were written part by part; a few of them are at hand for examples."""
    roles, counts = few.schema.roles, dict(found)
    counts.pop("n_wanted")
    record: dict[str, Any] = plain(
        {
            **question,
            "n_rows": counts.pop("n_sources"),
            **counts,
            "antidotes_per_row": counts["ratio"],
            "ratio": question["ratio"],
            "by_transition": [
                name_transition(roles, one["source"], one["antidote"], one["n_antidotes"])
                for one in found["by_transition"]
            ],
            "examples": record_examples(few, together, roles),
            "out": out,
            "only": True,
        }
    )
    return record


def name_transition(roles: Roles, one: Sequence[Any], other: Sequence[Any], n: int) -> dict[str, Any]:
    """Say which sensitive values became which others, and how often."""
    source, antidote = (dict(zip(roles.sensitive, values, strict=True)) for values in (one, other))
    return {"source": source, "antidote": antidote, "n_antidotes": n}


def record_examples(antidotes: Antidotes, together: pa.Table, roles: Roles) -> list[dict[str, Any]]:
    """Say of a few antidotes in what they differ from their sources."""
    examples = []
    for position in choose_examples(antidotes):
        row = int(antidotes.source[position])
        values = example_values(together, roles, row, antidotes.n_sources + position)
        differs = {name: list(both) for name, both in values.items() if both[0] != both[1]}
        examples.append({"source_row": row, "label": values[str(roles.label)][0], "differs": differs})
    return examples


def choose_examples(antidotes: Antidotes) -> list[int]:
    """Take antidotes of people from all over the table."""
    _, firsts = np.unique(antidotes.source, return_index=True)
    places = np.unique(np.linspace(0, len(firsts) - 1, min(N_EXAMPLES, len(firsts))).astype(np.intp))
    return [int(first) for first in firsts[places]]


def show_antidotes(
    record: dict[str, Any], antidotes: Antidotes, together: pa.Table, roles: Roles, width: int
) -> RenderableType:
    """Lay out everything for one screen, or a little more."""
    parts: list[RenderableType] = [_headline(record)]
    if record["n_antidotes"]:
        parts += [_show_transitions(record), _show_changes(record, roles)]
    if len(antidotes):  # of a few that are at hand
        parts.append(_show_examples(antidotes, together, roles, width))
    spaced = [one for part in parts for one in (Text(""), part)]
    return Group(*spaced[1:])


def _transitions(antidotes: Antidotes) -> list[tuple[tuple[Any, Any], int]]:
    names, categories = antidotes.table.names["sensitive"], antidotes.table.categories
    codes = np.column_stack([antidotes.sources.sensitive, antidotes.table.sensitive])
    found, counts = np.unique(codes, axis=0, return_counts=True)
    tally: Counter[tuple[Any, Any]] = Counter()
    for row, n in zip(found.tolist(), counts.tolist(), strict=True):
        values = [categories[name][code] for name, code in zip((*names, *names), row, strict=True)]
        tally[tuple(values[: len(names)]), tuple(values[len(names) :])] += n
    return sorted(tally.items(), key=lambda item: (-item[1], str(item[0])))


def _headline(record: dict[str, Any]) -> Text:
    n, n_rows, n_covered = record["n_antidotes"], record["n_rows"], record["n_with_antidote"]
    made = f"{n:,} antidote{'' if n == 1 else 's'}"
    text = Text.assemble(
        (made, "bold"), f" for the {n_rows:,} row{'' if n_rows == 1 else 's'} of {shown(record['file'], 60)}."
    )
    has = "person has" if n_covered == 1 else "people have"
    text.append(f"\n{n_covered:,} {has} at least one ({share(n_covered, n_rows)}).")
    text.append(f"\nThey were chosen from {record['n_raw']:,} rows that {record['generator']} made.")
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
        table.add_row(Text(f"{len(rest):,} other kinds", style="dim"), "", f"{n:,}", share(n, record["n_antidotes"]))
    return table


def _show_changes(record: dict[str, Any], roles: Roles) -> Table:
    table = plain_table()
    table.add_column("what else changed most", overflow="fold")
    table.add_column("in", justify="right")
    others = [(name, part) for name, part in record["changed"].items() if name not in roles.sensitive and part]
    n = record["n_antidotes"]
    for name, part in sorted(others, key=lambda item: -item[1])[:N_LINES]:
        table.add_row(Text(shown(name)), share(round(part * n), n))
    if not others:
        table.add_row("nothing", "")
    return table


def _show_examples(antidotes: Antidotes, together: pa.Table, roles: Roles, width: int) -> RenderableType:
    examples = []
    for position in choose_examples(antidotes):
        row = int(antidotes.source[position])
        values = example_values(together, roles, row, antidotes.n_sources + position)
        differing = {name for name, (one, other) in values.items() if one != other}
        name = f"row {row:,}" if roles.row_id is None else shown(together.column(roles.row_id)[row].as_py(), 20)
        examples.append(Example((name, "antidote"), values, differing))
    return lay_side_by_side(examples, roles.sensitive, width)
