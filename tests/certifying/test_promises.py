"""What a certificate promises, on random tables, rules and models."""

from __future__ import annotations

import json
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from tests.certifying.people import ROLES, draw_labels, draw_people, draw_rule, encoder, models, score
from tests.libraries import has_lightgbm
from tests.sizes import sized

from likewise import Certificates, Comparability, Roles, certify, mine_pairs
from likewise.exceptions import LikewiseError

ROUNDED = 1e-6  # XGBoost adds up float32
KINDS = tuple(models(0))


def fitted(kind: str, seed: int, n_test: int = 60) -> tuple[Any, pd.DataFrame, pd.DataFrame]:
    random = np.random.default_rng(seed)
    train, test = draw_people(random, 300), draw_people(random, n_test)
    if seed % 2:  # people have more decimals than the training rows
        train["income"] = train["income"].round()
    model = models(seed)[kind].fit(train, draw_labels(random, train))
    return model, train, test


def encode(schema: Any, people: pd.DataFrame) -> Any:
    return schema.encode(people, np.zeros(len(people), np.int64))


@pytest.mark.long(3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(sized(1, 40)))
def test_no_pair_exceeds_its_certificate_and_every_row_found_is_comparable(kind: str, seed: int) -> None:
    seed = 10 * seed + KINDS.index(kind)  # another rule for each model
    model, train, test = fitted(kind, seed, sized(40, 120))
    test["extra"] = 0.5 * (test["area"] == "n")  # the rule does not compare it, but equal areas: pairs share it
    rule, schema = draw_rule(np.random.default_rng(seed)), ROLES.learn(train)
    found = certify(model, test, roles=schema, rule=rule, n_jobs=1)
    table, own, rows = encode(schema, test), score(model, test), score(model, found.rows)
    rounded = ROUNDED * max(1.0, np.abs(own).max())
    np.testing.assert_allclose(found.scores, own, atol=1e-12)
    np.testing.assert_allclose(found.reached, np.abs(rows - own), atol=rounded)
    assert rule.holds(table, encode(schema, found.rows))[found.reached > 0].all()
    assert (found.gaps >= found.reached).all()
    assert found.is_exact.all()
    assert (found.rows["extra"] == test["extra"]).all()
    pairs = mine_pairs(table, rule)
    rises = own[pairs.right] - own[pairs.left]
    least = np.minimum(found.gaps[pairs.left], found.gaps[pairs.right])
    assert (np.abs(rises) <= least + rounded).all()


@pytest.mark.long(3)
@pytest.mark.parametrize("kind", sized(("ridge", "forest", "xgboost sparse"), KINDS))
def test_no_row_drawn_near_a_person_exceeds_the_certificate(kind: str) -> None:
    model, train, test = fitted(kind, 1, sized(8, 20))
    rule, schema = Comparability(1, 0.15, sensitive_differs="any"), ROLES.learn(train)
    found = certify(model, test, roles=schema, rule=rule, n_jobs=1)
    random, n = np.random.default_rng(1), 200
    people = np.repeat(np.arange(len(test)), n)
    rows, others = test.iloc[people].reset_index(drop=True), draw_people(random, len(people))
    for name in ("group", "sex", "size"):
        rows[name] = np.where(random.random(len(rows)) < 0.5, others[name], rows[name])
    changed = random.choice(["job", "town", "none"], len(rows))
    for name in ("job", "town"):
        rows[name] = np.where(changed == name, others[name], rows[name])
    rows["income"] += random.uniform(-1, 1, len(rows)) * 0.15 * np.ptp(train["income"])
    rows["age"] += random.integers(-3, 4, len(rows))
    inside = rows["income"].between(train["income"].min(), train["income"].max()) & rows["age"].between(0, 19)
    near = rule.holds(encode(schema, test)[people], encode(schema, rows)) & inside.to_numpy()
    gaps = np.abs(score(model, rows) - found.scores[people])
    assert near.sum() > 300
    assert (gaps <= found.gaps[people] + ROUNDED * max(1.0, np.abs(found.scores).max()))[near].all()


def everybody(train: pd.DataFrame) -> pd.DataFrame:
    """List every combination of categories and whole numbers, for one person's other values."""
    values = {name: sorted(train[name].unique()) for name in ("group", "sex", "job", "town", "size", "age")}
    rows = pd.DataFrame(list(product(*values.values())), columns=list(values))
    return rows.assign(area="n", income=1.0, extra=0.0)[train.columns]


