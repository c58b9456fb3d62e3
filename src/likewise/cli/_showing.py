"""Findings → tables a person can read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from likewise.cli._findings import Findings, example_values
from likewise.cli._text import share, shown
from likewise.schema import Roles

if TYPE_CHECKING:
    import pyarrow as pa

N_TRANSITIONS: Final = 8
N_LINES: Final = 24


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


def _table(**settings: Any) -> Table:
    return Table(
        box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, title_justify="left", title_style="bold", **settings
    )


def _labels(findings: Findings, label: str) -> Table:
    table = _table()
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
    table = _table()
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
    """Put as many pairs next to each other as the screen is wide."""
    examples = [example_values(frame, roles, *rows) for rows in findings.examples]
    lines, n_more, n_differing = _choose_lines(examples, roles)
    headings = [f"{shown(name, 22)}{' (sensitive)' if name in roles.sensitive else ''}" for name in lines]
    table = _table()
    table.add_column("* differs", style="dim")
    cells = [[Text(heading)] for heading in headings]
    room = width - max(map(len, headings))
    for position, (rows, values) in enumerate(zip(findings.examples, examples, strict=True)):
        titles = [_title(frame, roles, row) for row in rows]
        texts = [[shown(value, 20) for value in values[name]] for name in lines]
        room -= 14 if position else 10  # marks and the space between columns
        room -= sum(max(map(len, side)) for side in zip(titles, *texts, strict=True))
        if room < 0 and position:
            break
        if position:
            table.add_column("|", style="dim")
        table.add_column(Text(titles[0]), no_wrap=True)
        table.add_column("", width=1)
        table.add_column(Text(titles[1]), no_wrap=True)
        for line, name, (one, other) in zip(cells, lines, texts, strict=True):
            differs = values[name][0] != values[name][1]
            style = "bold yellow" if differs else ""
            line += [Text("|")] * bool(position)
            line += [Text(one, style), Text("*" if differs else "", style), Text(other, style)]
    for line in cells:
        table.add_row(*line)
    if not n_more:
        return table
    differing = f", {n_differing:,} of which differ in one of the pairs" if n_differing else ""
    return Group(table, Text(f"... and {n_more:,} more column{'' if n_more == 1 else 's'}{differing}", style="dim"))


def _choose_lines(examples: list[dict[str, tuple[Any, Any]]], roles: Roles) -> tuple[list[str], int, int]:
    """Of a very wide table, show what differs and the first of the others; count what is left, and differs."""
    names = list(examples[0])
    differing = {name for name in names for values in examples if values[name][0] != values[name][1]}
    telling = [name for name in names if name in roles.sensitive or name in differing]
    others = [name for name in names if name not in telling]
    chosen = {*telling[:N_LINES], *others[: max(N_LINES - len(telling), 0)]}
    return [name for name in names if name in chosen], len(names) - len(chosen), len(differing - chosen)


def _title(frame: pa.Table, roles: Roles, row: int) -> str:
    return f"row {row:,}" if roles.row_id is None else shown(frame.column(roles.row_id)[row].as_py(), 20)
