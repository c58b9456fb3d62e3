"""Charts as plain data: axes with round ticks, bars, dots, markers, and where their labels go. Nothing here draws."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations, product
from typing import Final

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
    """One row of a dot plot; ``start`` is the value it moved from."""

    lines: tuple[str, ...]
    text: str
    tip: str
    value: float
    low: float | None = None
    high: float | None = None
    start: float | None = None
    is_filled: bool = True


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
