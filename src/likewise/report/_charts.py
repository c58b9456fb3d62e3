"""The charts of an audit as plain data, from its record: axes with round ticks, bars, dots and markers."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations, product
from typing import Final

from likewise._format import POINTS, count_of
from likewise.record import AuditRecord
from likewise.record._internal import (
    Change,
    Comparison,
    Direction,
    GapSlice,
    Measure,
    kind_of,
    of_every_part,
    show_value,
)
from likewise.report._evidence import SIGNIFICANT, adjusted_gap, choose_directions, is_significant, name_sides
from likewise.report._text import as_text, clean, p_value, percent, shorten, signed_gap, signed_number, tidy, title

PAIRS: Final = "Comparable pairs"
BASELINE: Final = "Same-group pairs (baseline)"
MARKED: Final = {
    "gap_mean": ("Mean", "Mean gap"),
    "gap_q3": ("Q3", "Upper quartile (Q3)"),
    "same_group_gap_mean": ("Baseline", "Mean gap of same-group pairs (baseline)"),
}
MAX_DIRECTIONS: Final = 12  # all of them are in the table
LONGEST_LINE: Final = 32  # letters beside the number, on a phone
LONGEST_TIP: Final = 80
CHANGED: Final = ("excess", "gap_mean", "gap_q3", "rank_gap_mean", "flip_rate", "score_spread")

MAX_TICKS: Final = 6
MAX_LETTERS: Final = 42  # below a plot on a phone
MAX_DECIMALS: Final = 4
STEPS: Final = (1.0, 2.0, 2.5, 5.0, 10.0)
ROUNDING: Final = 1e-9  # 0.1 * 3 is not round in floats, but still a tick

LETTER: Final = 6.6  # pixels: about as wide as a letter of 12 pixels is
NARROWEST: Final = 256.0  # pixels of a plot on the smallest phone
LEFT: Final = -44.0  # where the words left of a plot begin: the style sheet leaves this much room
RIGHT: Final = NARROWEST + 16


@dataclass(frozen=True, slots=True)
class Tick:
    """A round number on an axis, and its label."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of a chart, from ``low`` to ``high``."""

    title: str
    low: float
    high: float
    ticks: tuple[Tick, ...]

    def place(self, value: float) -> float:
        """Return the position of a value as a share of the axis, clipped to its ends."""
        return min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)


@dataclass(frozen=True, slots=True)
class Series:
    """One distribution over the bins of a histogram: the share of its cases in each."""

    name: str
    n: int
    shares: tuple[float, ...]

    @property
    def counted(self) -> str:
        """The name for a legend."""
        return f"{self.name} ({self.n:,})"


@dataclass(frozen=True, slots=True)
class Marker:
    """A number marked in a histogram, with its interval where there is one."""

    name: str
    text: str
    tip: str
    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Histogram:
    """Distributions over the same bins: the first as bars, others as stepped lines."""

    title: str
    description: str
    x: Axis
    y: Axis
    edges: tuple[float, ...]
    series: tuple[Series, ...]
    markers: tuple[Marker, ...]
    tips: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Dot:
    """One row of a dot plot; ``start`` is the value it moved from, and a bar begins at zero."""

    lines: tuple[str, ...]
    text: str
    tip: str
    value: float
    low: float | None = None
    high: float | None = None
    start: float | None = None
    is_filled: bool = True
    is_bar: bool = False


@dataclass(frozen=True, slots=True)
class DotPlot:
    """Rows of dots with intervals over one axis; ``ends`` label its left and right."""

    title: str
    description: str
    x: Axis
    dots: tuple[Dot, ...]
    filled: str
    hollow: str
    ends: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class Point:
    """One bin of people in a reliability diagram; ``weight`` is its share of the largest bin."""

    x: float
    y: float
    weight: float
    tip: str


@dataclass(frozen=True, slots=True)
class Reliability:
    """Observed over predicted rates; on the diagonal they agree."""

    title: str
    description: str
    x: Axis
    y: Axis
    points: tuple[Point, ...]


Chart = Histogram | DotPlot | Reliability
Placement = list[tuple[Marker, bool]]  # markers from top to bottom, and whether the label is on the left


def gap_charts(record: AuditRecord) -> tuple[Histogram, ...]:
    """Distribution of the gaps by slice of pairs; slices without pairs are left out."""
    edges = record.distributions.edges
    return tuple(_gap_chart(record, one, edges) for one in record.distributions.slices if one.n)


