"""What naming people promises: few false names, the people who are worse off, and no more than equal people explain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.sizes import sized

from likewise import Audit, Comparability, Roles, audit, name_people
from likewise.exceptions import LikewiseError

ROLES = Roles(sensitive="group", discrete=["cell"])
RULE = Comparability(max_discrete_changes=0)


def simulate(seed: int, share: float, uneven: bool = False, **options: Any) -> tuple[Audit, np.ndarray]:
    """People in cells whose scores vary by chance; in a share of the cells, group b is scored lower by 0.3.

    Where chance is uneven, it is four times as large in every fourth cell.
    """
    random = np.random.default_rng(seed)
    cells, group = random.integers(0, 20, 400), random.choice(["a", "b"], 400)
    is_lower = (group == "b") & (random.random(20) < share)[cells]
    chance = 0.03 * np.where(uneven & (cells % 4 == 0), 4, 1) * random.standard_normal(400)
    scores = 0.6 + 0.01 * cells + chance - 0.3 * is_lower
    frame = pd.DataFrame({"group": group, "cell": [f"cell {cell}" for cell in cells]})
    options = {"n_resamples": 0, "baseline": False} | options
    return audit(np.clip(scores, 0, 1), frame, roles=ROLES, rule=RULE, **options), is_lower


def test_those_who_are_worse_off_are_named_and_hardly_anybody_else() -> None:
    false, right, worse = 0, 0, 0
    for seed in range(sized(5, 40)):
        found, is_lower = simulate(seed, 0.25)
        named = [one.row for one in name_people(found)]
        false += int((~is_lower[named]).sum())
        right += int(is_lower[named].sum())
        worse += int(is_lower.sum())
    assert right > 0.7 * worse
    assert false <= 0.1 * (false + right)


def test_where_chance_differs_from_place_to_place_people_are_measured_by_that_around_them() -> None:
    false, right, worse = 0, 0, 0
    for seed in range(sized(4, 40)):
        found, is_lower = simulate(seed, 0.25, uneven=True)
        cells = found.question.frame["cell"].str.removeprefix("cell ").astype(int).to_numpy()
        is_lower &= cells % 4 != 0  # where they stand out
        named = np.array([one.row for one in name_people(found)], np.int64)
        right, worse = right + int(is_lower[named].sum()), worse + int(is_lower.sum())
        quiet = name_people(simulate(seed, 0.0, uneven=True)[0])
        false += len(quiet) > 0
    assert right > 0.7 * worse
    assert false <= sized(2, 8)


def test_where_nobody_is_worse_off_tables_with_any_name_are_few() -> None:
    """The rate bounds the probability of any name here: more than 5 of 10 tables at 0.1 has a probability of 1e-4."""
    assert sum(len(name_people(simulate(seed, 0.0)[0])) > 0 for seed in range(10)) <= 5


def test_a_p_value_is_how_often_equal_people_differ_as_much() -> None:
    random = np.random.default_rng(0)
    groups, cells = np.repeat(list("aabb"), 3), np.repeat(list("xyxy"), 3)
    frame = pd.DataFrame({"group": np.repeat(groups, 2), "cell": np.repeat(cells, 2)})
    scores = 0.5 + 0.01 * random.normal(size=24)
    scores[18:] -= 0.3  # group b in cell y
    found = audit(scores, frame, roles=ROLES, rule=RULE, n_resamples=0)
    named = name_people(found)
    group, cell = frame["group"].to_numpy(), frame["cell"].to_numpy()

    def around(person: int, without: int | None = None) -> float:
        equal = (group == group[person]) & (cell == cell[person])
        others = [one for one in np.flatnonzero(equal).tolist() if one not in (person, without)]
        return float(np.square(scores[person] - scores[others]).mean())

    n = named.summary.n_reference
    assert n == 12  # nobody is in two of these pairs
    for person in (0, 20):
        partners = np.flatnonzero((group != group[person]) & (cell == cell[person])).tolist()
        units = [np.sqrt((around(person) + around(one)) / 2) for one in partners]
        sizes = (scores[person] - scores[partners]) / units
        if person == 20:  # further below each than any two equal people are apart
            assert (sizes < -5).all()
            assert named.p_values[person] == pytest.approx(2 / (1 + 2 * n))
        else:
            assert named.p_values[person] > 0.2


def test_who_has_few_same_group_pairs_is_not_tested_and_nobody_named_by_what_chance_does_to_others() -> None:
    frame = pd.DataFrame({"group": ["a", "b"] * 10 + ["a"] * 4 + ["b"], "cell": ["x"] * 20 + ["y"] * 5})
    scores = np.r_[0.5 + 0.001 * np.random.default_rng(0).normal(size=20), [0.9] * 4, 0.1]
    named = name_people(audit(scores, frame, roles=ROLES, rule=RULE, n_resamples=0), false_discovery_rate=0.5)
    assert named.summary.n_tested == 20  # in cell y, those of group a have three each, and b none
    assert np.isnan(named.p_values[20:]).all()


def test_people_of_no_weight_are_partners_of_nobody() -> None:
    found, _ = simulate(5, 0.25)
    weights = np.where(np.arange(400) % 10, 1.0, 0.0)
    counting = np.flatnonzero(weights)
    frame, scores = found.question.frame, found.question.scores.values
    weighed = audit(scores, frame, roles=ROLES, rule=RULE, n_resamples=0, sample_weight=weights)
    without = audit(scores[counting], frame.iloc[counting], roles=ROLES, rule=RULE, n_resamples=0)
    one, other = name_people(weighed), name_people(without)
    assert one.p_values[counting] == pytest.approx(other.p_values, nan_ok=True, abs=0.02)  # other pairs are drawn
    assert np.isnan(one.p_values[weights == 0]).all()


def test_weights_leave_the_rate_of_false_names_as_it_is() -> None:
    false, right = 0, 0
    for seed in range(sized(4, 40)):
        weights = np.random.default_rng(seed).lognormal(0, 1.5, 400)
        found, is_lower = simulate(seed, 0.25, sample_weight=weights)
        named = [one.row for one in name_people(found)]
        false, right = false + int((~is_lower[named]).sum()), right + int(is_lower[named].sum())
    assert right > 100
    assert false <= 0.1 * (false + right)


def test_any_dependence_names_no_more_and_a_higher_rate_no_fewer() -> None:
    found, _ = simulate(3, 0.3)
    rows = {
        (rate, kind): {one.row for one in name_people(found, false_discovery_rate=rate, dependence=kind)}
        for rate in (0.05, 0.3)
        for kind in ("positive", "any")
    }
    assert rows[0.05, "any"] <= rows[0.05, "positive"] <= rows[0.3, "positive"]
    assert rows[0.3, "any"] <= rows[0.3, "positive"]
    assert rows[0.3, "positive"]


def test_where_low_scores_are_favourable_those_scored_higher_are_named() -> None:
    found, is_lower = simulate(1, 0.3)
    scores = 1 - found.question.scores.values
    turned = audit(scores, found.question.frame, roles=ROLES, rule=RULE, n_resamples=0, favourable="low")
    one, other = name_people(found), name_people(turned)
    assert [person.row for person in one] == [person.row for person in other]
    assert is_lower[one.people[0].row]
    assert one.people[0].mean_difference == pytest.approx(other.people[0].mean_difference)


def test_the_same_seed_names_the_same_people() -> None:
    found, _ = simulate(2, 0.3)
    one, other = name_people(found, random_state=5), name_people(found, random_state=5)
    assert one.people == other.people
    assert str(one) == str(other)
    assert str(one).count("\n") <= 12


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"false_discovery_rate": 0}, "between 0 and 1"),
        ({"false_discovery_rate": "5 %"}, "between 0 and 1"),
        ({"dependence": "none"}, "dependence"),
        ({"random_state": -1}, "random_state"),
    ],
)
def test_bad_arguments_are_refused(change: dict[str, Any], words: str) -> None:
    found, _ = simulate(0, 0.0)
    with pytest.raises(LikewiseError, match=words):
        name_people(found, **change)


def test_audits_that_cannot_show_who_is_lower_are_refused() -> None:
    found, _ = simulate(0, 0.2)
    frame, scores = found.question.frame, found.question.scores.values
    three = np.column_stack([scores / 2, scores / 2, 1 - scores])
    labels = np.arange(len(scores)) % 3
    with pytest.raises(LikewiseError, match="more than two labels"):
        name_people(audit(three, frame, labels, roles=ROLES, rule=RULE, n_resamples=0))
    banded = Comparability(max_discrete_changes=0, score_band=0.3)
    with pytest.raises(LikewiseError, match="score_band"):
        name_people(audit(scores, frame, roles=ROLES, rule=banded, n_resamples=0, baseline=False))
    with pytest.raises(LikewiseError, match="give what"):
        name_people(None)  # type: ignore[arg-type]
