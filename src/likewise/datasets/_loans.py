"""Synthetic loans in which every comparable pair is known, as plain arrays.

Each continuous column lies on a grid of steps, four steps per level. People of one case share all levels and sit on
the first or second step of each. Within a case people are at most one step apart (0.012 of the
range), people of two cases at least three (0.037), and the rule allows 0.025: only people of one case are comparable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

HARMED_GROUP: Final = "green"
SENSITIVE: Final = {"group": ("amber", "blue", HARMED_GROUP), "gender": ("female", "male")}
# twins may differ in one of the first two; repayment depends on the last two
DISCRETE: Final = {
    "purpose": ("business", "car", "home", "other", "study"),
    "region": ("east", "north", "south", "west"),
    "employment": ("none", "public", "salaried", "self-employed"),
    "housing": ("family", "own", "rent"),
}
CONTINUOUS: Final = {  # the smallest value and the size of a step
    "age": (18.0, 0.75),
    "income": (12_000, 1_000),
    "amount": (1_000, 500),
    "duration": (6, 1),
    "savings": (0, 250),
}

N_LEVELS: Final = 21
STEPS_A_LEVEL: Final = 4
LAST_STEP: Final = STEPS_A_LEVEL * (N_LEVELS - 1) + 1
N_CELLS: Final = N_LEVELS ** len(CONTINUOUS)

_LEVEL_WEIGHTS: Final = np.array([1.0, 5.0, -4.0, -2.0, 4.0])
_EMPLOYMENT_WEIGHTS: Final = np.array([-1.0, 0.7, 0.4, 0.0])
_HOUSING_WEIGHTS: Final = np.array([0.0, 0.6, -0.4])
_INTERCEPT: Final = -0.6
_HISTORIC_PENALTY: Final = 1.5  # in log-odds, on single people of the harmed group

# kinds of case: one person; two or three comparable people; two who look comparable but are not
_ALONE, _TWINS, _TRIPLET, _SAME_SENSITIVE, _OTHER_LABEL, _TWO_CHANGES = range(6)
_SHARES: Final = (0.55, 0.25, 0.05, 0.05, 0.05, 0.05)
_SIZES: Final = np.array([1, 2, 3, 2, 2, 2])


@dataclass(frozen=True, slots=True, eq=False)
class Loans:
    """People as codes and grid steps, their labels, and their comparable pairs."""

    sensitive: Integers
    discrete: Integers
    steps: Integers
    labels: Integers
    left: Integers
    right: Integers


def draw_kinds(random: np.random.Generator, n_rows: int, *, n_alone_first: int) -> Integers:
    """Draw kinds of cases to fill the rows; the first case not forced to be alone is a twin pair."""
    kinds = random.choice(len(_SIZES), size=n_rows, p=_SHARES)
    kinds[:n_alone_first] = _ALONE
    kinds[n_alone_first] = _TWINS
    ends = np.cumsum(_SIZES[kinds])
    n_cases = int(np.searchsorted(ends, n_rows, side="right"))
    return np.append(kinds[:n_cases], np.full(n_rows - int(ends[n_cases - 1]), _ALONE))


def draw_cells(random: np.random.Generator, n_cases: int) -> Integers:
    """Draw a distinct grid cell for each case; the first two are the corners, which span the range."""
    corners = np.array([0, N_CELLS - 1])
    places = np.arange(len(CONTINUOUS))
    levels = (random.beta(2, 2, size=(n_cases + n_cases // 4, len(places))) * N_LEVELS).astype(np.int64)
    drawn = np.append(corners, levels @ N_LEVELS**places)
    _, first = np.unique(drawn, return_index=True)
    cells = drawn[np.sort(first)][:n_cases]
    if len(cells) < n_cases:  # the middle of the grid is full
        free = np.setdiff1d(np.arange(N_CELLS), cells, assume_unique=True)
        cells = np.append(cells, random.choice(free, n_cases - len(cells), replace=False))
    return cells


def draw_loans(random: np.random.Generator, kinds: Integers, cells: Integers) -> Loans:
    """Draw the people of some cases, in random order."""
    sizes = _SIZES[kinds]
    case = np.repeat(np.arange(len(kinds)), sizes)
    starts = np.cumsum(sizes) - sizes
    member, kind = np.arange(len(case)) - starts[case], kinds[case]
    sensitive = _draw_sensitive(random, case, member, kind)
    discrete = _draw_discrete(random, case, member, kind)
    levels = cells[:, np.newaxis] // N_LEVELS ** np.arange(len(CONTINUOUS)) % N_LEVELS
    steps = levels[case] * STEPS_A_LEVEL + random.integers(0, 2, size=(len(case), len(CONTINUOUS)))
    steps[(cells == 0)[case]] = 0
    steps[(cells == N_CELLS - 1)[case]] = LAST_STEP

    odds = log_odds(levels, discrete[starts, 2], discrete[starts, 3])
    harmed = sensitive[starts, 0] == SENSITIVE["group"].index(HARMED_GROUP)
    odds -= _HISTORIC_PENALTY * (harmed & (kinds == _ALONE))
    labels = (random.random(len(kinds)) < probability(odds))[case] ^ ((kind == _OTHER_LABEL) & (member == 1))

    order = random.permutation(len(case))
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    left, right = _pair_up(starts, kinds, position)
    return Loans(sensitive[order], discrete[order], steps[order], labels[order].astype(np.int64), left, right)


def log_odds(levels: NDArray[Any], employment: Integers, housing: Integers) -> Floats:
    """Return the log-odds of repayment, equal for all people of a case."""
    features = (levels / (N_LEVELS - 1) - 0.5) @ _LEVEL_WEIGHTS
    odds: Floats = _INTERCEPT + features + _EMPLOYMENT_WEIGHTS[employment] + _HOUSING_WEIGHTS[housing]
    return odds


def probability(odds: Floats) -> Floats:
    """Turn log-odds into a probability."""
    return 0.5 * (1 + np.tanh(0.5 * odds))  # never overflows


def _draw_sensitive(random: np.random.Generator, case: Integers, member: Integers, kind: Integers) -> Integers:
    n_values = np.array([len(values) for values in SENSITIVE.values()])
    base = random.integers(0, n_values, size=(len(case), 2))[case]
    change = random.integers(1, 6, size=len(case))  # one of the five ways in which two people can differ
    changes = np.column_stack([change % 3, change // 3])
    changes[(member == 0) | (kind == _SAME_SENSITIVE)] = 0
    triplet = kind == _TRIPLET
    changes[triplet] = np.column_stack([member, change % 2])[triplet]  # three groups, any gender
    sensitive: Integers = (base + changes) % n_values
    return sensitive


def _draw_discrete(random: np.random.Generator, case: Integers, member: Integers, kind: Integers) -> Integers:
    n_values = np.array([len(values) for values in DISCRETE.values()])
    discrete = random.integers(0, n_values, size=(len(case), len(DISCRETE)))[case]
    pick = random.integers(0, 4, size=len(case))
    both = kind == _TWO_CHANGES
    # only the purpose changes in a triplet: with two columns, two of its people could differ in both
    changes_purpose = (member > 0) & (both | (pick == 0))
    changes_region = (member > 0) & (both | ((pick == 1) & (kind != _TRIPLET)))
    for column, changed in ((0, changes_purpose), (1, changes_region)):
        moved = random.integers(1, n_values[column], size=len(case))
        discrete[:, column] = (discrete[:, column] + changed * moved) % n_values[column]
    return discrete


def _pair_up(starts: Integers, kinds: Integers, position: Integers) -> tuple[Integers, Integers]:
    """List the comparable pairs in the order of mining: by left row, then right row."""
    pairs, triplets = starts[(kinds == _TWINS) | (kinds == _TRIPLET)], starts[kinds == _TRIPLET]
    one = position[np.concatenate([pairs, triplets, triplets + 1])]
    other = position[np.concatenate([pairs + 1, triplets + 2, triplets + 2])]
    left, right = np.minimum(one, other), np.maximum(one, other)
    order = np.lexsort([right, left])
    return left[order], right[order]
