"""What a chart is made of, as plain data: axes with round ticks, bars, dots, marks. Nothing here draws."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

MOST_TICKS: Final = 6
MOST_LETTERS: Final = 42  # below a plot on a phone
MOST_DECIMALS: Final = 4
STEPS: Final = (1.0, 2.0, 2.5, 5.0, 10.0)
ROUNDING: Final = 1e-9  # 0.1 * 3 is no round number in floats, and still a tick


@dataclass(frozen=True, slots=True)
class Tick:
    """A round number on an axis, and how it is written."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Axis:
    """One direction of a chart, from ``low`` to ``high``."""

    title: str
    low: float
    high: float
    ticks: tuple[Tick, ...]

    def place(self, value: float) -> float:
        """Give a value as a share of the axis; what lies beyond an end stands at that end."""
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
    """One number marked in a histogram, with its interval where that is known."""

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
    """One row of a dot plot; with ``start``, the value that it moved from."""

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
    """Rows of dots with intervals over one axis; ``ends`` say what its left and right mean."""

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
    """What was observed over what was predicted; on the diagonal the two agree."""

    title: str
    description: str
    x: Axis
    y: Axis
    points: tuple[Point, ...]


Chart = Histogram | DotPlot | Reliability


def as_percent(value: float, step: float) -> str:
    """Write a tick in percent, with as many decimals as its step needs."""
    return f"{as_number(100 * value, 100 * step)}%"


def as_number(value: float, step: float) -> str:
    """Write a tick as a plain number; a power of ten only where there would be a long row of zeros."""
    decimals = _decimals(step)
    if decimals > MOST_DECIMALS and 0 < abs(value) < 1000 * step:
        return f"{value:.4g}"
    return "0" if decimals > MOST_DECIMALS and value == 0 else f"{value:z,.{decimals}f}"


def make_axis(
    title: str, low: float, high: float, write: Callable[[float, float], str], *, is_grown: bool = False
) -> Axis:
    """Choose round ticks for what is between two numbers; where ``is_grown``, both ends move out to the next tick."""
    if high - low < ROUNDING:
        high = low + max(abs(low), 0.01)
    step = _choose_step(low, high, is_grown=is_grown)
    first, last = _whole(low / step, up=not is_grown), _whole(high / step, up=is_grown)
    ticks = tuple(Tick(i * step, write(i * step, step)) for i in range(first, last + 1))
    # where the words are long, some are left out
    longest = max(len(tick.text) for tick in ticks) + 1
    shown = ticks[:: -(-longest * len(ticks) // MOST_LETTERS)]
    return Axis(title, ticks[0].at if is_grown else low, ticks[-1].at if is_grown else high, shown)


def _choose_step(low: float, high: float, *, is_grown: bool) -> float:
    magnitude = 10.0 ** math.floor(math.log10((high - low) / MOST_TICKS))
    for step in (magnitude * factor for factor in STEPS):
        n_ticks = _whole(high / step, up=is_grown) - _whole(low / step, up=not is_grown) + 1
        if n_ticks <= MOST_TICKS:
            return step
    return magnitude * 20.0  # both ends of a grown axis may each add a tick


def _whole(number: float, *, up: bool) -> int:
    return math.ceil(number - ROUNDING) if up else math.floor(number + ROUNDING)


def _decimals(step: float) -> int:
    return next((n for n in range(9) if abs(round(step, n) - step) < ROUNDING * max(step, 1e-6)), 9)
