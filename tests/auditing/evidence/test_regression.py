"""A regression beside the pairs: its effect is that of a dense fit by the definition, and it says where it has none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit
from tests.sizes import sized

from likewise import Comparability, Roles
from likewise.auditing._internal import AuditSettings
from likewise.auditing.evidence._regression import regress_on_groups
from likewise.auditing.question._question import Question, make_question
from likewise.record._internal import GroupEffect

ROLES = Roles(sensitive="sex", discrete="job", continuous="age")


def people(seed: int, n: int = 300) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    sex = random.choice(["f", "m", "x"], n, p=[0.35, 0.5, 0.15])
    return pd.DataFrame({"sex": sex, "job": random.choice(["a", "b", "c"], n), "age": random.normal(40, 9, n)})


def ask(scores: Any, frame: pd.DataFrame, roles: Roles = ROLES, **how: Any) -> Question:
    weights = how.pop("sample_weight", None)
    return make_question(
        scores, frame, None, roles=roles, rule=Comparability(), settings=AuditSettings(**how), sample_weight=weights
    )


def effect_of(group: str, effects: tuple[GroupEffect, ...]) -> GroupEffect:
    return next(one for one in effects if one.group == group)


def design(frame: pd.DataFrame) -> Any:
    """Return a dense matrix: 1, age, jobs, and last the groups 'f' and 'x'."""
    age = (frame.age - frame.age.mean()) / frame.age.std()
    return np.column_stack(
        [np.ones(len(frame)), age, frame.job == "a", frame.job == "b", frame.sex == "f", frame.sex == "x"]
    ).astype(float)


def fit_by_hand(x: Any, y: Any, weights: Any) -> Any:
    def loss(b: Any) -> float:
        sums = x @ b
        return float(weights @ (np.logaddexp(0, sums) - y * sums))

    return minimize(loss, np.zeros(x.shape[1]), method="BFGS", options={"gtol": 1e-9}).x


def average_effect(x: Any, b: Any, weights: Any) -> float:
    on, off = x.copy(), x.copy()
    on[:, 4:], off[:, 4:] = [1, 0], 0
    return float(weights @ (expit(on @ b) - expit(off @ b)) / weights.sum())


@settings(max_examples=sized(5, 20), deadline=None)
@given(st.integers(0, 10_000), st.booleans(), st.booleans())
def test_the_effect_and_its_error_are_those_of_a_dense_fit(seed: int, are_decisions: bool, is_weighted: bool) -> None:
    frame, random = people(seed), np.random.default_rng(seed + 10_000)
    x = design(frame)
    y = expit(x @ [0.2, 0.5, -0.3, 0.4, -0.6, 0.3] + random.normal(0, 1, len(x)))
    y = (random.random(len(x)) < y).astype(float) if are_decisions else y
    weights = random.integers(1, 4, len(x)).astype(float) if is_weighted else np.ones(len(x))
    found = regress_on_groups(ask(y, frame, sample_weight=weights if is_weighted else None, reference="m"), 0.95)
    effect = effect_of("f", found)
    assert (effect.reference, effect.model) == ("m", "logit" if are_decisions else "fractional logit")
    b = fit_by_hand(x, y, weights)
    value = average_effect(x, b, weights)
    assert effect.effect == pytest.approx(value, abs=1e-6)
    mu = expit(x @ b)
    inverse = np.linalg.inv((x * (weights * mu * (1 - mu))[:, None]).T @ x)
    step = 1e-5
    slope = [
        (average_effect(x, b + one, weights) - average_effect(x, b - one, weights)) / (2 * step)
        for one in step * np.eye(len(b))
    ]
    leverage = weights * mu * (1 - mu) * np.einsum("ij,jk,ik->i", x, inverse, x)
    on, off = x.copy(), x.copy()
    on[:, 4:], off[:, 4:] = [1, 0], 0
    varied = weights * (expit(on @ b) - expit(off @ b) - value) / weights.sum()
    moves = (x @ inverse @ slope) * weights * (y - mu) / (1 - leverage) + varied
    assert effect.low is not None
    assert effect.high is not None
    error = np.sqrt(np.square(moves).sum())
    assert 2 * 1.95 * error < effect.high - effect.low < 2 * 2.4 * error  # Student's, a little widened


def test_amounts_take_a_linear_model_and_low_ones_may_be_favourable() -> None:
    frame, random = people(1), np.random.default_rng(10)
    amounts = design(frame) @ [5, 1, 2, 3, -4, 0.5] + random.normal(0, 1, len(frame))
    how: dict[str, Any] = {"task": "regression", "scale": 2.0}
    effect = effect_of("f", regress_on_groups(ask(amounts, frame, **how), 0.95))
    assert effect.model == "linear"
    expected = np.linalg.lstsq(design(frame), amounts / 2, rcond=None)[0][4]
    assert effect.effect == pytest.approx(expected, rel=1e-4)
    turned = effect_of("f", regress_on_groups(ask(amounts, frame, favourable="low", **how), 0.95))
    assert (turned.effect, turned.low) == pytest.approx((-effect.effect, -effect.high))  # type: ignore[operator]


def test_people_who_repeat_count_as_their_weight() -> None:
    frame, random = people(2, n=200), np.random.default_rng(20)
    scores, times = random.random(200), random.integers(1, 4, 200)
    rows = np.repeat(np.arange(200), times)
    weighted = regress_on_groups(ask(scores, frame, sample_weight=times), None)
    repeated = regress_on_groups(ask(scores[rows], frame.iloc[rows]), None)
    for one, other in zip(weighted, repeated, strict=True):
        assert one.effect == pytest.approx(other.effect, abs=1e-4)


def test_the_control_is_the_reference_and_low_scores_may_be_favourable() -> None:
    frame = people(3)
    scores = np.clip(0.5 - 0.2 * (frame.sex == "x") + np.random.default_rng(3).normal(0, 0.05, len(frame)), 0, 1)
    found = regress_on_groups(ask(np.asarray(scores), frame, reference="f"), 0.95)
    assert {one.reference for one in found} == {"f"}
    effect = effect_of("x", found)
    assert effect.low is not None
    assert effect.low < -0.2 < effect.high  # type: ignore[operator]  # both ends are there
    low = effect_of("x", regress_on_groups(ask(np.asarray(scores), frame, reference="f", favourable="low"), 0.95))
    assert low.effect == pytest.approx(-effect.effect)  # type: ignore[operator]


def test_where_nothing_can_be_told_it_says_why() -> None:
    frame, random = people(4), np.random.default_rng(40)
    scores = random.random(len(frame))
    assert regress_on_groups(ask(scores, frame.assign(sex="f")), 0.95) == ()
    alike = regress_on_groups(ask(scores, frame.assign(job=frame.sex)), 0.95)
    assert {(one.effect, one.why_not) for one in alike} == {(None, "the rule's columns tell the groups apart")}
    few = frame.assign(sex=np.where(np.arange(len(frame)) < 5, "x", np.where(frame.sex == "f", "f", "m")))
    effect = effect_of("x", regress_on_groups(ask(scores, few), 0.95))
    assert effect.effect is not None
    assert (effect.low, effect.why_not) == (None, "too few people")
    denied = (frame.sex != "x") & (random.random(len(frame)) < 0.5)
    effect = effect_of("x", regress_on_groups(ask(np.asarray(denied).astype(int), frame), 0.95))
    assert effect.effect == pytest.approx(-0.5, abs=0.1)
    assert (effect.low, effect.why_not) == (None, "nearly all are decided alike")


def test_a_value_that_decides_alone_does_not_take_the_effect_away() -> None:
    frame, random = people(5, n=600), np.random.default_rng(50)
    approved = (random.random(600) < 0.6 - 0.2 * (frame.sex == "f")) & (frame.job != "c")
    effect = effect_of("f", regress_on_groups(ask(np.asarray(approved).astype(int), frame), 0.95))
    assert effect.low is not None
    assert effect.low < -0.2 * 2 / 3 < effect.high  # type: ignore[operator]  # both ends are there


def test_without_treatment_few_intervals_leave_zero_out() -> None:
    n_false = 0
    for seed in range(sized(60, 400)):
        frame, random = people(seed), np.random.default_rng(10_000 + seed)
        frame["age"] += 9 * (frame.sex == "f")  # groups differ in a compared column
        chance = expit((frame.age - 40) / 9 - 0.5 * (frame.job == "a"))
        approved = (random.random(len(frame)) < chance).to_numpy().astype(int)
        effect = effect_of("f", regress_on_groups(ask(approved, frame, reference="m"), 0.95))
        assert effect.low is not None
        n_false += effect.low > 0 or effect.high < 0  # type: ignore[operator]  # both ends are there
    assert n_false <= 0.1 * sized(60, 400)


def test_scores_that_follow_from_the_columns_alone_have_no_effect_of_groups() -> None:
    frame = people(3)
    frame["age"] += 9.0 * (frame.sex == "f")
    ways: tuple[dict[str, Any], ...] = ({}, {"task": "regression", "scale": 1.0})
    for how in ways:
        sums = (frame.age - 40) / 9 + 0.5 * (frame.job == "a")
        found = regress_on_groups(ask(sums if how else expit(sums), frame, reference="m", **how), 0.95)
        effect = effect_of("f", found)
        assert effect.low is not None
        assert effect.high is not None
        assert effect.low <= 0 <= effect.high


def test_decisions_that_a_column_makes_alone_are_no_crash() -> None:
    frame = people(4)
    for decisions in ((frame.job == "a") * 1.0, (frame.age > 40) * 1.0):
        effect = effect_of("f", regress_on_groups(ask(decisions, frame, reference="m"), 0.95))
        assert effect.effect == pytest.approx(0.0, abs=1e-3)
