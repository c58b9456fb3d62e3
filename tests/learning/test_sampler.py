"""Antidotes below the rows they were made of, in whatever the rows and labels came in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from likewise import Comparability, Roles, UniformGenerator, load_dataset
from likewise.exceptions import FewAntidotes, GenerationError, SchemaError
from likewise.learning import AntidoteSampler

DATA = load_dataset("planted")
PEOPLE, LABELS = DATA.train.X.head(300), DATA.train.y.head(300)
KINDS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


def sampler(ratio: float | None = 0.3, **params: Any) -> AntidoteSampler:
    return AntidoteSampler(UniformGenerator(DATA.roles, DATA.rule), **{"ratio": ratio, "random_state": 0, **params})


@pytest.mark.parametrize("kind", list(KINDS))
def test_frames_stay_frames_with_the_people_on_top(kind: str) -> None:
    X = KINDS[kind](PEOPLE)
    made = sampler()
    rows, labels = made.fit_resample(X, LABELS)
    assert type(rows) is type(X)
    assert len(rows) == len(labels) == 390
    top = rows[:300] if kind == "polars" else rows.slice(0, 300) if kind == "pyarrow" else rows.head(300)
    assert top.equals(X)
    assert made.sample_indices_.tolist() == [*range(300), *made.antidotes_.source]
    assert labels.tolist() == LABELS.to_numpy()[made.sample_indices_].tolist()
    assert sum(made.sampling_strategy_.values()) == len(made.antidotes_) == 90


def test_antidotes_differ_from_their_sources_in_what_is_sensitive() -> None:
    made = sampler()
    rows, _ = made.fit_resample(PEOPLE, LABELS)
    below = rows.iloc[300:][["group", "gender"]].to_numpy()
    above = PEOPLE.iloc[made.sample_indices_[300:]][["group", "gender"]].to_numpy()
    assert (below != above).any(axis=1).all()


@pytest.mark.long(3)
@pytest.mark.parametrize(
    "labels",
    [
        LABELS.astype("int8").set_axis(range(5, 305)),
        LABELS.map({0: "no", 1: "yes"}).astype("category"),
        pl.Series("repaid", LABELS.to_numpy()),
        pa.chunked_array([LABELS.to_numpy()]),
        LABELS.to_numpy(),
        LABELS.to_numpy(np.bool_),
        LABELS.tolist(),
        LABELS.to_frame(),
        np.column_stack([LABELS == 0, LABELS == 1, np.zeros(300)]).astype(int),
    ],
    ids=["int8", "category", "polars", "arrow", "array", "bools", "list", "frame", "indicators"],
)
def test_labels_come_back_as_they_came(labels: Any) -> None:
    made = sampler()
    _, found = made.fit_resample(PEOPLE, labels)
    assert type(found) is type(labels)
    assert getattr(found, "dtype", None) == getattr(labels, "dtype", None)
    assert getattr(found, "name", None) == getattr(labels, "name", None)
    assert np.array_equal(np.asarray(found), np.asarray(labels)[made.sample_indices_])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_arrays_stay_arrays_of_their_type(dtype: type[Any]) -> None:
    X = np.column_stack([np.arange(60) % 2, np.arange(60), np.arange(60) % 7]).astype(dtype)
    generator = UniformGenerator(
        Roles(sensitive="x0", continuous=["x1", "x2"]), Comparability(max_continuous_shift=0.2)
    )
    rows, labels = AntidoteSampler(generator, 0.5, random_state=0).fit_resample(X, np.arange(60) % 2)
    assert isinstance(rows, np.ndarray)
    assert rows.dtype == dtype
    assert rows.shape == (90, 3)
    assert len(labels) == 90
    assert np.array_equal(rows[:60], X)
    assert set(rows[:, 0]) == {0, 1}


def test_without_a_ratio_there_is_one_round() -> None:
    made = sampler(ratio=None)
    made.fit_resample(PEOPLE, LABELS)
    assert set(made.antidotes_.round) == {0}
    assert made.antidotes_.ratio > 1


def test_the_same_seed_gives_the_same_rows() -> None:
    one, other, third = sampler(), sampler(), sampler(random_state=1)
    rows, _ = one.fit_resample(PEOPLE, LABELS)
    assert rows.equals(other.fit_resample(PEOPLE, LABELS)[0])
    assert rows.equals(one.fit_resample(PEOPLE, LABELS)[0])
    assert not rows.equals(third.fit_resample(PEOPLE, LABELS)[0])


def test_a_fitted_generator_is_used_as_it_is() -> None:
    generator = UniformGenerator(DATA.roles, DATA.rule, random_state=3).fit(DATA.train.X, DATA.train.y)
    made = AntidoteSampler(generator, 0.3)
    rows, _ = made.fit_resample(PEOPLE, LABELS)
    assert made.generator_ is generator
    assert rows.equals(made.fit_resample(PEOPLE, LABELS)[0])  # by the generator's own seed


def test_fitting_alone_makes_nothing() -> None:
    made = sampler().fit(PEOPLE, LABELS)
    assert made.generator_.schema_.roles == DATA.roles
    assert list(made.feature_names_in_) == list(PEOPLE.columns)
    assert not hasattr(made, "antidotes_")
    assert not hasattr(made.generator, "schema_")


def test_pipelines_and_grid_searches_of_imbalanced_learn() -> None:
    pipeline = pytest.importorskip("imblearn.pipeline")
    from sklearn.compose import make_column_selector, make_column_transformer

    numbers = make_column_selector(dtype_include="number")
    steps = (
        AntidoteSampler(
            FrozenEstimator(UniformGenerator(DATA.roles, DATA.rule).fit(DATA.train.X, DATA.train.y)), random_state=0
        ),
        make_column_transformer((StandardScaler(), numbers), remainder=OneHotEncoder(handle_unknown="ignore")),
        LogisticRegression(max_iter=1000),
    )
    model = pipeline.make_pipeline(*steps)
    assert cross_val_score(model, PEOPLE, LABELS, cv=3).mean() > 0.6
    search = GridSearchCV(model, {"antidotesampler__ratio": [0.1, 0.5]}, cv=2).fit(PEOPLE, LABELS)
    best = search.best_estimator_
    n_wanted = round(300 * search.best_params_["antidotesampler__ratio"])
    assert len(best[0].antidotes_) == n_wanted
    assert best.predict(PEOPLE).shape == (300,)  # nothing is added to rows to predict for
    assert pipeline.Pipeline([("sampler", clone(steps[0])), *zip("ab", steps[1:], strict=True)]).fit(PEOPLE, LABELS)


@pytest.mark.parametrize("ratio", [0, -0.1, "much", np.nan, True])
def test_odd_ratios_are_refused(ratio: Any) -> None:
    with pytest.raises(ValueError, match=r"ratio is .*more than 0"):
        sampler(ratio=ratio).fit_resample(PEOPLE, LABELS)


@pytest.mark.parametrize(
    ("generator", "words"),
    [
        (None, "generator is None"),
        (LogisticRegression(), "LogisticRegression, which has no method generate"),
        (UniformGenerator, "the class UniformGenerator"),
        (FrozenEstimator(UniformGenerator(DATA.roles)), "is not fitted"),
    ],
)
def test_what_makes_no_antidotes_is_refused(generator: Any, words: str) -> None:
    with pytest.raises((TypeError, GenerationError), match=words):
        AntidoteSampler(generator).fit_resample(PEOPLE, LABELS)


def test_more_than_can_be_made_says_how_many_could() -> None:
    X = pd.DataFrame({"sex": ["f", "m"] * 20, "job": ["cook"] * 40})
    made = AntidoteSampler(UniformGenerator(Roles(sensitive="sex", discrete="job")), ratio=3, random_state=0)
    with pytest.warns(FewAntidotes, match=r"Only 40 \w+ antidotes could be \w+ for 40 rows, not 120"):
        rows, _ = made.fit_resample(X, [0, 1] * 20)
    assert len(rows) == 80


class NothingComparable(UniformGenerator):
    """Propose rows that no rule lets pass."""

    def _propose(self, sources: Any, wanted: Any, keys: Any) -> Any:
        from dataclasses import replace

        return replace(sources, sensitive=wanted, continuous=sources.continuous + 1)


@pytest.mark.parametrize("ratio", [0.3, None])
@pytest.mark.filterwarnings("ignore:Only 0 distinct antidotes")
def test_no_antidotes_for_any_row_is_said_and_leaves_the_rows(ratio: float | None) -> None:
    made = AntidoteSampler(NothingComparable(DATA.roles, DATA.rule), ratio=ratio, random_state=0)
    with pytest.warns(FewAntidotes, match="No antidote could be generated for any of the 300 rows"):
        rows, labels = made.fit_resample(PEOPLE, LABELS)
    assert rows.equals(PEOPLE)
    assert labels.equals(LABELS)
    assert made.sampling_strategy_ == {}


def test_a_generator_of_other_columns_says_which() -> None:
    generator = UniformGenerator(DATA.roles, DATA.rule).fit(DATA.train.X, DATA.train.y)
    other = PEOPLE.rename(columns={"region": "area", "income": "wage"})
    with pytest.raises(SchemaError, match="'region', 'income' are missing here, and 'area', 'wage' are unknown to it"):
        AntidoteSampler(generator).fit_resample(other, LABELS)
    with pytest.raises(SchemaError, match="'pet' is unknown to it"):
        AntidoteSampler(generator).fit_resample(PEOPLE.assign(pet="cat"), LABELS)


def test_a_label_among_the_columns_is_refused() -> None:
    with pytest.raises(SchemaError, match="X contains its label, column 'repaid'"):
        sampler().fit_resample(PEOPLE.assign(repaid=LABELS), LABELS)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([1] * 300, "one class only, 1"),
        (np.linspace(0, 1, 300), "Unknown label type"),
        (np.ones((300, 2), int), "no class or several"),
        ([0, 1], "inconsistent numbers of samples"),
        (None, "requires y to be passed"),
    ],
    ids=["one class", "fractions", "several", "few", "none"],
)
def test_labels_nobody_can_learn_from_are_refused(labels: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        sampler().fit_resample(PEOPLE, labels)


def test_frames_without_rows_are_refused() -> None:
    with pytest.raises(SchemaError, match="y is empty"):
        sampler().fit_resample(PEOPLE.head(0), [])


def test_a_fit_that_failed_leaves_nothing_behind() -> None:
    made = sampler()
    made.fit_resample(PEOPLE, LABELS)
    with pytest.raises(SchemaError, match="X contains its label"):
        made.fit_resample(PEOPLE.assign(repaid=LABELS), LABELS)
    assert [name for name in vars(made) if name.endswith("_")] == []
