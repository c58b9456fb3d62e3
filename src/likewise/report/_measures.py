"""The measures of an audit as titles and tables: gaps, rank gaps, model performance, and what changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from likewise._format import POINTS, count_of, show_limit, show_value
from likewise.record import AuditRecord
from likewise.record._internal import FEW_PAIRS, MIRROR, Comparison, LabelMeasures, Measure, counted_in, slice_of
from likewise.report._text import UNKNOWN, Cell, Number, Table, count, measured, percent, show, show_score

MAX_LABELS: Final = 12

GAP_TITLES: Final = {
    "gap_mean": "Mean gap",
    "gap_q3": "Upper quartile (Q3)",
    "gap_median": "Median gap",
    "gap_q95": "95th percentile",
    "gap_max": "Largest gap",
    "gap_share_above": "Pairs above the gap limit",
    "flip_rate": "Pairs with different decisions",
}
RANK_TITLES: Final = {
    "rank_gap_mean": "Mean rank gap",
    "rank_gap_median": "Median rank gap",
    "rank_gap_q3": "Upper quartile of rank gaps",
    "rank_gap_q95": "95th percentile of rank gaps",
    "rank_gap_max": "Largest rank gap",
    "gap_over_spread": "Mean gap / standard deviation of scores",
}
PEOPLE_TITLES: Final = {
    "roc_auc": "ROC AUC",
    "average_precision": "Average precision",
    "accuracy": "Accuracy",
    "balanced_accuracy": "Balanced accuracy",
    "f1": "F1",
    "log_loss": "Log loss",
    "brier": "Brier score",
    "calibration_error": "Expected calibration error",
    "score_spread": "Standard deviation of scores",
    "r2": "R²",
    "mean_absolute_error": "Mean absolute error",
    "root_mean_squared_error": "Root mean squared error",
}
_OF_TARGETS: Final = {
    "target_gap_mean": "Signed mean gap, target minus control",
    "control_only_rate": "Pairs with only the control approved",
    "target_only_rate": "Pairs with only the target approved",
}
TARGET_TITLES: Final = _OF_TARGETS | {
    f"{MIRROR}{name}": f"{title}; mirror image, the target no better" for name, title in _OF_TARGETS.items()
}
TRANSITION_TITLES: Final = {
    "signed_gap_mean": "Signed mean gap",
    "adjusted_gap": "Adjusted gap",
    "favoured_share": "Pairs with the second group favoured",
    "only_approved_share": "Pairs with only the second group approved",
}
EXPLAINED_TITLES: Final = {
    "part": "Part of the mean gap",
    "part_share": "Share of the mean gap",
    "sensitive_part": "Part of the mean gap, sensitive columns",
    "sensitive_part_share": "Share of the mean gap, sensitive columns",
    "certified_share": "People within the gap limit of everybody comparable",
    "certified_mean": "Mean worst possible gap",
    "certified_max": "Largest worst possible gap",
}
EXCESS_TITLES: Final = {
    "excess_gap_mean": "Mean gap",
    "excess_equal_gap_mean": "Mean gap where discrete columns are equal",
    "excess_rank_gap_mean": "Mean rank gap",
    "excess_flip_rate": "Pairs with different decisions",
}
SUMMARIZED: Final = {name: GAP_TITLES[name] for name in ("gap_mean", "gap_q3")}
BASELINE: Final = {"within_gap_mean": "Mean gap, same-group pairs (baseline)"}
TITLES: Final = {
    **GAP_TITLES,
    **RANK_TITLES,
    **PEOPLE_TITLES,
    **TARGET_TITLES,
    **TRANSITION_TITLES,
    **EXPLAINED_TITLES,
    **{name: f"Excess by person: {title[0].lower()}{title[1:]}" for name, title in EXCESS_TITLES.items()},
    "coverage": "Matched people",
    "impact_ratio": "Adverse impact ratio (four-fifths rule)",
}
CHANGED: Final = (
    *(f"{label}_{name}" for label in ("positive", "negative") for name in ("gap_mean", "gap_q3", "excess_gap_mean")),
    *TARGET_TITLES,
    *(*GAP_TITLES, "excess_gap_mean", *RANK_TITLES, *PEOPLE_TITLES),
)

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
    "Gaps shrink when a model squeezes its scores together, although nobody changes places. Rank gaps do not: the rank "
    "gap of a pair is the share of all scored people who rank between its two people."
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


def title_of(name: str) -> str:
    """Return the title of a measure."""
    prefix = slice_of(name)
    rest = name.removeprefix(prefix)
    title = TITLES.get(rest.removeprefix("within_"), rest)
    where = f", {prefix.removesuffix('_')} label" if prefix else ""
    return f"{title}{', same-group pairs (baseline)' if rest.startswith('within_') else ''}{where}"


def describe_intervals(record: AuditRecord) -> str:
    """Sentence about the confidence intervals."""
    settings = record.settings
    if not settings.n_resamples:
        return "No confidence intervals were requested."
    return (
        f"In brackets: {100 * settings.confidence:g}% confidence intervals, by the variation between people "
        f"({settings.n_resamples:,} draws of chance for the calibration error). Maxima have none, nor have pairs of "
        "fewer than 3 people on one side; with few pairs an interval may be open at one end."
    )


def has_baseline(record: AuditRecord) -> bool:
    """Whether same-group pairs were measured."""
    return measured(record.measures, "within_gap_mean") != UNKNOWN


def labels_in_order(record: AuditRecord) -> list[LabelMeasures]:
    """Return the measures by label, the positive one first; none where pairs share no label."""
    positive = record.positive
    return sorted(
        record.by_label if record.has_labels else (), key=lambda one: positive is None or one.label != positive
    )


def gap_slices(record: AuditRecord, *, excess: bool = True) -> list[Slice]:
    """Gaps by label, with the baseline and, if asked for, the excess."""
    given = record.settings.gap_limit
    limit = show_limit("gap_mean", given, points=record.in_points) if given is not None else ""
    return _list_slices(record, "Gaps", GAP_TITLES | {"gap_share_above": f"Pairs with a gap above {limit}"}, excess)


def rank_slices(record: AuditRecord, *, excess: bool = True) -> list[Slice]:
    """Measures that do not shrink when a model squeezes its scores together, by label."""
    return _list_slices(record, "Rank gaps", RANK_TITLES, excess)


def has_performance(record: AuditRecord) -> bool:
    """Whether there are outcomes to measure performance by."""
    return any(name in record.measures for name in PEOPLE_TITLES if name != "score_spread")


def performance_table(record: AuditRecord) -> Table:
    """Model performance, calibration and variation of the scores."""
    measures = record.measures
    rows = tuple(
        (title, measured(measures, name), count(measures[name].n))
        for name, title in PEOPLE_TITLES.items()
        if name in measures
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
        (title, measured(found, name, points=record.in_points), count(found[name].n))
        for name, title in TARGET_TITLES.items()
        if name in found
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
    names = [name for name in EXCESS_TITLES if any(measured(one, name) != UNKNOWN for _, one in slices)]
    if not names:
        return None
    rows: list[tuple[Cell, ...]] = [
        (title, *(measured(measures, name, points=record.in_points) for name in names)) for title, measures in slices
    ]
    return Table(
        caption="Excess by person: gap to other groups less gap to the own group",
        head=("Pairs", *(EXCESS_TITLES[name] for name in names)),
        rows=tuple(row for row in rows if set(row[1:]) != {UNKNOWN}),
    )


def count_labels_left_out(record: AuditRecord) -> str:
    """Sentence that counts the labels without a table; "" if none."""
    n_more = len(record.by_label) - MAX_LABELS
    if n_more <= 0:
        return ""
    return f"{n_more:,} more labels in the record (audit.json)."


def change_table(comparison: Comparison, *, points: bool) -> Table:
    """Measures before and after, gaps first."""
    rows: list[tuple[Cell, ...]] = []
    for name in CHANGED:
        change = comparison.changes.get(name)
        if change is not None and change.is_known:
            sides = (measured({name: one}, name, points=points) for one in (change.before, change.after))
            is_told = counted_in(name) == "people" or change.n_least >= FEW_PAIRS
            rows.append((title_of(name), *sides, _difference(name, change.difference, points, is_told)))
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


def _list_slices(record: AuditRecord, what: str, titles: Mapping[str, str], excess: bool) -> list[Slice]:
    beside = has_baseline(record)
    columns = {"": "Comparable pairs", "within_": "Same-group pairs (baseline)", "excess_": "Excess"}
    prefixes = list(columns)[: 3 if beside and excess else 2 if beside else 1]
    slices = []
    for title, label, measures in _slices(record):
        n, n_within = (measures[name].n if name in measures else 0 for name in ("gap_mean", "within_gap_mean"))
        counted = count_of(n, "pair") + (f", baseline {count_of(n_within, 'pair')}" if beside else "")
        cells: list[tuple[Cell, ...]] = [
            (words, *(measured(measures, f"{prefix}{name}", points=record.in_points) for prefix in prefixes))
            for name, words in titles.items()
        ]
        rows = tuple(row for row in cells if set(row[1:]) != {UNKNOWN})
        head = ("Measure", *(columns[prefix] for prefix in prefixes))
        table = Table(caption=f"{what}, {title[0].lower()}{title[1:]}", head=head, rows=rows) if rows else None
        slices.append(Slice(title, counted, table, label, measures is record.measures))
    return slices


def _slices(record: AuditRecord) -> Iterator[tuple[str, Any, Mapping[str, Measure]]]:
    """Yield the pairs of each label, the positive one first, and all pairs."""
    for one in labels_in_order(record)[:MAX_LABELS]:
        is_positive = record.positive is not None and one.label == record.positive
        yield f"Label {show(one.label)}{' (positive)' if is_positive else ''}", one.label, one.measures
    yield "All pairs", None, record.measures
