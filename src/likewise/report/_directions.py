"""Differences between groups: the signed mean gap of every transition between sensitive values, as list and matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from likewise._format import count_of
from likewise.record import AuditRecord
from likewise.record._internal import Direction
from likewise.report._text import (
    MAX_ROWS,
    Cell,
    Number,
    Table,
    Value,
    count,
    count_left_out,
    join,
    p_value,
    show,
    signed_number,
    signed_percent,
)

MAX_COMBINATIONS: Final = 12  # a wider matrix cannot be taken in at a glance
SIGNIFICANT: Final = 0.05  # adjusted p-values below
N_TINTS: Final = 3
FAINT: Final = 1  # the deepest tint of what is not significant

ABOUT_DIRECTIONS: Final = (
    "Each row compares people with the values under “To” with comparable people who have those under “From”. The "
    "signed gap is the score of the former minus that of the latter: negative means that people under “To” are scored "
    "lower. “Lower”, “Higher” and “Equal” count pairs. p is from a sign-flip test on pairs that share no person; "
    "p (Holm) is adjusted for the number of rows."
)
ABOUT_MATRIX: Final = (
    "Rows and columns are the sensitive values of the two people of a pair. Each cell is the signed mean gap: score of "
    "the column's group minus score of the row's group. Every transition appears twice, with opposite signs. Bold: "
    "statistically significant (Holm-adjusted p below 0.05)."
)


@dataclass(frozen=True, slots=True)
class Transition:
    """A cell of the matrix; ``tint`` goes from -3 (scored far lower) to 3 (far higher)."""

    mean: str
    counted: str
    details: str
    tint: int
    is_significant: bool


@dataclass(frozen=True, slots=True)
class Matrix:
    """Combinations of sensitive values, and the transition between each two of them."""

    columns: str
    combinations: tuple[Value, ...]
    rows: tuple[tuple[Transition | None, ...], ...]


def is_significant(direction: Direction) -> bool:
    """Whether the adjusted p-value of a direction is below 0.05."""
    return direction.p_adjusted is not None and direction.p_adjusted < SIGNIFICANT


def choose_directions(directions: Sequence[Direction], most: int) -> list[Direction]:
    """Keep the significant directions, then the first of the others, in their order."""
    places = sorted(range(len(directions)), key=lambda place: not is_significant(directions[place]))[:most]
    return [directions[place] for place in sorted(places)]


def explain_no_directions(record: AuditRecord) -> str:
    """Sentence that explains why there are no directions."""
    if record.task == "multiclass":
        return "With more than two labels there is no single score to be lower or higher, so there are no directions."
    return "No pair differs in a sensitive column, so there are no directions."


def direction_table(record: AuditRecord) -> Table | None:
    """Who is scored lower than whom; None where no pair differs in a sensitive column."""
    directions = record.directions
    if not directions:
        return None
    rows: list[tuple[Cell, ...]] = [
        (
            _name(one.origin),
            _name(one.target),
            *(count(n) for n in (one.n_pairs, one.n_lower, one.n_higher, one.n_equal)),
            signed_number(one.mean_gap, one.low, one.high),
            Number(p_value(one.p_value), one.p_value),
            Number(p_value(one.p_adjusted), one.p_adjusted),
        )
        for one in choose_directions(directions, MAX_ROWS)
    ]
    return Table(
        caption="Transitions between sensitive values",
        head=("From", "To", "Pairs", "Lower", "Higher", "Equal", "Signed mean gap", "p", "p (Holm)"),
        rows=tuple(rows),
        n_text=2,
        more=count_left_out(len(directions), MAX_ROWS, "directions"),
        is_sortable=True,
    )


def direction_matrix(record: AuditRecord) -> Matrix | None:
    """The transitions as a matrix; None where there are none, or too many."""
    directions = record.directions
    combinations = list(dict.fromkeys(end for one in directions for end in (one.origin, one.target)))
    if not 2 <= len(combinations) <= MAX_COMBINATIONS:
        return None
    known = [one.values for one in record.coverage if one.columns == record.sensitive]
    combinations.sort(key=lambda one: known.index(one) if one in known else len(known))
    clear = list(filter(is_significant, directions))  # one odd pair must not make all others look pale
    widest = max(abs(one.mean_gap) for one in clear or directions)
    cells: dict[tuple[Any, Any], Transition] = {}
    for one in directions:
        cells[one.origin, one.target] = _cell(one, widest)
        cells[one.target, one.origin] = _cell(one.reversed(), widest)
    return Matrix(
        str(join(show(name) for name in record.sensitive)),
        tuple(_name(one) for one in combinations),
        tuple(tuple(cells.get((row, column)) for column in combinations) for row in combinations),
    )


def _cell(one: Direction, widest: float) -> Transition:
    details = f"{signed_number(one.mean_gap, one.low, one.high)}, p (Holm) {p_value(one.p_adjusted)}"
    deepest = N_TINTS if is_significant(one) else FAINT
    tint = min(max(round(N_TINTS * one.mean_gap / widest), -deepest), deepest) if widest else 0
    return Transition(signed_percent(one.mean_gap), count_of(one.n_pairs, "pair"), details, tint, is_significant(one))


def _name(values: tuple[Any, ...]) -> Value:
    return join(show(value) for value in values)
