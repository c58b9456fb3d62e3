"""Evidence: differences between groups, worst pairs side by side, largest gaps of people, calibration and groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from likewise._format import TOO_FEW, count_of
from likewise.record import AuditRecord
from likewise.record._internal import Direction, Factor, GroupRate, PairCase, PersonGap, RuleTerms, show_value
from likewise.report._text import (
    MAX_ROWS,
    NOTHING,
    Cell,
    Number,
    Table,
    Value,
    count,
    count_left_out,
    gap,
    join,
    p_value,
    percent,
    show,
    show_score,
    signed_gap,
    signed_number,
)

MAX_COMBINATIONS: Final = 12  # a wider matrix cannot be taken in at a glance
SIGNIFICANT: Final = 0.05  # adjusted p-values below
N_TINTS: Final = 3
FAINT: Final = 1  # the deepest tint of what is not significant
ABOUT_DIRECTIONS: Final = (
    "Each row compares people with the values under “To” with comparable people who have those under “From”. The "
    "signed gap is {difference}: negative means that people under “To” are {worse}. “{Lower}”, “{Higher}” and “Equal” "
    "count pairs{flips}. The two of a pair may differ in the compared columns within the tolerance; the adjusted gap "
    "is that of people who are alike in all of them (the intercept of a regression of the pairs' signed gaps on their "
    "signed differences). Its interval and p are of one estimate; p (Holm) allows for all transitions shown, "
    "those by one column included. Nothing is concluded where fewer than three people count on either side (ten, where "
    "scores are decisions), or where people are too few for as many columns."
)
ABOUT_COLUMN_DIRECTIONS: Final = (
    "The same by each sensitive column alone, whatever the other sensitive columns do. A pair that differs in several "
    "of them counts once under each, so these rows overlap."
)
FLIPS: Final = "; “Only From approved” and “Only To approved” those with different decisions, by whom they favour"
ABOUT_MATRIX: Final = (
    "Rows and columns are the sensitive values of the two people of a pair. Each cell is the adjusted gap: {side}. "
    "Every transition appears twice, with opposite signs."
)
ABOUT_BOLD: Final = " Bold: statistically significant (Holm-adjusted p below 0.05)."
MAX_COLUMNS: Final = 24
MAX_RELEVANT: Final = 60  # columns that differ or are sensitive
EQUAL: Final = "must be equal"
UNITS: Final = {"ordinal": "in rank", "continuous": "of the range"}
MAX_PEOPLE: Final = 20
ABOUT_PEOPLE: Final = (
    "Means over pairs hide individuals. Here every matched person counts once, with the largest gap to a comparable "
    "person."
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


def name_sides(record: AuditRecord) -> tuple[str, str]:
    """Name the two sides of a signed gap: low scores may be the favourable ones."""
    return ("Worse off", "Better off") if record.favours_low else ("Lower", "Higher")


def about_directions(record: AuditRecord) -> str:
    """Explain the table of directions."""
    lower, higher = name_sides(record)
    is_low, flips = record.favours_low, FLIPS * any(one.n_flips_up is not None for one in record.directions)
    former = "the score of the latter minus that of the former, as low scores are favourable"
    difference = former if is_low else "the score of the former minus that of the latter"
    worse = "worse off" if is_low else "scored lower"
    control = " Where one of the two groups is the control, it is under “From”." if record.settings.reference else ""
    told = ABOUT_DIRECTIONS.format(difference=difference, worse=worse, Lower=lower, Higher=higher, flips=flips)
    return f"{told}{control}"


def about_matrix(record: AuditRecord) -> str:
    """Explain the matrix of directions."""
    row, column = "score of the row's group", "score of the column's group"
    side = f"{column} minus {row}"
    if record.favours_low:
        side = f"{row} minus {column}, so that negative is worse for the column's group"
    return ABOUT_MATRIX.format(side=side) + ABOUT_BOLD * any(map(is_significant, record.directions))


def direction_table(record: AuditRecord) -> Table | None:
    """Who is scored lower than whom; None where no pair differs in a sensitive column."""
    return _list_directions("Transitions between sensitive values", record, [((), one) for one in record.directions])


def column_direction_table(record: AuditRecord) -> Table | None:
    """The same by each sensitive column alone; None where only one column is sensitive."""
    found = [((show(part.column),), one) for part in record.column_directions for one in part.directions]
    return _list_directions("Transitions by one sensitive column", record, found)


def _list_directions(
    caption: str, record: AuditRecord, listed: Sequence[tuple[tuple[Cell, ...], Direction]]
) -> Table | None:
    if not listed:
        return None
    column, has_flips = ("Column",) * len(listed[0][0]), any(one.n_flips_up is not None for _, one in listed)
    flips = ("Only From approved", "Only To approved") * has_flips
    kept = {id(one) for one in choose_directions([one for _, one in listed], MAX_ROWS)}
    rows: list[tuple[Cell, ...]] = [
        (
            *before,
            name_values(one.origin),
            name_values(one.target),
            count(one.n_pairs),
            *_weigh((one.n_lower, one.lower_share), (one.n_higher, one.higher_share), (one.n_equal, _rest(one))),
            *_weigh(*((one.n_flips_down, one.flips_down_share), (one.n_flips_up, one.flips_up_share)) * has_flips),
            Number(signed_gap(one.mean_gap, points=record.in_points), one.mean_gap),
            adjusted_gap(one, points=record.in_points),
            Number(p_value(one.p_value), one.p_value),
            Number(p_value(one.p_adjusted), one.p_adjusted),
        )
        for before, one in listed
        if id(one) in kept
    ]
    gaps = ("Signed mean gap", "Adjusted gap", "p", "p (Holm)")
    return Table(
        caption=caption,
        head=(*column, "From", "To", "Pairs", *name_sides(record), "Equal", *flips, *gaps),
        rows=tuple(rows),
        n_text=2 + len(column),
        more=count_left_out(len(listed), MAX_ROWS, "directions"),
        is_sortable=True,
    )


def adjusted_gap(one: Direction, *, points: bool) -> Number:
    """Format the adjusted gap with its interval, or with the words that too few people count."""
    shown = signed_number(one.adjusted_gap, one.adjusted_low, one.adjusted_high, points=points)
    return replace(shown, interval=TOO_FEW) if one.is_undecided else shown


def _weigh(*counted: tuple[int | None, float | None]) -> Iterator[Number]:
    """Format numbers of pairs, with their shares by weight where people are weighted."""
    for n, share in counted:
        yield count(n or 0) if share is None else Number(f"{n or 0:,}", n or 0, percent(share))


def _rest(one: Direction) -> float | None:
    """Return the share of pairs scored alike, by weight."""
    known = None in (one.lower_share, one.higher_share)
    return None if known else max(1 - (one.lower_share or 0.0) - (one.higher_share or 0.0), 0.0)


def direction_matrix(record: AuditRecord) -> Matrix | None:
    """The transitions as a matrix; None where there are none, or too many."""
    directions = record.directions
    combinations = list(dict.fromkeys(end for one in directions for end in (one.origin, one.target)))
    if not 2 <= len(combinations) <= MAX_COMBINATIONS:
        return None
    known = [one.values for one in record.coverage if one.columns == record.sensitive]
    combinations.sort(key=lambda one: known.index(one) if one in known else len(known))
    clear = list(filter(is_significant, directions))  # one odd pair must not make all others look pale
    widest = max(abs(one.adjusted_gap or 0.0) for one in clear or directions)
    cells: dict[tuple[Any, Any], Transition] = {}
    for one in directions:
        cells[one.origin, one.target] = _cell(one, widest, record.in_points)
        cells[one.target, one.origin] = _cell(one.reversed(), widest, record.in_points)
    return Matrix(
        str(join(show(name) for name in record.sensitive)),
        tuple(name_values(one) for one in combinations),
        tuple(tuple(cells.get((row, column)) for column in combinations) for row in combinations),
    )


def _cell(one: Direction, widest: float, points: bool) -> Transition:
    details = f"{adjusted_gap(one, points=points)}, p (Holm) {p_value(one.p_adjusted)}"
    deepest = N_TINTS if is_significant(one) else FAINT
    tint = min(max(round(N_TINTS * ((one.adjusted_gap or 0.0) / widest)), -deepest), deepest) if widest else 0
    return Transition(
        signed_gap(one.adjusted_gap, points=points), count_of(one.n_pairs, "pair"), details, tint, is_significant(one)
    )


def name_values(values: tuple[Any, ...]) -> Value:
    return join(show(value) for value in values)


@dataclass(frozen=True, slots=True)
class FactorRow:
    """One column of the two people; ``allowed`` is a number where the rule sets one, ``tolerance`` is in words."""

    column: Value
    role: str
    left: Value
    right: Value
    differs: bool
    difference: str
    allowed: str
    tolerance: str


@dataclass(frozen=True, slots=True)
class PairView:
    """Two people side by side."""

    number: int
    gap: str
    rank_gap: str
    decisions: str
    label: Value | None
    people: tuple[Value, Value]
    score_names: Value | None
    scores: tuple[str, str]
    decided: tuple[Value, Value] | None
    factors: tuple[FactorRow, ...]
    more: str

    @property
    def headline(self) -> str:
        """Gap, rank gap, decisions and label in a line."""
        decisions = f", {self.decisions}" if self.decisions else ""
        label = "" if self.label is None else f", label {self.label}"
        return f"gap {self.gap}, rank gap {self.rank_gap}{decisions}{label}"


def worst_pairs(record: AuditRecord) -> list[PairCase]:
    """Return the worst pairs that have a gap."""
    return [pair for pair in record.worst_pairs if pair.gap]


def pair_views(record: AuditRecord, most: int) -> list[PairView]:
    """Lay out the pairs with the largest gaps side by side."""
    names = join(show(label) for label in record.labels) if record.task == "multiclass" else None
    listed = [(number, pair) for number, pair in enumerate(record.worst_pairs, start=1) if pair.gap]
    return [_view_pair(number, pair, record, names) for number, pair in listed[:most]]


def _name_parts(pair: PairCase, reference: Mapping[str, tuple[Any, ...]]) -> tuple[str, str]:
    """Name the target and the control of a pair; nothing where neither or both are."""
    sides = [
        [(one.column, value) for one in pair.factors for value in [getattr(one, side)]] for side in ("left", "right")
    ]
    left, right = (sum(value in reference.get(column, ()) for column, value in side) for side in sides)
    return ("", "") if left == right else (" (control)", " (target)") if left > right else (" (target)", " (control)")


def _view_pair(number: int, pair: PairCase, record: AuditRecord, score_names: Value | None) -> PairView:
    rule, parts = record.terms, _name_parts(pair, record.settings.reference or {})
    factors, tolerances = _choose(pair.factors), _describe_tolerances(pair.factors, rule)
    return PairView(
        number,
        gap(pair.gap, points=record.in_points),
        show_value("rank_gap_mean", pair.rank_gap),
        {True: "different decisions", False: "the same decision", None: ""}[pair.is_flip],
        None if pair.label is None else show(pair.label),
        (
            join((name_person(pair.left_row, pair.left_id), Value(parts[0])), ""),
            join((name_person(pair.right_row, pair.right_id), Value(parts[1])), ""),
        ),
        score_names,
        (show_score(pair.left_score), show_score(pair.right_score)),
        None if pair.is_flip is None else (_decision(pair.left_decision), _decision(pair.right_decision)),
        tuple(_view_factor(factor, tolerances) for factor in factors),
        _count_left_out(pair.factors, factors),
    )


def _decision(decision: Any) -> Value:
    return Value("yes" if decision else "no") if isinstance(decision, bool) else show(decision)


def _choose(factors: Sequence[Factor]) -> list[Factor]:
    """Keep the columns that differ or are sensitive, and the first of the others."""
    relevant = [one.column for one in factors if one.differs or one.role == "sensitive"]
    known = set(relevant)
    others = [one.column for one in factors if one.column not in known]
    kept = {*relevant[:MAX_RELEVANT], *others[: max(MAX_COLUMNS - len(relevant), 0)]}
    return [one for one in factors if one.column in kept]


def _count_left_out(factors: Sequence[Factor], kept: Sequence[Factor]) -> str:
    n_differing = sum(one.differs for one in factors) - sum(one.differs for one in kept)
    n_equal = len(factors) - len(kept) - n_differing
    equal = f"{n_equal:,} more {'column is' if n_equal == 1 else 'columns are'} equal." if n_equal else ""
    return f"{n_differing:,} more differ (see audit.json). {equal}".strip() if n_differing else equal


def _view_factor(factor: Factor, tolerances: Mapping[str, str]) -> FactorRow:
    unit = UNITS.get(factor.role, "")
    allowed = "" if factor.tolerance is None else f"{factor.tolerance:.4g}"
    difference = "differs" if factor.shift is None else f"{factor.shift:.4g} {unit}"
    if factor.difference is not None and factor.limit is not None:
        unit = "days" if factor.unit == "days" else ""
        difference, allowed = f"{factor.difference:,.9g} {unit}".strip(), f"{factor.limit:,.9g}"
    return FactorRow(
        show(factor.column),
        factor.role,
        show(factor.left),
        show(factor.right),
        factor.differs,
        difference if factor.differs else "",
        allowed,
        tolerances.get(factor.column) or (f"{allowed} {unit}".strip() if allowed else ""),
    )


def _describe_tolerances(factors: Sequence[Factor], rule: RuleTerms) -> dict[str, str]:
    """Describe what the rule allows in sensitive and discrete columns, and in those that must match."""
    by_role = {role: [one.column for one in factors if one.role == role] for role in ("sensitive", "discrete")}
    must_match = {*(rule.must_match or ()), *(one.column for one in factors if one.role == "matched")}
    discrete = [column for column in by_role["discrete"] if column not in must_match]
    n_changes = min(rule.max_discrete_changes, len(discrete))
    change = f"{n_changes:,} of {len(discrete):,} may differ" if n_changes else EQUAL
    wanted = {"none": EQUAL, "any": "one must differ" if len(by_role["sensitive"]) > 1 else "must differ"}
    of_sensitive = wanted.get(rule.sensitive_differs, "must differ")
    return {
        **dict.fromkeys(by_role["sensitive"], of_sensitive),
        **dict.fromkeys(discrete, change),
        **dict.fromkeys(must_match, EQUAL),
    }


def summarize_people(record: AuditRecord) -> str:
    """Sum up the largest gaps of all matched people."""
    found = record.person_gaps
    if not found.n_people:
        return "Nobody is matched."
    people = count_of(found.n_people, "matched person", "matched people")
    mean, median, q95 = (gap(one, points=record.in_points) for one in (found.mean, found.median, found.q95))
    ends = f"mean {mean}, median {median}, 95th percentile {q95}"
    return f"{people}. Largest gap per person: {ends}."


def people_table(record: AuditRecord) -> Table | None:
    """The people with the largest gaps; None where nobody has one."""
    worst = [one for one in record.person_gaps.worst if one.worst_gap]
    if not worst:
        return None
    has_labels = any(one.label is not None for one in worst)
    return Table(
        caption="People with the largest gaps",
        head=(
            *("Person", *(("Label",) * has_labels), "Comparable person", "Score", "Score of the comparable person"),
            *("Largest gap", "Comparable people"),
        ),
        rows=tuple(_person_row(one, has_labels, record.in_points) for one in worst[:MAX_PEOPLE]),
        n_text=3 if has_labels else 2,
        more=count_left_out(len(worst), MAX_PEOPLE, "people"),
        is_sortable=True,
    )


def _person_row(one: PersonGap, has_labels: bool, points: bool) -> tuple[Cell, ...]:
    label: Cell = NOTHING if one.label is None else show(one.label)
    return (
        name_person(one.row, one.id),
        *((label,) * has_labels),
        name_person(one.comparator_row, one.comparator_id),
        _score(one.score),
        _score(one.comparator_score),
        Number(gap(one.worst_gap, points=points), one.worst_gap),
        count(one.n_partners),
    )


def name_person(row: int, identifier: Any) -> Value:
    """Name a person by the row, and by the identifier where there is one."""
    name = Value(f"Row {row:,}")
    return name if identifier is None or identifier == row else join((name, show(identifier)), ", id ")


def _score(score: float | tuple[float, ...]) -> Number:
    return Number(show_score(score), None if isinstance(score, tuple) else score)


def _plain(number: float | None) -> str:
    return NOTHING if number is None else show_value("impact_ratio", number)


INTERVALS: Final = {"selection_rate": "selection_interval", "impact_ratio": "impact_interval"}
RATES: Final[Mapping[str, tuple[str, Callable[[Any], str]]]] = {
    "selection_rate": ("Selection rate", percent),
    "impact_ratio": ("Adverse impact ratio", _plain),
    "true_positive_rate": ("True positive rate", percent),
    "false_positive_rate": ("False positive rate", percent),
    "mean_score": ("Mean score", show_score),
}


def _rate(one: GroupRate, name: str) -> Number:
    """Format a rate or ratio of a group, with its interval."""
    write, value, ends = RATES[name][1], getattr(one, name), getattr(one, INTERVALS.get(name, ""), None)
    return Number(write(value), value, " to ".join(map(write, ends)) if ends else "")


def has_rates(record: AuditRecord) -> bool:
    """Whether selection rates are known."""
    return any(one.selection_rate is not None for one in record.groups)


def rate_tables(record: AuditRecord) -> list[Table]:
    """Selection rates and fairlearn's metrics, as far as there are any."""
    is_rated = any(getattr(one, name) is not None for one in record.groups for name in RATES)
    rated = [rate_table(record.groups, "Selection rates and scores by group")] if is_rated else []
    rows = tuple((name, _plain(value)) for name, value in record.fairlearn.items())
    caption = "Group metrics of fairlearn, over all sensitive columns"
    return [*rated, Table(caption=caption, head=("Metric", "Value"), rows=rows)] if rows else rated