def _gap_chart(record: AuditRecord, found: GapSlice, edges: tuple[float, ...]) -> Histogram:
    measures, points = measures_of(record, found), record.in_points
    series, counts, beside = [make_series(PAIRS, found.counts, found.n)], [found.counts], ""
    if found.n_within and found.within_counts:
        series.append(make_series(BASELINE, found.within_counts, found.n_within))
        counts.append(found.within_counts)
        beside = f", and of {count_of(found.n_within, 'same-group pair')} (baseline)"
    markers = [
        mark_value(short, long, one, points)
        for (short, long), one in ((words, measures.get(name)) for name, words in MARKED.items())
        if one is not None and one.value is not None
    ]
    excess = measures.get("excess")
    beyond = "" if excess is None or excess.value is None else f" Excess by person: {_show_gap(excess, points)}."
    spoken = "".join(f" {marker.tip}." for marker in markers) + beyond
    return make_histogram(
        f"Gaps. {name_slice(found)}",
        f"Distribution of the gaps of {count_of(found.n, 'comparable pair')}{beside}.{spoken}",
        ("Gap between the two scores of a pair", "Share of pairs"),
        edges,
        series,
        counts,
        markers,
        "Gap",
        as_points if points else as_percent,
    )


def measures_of(record: AuditRecord, found: GapSlice) -> Mapping[str, Measure]:
    """Return the measures of a slice of pairs."""
    if found.of == "all":
        return record.measures_of()
    return record.measures_of(found.label)


def name_slice(found: GapSlice) -> str:
    """Name a slice of pairs."""
    if found.of == "all":
        return "All pairs"
    return f"Label {tidy(as_text(found.label))}{' (positive)' if found.is_positive else ''}"


def person_chart(record: AuditRecord) -> Histogram | None:
    """Distribution of the largest gap of each matched person; None where nobody is matched."""
    found = record.person_gaps
    if not found.n_people:
        return None
    known, points = (("Median", "Median", found.median), ("Q95", "95th percentile", found.q95)), record.in_points
    markers = [mark_value(short, long, Measure(value), points) for short, long, value in known if value is not None]
    spoken = "".join(f" {marker.tip}." for marker in markers)
    return make_histogram(
        "Largest gap per person",
        f"Distribution of the largest gap of {count_of(found.n_people, 'matched person', 'matched people')}.{spoken}",
        ("Largest gap of a person", "Share of people"),
        found.edges,
        [make_series("Matched people", found.counts, found.n_people)],
        [found.counts],
        markers,
        "Largest gap",
        as_points if points else as_percent,
    )


def score_chart(record: AuditRecord) -> Histogram | None:
    """Distribution of the scores by label; None where scores are not probabilities of one label."""
    found = record.score_distribution
    slices = [] if found is None else [one for one in found.slices if sum(one.counts)]
    if found is None or not slices:
        return None
    slices.sort(key=lambda one: one.label != record.positive)  # the positive label as bars
    series = [make_series(f"Label {tidy(as_text(one.label))}", one.counts, sum(one.counts)) for one in slices]
    cut = record.threshold
    markers = [] if cut is None else [Marker("Threshold", f"Threshold {cut:.4g}", record.direction, cut)]
    return make_histogram(
        "Scores by label",
        "Distribution of the scores of " + " and of ".join(f"{one.n:,} people with {one.name}" for one in series) + ".",
        ("Score", "Share of people"),
        found.edges,
        series,
        [one.counts for one in slices],
        markers,
        "Score",
        as_number,
    )


def calibration_chart(record: AuditRecord) -> Reliability | None:
    """Reliability diagram: observed rate of the positive label over the mean score, by bins of people."""
    bins = record.calibration
    if not bins:
        return None
    largest = max(one.n for one in bins)
    error = record.measures.get("calibration_error")
    shown = "" if error is None or error.value is None else _show_gap(error, False)
    spoken = f" Expected calibration error {shown}." if shown else ""
    points = tuple(
        Point(
            one.mean_score,
            one.observed,
            one.n / largest,
            f"Mean score {percent(one.mean_score)}, observed rate {percent(one.observed)}, "
            f"{count_of(one.n, 'person', 'people')}",
        )
        for one in bins
    )
    return Reliability(
        "Reliability diagram",
        f"Observed rate of the positive label over the mean score, in {count_of(len(bins), 'bin')} of people. "
        f"On the diagonal the two agree.{spoken}",
        make_axis("Mean score of a bin", 0.0, 1.0, as_percent),
        make_axis("Observed rate of the positive label", 0.0, 1.0, as_percent),
        points,
    )


