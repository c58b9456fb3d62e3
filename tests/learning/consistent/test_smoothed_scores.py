"""Smoothed scores: exactly what they minimise, for whom, and against whom."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tests.sizes import sized

from likewise import CodedTable, Comparability, Roles, SmoothedScores, audit, load_dataset, mine_pairs
from likewise.exceptions import ParameterError, ScoreError
from likewise.learning.consistent._smoothing import smooth_against, smooth_among
from likewise.record import AuditRecord

DATA = load_dataset("planted")
PEOPLE, LABELS, OTHERS = DATA.train.X, DATA.train.y, DATA.test.X
RULES = {kind: Comparability(1, 0.3, sensitive_differs=kind) for kind in ("any", "none")}


def make_table(seed: int, n_rows: int = 25) -> CodedTable:
    random = np.random.default_rng(seed)
    return CodedTable(
        sensitive=random.integers(2, size=(n_rows, 1)),
        discrete=random.integers(3, size=(n_rows, 2)),
        continuous=random.integers(4, size=(n_rows, 1)) / 3,
    )


def linear() -> Any:
    words = make_column_selector(dtype_exclude="number")
    coding = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), words), remainder=StandardScaler())
    return make_pipeline(coding, LogisticRegression(max_iter=1000))


def pairs_of(frame: Any) -> Any:
    table = DATA.roles.learn(PEOPLE).encode(frame, np.zeros(len(frame), np.int64))
    return mine_pairs(table, DATA.rule)


@given(seed=st.integers(0, 10_000), weight=st.sampled_from([0.1, 1.0, 1000.0]), kind=st.sampled_from(["any", "none"]))
@settings(max_examples=sized(12, 300), deadline=None)
def test_it_is_the_solution_of_the_whole_system(seed: int, weight: float, kind: str) -> None:
    table, margins = make_table(seed), np.random.default_rng(seed).normal(size=(25, 2))
    pairs = mine_pairs(table, RULES[kind])
    laplacian = np.zeros((25, 25))
    np.add.at(laplacian, (pairs.left, pairs.left), 1.0)
    np.add.at(laplacian, (pairs.right, pairs.right), 1.0)
    np.add.at(laplacian, (pairs.left, pairs.right), -1.0)
    np.add.at(laplacian, (pairs.right, pairs.left), -1.0)
    wanted = np.linalg.solve(np.eye(25) + weight * laplacian, margins)
    found = smooth_among(table, RULES[kind], margins, weight, None)
    assert np.allclose(found.margins, wanted, rtol=0, atol=1e-7)
    degree = np.bincount(np.concatenate([pairs.left, pairs.right]), minlength=25)
    assert found.n_partners.tolist() == degree.tolist()
    assert np.array_equal(found.margins[degree == 0], margins[degree == 0])


def test_an_audit_says_whose_pairs_the_scores_were_smoothed_over() -> None:
    model = linear().fit(PEOPLE, LABELS)
    told = {}
    for graph in ("people", "reference"):
        smoothed = SmoothedScores(model, DATA.roles, DATA.rule, graph=graph).fit(PEOPLE)
        found = audit(smoothed, OTHERS, DATA.test.y, roles=DATA.roles, rule=DATA.rule, n_resamples=0)
        again = AuditRecord.from_dict(found.record.to_dict())
        told[graph] = [note.text for note in again.notes if note.kind == "smoothed"]
    assert "over the pairs among the people audited" in told["people"][0]
    assert f"a stored reference of {len(PEOPLE):,} people" in told["reference"][0]
    plain = audit(model, OTHERS, DATA.test.y, roles=DATA.roles, rule=DATA.rule, n_resamples=0)
    assert all(note.kind != "smoothed" for note in plain.record.notes)


def test_a_single_person_meets_the_smoothed_reference() -> None:
    reference, people = make_table(2, n_rows=60), make_table(3, n_rows=20)
    random = np.random.default_rng(0)
    known, margins = random.normal(size=(60, 1)), random.normal(size=(20, 1))
    found = smooth_against(people, margins, reference, known, RULES["any"], 5.0, None)
    pairs = mine_pairs(people, reference, RULES["any"])
    for person in range(20):
        partners = pairs.right[pairs.left == person]
        wanted = (margins[person] + 5.0 * known[partners].sum()) / (1 + 5.0 * len(partners))
        assert found.margins[person] == pytest.approx(wanted)


def test_gaps_of_the_people_nearly_vanish_and_the_others_keep_their_scores() -> None:
    plain = linear().fit(PEOPLE, LABELS)
    before = plain.predict_proba(OTHERS)
    pairs = pairs_of(OTHERS)
    mild, model = (SmoothedScores(plain, DATA.roles, DATA.rule, one, graph="people").fit(PEOPLE) for one in (1, 100))
    after = model.predict_proba(OTHERS)
    scores = (before, mild.predict_proba(OTHERS), after)
    gaps = [np.abs(one[pairs.left, 1] - one[pairs.right, 1]).mean() for one in scores]
    assert gaps[0] > 1.5 * gaps[1] > 3 * gaps[2]
    alone = np.setdiff1d(np.arange(500), np.concatenate([pairs.left, pairs.right]))
    assert np.array_equal(after[alone], before[alone])
    assert model.changes_.n_matched == 500 - len(alone)
    assert model.changes_.graph == "people"
    assert "keep their scores" in str(model.changes_)
    nothing = SmoothedScores(plain, DATA.roles, DATA.rule, 0.0, graph="people").fit(PEOPLE)
    assert np.allclose(nothing.predict_proba(OTHERS), before)


def test_against_a_reference_nobody_depends_on_who_else_is_scored() -> None:
    model = SmoothedScores(linear(), DATA.roles, DATA.rule)
    model.fit(OTHERS, DATA.test.y)  # fits a clone of the estimator
    whole, few = model.predict_proba(OTHERS), model.predict_proba(OTHERS.head(7))
    assert np.allclose(whole[:7], few, rtol=0, atol=1e-12)
    assert model.changes_.graph == "reference"
    pairs = pairs_of(OTHERS)
    before = model.estimator_.predict_proba(OTHERS)
    gaps = [np.abs(one[pairs.left, 1] - one[pairs.right, 1]).mean() for one in (before, whole)]
    assert gaps[1] < 0.8 * gaps[0]
    assert set(model.predict(OTHERS)) <= {0, 1}


def test_labels_are_not_used() -> None:
    plain = linear().fit(PEOPLE, LABELS)
    one = SmoothedScores(plain, DATA.roles, DATA.rule).fit(PEOPLE, LABELS).predict_proba(OTHERS)
    other = SmoothedScores(plain, DATA.roles, DATA.rule).fit(PEOPLE, 1 - LABELS).predict_proba(OTHERS)
    assert np.array_equal(one, other)


def test_scores_may_come_from_anywhere_and_have_several_classes() -> None:
    people = pa.table({"sex": ["f", "m", "f"], "age": [30, 30, 70]})
    smoother = SmoothedScores(roles=Roles(sensitive="sex", continuous="age"), smoothing=1e6)
    scores = np.array([[0.2, 0.3, 0.5], [0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
    smoothed = smoother.smooth(people, scores)
    assert np.allclose(smoothed[0], smoothed[1], atol=1e-5)
    assert np.allclose(smoothed.sum(axis=1), 1)
    assert np.array_equal(smoothed[2], scores[2])
    both = smoother.smooth(people, [0.3, 0.5, 0.9])
    assert both[0] == pytest.approx(expit(logit([0.3, 0.5]).mean()), abs=1e-5)
    assert both[2] == 0.9


@pytest.mark.parametrize("kind", ["frame", "array"])
def test_it_is_saved_without_its_estimator(kind: str, tmp_path: Path) -> None:
    X, roles, rule = PEOPLE, DATA.roles, DATA.rule
    scores = linear().fit(PEOPLE, LABELS).predict_proba(PEOPLE)[:, 1]
    if kind == "array":
        X = np.column_stack([np.arange(1500) % 2, np.arange(1500) % 9]).astype(float)
        roles, rule = Roles(sensitive="x0", continuous="x1"), Comparability()
    model = SmoothedScores(None, roles, rule, 3.0).fit(X, scores=scores)
    model.save(tmp_path / "smoother.skops")
    again = SmoothedScores.load(tmp_path / "smoother.skops")
    new, given = X[:50], np.linspace(0.1, 0.9, 50)
    one, other = (each.smooth(new, given, graph="reference") for each in (model, again))
    assert np.array_equal(one, other)
    assert again.get_params()["smoothing"] == 3.0
    with pytest.raises(ParameterError, match="estimator is not given, so there are no scores to smooth"):
        again.predict_proba(new)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([0.1, 0.2], r"The scores have shape \(2,\) for 3 people"),
        ([0.1, 0.2, 1.3], "not all between 0 and 1"),
        ([0.1, 0.2, np.nan], "not all between 0 and 1"),
        (["a", "b", "c"], "not a number"),
        ([[0.1], [0.2], [0.3]], "one column per class"),
    ],
)
def test_odd_scores_get_one_line(scores: Any, message: str) -> None:
    people = pa.table({"sex": ["f", "m", "f"], "age": [30, 30, 70]})
    with pytest.raises(ScoreError, match=message):
        SmoothedScores(roles=Roles(sensitive="sex", continuous="age")).smooth(people, scores)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"smoothing": -1.0}, "smoothing is -1.0; give a number, 0 or more"),
        ({"graph": "all"}, "graph is 'all'; choose one of 'reference', 'people'"),
        ({"roles": None}, "roles is None; pass Roles"),
        ({"rule": "near"}, "rule is 'near'; give a Comparability"),
        ({"estimator": RidgeClassifier().fit([[0], [1]], [0, 1])}, "is a RidgeClassifier without predict_proba"),
        ({"estimator": linear()}, "estimator is not fitted, and no labels are given"),
    ],
)
def test_odd_parameters_get_one_line(params: dict[str, Any], message: str) -> None:
    model = SmoothedScores(linear().fit(PEOPLE, LABELS), DATA.roles, DATA.rule).set_params(**params)
    with pytest.raises(ParameterError, match=message):
        model.fit(PEOPLE)


def test_without_a_reference_there_is_nothing_to_compare_with() -> None:
    with pytest.raises(NotFittedError):
        SmoothedScores(linear().fit(PEOPLE, LABELS), DATA.roles).predict_proba(OTHERS)
    with pytest.raises(NotFittedError):
        SmoothedScores(roles=DATA.roles).smooth(OTHERS, np.full(500, 0.5), graph="reference")
