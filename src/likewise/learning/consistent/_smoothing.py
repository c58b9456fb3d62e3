"""Scores smoothed over the graph of comparable pairs: one sparse linear system, solved to the last digits."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, diags_array
from scipy.sparse.linalg import LinearOperator, cg, splu

from likewise._compiling import compiled, compiled_with_arrays
from likewise.comparable import Comparability, group_pairs, iter_pairs
from likewise.exceptions import TrainingError
from likewise.learning.consistent._pair_graph import Numbers, Rows, sum_partners
from likewise.schema import CodedTable

TOLERANCE: Final = 1e-10  # of the residual, against the scores
MOST_STEPS: Final = 10_000
MANY: Final = 100_000  # pairs: with fewer, the plain method takes no longer
N_PARTS: Final = 4  # of many pairs, summed at the same time; the same number everywhere, for the same last digits
STRETCH: Final = 5_000_000  # pairs that are counted between neighbourhoods at a time
MOST_FACTORED: Final = 500_000  # links between neighbourhoods whose system is solved at once


class Smoothed(NamedTuple):
    """Smoothed margins, and the number of partners of each person."""

    margins: Numbers
    n_partners: NDArray[np.int64]


def smooth_among(
    table: CodedTable, rule: Comparability, margins: Numbers, weight: float, memory_limit: int | str | None
) -> Smoothed:
    """Minimise the squared change of margins plus ``weight`` times the squared gaps of all pairs of a table.

    The labels of the table should all be the same. Rows of a group have the same partners, so only the means over
    groups are unknown; people without a partner keep their margins. The system is solved by conjugate gradients until
    the residual is below ``TOLERANCE`` times the right side.
    """
    groups = group_pairs(table, rule, memory_limit=memory_limit)
    group_of, size, left, right = groups.group_of, groups.sizes.astype(np.float64), groups.left, groups.right
    own = np.zeros(len(size))
    own[left[left == right]] = 1.0  # equal people who are comparable to each other
    near = _find_neighbourhoods(left, right, len(size)) if len(left) >= MANY else None
    if near is not None:  # neighbours stand together, which is quicker to sum
        order = np.argsort(near, kind="stable")
        number = np.empty(len(order), np.int32)
        number[order] = np.arange(len(order), dtype=np.int32)
        group_of, size, own, near = number[group_of], size[order], own[order], near[order]
        left, right = _reorder(left, right, order, number)
    with ThreadPoolExecutor(N_PARTS) as pool:

        def sum_all(values: Numbers) -> Numbers:
            return sum_partners(left, right, values) if near is None else _sum_parts(pool, left, right, values)

        degree = sum_all(size)
        diagonal = size * (1 + weight * degree)
        system = _operator(len(size), lambda mean: diagonal * mean - weight * size * sum_all(size * mean))
        stiff = diagonal - weight * own * size**2
        coarse = None if near is None else _solve_neighbourhoods(left, right, size, near, weight)
        inverse = _operator(len(size), lambda one: one / stiff if coarse is None else one / stiff + coarse(one))
        smoothed = np.empty_like(margins)
        for k, column in enumerate(margins.T):
            sums = np.bincount(group_of, column, len(size))
            mean, failed = cg(system, sums, x0=sums / size, rtol=TOLERANCE, maxiter=MOST_STEPS, M=inverse)
            if failed:
                raise TrainingError(f"Smoothing did not converge in {MOST_STEPS:,} steps. Lower smoothing.")
            pull = sum_all(size * mean)
            smoothed[:, k] = (column + weight * pull[group_of]) / (1 + weight * degree[group_of])
    n_partners = (degree - own)[group_of].round().astype(np.int64)
    smoothed[n_partners == 0] = margins[n_partners == 0]  # to the last digit
    return Smoothed(smoothed, n_partners)


def smooth_against(
    table: CodedTable,
    margins: Numbers,
    reference: CodedTable,
    reference_margins: Numbers,
    rule: Comparability,
    weight: float,
    memory_limit: int | str | None,
) -> Smoothed:
    """Minimise the same for each person alone, with the margins of comparable people of a reference fixed."""
    n_partners, pull = np.zeros(len(table), np.int64), np.zeros_like(margins)
    for pairs in iter_pairs(table, reference, rule, memory_limit=memory_limit):
        n_partners += np.bincount(pairs.left, minlength=len(table))
        for k in range(margins.shape[1]):
            pull[:, k] += np.bincount(pairs.left, reference_margins[pairs.right, k], len(table))
    smoothed = (margins + weight * pull) / (1 + weight * n_partners[:, None])
    smoothed[n_partners == 0] = margins[n_partners == 0]
    return Smoothed(smoothed, n_partners)


def _operator(n: int, apply: Any) -> LinearOperator:
    return LinearOperator((n, n), matvec=apply, dtype=np.float64)


def _sum_parts(pool: ThreadPoolExecutor, left: Rows, right: Rows, values: Numbers) -> Numbers:
    """Sum, for each group, the values of its partners: parts of the pairs at the same time."""
    cuts = np.linspace(0, len(left), N_PARTS + 1).astype(np.int64)
    parts = [pool.submit(sum_partners, left[a:b], right[a:b], values) for a, b in pairwise(cuts)]
    total = parts[0].result()
    for part in parts[1:]:
        total += part.result()
    return total


def _find_neighbourhoods(left: Rows, right: Rows, n_groups: int) -> Rows:
    """Number neighbourhoods of groups, and return that of each; a group without a partner is its own."""
    found = np.arange(n_groups, dtype=np.int32)
    _gather_neighbours(left, right, found)
    return np.unique(found, return_inverse=True)[1].astype(np.int32)


def _solve_neighbourhoods(
    left: Rows, right: Rows, size: Numbers, near: Rows, weight: float
) -> Callable[[Numbers], Numbers] | None:
    """Return the solution if all people of a neighbourhood moved alike: what plain steps are slow to find.

    None, if so many neighbourhoods are linked that it would take longer than it saves.
    """
    n_groups, n_near = len(size), int(near.max()) + 1
    member = csr_array((size, near, np.arange(n_groups + 1)), shape=(n_groups, n_near))
    links = csr_array((n_near, n_near))
    cuts = [*range(0, len(left), STRETCH), len(left)]
    for a, b in pairwise(cuts):
        some = coo_array((np.ones(b - a), (left[a:b], right[a:b])), shape=(n_groups, n_groups)).tocsr()
        links = links + member.T @ (some @ member)
    links.setdiag(0.0)
    links.eliminate_zeros()
    if links.nnz > MOST_FACTORED:
        return None
    links = weight * (links + links.T)
    factored = splu((diags_array(np.bincount(near, size) + links.sum(axis=0)) - links).tocsc())
    return lambda values: factored.solve(np.bincount(near, values, n_near))[near]


def _reorder(left: Rows, right: Rows, order: NDArray[np.intp], number: Rows) -> tuple[Rows, Rows]:
    """Number groups anew, with the pairs in the order of the new left groups."""
    ends = np.cumsum(np.bincount(left, minlength=len(order)))
    both = np.empty_like(left), np.empty_like(right)
    _copy_runs(right, ends, order, number, *both)
    return both


@compiled
def _copy_runs(right: Any, ends: Any, order: Any, number: Any, left_made: Any, right_made: Any) -> None:
    at = 0
    for new in range(len(order)):
        group = order[new]
        for k in range(ends[group - 1] if group else 0, ends[group]):
            left_made[at], right_made[at] = new, number[right[k]]
            at += 1


@compiled_with_arrays
def _gather_neighbours(left: Any, right: Any, found: Any) -> None:
    """Let groups join a neighbour's neighbourhood; those who are left over join one at the border."""
    counts, is_taken = np.ones(len(found), np.int32), np.zeros(len(found), np.bool_)
    for k in range(len(left)):
        one, other = left[k], right[k]
        if found[one] == one and not is_taken[other] and one != other:
            is_taken[one] = is_taken[other] = True
            found[other] = one
            counts[one] += 1
    for k in range(len(left)):
        for one, other in ((left[k], right[k]), (right[k], left[k])):
            if found[one] == one and counts[one] == 1 and found[other] != one:
                found[one] = found[other]
                counts[found[other]] += 1
