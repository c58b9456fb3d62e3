"""Findings → tables a person can read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from likewise.cli._findings import Findings, example_values
from likewise.cli._side_by_side import Example, lay_side_by_side, plain_table
from likewise.cli._text import share, shown
from likewise.schema import Roles

if TYPE_CHECKING:
    import pyarrow as pa

N_TRANSITIONS: Final = 8


def show_findings(findings: Findings, frame: pa.Table, roles: Roles, file: str, width: int) -> RenderableType:
    """Lay out everything for one screen, or a little more."""
    parts: list[RenderableType] = [_headline(findings, file)]
    if findings.n_pairs:
        parts += [_labels(findings, str(roles.label)), _transitions(findings, roles.sensitive)]
    if findings.examples:
        parts.append(_examples(findings, frame, roles, width))
    spaced = [one for part in parts for one in (Text(""), part)]
    return Group(*spaced[1:])


def _headline(findings: Findings, file: str) -> Text:
    where = f"among the {findings.n_rows:,} row{'' if findings.n_rows == 1 else 's'} of {shown(file, 60)}"
    if findings.n_pairs == 0 and findings.is_complete:
        return Text(f"No comparable pairs {where}.")
    pairs = f"{findings.n_pairs:,} comparable pair{'' if findings.n_pairs == 1 else 's'}"
    if findings.is_complete:
        text = Text.assemble((pairs, "bold"), f" {where}.")
    elif findings.n_total is None:
        text = Text.assemble("The first ", (pairs, "bold"), f" {where}; there may be more.")
    else:
        text = Text.assemble("A random sample: ", (pairs, "bold"), f" of the {findings.n_total:,} {where}.")
    if findings.partnered_by_label is not None:
        n = sum(findings.partnered_by_label.values())
        has = "person has" if n == 1 else "people have"
        listed = "" if findings.is_complete else " in this list"
        text.append(f"\n{n:,} {has} at least one comparable partner{listed} ({share(n, findings.n_rows)}).")
    return text


def _labels(findings: Findings, label: str) -> Table:
    table = plain_table()
    table.add_column(Text(shown(label)))
    for title in ("rows", "with a partner", "pairs"):
        if title != "with a partner" or findings.partnered_by_label is not None:
            table.add_column(title, justify="right")
    for value, n_pairs in findings.by_label.items():
        n_people = findings.people_by_label[value]
        cells = [f"{n_people:,}"]
        if findings.partnered_by_label is not None:
            n = findings.partnered_by_label[value]
            cells.append(f"{n:,} ({share(n, n_people)})")
        table.add_row(Text(shown(value)), *cells, f"{n_pairs:,}")
    return table


def _transitions(findings: Findings, sensitive: tuple[str, ...]) -> Table:
    names = ", ".join(shown(name) for name in sensitive) or "sensitive"
    table = plain_table()
    table.add_column(Text(f"{names} of one"), overflow="fold")
    table.add_column("of the other", overflow="fold")
    table.add_column("pairs", justify="right")
    table.add_column("share", justify="right")
    for (first, second), n in list(findings.by_transition.items())[:N_TRANSITIONS]:
        one, other = (Text(", ".join(shown(value) for value in values) or "(none)") for values in (first, second))
        table.add_row(one, other, f"{n:,}", share(n, findings.n_pairs))
    n_more = len(findings.by_transition) - N_TRANSITIONS
    if n_more > 0:
        rest = sum(list(findings.by_transition.values())[N_TRANSITIONS:])
        table.add_row(Text(f"{n_more:,} other kinds", style="dim"), "", f"{rest:,}", share(rest, findings.n_pairs))
    return table


def _examples(findings: Findings, frame: pa.Table, roles: Roles, width: int) -> RenderableType:
    examples = []
    for left, right in findings.examples:
        values = example_values(frame, roles, left, right)
        differing = {name for name, (one, other) in values.items() if one != other}
        examples.append(Example((_title(frame, roles, left), _title(frame, roles, right)), values, differing))
    return lay_side_by_side(examples, roles.sensitive, width)


def _title(frame: pa.Table, roles: Roles, row: int) -> str:
    return f"row {row:,}" if roles.row_id is None else shown(frame.column(roles.row_id)[row].as_py(), 20)
