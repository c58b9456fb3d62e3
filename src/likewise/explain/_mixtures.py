"""Mixtures of the two people of a pair: which there are, what the model makes of them, and the parts that follow."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.schema._internal import mix_rows, open_frame

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Flags = NDArray[np.bool_]
AT_ONCE: Final = 1 << 18  # mixtures


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """Which mixtures of two people are scored, and how their scores add up to the part of each column.

    Row by row: the columns that come from the right person (none in the first row, all in the last), and the weight
    of the score in each column's part.
    """

    members: Flags  # (n_mixtures, n_columns)
    weights: Floats  # of the same shape


def enumerate_design(n_columns: int) -> Design:
    """Return all mixtures, with the weights of Shapley values."""
    numbers = np.arange(2**n_columns)
    members = (numbers[:, None] >> np.arange(n_columns)) & 1 == 1
    sizes = members.sum(axis=1)
    by_size = [1 / (n_columns * math.comb(n_columns - 1, n)) for n in range(n_columns)]
    with_it = np.array([0.0, *by_size])[sizes]  # a column joined the size - 1 others
    without = np.array([*by_size, 0.0])[sizes]
    return Design(members, np.where(members, with_it[:, None], -without[:, None]))


def draw_design(n_columns: int, n_orders: int, random: np.random.Generator) -> Design:
    """Return the mixtures on the way from one person to the other in random orders of the columns, and back."""
    orders = [random.permutation(n_columns) for _ in range(-(-n_orders // 2))]
    orders = [one for order in orders for one in (order, order[::-1])][:n_orders]
    n_between = n_columns - 1
    members = np.zeros((2 + n_orders * n_between, n_columns), np.bool_)
    weights = np.zeros(members.shape)
    members[-1] = True
    for number, order in enumerate(orders):
        way = np.concatenate([[0], 1 + number * n_between + np.arange(n_between), [len(members) - 1]])
        for step, column in enumerate(order):
            if step < n_between:
                members[way[step + 1], order[: step + 1]] = True
            weights[way[step + 1], column] += 1 / n_orders
            weights[way[step], column] -= 1 / n_orders
    return Design(members, weights)


@dataclass(frozen=True, slots=True, eq=False)
class PartsOfPairs:
    """The parts of some pairs that differ in as many columns."""

    places: Rows  # of the pairs
    columns: Rows  # (n_pairs, n_columns)
    parts: Floats  # of the same shape


class Mixer:
    """Everybody's values in the columns that a model sees; scores mixtures of two people, equal ones once.

    ``known`` are the scores of the people themselves, and ``score`` asks the model for those of a frame.
    """

    def __init__(self, frame: Any, names: list[str], known: Floats, score: Callable[[Any], Floats]) -> None:
        self.frame, self.names, self.known, self.score = frame, names, known, score
        self.n_scored = 0
        opened = open_frame(frame)
        self.codes = np.column_stack([_number(opened.column(name).array) for name in names])
        n_values = int(self.codes.max(initial=0)) + 1
        self._keys = np.random.default_rng(0).integers(2**64, size=(2, len(names), n_values), dtype=np.uint64)
        columns = np.arange(len(names))
        self._hashes = [keys[columns, self.codes].sum(axis=1, dtype=np.uint64) for keys in self._keys]

    def count_differences(self, left: Rows, right: Rows) -> Rows:
        """Return in how many columns the two people of each pair differ."""
        found: Rows = (self.codes[left] != self.codes[right]).sum(axis=1)
        return found

    def split(
        self, left: Rows, right: Rows, project: Callable[[Floats, Rows], Floats], plan: Callable[[int], Design]
    ) -> Iterator[PartsOfPairs]:
        """Split the difference of each pair over the columns in which the two people differ.

        ``project`` makes one number of each score of the pairs at certain places, where there is one per label.
        """
        differs = self.codes[left] != self.codes[right]
        n_differing = differs.sum(axis=1)
        for n_columns in np.unique(n_differing[n_differing > 0]).tolist():
            design = plan(n_columns)
            together = max(1, AT_ONCE // len(design.members))
            alike = np.flatnonzero(n_differing == n_columns)
            for start in range(0, len(alike), together):
                places = alike[start : start + together]
                one, other = left[places], right[places]
                columns = np.nonzero(differs[places])[1].reshape(len(places), n_columns)
                between = self._score(one, other, columns, design.members[1:-1])
                scores = np.concatenate([self.known[one][:, None], between, self.known[other][:, None]], axis=1)
                yield PartsOfPairs(places, columns, project(scores, places) @ design.weights)

    def _score(self, left: Rows, right: Rows, columns: Rows, members: Flags) -> Floats:
        """Return the scores of all mixtures of each pair, asking the model once for mixtures that are alike."""
        if not len(members):
            return np.empty((len(left), 0, *self.known.shape[1:]))
        hashes, rows = [], np.arange(len(left))[:, None]
        for keys, of_person in zip(self._keys, self._hashes, strict=True):
            change = keys[columns, self.codes[right][rows, columns]] - keys[columns, self.codes[left][rows, columns]]
            hashes.append((of_person[left][:, None] + change @ members.T.astype(np.uint64)).ravel())
        _, found, places = np.unique(hashes[0], return_index=True, return_inverse=True)
        if (hashes[1][found][places] != hashes[1]).any():  # two mixtures share the first: ask for every one
            found = places = np.arange(len(hashes[0]))
        pair, mixture = np.divmod(found, len(members))
        chosen = {}
        for column in np.unique(columns).tolist():
            from_right = ((columns[pair] == column) & members[mixture]).any(axis=1)
            chosen[self.names[column]] = np.where(from_right, right[pair], left[pair])
        scores = self.score(mix_rows(self.frame, left[pair], chosen))
        self.n_scored += len(found)
        return scores[places].reshape(len(left), len(members), *scores.shape[1:])


def _number(array: Any) -> NDArray[np.int32]:
    """Number the values of a column; a missing one is 0."""
    encoded = array if hasattr(array, "dictionary") else array.dictionary_encode()
    numbers: NDArray[np.int32] = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
    return numbers + np.int32(1)
