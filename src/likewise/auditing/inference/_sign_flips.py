"""Whether signed gaps lean to one side by more than chance."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise._checks import check_count
from likewise.exceptions import ScoreError

Floats = NDArray[np.float64]
ROUNDING: Final = 1e-9  # of what all gaps add up to: sums this near to each other are equal
AT_ONCE: Final = 8  # gaps whose signs one byte chooses
DRAWN_AT_ONCE: Final = 256  # rows of so many gaps
SIGNS: Final = np.unpackbits(np.arange(2**AT_ONCE, dtype=np.uint8)[:, None], axis=1) * 2.0 - 1.0


def sign_flip_test(signed_gaps: ArrayLike, *, n_permutations: int = 1999, random_state: int | None = 0) -> float:
    """Test whether signed gaps lean to one side, by flipping their signs at random.

    If the two people of a pair could as well have each other's score, every choice of signs is equally likely. The
    p-value says how often such a choice leans as far as the gaps do. Nobody may be in two of the pairs: gaps that
    share a person have to flip together.

    Parameters
    ----------
    signed_gaps : array of float, shape (n_pairs,)
        Of pairs in which nobody occurs twice.
    n_permutations : int
        How often to choose signs.
    random_state : int, optional
        The same number gives the same p-value; None gives another one each time.

    Returns
    -------
    float
        From ``1 / (1 + n_permutations)`` to 1; 1 where all gaps are zero.

    Examples
    --------
    >>> from likewise.auditing import sign_flip_test
    >>> sign_flip_test([-0.1] * 20)
    0.0005
    >>> sign_flip_test([-0.1, 0.1] * 10)
    1.0
    """
    check_count("n_permutations", n_permutations, or_none=False)
    check_count("random_state", random_state)
    gaps = _as_numbers(signed_gaps, "The signed gaps")
    return flip_signs(gaps, n_permutations, random_state)


def flip_signs(gaps: Floats, n_permutations: int, random_state: int | None) -> float:
    """Return the p-value of :func:`sign_flip_test`: work out every choice for some gaps, then choose."""
    gaps = gaps[gaps != 0]  # whatever their sign, they add nothing
    filled = np.concatenate([gaps, np.zeros(-len(gaps) % AT_ONCE)]).reshape(-1, AT_ONCE)
    random = np.random.default_rng(random_state)
    sums = np.zeros(n_permutations)
    for start in range(0, len(filled), DRAWN_AT_ONCE):
        some = filled[start : start + DRAWN_AT_ONCE]
        words = random.integers(2**64, size=(len(some), -(-n_permutations // 8)), dtype=np.uint64)
        for of_row, chosen in zip(some, words.view(np.uint8), strict=True):
            sums += (SIGNS @ of_row).take(chosen[:n_permutations])
    as_far = np.abs(sums) >= abs(gaps.sum()) - ROUNDING * np.abs(gaps).sum()
    return float((1 + np.count_nonzero(as_far)) / (1 + n_permutations))


def adjust_p_values(p_values: ArrayLike) -> Floats:
    """Raise p-values because there are several, so that one small by chance is not taken for a finding (Holm).

    Parameters
    ----------
    p_values : array of float
        From 0 to 1.

    Returns
    -------
    array of float
        In the same order. Calling everything up to 0.05 a finding is then wrong at all, even once, at most 5 times
        in 100.

    Examples
    --------
    >>> from likewise.auditing import adjust_p_values
    >>> adjust_p_values([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    given = _as_numbers(p_values, "The p-values")
    if len(given) and (given.min() < 0 or given.max() > 1):
        raise ScoreError(f"The p-values run from {given.min():.6g} to {given.max():.6g}; they lie from 0 to 1.")
    order = np.argsort(given, kind="stable")
    raised = np.maximum.accumulate(given[order] * np.arange(len(given), 0, -1))
    adjusted = np.empty(len(given))
    adjusted[order] = np.minimum(raised, 1.0)
    return adjusted


def _as_numbers(given: ArrayLike, what: str) -> Floats:
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ScoreError(f"{what} are not numbers. Give one number per pair.") from None
    if values.ndim != 1:
        raise ScoreError(f"{what} have shape {values.shape}. Give a list of numbers.")
    check_finite(values, what)
    return values


def check_finite(values: Floats, what: str) -> None:
    """Refuse numbers that are none, or too large to be told."""
    if not np.isfinite(values).all():
        raise ScoreError(f"{what} are NaN or infinite in {np.count_nonzero(~np.isfinite(values)):,} places.")
