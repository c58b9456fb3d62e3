"""Bins have round edges, and every value is in exactly one of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sizes import sized

from likewise.auditing.pairs._quantiles import count_by_group, count_in_bins, round_edges

largest_values = st.floats(1e-8, 1e9)


@settings(max_examples=sized(25, 100))
@given(largest_values)
def test_edges_are_round_and_reach_the_largest_value(largest: float) -> None:
    edges = round_edges(largest)
    n_bins = len(edges) - 1
    assert 20 < n_bins <= 50
    assert edges[0] == 0
    assert edges[-2] < largest <= edges[-1] * (1 + 1e-9)
    step = edges[1]
    mantissa = float(f"{step:.15e}".split("e")[0])
    assert mantissa in (1, 2, 5)
    assert edges == pytest.approx(step * np.arange(n_bins + 1), rel=1e-12)
    assert all(len(f"{edge:g}") >= len(repr(float(edge)).removesuffix(".0")) for edge in edges if 1e-4 < edge < 1e5)


@settings(max_examples=sized(15, 60))
@given(st.lists(st.floats(0, 1), min_size=1, max_size=60))
def test_every_value_is_counted_once_where_numpy_counts_it(values: list[float]) -> None:
    gaps = np.array(values)
    edges = round_edges(gaps.max())
    counts = count_in_bins(gaps, edges)
    assert counts.sum() == len(gaps)
    step = edges[1]
    # numpy knows no tolerance: values at an edge, but for rounding, are moved onto it
    nearest = np.round(gaps / step)
    settled = np.where(np.abs(gaps / step - nearest) <= 1e-8, edges[nearest.astype(int)], gaps)
    assert counts.tolist() == np.histogram(settled, edges)[0].tolist()


def test_a_value_on_an_edge_is_in_the_bin_that_begins_there_also_if_rounding_moved_it() -> None:
    edges = np.array([0.0, 0.1, 0.2, 0.3])
    assert 0.9 - 0.8 < 0.1 < 0.8 - 0.7
    assert count_in_bins(np.array([0.1, 0.9 - 0.8, 0.8 - 0.7]), edges).tolist() == [0, 3, 0]
    assert count_in_bins(np.array([0.0, 0.3, 0.1 + 0.2]), edges).tolist() == [1, 0, 2]


def test_where_nobody_differs_the_bins_are_those_of_all_gaps_there_can_be() -> None:
    for largest in (0.0, 1e-17, np.nan, np.inf):
        assert round_edges(largest).tolist() == round_edges(1.0).tolist()
    assert count_in_bins(np.zeros(7), round_edges(0.0))[0] == 7


def test_groups_are_counted_apart() -> None:
    edges = np.array([0.0, 0.5, 1.0])
    counts = count_by_group(np.array([0.1, 0.9, 0.9]), np.array([2, 0, 2], np.int32), 3, edges)
    assert counts.tolist() == [[0, 1], [0, 0], [1, 1]]
    assert count_by_group(np.empty(0), np.empty(0, np.int32), 3, edges).tolist() == [[0, 0]] * 3
