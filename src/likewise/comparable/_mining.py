"""List, stream, count or sample comparable pairs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise._checks import check_choice, check_count
from likewise._memory import bytes_allowed
from likewise._random import make_generator
from likewise.comparable._pairs import ComparablePairs, GroupedPairs, PairCounts, Rows
from likewise.comparable._rule import Comparability, check_rule
from likewise.comparable.engines._columns import number_rows
from likewise.comparable.engines._exhaustive import ExhaustiveEngine
from likewise.comparable.engines._problem import (
    Engine,
    Found,
    Problem,
    StartVisit,
    join_chunks,
    state_problem,
    take_parts,
)
from likewise.exceptions import PairsSampled, RuleError, TooManyPairs
from likewise.schema import CodedTable

BYTES_A_PAIR: Final = 8  # two row positions of four bytes
BYTES_A_DRAWN_PAIR: Final = 128  # on its way, of which a few are left in the end
LEAST_FOR_DRAWING: Final = 64_000_000
SAMPLED_WHEN_TOO_MANY: Final = 1_000_000
REMEDY: Final = "Raise memory_limit, tighten the rule, stream them with iter_pairs, or count them with count_pairs."


class Question(NamedTuple):
    """What to search: one table, or two in the same codes, and the rule."""

    left: CodedTable
    right: CodedTable | None
    rule: Comparability

    def start(self, allowed: int) -> Engine:
        """Start a search with so many bytes."""
        return start_search(state_problem(*self), allowed)

    def pairs(
        self, found: tuple[Rows, Rows], n_total: int | None = None, error: float | None = None
    ) -> ComparablePairs:
        """Put rows that were found together with their tables."""
        return ComparablePairs(*found, self.left, self.left if self.right is None else self.right, n_total, error)


def mine_pairs(
    left: CodedTable,
    right: CodedTable | Comparability | None = None,
    rule: Comparability | None = None,
    *,
    limit: int | None = None,
    memory_limit: int | str | None = None,
    when_too_many: Literal["sample", "error"] = "sample",
) -> ComparablePairs:
    """List every comparable pair of a table, or between two tables, exactly.

    Call it as ``mine_pairs(table, rule)`` or as ``mine_pairs(left, right, rule)``.

    Parameters
    ----------
    left : CodedTable
        The people to compare.
    right : CodedTable, optional
        Other people to compare them with, coded by the same schema. Without it, pairs are found within ``left``.
    rule : Comparability
        When two rows are comparable.
    limit : int, optional
        Stop after so many pairs: the first ones, in order.
    memory_limit : int or str, optional
        How many bytes the pairs and the search for them may take together, beside the tables and the program
        itself, such as ``2_000_000_000`` or "2 GB". A search takes longer with less, and is refused with
        :class:`~likewise.exceptions.TooManyPairs` where it cannot do with so little; some 100 MB it takes in any
        case. By default 4 GB, or half of what the machine has free if that is less.
    when_too_many : {"sample", "error"}
        What to do when the pairs would take more than that: count them all and return a uniform sample of a
        million (fewer, if fewer fit), with a :class:`~likewise.exceptions.PairsSampled` warning, or raise
        :class:`~likewise.exceptions.TooManyPairs`.

    Returns
    -------
    ComparablePairs

    Examples
    --------
    >>> from likewise import CodedTable, Comparability, mine_pairs
    >>> people = CodedTable(sensitive=[[0], [1], [1]], continuous=[[0.5], [0.51], [0.9]], labels=[1, 1, 1])
    >>> pairs = mine_pairs(people, Comparability(max_continuous_shift=0.025))
    >>> list(zip(pairs.left.tolist(), pairs.right.tolist()))
    [(0, 1)]
    """
    question = resolve_question(left, right, rule)
    check_choice("when_too_many", when_too_many, ("sample", "error"))
    check_count("limit", limit)
    allowed = bytes_allowed(memory_limit)
    problem = state_problem(*question)
    search = start_search(problem, allowed)
    fitting = allowed // BYTES_A_PAIR
    if limit is not None and limit <= fitting:
        chunks, is_all = take_parts(search.chunks(), limit)
        lefts, rights = join_chunks(chunks)
        return question.pairs((lefts[:limit], rights[:limit]), len(lefts) if is_all else None)
    listed = search.listing(fitting)
    if listed is not None:
        return question.pairs(listed, len(listed[0]))
    n_sampled = min(SAMPLED_WHEN_TOO_MANY, fitting, max(allowed, LEAST_FOR_DRAWING) // BYTES_A_DRAWN_PAIR)
    degrees = search.degrees
    n_total = int(degrees.sum())
    situation = (
        f"The {n_total:,} comparable pairs of {problem.n_rows:,} rows take {n_total * BYTES_A_PAIR / 1e9:,.3g} GB, "
        f"more than fit in the {allowed / 1e9:,.3g} GB allowed"
    )
    if when_too_many == "error":
        raise TooManyPairs(f"{situation}. {REMEDY}")
    warnings.warn(f"{situation}: a uniform sample of {n_sampled:,} is returned. {REMEDY}", PairsSampled, stacklevel=2)
    ranks = draw_ranks(n_total, n_sampled, np.random.default_rng(0))
    return question.pairs(pairs_at(search, degrees, ranks), n_total)


def iter_pairs(
    left: CodedTable,
    right: CodedTable | Comparability | None = None,
    rule: Comparability | None = None,
    *,
    memory_limit: int | str | None = None,
) -> Iterator[ComparablePairs]:
    """Stream every comparable pair in order, a bounded number at a time.

    What :func:`mine_pairs` would list, for tables whose pairs do not fit in memory.

    Parameters
    ----------
    left, right, rule
        As for :func:`mine_pairs`.
    memory_limit : int or str, optional
        How many bytes the search may take beside the tables and the program itself, as for :func:`mine_pairs`. It
        does not grow with the number of pairs.

    Yields
    ------
    ComparablePairs
        The next few hundred thousand pairs or so.

    Examples
    --------
    >>> from likewise import CodedTable, Comparability, iter_pairs
    >>> people = CodedTable(sensitive=[[0], [1], [2]], labels=[1, 1, 1])
    >>> sum(len(pairs) for pairs in iter_pairs(people, Comparability()))
    3
    """
    question = resolve_question(left, right, rule)
    search = question.start(bytes_allowed(memory_limit))
    return (question.pairs(found) for found in search.chunks())


def visit_pairs(
    table: CodedTable,
    rule: Comparability,
    start: StartVisit[Found],
    *,
    memory_limit: int | str | None = None,
) -> Iterator[tuple[float, Found]]:
    """Hand out every pair of a table in no order, each once, a bounded number at a time and on several threads.

    ``start`` is given the row of each number, or None where numbers are rows, and returns what is then called with each
    :class:`Bunch`; the share that is done and what it returned are yielded.
    """
    return resolve_question(table, None, rule).start(bytes_allowed(memory_limit)).visit(start)


def group_pairs(table: CodedTable, rule: Comparability, *, memory_limit: int | str | None = None) -> GroupedPairs:
    """List the comparable pairs of a table with equal rows merged into groups: the same answer, compressed.

    A table in which rows repeat has far fewer pairs of groups than of rows, and whatever depends on the compared
    columns alone needs to be worked out only once for each.

    Parameters
    ----------
    table : CodedTable
        The people to compare.
    rule : Comparability
        When two rows are comparable.
    memory_limit : int or str, optional
        How many bytes the pairs of groups and the search for them may take;
        :class:`~likewise.exceptions.TooManyPairs` is raised beyond. By default as for :func:`mine_pairs`.

    Returns
    -------
    GroupedPairs

    Examples
    --------
    >>> from likewise import CodedTable, Comparability, group_pairs
    >>> people = CodedTable(sensitive=[[0]] * 1000 + [[1]] * 1000)
    >>> group_pairs(people, Comparability())
    <GroupedPairs: 1,000,000 pairs (pairs of groups: 1, groups: 2)>
    """
    table, _, rule = resolve_question(table, None, rule)
    allowed = bytes_allowed(memory_limit)
    problem = state_problem(table, None, rule)
    group_of, firsts = number_equal_rows(problem)
    pairs = start_search(problem.take(firsts), allowed, are_distinct=True).listing(allowed // BYTES_A_PAIR)
    if pairs is None:
        raise TooManyPairs(
            f"The comparable pairs of groups of equal rows take more than the {allowed / 1e9:,.3g} GB allowed. {REMEDY}"
        )
    if rule.sensitive_differs == "none":  # equal rows are comparable to each other
        repeated = np.flatnonzero(np.bincount(group_of, minlength=len(firsts)) > 1).astype(np.int32)
        left, right = (np.concatenate([side, repeated]) for side in pairs)
        order = np.lexsort((right, left))
        pairs = left[order], right[order]
    return GroupedPairs(*pairs, group_of, table)


def count_pairs(
    left: CodedTable,
    right: CodedTable | Comparability | None = None,
    rule: Comparability | None = None,
    *,
    memory_limit: int | str | None = None,
) -> PairCounts:
    """Count comparable pairs exactly, by label and by sensitive values, without listing them.

    Parameters
    ----------
    left, right, rule
        As for :func:`mine_pairs`.
    memory_limit : int or str, optional
        How many bytes the search may take beside the tables and the program itself, as for :func:`mine_pairs`. It
        does not grow with the number of pairs.

    Returns
    -------
    PairCounts

    Examples
    --------
    >>> from likewise import CodedTable, Comparability, count_pairs
    >>> people = CodedTable(sensitive=[[0], [1], [1]], labels=[1, 1, 1])
    >>> counts = count_pairs(people, Comparability())
    >>> counts.total, counts.by_label
    (2, {1: 2})
    """
    left, right, rule = resolve_question(left, right, rule)
    problem = state_problem(left, right, rule)
    known_to_both = left if right is None else right
    values = [known_to_both.categories.get(name) for name in left.names["sensitive"]]
    combinations = [
        tuple(code if known is None else known[code] for known, code in zip(values, codes, strict=True))
        for codes in problem.combinations.tolist()
    ]
    classes = known_to_both.classes.tolist()
    rows = start_search(problem, bytes_allowed(memory_limit)).counts().tolist()
    return PairCounts({(classes[label], combinations[a], combinations[b]): n for label, a, b, n in rows})


def sample_pairs(
    left: CodedTable,
    right: CodedTable | Comparability | None = None,
    rule: Comparability | None = None,
    *,
    n: int,
    random_state: int | np.random.Generator | None = 0,
    memory_limit: int | str | None = None,
    total: Literal["count", "estimate"] = "count",
) -> ComparablePairs:
    """Draw ``n`` of the comparable pairs uniformly, without listing the others.

    Parameters
    ----------
    left, right, rule
        As for :func:`mine_pairs`.
    memory_limit : int or str, optional
        As for :func:`iter_pairs`.
    n : int
        How many different pairs to draw; all of them, if there are no more.
    random_state : int, Generator or None
        The same number draws the same pairs.
    total : {"count", "estimate"}
        Whether to count all pairs first. With "estimate", pairs are drawn by trial and error, which takes about the
        same time however many there are; they are drawn as uniformly. Where there are hardly more pairs than ``n``,
        they are counted all the same.

    Returns
    -------
    ComparablePairs
        In order, with ``n_total`` saying how many there are in all; if that is an estimate, ``n_total_error`` is its
        standard error.

    Examples
    --------
    >>> from likewise import CodedTable, Comparability, sample_pairs
    >>> people = CodedTable(sensitive=[[i] for i in range(100)], labels=[1] * 100)
    >>> pairs = sample_pairs(people, Comparability(), n=10)
    >>> len(pairs), pairs.n_total
    (10, 4950)
    """
    question = resolve_question(left, right, rule)
    check_count("n", n, or_none=False)
    check_choice("total", total, ("count", "estimate"))
    search = question.start(bytes_allowed(memory_limit))
    random = make_generator(random_state)
    drawn = search.draw(n, random) if total == "estimate" else None
    if drawn is not None:
        return question.pairs(drawn[:2], *drawn[2:])
    if total == "estimate":  # there are so few that equal rows are merged again
        search = question.start(bytes_allowed(memory_limit))
    degrees = search.degrees
    n_total = int(degrees.sum())
    return question.pairs(pairs_at(search, degrees, draw_ranks(n_total, min(n, n_total), random)), n_total)


def resolve_tables(
    left: CodedTable, right: CodedTable | Comparability | None, rule: Comparability | None
) -> tuple[CodedTable, CodedTable | None, Comparability | None]:
    """Resolve ``(table, rule)`` or ``(left, right, rule)``, with both tables in the same codes."""
    if isinstance(right, Comparability):
        if rule is not None:
            raise RuleError("Two rules were given. Call it with (table, rule) or with (left, right, rule).")
        right, rule = None, right
    for table in (left, *([] if right is None else [right])):
        if not isinstance(table, CodedTable):
            raise RuleError(
                f"Pairs are found in coded tables, not in a {type(table).__name__}. "
                "Make one: schema = roles.learn(frame); table = schema.encode(frame, y)."
            )
    return left, None if right is None else right.aligned_to(left), rule


def resolve_question(
    left: CodedTable, right: CodedTable | Comparability | None, rule: Comparability | None
) -> Question:
    """Resolve the arguments of a search; a rule is required."""
    left, right, rule = resolve_tables(left, right, rule)
    return Question(left, right, check_rule(rule))


def draw_ranks(n_total: int, n: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Draw ``n`` different numbers below ``n_total``, ascending, in memory that grows with ``n`` alone."""
    if n > n_total // 2:
        return np.sort(random.choice(n_total, n, replace=False)) if n < n_total else np.arange(n_total)
    ranks = np.empty(0, np.int64)
    while len(ranks) < n:
        ranks = np.unique(np.concatenate([ranks, random.integers(n_total, size=2 * n)]))
    return np.sort(random.choice(ranks, n, replace=False))


