"""Gaps split over columns in the explorer: those of ``attribute_gaps``, of a draw where there are many pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.explore.conftest import ROLES, RULE, make_people, score_people

from likewise import Comparability, Roles, attribute_gaps, audit
from likewise.exceptions import RuleError, ScoreError
from likewise.explore import Explorer, _people

PEOPLE = make_people()
ASKED = {"changes": 1, "shift": 0.1}


def test_parts_are_those_of_attribute_gaps(explorer: Explorer) -> None:
    found = audit(score_people, PEOPLE, roles=ROLES, rule=explorer.rule(1, 0.1), n_resamples=0)
    known = attribute_gaps(found, score_people)
    split = explorer.split(ASKED)
    assert (split["n_pairs"], split["n_split"]) == (len(found.pairs), len(found.pairs))
    assert split["mean_gap"] == split["mean_gap_of_all"] == pytest.approx(found["gap_mean"].value)
    expected = {one.column: one.mean_part for one in known.summary.columns}
    assert {one["column"]: one["mean_part"] for one in split["columns"]} == pytest.approx(expected, abs=1e-12)
    for case, parts in zip(found.worst[:5], known.summary.worst, strict=False):
        shown = explorer.parts(*sorted((case.left_row, case.right_row)))
        assert sum(one["part"] for one in shown["parts"]) == pytest.approx(case.gap, abs=1e-9)
        values = {one["column"]: one["part"] for one in shown["parts"]}
        assert values == pytest.approx({one.column: one.value for one in parts}, abs=1e-12)
        assert shown["n_orders"] is None


def test_of_many_pairs_some_are_drawn_the_same_each_time(explorer: Explorer, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = explorer.split(ASKED)
    monkeypatch.setattr(_people, "MOST_PAIRS", 60)
    drawn = explorer.split(ASKED)
    assert (drawn["n_split"], drawn["n_pairs"]) == (60, whole["n_pairs"])
    assert drawn["mean_gap_of_all"] == whole["mean_gap"] != drawn["mean_gap"]
    assert sum(one["mean_part"] for one in drawn["columns"]) == pytest.approx(drawn["mean_gap"], abs=1e-9)
    assert explorer.split(ASKED) == drawn
    monkeypatch.setattr(_people, "MOST_MIXTURES", 100)
    assert 1 <= explorer.split(ASKED)["n_split"] <= 100 / 4


def test_parts_that_cancel_out_are_shown_where_there_is_no_gap() -> None:
    people = pa.table({"sex": ["f", "m"], "job": ["cook", "smith"]})

    def score(frame: Any) -> Any:
        jobs, sexes = (np.array(frame.column(name).to_pylist()) for name in ("job", "sex"))
        return 0.5 + 0.2 * (jobs == "cook") - 0.2 * (sexes == "f")

    roles = Roles(sensitive="sex", discrete="job")
    found = Explorer(score, people, roles=roles, rule=Comparability(max_discrete_changes=1)).parts(0, 1)
    assert found["gap"] == 0
    assert {one["column"]: one["part"] for one in found["parts"]} == pytest.approx({"sex": 0.2, "job": -0.2})


def test_a_selection_is_split_by_its_filters(explorer: Explorer) -> None:
    asked = {**ASKED, "label": 0, "least_gap": 0.1}
    answer, split = explorer.look(asked), explorer.split(asked)
    assert split["n_pairs"] == answer["selection"]["n"]
    assert split["mean_gap"] == pytest.approx(answer["selection"]["gap_mean"])
    with pytest.raises(ScoreError, match="No pair is selected"):
        explorer.split({**ASKED, "least_gap": 5})


def test_without_the_model_of_these_scores_there_are_no_parts() -> None:
    scores = score_people(PEOPLE)[:, 1]
    with pytest.raises(ScoreError, match="only scores were given"):
        Explorer(scores, PEOPLE, roles=ROLES, rule=RULE).split(ASKED)

    def other(frame: Any) -> Any:
        return np.sqrt(score_people(frame)[:, 1])

    changed = Explorer(scores, PEOPLE, roles=ROLES, rule=RULE, model=other)
    left, right = (changed.look(ASKED)["pairs"][0][side] for side in ("left_row", "right_row"))
    with pytest.raises(ScoreError, match="Give the model that was audited"):
        changed.parts(left, right)
    with pytest.raises(RuleError, match="are no pair"):
        changed.parts(left, left)
