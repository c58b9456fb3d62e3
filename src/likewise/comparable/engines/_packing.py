"""Rows packed into machine words, so that a whole condition is a handful of instructions.

Every discrete code and every rank of a near column is a field in a 64-bit word, with one guard bit above it that
is 0 in the data. Adding all ones to a field of ``a XOR b`` sets its guard exactly when the field differs. Subtracting
fields under a set guard keeps it exactly when nothing was borrowed, which is how "at least the lowest rank near the
other's" is tested for all the fields of a word at once; two rows are near if that holds both ways.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._checks import parameter
from likewise._ranking import order_rows
from likewise.comparable.engines._columns import NearColumn, Rows, mix_columns, pack_codes, rank_near
from likewise.comparable.engines._problem import Problem
from likewise.exceptions import TooManyPairs

WORD_BITS: Final = 64
HALF: Final = np.uint64(32)
LEAST: Final = 64_000_000  # what a search may take in any case
OF_ROW: Final = 90  # bytes beside its words: what is known of it, and what the buckets of one signature take

Words = NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False)
class Fields:
    """Where columns are packed: the word of each, its first bit there, and the bits of all guards in each word."""

    word: list[int]
    shift: list[int]
    bits: list[int]
    guard: Words
    fill: Words  # all ones below every guard

    @classmethod
    def lay_out(cls, bits: list[int]) -> Fields:
        """Place fields of some widths, each with its guard bit, into as few words as they come."""
        word, shift = list[int](), list[int]()
        guard, fill, used = list[int](), list[int](), WORD_BITS
        for width in bits:
            if used + width + 1 > WORD_BITS:
                guard.append(0)
                fill.append(0)
                used = 0
            word.append(len(guard) - 1)
            shift.append(used)
            fill[-1] |= ((1 << width) - 1) << used
            guard[-1] |= 1 << (used + width)
            used += width + 1
        return cls(word, shift, bits, np.array(guard, np.uint64), np.array(fill, np.uint64))

    def mask(self, field: int) -> int:
        """Return the bits of a field in its word, its guard left out."""
        return ((1 << self.bits[field]) - 1) << self.shift[field]

    def write(self, columns: list[Rows], words: Words, order: Rows) -> None:
        """Write columns of codes into the columns of some words, in another order of rows."""
        for place in range(len(self.guard)):
            packed = np.zeros(len(order), np.uint64)
            for field, column in enumerate(columns):
                if self.word[field] == place:
                    packed |= column.astype(np.uint64) << np.uint64(self.shift[field])
            words[:, place] = packed[order]


@dataclass(frozen=True, slots=True, eq=False)
class PackedRows:
    """The rows of a problem as nodes: numbered along the sweep column, the near one that leaves out most."""

    words: Words  # (n, all words): combination and row, discrete fields, ranks, the lowest ranks near them, sensitive
    window: NDArray[np.int32]  # (n, 2): the first and the last node that is near in the sweep column
    rows: Rows  # of each node, those of the right table counted from 0 again
    kind: Rows  # of each node: its combination of sensitive values; of right rows, above all those of left ones
    cell: Rows | None  # of each node in the second near column: what is near is in the same or the next; None without
    discrete: Fields  # those that have to be equal, then those that may differ
    n_equal: int  # how many have to
    near: Fields
    sensitive: Fields  # no fields, where it is enough that the combinations differ
    n_combinations: int
    is_within: bool

    @property
    def n_nodes(self) -> int:
        """How many nodes there are."""
        return len(self.rows)

    @property
    def is_left(self) -> NDArray[np.bool_]:
        """Which nodes may be first ones of a pair."""
        return np.ones(self.n_nodes, np.bool_) if self.is_within else self.kind < self.n_combinations

    def hash(self, kept: Words) -> Words:
        """Hash nodes by some bits of their discrete fields."""
        return mix_columns([self.words[:, 1 + k] & mask for k, mask in enumerate(kept)], self.n_nodes)


def pack(problem: Problem, allowed: int) -> PackedRows:
    """Pack the rows of a problem; refuse a table too large for what is allowed."""
    ranked = [rank_near(column, test) for column, test in zip(problem.near, problem.tests, strict=True)]
    apart = [column.component for column in ranked if column.component is not None]
    near = sorted((column for column in ranked if not column.is_settled), key=lambda column: column.selectivity)
    equal = [packed for packed in map(pack_codes, (problem.labels, *problem.equal, *apart)) if packed[1]]
    free = [packed for packed in map(pack_codes, problem.discrete) if packed[1]]
    free = free if len(free) > problem.max_changes else []  # all may change at once
    together = [*equal, *free]
    discrete = Fields.lay_out([bits for _, bits in together])
    reach = Fields.lay_out([(len(column.lowest) - 1).bit_length() for column in near])
    n_told_apart = problem.combinations.shape[1] if problem.sensitive_differs == "all" else 0
    sensitive = [pack_codes(problem.combinations[:, column]) for column in range(n_told_apart)]
    differing = Fields.lay_out([bits for _, bits in sensitive])
    widths = np.cumsum([1, len(discrete.guard), len(reach.guard), len(reach.guard), len(differing.guard)])
    check_room(problem, allowed, int(widths[-1]))
    order = order_rows(near[0].ranks) if near else np.arange(problem.n_rows, dtype=np.int32)
    words = np.empty((problem.n_rows, widths[-1]), np.uint64)
    rows = np.where(order < problem.n_left, order, order - np.int32(problem.n_left))
    words[:, 0] = problem.combination[order].astype(np.uint64) << HALF | rows.astype(np.uint64)
    discrete.write([codes for codes, _ in together], words[:, widths[0] :], order)
    reach.write([column.ranks for column in near], words[:, widths[1] :], order)
    reach.write([column.lowest[column.ranks] for column in near], words[:, widths[2] :], order)
    differing.write([codes[problem.combination] for codes, _ in sensitive], words[:, widths[3] :], order)
    n_combinations = max(len(problem.combinations), 1)
    return PackedRows(
        words=words,
        window=_find_windows(near[0], order) if near else _whole_windows(problem.n_rows),
        rows=rows,
        kind=(problem.combination + np.int32(n_combinations) * (np.arange(problem.n_rows) >= problem.n_left))[order],
        cell=near[1].cells()[near[1].ranks][order] if len(near) > 1 else None,
        discrete=discrete,
        n_equal=len(equal),
        near=reach,
        sensitive=differing,
        n_combinations=n_combinations,
        is_within=problem.n_right is None,
    )


def check_room(problem: Problem, allowed: int, n_words: int) -> int:
    """Return how many bytes a search leaves of what is allowed, given the words of a row; refuse, if none."""
    columns: tuple[NDArray[Any], ...] = (*problem.equal, *problem.discrete, *problem.near, problem.combination)
    own = sum(column.nbytes for column in columns if column.base is None)  # what stating the problem made
    needed = own + (8 * n_words + OF_ROW) * problem.n_rows
    left = max(allowed, LEAST) - needed
    if left < 0:
        raise TooManyPairs(
            f"A search among {problem.n_rows:,} rows in memory takes {needed / 1e9:,.2g} GB, beyond the "
            f"{allowed / 1e9:,.2g} GB allowed. Raise {parameter('memory_limit')} to '{_write_gigabytes(needed)}'.",
            needed,
        )
    return left


def _write_gigabytes(n_bytes: int) -> str:
    """Write a number of bytes, rounded up."""
    return f"{np.ceil(n_bytes / 1e7) / 100:.2f} GB"


def _find_windows(sweep: NearColumn, order: Rows) -> NDArray[np.int32]:
    """Return the first and the last node near each node."""
    ends = np.column_stack([sweep.below[sweep.lowest], sweep.below[sweep.highest + 1] - np.int32(1)])
    return ends[sweep.ranks[order]]


def _whole_windows(n_rows: int) -> NDArray[np.int32]:
    return np.tile(np.array([0, n_rows - 1], np.int32), (n_rows, 1))
