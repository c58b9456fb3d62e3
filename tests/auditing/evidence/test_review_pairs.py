"""Evidence for review: whoever is worse off at most once, beside their closest match, by the definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sizes import sized

from likewise import Audit, Comparability, Roles, audit

RULE = Comparability(max_discrete_changes=1, max_continuous_shift=0.3)
ROLES = Roles(sensitive="sex", discrete=["job", "town"], continuous=["age", "income"])


def applicants(seed: int, n: int = 60) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "sex": random.choice(["f", "m", "x"], n),
            "job": random.choice(["cook", "nurse"], n),
            "town": random.choice(["A", "B"], n),
            "age": random.integers(20, 60, n),
            "income": random.integers(10, 90, n),
        }
    )


def distance(people: pd.DataFrame, one: int, other: int) -> float:
    """Return the distance by its definition: 1 for a category, and numbers as shares of what the rule allows."""
    apart = sum(people[name][one] != people[name][other] for name in ("job", "town"))
    for name in ("age", "income"):
        span = people[name].max() - people[name].min()
        apart += abs(int(people[name][one]) - int(people[name][other])) / span / 0.3
    return float(apart)


def worse_pairs(found: Audit, scores: Any) -> list[tuple[int, int, float]]:
    pairs = zip(found.pairs.left.tolist(), found.pairs.right.tolist(), strict=True)
    turned = ((one, other) if scores[one] < scores[other] else (other, one) for one, other in pairs)
    return [(one, other, scores[other] - scores[one]) for one, other in turned if scores[one] != scores[other]]


@settings(max_examples=sized(8, 30), deadline=None)
@given(st.integers(0, 10_000), st.booleans(), st.sampled_from([None, "m"]), st.integers(1, 40))
def test_everybody_worse_off_stands_once_beside_the_closest_match(
    seed: int, are_decisions: bool, reference: str | None, n: int
) -> None:
    people, random = applicants(seed), np.random.default_rng(seed)
    scores = np.round(random.random(len(people)), 0 if are_decisions else 1)
    try:
        found = audit(scores, people, roles=ROLES, rule=RULE, n_resamples=0, n_worst=n, reference=reference)
    except ValueError:
        return
    worse = worse_pairs(found, scores)
    leads = {(one, other): people.sex[other] == reference != people.sex[one] for one, other, _ in worse}
    rank = {(one, other): (leads[one, other], round(gap, 9)) for one, other, gap in worse}
    best = {one: max(rank[pair] for pair in rank if pair[0] == one) for one, _, _ in worse}
    shown = [(case.left_row, case.right_row) for case in found.worst]
    assert len({one for one, _ in shown}) == len(shown) == min(n, len(best))
    for one, other in shown:
        assert rank[one, other] == best[one]
        closest = min(distance(people, *pair) for pair in rank if pair[0] == one and rank[pair] == best[one])
        assert distance(people, one, other) == pytest.approx(closest)
    ranks = [best[one] for one, _ in shown]
    assert ranks == sorted(best.values(), reverse=True)[: len(shown)]


def test_of_more_people_than_asked_for_some_are_drawn_at_random() -> None:
    people = applicants(0, n=400)
    approved = (np.random.default_rng(0).random(len(people)) < 0.5).astype(int)
    rows = [
        [case.left_row for case in audit(approved, people, roles=ROLES, rule=RULE, n_worst=20, random_state=seed).worst]
        for seed in (0, 0, 1)
    ]
    assert rows[0] == rows[1]
    assert set(rows[0]) != set(rows[2])
    assert max(rows[0]) > 200  # not the first of the table


def test_the_pair_with_the_largest_gap_is_shown_where_pairs_are_too_many_to_keep() -> None:
    people = applicants(3, n=300)
    scores = np.random.default_rng(3).random(len(people))
    whole, streamed = (audit(scores, people, roles=ROLES, rule=RULE, n_resamples=0, max_pairs=n) for n in (10**6, 50))
    assert streamed.worst[0] == whole.worst[0]
    assert len({case.left_row for case in streamed.worst}) == len(streamed.worst)
