"""An audit on a page of plain text: the headline numbers, and the notes that go with them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from likewise._format import line_up, show_found
from likewise.record._internal import PAIR_MEASURES, Direction, Measure, slice_of

WIDTH: Final = 100
STANDS_OUT: Final = 0.05  # of p, adjusted for how many directions were tested
HEADLINES: Final = (  # of all that a task has
    *("gap_mean", "positive_gap_mean", "negative_gap_mean", "rank_gap_mean", "flip_rate", "coverage"),
    *("roc_auc", "average_precision", "r2", "mean_absolute_error"),
)


def tell_audit(
    headline: str, measures: Mapping[str, Measure], directions: Sequence[Direction], notes: Sequence[str]
) -> str:
    """Put what an audit found below its headline, no line wider than ``WIDTH``."""
    strongest = _find_strongest(directions)
    told = [] if strongest is None else wrap(f"Strongest direction: {strongest}")
    return "\n".join([headline, line_up(list(_list_measures(measures))), *told, *list_notes(notes)])


def list_notes(notes: Sequence[str]) -> list[str]:
    """Write each note as an item of a list."""
    return [line for note in notes for line in wrap(note, first="- ", later="  ")]


def wrap(text: str, first: str = "", later: str = "") -> list[str]:
    """Break a sentence, which may name columns and values of any form, into lines."""
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=later)


def _list_measures(measures: Mapping[str, Measure]) -> Iterator[tuple[str, str, str]]:
    names = [name for name in HEADLINES if name in measures and measures[name].value is not None]
    baselines = {name: _find_baseline(name, measures) for name in names}
    yield "", "found", "baseline" if any(baselines.values()) else ""
    for name in names:
        yield name, _show(name, measures[name]), baselines[name]


def _find_baseline(name: str, measures: Mapping[str, Measure]) -> str:
    where = slice_of(name)
    rest = name.removeprefix(where)
    baseline = measures.get(f"{where}within_{rest}") if rest in PAIR_MEASURES else None
    return "" if baseline is None or baseline.value is None else _show(name, baseline)


def _show(name: str, measure: Measure) -> str:
    return show_found(name, measure.value, measure.low, measure.high)


def _find_strongest(directions: Sequence[Direction]) -> Direction | None:
    """Choose the largest mean gap that is hardly chance, told by those who are scored lower."""
    known = [one for one in directions if one.p_adjusted is not None and one.p_adjusted < STANDS_OUT]
    strongest = max(known, key=lambda one: abs(one.mean_gap), default=None)
    return strongest if strongest is None or strongest.mean_gap <= 0 else strongest.reversed()
