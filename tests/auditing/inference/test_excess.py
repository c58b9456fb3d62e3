"""The excess by person: its definition, its interval, and that it is not drawn where nobody is treated differently."""

from __future__ import annotations

import warnings
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sizes import sized

from likewise import Comparability, Roles, audit, compare_audits
from likewise.auditing import Audit, Policy
from likewise.auditing.inference._intervals import reach_of_student
from likewise.exceptions import NoComparablePairs, ScoresCollapsed
from likewise.scoring import PairScorer

ROLES = Roles(sensitive=["group"], discrete=["kind"], label="label")
ROLES_OF_NUMBER = Roles(sensitive=["group"], continuous=["number"])
SAME = Comparability(max_discrete_changes=0)
Rows = list[tuple[str, str, int, float, float]]  # group, kind, label, score, weight

rows = st.tuples(
    st.sampled_from("ab"), st.sampled_from("xy"), st.integers(0, 1), st.integers(0, 8).map(lambda one: one / 8)
)
tables = st.lists(st.tuples(rows, st.sampled_from([1.0, 1.0, 2.0, 0.5, 0.0])), min_size=4, max_size=9).map(
    lambda some: [(*row, weight) for row, weight in some]
)


def frame_of(people: Rows) -> Any:
    import pandas as pd

    return pd.DataFrame([one[:3] for one in people], columns=["group", "kind", "label"])


def ask(people: Rows, scores: Any = None, **settings: Any) -> Audit | None:
    given = np.array([one[3] for one in people]) if scores is None else scores
    weights = np.array([one[4] for one in people])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ScoresCollapsed)
            how: dict[str, Any] = {"roles": ROLES, "rule": SAME, "task": "binary", "sample_weight": weights}
            return audit(given, frame_of(people), **how, **settings)
    except NoComparablePairs:
        return None


def excess_of(people: Rows, label: int | None, *, decided: bool = False) -> float | None:
    """Compute the excess person by person, as it is defined."""
    total = count = 0.0
    for one in people:
        if one[4] == 0 or label not in (None, one[2]):
            continue
        sums = {True: [0.0, 0.0], False: [0.0, 0.0]}  # of other groups, and of the own
        for other in people:
            if other is not one and other[1:3] == one[1:3]:
                gap = abs((one[3] >= 0.5) - (other[3] >= 0.5)) if decided else abs(one[3] - other[3])
                side = sums[other[0] != one[0]]
                side[0], side[1] = side[0] + other[4] * gap, side[1] + other[4]
        if sums[True][1] and sums[False][1]:
            total += one[4] * (sums[True][0] / sums[True][1] - sums[False][0] / sums[False][1])
            count += one[4]
    return total / count if count else None


@given(tables)
def test_the_excess_is_the_mean_over_people_of_their_two_mean_gaps_less_each_other(people: Rows) -> None:
    found = ask(people, n_resamples=0)
    if found is None or not {0, 1} <= {one[2] for one in people}:
        return
    for label in (None, 1, 0):
        for name, decided in (("excess", False), ("excess_flips", True)):
            wanted = excess_of(people, label, decided=decided)
            assert found[name, label].value == (None if wanted is None else pytest.approx(wanted))


@given(tables)
def test_its_interval_is_that_of_a_jackknife_over_people(people: Rows) -> None:
    found = ask(people)
    if found is None or found["excess"].low is None:
        return
    excess = found["excess"]
    value, low, high = (float(one or 0) for one in (excess.value, excess.low, excess.high))
    without = []
    for left_out in range(len(people)):
        others = [(*one[:4], 0.0 if row == left_out else one[4]) for row, one in enumerate(people)]
        left = excess_of(others, None)
        partners = [one for one in others if one[1:3] == people[left_out][1:3] and one[4]]
        is_one_of_them = people[left_out][4] and {one[0] for one in partners} == {"a", "b"}
        # who neither is one of those it is the mean of nor changes it is not counted; of whom all depends says nothing
        if left is not None and (is_one_of_them or abs(left - value) > 1e-12):
            without.append(left)
    known = np.array(without)
    apart = np.square(known - known.mean())
    n = min(len(known), 2 * apart.sum() ** 2 / np.square(apart).sum())  # fewer where a few outweigh all others
    reach = reach_of_student(n, 0.95) * np.sqrt((len(known) - 1) / len(known) * apart.sum())
    assert value - low == pytest.approx(reach)
    assert high - max(value, 0.0) == pytest.approx(reach)


def draw(random: np.random.Generator, n_people: int, effect: float = 0.0) -> tuple[Any, Any]:
    """Draw people whose scores depend on one number, in which the groups differ by a standard deviation."""
    import pandas as pd

    is_b = random.random(n_people) < 0.5
    number = random.normal(size=n_people) + is_b
    scores = 1 / (1 + np.exp(-(number + random.normal(0, 0.5, n_people) - effect * is_b)))
    return pd.DataFrame({"group": np.where(is_b, "b", "a"), "number": number}), scores


def look(people: Any, scores: Any, **settings: Any) -> Audit:
    rule = Comparability(max_continuous_shift=0.03)
    return audit(scores, people, roles=ROLES_OF_NUMBER, rule=rule, n_worst=0, **settings)


