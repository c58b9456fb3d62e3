"""Leaving sensitive columns out changes nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array, issparse
from sklearn import config_context
from sklearn.base import clone

from likewise import Roles
from likewise.baselines import DropSensitive
from likewise.exceptions import SchemaError

PEOPLE = {"sex": ["f", None, "m"], "age": [20, 30, 40], "job": ["cook", "smith", None], "race": ["a", "b", "a"]}
LEFT = {"age": PEOPLE["age"], "job": PEOPLE["job"]}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("roles", [["sex", "race"], Roles(sensitive=["race", "sex"], discrete="job", continuous="age")])
def test_the_same_kind_of_frame_comes_out(make: Any, roles: Any) -> None:
    drop = DropSensitive(roles)
    left = drop.fit_transform(make(PEOPLE))
    assert type(left) is type(make(PEOPLE))
    assert left.equals(make(LEFT))
    assert drop.get_feature_names_out().tolist() == ["age", "job"]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize(("kind", "wanted"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_another_kind_can_be_asked_for_and_types_stay(make: Any, kind: str, wanted: Any) -> None:
    left = clone(DropSensitive(["sex", "race"]).set_output(transform=kind)).fit_transform(make(PEOPLE))
    assert isinstance(left, wanted)
    assert str(left["age"].dtype).lower() == "int64"
    assert left["job"].to_list()[:2] == ["cook", "smith"]
    with config_context(transform_output=kind):
        assert left.equals(DropSensitive(["sex", "race"]).fit_transform(make(PEOPLE)))


def test_the_index_of_a_pandas_frame_stays() -> None:
    frame = pd.DataFrame(PEOPLE, index=[7, 8, 9])
    assert DropSensitive("sex").fit_transform(frame).index.tolist() == [7, 8, 9]


def test_arrays_have_columns_by_number() -> None:
    array = np.array([[1, 2, 3], [4, 5, 6]])
    drop = DropSensitive("x1").fit(array)
    assert drop.transform(array).tolist() == [[1, 3], [4, 6]]
    assert drop.transform(array).dtype == array.dtype
    assert drop.get_feature_names_out().tolist() == ["x0", "x2"]
    assert drop.get_feature_names_out(["a", "b", "c"]).tolist() == ["a", "c"]
    sparse = drop.transform(csr_array(array))
    assert issparse(sparse)
    assert sparse.toarray().tolist() == [[1, 3], [4, 6]]
    assert drop.set_output(transform="pandas").transform(csr_array(array)).columns.tolist() == ["x0", "x2"]


def test_what_stands_in_the_columns_is_not_judged() -> None:
    array = np.array([["f", "cook", np.nan], ["m", None, 2.5]], dtype=object)
    assert DropSensitive("x0").fit_transform(array)[0, 0] == "cook"
    numbers = np.array([[1.0, np.nan], [2.0, np.inf]])
    assert np.array_equal(DropSensitive("x0").fit_transform(numbers), numbers[:, 1:], equal_nan=True)


def test_refusals() -> None:
    frame = pd.DataFrame(PEOPLE)
    with pytest.raises(SchemaError, match=r"no column 'sexx'.*Did you mean 'sex'"):
        DropSensitive("sexx").fit(frame)
    with pytest.raises(SchemaError, match="nothing would be left"):
        DropSensitive(list(PEOPLE)).fit(frame)
    with pytest.raises(SchemaError, match="No column is sensitive"):
        DropSensitive(Roles(discrete="job")).fit(frame)
    with pytest.raises(ValueError, match="transform is 'arrow'; choose one of"):
        DropSensitive("sex").set_output(transform="arrow")
