"""Weighted people in the explorer: a moved threshold gives the numbers of a weighted audit with that rule."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow.csv
import pytest
from tests.explore.conftest import CONTROLLED, ROLES, RULES, controls, make_people, score_people

from likewise.auditing import Audit, audit
from likewise.exceptions import ParameterError
from likewise.explore import Explorer

PEOPLE = make_people()
WEIGHTS = np.random.default_rng(3).exponential(size=len(PEOPLE)) * (np.arange(len(PEOPLE)) % 9 > 0)
NAMES = ("gap_mean", "gap_median", "gap_q3", "gap_q95", "gap_max", "gap_share_above", "rank_gap_mean", "flip_rate")
SHARES = ("lower_share", "higher_share", "flips_down_share", "flips_up_share", "mean_gap")


@pytest.mark.long(2)
@pytest.mark.parametrize("name", ["one limit", "limits by name", CONTROLLED, "none differs"])
def test_weighted_numbers_are_those_of_a_weighted_audit(name: str) -> None:
    explorer = Explorer(score_people, PEOPLE, roles=ROLES, rule=RULES[name], **controls(name), sample_weight=WEIGHTS)
    end, has_baseline = explorer.reach.end, False
    for changes, shift in ((1, 0.05), (end.changes, end.shift)):
        answer = explorer.look({"changes": changes, "shift": shift})
        how: dict[str, Any] = {"roles": ROLES, "rule": explorer.rule(changes, shift), "n_resamples": 0} | controls(name)
        agrees(answer, audit(score_people, PEOPLE, sample_weight=WEIGHTS, n_worst=25, **how))
        has_baseline |= "same_group_gap_mean" in answer["slices"][0]
    assert has_baseline == (name != "none differs")


def agrees(answer: dict[str, Any], found: Audit) -> None:
    assert answer["n_pairs"] == len(found.pairs)
    assert answer["matched_share"] == pytest.approx(found["matched_share"].value)
    for label, one in zip((None, *found.record.labels), answer["slices"], strict=True):
        assert [one.get(of) for of in NAMES] == pytest.approx([found[of, label].value for of in NAMES])
        if "same_group_gap_mean" in one:
            assert one["same_group_gap_mean"] == pytest.approx(found["same_group_gap_mean", label].value)
    listed = {frozenset((one["left_row"], one["right_row"])): one["gap"] for one in answer["pairs"]}
    worst = {frozenset((one.left_row, one.right_row)): one.gap for one in found.worst}  # not too many of one person
    assert all(worst[both] == pytest.approx(gap) for both, gap in listed.items() if both in worst)
    assert max(listed.values()) == pytest.approx(max(worst.values()))
    for one, other in zip(answer["directions"], found.directions, strict=True):
        other = other if other.origin == tuple(one["origin"]) else other.reversed()  # turned by the adjusted gap
        assert (tuple(one["origin"]), tuple(one["target"])) == (other.origin, other.target)
        assert [one[of] for of in SHARES] == pytest.approx([getattr(other, of) for of in SHARES])
    assert sum(answer["counts"]) == pytest.approx(answer["n_pairs"])


def test_a_selection_is_weighted_and_saved_with_its_weights() -> None:
    explorer = Explorer(score_people, PEOPLE, roles=ROLES, rule=RULES["one limit"], sample_weight=WEIGHTS)
    asked = {"changes": 1, "shift": 0.1, "label": 1}
    answer = explorer.look(asked)
    table = pyarrow.csv.read_csv(io.BytesIO(explorer.to_csv(asked)))
    gaps, weights = (table.column(name).to_numpy() for name in ("gap", "weight"))
    assert answer["selection"]["gap_mean"] == pytest.approx(np.average(gaps, weights=weights))
    assert all(one <= other + 1e-9 for one, other in zip(answer["selection"]["counts"], answer["counts"], strict=True))
    split = explorer.split(asked)
    assert split["mean_gap"] == pytest.approx(answer["selection"]["gap_mean"])
    assert sum(one["mean_part"] for one in split["columns"]) == pytest.approx(split["mean_gap"], abs=1e-9)


def test_weights_may_be_a_column_and_bad_ones_are_refused() -> None:
    people = PEOPLE.append_column("weight", [WEIGHTS])
    explorer = Explorer(score_people, people, roles=ROLES, rule=RULES["one limit"], sample_weight="weight")
    other = Explorer(score_people, PEOPLE, roles=ROLES, rule=RULES["one limit"], sample_weight=WEIGHTS)
    asked = {"changes": 1, "shift": 0.1}
    assert explorer.look(asked)["slices"] == other.look(asked)["slices"]
    assert explorer.about()["weights"] == "column 'weight'"
    with pytest.raises(ParameterError, match="no such column"):
        Explorer(score_people, PEOPLE, roles=ROLES, sample_weight="wieght")