@pytest.mark.parametrize("decided", [False, True])
def test_groups_that_differ_in_a_compared_column_have_no_excess(decided: bool) -> None:
    random = np.random.default_rng(4)
    n_tables, above, below, pooled = sized(40, 400), 0, 0, []
    for _ in range(n_tables):
        people, scores = draw(random, 300)
        found = look(people, (scores >= 0.5).astype(int) if decided else scores, n_resamples=40)
        excess = found["excess_flips" if decided else "excess"]
        above, below = above + (excess.low > 0), below + (excess.high < 0)  # type: ignore[operator]  # both are known
        pooled.append(float(excess.value or 0))
    assert above <= 0.05 * n_tables
    assert above + below <= 0.08 * n_tables
    assert abs(np.mean(pooled)) < 4 * np.std(pooled) / np.sqrt(n_tables)


def test_an_effect_on_one_group_is_found_and_said() -> None:
    people, scores = draw(np.random.default_rng(0), 600, effect=1.5)
    found = look(people, scores)
    excess = found["excess"]
    assert excess.low > 0.02  # type: ignore[operator]  # it is known
    assert excess.n < 600
    scorer = PairScorer("excess", ROLES_OF_NUMBER, Comparability(max_continuous_shift=0.03))
    assert scorer(lambda _: scores, people) == -float(excess.value or 0)
    assert found.record.conclusions[0].startswith("Scores differ more between comparable people of two groups than")
    fair = look(*draw(np.random.default_rng(0), 600))
    assert fair.record.conclusions[0].startswith("No excess beyond chance is shown: its interval")


def test_what_an_excess_changed_by_has_an_interval_of_its_own() -> None:
    people, scores = draw(np.random.default_rng(1), 600, effect=1.5)
    before = look(people, scores)
    after = look(people, np.where(people["group"] == "b", scores + 0.1 * (1 - scores), scores))
    change = compare_audits(before, after)["excess"].difference
    both = [one["excess"] for one in (before, after)]
    assert change.value == pytest.approx(both[1].value - both[0].value)  # type: ignore[operator]  # both are known
    assert change.high < 0  # type: ignore[operator]
    assert change.high - change.low < both[0].high - both[0].low  # type: ignore[operator]
    still = compare_audits(before, before)["excess"].difference
    assert (still.value, still.low, still.high) == (0, None, None)


def test_where_all_decide_alike_nothing_is_concluded() -> None:
    people: Rows = [(group, "x", 0, one / 25, 1.0) for group in "ab" for one in range(10)]
    found = ask(people)
    assert found is not None
    excess = found["excess_flips"]
    assert (excess.value, excess.low, excess.high) == (0, None, None)
    assert found.judge(Policy(max_excess_flips=0.5)).outcome == "inconclusive"


def test_what_the_excess_owes_to_a_discrete_column_that_may_differ_is_told_apart() -> None:
    # nobody is treated differently: scores follow the kind, in which the groups differ, and which the rule lets differ
    import pandas as pd

    random = np.random.default_rng(0)
    is_b = random.random(400) < 0.5
    kinds = random.random(400) < np.where(is_b, 0.8, 0.2)
    people = pd.DataFrame({"group": np.where(is_b, "b", "a"), "kind": np.where(kinds, "x", "y")})
    scores = np.where(kinds, 0.7, 0.3) + random.normal(0, 0.05, 400)
    roles = Roles(sensitive=["group"], discrete=["kind"])
    found = audit(scores, people, roles=roles, rule=Comparability(max_discrete_changes=1))
    assert found["excess"].low > 0.05  # type: ignore[operator]  # it is known
    assert abs(float(found["excess_equal"].value or 0)) < 0.01
    assert found.record.conclusions[0].startswith("No excess beyond chance is shown where")
    assert "where all discrete columns are equal" in found.record.conclusions[1]
    lower = np.where(is_b, scores - 0.2, scores)
    treated = audit(lower, people, roles=roles, rule=Comparability(max_discrete_changes=1))
    assert treated.record.conclusions[0].startswith("Scores differ more between comparable people of two groups")
    assert "excess_equal" not in audit(scores, people, roles=roles, rule=SAME).measures


def test_people_with_partners_of_one_kind_have_no_excess() -> None:
    people: Rows = [("a", "x", 0, 0.2, 1.0), ("b", "x", 0, 0.6, 1.0), ("a", "y", 0, 0.1, 1.0), ("a", "y", 0, 0.4, 1.0)]
    found = ask(people)
    assert found is not None
    assert found["excess"].value is None
    assert found.record.conclusions[0].startswith("No excess can be told: nobody is comparable both")


def test_every_pair_of_people_counts_from_both_sides() -> None:
    people: Rows = [("a", "x", 0, 0.0, 1.0), ("a", "x", 0, 0.25, 1.0), ("b", "x", 0, 1.0, 1.0)]
    gaps = {frozenset(two): abs(people[two[0]][3] - people[two[1]][3]) for two in combinations(range(3), 2)}
    wanted = [(gaps[frozenset((one, 2))] - gaps[frozenset((0, 1))]) for one in (0, 1)]  # b has none of the own group
    found = ask(people)
    assert found is not None
    assert found["excess"].value == pytest.approx(np.mean(wanted))
    assert found["excess"].n == 2
