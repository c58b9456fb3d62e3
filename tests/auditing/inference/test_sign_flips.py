"""The sign-flip test and Holm's correction."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sizes import sized

from likewise.auditing.inference._sign_flips import adjust_p_values, sign_flip_test
from likewise.exceptions import ScoreError

GAPS = st.lists(st.integers(-8, 8).map(lambda k: k / 8), max_size=9)
SHARES = st.lists(st.integers(0, 100).map(lambda k: k / 100), max_size=12)


@settings(max_examples=sized(10, 40), deadline=None)
@given(GAPS)
def test_it_comes_near_the_share_of_all_choices_of_signs(gaps: list[float]) -> None:
    sums = [
        abs(sum(s * gap for s, gap in zip(signs, gaps, strict=True))) for signs in product((-1, 1), repeat=len(gaps))
    ]
    share = sum(one >= abs(sum(gaps)) for one in sums) / len(sums)
    error = 5 * np.sqrt(share * (1 - share) / 1999) + 1 / 2000
    assert abs(sign_flip_test(gaps) - share) <= error


@settings(max_examples=sized(7, 30), deadline=None)
@given(GAPS, st.sampled_from([0.001, 3.0, 1e6]))
def test_neither_unit_nor_side_matters(gaps: list[float], unit: float) -> None:
    p_value = sign_flip_test(gaps)
    assert sign_flip_test([-gap for gap in gaps]) == p_value
    assert sign_flip_test([gap * unit for gap in gaps]) == p_value


@settings(max_examples=sized(7, 30), deadline=None)
@given(GAPS, st.integers(0, 5))
def test_pairs_scored_alike_say_nothing(gaps: list[float], n_alike: int) -> None:
    assert sign_flip_test([*gaps, *[0.0] * n_alike]) == sign_flip_test(gaps)


@pytest.mark.parametrize("gaps", [[], [0.0, 0.0], [0.3], [0.1, -0.1]])
def test_what_leans_nowhere_gets_one(gaps: list[float]) -> None:
    assert sign_flip_test(gaps) == 1.0


@pytest.mark.parametrize("n_permutations", [1, 7, 8, 99, 1999])
def test_it_is_never_less_than_its_number_of_choices_can_show(n_permutations: int) -> None:
    assert sign_flip_test([0.1] * 60, n_permutations=n_permutations) == 1 / (1 + n_permutations)


def test_the_same_seed_gives_the_same_p_value() -> None:
    gaps = np.random.default_rng(1).normal(0.2, 1, 30)
    assert sign_flip_test(gaps, random_state=5) == sign_flip_test(gaps, random_state=5)
    assert len({sign_flip_test(gaps, random_state=seed) for seed in range(20)}) > 1
    assert 0 < sign_flip_test(gaps, random_state=None) <= 1


@pytest.mark.parametrize(
    ("gaps", "words"),
    [
        (["a", "b"], "not numbers"),
        ([[0.1], [0.2]], r"shape \(2, 1\)"),
        ([0.1, np.nan, np.inf], "NaN or infinite in 2"),
        (0.5, "shape"),
    ],
)
def test_what_are_no_gaps_is_refused(gaps: Any, words: str) -> None:
    with pytest.raises(ScoreError, match=words):
        sign_flip_test(gaps)


@pytest.mark.parametrize("setting", [{"n_permutations": -1}, {"n_permutations": 1.5}, {"random_state": -1}])
def test_bad_settings_are_refused(setting: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(setting))):
        sign_flip_test([0.1], **setting)


@settings(max_examples=sized(15, 60))
@given(SHARES)
def test_holm_raises_each_p_value_by_how_many_are_not_smaller(p_values: list[float]) -> None:
    ordered = sorted(p_values)
    expected = [
        min(1.0, max((len(ordered) - i) * ordered[i] for i in range(ordered.index(p) + 1)) if ordered else 1.0)
        for p in p_values
    ]
    # of equal p-values the first in order is raised most, and the others with it
    assert adjust_p_values(p_values) == pytest.approx(expected)


@settings(max_examples=sized(10, 40))
@given(SHARES)
def test_adjusting_keeps_the_order_and_lowers_nothing(p_values: list[float]) -> None:
    adjusted = adjust_p_values(p_values)
    assert (adjusted >= np.array(p_values)).all()
    assert (adjusted <= 1).all()
    order = np.argsort(p_values, kind="stable")
    assert (np.diff(adjusted[order]) >= 0).all()


def test_a_single_p_value_stays_as_it_is() -> None:
    assert adjust_p_values([0.03]).tolist() == [0.03]


@pytest.mark.parametrize("p_values", [[0.5, 1.5], [-0.1], [np.nan], ["a"], [[0.5]]])
def test_what_are_no_p_values_is_refused(p_values: Any) -> None:
    with pytest.raises(ScoreError, match="p-values"):
        adjust_p_values(p_values)
