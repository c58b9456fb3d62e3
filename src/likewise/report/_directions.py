"""Both directions: who is scored lower when only the sensitive values change, as a list and as a matrix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from likewise._format import count_of
from likewise.report._parts import MOST_ROWS, Cell, Number, Table, Value, join, say_more, show
from likewise.report._words import Record, probability, signed_found, signed_percent

MOST_COMBINATIONS: Final = 12  # a wider matrix is no picture any more
STANDS_OUT: Final = 0.05  # of p (Holm)
N_TINTS: Final = 3
FAINT: Final = 1  # the deepest tint of what may be chance

ABOUT_DIRECTIONS: Final = (
    "Each line compares people with the values under “From” to comparable people with those under “To”. The signed "
    "gap is the second score less the first: where it is negative, those under “To” are scored lower. “Lower”, "
    "“Higher” and “Equal” count the pairs in which they are. p says how often chance alone gives a mean this far "
    "from zero (a sign-flip test on pairs in which nobody occurs twice); p (Holm) allows for the number of lines."
)
ABOUT_MATRIX: Final = (
    "Row and column are the sensitive values of the two people of a pair. The number is the mean signed gap: the score "
    "of the person in the column less that of the comparator in the row. Every transition stands here in both "
    "directions, with the opposite sign. In bold are those that chance alone would hardly give (p (Holm) below 0.05)."
)

Entry = Mapping[str, Any]


def stands_out(direction: Entry) -> bool:
    """Say whether chance alone would hardly give such a mean."""
    return direction["p_adjusted"] is not None and bool(direction["p_adjusted"] < STANDS_OUT)


def choose_directions(directions: list[Entry], most: int) -> list[Entry]:
    """Of very many, keep those that stand out, then the first of the others, in their order."""
    places = sorted(range(len(directions)), key=lambda place: not stands_out(directions[place]))[:most]
    return [directions[place] for place in sorted(places)]


def say_no_directions(record: Record) -> str:
    """Say why there are none."""
    if record["task"] == "multiclass":
        return "Of more than two labels no score is the lower one, so there are no directions."
    return "No two people of a pair differ in a sensitive column, so there are no directions."


@dataclass(frozen=True, slots=True)
class Transition:
    """A cell of the matrix; ``tint`` goes from -3 (scored far lower) to 3 (far higher)."""

    mean: str
    counted: str
    told: str
    tint: int
    is_clear: bool


@dataclass(frozen=True, slots=True)
class Matrix:
    """Combinations of sensitive values, and what happens between each two of them."""

    columns: str
    combinations: tuple[Value, ...]
    rows: tuple[tuple[Transition | None, ...], ...]


def list_directions(record: Record) -> Table | None:
    """List who is scored lower than whom; None where nobody differs in a sensitive column."""
    directions = record["directions"]
    if not directions:
        return None
    rows: list[tuple[Cell, ...]] = [
        (
            _name(one["origin"]),
            _name(one["target"]),
            *(Number(f"{one[name]:,}", one[name]) for name in ("n_pairs", "n_lower", "n_higher", "n_equal")),
            Number(signed_found(one["mean_gap"], one["low"], one["high"]), one["mean_gap"]),
            Number(probability(one["p_value"]), one["p_value"]),
            Number(probability(one["p_adjusted"]), one["p_adjusted"]),
        )
        for one in choose_directions(directions, MOST_ROWS)
    ]
    return Table(
        caption="Transitions between sensitive values",
        head=("From", "To", "Pairs", "Lower", "Higher", "Equal", "Mean signed gap", "p", "p (Holm)"),
        rows=tuple(rows),
        n_text=2,
        more=say_more(len(directions), MOST_ROWS, "directions"),
        is_sortable=True,
    )


def lay_matrix(record: Record) -> Matrix | None:
    """Lay the transitions out as a matrix; None where there are none, or too many for one."""
    directions = record["directions"]
    combinations = list(dict.fromkeys(tuple(one[end]) for one in directions for end in ("origin", "target")))
    if not 2 <= len(combinations) <= MOST_COMBINATIONS:
        return None
    sensitive = record["roles"]["sensitive"]
    known = [tuple(one["values"]) for one in record["coverage"] if one["columns"] == sensitive]
    combinations.sort(key=lambda one: known.index(one) if one in known else len(known))
    clear = list(filter(stands_out, directions))  # one odd pair must not make the rest look pale
    widest = max(abs(one["mean_gap"]) for one in clear or directions)
    cells: dict[tuple[Any, Any], Transition] = {}
    for one in directions:
        origin, target = tuple(one["origin"]), tuple(one["target"])
        cells[origin, target] = _cell(one, 1, widest)
        cells[target, origin] = _cell(one, -1, widest)
    return Matrix(
        str(join(show(name) for name in sensitive)),
        tuple(_name(one) for one in combinations),
        tuple(tuple(cells.get((row, column)) for column in combinations) for row in combinations),
    )


def _cell(one: Entry, sign: int, widest: float) -> Transition:
    mean = sign * one["mean_gap"]
    ends = [None if one[end] is None else sign * one[end] for end in (("low", "high") if sign > 0 else ("high", "low"))]
    told = f"{signed_found(mean, *ends)}, p (Holm) {probability(one['p_adjusted'])}"
    is_clear = stands_out(one)
    deepest = N_TINTS if is_clear else FAINT
    tint = min(max(round(N_TINTS * mean / widest), -deepest), deepest) if widest else 0
    return Transition(signed_percent(mean), count_of(one["n_pairs"], "pair"), told, tint, is_clear)


def _name(values: list[Any] | tuple[Any, ...]) -> Value:
    return join(show(value) for value in values)