@pytest.mark.long(2)
@pytest.mark.parametrize(
    ("kind", "differs"),
    sized(
        [("logistic", "any"), ("boosted", "all"), ("xgboost sparse", "any"), ("xgboost amounts", "none")],
        list(product(KINDS, ("any", "all", "none"))),
    ),
)
def test_the_gap_is_that_of_the_worst_of_all_rows(kind: str, differs: Any) -> None:
    random = np.random.default_rng(len(kind))
    train = draw_people(random, 300)
    train["age"] %= 4
    model = models(0)[kind].fit(train, draw_labels(random, train))
    rows, schema = everybody(train), ROLES.learn(train)
    rule = Comparability(len(kind) % 3, {"age": 0.4, "income": 0.0}, sensitive_differs=differs)
    some = random.choice(len(rows), sized(12, 30), replace=False)
    found = certify(model, rows.iloc[some].reset_index(drop=True), roles=schema, rule=rule, n_jobs=1)
    table, scores = encode(schema, rows), score(model, rows)
    for at, person in enumerate(some):
        near = rule.holds(table[np.full(len(rows), person)], table)
        worst = np.abs(scores[near] - scores[person]).max(initial=0.0)
        assert abs(found.gaps[at] - worst) <= ROUNDED * max(1.0, np.abs(scores).max())


@pytest.mark.parametrize("kind", sized(("forest",), tuple(kind for kind in KINDS if kind not in ("logistic", "ridge"))))
def test_a_bound_is_never_below_the_exact_gap(kind: str) -> None:
    model, train, test = fitted(kind, 3, sized(30, 60))
    rule, schema = Comparability(1, 0.15), ROLES.learn(train)
    exact = certify(model, test, roles=schema, rule=rule, n_jobs=1)
    rough = certify(model, test, roles=schema, rule=rule, max_splits=1, n_jobs=2)
    assert not rough.is_exact.all()
    assert (rough.gaps >= exact.gaps - ROUNDED).all()
    assert (rough.reached <= exact.reached + ROUNDED).all()


@pytest.mark.parametrize("kind", sized(("ridge",), KINDS))
def test_numbers_beyond_the_range_are_considered_where_asked_for(kind: str) -> None:
    model, train, test = fitted(kind, 2, 40)
    rule, schema = Comparability(0, 0.3), ROLES.learn(train)
    inside, beyond = (
        certify(model, test, roles=schema, rule=rule, within_range=is_within, n_jobs=1) for is_within in (True, False)
    )
    assert (beyond.gaps >= inside.gaps - ROUNDED).all()
    ends = min(train["income"].min(), test["income"].min()), max(train["income"].max(), test["income"].max())
    assert inside.rows["income"].between(*ends).all()
    if kind == "ridge":
        assert not beyond.rows["income"].between(*ends).all()
        assert (beyond.gaps > inside.gaps + ROUNDED).any()
    assert rule.holds(encode(schema, test), encode(schema, beyond.rows)).all()
    moved = test.assign(income=test["income"] + 0.29 * np.ptp(train["income"]))
    for name in ("group", "sex"):
        other = moved.assign(**{name: np.roll(moved[name], 1)})
        near = rule.holds(encode(schema, test), encode(schema, other))
        gaps = np.abs(score(model, other) - beyond.scores)
        assert (gaps <= beyond.gaps + ROUNDED * max(1.0, np.abs(beyond.scores).max()))[near].all()


def same(one: Certificates, other: Certificates) -> bool:
    return bool((one.gaps == other.gaps).all() and one.rows.equals(other.rows))


def test_threads_change_nothing() -> None:
    model, train, test = fitted("xgboost sparse", 1, sized(60, 300))
    how: dict[str, Any] = {"roles": ROLES.learn(train), "rule": Comparability(1, 0.1)}
    assert same(certify(model, test, **how, n_jobs=1), certify(model, test, **how, n_jobs=3))


