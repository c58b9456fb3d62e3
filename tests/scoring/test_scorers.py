"""Gaps as scorers: they are the audit's, in any search, and a search chooses by them within a budget."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from likewise import Comparability, LeastGap, Roles, audit, gap_scorer, load_dataset
from likewise.exceptions import ParameterError, RuleError, SchemaError, ScoreError
from likewise.scoring import PairScorer

DATA = load_dataset("planted")
SCHEMA = DATA.roles.learn(DATA.train.X)
X, Y = DATA.train.X.head(900), DATA.train.y.head(900)
SENSITIVE = list(DATA.roles.sensitive)
MEASURES = ("gap_mean", "gap_q3", "rank_gap_mean")


def logistic(**params: Any) -> Any:
    numbers = make_column_selector(dtype_include="number")
    coding = make_column_transformer((StandardScaler(), numbers), remainder=OneHotEncoder(handle_unknown="ignore"))
    return make_pipeline(coding, LogisticRegression(**params))


MODEL = logistic().fit(X, Y)


@pytest.fixture
def routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def audited(measure: str, rows: slice, people: pd.DataFrame = X, model: Any = MODEL) -> float:
    found = audit(model, people[rows], Y[rows], roles=SCHEMA, rule=DATA.rule, n_resamples=0)[measure].value
    assert found is not None
    return found


@pytest.mark.long(3)
@pytest.mark.parametrize("measure", MEASURES)
@settings(max_examples=2, deadline=None)
@given(start=st.integers(0, 500), n=st.integers(200, 400))
def test_a_score_is_minus_what_an_audit_of_the_same_rows_measures(measure: str, start: int, n: int) -> None:
    rows = slice(start, start + n)
    scorer = gap_scorer(SCHEMA, DATA.rule, measure=measure)
    assert scorer(MODEL, X[rows], Y[rows]) == -audited(measure, rows)


@pytest.mark.long(2)
@pytest.mark.parametrize("measure", ["gap_mean[1]", "flip_rate", "gap_q95", "same_group_gap_mean[0]"])
def test_any_measure_of_pairs_can_be_asked_for(measure: str) -> None:
    assert gap_scorer(SCHEMA, DATA.rule, measure=measure)(MODEL, X, Y) == -audited(measure, slice(None))


def test_settings_are_those_of_an_audit() -> None:
    scorer = gap_scorer(SCHEMA, DATA.rule, measure="flip_rate", threshold=0.3)
    found = audit(MODEL, X, Y, roles=SCHEMA, rule=DATA.rule, threshold=0.3, n_resamples=0)["flip_rate"].value
    assert found is not None
    assert scorer(MODEL, X, Y) == -found != gap_scorer(SCHEMA, DATA.rule, measure="flip_rate")(MODEL, X, Y)


def test_cross_validation_scores_the_pairs_of_the_validation_rows() -> None:
    scoring = {name: gap_scorer(SCHEMA, DATA.rule, measure=name) for name in MEASURES}
    folds = KFold(3)
    found = cross_validate(logistic(), X, Y, scoring=scoring, cv=folds, error_score="raise", return_estimator=True)
    for at, (_, rows) in enumerate(folds.split(X)):
        model, people, labels = found["estimator"][at], X.iloc[rows], Y.iloc[rows]
        measured = audit(model, people, labels, roles=SCHEMA, rule=DATA.rule, n_resamples=0)
        assert [found[f"test_{name}"][at] for name in MEASURES] == [-measured[name].value for name in MEASURES]  # type: ignore[operator]


def test_a_search_refits_the_least_gap_within_the_budget() -> None:
    scoring = {"roc_auc": "roc_auc", "gap": gap_scorer(SCHEMA, DATA.rule)}
    grid = {"logisticregression__C": [3e-3, 1e-2, 1e-1, 1.0]}
    search = GridSearchCV(logistic(), grid, scoring=scoring, refit=LeastGap(max_loss=0.01), cv=2, error_score="raise")
    search = clone(search).fit(X, Y)  # both survive what scikit-learn does to parameters
    utility, gap = (search.cv_results_[f"mean_test_{name}"] for name in ("roc_auc", "gap"))
    within = utility >= utility.max() - 0.01
    assert 0 < within.sum() < len(within)
    assert gap[search.best_index_] == gap[within].max() < 0
    assert not within[gap.argmax()]  # the smallest gap of all would have cost more


@given(
    candidates=st.lists(st.tuples(st.floats(0.4, 1), st.floats(-0.5, 0)), min_size=1, max_size=8),
    max_loss=st.floats(0, 0.3),
)
def test_the_chosen_candidate_is_within_the_budget_and_none_there_is_better(
    candidates: list[tuple[float, float]], max_loss: float
) -> None:
    utility, gap = np.array(candidates).T
    chosen = LeastGap(max_loss=max_loss)({"mean_test_roc_auc": utility, "mean_test_gap": gap})
    within = utility >= utility.max() - max_loss - 1e-9
    assert within[chosen]
    assert gap[chosen] == gap[within].max()


def test_candidates_that_could_not_be_scored_are_not_chosen() -> None:
    found = {"mean_test_roc_auc": [0.9, 0.8, np.nan], "mean_test_gap": [np.nan, -0.1, 0.0]}
    assert LeastGap()(found) == 1
    with pytest.raises(ScoreError, match="error_score='raise'"):
        LeastGap()({"mean_test_roc_auc": [np.nan], "mean_test_gap": [-0.1]})


def test_a_scorer_that_the_search_lacks_is_named() -> None:
    with pytest.raises(ParameterError, match=r"gap names 'gap'.*Its scorers are roc_auc, gaps"):
        LeastGap()({"mean_test_roc_auc": [1.0], "mean_test_gaps": [0.0]})


@pytest.mark.long(3)
@pytest.mark.parametrize("library", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_sensitive_columns_may_lie_outside_what_the_model_sees(library: Any) -> None:
    seen, beside = X.drop(columns=SENSITIVE), X[SENSITIVE]
    model = logistic().fit(seen, Y)
    score = gap_scorer(SCHEMA, DATA.rule)(model, seen, Y, sensitive_features=library(beside))
    assert score == -audited("gap_mean", slice(None), model=model)


def test_sensitive_columns_reach_the_scorer_by_routing(routing: None) -> None:
    seen, beside = X.drop(columns=SENSITIVE), X[SENSITIVE]
    scoring = {"gap": gap_scorer(SCHEMA, DATA.rule), "roc_auc": "roc_auc"}
    outside = cross_validate(
        logistic(), seen, Y, scoring=scoring, params={"sensitive_features": beside}, cv=2, error_score="raise"
    )
    columns = make_column_transformer(("passthrough", list(seen.columns)), verbose_feature_names_out=False)
    inside = make_pipeline(columns.set_output(transform="pandas"), *(step for _, step in logistic().steps))
    kept = cross_validate(inside, X, Y, scoring=scoring, cv=2, error_score="raise")
    assert outside["test_gap"].tolist() == pytest.approx(kept["test_gap"].tolist())


def test_routing_can_be_switched_off_for_a_scorer(routing: None) -> None:
    scorer = gap_scorer(SCHEMA, DATA.rule).set_score_request(sensitive_features="people")
    assert scorer.get_metadata_routing().score.requests == {"sensitive_features": "people"}


def test_arrays_have_columns_by_number() -> None:
    array = np.column_stack([np.arange(80) % 2, np.arange(80) // 2 % 9, np.arange(80) % 7]).astype(float)
    labels = (array[:, 1] + array[:, 0] > 4).astype(int)
    roles = Roles(sensitive="x0", continuous=["x1", "x2"])
    model = LogisticRegression().fit(array, labels)
    people = pa.table({f"x{at}": array[:, at] for at in range(3)})
    rule = Comparability(max_continuous_shift=0.2)
    found = audit(model.predict_proba(array)[:, 1], people, labels, roles=roles, rule=rule, n_resamples=0)
    assert gap_scorer(roles, rule)(model, array, labels) == -found["gap_mean"].value  # type: ignore[operator]


def test_amounts_are_scored_too() -> None:
    amounts = X["income"] + 0.5
    model = make_pipeline(logistic()[0], Ridge()).fit(X, amounts)
    found = audit(model, X, amounts, roles=DATA.roles, rule=DATA.rule, task="regression", n_resamples=0)
    assert gap_scorer(DATA.roles, DATA.rule, task="regression")(model, X, amounts) == -found["gap_mean"].value  # type: ignore[operator]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"roles": ["sex"]}, SchemaError, "roles is a list"),
        ({"rule": 0.1}, RuleError, "The rule is 0.1"),
        ({"measure": "gap_meen"}, ParameterError, "Did you mean 'gap_mean'"),
        ({"measure": "roc_auc"}, ParameterError, "not a measure of pairs"),
        ({"n_resamples": 100}, ParameterError, "n_resamples is not an argument of a scorer"),
        ({"treshold": 0.4}, ParameterError, "Did you mean 'threshold'"),
        ({"threshold": "low"}, ParameterError, "threshold is 'low'"),
    ],
)
def test_odd_arguments_are_refused(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    usual: dict[str, Any] = {"measure": "gap_mean", "roles": SCHEMA}
    with pytest.raises(error, match=message):
        PairScorer(**(usual | arguments))


def test_a_sensitive_column_that_is_nowhere_is_named_with_the_remedy() -> None:
    seen = X.drop(columns=SENSITIVE)
    with pytest.raises(SchemaError, match=r"no column 'group', which is sensitive.*sensitive_features"):
        gap_scorer(SCHEMA, DATA.rule)(logistic().fit(seen, Y), seen, Y)


def test_a_measure_that_these_rows_do_not_have_is_refused() -> None:
    three = np.arange(len(X)) % 3
    with pytest.raises(ScoreError, match=r"gap_mean\[7\] cannot be measured"):
        gap_scorer(SCHEMA, DATA.rule, measure="gap_mean[7]")(logistic(max_iter=500).fit(X, three), X, three)
