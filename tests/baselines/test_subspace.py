"""The sensitive subspace: what it contains, what it leaves alone, and what it says about itself."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.linalg import LinAlgWarning
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from tests.sizes import sized

from likewise import Roles
from likewise.baselines import ProjectSensitive, SensitiveSubspace, Subspace
from likewise.baselines._subspace import SensitiveGroup, learn_subspace, orthonormal_rows
from likewise.exceptions import NoisyDirections, SchemaError, UnsettledDirections

WIDTH = 6
NUMBERS = st.integers(-4, 4).map(float)  # whole ones, so that ranks are beyond doubt
STACKS = st.integers(0, 5).flatmap(lambda n: arrays(np.float64, (n, WIDTH), elements=NUMBERS))
ROWS = arrays(np.float64, (3, WIDTH), elements=NUMBERS)


def people(n: int = 400, seed: int = 0) -> pd.DataFrame:
    """Make people whose sex shows in their height and job, and whose origin shows in the number of their house."""
    rng = np.random.default_rng(seed)
    sex, origin = rng.integers(0, 2, n), rng.integers(0, 3, n)
    return pd.DataFrame(
        {
            "sex": np.array(["f", "m"])[sex],
            "height": 165 + 12 * sex + rng.normal(0, 6, n),
            "job": np.where(rng.random(n) < 0.2 + 0.6 * sex, "smith", "cook"),
            "origin": np.array(["east", "north", "south"])[origin],
            "house": 10 * origin + rng.normal(0, 5, n),
            "age": rng.uniform(20, 60, n),
        }
    )


@settings(max_examples=sized(15, 60))
@given(STACKS, ROWS, st.lists(NUMBERS, min_size=5, max_size=5))
def test_the_projector_takes_out_what_the_rows_span_and_nothing_else(
    stack: NDArray[np.float64], rows: NDArray[np.float64], steps: list[float]
) -> None:
    subspace = Subspace(orthonormal_rows(stack))
    projector = subspace.projector
    assert subspace.rank == (np.linalg.matrix_rank(stack) if len(stack) else 0)
    assert np.array_equal(projector, projector.T)
    assert projector @ projector == pytest.approx(projector, abs=1e-10)
    assert stack @ projector == pytest.approx(np.zeros_like(stack), abs=1e-10)
    assert np.trace(projector) == pytest.approx(WIDTH - subspace.rank)
    inside = np.array(steps[: subspace.rank]) @ subspace.basis if subspace.rank else np.zeros(WIDTH)
    assert subspace.distance(rows, rows + inside) == pytest.approx(np.zeros(3), abs=1e-10)
    across = subspace.project(rows)
    assert subspace.distance(rows, rows + across) == pytest.approx((across**2).sum(axis=1), abs=1e-10)


def test_the_rank_counts_values_less_one_and_indicators() -> None:
    frame = people()
    made = SensitiveSubspace(["sex", "origin"]).fit(frame)
    assert made.basis_ @ made.basis_.T == pytest.approx(np.eye(made.rank_), abs=1e-12)
    assert made.rank_ == 1 + 2 + 5


def test_no_sensitive_column_helps_to_tell_another() -> None:
    frame = people()
    frame["origin"] = frame["sex"].map({"f": "north", "m": "south"})  # tells the sex by itself
    made = SensitiveSubspace(["sex", "origin"]).fit(frame)
    sensitive = np.concatenate([made.coding_.positions(name) for name in ("sex", "origin")])
    assert not made.basis_[: made.rank_ - len(sensitive), sensitive].any()  # nor is it in a learned direction
    assert made.attribute_accuracy_["sex"] < 0.97


def test_a_number_is_told_by_its_bins() -> None:
    frame = people()
    made = SensitiveSubspace(Roles(sensitive="house", bins={"house": 3})).fit(frame)
    assert made.rank_ == 2 + 1  # two directions for three bins, and the number itself
    assert made.attribute_accuracy_["house"] > made.majority_["house"] + 0.1
    assert made.coding_.positions("house").tolist() == [made.coding_.names.index("house")]


def test_a_column_that_cannot_be_told_is_named() -> None:
    frame = people(4_000)  # of few rows, chance alone tells a few percent
    frame["coin"] = np.random.default_rng(1).choice(["head", "tail"], len(frame))
    with pytest.warns(NoisyDirections, match="hardly predict 'coin'.*DropSensitive") as given:
        made = SensitiveSubspace(["coin", "sex"]).fit(frame)
    assert len(given) == 1
    assert given[0].filename == __file__
    assert made.subspace_.is_noise == {"coin": True, "sex": False}


def test_many_columns_of_chance_do_not_pass_for_knowledge() -> None:
    rng = np.random.default_rng(0)  # on its own rows a model would be right about nearly all
    group = SensitiveGroup("group", np.array([0]), rng.integers(0, 2, 60).astype(np.int32))
    with pytest.warns(NoisyDirections):
        learn_subspace(rng.normal(size=(60, 50)), [group])


def test_a_rare_group_that_can_be_told_is_no_noise() -> None:
    frame = people(2_000)
    frame["guild"] = np.where(np.arange(2_000) % 50 == 0, "member", "none")
    frame["badge"] = np.random.default_rng(1).normal(size=2_000) + 2 * (frame["guild"] == "member")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = SensitiveSubspace("guild").fit(frame)
    assert made.attribute_accuracy_["guild"] < made.majority_["guild"] + 0.02
    assert made.subspace_.balanced_accuracy["guild"] > 0.7


@pytest.mark.parametrize("seed", range(3))
def test_a_rare_group_of_chance_is_noise(seed: int) -> None:
    frame = people(600, seed)
    frame["guild"] = np.where(np.arange(600) % 50 == 0, "member", "none")
    with pytest.warns(NoisyDirections, match="hardly predict 'guild'"):
        SensitiveSubspace("guild").fit(frame)


def test_the_projector_takes_out_a_regression_fitted_elsewhere() -> None:
    frame = people()
    made = SensitiveSubspace(["sex", "origin"]).fit(frame)
    inputs = made.coding_.encode(frame).dense().astype(np.float64)
    sensitive = np.concatenate([made.coding_.positions(name) for name in ("sex", "origin")])
    free = np.setdiff1d(np.arange(inputs.shape[1]), sensitive)
    for name in ("sex", "origin"):
        model = LogisticRegression(tol=1e-10, max_iter=10_000).fit(inputs[:, free], frame[name])
        padded = np.zeros((len(model.coef_), inputs.shape[1]))
        padded[:, free] = model.coef_
        assert np.linalg.norm(padded, axis=1).max() > 1
        assert padded @ made.projector_ == pytest.approx(np.zeros_like(padded), abs=1e-4)


def test_one_value_only_has_no_direction() -> None:
    with pytest.warns(NoisyDirections, match=r"^'sex' has the same value in every row"):
        made = SensitiveSubspace("sex").fit(people().query("sex == 'f'"))
    assert made.rank_ == 1


def test_nothing_else_to_tell_by() -> None:
    with pytest.warns(NoisyDirections, match="^There is no other column to predict 'sex'"):
        made = SensitiveSubspace("sex").fit(people()[["sex"]])
    assert made.projector_.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_rough_directions_are_admitted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("likewise.baselines._subspace.N_STEPS", 1)
    with pytest.warns(UnsettledDirections, match="'sex'.*scaling='range'"):
        SensitiveSubspace("sex").fit(people())


@pytest.mark.parametrize(("given", "told"), [(LinAlgWarning, UnsettledDirections), (FutureWarning, FutureWarning)])
def test_no_warning_of_a_regression_is_lost(
    given: type[Warning], told: type[Warning], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Warned(LogisticRegression):  # type: ignore[misc]  # scikit-learn ships no types
        def fit(self, *args: Any, **more: Any) -> Any:
            warnings.warn("of something inside", given, stacklevel=1)
            return super().fit(*args, **more)

    monkeypatch.setattr("sklearn.linear_model.LogisticRegression", Warned)
    with pytest.warns(told):
        SensitiveSubspace("sex").fit(people())


def test_numbers_of_any_size_can_stay_as_they_are() -> None:
    frame = people()
    frame["house"] *= 1e4
    made = SensitiveSubspace("sex", scaling="none").fit(frame)
    assert made.attribute_accuracy_["sex"] > 0.8


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_every_kind_of_frame_gives_the_same(make: Any) -> None:
    frame = people()
    made = SensitiveSubspace("sex").fit(make(frame.to_dict(orient="list")))
    assert made.projector_ == pytest.approx(SensitiveSubspace("sex").fit(frame).projector_, abs=1e-12)


def test_names_alone_mean_roles_inferred() -> None:
    frame = people()
    whole = Roles.infer(frame, sensitive=["sex", "origin"])
    by_name = SensitiveSubspace(["sex", "origin"]).fit(frame)
    assert by_name.roles_ == whole
    assert np.array_equal(by_name.basis_, SensitiveSubspace(whole).fit(frame).basis_)
    labelled = Roles(sensitive="sex", label="hired")  # which stands in y
    assert SensitiveSubspace(labelled).fit(frame).roles_.continuous == ("height", "house", "age")


@pytest.mark.parametrize(
    ("parameters", "error", "words"),
    [
        ({"roles": Roles(discrete="sex")}, SchemaError, "No column is sensitive"),
        ({"roles": []}, SchemaError, "No column is sensitive"),
        ({"roles": "sexx"}, SchemaError, "no column 'sexx'.*Did you mean 'sex'"),
        ({"roles": "sex", "scaling": "log"}, ValueError, "scaling is 'log'; choose one of 'range'"),
        ({"roles": "height"}, SchemaError, "Cut it into intervals"),
    ],
)
def test_refusals(parameters: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        SensitiveSubspace(**parameters).fit(people())


@pytest.mark.long(3)
@pytest.mark.parametrize("roles", ["sex", ["sex", "origin"], Roles(sensitive="house", bins={"house": 2})])
def test_a_saved_projection_is_the_same_again(roles: Any, tmp_path: Path) -> None:
    frame = people()
    made = ProjectSensitive(roles, scaling="deviation").fit(frame)
    made.save(tmp_path / "saved.skops")
    loaded = ProjectSensitive.load(tmp_path / "saved.skops")
    assert np.array_equal(loaded.transform(frame), made.transform(frame))
    assert (loaded.attribute_accuracy_, loaded.majority_, loaded.rank_) == (
        made.attribute_accuracy_,
        made.majority_,
        made.rank_,
    )
    assert loaded.get_params() == made.get_params()
    assert (loaded.subspace_.is_noise, loaded.roles_) == (made.subspace_.is_noise, made.roles_)
    again = clone(loaded).fit(frame)
    assert np.array_equal(again.basis_, made.basis_)
