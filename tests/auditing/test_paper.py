"""The paper's numbers, from a plain scikit-learn model on each of its five data sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

from likewise import Audit, Dataset, audit

NUMBERS = (
    "roc_auc",
    "average_precision",
    "gap_mean[1]",
    "gap_q3[1]",
    "gap_mean[0]",
    "gap_q3[0]",
)

# the published rows "LR (Base)", in percent
PUBLISHED = {"adult": (90.04, 75.72, 31.75, 43.55, 10.25, 18.37), "dutch": (89.55, 87.87, 17.84, 24.15, 21.81, 30.29)}
TOLERANCE = {"adult": 0.3, "dutch": 1.3}  # Adult has its own split; Dutch was split at random, we do not know how

# What this model gives on our split of the others. Their published rows lie outside what ten random splits give
# (Law School: gaps 2.0 to 2.7 and 7.2 to 10.6 against 3.67 and 11.70; OULAD: ROC 63.9 to 67.3 against 63.04); COMPAS
# has a figure only. Measured once, so that a change of the metrics shows.
MEASURED = {
    "law_school": (86.14, 97.68, 2.59, 3.21, 7.46, 9.86),
    "oulad": (66.70, 80.22, 6.51, 9.50, 7.59, 11.53),
    "compas": (71.67, 72.41, 10.31, 14.29, 12.02, 17.12),
}
PAIRS = {"adult": 10_605, "compas": 3_651, "law_school": 1_608, "oulad": 4_238, "dutch": 16_166}


def fit(data: Dataset) -> Pipeline:
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), [*data.roles.sensitive, *data.roles.discrete]),
        (MinMaxScaler(), list(data.roles.continuous)),
    )
    return make_pipeline(columns, LogisticRegression(C=1, max_iter=2048)).fit(data.train.X, data.train.y)


def audit_logistic(data: Dataset, **options: Any) -> Audit:
    schema = data.roles.learn(data.train.X)
    return audit(fit(data), data.test.X, data.test.y, roles=schema, rule=data.rule, n_resamples=0, **options)


@pytest.mark.long(6)
@pytest.mark.parametrize("name", PAIRS)  # of Adult: tests/paper/test_fast.py
def test_logistic_regression_gives_the_numbers_of_the_paper(name: str, public: Callable[[str], Dataset]) -> None:
    found = audit_logistic(public(name))
    percent = [100 * (found[number].value or 0.0) for number in NUMBERS]
    assert len(found.pairs) == PAIRS[name]
    if name in PUBLISHED:
        assert percent == pytest.approx(PUBLISHED[name], abs=TOLERANCE[name])
    else:
        assert percent == pytest.approx(MEASURED[name], abs=0.1)


def test_differing_in_all_or_none_of_the_sensitive_columns_is_a_rule_like_any(public: Callable[[str], Dataset]) -> None:
    data = public("compas")
    means = {}
    for differs in ("any", "all", "none"):
        schema = data.roles.learn(data.train.X)
        rule = type(data.rule).from_dict(data.rule.to_dict() | {"sensitive_differs": differs})
        found = audit(fit(data), data.test.X, data.test.y, roles=schema, rule=rule, n_resamples=0)
        means[differs] = found["gap_mean"].value
    assert means["all"] > means["any"] > means["none"]  # type: ignore[operator]  # all are known
    # the baseline of an audit is the audit of pairs equal in the sensitive columns
    assert audit_logistic(data)["same_group_gap_mean"].value == pytest.approx(means["none"])
