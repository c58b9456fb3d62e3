"""Intervals that allow for the choice: wider for more candidates, and not for candidates that err alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from likewise import load_dataset
from likewise.frontier._points import stretch_by

Search = Callable[..., Any]  # a FrontierSearch, all of whose numbers are known here


def factor(errors: Any, n: int = 1) -> float:
    return stretch_by(errors, n, 0.95, np.random.default_rng(0))


def test_independent_candidates_cost_what_sidak_says() -> None:
    errors = np.random.default_rng(1).normal(size=(200_000, 8))
    sidak = norm.ppf((1 + 0.95 ** (1 / 8)) / 2) / norm.ppf(0.975)
    assert factor(None, 8) == pytest.approx(sidak)
    assert factor(errors) == pytest.approx(sidak, rel=0.015)


def test_candidates_that_err_alike_cost_nothing() -> None:
    one = np.random.default_rng(1).normal(size=(500, 1))
    assert factor(np.repeat(one, 8, axis=1) * np.arange(1, 9)) == pytest.approx(1.0, abs=0.02)
    assert factor(one) == 1.0
    assert factor(np.zeros((500, 3))) == 1.0


def test_the_largest_of_correlated_numbers_is_in_between() -> None:
    random = np.random.default_rng(1)
    errors = random.normal(size=(100_000, 8)) + 2 * random.normal(size=(100_000, 1))
    assert 1.05 < factor(errors) < 0.97 * factor(None, 8)


@pytest.mark.filterwarnings("ignore::likewise.exceptions.LikewiseWarning")
def test_a_search_says_what_its_choice_costs(search: Search) -> None:
    planted = load_dataset("planted", n_rows=5_000)
    grid = {"gap": [0.0, 0.02], "noise": [0.0, 0.02]}
    found = search(grid, max_loss=0.5).fit(planted.train.X, planted.train.y)
    best, selection = found.best_point_, found.selection_
    assert selection.n_candidates == 4
    for name in ("gain", "unfairness", "loss"):
        before, after = getattr(best, name), getattr(selection, name)
        assert after.value == before.value
        stretched = selection.stretched[name]
        assert 1.0 <= stretched <= factor(None, 5) * 1.02
        assert after.high - after.value == pytest.approx(stretched * (before.high - before.value))
        assert after.low == pytest.approx(max(before.value - stretched * (before.value - before.low), -1.0))
    assert "Intervals that allow for the choice among 4 candidates" in found.summary()
    again = search(grid, max_loss=0.5).fit(planted.train.X, planted.train.y)
    assert again.selection_ == selection


@pytest.mark.filterwarnings("ignore::likewise.exceptions.LikewiseWarning")
def test_quantiles_fall_back_to_the_bound_for_independent_ones(search: Search) -> None:
    planted = load_dataset("planted", n_rows=5_000)
    found = search({"gap": [0.0, 0.02]}, unfairness="gap_q95").fit(planted.train.X, planted.train.y)
    assert found.selection_.stretched["gain"] == pytest.approx(factor(None, 2))


@pytest.mark.filterwarnings("ignore::likewise.exceptions.LikewiseWarning")
def test_a_single_candidate_costs_nothing(search: Search) -> None:
    planted = load_dataset("planted", n_rows=5_000)
    found = search({"gap": [0.02]}).fit(planted.train.X, planted.train.y)
    assert found.selection_.gain == found.best_point_.gain