def make_histogram(
    title: str,
    description: str,
    axes: tuple[str, str],
    edges: tuple[float, ...],
    series: Sequence[Series],
    counts: Sequence[Sequence[float]],
    markers: Sequence[Marker],
    what: str,
    write: Callable[[float, float], str],
) -> Histogram:
    """Make a histogram of counts in bins, with what is said of each bin."""
    tallest = min(max(share for one in series for share in one.shares), 1.0)  # whatever somebody altered
    bounds = [(write(low, high - low), write(high, high - low)) for low, high in pairwise(edges)]
    told = list(zip(series, counts, strict=True))
    tips = tuple(
        f"{what} {low} to {high}. "
        + "; ".join(f"{s.name}: {percent(s.shares[i])} ({round(c[i], 1):,} of {s.n:,})" for s, c in told)
        for i, (low, high) in enumerate(bounds)
    )
    return Histogram(
        title,
        description,
        make_axis(axes[0], edges[0], edges[-1], write),
        make_axis(axes[1], 0.0, tallest, as_percent, is_grown=True),
        edges,
        tuple(series),
        tuple(markers),
        tips,
    )


def make_series(name: str, counts: Sequence[float], n: float) -> Series:
    """Make a distribution of counts."""
    return Series(name, round(n), tuple(count / n for count in counts))


def direction_chart(record: AuditRecord) -> DotPlot | None:
    """Adjusted gap of each transition between sensitive values; significant ones are chosen first."""
    directions = [one for one in record.directions if one.adjusted_gap is not None]
    if not directions:
        return None
    chosen = choose_directions(directions, MAX_DIRECTIONS)
    points = record.in_points
    dots = tuple(_direction(one, points) for one in sorted(chosen, key=lambda one: one.lean))
    reach = [end for dot in dots for end in (dot.value, dot.low, dot.high) if end is not None]
    span = max(max(reach), -min(reach)) or 0.01
    ends = min(*reach, -0.25 * span), max(*reach, 0.25 * span)  # room beyond zero shows that nobody is there
    n_significant = sum(map(is_significant, directions))
    lower, higher = (side.lower() for side in name_sides(record))
    left_out = f" The chart shows {len(dots):,} of {len(directions):,}." if len(dots) < len(directions) else ""
    return DotPlot(
        "Differences between groups (adjusted gap)",
        f"Adjusted gap of {count_of(len(directions), 'transition')} between sensitive values: "
        f"{'first score minus second' if record.favours_low else 'second score minus first'}. "
        f"{n_significant:,} significant (p (Holm) below {SIGNIFICANT:g}).{left_out}",
        make_axis("Adjusted gap", *ends, as_points if points else as_percent, is_grown=True),
        dots,
        f"Significant (p (Holm) < {SIGNIFICANT:g})",
        "Not significant",
        (f"← second is {lower}", f"second is {higher} →"),
    )


def _direction(one: Direction, points: bool) -> Dot:
    origin, target = clean(as_text(one.origin)), clean(as_text(one.target))
    lower, higher = ("worse off", "better off") if one.favours_low else ("scored lower", "higher")
    chance = "" if one.p_adjusted is None else f", p (Holm) {p_value(one.p_adjusted)}"
    return Dot(
        _lines(origin, target),
        signed_gap(one.lean, points=points),
        f"From {shorten(origin, LONGEST_TIP)} to {shorten(target, LONGEST_TIP)}: "
        f"{adjusted_gap(one, points=points)}{chance}. "
        f"Of {count_of(one.n_pairs, 'pair')}, the second is {lower} in "
        f"{one.n_lower:,}, {higher} in {one.n_higher:,}, equal in {one.n_equal:,}",
        one.lean,
        one.adjusted_low,
        one.adjusted_high,
        is_filled=is_significant(one),
    )


def _lines(origin: str, target: str) -> tuple[str, ...]:
    """Put a transition on one line, or on two where it is long or would be read from right to left."""
    together = f"{origin} → {target}"
    is_mixed = any(unicodedata.bidirectional(letter) in ("R", "AL") for letter in together)
    if len(together) <= LONGEST_LINE and not is_mixed:
        return (together,)
    return shorten(origin, LONGEST_LINE), f"→ {shorten(target, LONGEST_LINE - 2)}"


def change_chart(comparison: Comparison, *, points: bool) -> DotPlot | None:
    """Measures of pairs before and after; None where none was measured twice."""
    changes = [(name, comparison.changes[name]) for name in of_every_part(CHANGED, comparison.changes)]
    found = (_change(name, change, points and kind_of(name).unit == "gap") for name, change in changes)
    dots = tuple(dot for dot in found if dot is not None)
    if not dots:
        return None
    ends = [end for dot in dots for end in (dot.value, dot.start, dot.low, dot.high) if end is not None]
    return DotPlot(
        "Before and after",
        " ".join(f"{dot.lines[0]}: {dot.text}." for dot in dots),
        make_axis("Before and after", min(0.0, *ends), max(ends), as_percent, is_grown=True),
        dots,
        "After, with its interval",
        "Before",
    )


