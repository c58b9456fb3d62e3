"""The scorers as metrics of skore's reports, where skore is installed."""

from __future__ import annotations

import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from likewise import audit, gap_scorer, load_dataset


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_a_report_shows_the_gap_of_the_test_rows() -> None:
    skore = pytest.importorskip("skore")
    data = load_dataset("planted")
    schema = data.roles.learn(data.train.X)
    numbers = make_column_selector(dtype_include="number")
    coding = make_column_transformer((StandardScaler(), numbers), remainder=OneHotEncoder(handle_unknown="ignore"))
    rows = {"X_train": data.train.X, "y_train": data.train.y, "X_test": data.test.X, "y_test": data.test.y}
    report = skore.EstimatorReport(make_pipeline(coding, LogisticRegression()), pos_label=1, **rows)
    report.metrics.add(gap_scorer(schema, data.rule), name="gap")
    shown = report.metrics.summarize(metric=["roc_auc", "gap"]).frame()
    found = audit(report.estimator_, data.test.X, data.test.y, roles=schema, rule=data.rule, n_resamples=0)
    assert -shown["gap"] == pytest.approx(found["gap_mean"].value)
