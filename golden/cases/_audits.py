"""Audits of every kind of scores, rules, weights and ways to find pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import likewise
from golden._values import Page
from golden.cases._calls import arrays, ask, case, logistic, pages, planted, public, settled, shown, weights
from likewise import Comparability, Policy, Roles

Found = dict[str, Any]
LIMITS = {"income": "5000", "age": "10 %", "duration": "3", "amount": "0.05 of range"}


def words(threshold: float = 0.5) -> list[str]:
    data = planted()
    return ["approved" if p >= threshold else "denied" for p in data.scores(data.test.X)]


def looser() -> Any:
    return settled(public("adult").rule, max_continuous_shift=0.1, max_discrete_changes=2)


@case("audit.binary")
def binary() -> Found:
    found = ask()
    policy = Policy(labels={1: {"max_gap_mean": 0.04}}, max_flip_rate=0.2, min_roc_auc=0.7, min_pairs=30)
    return pages(found, policy=policy) | arrays(found)


@case("audit.weighted")
def weighted() -> Found:
    found = ask(sample_weight=weights(500))
    return pages(found) | arrays(found)


@case("audit.no_intervals")
def no_intervals() -> Found:
    return shown(ask(n_resamples=0, baseline=False))


@case("audit.confidence")
def confidence() -> Found:
    return shown(ask(confidence=0.9, random_state=3, gap_limit=0.05, n_resamples=200))


@case("audit.adult")
def adult() -> Found:
    found = ask(public("adult"), logistic("adult"))
    return pages(found) | arrays(found)


@case("audit.adult_weighted_column")
def adult_weighted_column() -> Found:
    data = public("adult")
    people = data.test.X.assign(weight=weights(len(data.test)))
    roles = Roles.from_dict({**data.roles.to_dict(), "ignored": ["weight"]}).learn(people)
    scores = logistic("adult").predict_proba(data.test.X)[:, 1]
    return shown(ask(data, scores, X=people, roles=roles, sample_weight="weight", approval_rate=0.25))


@case("audit.compas")
def compas() -> Found:
    data = public("compas")
    name = "race, sex: African-American, Male -> Caucasian, Male"
    transitions = {name: {"max_signed_gap": 0.05, "max_target_better_rate": 0.6, "max_target_only_rate": 0.2}}
    transitions["race: African-American -> Caucasian"] = {"max_signed_gap": 0.05}
    policy = Policy(max_gap_mean=0.2, min_impact_ratio=0.8, transitions=transitions, min_pairs=5)
    return pages(ask(data, logistic("compas")), policy=policy)


@case("audit.several_sensitive")
def several_sensitive() -> Found:
    data = public("adult")
    sensitive = ("race", "sex", "age")
    roles = Roles.infer(data.test.X, sensitive=sensitive, bins={"age": [30, 45, 60]})
    rule = settled(looser(), sensitive_differs="any", must_match=["workclass"])
    found = ask(data, logistic("adult"), roles=roles, rule=rule)
    return shown(found) | {"roles": Page(roles.describe()), "rule": Page(rule.describe(roles))}


@case("audit.all_differ")
def all_differ() -> Found:
    return shown(ask(public("compas"), logistic("compas"), rule=Comparability(1, 0.1, sensitive_differs="all")))


@case("audit.same_group")
def same_group() -> Found:
    return shown(ask(public("compas"), logistic("compas"), rule=Comparability(1, 0.1, sensitive_differs="none")))


def three_labels() -> tuple[Any, Any, Any]:
    from sklearn.linear_model import LogisticRegression

    from golden.cases._calls import piped

    data = public("compas")
    names = [
        np.where(some.y == 0, "again", np.where(some.X["priors_count"] > 1, "never", "rarely"))
        for some in (data.train, data.test)
    ]
    model = piped(LogisticRegression(max_iter=300)).fit(data.train.X, names[0])
    return data, model, names[1]


@case("audit.multiclass")
def multiclass() -> Found:
    data, model, labels = three_labels()
    found = ask(data, model.predict_proba(data.test.X), y=labels, rule=Comparability(1, 0.1))
    return pages(found) | arrays(found)


@case("audit.multiclass_weighted")
def multiclass_weighted() -> Found:
    data, model, labels = three_labels()
    rule = Comparability(1, 0.1)
    return shown(ask(data, model, y=labels, rule=rule, sample_weight=weights(len(labels))))


def amounts() -> tuple[Any, Any]:
    data = planted()
    truth = 1_000 * data.scores(data.test.X, gap=0.0) + np.random.default_rng(2).normal(0, 50, len(data.test))
    return 1_000 * data.scores(data.test.X), truth


@case("audit.regression")
def regression() -> Found:
    scores, truth = amounts()
    found = ask(None, scores, y=truth, task="regression")
    return pages(found, policy=Policy(max_gap_mean=0.5, max_mean_absolute_error=100)) | arrays(found)


@case("audit.regression_weighted")
def regression_weighted() -> Found:
    scores, truth = amounts()
    settings = {"scale": 100.0, "threshold": 500.0, "favourable": "low", "sample_weight": weights(500)}
    return shown(ask(None, scores, y=truth, task="regression", **settings))


@case("audit.decisions")
def decisions() -> Found:
    return pages(ask(None, words(), y=None, favourable="approved"), policy=Policy(max_flip_rate=0.1))


@case("audit.decisions_labelled")
def decisions_labelled() -> Found:
    return shown(ask(None, (planted().scores(planted().test.X) >= 0.5).astype(int)))


@case("audit.no_labels")
def no_labels() -> Found:
    return pages(ask(y=None))


@case("audit.label_is_decision")
def label_is_decision() -> Found:
    return shown(ask(y=(planted().scores(planted().test.X) >= 0.5).astype(int)))


@case("audit.favourable_low")
def favourable_low() -> Found:
    labels = np.where(planted().test.y == 1, "repaid", "default")
    return shown(ask(y=labels, positive="repaid", favourable="default", threshold=0.6))


@case("audit.reference")
def reference() -> Found:
    found = ask(reference={"group": "blue"})
    return pages(found, policy=Policy(min_signed_gap=-0.02, max_control_only_rate=0.1, min_impact_ratio=0.8))


@case("audit.reference_weighted")
def reference_weighted() -> Found:
    reference = {"race": "Caucasian", "sex": ["Female"]}
    data = public("compas")
    return shown(ask(data, logistic("compas"), reference=reference, sample_weight=weights(len(data.test))))


@case("audit.training_rows")
def training_rows() -> Found:
    return shown(ask(X=planted().train.X, y=planted().train.y, roles=planted().roles))


@case("audit.no_better")
def no_better() -> Found:
    found = ask(rule=Comparability(limits=LIMITS, no_better=("income:higher", "amount:lower")), reference="blue")
    return pages(found) | arrays(found)


@case("audit.score_band")
def score_band() -> Found:
    return shown(ask(rule=settled(planted().rule, score_band=0.15), reference="blue"))


@case("audit.units")
def units() -> Found:
    rule = Comparability(limits=LIMITS)
    schema = planted().roles.learn(planted().train.X)
    return pages(ask(rule=rule)) | {"rule": Page(rule.describe(schema)), "as_data": rule.to_dict()}


@case("audit.ranks_dates_gaps")
def ranks_dates_gaps() -> Found:
    """Ordinal columns, dates, missing numbers, row identifiers and columns that must match."""
    random, n = np.random.default_rng(4), 600
    people = pd.DataFrame(
        {
            "id": [f"p{at}" for at in range(n)],
            "sex": random.choice(["f", "m"], n),
            "town": random.choice(np.array(["Bonn", "Jena", None], object), n),
            "grade": random.choice(["A", "B", "C", "D"], n),
            "applied": pd.Timestamp("2025-01-01") + pd.to_timedelta(random.integers(0, 200, n), "D"),
            "income": np.where(random.random(n) < 0.1, np.nan, random.integers(10, 40, n) * 500.0),
            "size": np.where(random.random(n) < 0.1, np.nan, random.random(n)),
            "hired": random.choice(["no", "yes"], n),
        }
    )
    people["p"] = np.clip(0.3 + 0.2 * (people["sex"] == "m") + 0.3 * random.random(n), 0, 1)
    roles = Roles(
        sensitive="sex",
        discrete="town",
        continuous=["applied", "income", "size"],
        ordinal={"grade": ["A", "B", "C", "D"]},
        label="hired",
        row_id="id",
        ignored="p",
        missing={"income": "apart", "size": "median"},
    )
    rule = Comparability(limits={"applied": "40 days", "income": "2000", "grade": "1 rank", "size": "30 % of range"})
    return pages(likewise.audit("p", people, roles=roles, rule=rule, n_worst=20))


@case("audit.streamed")
def streamed() -> Found:
    data = public("adult")
    return shown(ask(data, logistic("adult"), rule=looser(), max_pairs=2_000, n_resamples=200))


@case("audit.streamed_weighted")
def streamed_weighted() -> Found:
    data = public("adult")
    settings = {"rule": looser(), "max_pairs": 2_000, "sample_weight": weights(len(data.test)), "reference": "Widowed"}
    return shown(ask(data, logistic("adult"), **settings))


@case("audit.streamed_no_better")
def streamed_no_better() -> Found:
    rule = settled(looser(), no_better=["capital-gain:higher"], score_band=0.3)
    return shown(ask(public("adult"), logistic("adult"), rule=rule, max_pairs=1_000, reference="Married-civ-spouse"))


@case("audit.streamed_multiclass")
def streamed_multiclass() -> Found:
    data, model, labels = three_labels()
    return shown(ask(data, model, y=labels, rule=Comparability(1, 0.1), max_pairs=500))


@case("audit.sampled")
def sampled() -> Found:
    return shown(ask(public("adult"), logistic("adult"), rule=looser(), max_pairs=2_000, when_too_many="sample"))


@case("audit.sampled_weighted")
def sampled_weighted() -> Found:
    data = public("adult")
    settings = {"max_pairs": 2_000, "when_too_many": "sample", "sample_weight": weights(len(data.test))}
    return shown(ask(data, logistic("adult"), rule=looser(), y=None, **settings))


@case("audit.folder_of_pairs")
def folder_of_pairs() -> Found:
    data = public("adult")
    schema = data.roles.learn(data.train.X)
    likewise.comparable.write_pairs(schema.encode(data.test.X, data.test.y), looser(), "pairs", pairs_per_part=5_000)
    found = {
        name: shown(ask(data, logistic("adult"), rule=looser(), pairs="pairs", n_resamples=100, max_pairs=most))
        for name, most in (("kept", 5_000_000), ("streamed", 2_000))
    }
    return {f"{name}_{form}": one for name, forms in found.items() for form, one in forms.items()}


@case("audit.little_memory")
def little_memory() -> Found:
    return shown(ask(public("adult"), logistic("adult"), rule=looser(), memory_limit="6 MB"))


@case("audit.polars")
def polars() -> Found:
    import polars as pl

    data = planted()
    return shown(ask(data, data.scores(data.test.X), X=pl.from_pandas(data.test.X), y=data.test.y.to_numpy()))


@case("audit.collapsed")
def collapsed() -> Found:
    return shown(ask(None, np.full(500, 0.25)), policy=Policy(max_gap_mean=0.1))


@case("audit.few")
def few() -> Found:
    data = planted()
    return shown(ask(X=data.test.X.head(60), y=data.test.y.head(60)), policy=Policy(max_gap_mean=0.1, min_pairs=10))


@case("audit.refusals")
def refusals() -> Found:
    """What is said where an audit cannot be made."""
    data = planted()
    asked: dict[str, dict[str, Any]] = {
        "no_pairs": {"rule": Comparability(0, 0.0, must_match=("income",))},
        "no_column": {"scores": "p"},
        "beyond": {"scores": np.full(500, 2.0)},
        "weights": {"sample_weight": np.full(500, -1.0)},
        "task": {"task": "regresion"},
        "must_match": {"rule": Comparability(must_match=("incom",))},
        "unit": {"rule": Comparability(limits={"income": "3 days"})},
        "reference": {"reference": {"group": "gren"}},
        "memory": {"memory_limit": "1 kB"},
    }
    told = {}
    for name, settings in asked.items():
        try:
            ask(data, **settings)
        except Exception as error:
            told[name] = f"{type(error).__name__}: {error}"
    return told


@case("audit.spark", slow=True)
def spark() -> Found:
    from golden.cases._spark import ask_spark

    return {
        **{f"plain_{name}": one for name, one in ask_spark().items()},
        **{f"weighted_{name}": one for name, one in ask_spark(sample_weight="weight", max_pairs=60).items()},
    }
