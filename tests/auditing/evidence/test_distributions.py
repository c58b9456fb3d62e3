"""The record keeps how gaps and scores are spread out: every pair and every person is counted, and once."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sizes import sized

from likewise import Audit, Comparability, Roles, audit
from likewise.datasets import PlantedDataset
from likewise.exceptions import ScoresCollapsed

seeds = st.integers(0, 2**32 - 1)


def random_audit(planted: PlantedDataset, how: dict[str, Any], seed: int, **options: Any) -> Audit:
    """Score people by chance, with scores that repeat."""
    rng = np.random.default_rng(seed)
    scores = np.round(rng.random(len(planted.test)), int(rng.integers(1, 6)))
    return audit(scores, **{**how, "n_resamples": 0, **options})


def at_edges(values: Any, edges: list[float]) -> Any:
    """Move values that are an edge, but for rounding, onto it: numpy knows no tolerance."""
    nearest = np.asarray(edges)[np.abs(np.subtract.outer(values, edges)).argmin(axis=1)] if len(values) else values
    return np.where(np.isclose(values, nearest, rtol=0, atol=1e-10), nearest, values)


@settings(max_examples=sized(5, 12))
@given(seeds)
def test_every_pair_is_counted_where_numpy_counts_it(planted: PlantedDataset, how: dict[str, Any], seed: int) -> None:
    found = random_audit(planted, how, seed)
    record = found.to_dict()
    spread = record["distributions"]
    everybody, *by_label = spread["slices"]
    assert everybody["of"] == "all"
    assert everybody["n"] == sum(everybody["counts"]) == len(found.pairs) == record["pairs"]["n"]
    assert everybody["n_within"] == sum(everybody["within_counts"]) == record["pairs"]["n_within"]
    assert everybody["counts"] == np.histogram(at_edges(found.gaps, spread["edges"]), spread["edges"])[0].tolist()
    assert [(one["of"], one["label"], one["is_positive"]) for one in by_label] == [
        ("label", 0, False),
        ("label", 1, True),
    ]
    for one in by_label:
        gaps = found.gaps[found.pairs.label == one["label"]]
        assert one["n"] == sum(one["counts"]) == len(gaps)
        assert one["n"] == found["gap_mean", one["label"]].n
        assert one["n_within"] == sum(one["within_counts"]) == found["same_group_gap_mean", one["label"]].n
        assert one["counts"] == np.histogram(at_edges(gaps, spread["edges"]), spread["edges"])[0].tolist()
    for name in ("counts", "within_counts"):
        assert np.sum([one[name] for one in by_label], axis=0).tolist() == everybody[name]


@settings(max_examples=sized(4, 8))
@given(seeds)
def test_bins_of_scores_have_everybody_and_agree_with_the_calibration_error(
    planted: PlantedDataset, how: dict[str, Any], seed: int
) -> None:
    found = random_audit(planted, how, seed)
    bins = found.to_dict()["calibration"]
    y, scores = planted.test.y.to_numpy(), found.question.scores.values
    assert sum(one["n"] for one in bins) == len(y)
    error = sum(one["n"] * abs(one["mean_score"] - one["observed"]) for one in bins) / len(y)
    assert error == pytest.approx(found["calibration_error"].value)
    assert all(one["low"] <= one["mean_score"] + 1e-12 and one["mean_score"] <= one["high"] + 1e-12 for one in bins)
    assert all(one["high"] < other["low"] for one, other in pairwise(bins))  # nobody is in two
    for one in bins:
        members = (scores >= one["low"]) & (scores <= one["high"])
        assert (members.sum(), y[members].mean()) == (one["n"], pytest.approx(one["observed"]))


def test_scores_are_counted_by_label(planted: PlantedDataset, found: Audit) -> None:
    spread = found.to_dict()["score_distribution"]
    assert (spread["edges"][0], spread["edges"][-1]) == (0, 1)
    for one in spread["slices"]:
        scores = found.question.scores.values[planted.test.y.to_numpy() == one["label"]]
        assert one["counts"] == np.histogram(at_edges(scores, spread["edges"]), spread["edges"])[0].tolist()
    assert sum(sum(one["counts"]) for one in spread["slices"]) == len(planted.test)


@pytest.mark.parametrize("positive", [0, 1])
def test_what_came_true_is_the_positive_label(planted: PlantedDataset, how: dict[str, Any], positive: int) -> None:
    record = audit(planted.scores, **how, positive=positive).to_dict()
    assert [one["is_positive"] for one in record["distributions"]["slices"][1:]] == [positive == 0, positive == 1]
    n_true = sum(one["n"] * one["observed"] for one in record["calibration"])
    assert n_true == pytest.approx(np.count_nonzero(planted.test.y == positive))


def test_edges_are_shared_with_a_baseline_that_reaches_further() -> None:
    people = pd.DataFrame({"sex": ["f", "f", "m"], "y": [1, 1, 1]})
    found = audit([0.1, 0.9, 0.5], people, roles=Roles(sensitive="sex", label="y"), n_resamples=0).to_dict()
    spread, of_people = found["distributions"], found["person_gaps"]
    assert spread["edges"][-1] == pytest.approx(0.8)
    assert (spread["slices"][0]["n"], spread["slices"][0]["n_within"]) == (2, 1)
    assert spread["slices"][0]["within_counts"][-1] == 1
    assert of_people["edges"][-1] == pytest.approx(0.4)


@pytest.mark.parametrize("options", [{"baseline": False}, {"rule": Comparability(sensitive_differs="none")}])
def test_without_a_baseline_there_is_none_to_draw(
    planted: PlantedDataset, how: dict[str, Any], options: dict[str, Any]
) -> None:
    slices = random_audit(planted, how, 0, **options).to_dict()["distributions"]["slices"]
    assert all(one["n_within"] is None and one["within_counts"] is None for one in slices)


def test_a_label_without_pairs_is_counted_as_such() -> None:
    people = pd.DataFrame({"sex": ["f", "m", "m"], "y": ["a", "a", "b"]})
    found = audit([0.2, 0.4, 0.9], people, roles=Roles(sensitive="sex", label="y"), n_resamples=0).to_dict()
    last = found["distributions"]["slices"][-1]
    assert (last["label"], last["n"], sum(last["counts"]), last["n_within"]) == ("b", 0, 0, 0)


def test_several_labels_have_a_slice_each_and_no_calibration() -> None:
    rng = np.random.default_rng(1)
    people = pd.DataFrame({"sex": rng.choice(["f", "m"], 60), "y": rng.choice(["a", "b", "c"], 60)})
    scores = rng.dirichlet([1, 1, 1], 60)
    found = audit(scores, people, roles=Roles(sensitive="sex", label="y"), n_resamples=0)
    record = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    slices = record["distributions"]["slices"]
    assert [one.get("label") for one in slices] == [None, "a", "b", "c"]
    assert [one.get("is_positive") for one in slices] == [None] * 4
    assert sum(one["n"] for one in slices[1:]) == slices[0]["n"] == len(found.pairs)
    assert record["calibration"] == []
    assert record["score_distribution"] is None
    worst = record["person_gaps"]["worst"][0]
    assert worst["score"] == scores[worst["row"]].tolist()
    assert worst["label"] == people["y"][worst["row"]]


def test_predicted_amounts_are_one_slice_in_the_unit_of_gaps(planted: PlantedDataset, how: dict[str, Any]) -> None:
    income = planted.test.X["income"].to_numpy(float)
    amounts = {**how, "y": income, "task": "regression", "scores": income * (0.5 + planted.scores(planted.test.X))}
    found = audit(**amounts, scale=1000.0)
    record = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    (only,) = record["distributions"]["slices"]
    assert (only["of"], only["n"]) == ("all", len(found.pairs))
    assert record["distributions"]["edges"][-2] < max(found.gaps.max(), found["gap_max"].value or 0)
    assert record["calibration"] == []
    assert record["score_distribution"] is None
    worst = record["person_gaps"]["worst"][0]
    assert worst["label"] is None
    assert worst["worst_gap"] == pytest.approx(abs(worst["score"] - worst["comparator_score"]) / 1000)


def test_a_model_that_scores_all_alike_has_every_gap_in_the_first_bin(
    planted: PlantedDataset, how: dict[str, Any]
) -> None:
    with pytest.warns(ScoresCollapsed):
        record = audit(np.full(len(planted.test), 0.4), **how).to_dict()
    everybody = record["distributions"]["slices"][0]
    assert everybody["counts"][0] == everybody["n"]
    assert record["distributions"]["edges"][-1] == 1
    assert len(record["calibration"]) == 1
