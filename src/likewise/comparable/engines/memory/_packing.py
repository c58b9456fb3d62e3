"""Rows packed into machine words, so that a whole condition is a handful of instructions.

Every discrete code and every rank of a near column is a field in a 64-bit word, with one guard bit above it that
is 0 in the data. Adding all ones to a field of ``a XOR b`` sets its guard exactly when the field differs. Subtracting
fields under a set guard keeps it exactly when nothing was borrowed, which is how "at least the lowest rank near the
other's" is tested for all the fields of a word at once; two rows are near if that holds both ways.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise._compiling import compiled
from likewise._ranking import order_rows
from likewise._threads import beside, join_arrays, share_rows, share_work, take_rows, threads_for
from likewise.comparable.engines._columns import (
    NearColumn,
    cut_cells,
    number_jointly,
    number_rows,
    rank_near,
    share_distinct,
    spans_of,
)
from likewise.comparable.engines._problem import Problem

WORD_BITS: Final = 64
HALF: Final = np.uint64(32)
LOW: Final = np.uint64(0xFFFFFFFF)
SIDE: Final = np.uint64(1)  # the lowest bit of a head, while rows are merged: of the right table
KEY_BIT: Final = np.uint64(1)  # of a head, from which on it holds the key while rows are merged
HEAD: Final = ((0, 32), (0, int(KEY_BIT)))  # where a combination and the key are: word, first bit
BLOCK: Final = 1024  # nodes whose words stay in the nearest cache
AT_ONCE: Final = 4  # columns that are written in one pass over the words
SMALL_CODES: Final = 1 << 16  # codes below this are packed as they are, others are numbered first

Words = NDArray[np.uint64]


class Near(NamedTuple):
    """The near columns: where each one's rank is packed, and which ranks it may meet."""

    word: NDArray[np.int64]
    shift: NDArray[np.uint64]
    mask: NDArray[np.uint64]
    start: NDArray[np.int64]  # of each column's part of the two arrays below, and their end
    lowest: NDArray[np.int32]  # for each rank, the lowest rank within the limit
    highest: NDArray[np.int32]
    guard: Words  # for each near word, the guard bits of its fields


class Nodes(NamedTuple):
    """What the kernels see of the rows. Nodes are numbered along the sweep column, the most selective near one."""

    words: Words  # (n, 1 + discrete + 2 near): a head of (combination, name), packed fields, lowest ranks near them
    key: NDArray[np.int32]  # equal in comparable nodes
    guard: Words  # for each discrete word, the guard bits of its fields
    fill: Words  # for each discrete word, all ones below every guard
    near: Near  # its column 0 is the sweep column
    window: NDArray[np.int32]  # (n, 2): the first and the last node that is near in the sweep column
    combinations: NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class PackedTable:
    """Nodes, and the way back to rows."""

    nodes: Nodes
    fields: list[tuple[int, np.uint64]]  # of each discrete column: its word, and the mask of its field there
    rows: NDArray[np.int32]  # of each node: the first row that it stands for
    node_of: NDArray[np.int32]  # of each row
    is_grouped: bool  # whether equal rows share a node; a node's name is then its number, else its row
    n_left: int  # rows of the left table
    is_within: bool  # whether both rows of a pair are of the left table

    @property
    def n_nodes(self) -> int:
        """How many nodes there are."""
        return len(self.nodes.key)

    @property
    def left_node_of(self) -> NDArray[np.int32]:
        """The node of each left row."""
        return self.node_of[: self.n_left]

    @property
    def right_node_of(self) -> NDArray[np.int32]:
        """The node of each right row; within one table, of each row."""
        return self.node_of if self.is_within else self.node_of[self.n_left :]

    @property
    def combination(self) -> NDArray[np.int32]:
        """Which combination of sensitive values each node has."""
        combination = np.empty(self.n_nodes, np.int32)
        share_rows(
            lambda part: _read_combination(self.nodes.words[part], combination[part]), self.n_nodes, is_light=True
        )
        return combination

    @property
    def n_near(self) -> int:
        """How many near columns there are to test."""
        return len(self.nodes.near.word)

    def cells_of(self, column: int, nodes: NDArray[np.int32] | None = None) -> NDArray[np.int32]:
        """The cell of each node, or of some, in a near column: what is near lies in the same or the next cell."""
        near = self.nodes.near
        words = self.nodes.words[:, near.word[column]] if nodes is None else self.nodes.words[nodes, near.word[column]]
        ranks = slice(near.start[column], near.start[column + 1])
        cells: NDArray[np.int32] = cut_cells(near.lowest[ranks], near.highest[ranks])
        found = np.empty(len(words), np.int32)
        shift, mask = near.shift[column], near.mask[column]
        share_rows(lambda part: _look_up(cells, words[part], shift, mask, found[part]), len(words))
        return found

    def nodes_of(self, node_of: NDArray[np.int32]) -> NDArray[np.int32]:
        """The distinct nodes among those of some rows, ascending."""
        if len(node_of) == len(self.node_of):
            return np.arange(self.n_nodes, dtype=np.int32)
        is_there = np.zeros(self.n_nodes, np.bool_)
        is_there[node_of] = True
        return np.flatnonzero(is_there).astype(np.int32)


