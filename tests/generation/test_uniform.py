"""The paper's random comparables: what changes, how often, and how far."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sizes import sized

from likewise import Comparability, Roles
from likewise.generation import Antidotes, UniformGenerator

N = 2_000


def made_of(
    X: pd.DataFrame, roles: Roles, rule: Comparability | None = None, *, train: pd.DataFrame | None = None
) -> Antidotes:
    generator = UniformGenerator(roles, rule, random_state=0)
    generator.fit(X if train is None else train, np.zeros(len(X if train is None else train), int))
    return generator.generate(X, np.zeros(len(X), int))


def sexes(n: int) -> list[str]:
    return ["f", "m"] * (n // 2)


def test_changes_are_none_to_as_many_as_allowed_equally_often_in_all_columns() -> None:
    random = np.random.default_rng(0)
    names = [f"d{i}" for i in range(5)]
    # a column of a thousand values is hardly ever given its own
    X = pd.DataFrame({"sex": sexes(N), **{name: random.permutation(N) % 1_000 for name in names}})
    antidotes = made_of(X, Roles(sensitive="sex", discrete=names), Comparability(max_discrete_changes=2))
    changed = np.column_stack([antidotes.changed[name] for name in names])
    assert np.bincount(changed.sum(axis=1)) / N == pytest.approx(np.full(3, 1 / 3), abs=0.05)
    assert changed.mean(axis=0) == pytest.approx(np.full(5, 1 / 5), abs=0.04)
    assert antidotes.kept == 1


def test_every_value_of_a_column_is_equally_likely() -> None:
    X = pd.DataFrame({"sex": sexes(N), "d": ["a"] * (N - 2) + ["b", "c"]})
    antidotes = made_of(X, Roles(sensitive="sex", discrete="d"), Comparability(max_discrete_changes=1))
    shares = antidotes.frame["d"].value_counts(normalize=True)
    assert shares["b"] == pytest.approx(1 / 6, abs=0.03)
    assert shares["c"] == pytest.approx(1 / 6, abs=0.03)


def test_more_changes_allowed_than_columns_is_all_right() -> None:
    X = pd.DataFrame({"sex": sexes(N), "d": np.arange(N)})
    antidotes = made_of(X, Roles(sensitive="sex", discrete="d"), Comparability(max_discrete_changes=9))
    assert antidotes.changed["d"].mean() == pytest.approx(0.5, abs=0.05)


def test_amounts_move_uniformly_by_up_to_the_limit_of_each() -> None:
    X = pd.DataFrame({"sex": sexes(N), "a": np.linspace(0, 1, N), "b": np.linspace(0, 10, N)})
    rule = Comparability(max_continuous_shift={"a": 0.1, "b": 0.02})
    antidotes = made_of(X, Roles(sensitive="sex", continuous=["a", "b"]), rule)
    inside = slice(N // 4, 3 * N // 4)
    for name, reach in (("a", 0.1), ("b", 0.2)):
        shifts = (antidotes.frame[name] - X[name].to_numpy()[antidotes.source])[inside]
        assert shifts.abs().max() <= reach + 1e-9
        assert np.quantile(shifts, [0.25, 0.5, 0.75]) / reach == pytest.approx([-0.5, 0, 0.5], abs=0.1)
    assert antidotes.kept == 1


def test_whole_numbers_stay_whole_and_in_range() -> None:
    X = pd.DataFrame({"sex": sexes(N), "age": np.random.default_rng(0).integers(17, 91, N)})
    antidotes = made_of(X, Roles(sensitive="sex", continuous="age"), Comparability(max_continuous_shift=0.025))
    shifts = antidotes.frame["age"] - X["age"].to_numpy()[antidotes.source]
    assert set(shifts) == {-1, 0, 1}  # 0.025 of 73 years is 1.8: none is rounded to 2
    assert antidotes.frame["age"].between(17, 90).all()
    assert antidotes.kept == 1


def test_ranks_move_uniformly_within_the_order() -> None:
    order = ["a", "b", "c", "d", "e"]
    X = pd.DataFrame({"sex": sexes(N), "r": ["c"] * (N // 2) + ["a"] * (N // 2)})
    antidotes = made_of(X, Roles(sensitive="sex", ordinal={"r": order}), Comparability(max_ordinal_shift=1.5))
    middle = antidotes.frame["r"][: N // 2].value_counts(normalize=True)
    low = antidotes.frame["r"][N // 2 :].value_counts(normalize=True)
    assert dict(middle) == pytest.approx(dict.fromkeys("bcd", 1 / 3), abs=0.05)
    assert dict(low) == pytest.approx(dict.fromkeys("ab", 1 / 2), abs=0.05)


def test_what_must_match_or_may_not_move_stays() -> None:
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "sex": sexes(100),
            "d": random.integers(0, 9, 100),
            "r": random.integers(0, 3, 100),
            "c": random.random(100),
            "m": random.integers(0, 9, 100),
            "free": random.integers(0, 9, 100),
        }
    )
    roles = Roles(sensitive="sex", discrete=["d", "free"], ordinal={"r": [0, 1, 2]}, continuous="c", matched="m")
    antidotes = made_of(X, roles, Comparability(2, 0.5, 2, must_match=("d", "r", "c")))
    for name in ("d", "r", "c", "m"):
        assert antidotes.frame[name].tolist() == X[name].to_numpy()[antidotes.source].tolist()
    assert antidotes.changed["free"].any()


def test_missing_values_held_apart_stay_missing_and_others_do_not_become_so() -> None:
    X = pd.DataFrame({"sex": sexes(N), "c": [None, 1.0, 2.0, 3.0] * (N // 4), "r": [None, "a", "b", "a"] * (N // 4)})
    roles = Roles(sensitive="sex", continuous="c", ordinal={"r": ["a", "b"]}, missing="apart")
    antidotes = made_of(X, roles, Comparability(max_continuous_shift=0.9))
    for name in ("c", "r"):
        assert (antidotes.frame[name].isna().to_numpy() == X[name].isna().to_numpy()[antidotes.source]).all()


def test_no_columns_but_the_sensitive_one() -> None:
    antidotes = made_of(pd.DataFrame({"sex": ["f", "m"]}), Roles(sensitive="sex"))
    assert antidotes.frame["sex"].tolist() == ["m", "f"]


def test_a_person_outside_the_training_range_goes_no_farther_out() -> None:
    train = pd.DataFrame({"sex": sexes(100), "c": np.linspace(0, 1, 100)})
    X = pd.DataFrame({"sex": sexes(400), "c": [1.2, 1.2, -3.0, -3.0] * 100})
    antidotes = made_of(X, Roles(sensitive="sex", continuous="c"), Comparability(max_continuous_shift=0.1), train=train)
    own = X["c"].to_numpy()[antidotes.source]
    assert (antidotes.frame["c"][own > 1] <= 1.2 + 1e-9).all()
    assert (antidotes.frame["c"][own < 0] >= -3.0 - 1e-9).all()
    assert antidotes.changed["c"].any()


@settings(max_examples=sized(6, 20))
@given(shift=st.floats(0, 1), dtype=st.sampled_from(["int8", "int64", "float32", "float64"]), seed=st.integers(0, 99))
def test_nothing_is_made_in_vain_whatever_the_limit_and_the_type(shift: float, dtype: Any, seed: int) -> None:
    values = np.random.default_rng(seed).uniform(-100, 100, 40).astype(dtype)
    X = pd.DataFrame({"sex": sexes(40), "c": values})
    antidotes = made_of(X, Roles(sensitive="sex", continuous="c"), Comparability(max_continuous_shift=shift))
    assert antidotes.kept == 1
    assert antidotes.frame["c"].dtype == dtype
    assert antidotes.frame["c"].between(values.min(), values.max()).all()
