"""The calibration error compares scores with what came true, over bins that never part equal scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sizes import sized

from likewise.auditing._internal import Weights
from likewise.auditing.people._calibration import Calibration

rows = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 10).map(lambda tenth: tenth / 10)), min_size=1, max_size=40)


def calibration_error(y: Any, scores: Any, n_bins: int = 10) -> float:
    return Calibration.of(np.asarray(y), np.asarray(scores, np.float64), Weights.of(None, len(y)), n_bins=n_bins).error


def in_plain_words(y: Any, scores: Any, n_bins: int) -> float:
    """Bin each score at the middle of the places it takes up; compare means, weighted by people."""
    error = 0.0
    bin_of = {}
    for score in set(scores):
        middle = sum(other < score for other in scores) + scores.count(score) / 2
        bin_of[score] = int(n_bins * middle / len(scores))
    for one in set(bin_of.values()):
        members = [place for place, score in enumerate(scores) if bin_of[score] == one]
        gap = np.mean([scores[place] for place in members]) - np.mean([y[place] for place in members])
        error += abs(gap) * len(members) / len(scores)
    return error


@settings(max_examples=sized(20, 80))
@given(rows, st.integers(1, 12))
def test_it_is_what_its_definition_says(people: list[tuple[int, float]], n_bins: int) -> None:
    y, scores = map(list, zip(*people, strict=True))
    assert calibration_error(y, scores, n_bins=n_bins) == pytest.approx(in_plain_words(y, scores, n_bins))


def test_scores_that_come_true_have_no_error() -> None:
    assert calibration_error([0, 1, 0, 0, 0, 1, 1, 1], [0.25, 0.25, 0.25, 0.25, 0.75, 0.75, 0.75, 0.75]) == 0.0
    assert calibration_error([0, 1], [0.0, 1.0]) == 0.0
    assert calibration_error([0, 1], [1.0, 0.0]) == 1.0


def test_of_several_labels_the_likeliest_counts() -> None:
    scores = np.array([[0.75, 0.25, 0.0], [0.0, 0.75, 0.25], [0.75, 0.0, 0.25], [0.0, 0.25, 0.75]])
    assert calibration_error([0, 1, 0, 0], scores) == 0.0
    assert calibration_error([0, 1, 1, 0], scores) == pytest.approx(0.25)
