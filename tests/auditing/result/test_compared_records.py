"""A series of two records says what changed, as far as records can tell, and what they do not have in common."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from likewise import Audit, Comparability, audit, compare_audits
from likewise.auditing import Change, Comparison, Measure, compare_series
from likewise.datasets import PlantedDataset
from likewise.exceptions import ScoreError


@pytest.fixture(scope="module")
def squeezed(planted: PlantedDataset, how: dict[str, Any]) -> Audit:
    return audit(0.4 + 0.2 * planted.scores(planted.test.X), **how)


def test_a_comparison_is_plain_data(found: Audit, squeezed: Audit) -> None:
    comparison = compare_audits(found, squeezed)
    told = json.loads(json.dumps(comparison.to_dict(), allow_nan=False))
    assert set(told) == {"changes", "notes"}
    assert told["notes"] == [note.text for note in comparison.notes]
    assert list(told["changes"]) == list(comparison.changes)
    for name, change in comparison.changes.items():
        for side in ("before", "after", "difference"):
            one = getattr(change, side)
            assert told["changes"][name][side] == {"value": one.value, "low": one.low, "high": one.high, "n": one.n}


def test_infinite_numbers_are_told_in_words() -> None:
    loss = Change(Measure(float("inf")), Measure(1.0), Measure(float("-inf")))
    assert Comparison({"log_loss": loss}, ()).to_dict()["changes"]["log_loss"]["difference"]["value"] == "-inf"


def test_records_tell_the_same_as_audits_but_for_intervals(found: Audit, squeezed: Audit) -> None:
    of_audits = compare_audits(found, squeezed)
    # as read from files
    before, after = (json.loads(json.dumps(one.to_dict(), allow_nan=False)) for one in (found, squeezed))
    told = compare_series([before, after])
    assert told.notes == of_audits.notes
    assert "squeezed together" in str(told.notes[0])
    for name, other in of_audits.changes.items():
        change = told.changes[name]
        assert (change.before, change.after) == (other.before, other.after)
        expected = other.difference.value
        assert change.difference.value == (None if expected is None else pytest.approx(expected, abs=1e-12))
    assert compare_series([found.record, squeezed.record]) == told


def notes_of(*audits: Audit) -> list[str]:
    return [str(note) for note in compare_series([one.record for one in audits]).notes]


def test_other_people_and_other_rules_are_noted(planted: PlantedDataset, how: dict[str, Any], found: Audit) -> None:
    some = {**how, "X": planted.test.X[:300], "y": planted.test.y[:300], "n_resamples": 0}
    assert notes_of(found, audit(planted.scores, **some))[0].startswith("The two audits are of different people")
    wider = audit(planted.scores, **{**how, "rule": Comparability(max_discrete_changes=2), "n_resamples": 0})
    with pytest.raises(ScoreError, match="differ in their rule: they are about different pairs"):
        notes_of(found, wider)


@pytest.mark.long(3)
@pytest.mark.parametrize(
    ("what", "options"),
    [("gap limit", {"gap_limit": 0.3}), ("threshold", {"threshold": 0.4})],
)
def test_whatever_else_they_do_not_share_is_noted(
    what: str, options: dict[str, Any], planted: PlantedDataset, how: dict[str, Any], found: Audit
) -> None:
    notes = notes_of(found, audit(planted.scores, **how, **options))
    assert f"The two audits differ in their {what}" in [note.split(":")[0] for note in notes]


def test_audits_of_different_tasks_are_not_compared(planted: PlantedDataset, how: dict[str, Any], found: Audit) -> None:
    income = planted.test.X["income"].to_numpy(float)
    amounts = audit(income, **{**how, "y": income, "task": "regression"})
    with pytest.raises(ScoreError, match="differ in their task"):
        compare_series([found.record, amounts.record])


def test_an_infinite_loss_has_a_difference(found: Audit) -> None:
    before, after = found.to_dict(), found.to_dict()
    before["measures"]["log_loss"] |= {"value": "inf", "low": None, "high": None}
    assert compare_series([before, after]).changes["log_loss"].difference.value == -np.inf


@pytest.mark.parametrize("broken", [None, [], {}, {"format": "other"}, {"format": "likewise audit 2"}])
def test_what_is_no_record_is_refused(found: Audit, broken: Any) -> None:
    with pytest.raises(ScoreError, match="record 2 is not that of an audit"):
        compare_series([found.to_dict(), broken])


def test_changed_records_are_refused_or_compared_as_far_as_they_go(found: Audit) -> None:
    before, after = found.to_dict(), found.to_dict()
    before["measures"]["score_spread"]["value"] = 0
    del after["measures"]["rank_gap_mean"]
    told = compare_series([before, after])
    assert "rank_gap_mean" not in told.changes
    assert np.isfinite(told.changes["flip_rate"].difference.value or 0.0)
    before["measures"]["gap_mean"] = {"value": "much", "n": "many"}
    with pytest.raises(ScoreError, match=r"record 1 .* measures\.gap_mean\.value is 'much'"):
        compare_series([before, after])