@compiled
def _read_combination(words: Any, combination: Any) -> None:
    for node in range(len(words)):
        combination[node] = words[node, 0] >> HALF


@compiled
def _look_up(cells: Any, words: Any, shift: Any, mask: Any, found: Any) -> None:
    for place in range(len(words)):
        found[place] = cells[(words[place] >> shift) & mask]


def pack(
    problem: Problem, *, group_below: float = 0.5, at_once: int = 1, ranked: list[NearColumn] | None = None
) -> PackedTable:
    """Pack the rows of a problem; equal rows into one node, if at most that share of them are distinct.

    ``at_once``: columns that are ranked side by side, each in memory of its own. ``ranked``: those that are already.
    """
    n_rows = problem.n_rows
    ranked = _rank_columns(problem, at_once) if ranked is None else ranked
    apart = [column.component for column in ranked if column.component is not None]
    key = number_jointly([problem.labels, *problem.equal, *apart], n_rows)
    near = sorted((column for column in ranked if not column.is_settled), key=lambda column: column.selectivity)
    del ranked, apart
    discrete, n_bits = _codes_that_differ(problem)
    layout_discrete = _lay_out(n_bits, first_word=1)
    layout_near = _lay_out([(len(c.lowest) - 1).bit_length() for c in near], first_word=1 + layout_discrete.n_words)
    words = np.zeros((n_rows, 1 + layout_discrete.n_words + layout_near.n_words), np.uint64)
    codes = [problem.combination, key, *discrete, *(column.ranks for column in near)]
    where = [*HEAD, *layout_discrete.where, *layout_near.where]
    _write_fields(words, codes, where)
    reach = Near(
        word=layout_near.word,
        shift=layout_near.shift,
        mask=layout_near.mask,
        start=np.cumsum([0] + [len(column.lowest) for column in near]),
        lowest=join_arrays([column.lowest for column in near], np.int32),
        highest=join_arrays([column.highest for column in near], np.int32),
        guard=layout_near.guard,
    )
    del near, codes, key
    group_of, firsts, is_grouped = _merge_rows(problem, words, group_below)
    rows, position, sweep = _number_along_sweep(words, reach, firsts)
    nodes = _Laid(
        words=np.empty((len(rows), words.shape[1] + layout_near.n_words), np.uint64),
        window=np.empty((len(rows), 2), np.int32),
        key=np.empty(len(rows), np.int32),
    )
    names = is_grouped, n_rows if is_grouped else problem.n_left
    share_rows(lambda part: _lay_nodes(words, rows, part.start, part.stop, reach, sweep, names, nodes), len(rows))
    masks = layout_discrete.mask << layout_discrete.shift
    return PackedTable(
        nodes=Nodes(
            words=nodes.words,
            key=nodes.key,
            guard=layout_discrete.guard,
            fill=layout_discrete.fill,
            near=reach,
            window=nodes.window,
            combinations=problem.combinations,
        ),
        fields=[(int(word), mask) for word, mask in zip(layout_discrete.word, masks, strict=True)],
        rows=rows,
        node_of=take_rows(position, group_of) if is_grouped else position,
        is_grouped=is_grouped,
        n_left=problem.n_left,
        is_within=problem.n_right is None,
    )


def pack_distinct(problem: Problem, at_once: int) -> tuple[NDArray[np.int32], Problem, PackedTable]:
    """Number the distinct rows of one table in order of first appearance, and pack the first of each by itself.

    Returns each row's number, the problem of the first rows but for its near columns, and these rows packed. Rows are
    equal when all their values are, whether the rule lets some of these differ or not.
    """
    ranked = _rank_columns(problem, at_once)
    columns = [problem.labels, *problem.equal, *problem.discrete, problem.combination]
    spans = spans_of(columns) + [(0, len(column.lowest) - 1) for column in ranked]
    columns += [column.ranks for column in ranked]
    layout = _lay_out([(highest - lowest).bit_length() for lowest, highest in spans], first_word=0)
    words = np.zeros((problem.n_rows, max(layout.n_words, 1)), np.uint64)
    _write_fields(words, columns, layout.where, [lowest for lowest, _ in spans])
    group_of, firsts = number_rows(words)
    del words, columns
    if len(firsts) < problem.n_rows:
        ranked = [column.take(firsts) for column in ranked]
    of_firsts = replace(problem, near=(), tests=()).take(firsts)
    return group_of, of_firsts, pack(of_firsts, group_below=0, ranked=ranked)


