"""Candidates of an Optuna study: the same seed, the same candidates; those of its log are not fitted again."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from likewise.datasets import PlantedDataset
from likewise.exceptions import MissingExtra, ParameterError
from likewise.frontier import WeightRange

Search = Callable[..., Any]  # a FrontierSearch, all of whose numbers are known here
pytestmark = pytest.mark.filterwarnings("ignore::likewise.exceptions.LikewiseWarning")
SPACE = {"gap": [0.0, 0.02, 0.05], "noise": WeightRange(0.001, 0.5)}
STUDY: dict[str, Any] = {"search": "optuna", "n_trials": 10, "n_resamples": 0}


def names_of(found: Any) -> list[str]:
    return [point.name for point in found.frontier_]


def test_a_study_finds_the_least_unfair_within_the_budget(search: Search, planted: PlantedDataset) -> None:
    pytest.importorskip("optuna")
    found = search(SPACE, **STUDY).fit(planted.train.X, planted.train.y)
    assert len(found.frontier_) == 11
    best = found.best_point_
    assert best.is_within_budget
    for point in found.frontier_[1:]:
        assert 0.001 <= point.params["noise"] <= 0.5
        assert not point.is_within_budget or point.unfairness.value >= best.unfairness.value


class Stop:
    """Interrupt a search after some models."""

    def __init__(self, after: int) -> None:
        self.after = after

    def __call__(self, point: Any) -> None:
        self.after -= 1
        if not self.after:
            raise KeyboardInterrupt


def test_another_seed_gives_other_candidates(search: Search, planted: PlantedDataset) -> None:
    pytest.importorskip("optuna")
    two = [search(SPACE, **STUDY | {"n_trials": 2}, random_state=seed) for seed in (0, 1)]
    one, other = (names_of(found.fit(planted.train.X, planted.train.y)) for found in two)
    assert one != other


def test_a_distribution_of_optuna_is_taken_as_it_is(search: Search, planted: PlantedDataset) -> None:
    optuna = pytest.importorskip("optuna")
    space = {"gap": optuna.distributions.FloatDistribution(0.0, 0.04, step=0.02)}
    found = search(space, **STUDY | {"n_trials": 3}).fit(planted.train.X, planted.train.y)
    assert {point.params["gap"] for point in found.frontier_[1:]} <= {0.0, 0.02, 0.04}


def test_without_optuna_one_line_says_what_to_install(
    search: Search, planted: PlantedDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingExtra, match=r'search="optuna" needs the package optuna.*pip install.*\[optuna\]'):
        search(SPACE, **STUDY).fit(planted.train.X, planted.train.y)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"search": "random"}, "search is 'random'; choose one of 'grid', 'optuna'"),
        ({"n_trials": 5}, 'n_trials is for search="optuna"'),
        ({**STUDY, "n_trials": 0}, "n_trials is 0"),
        ({**STUDY, "grid": [SPACE]}, 'grid must be a dict for search="optuna"'),
        ({**STUDY, "grid": {"gaps": [0.1]}}, "grid names 'gaps'.*Did you mean 'gap'"),
    ],
)
def test_odd_arguments_get_one_line(search: Search, planted: PlantedDataset, options: Any, words: str) -> None:
    grid = options.pop("grid", {"gap": [0.0]})
    with pytest.raises(ParameterError, match=words) as refused:
        search(grid, **options).fit(planted.train.X, planted.train.y)
    assert "\n" not in str(refused.value)
