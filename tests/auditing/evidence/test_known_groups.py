"""Rates among known groups are shares of people, counted, and ratios to the highest of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sizes import sized

from likewise import CodedTable, Roles
from likewise.auditing.evidence._groups import rate_known_groups
from likewise.auditing.question._scores import Scores
from likewise.record._internal import KnownGroups


def make(people: pd.DataFrame, values: np.ndarray, *, favours_low: bool = False) -> KnownGroups | None:
    roles = Roles(sensitive=list(people.columns))
    decisions = ((values < 0.5) if favours_low else (values >= 0.5)).astype(np.int64)
    scores = Scores(values, "binary", decisions=decisions, threshold=0.5, favours_low=favours_low)
    return rate_known_groups(scores, roles.learn(people).encode(people, [0] * len(people)))


@settings(max_examples=sized(7, 30), deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_every_number_is_a_count_of_the_table(seed: int, favours_low: bool) -> None:
    random = np.random.default_rng(seed)
    n = int(random.integers(3, 60))
    names = ("sex", "race", "age")[: int(random.integers(1, 4))]
    people = pd.DataFrame({name: random.choice(np.array(["a", "b", None]), n, p=[0.5, 0.3, 0.2]) for name in names})
    values = np.append(np.array([0.0, 0.5, 1.0]), random.integers(0, 9, n - 3) / 8)
    found = make(people, values, favours_low=favours_low)
    assert found is not None
    median = float(np.median(values))
    assert found.median_score == median
    above, selected = (values < median, values < 0.5) if favours_low else (values > median, values >= 0.5)
    highest: dict[tuple[str, ...], list[float]] = {}
    for one in found.groups:
        who = np.logical_and.reduce([people[c].to_numpy() == v for c, v in zip(one.columns, one.values, strict=True)])
        assert None not in one.values
        assert (one.n_people, one.n_selected, one.n_above) == (who.sum(), selected[who].sum(), above[who].sum())
        assert one.selection_rate == pytest.approx(selected[who].mean())
        assert one.scoring_rate == pytest.approx(above[who].mean())
        best = highest.setdefault(one.columns, [0.0, 0.0])
        highest[one.columns] = [max(best[0], selected[who].mean()), max(best[1], above[who].mean())]
    for one in found.groups:
        for ratio, rate, most in zip(
            (one.impact_ratio, one.scoring_ratio),
            (one.selection_rate, one.scoring_rate),
            highest[one.columns],
            strict=True,
        ):
            assert ratio == (pytest.approx(rate / most) if most else None)  # type: ignore[operator]
    assert {len(one.columns) for one in found.unknown} == set(range(1, len(names) + 1))
    for count in found.unknown:
        assert count.n_people == people[list(count.columns)].isna().any(axis=1).sum()
        assert count.n_people + sum(one.n_people for one in found.groups if one.columns == count.columns) == n


def test_decisions_have_no_median_and_classes_no_rates() -> None:
    people = pd.DataFrame({"sex": ["f", "m", "m"]})
    decided = make(people, np.array([0.0, 1.0, 1.0]))
    assert decided is not None
    assert (decided.median_score, decided.groups[0].scoring_rate, decided.groups[1].selection_rate) == (None, None, 1.0)
    table = CodedTable(sensitive=[[0], [1]], labels=[0, 1])
    assert rate_known_groups(Scores(np.full((2, 3), 1 / 3), "multiclass"), table) is None