def _merge_rows(
    problem: Problem, words: Words, group_below: float
) -> tuple[NDArray[np.int32], NDArray[np.int32], bool]:
    """Number the groups of equal rows, if merging pays: each row's group, each one's first row, and whether it does."""
    words[problem.n_left :, 0] |= SIDE
    if group_below and share_distinct(words) <= 1.2 * group_below:  # it is only an estimate
        group_of, firsts = number_rows(words)
        if len(firsts) <= group_below * problem.n_rows:
            return group_of, firsts, True
    group_of = np.arange(problem.n_rows, dtype=np.int32)
    return group_of, group_of, False


def _number_along_sweep(
    words: Words, near: Near, firsts: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """Order groups along the sweep column: the row of each node, the node of each group, where each rank starts."""
    if not len(near.word):
        return firsts, np.arange(len(firsts), dtype=np.int32), np.array([0, len(firsts)])
    ranks = np.empty(len(firsts), np.int32)
    field = near.word[0], near.shift[0], near.mask[0]
    share_rows(lambda part: _read_field(words, *field, firsts[part], ranks[part]), len(firsts))
    order, sweep = sort_by_rank(ranks, int(near.start[1]))
    position, rows = np.empty(len(order), np.int32), np.empty(len(order), np.int32)
    share_rows(lambda part: _place_rows(order[part], part.start, firsts, position, rows[part]), len(order))
    return rows, position, sweep


def _codes_that_differ(problem: Problem) -> tuple[list[NDArray[np.int32]], list[int]]:
    """Code the discrete columns densely, without those that never differ; none, if all may change at once.

    Also how many bits the codes of each take.
    """
    columns, n_bits = [], []
    for column, (lowest, highest) in zip(problem.discrete, spans_of(problem.discrete), strict=True):
        if lowest == highest:
            continue
        codes = column
        if lowest < 0 or highest >= SMALL_CODES:
            values, numbers = np.unique(column, return_inverse=True)
            codes, highest = numbers.astype(np.int32), len(values) - 1
        columns.append(codes)
        n_bits.append(highest.bit_length())
    return (columns, n_bits) if len(columns) > problem.max_changes else ([], [])


def _rank_columns(problem: Problem, at_once: int) -> list[NearColumn]:
    """Rank the near columns."""
    ranked: dict[int, NearColumn] = {}

    n_threads = min(at_once, threads_for(problem.n_rows), max(len(problem.near), 1))

    def rank(column: int) -> None:
        with beside((n_threads - 1) // 2):  # some columns take longer, and have more threads then
            ranked[column] = rank_near(problem.near[column], problem.tests[column])

    share_work(rank, range(len(problem.near)), n_threads=n_threads)
    return [ranked[column] for column in range(len(problem.near))]


def _write_fields(
    words: Words, columns: list[NDArray[np.int32]], where: list[tuple[int, int]], lowest: list[int] | None = None
) -> None:
    """Write codes into a word and from a bit on, counted from the lowest of each column where these are given."""
    lowest = [0] * len(columns) if lowest is None else lowest
    fields = [*zip(columns, where, lowest, strict=True)]
    # those of a kind together: a kernel is compiled anew for columns of another
    kinds = [[field for field in fields if field[0].flags.c_contiguous is is_dense] for is_dense in (True, False)]
    bunches = [some[first : first + AT_ONCE] for some in kinds for first in range(0, len(some), AT_ONCE)]
    places = [np.array([(*there, low) for _, there, low in bunch], np.int64) for bunch in bunches]

    def write(rows: slice) -> None:
        for bunch, there in zip(bunches, places, strict=True):
            codes = [column[rows] for column, _, _ in bunch]
            _write_some(words[rows], *codes, *codes[:1] * (AT_ONCE - len(bunch)), there)

    share_rows(write, len(words))


def take_words(words: Words, rows: NDArray[np.int32]) -> Words:
    """Return the words of some rows."""
    taken = np.empty((len(rows), words.shape[1]), np.uint64)
    share_rows(lambda part: _take_words(words, rows[part], taken[part]), len(rows))
    return taken


@compiled
def _take_words(words: Any, rows: Any, taken: Any) -> None:
    for place in range(len(rows)):
        for word in range(words.shape[1]):
            taken[place, word] = words[rows[place], word]


class _Laid(NamedTuple):
    """What is written of each node."""

    words: Words
    window: NDArray[np.int32]
    key: NDArray[np.int32]


@compiled
def _lay_nodes(words: Any, rows: Any, start: Any, stop: Any, near: Any, sweep: Any, names: Any, nodes: Any) -> None:
    """Write the words of some nodes, with the lowest ranks near theirs, their names, and the first and last one near.

    A node's name is its number, or its row, of each table counted from 0.
    """
    is_numbered, n_left = names
    n_near, n_before = len(near.guard), words.shape[1]
    for node in range(start, stop):  # apart from what depends on it, so that many rows are on their way at a time
        row = rows[node]
        for k in range(n_before):
            nodes.words[node, k] = words[row, k]
        nodes.key[node] = (words[row, 0] & LOW) >> KEY_BIT
        name = node if is_numbered else np.int64(row)
        name -= n_left if name >= n_left else 0
        nodes.words[node, 0] = nodes.words[node, 0] & ~LOW | np.uint64(name)
        for k in range(n_before, n_before + n_near):
            nodes.words[node, k] = 0
        nodes.window[node, 0], nodes.window[node, 1] = 0, sweep[-1] - 1
    for first in range(start, stop, BLOCK):
        for k in range(len(near.word)):
            word, shift, mask = near.word[k], near.shift[k], near.mask[k]
            lowest, highest = near.lowest[near.start[k] :], near.highest[near.start[k] :]
            for node in range(first, min(first + BLOCK, stop)):
                rank = (nodes.words[node, word] >> shift) & mask
                nodes.words[node, word + n_near] |= np.uint64(lowest[rank]) << shift
                if k == 0:
                    last = sweep[highest[rank] + 1] - 1
                    nodes.window[node, 0], nodes.window[node, 1] = sweep[lowest[rank]], last


@compiled
def _read_field(words: Any, word: Any, shift: Any, mask: Any, rows: Any, codes: Any) -> None:
    for place in range(len(rows)):
        codes[place] = (words[rows[place], word] >> shift) & mask


@compiled
def _place_rows(order: Any, start: Any, firsts: Any, position: Any, rows: Any) -> None:
    for place in range(len(order)):
        position[order[place]] = start + place
        rows[place] = firsts[order[place]]


@compiled
def _write_some(words: Any, one: Any, two: Any, three: Any, four: Any, where: Any) -> None:
    """Write as many columns of codes as there are words, first bits and lowest codes; others are not read."""
    for row in range(len(words)):
        words[row, where[0, 0]] |= np.uint64(one[row] - where[0, 2]) << np.uint64(where[0, 1])
        if len(where) > 1:
            words[row, where[1, 0]] |= np.uint64(two[row] - where[1, 2]) << np.uint64(where[1, 1])
        if len(where) > 2:
            words[row, where[2, 0]] |= np.uint64(three[row] - where[2, 2]) << np.uint64(where[2, 1])
        if len(where) > 3:
            words[row, where[3, 0]] |= np.uint64(four[row] - where[3, 2]) << np.uint64(where[3, 1])


@dataclass(frozen=True, slots=True, eq=False)
class _Layout:
    word: NDArray[np.int64]
    shift: NDArray[np.uint64]
    mask: NDArray[np.uint64]  # of the field at shift 0, guard not included
    guard: Words
    fill: Words

    @property
    def n_words(self) -> int:
        return len(self.guard)

    @property
    def where(self) -> list[tuple[int, int]]:
        """The word of each field, and its first bit there."""
        return [*zip(self.word.tolist(), self.shift.tolist(), strict=True)]


def _lay_out(bits: list[int], first_word: int) -> _Layout:
    """Place fields of the given widths, each with its guard bit, into as few words as they come."""
    word, shift = np.zeros(len(bits), np.int64), np.zeros(len(bits), np.uint64)
    guard: list[int] = []
    fill: list[int] = []
    used = WORD_BITS
    for i, width in enumerate(bits):
        if used + width + 1 > WORD_BITS:
            guard.append(0)
            fill.append(0)
            used = 0
        word[i], shift[i] = first_word + len(guard) - 1, used
        fill[-1] |= ((1 << width) - 1) << used
        guard[-1] |= 1 << (used + width)
        used += width + 1
    mask = np.array([(1 << width) - 1 for width in bits], np.uint64)
    return _Layout(word, shift, mask, np.array(guard, np.uint64), np.array(fill, np.uint64))


def sort_by_rank(ranks: NDArray[np.int32], n_ranks: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Order rows by rank, keeping the order of equals; also give where each rank starts, and the end."""
    return order_rows(ranks), np.concatenate([[0], np.cumsum(np.bincount(ranks, minlength=n_ranks))])
