"""Weights: a person of weight k is k equal people, also in pairs, whatever is asked."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from likewise.auditing.question._weights import Weights

N = 12
times = arrays(np.int64, N, elements=st.integers(0, 4)).filter(np.any)
amounts = arrays(np.float64, N, elements=st.integers(-9, 9).map(lambda one: one / 4))


@given(times=times, values=amounts, share=st.sampled_from([0.1, 0.25, 0.5, 0.75, 0.9]))
def test_whole_numbers_count_as_copies(times: NDArray[np.int64], values: NDArray[np.float64], share: float) -> None:
    groups, some = np.arange(N) % 3, np.arange(0, N, 2)
    weights, copies = Weights.of(times.astype(np.float64), N), Weights.of(None, int(times.sum()))
    assert weights.total == copies.total == len(copies)
    assert weights.mean(values) == pytest.approx(copies.mean(np.repeat(values, times)))
    assert weights.counts(groups, 4).tolist() == copies.counts(np.repeat(groups, times), 4).tolist()
    assert weights.times(values).sum() == pytest.approx(np.repeat(values, times).sum())
    assert weights.quantile(values, share) == np.quantile(np.repeat(values, times), share, method="inverted_cdf")
    assert weights.take(some).values.tolist() == times[some].tolist()
    assert weights.of_pairs(some, some[::-1]).values.tolist() == (times[some] * times[some[::-1]]).tolist()


@given(values=amounts, weight=st.sampled_from([0.5, 1.0, 3.0]))
def test_equal_weights_are_none(values: NDArray[np.float64], weight: float) -> None:
    groups, equal, none = np.arange(N) % 3, Weights.of(np.full(N, weight), N), Weights.of(None, N)
    assert equal.effective == pytest.approx(none.effective)
    assert equal.mean(values) == pytest.approx(none.mean(values))
    assert equal.mean(values > 0) == pytest.approx(none.mean(values > 0))
    assert equal.counts(groups, 4) == pytest.approx(weight * none.counts(groups, 4))
    assert none.values.tolist() == [1.0] * N
    some = np.array([True, False] * (N // 2))
    assert len(equal.take(some)) == len(none.take(some)) == N // 2


@given(times=times)
def test_a_mean_is_as_uncertain_as_of_so_many_equal_people(times: NDArray[np.int64]) -> None:
    weights = Weights.of(times.astype(np.float64), N)
    variance = float(np.square(times / times.sum()).sum())  # of the mean of people who vary by 1
    assert weights.effective == pytest.approx(1 / variance)
    assert weights.effective <= np.count_nonzero(times) + 1e-9
