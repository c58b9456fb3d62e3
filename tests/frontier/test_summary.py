"""What a search says of the model it chose: warnings, and the summary."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from likewise import load_dataset
from likewise.datasets import PlantedDataset
from likewise.exceptions import GainUncertain, ScoresSqueezed

Search = Callable[..., Any]  # a FrontierSearch, all of whose numbers are known here
GRID = {"gap": [0.0, 0.05], "noise": [0.0, 0.4]}
SQUEEZING = {"logisticregression__C": [3e-3]}


@pytest.fixture(scope="module")
def planted() -> PlantedDataset:
    return load_dataset("planted", n_rows=4_000)  # so many that gains are no chance


def squeezing(search: Search, regression: Any, **options: Any) -> Any:
    found = search(SQUEEZING, **{"max_loss": 0.2, **options})
    return found.set_params(estimator=regression, base=regression)


def test_squeezed_scores_are_called_so(search: Search, planted: PlantedDataset, regression: Any) -> None:
    words = r"C=0\.003 is the least unfair.*squeezed together.*utility=\"log_loss\".*unfairness=\"rank_gap_mean\""
    with pytest.warns(ScoresSqueezed, match=words) as said:
        found = squeezing(search, regression).fit(planted.train.X, planted.train.y)
    assert said[0].filename == __file__
    assert found.best_point_.is_squeezed
    assert found.results_[1]["is_squeezed"]
    assert "squeezed together" in found.best_point_.notes[0]
    assert found.best_point_.notes[0] in found.summary()
    base, best = (one.audit["log_loss"].value for one in (found.frontier_[0], found.best_point_))
    assert base < best  # the budget is on average precision, so the least unfair may have the worst log loss
    assert f"Log loss rises from {base:.3f} to {best:.3f}" in found.summary()


@pytest.mark.long(4)
@pytest.mark.filterwarnings("ignore::likewise.exceptions.NothingWithinBudget")
@pytest.mark.filterwarnings("ignore::likewise.exceptions.GainUncertain")
@pytest.mark.parametrize(
    "options",
    [{"utility": "log_loss"}, {"unfairness": "rank_gap_mean"}],
    ids=str,
)
def test_who_follows_the_advice_is_not_warned(
    search: Search, planted: PlantedDataset, regression: Any, options: Any
) -> None:
    squeezing(search, regression, **options).fit(planted.train.X, planted.train.y)


def test_scores_that_keep_their_spread_are_not_called_squeezed(search: Search, planted: PlantedDataset) -> None:
    assert not search({"gap": [0.0]}).fit(planted.train.X, planted.train.y).best_point_.is_squeezed


def test_a_gain_that_may_be_none_is_warned_of(search: Search, planted: PlantedDataset) -> None:
    few = load_dataset("planted", n_rows=800).train
    words = r"gap=0\.05 is less unfair than the base by .*, on 9 pairs: the gain may be due to chance.*more rows"
    with pytest.warns(GainUncertain, match=words) as said:
        found = search({"gap": [0.05]}).fit(few.X, few.y)
    gain = found.best_point_.gain
    assert gain.value > 0
    assert gain.low is None or gain.low <= 0
    assert len(said) == 1
    assert said[0].filename == __file__
    search({"gap": [0.05]}, n_resamples=0).fit(few.X, few.y)  # nobody asked for intervals
    assert search({"gap": [0.05]}).fit(planted.train.X, planted.train.y).best_point_.gain.low > 0


def test_results_are_json_and_the_summary_has_a_row_a_point(search: Search, planted: PlantedDataset) -> None:
    found = search(GRID).fit(planted.train.X, planted.train.y)
    assert json.loads(json.dumps(found.results_)) == found.results_
    assert [record["name"] for record in found.results_[:2]] == ["base", "gap=0, noise=0"]
    table, below, allowing = found.summary().split("\n\n")
    lines = table.splitlines()
    assert len(lines) == 2 + len(found.frontier_)
    assert [line for line in lines if "chosen" in line] == [lines[3]]
    assert len({len(line) for line in lines}) == 1
    assert "gain" in lines[0]
    gain = found.best_point_.gain
    assert f"{100 * gain.value:.2f} pp ({100 * gain.low:.2f} to {100 * gain.high:.2f})" in lines[3]
    n_pairs = found.best_point_.audit["gap_mean"].n
    measured, of_what = below.splitlines()
    assert measured == f"Measured on {len(found.held_out_):,} held-out rows, {n_pairs:,} comparable pairs."
    assert of_what.startswith("Unfairness: the average of mean gap, label 0 and mean gap, label 1.")
    assert "average precision" in lines[0]
    assert allowing.startswith("Intervals that allow for the choice among 4 candidates: gain ")
