"""List, stream, count or sample comparable pairs: the front door to the engines."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Final, Literal, get_args

import numpy as np

from likewise._checks import check_choice, check_count
from likewise._memory import bytes_allowed
from likewise.comparable._drawing import draw_ranks, pairs_at
from likewise.comparable._pairs import ComparablePairs, GroupedPairs, PairCounts
from likewise.comparable._question import sort_arguments
from likewise.comparable._rule import Comparability
from likewise.comparable.engines._problem import Engine, Problem, join_chunks, state_problem, take_parts
from likewise.exceptions import MissingExtra, PairsSampled, TooManyPairs
from likewise.schema import CodedTable

EngineName = Literal["auto", "memory", "duckdb", "spark"]

BYTES_A_PAIR: Final = 8  # two row positions of four bytes
LEAST_FOR_DUCKDB: Final = 100_000_000  # bytes: with less it does not work at all
BYTES_A_DRAWN_PAIR: Final = 128  # on its way, of which a few are left in the end
LEAST_FOR_DRAWING: Final = 64_000_000
SAMPLED_WHEN_TOO_MANY: Final = 1_000_000
REMEDY: Final = "Raise memory_limit, tighten the rule, stream them with iter_pairs, or count them with count_pairs."


def mine_pairs(
    left: CodedTable,
    right: CodedTable | Comparability | None = None,
    rule: Comparability | None = None,
    *,
    engine: EngineName = "auto",
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
        Other people to compare them with, coded by the same schema. Without it, pairs are sought within ``left``.
    rule : Comparability
        When two rows are comparable.
    engine : {"auto", "memory", "duckdb", "spark"}
        How to search. All engines give the same pairs in the same order; "auto" is "memory", or "duckdb" where
        ``memory_limit`` is too small to search in memory and that is installed.
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
    left, right, rule = sort_arguments(left, right, rule)
    check_choice("when_too_many", when_too_many, ("sample", "error"))
    check_count("limit", limit)
    allowed = bytes_allowed(memory_limit)
    problem = state_problem(left, right, rule)
    search = _start(engine, problem, allowed)
    fitting = allowed // BYTES_A_PAIR
    if limit is not None and limit <= fitting:
        chunks, is_all = take_parts(search.chunks(), limit)
        lefts, rights = join_chunks(chunks)
        n_total = len(lefts) if is_all else None
        return ComparablePairs(lefts[:limit], rights[:limit], left, left if right is None else right, n_total)
    listed = search.listing(fitting)
    if listed is not None:
        return ComparablePairs(*listed, left, left if right is None else right, len(listed[0]))
    n_sampled = min(SAMPLED_WHEN_TOO_MANY, fitting, max(allowed, LEAST_FOR_DRAWING) // BYTES_A_DRAWN_PAIR)
    degrees = search.degrees()
    n_total = int(degrees.sum())
    situation = (
        f"The {n_total:,} comparable pairs of {problem.n_rows:,} rows take {n_total * BYTES_A_PAIR / 1e9:,.3g} GB, "
        f"more than fit in the {allowed / 1e9:,.3g} GB allowed"
    )
    if when_too_many == "error":
        raise TooManyPairs(f"{situation}. {REMEDY}")
    warnings.warn(f"{situation}: a uniform sample of {n_sampled:,} is returned. {REMEDY}", PairsSampled, stacklevel=2)
    ranks = draw_ranks(n_total, n_sampled, np.random.default_rng(0))
    sampled = pairs_at(search, degrees, ranks)
    return ComparablePairs(*sampled, left, left if right is None else right, n_total)


def iter_pairs(
    left: CodedTable,
    right: CodedTable | Comparability | None = None,
    rule: Comparability | None = None,
    *,
    engine: EngineName = "auto",
    memory_limit: int | str | None = None,
) -> Iterator[ComparablePairs]:
    """Stream every comparable pair in order, a bounded number at a time.

    What :func:`mine_pairs` would list, for tables whose pairs do not fit in memory.

    Parameters
    ----------
    left, right, rule, engine
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
    left, right, rule = sort_arguments(left, right, rule)
    search = _start(engine, state_problem(left, right, rule), bytes_allowed(memory_limit))
    return (ComparablePairs(*found, left, left if right is None else right) for found in search.chunks())


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
    table, _, rule = sort_arguments(table, None, rule)
    from likewise.comparable.engines.memory import search_in_memory

    allowed = bytes_allowed(memory_limit)
    group_of, pairs = search_in_memory(state_problem(table, None, rule), allowed).groups(allowed // BYTES_A_PAIR)
    if pairs is None:
        raise TooManyPairs(
            f"The comparable pairs of groups of equal rows take more than the {allowed / 1e9:,.3g} GB allowed. {REMEDY}"
        )
    return GroupedPairs(*pairs, group_of, table)


def count_pairs(
    left: CodedTable,
    right: CodedTable | Comparability | None = None,
    rule: Comparability | None = None,
    *,
    engine: EngineName = "auto",
    memory_limit: int | str | None = None,
) -> PairCounts:
    """Count comparable pairs exactly, by label and by sensitive values, without listing them.

    Parameters
    ----------
    left, right, rule, engine
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
    left, right, rule = sort_arguments(left, right, rule)
    problem = state_problem(left, right, rule)
    known_to_both = left if right is None else right
    values = [known_to_both.categories.get(name) for name in left.names["sensitive"]]
    combinations = [
        tuple(code if known is None else known[code] for known, code in zip(values, codes, strict=True))
        for codes in problem.combinations.tolist()
    ]
    classes = known_to_both.classes.tolist()
    rows = _start(engine, problem, bytes_allowed(memory_limit)).counts().tolist()
    return PairCounts({(classes[label], combinations[a], combinations[b]): n for label, a, b, n in rows})


def _start(engine: EngineName, problem: Problem, allowed: int) -> Engine:
    check_choice("engine", engine, get_args(EngineName))
    if engine == "duckdb":
        from likewise.comparable.engines._duckdb import DuckDBEngine

        return DuckDBEngine(problem, max(allowed, LEAST_FOR_DUCKDB))
    if engine == "spark":
        from likewise.comparable.engines._spark import SparkEngine

        return SparkEngine(problem)
    return _start_in_memory(problem, allowed, may_leave=engine == "auto")


def _start_in_memory(problem: Problem, allowed: int, *, may_leave: bool) -> Engine:
    """Search in memory; on disk, if that takes more than is allowed and the caller leaves the choice."""
    from likewise.comparable.engines.memory import search_in_memory

    try:
        search = search_in_memory(problem, allowed)
        search.check_room()
    except TooManyPairs as error:
        if not may_leave:
            raise
        from likewise.comparable.engines._duckdb import DuckDBEngine

        try:
            return DuckDBEngine(problem, max(allowed, LEAST_FOR_DUCKDB))
        except MissingExtra as missing:
            raise TooManyPairs(f"{error} {missing}") from error
    return search