def pairs_at(search: Engine, degrees: NDArray[np.int64], ranks: NDArray[np.int64]) -> tuple[Rows, Rows]:
    """Fetch the pairs that stand at the given places of the whole list, without making that list."""
    ends = np.cumsum(degrees)
    rows = np.searchsorted(ends, ranks, side="right")
    return rows.astype(np.int32), search.pick(rows, ranks - (ends[rows] - degrees[rows]))


def number_equal_rows(problem: Problem) -> tuple[Rows, Rows]:
    """Number the distinct rows of a problem, of each table its own, in order; also return the first of each."""
    columns: list[NDArray[Any]] = [
        *problem.codes,
        *(column + 0.0 for column in problem.near),
    ]  # -0.0 and 0.0 are one value
    if problem.n_right is not None:
        columns.append(np.arange(problem.n_rows) >= problem.n_left)
    return number_rows(columns, problem.n_rows)


def start_search(problem: Problem, allowed: int, *, are_distinct: bool = False) -> Engine:
    """Start to search: small tables row by row, others with compiled kernels, to the same pairs in the same order."""
    if ExhaustiveEngine.suits(problem, allowed):
        return ExhaustiveEngine(problem)
    from likewise.comparable.engines._repeated import MOST_DISTINCT, RepeatedRows
    from likewise.comparable.engines._search import MemoryEngine

    if not are_distinct:
        numbered = number_equal_rows(problem)
        if len(numbered[1]) <= MOST_DISTINCT * problem.n_rows:
            return RepeatedRows(problem, numbered, allowed)
    return MemoryEngine(problem, allowed)
