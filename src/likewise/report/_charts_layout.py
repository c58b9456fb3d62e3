"""Where the words of marks go, so that none is struck through or cut off, at any width."""

from __future__ import annotations

from itertools import permutations, product
from typing import Final

from likewise.report._charts_parts import Axis, Marker

LETTER: Final = 6.6  # pixels: about as wide as a letter of 12 pixels is
NARROWEST: Final = 256.0  # pixels of a plot on the smallest phone
LEFT: Final = -44.0  # where the words left of a plot begin: the style sheet leaves this much room
RIGHT: Final = NARROWEST + 16

Layout = list[tuple[Marker, bool]]


def lay_out(markers: tuple[Marker, ...], axis: Axis) -> Layout:
    """Choose rows and sides so that no line runs through the words of a row below, even on the smallest phone."""
    choices = [
        list(zip(order, sides, strict=True))
        for sides in product((False, True), repeat=len(markers))
        for order in permutations(sorted(markers, key=lambda one: one.value))
    ]
    return next(filter(lambda one: _is_free(one, axis), choices), choices[0])


def _is_free(choice: Layout, axis: Axis) -> bool:
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