def coverage_tables(record: AuditRecord) -> list[Table]:
    """Who is matched, by group."""
    rows: list[tuple[Cell, ...]] = [
        (
            name_group(one.columns, one.values, one.label),
            count(one.n_people),
            count(one.n_with_partner),
            Number(percent(one.share), one.share),
        )
        for one in record.coverage[:MAX_ROWS]
    ]
    whole = Table(
        caption="Coverage: people with at least one comparable pair",
        head=("Group", "People", "Matched", "Share"),
        rows=tuple(rows),
        more=count_left_out(len(record.coverage), MAX_ROWS, "groups"),
        is_sortable=True,
    )
    return [whole] if rows else []


def rate_table(
    groups: Sequence[GroupRate], caption: str, *, names: Sequence[str] = tuple(RATES), most: int = MAX_ROWS
) -> Table:
    """People of each group, with those of the named rates that are known."""
    known = [name for name in names if any(getattr(one, name) is not None for one in groups)]
    rows: list[tuple[Cell, ...]] = [
        (
            name_group(one.columns, one.values),
            count(one.n_people),
            *(_rate(one, name) for name in known),
        )
        for one in groups[:most]
    ]
    return Table(
        caption=caption,
        head=("Group", "People", *(RATES[name][0] for name in known)),
        rows=tuple(rows),
        more=count_left_out(len(groups), most, "groups"),
        is_sortable=True,
    )


def name_group(columns: Sequence[str], values: Sequence[Any], label: Any = None) -> Value:
    """Name a group by its columns and values."""
    parts = [join((show(c), show(v)), " = ") for c, v in zip(columns, values, strict=True)]
    if label is not None:
        parts.append(join((Value("label"), show(label)), " "))
    return join(parts) if parts else Value("all people")
