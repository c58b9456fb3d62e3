"""Where gaps are largest: a scan over values of one or two columns, with a permutation test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from likewise._format import show_cell
from likewise.auditing._internal import match_apart, mean_of
from likewise.record._internal import Region
from likewise.schema import CodedTable
from likewise.schema._internal import Frame

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
N_BINS: Final = 4  # of a column of numbers: its quarters
LEAST: Final = 20  # pairs in the test that a region has
MOST_PAIRS: Final = 20_000  # in the test
MOST_REGIONS: Final = 500  # those with the most pairs
LISTED: Final = 20
AT_ONCE: Final = 64  # permutations


@dataclass(frozen=True, slots=True, eq=False)
class _Cut:
    """A column cut into values or ranges: the number of each person's, and what they are called."""

    column: str
    numbers: Rows
    names: list[str]


@dataclass(frozen=True, slots=True, eq=False)
class _Region:
    cuts: list[tuple[_Cut, int]]
    inside: NDArray[np.bool_]  # which pairs of the test


@dataclass(frozen=True, slots=True, eq=False)
class PairsToScan:
    """People, pairs of them, the gaps of these, and how much each pair counts; None where all count alike."""

    frame: Frame
    table: CodedTable
    left: Rows
    right: Rows
    gaps: Floats
    weights: Floats | None = None

    def deviations(self, places: Rows) -> Floats:
        """Return what the pairs at some places add to the mean gap of a region: weight and gap belong together."""
        if self.weights is None:
            return self.gaps[places]
        gaps, weights = self.gaps[places], self.weights[places]
        return weights * (gaps - mean_of(gaps, weights))


def scan_regions(pairs: PairsToScan, *, n_permutations: int, seed: int) -> tuple[tuple[Region, ...], int]:
    """Return the regions where gaps are largest, smallest p-value first, and how many were scanned."""
    random, left, right = np.random.default_rng([seed, 1]), pairs.left, pairs.right
    order = random.permutation(len(left))
    apart = order[match_apart(left[order], right[order], len(pairs.table))][:MOST_PAIRS]
    regions = _list_regions(list(_cut_columns(pairs.frame, pairs.table)), left[apart], right[apart])
    if not regions:
        return (), 0
    members = sparse.csr_matrix([one.inside for one in regions], dtype=np.float64)
    found, p_values = _test(members, pairs.deviations(apart), n_permutations, random)
    places = [place for place in np.lexsort([-found, p_values]).tolist() if found[place] > 0]
    return tuple(_describe(regions[place], pairs, float(p_values[place])) for place in places[:LISTED]), len(regions)


def _describe(region: _Region, pairs: PairsToScan, p_adjusted: float) -> Region:
    inside = np.ones(len(pairs.gaps), np.bool_)
    for cut, number in region.cuts:
        inside &= (cut.numbers[pairs.left] == number) & (cut.numbers[pairs.right] == number)
    return Region(
        columns=tuple(cut.column for cut, _ in region.cuts),
        values=tuple(cut.names[number] for cut, number in region.cuts),
        n_pairs=int(inside.sum()),
        mean_gap=mean_of(pairs.gaps[inside], None if pairs.weights is None else pairs.weights[inside]),
        n_apart=int(region.inside.sum()),
        p_adjusted=p_adjusted,
    )


def _cut_columns(frame: Frame, table: CodedTable) -> Iterator[_Cut]:
    for kind in ("discrete", "matched"):
        for column, name in enumerate(table.names[kind]):
            numbers = np.unique(getattr(table, kind)[:, column], return_inverse=True)[1].astype(np.int64)
            firsts = np.unique(numbers, return_index=True)[1]
            yield _Cut(name, numbers, [show_cell(value) for value in frame.cells(name, firsts)])
    for kind in ("continuous", "ordinal"):
        for column, name in enumerate(table.names[kind]):
            yield _cut_numbers(frame, name, getattr(table, kind)[:, column])


def _cut_numbers(frame: Frame, name: str, codes: NDArray[Any]) -> _Cut:
    """Cut a column at its quartiles; a bin is called by the least and the largest of its values."""
    edges = np.unique(np.quantile(codes, np.linspace(0, 1, N_BINS + 1)[1:-1]))
    numbers = np.unique(np.searchsorted(edges, codes, side="left"), return_inverse=True)[1].astype(np.int64)
    names = []
    for number in range(int(numbers.max(initial=-1)) + 1):
        inside = np.flatnonzero(numbers == number)
        ends = [inside[codes[inside].argmin()], inside[codes[inside].argmax()]]
        low, high = (show_cell(value) for value in frame.cells(name, np.array(ends)))
        names.append(low if low == high else f"{low} to {high}")
    return _Cut(name, numbers, names)


def _list_regions(cuts: list[_Cut], left: Rows, right: Rows) -> list[_Region]:
    """List values, and combinations of two, that both people of enough pairs share."""
    single = []
    for cut in cuts:
        shared = np.where(cut.numbers[left] == cut.numbers[right], cut.numbers[left], -1)
        counts = np.bincount(shared + 1, minlength=len(cut.names) + 1)[1:]
        enough = np.flatnonzero((counts >= LEAST) & (counts < len(left)))
        single += [_Region([(cut, number)], shared == number) for number in enough.tolist()]
    single = sorted(single, key=lambda one: -int(one.inside.sum()))[:MOST_REGIONS]
    double: list[_Region] = []
    for one, other in combinations(single, 2):
        if len(single) + len(double) == MOST_REGIONS:
            break
        both = one.inside & other.inside
        if LEAST <= both.sum() < min(one.inside.sum(), other.inside.sum()):
            double.append(_Region([*one.cuts, *other.cuts], both))
    return single + double


def _test(members: Any, gaps: Floats, n_permutations: int, random: np.random.Generator) -> tuple[Floats, Floats]:
    """Return the standardized mean gap of each region, and how often the largest of shuffled gaps is as large."""
    sizes = np.asarray(members.sum(axis=1)).ravel()
    spread = gaps.std() * np.sqrt(np.maximum(1 / sizes - 1 / len(gaps), 0))
    if not spread.all():
        return np.zeros(len(sizes)), np.ones(len(sizes))
    found = (members @ gaps / sizes - gaps.mean()) / spread
    n_larger = np.zeros(len(sizes), np.int64)
    for start in range(0, n_permutations, AT_ONCE):
        shuffled = np.column_stack([random.permutation(gaps) for _ in range(min(AT_ONCE, n_permutations - start))])
        largest = ((members @ shuffled / sizes[:, None] - gaps.mean()) / spread[:, None]).max(axis=0)
        n_larger += (largest[None, :] >= found[:, None] - 1e-12).sum(axis=1)
    return found, (1 + n_larger) / (1 + n_permutations)
