"""Which pairs are looked at: a rule, filters, an order and a page, all checked on the way in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._checks import check_choice, check_count, check_flag, check_number
from likewise.explore._pairs import SORTS, HeldPairs

LOOKED_AT: Final = 1 << 16  # places of an order at a time, until a page is full
MOST_A_PAGE: Final = 200
EDGE: Final = 1e-9  # a gap at the limit is not below it


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What somebody wants to look at.

    Parameters
    ----------
    changes, shift : int, float
        The thresholds T_d and T_c.
    limit : float
        The gap above which pairs are counted.
    transition : int, optional
        Only pairs of this transition, by its number.
    label : int, optional
        Only pairs of this label, by its place among the classes.
    least_gap : float
        Only pairs with a gap of at least this.
    sort : {"gap", "rank_gap", "row"}
    is_rising : bool
        The smallest first.
    page, size : int
        Which page of how many pairs.
    """

    changes: int
    shift: float
    limit: float = 0.1
    transition: int | None = None
    label: int | None = None
    least_gap: float = 0.0
    sort: str = "gap"
    is_rising: bool = False
    page: int = 0
    size: int = 25

    def __post_init__(self) -> None:
        check_count("changes", self.changes, or_none=False)
        check_number("shift", self.shift, least=0.0)
        check_number("limit", self.limit, least=0.0)
        check_number("least_gap", self.least_gap, least=0.0)
        check_count("transition", self.transition)
        check_count("label", self.label)
        check_count("page", self.page, or_none=False)
        check_count("size", self.size, or_none=False, least=1)
        check_choice("sort", self.sort, SORTS)
        check_flag("is_rising", self.is_rising)
        if self.size > MOST_A_PAGE:
            raise ValueError(f"size is {self.size:,}; a page holds at most {MOST_A_PAGE} pairs.")

    @property
    def is_filtered(self) -> bool:
        """Whether it leaves out pairs that the rule holds for."""
        return self.transition is not None or self.label is not None or self.least_gap > 0

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Wish:
        """Read a wish from plain data."""
        known = [one.name for one in fields(cls)]
        unknown = sorted(set(data) - set(known))
        if unknown:
            raise ValueError(f"{unknown[0]!r} is nothing to ask for; ask for {', '.join(known)}.")
        for name in ("changes", "shift"):
            if name not in data:
                raise ValueError(f"{name} is missing; give the two thresholds.")
        return cls(**data)


def filter_pairs(held: HeldPairs, holds: NDArray[np.bool_], wish: Wish) -> NDArray[np.bool_]:
    """Leave out what the filters do not let through."""
    if not wish.is_filtered:
        return holds
    kept = holds.copy()
    if wish.transition is not None:
        kept &= held.transitions == min(wish.transition, len(held.names) + 1)
    if wish.label is not None:
        kept &= held.labels == min(wish.label, np.iinfo(np.int32).max)
    if wish.least_gap > 0:
        kept &= held.gaps >= wish.least_gap - EDGE
    return kept


def take_page(held: HeldPairs, kept: NDArray[np.bool_], wish: Wish, *, first: int, n: int) -> NDArray[np.int64]:
    """Walk along an order until the pairs of a page are found; they are few, and the walk is mostly short."""
    order, n_pairs = held.orders[wish.sort], len(held)
    found: list[NDArray[np.int64]] = []
    n_passed = n_found = 0
    for begin in range(0, n_pairs, LOOKED_AT):
        stop = min(begin + LOOKED_AT, n_pairs)
        span = slice(n_pairs - stop, n_pairs - begin) if wish.is_rising != (wish.sort == "row") else slice(begin, stop)
        places = np.arange(span.start, span.stop) if order is None else order[span].astype(np.int64)
        if wish.is_rising != (wish.sort == "row"):
            places = places[::-1]
        places = places[kept[places]]
        wanted = places[max(first - n_passed, 0) : max(first + n - n_passed, 0)]
        n_passed += len(places)
        n_found += len(wanted)
        found.append(wanted)
        if n_found >= n:
            break
    return np.concatenate([*found, np.empty(0, np.int64)])[:n]
