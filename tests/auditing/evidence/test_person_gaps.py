"""The list of people names those with the largest gap, and whom each is furthest from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sizes import sized

from likewise import Audit, Roles, audit
from likewise.auditing import person_gaps
from likewise.datasets import PlantedDataset


@settings(max_examples=sized(3, 10))
@given(st.integers(0, 2**32 - 1))
def test_the_list_agrees_with_the_worst_gap_of_each_person(
    planted: PlantedDataset, how: dict[str, Any], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    scores = np.round(rng.random(len(planted.test)), int(rng.integers(1, 6)))
    found = audit(scores, **{**how, "n_resamples": 0})
    gaps = person_gaps(found.pairs, found.gaps, len(scores))
    told = found.to_dict()["person_gaps"]
    known = gaps[~np.isnan(gaps)]
    assert told["n_people"] == sum(told["counts"]) == len(known)
    assert told["mean"] == pytest.approx(known.mean())
    assert (told["median"], told["q95"]) == pytest.approx(tuple(np.quantile(known, [0.5, 0.95])))
    assert len(told["worst"]) == min(50, len(known))
    assert [one["worst_gap"] for one in told["worst"]] == pytest.approx(np.sort(known)[::-1][:50])
    for one in told["worst"]:
        check_person(one, found, gaps)


def check_person(told: dict[str, Any], found: Audit, gaps: Any) -> None:
    """Hold one line of the list against all pairs of this person."""
    row, left, right = told["row"], found.pairs.left, found.pairs.right
    theirs = (left == row) | (right == row)
    partners = np.where(left == row, right, left)[theirs]
    furthest = partners[np.isclose(found.gaps[theirs], gaps[row], rtol=0, atol=1e-12)]
    assert told["worst_gap"] == gaps[row]
    assert told["n_partners"] == theirs.sum()
    assert told["comparator_row"] == furthest.min()  # the earliest of several
    assert (told["score"], told["comparator_score"]) == tuple(
        found.question.scores.values[[row, told["comparator_row"]]]
    )
    assert told["label"] == found.question.table.labels[row]


def test_people_have_the_names_that_the_table_gives_them() -> None:
    people = pd.DataFrame({"name": ["Ann", "Bo", "Cy", "<b>"], "sex": ["f", "m", "m", "m"], "y": [0] * 4})
    roles = Roles(sensitive="sex", row_id="name", label="y")
    found = audit([0.5, 0.25, 1.0, 0.5], people, roles=roles, n_resamples=0).to_dict()["person_gaps"]
    listed = [
        (one["row"], one["id"], one["comparator_id"], one["worst_gap"], one["n_partners"]) for one in found["worst"]
    ]
    assert listed == [
        (0, "Ann", "Cy", 0.5, 3),
        (2, "Cy", "Ann", 0.5, 1),
        (1, "Bo", "Ann", 0.25, 1),
        (3, "<b>", "Ann", 0, 1),
    ]
    assert found["n_people"] == 4


def test_of_equal_gaps_earlier_rows_come_first_also_if_rounding_tells_them_apart(found: Audit) -> None:
    worst = found.to_dict()["person_gaps"]["worst"]
    rows = [one["row"] for one in worst]
    assert rows == sorted(rows)  # the planted gap is one and the same for all of them
    assert len({one["worst_gap"] for one in worst}) > 1


def test_people_without_a_partner_are_not_in_it(found: Audit) -> None:
    told = found.to_dict()["person_gaps"]
    assert told["n_people"] == np.isfinite(found.person_gaps).sum() < len(found.question.table)
