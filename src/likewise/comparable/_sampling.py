"""Draw some of the comparable pairs, each as likely as any other, without listing the rest."""

from __future__ import annotations

from typing import Literal, Protocol, runtime_checkable

import numpy as np

from likewise._checks import check_choice, check_count
from likewise._memory import bytes_allowed
from likewise.comparable._drawing import draw_ranks, pairs_at
from likewise.comparable._mining import EngineName, _start
from likewise.comparable._pairs import ComparablePairs, Rows
from likewise.comparable._question import sort_arguments
from likewise.comparable._rule import Comparability
from likewise.comparable.engines._problem import state_problem
from likewise.schema import CodedTable


@runtime_checkable
class _Drawing(Protocol):
    """An engine that can draw pairs without counting them."""

    def draw(self, n: int, random: np.random.Generator) -> tuple[Rows, Rows, int, float] | None: ...


def sample_pairs(
    left: CodedTable,
    right: CodedTable | Comparability | None = None,
    rule: Comparability | None = None,
    *,
    n: int,
    random_state: int | np.random.Generator | None = 0,
    engine: EngineName = "auto",
    memory_limit: int | str | None = None,
    total: Literal["count", "estimate"] = "count",
) -> ComparablePairs:
    """Draw ``n`` of the comparable pairs uniformly, without listing the others.

    Parameters
    ----------
    left, right, rule, engine
        As for :func:`mine_pairs`.
    memory_limit : int or str, optional
        As for :func:`iter_pairs`.
    n : int
        How many different pairs to draw; all of them, if there are no more.
    random_state : int, Generator or None
        The same number draws the same pairs, whatever the engine, as long as ``total`` is "count".
    total : {"count", "estimate"}
        Whether to count all pairs first. With "estimate", pairs are drawn by trial and error, which takes about the
        same time however many there are; they are drawn as uniformly. The engine "memory" does so; others count, and
        so does this one where there are hardly more pairs than ``n``.

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
    left, right, rule = sort_arguments(left, right, rule)
    check_count("n", n, or_none=False)
    check_choice("total", total, ("count", "estimate"))
    search = _start(engine, state_problem(left, right, rule), bytes_allowed(memory_limit))
    random = np.random.default_rng(random_state)
    if total == "estimate" and isinstance(search, _Drawing):
        drawn = search.draw(n, random)
        if drawn is not None:
            lefts, rights, n_about, error = drawn
            return ComparablePairs(lefts, rights, left, left if right is None else right, n_about, error)
    degrees = search.degrees()
    n_total = int(degrees.sum())
    ranks = draw_ranks(n_total, min(n, n_total), random)
    sampled = pairs_at(search, degrees, ranks)
    return ComparablePairs(*sampled, left, left if right is None else right, n_total)
