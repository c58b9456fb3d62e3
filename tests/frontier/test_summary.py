"""What a search says of the model it chose: warnings, and the summary."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from likewise import load_dataset
from likewise.datasets import PlantedDataset
from likewise.exceptions import GainUncertain

Search = Callable[..., Any]  # a FrontierSearch, all of whose numbers are known here
GRID = {"gap": [0.0, 0.05], "noise": [0.0, 0.4]}
SQUEEZING = {"logisticregression__C": [3e-3]}


@pytest.fixture(scope="module")
def planted() -> PlantedDataset:
    return load_dataset("planted", n_rows=4_000)  # so many that gains are no chance


def test_squeezed_scores_are_called_so(search: Search, planted: PlantedDataset, regression: Any) -> None:
    found = search(SQUEEZING, max_loss=0.2).set_params(estimator=regression, base=regression)
    found.fit(planted.train.X, planted.train.y)
    assert "squeezed together" in found.best_point_.notes[0]
    assert found.best_point_.notes[0] in found.summary()
    assert not search({"gap": [0.0]}).fit(planted.train.X, planted.train.y).best_point_.notes


def test_a_gain_that_may_be_none_is_warned_of(search: Search, planted: PlantedDataset) -> None:
    few = load_dataset("planted", n_rows=800).train
    words = r"gap=0\.065, noise=0\.03 reduces the mean gap by .*, which may be due to chance"
    with pytest.warns(GainUncertain, match=words) as said:
        found = search({"gap": [0.065], "noise": [0.03]}).fit(few.X, few.y)
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
    table, measured, chosen = found.summary().split("\n\n")
    lines = table.splitlines()
    assert len(lines) == 2 + len(found.frontier_)
    assert [line for line in lines if "chosen" in line] == [lines[3]]
    assert len({len(line) for line in lines}) == 1
    assert "average precision" in lines[0]
    assert "mean gap" in lines[0]
    best = found.best_point_
    assert f"{best.loss.value:.3f} ({best.loss.low:.3f} to {best.loss.high:.3f})" in lines[3]
    n_pairs = best.audit["gap_mean"].n
    rows = f"{len(planted.train):,} rows that were scored out of fold, {n_pairs:,} comparable pairs"
    assert measured == f"Measured on {rows}. Loss: against the base."
    assert chosen.startswith("Chosen: the least of mean gap among the models that lose at most 0.05 of average")