def _change(name: str, change: Change, points: bool) -> Dot | None:
    named = title(name)
    before, after, difference = change.before, change.after, change.difference
    if before.value is None or after.value is None or not math.isfinite(before.value + after.value):
        return None
    by = f"; difference {signed_number(difference.value, difference.low, difference.high, points=points)}"
    shown = (_show_gap(before, points), _show_gap(after, points))
    return Dot(
        (named,),
        f"{_show_short(before.value, points)} → {_show_short(after.value, points)}",
        f"{named}: before {shown[0]}, after {shown[1]}{by if difference.value is not None else ''}",
        after.value,
        after.low,
        after.high,
        start=before.value,
    )


def mark_value(short: str, long: str, one: Measure, points: bool) -> Marker:
    """Mark a measured gap."""
    value = one.value or 0.0
    texts = f"{short} {_show_short(value, points)}", f"{long}: {_show_gap(one, points)}"
    return Marker(short, *texts, value, one.low, one.high)


def _show_short(value: float, points: bool) -> str:
    return show_value("gap_mean", value, 1, points=points)


def _show_gap(measure: Measure, points: bool) -> str:
    return measure.show("gap_mean", points=points)


def as_points(value: float, step: float) -> str:
    """Format a tick in percentage points, with as many decimals as its step needs."""
    return f"{as_number(100 * value, 100 * step)}{POINTS}"


def as_percent(value: float, step: float) -> str:
    """Format a tick in percent, with as many decimals as its step needs."""
    return f"{as_number(100 * value, 100 * step)}%"


def as_number(value: float, step: float) -> str:
    """Format a tick as a plain number; a power of ten only instead of a long row of zeros."""
    decimals = _decimals(step)
    if decimals > MAX_DECIMALS and 0 < abs(value) < 1000 * step:
        return f"{value:.4g}"
    return "0" if decimals > MAX_DECIMALS and value == 0 else f"{value:z,.{decimals}f}"


def make_axis(
    title: str, low: float, high: float, write: Callable[[float, float], str], *, is_grown: bool = False
) -> Axis:
    """Choose round ticks between two numbers; where ``is_grown``, both ends move out to the next tick."""
    if high - low < ROUNDING:
        high = low + max(abs(low), 0.01)
    step = _choose_step(low, high, is_grown=is_grown)
    first, last = _whole(low / step, up=not is_grown), _whole(high / step, up=is_grown)
    ticks = tuple(Tick(i * step, write(i * step, step)) for i in range(first, last + 1))
    # where labels are long, some are left out
    longest = max(len(tick.text) for tick in ticks) + 1
    shown = ticks[:: -(-longest * len(ticks) // MAX_LETTERS)]
    return Axis(title, ticks[0].at if is_grown else low, ticks[-1].at if is_grown else high, shown)


def _choose_step(low: float, high: float, *, is_grown: bool) -> float:
    magnitude = 10.0 ** math.floor(math.log10((high - low) / MAX_TICKS))
    for step in (magnitude * factor for factor in STEPS):
        n_ticks = _whole(high / step, up=is_grown) - _whole(low / step, up=not is_grown) + 1
        if n_ticks <= MAX_TICKS:
            return step
    return magnitude * 20.0  # both ends of a grown axis may each add a tick


def _whole(number: float, *, up: bool) -> int:
    return math.ceil(number - ROUNDING) if up else math.floor(number + ROUNDING)


def _decimals(step: float) -> int:
    return next((n for n in range(9) if abs(round(step, n) - step) < ROUNDING * max(step, 1e-6)), 9)


def place_markers(markers: tuple[Marker, ...], axis: Axis) -> Placement:
    """Choose rows and sides of labels so that no line crosses the label of a row below, even on the smallest phone."""
    choices = [
        list(zip(order, sides, strict=True))
        for sides in product((False, True), repeat=len(markers))
        for order in permutations(sorted(markers, key=lambda one: one.value))
    ]
    return next(filter(lambda one: _is_free(one, axis), choices), choices[0])


def _is_free(choice: Placement, axis: Axis) -> bool:
    above: list[float] = []
    for marker, is_left in choice:
        x = NARROWEST * axis.place(marker.value)
        ends = [NARROWEST * axis.place(end) for end in (marker.low, marker.high) if end is not None]
        width = 14 + LETTER * len(marker.text)
        low, high = (min([x, *ends]) - width, x) if is_left else (x, max([x, *ends]) + width)
        if low < LEFT or high > RIGHT or any(low + 2 < line_at < high - 2 for line_at in above):
            return False
        above.append(x)
    return True
