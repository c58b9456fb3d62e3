"""The measures of an audit as titles and tables: gaps, rank gaps, model performance, and what changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from likewise._format import POINTS, count_of
from likewise.record import AuditRecord
from likewise.record._internal import (
    EXCESS_OF,
    FEW_PAIRS,
    MEASURES,
    SAME_GROUP_OF,
    Comparison,
    Direction,
    GroupEffect,
    Measure,
    kind_of,
    of_every_part,
    show_limit,
    show_value,
)
from likewise.report._evidence import adjusted_gap
from likewise.report._text import (
    UNKNOWN,
    Cell,
    Number,
    Table,
    count,
    measured,
    percent,
    show,
    show_score,
    signed_number,
    title,
)

ABOUT_REGRESSION: Final = (
    "A regression of {what} on the compared columns{label} and one sensitive column at a time. Its effect is {given} "
    "in the group, less that in the reference, of people with the same values, averaged over everybody. It counts all "
    "people, matched or not, and takes columns to act by a formula; the adjusted gap of the pairs takes no formula, "
    "and is of matched people."
)
REGRESSED: Final = {
    "logit": ("decisions (logit)", "the share approved"),
    "fractional logit": ("scores (fractional logit)", "the score"),
    "linear": ("amounts (linear)", "the score"),
}
DISAGREE: Final = "the two disagree: their intervals have no number in common"
MAX_LABELS: Final = 12
BASELINES: Final = tuple(SAME_GROUP_OF.values())

IN_TABLES: Final = [name for name, kind in MEASURES.items() if kind.family == "pairs" and name not in BASELINES]
PERFORMANCE: Final = [
    name for name, kind in MEASURES.items() if kind.family == "people" and name not in ("matched_share", "impact_ratio")
]
DIRECTED: Final = [name for name, kind in MEASURES.items() if kind.family == "direction"]
SUMMARIZED: Final = ("gap_mean", "gap_q3")
CHANGED: Final = ("excess", *IN_TABLES, *(f"excess_{name}" for name in ("rank_gap", "flips")), *DIRECTED, *PERFORMANCE)

ABOUT_GAPS: Final = (
    "The gap of a pair is the absolute difference between its two scores; between probabilities, in percentage points "
    "(pp). Mean and upper quartile are the figures of the published method."
)
ABOUT_BASELINE: Final = (
    "Same-group pairs, comparable people with equal sensitive values, are the baseline: their gaps show how much "
    "scores differ anyway. The excess compares both for each person: the mean gap to comparable people of other groups "
    "less the mean gap to comparable people of the own group, averaged over all who have both kinds of partners."
)
ABOUT_RANKS: Final = (
    "The rank gap is the share of all scored people who rank between the two: unlike gaps, rank gaps do not shrink "
    "where scores move closer together."
)
ABOUT_PERFORMANCE: Final = "Small gaps mean little where performance is poor or the scores hardly vary."
ABOUT_SPREAD: Final = (
    "Without labels, model performance is not known. Small gaps mean little where the scores hardly vary."
)
ABOUT_BOLD: Final = " Bold: the interval excludes zero."
ABOUT_CHANGES: Final = (
    "The difference is after minus before. Where it has an interval, that is the interval of the paired difference, "
    "which is much narrower than the two separate intervals."
)


@dataclass(frozen=True, slots=True)
class Slice:
    """Some of the pairs with a table of their measures; no table where nothing could be measured."""

    title: str
    counted: str
    table: Table | None
    label: Any
    is_all: bool


def describe_intervals(record: AuditRecord) -> str:
    """Sentence about the confidence intervals."""
    settings = record.settings
    if not settings.n_resamples:
        return "No confidence intervals were requested."
    is_clustered = any(note.kind == "clustered" for note in record.notes)
    who = "clusters" if is_clustered else "people, who are taken as independent"
    return (
        f"In brackets: {100 * settings.confidence:g}% confidence intervals, by the variation between {who}. Maxima "
        f"have none, nor have pairs of fewer than 10 {'clusters' if is_clustered else 'people'} on one side; with few "
        "pairs an interval may be open at one end."
    )


def has_baseline(record: AuditRecord) -> bool:
    """Whether same-group pairs were measured."""
    return record.measures.get("same_group_flip_rate", Measure(None)).n > 0


def labels_in_order(record: AuditRecord) -> list[Any]:
    """Return the labels, the positive one first; none where pairs share no label."""
    return sorted(record.labels, key=lambda one: record.positive is None or one != record.positive)


def gap_slices(record: AuditRecord, *, excess: bool = True) -> list[Slice]:
    """Gaps by label, with the baseline and, if asked for, the excess."""
    return [_view_slice(record, *one, excess=excess and has_baseline(record)) for one in _slices(record)]


def has_performance(record: AuditRecord) -> bool:
    """Whether there are outcomes to measure performance by."""
    return any(name in record.measures for name in PERFORMANCE if name != "score_spread")


def performance_table(record: AuditRecord) -> Table:
    """Model performance, calibration and variation of the scores."""
    measures = record.measures
    rows = tuple(
        (title(name), measured(measures, name), count(measures[name].n)) for name in PERFORMANCE if name in measures
    )
    caption = "Model performance" if has_performance(record) else "Scores"
    return Table(caption=caption, head=("Measure", "Value", "People"), rows=rows)


def calibration_table(record: AuditRecord) -> Table | None:
    """Mean score and observed rate by bins of people; None where scores are not probabilities of one label."""
    rows = tuple(
        (
            f"{show_score(one.low)} to {show_score(one.high)}",
            count(one.n),
            percent(one.mean_score),
            percent(one.observed),
        )
        for one in record.calibration
    )
    if not rows:
        return None
    head = ("Scores", "People", "Mean score", "Observed rate of the positive label")
    return Table(caption="Calibration by bins of scores", head=head, rows=rows)


def target_table(record: AuditRecord) -> Table | None:
    """Pairs of a target and a control; None where no reference is named."""
    found = record.measures
    rows = tuple(
        (title(name), measured(found, name, points=record.in_points), count(found[name].n))
        for name in of_every_part(DIRECTED, found)
    )
    if not rows:
        return None
    control = ", ".join(
        f"{show(name)} {show(list(values))}" for name, values in (record.settings.reference or {}).items()
    )
    return Table(caption=f"Target and control ({control})", head=("Measure", "Value", "Pairs"), rows=rows)


def excess_table(record: AuditRecord) -> Table | None:
    """Excess by person, by label; None where nobody has partners of both kinds."""
    slices = [(title, measures) for title, _, measures in _slices(record)]
    excesses = [name for name, kind in MEASURES.items() if kind.family == "excess"]
    names = [name for name in excesses if any(measured(one, name) != UNKNOWN for _, one in slices)]
    if not names:
        return None
    rows: list[tuple[Cell, ...]] = [
        (title, *(measured(measures, name, points=record.in_points) for name in names)) for title, measures in slices
    ]
    return Table(
        caption="Excess by person: gap to other groups less gap to the own group",
        head=("Pairs", *map(title, names)),
        rows=tuple(row for row in rows if set(row[1:]) != {UNKNOWN}),
    )


def count_labels_left_out(record: AuditRecord) -> str:
    """Sentence that counts the labels without a table; "" if none."""
    n_more = len(record.labels) - MAX_LABELS
    if n_more <= 0:
        return ""
    return f"{n_more:,} more labels in the record (audit.json)."


def change_table(comparison: Comparison, *, points: bool) -> Table:
    """Measures before and after, gaps first."""
    rows: list[tuple[Cell, ...]] = []
    for name in of_every_part(CHANGED, comparison.changes):
        change = comparison.changes[name]
        if change.is_known:
            sides = (measured({name: one}, name, points=points) for one in (change.before, change.after))
            is_told = kind_of(name).counted_in == "people" or change.n_least >= FEW_PAIRS
            rows.append((title(name), *sides, _difference(name, change.difference, points, is_told)))
    head = ("Measure", "Before", "After", "Difference")
    return Table(caption="Measures before and after", head=head, rows=tuple(rows))


def about_changes(table: Table) -> str:
    """Explain the table of what changed; what bold means only where something is."""
    cells = [cell for row in table.rows for cell in row]
    return ABOUT_CHANGES + ABOUT_BOLD * any(isinstance(one, Number) and one.is_bold for one in cells)


def _difference(name: str, found: Measure, points: bool, is_told: bool) -> Number:
    if found.value is None:
        return UNKNOWN
    low, high = found.low, found.high
    if low is None or high is None:
        return Number(_signed(name, found.value, points))
    interval = " to ".join(_signed(name, end, points).removesuffix(POINTS) for end in (low, high))
    return Number(_signed(name, found.value, points), interval=interval, is_bold=is_told and (low > 0 or high < 0))


def _signed(name: str, value: float, points: bool) -> str:
    value = round(value, 12)  # 0.3 - 0.1 - 0.2 is no change
    shown = show_value(name, value, points=points)
    return shown if value <= 0 or shown == show_value(name, 0.0, points=points) else f"+{shown}"


def _view_slice(record: AuditRecord, title: str, label: Any, measures: Mapping[str, Measure], *, excess: bool) -> Slice:
    beside = has_baseline(record)
    columns = {"Same-group pairs (baseline)": SAME_GROUP_OF} if beside else {}
    columns |= {"Excess": EXCESS_OF} if excess else {}
    n, n_same = (measures[name].n if name in measures else 0 for name in ("flip_rate", "same_group_flip_rate"))
    counted = count_of(n, "pair") + (f", baseline {count_of(n_same, 'pair')}" if beside else "")
    cells: list[tuple[Cell, ...]] = [
        (
            title_in(record, name),
            measured(measures, name, points=record.in_points),
            *(measured(measures, found.get(name, ""), points=record.in_points) for found in columns.values()),
        )
        for name in IN_TABLES
    ]
    rows = tuple(row for row in cells if set(row[1:]) != {UNKNOWN})
    head = ("Measure", "Comparable pairs", *columns)
    table = Table(caption=f"Gaps, {title[0].lower()}{title[1:]}", head=head, rows=rows) if rows else None
    return Slice(title, counted, table, label, label is None)


def title_in(record: AuditRecord, name: str) -> str:
    """Return the title of a measure, with the limit that it is about."""
    limit = record.settings.gap_limit
    if name != "gap_share_above" or limit is None:
        return title(name)
    return f"Share with a gap above {show_limit('gap_mean', limit, points=record.in_points)}"


def _slices(record: AuditRecord) -> Iterator[tuple[str, Any, Mapping[str, Measure]]]:
    """Yield the pairs of each label, the positive one first, and all pairs."""
    for label in labels_in_order(record)[:MAX_LABELS]:
        is_positive = record.positive is not None and label == record.positive
        yield f"Label {show(label)}{' (positive)' if is_positive else ''}", label, record.measures_of(label)
    yield "All pairs", None, record.measures_of()


def find_direction(record: AuditRecord, effect: GroupEffect) -> Direction | None:
    """Return the transition of the pairs that compares the same groups, from the same side."""
    by_column = {part.column: part.directions for part in record.column_directions}
    known = by_column.get(effect.column, record.directions if record.sensitive == (effect.column,) else ())
    both = [turned for one in known for turned in (one, one.reversed())]
    return next((one for one in both if (one.origin, one.target) == ((effect.reference,), (effect.group,))), None)


def list_disagreements(record: AuditRecord) -> list[str]:
    """Return a sentence for each group of which regression and pairs disagree."""
    found = [(effect, find_direction(record, effect)) for effect in record.regression]
    return [
        f"Of {show(effect.column)} {show(effect.group)} compared with {show(effect.reference)}, {DISAGREE}."
        for effect, one in found
        if one is not None and effect.disagrees(one.adjusted_low, one.adjusted_high)
    ]


def about_regression(record: AuditRecord) -> str:
    """Explain the regression, and say where it and the pairs disagree."""
    if not record.regression:
        return ""
    what, given = REGRESSED[record.regression[0].model]
    about = ABOUT_REGRESSION.format(what=what, given=given, label=", the label" * bool(record.labels))
    return " ".join([about, *list_disagreements(record)])


def regression_table(record: AuditRecord) -> Table | None:
    """Each group's effect beside the adjusted gap of its pairs; None without a regression."""
    rows: list[tuple[Cell, ...]] = []
    for effect in record.regression:
        one = find_direction(record, effect)
        rows.append(
            (
                show(effect.column),
                show(effect.group),
                show(effect.reference),
                signed_number(effect.effect, effect.low, effect.high, points=record.in_points),
                UNKNOWN if one is None else adjusted_gap(one, points=record.in_points),
                effect.why_not or "",
            )
        )
    head = ("Column", "Group", "Compared with", "Regression", "Adjusted gap of the pairs", "No interval because")
    return Table(caption="Regression beside the pairs", head=head, rows=tuple(rows), n_text=3) if rows else None