@pytest.mark.skipif(not has_lightgbm(), reason="LightGBM is not installed, or the machine has no libgomp")
def test_lightgbm_is_certified_exactly() -> None:
    lightgbm = import_module("lightgbm")
    random = np.random.default_rng(0)
    train, test = draw_people(random, 300), draw_people(random, 40)
    trees = lightgbm.LGBMClassifier(n_estimators=8, max_depth=3, verbose=-1, random_state=0, n_jobs=1)
    model = make_pipeline(encoder(coder=OrdinalEncoder()).set_output(transform="pandas"), trees)
    model.fit(train, draw_labels(random, train))
    rule, schema = Comparability(1, 0.15), ROLES.learn(train)
    found = certify(model, test, roles=schema, rule=rule, n_jobs=1)
    assert found.is_exact.all()
    np.testing.assert_allclose(found.reached, np.abs(score(model, found.rows) - score(model, test)), atol=ROUNDED)
    assert rule.holds(encode(schema, test), encode(schema, found.rows)).all()


def test_what_cannot_be_certified_is_refused_in_a_line() -> None:
    model, train, test = fitted("logistic", 0)
    schema = ROLES.learn(train)
    numbers = train[["income", "age"]]

    def refuses(words: str, model: Any = model, people: pd.DataFrame = test, **how: Any) -> None:
        with pytest.raises(LikewiseError, match=words) as error:
            certify(model, people, **{"roles": schema, **how})
        assert "\n" not in str(error.value)

    refuses("no_better and score_band ask", rule=Comparability(no_better=("age",), score_band=0.1))
    refuses("nobody to certify", people=test.iloc[:0])
    refuses(
        "column 'income', which the table lacks",
        people=test.drop(columns="income"),
        roles=Roles(sensitive="sex", ignored=list(test.columns.drop(["sex", "income"]))),
    )
    refuses(
        "is cut into bins",
        roles=Roles(sensitive="age", bins={"age": 3}, ignored=list(train.columns.drop("age"))).learn(train),
    )
    for other in (SVC(), HistGradientBoostingClassifier(max_iter=2)):
        refuses("cannot be looked into. What can: linear models", other.fit(numbers, train["sex"]))
    refuses("3 labels", LogisticRegression().fit(numbers, train["group"]))
    mixed = make_pipeline(PCA(1), LogisticRegression()).fit(numbers, train["sex"])
    refuses("a step PCA, through which single columns cannot be followed", mixed)
    words = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression()).fit(train, train["sex"])
    refuses("OneHotEncoder may turn the continuous column 'age' into categories", words)


def test_columns_of_one_value_and_categories_that_the_model_never_saw() -> None:
    model, train, test = fitted("logistic", 0)
    alone = test.assign(group="a", sex="f")
    found = certify(model, alone, roles=ROLES.learn(alone))
    assert not found.is_possible.any()
    assert (found.gaps == 0).all()
    assert "Nobody comparable is possible for 60 people" in str(found)
    wider = pd.concat([train, train.iloc[:1].assign(job="pilot")], ignore_index=True)
    found = certify(model, test, roles=ROLES.learn(wider))
    assert found.refused_categories == {"job": 1}
    assert "pilot" not in set(found.rows["job"])
    assert found.fixed_columns == ("extra",)
    stump = make_pipeline(encoder(), DecisionTreeClassifier(max_depth=1)).fit(train, train["income"] > 1)
    wider = pd.concat([train, train.iloc[:1].assign(group="z", sex="z")], ignore_index=True)
    for differs in ("any", "all"):  # in columns that the tree has no test of
        found = certify(stump, test, roles=ROLES.learn(wider), rule=Comparability(sensitive_differs=differs))
        assert "z" not in {*found.rows["group"], *found.rows["sex"]}
        assert found.is_possible.all()


def test_shares_and_exports(tmp_path: Path) -> None:
    model, train, test = fitted("logistic", 0)
    found = certify(model, test, roles=ROLES.learn(train))
    share = found.share_within(0.2)
    assert share.n_within == int((found.gaps <= 0.2).sum())
    assert share.low < share.value < share.high
    with pytest.raises(LikewiseError, match=r"limit is 10, .* For 10% give 0.1"):
        found.share_within(10)
    assert list(found.to_frame()["gap_bound"]) == found.gaps.tolist()
    found.save(tmp_path / "found.json")
    found.save(tmp_path / "found.csv")
    saved = json.loads((tmp_path / "found.json").read_text())
    assert saved["people"]["gap_bound"] == found.gaps.tolist()
    assert len(pd.read_csv(tmp_path / "found.csv")) == len(test)
    with pytest.raises(LikewiseError, match=r"ends in .json or .csv"):
        found.save(tmp_path / "found.txt")
