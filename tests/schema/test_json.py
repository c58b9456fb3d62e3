"""A schema is JSON: it comes back equal, and only if nobody touched it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sizes import sized

from likewise.exceptions import SchemaError
from likewise.schema import Roles, Schema

VALUES = st.one_of(
    st.lists(st.none() | st.text(alphabet=st.characters(exclude_categories=["Cs"])), min_size=1, max_size=5),
    st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=5),
    st.lists(st.none() | st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5),
    st.lists(st.none() | st.booleans(), min_size=1, max_size=5),
    st.lists(st.none() | st.dates(), min_size=1, max_size=5),
    st.lists(st.datetimes(timezones=st.just(UTC)), min_size=1, max_size=5),
    st.lists(st.decimals(-99, 99, places=2), min_size=1, max_size=5),
)


def full_schema(make: Callable[..., Any] = pa.table) -> Schema:
    frame = make(
        {
            "id": [1, 2, 3],
            "sex": ["f", "m", None],
            "age": [20.5, 40.25, None],
            "size": ["S", "L", None],
            "pay": [0.1, 0.2, 0.30000000000000004],
            "day": [date(2020, 1, 1), date(2021, 1, 1), None],
            "price": [Decimal("1.20"), Decimal("2.40"), None],
            "seen": [datetime(2020, 1, 1, tzinfo=UTC), None, None],
            "y": [True, False, True],
        }
    )
    roles = Roles(
        sensitive=["sex", "age"],
        discrete="day",
        matched=["price", "seen"],
        continuous="pay",
        ordinal={"size": ["S", "M", "L"]},
        label="y",
        row_id="id",
        bins={"age": 2},
        missing={"size": "apart"},
    )
    return roles.learn(frame)


def test_a_schema_comes_back_equal(make: Callable[..., Any]) -> None:
    schema = full_schema(make)
    back = Schema.from_json(schema.to_json())
    assert back == schema
    assert back.checksum == schema.checksum
    assert back.categories == schema.categories


@settings(max_examples=sized(15, 60))
@given(VALUES)
def test_categories_of_every_type_come_back(values: list[Any]) -> None:
    frame = pa.table({"x": values})
    schema = Roles(discrete="x").learn(frame)
    back = Schema.from_json(schema.to_json())
    assert back == schema
    assert list(map(type, back.categories["x"])) == list(map(type, schema.categories["x"]))
    assert back.decode(back.encode(frame, [0] * len(values))).equals(frame)


def test_categorical_types_come_back() -> None:
    values = pd.Categorical(["b", "a"], categories=["c", "b", "a"], ordered=True)
    schema = Roles(discrete="x").learn(pd.DataFrame({"x": values}))
    assert Schema.from_json(schema.to_json()) == schema


def test_a_file_holds_it_too(tmp_path: Path) -> None:
    schema = full_schema()
    schema.save(tmp_path / "schema.json")
    assert Schema.load(str(tmp_path / "schema.json")) == schema


def test_the_checksum_tells_schemas_apart() -> None:
    first = Roles(discrete="x").learn(pa.table({"x": ["a", "b"]}))
    same = Roles(discrete="x").learn(pa.table({"x": ["b", "a", "b"]}))
    other = Roles(discrete="x").learn(pa.table({"x": ["a", "c"]}))
    assert first.checksum == same.checksum != other.checksum
    assert len(first.checksum) == 64


def test_a_file_cut_short_is_refused() -> None:
    text = full_schema().to_json()
    for length in (0, 1, len(text) // 2, len(text) - 2):
        with pytest.raises(SchemaError, match="not the complete JSON of a schema"):
            Schema.from_json(text[:length])


@pytest.mark.parametrize("text", ['{"format": "likewise schema 1", "low": NaN}', "[" * 100_000], ids=["NaN", "deep"])
def test_what_json_does_not_allow_is_refused(text: str) -> None:
    with pytest.raises(SchemaError, match="not the complete JSON of a schema"):
        Schema.from_json(text)


def test_a_changed_schema_is_refused() -> None:
    text = full_schema().to_json()
    for change in (
        text.replace('"f"', '"x"'),
        text.replace("0.30000000000000004", "0.3"),
        text.replace('"pay"', '"bay"'),
    ):
        assert change != text
        with pytest.raises(SchemaError, match="changed after it was written"):
            Schema.from_json(change)


@pytest.mark.parametrize("text", ["[]", "3", "{}", '{"format": "likewise schema 99"}', "null", '"text"'])
def test_other_json_is_refused(text: str) -> None:
    with pytest.raises(SchemaError, match="This JSON is not a 'likewise schema 1'"):
        Schema.from_json(text)


def test_a_schema_with_holes_is_refused() -> None:
    from likewise._json import hash_json

    data = json.loads(full_schema().to_json())
    del data["checksum"]
    for hole in ("roles", "columns", "kind"):
        broken = {key: value for key, value in data.items() if key != hole}
        with pytest.raises(SchemaError, match="missing or unknown fields"):
            Schema.from_json(json.dumps(broken | {"checksum": hash_json(broken)}))


FORGERIES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a column twice": lambda data: data["columns"].append(data["columns"][1]),
    "a column without a role": lambda data: data["columns"].append(data["columns"][1] | {"name": "x"}),
    "the codec of another role": lambda data: data["columns"][1].update(scale=data["columns"][4]["scale"]),
    "a category twice": lambda data: data["columns"][1]["categories"].update(values=["f", "f"]),
    "an unknown type": lambda data: data["columns"][1]["dtype"].update(arrow="strong"),
    "falling edges": lambda data: data["columns"][2]["intervals"].update(edges=[3, 2]),
    "no rank": lambda data: data["columns"][3]["ranks"].update(median=7),
    "an endless range": lambda data: data["columns"][4]["scale"].update(low=-1e308, high=1e308),
    "many decimals": lambda data: data["columns"][4]["scale"].update(decimals=10**9),
    "an unknown policy": lambda data: data["columns"][4]["scale"].update(missing="maybe"),
    "an unknown kind of frame": lambda data: data.update(kind="frame"),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_schema_is_refused_though_its_checksum_fits(forgery: str) -> None:
    from likewise._json import hash_json

    data = json.loads(full_schema().to_json())
    del data["checksum"]
    FORGERIES[forgery](data)
    with pytest.raises(SchemaError, match="missing or unknown fields") as refusal:
        Schema.from_json(json.dumps(data | {"checksum": hash_json(data)}))
    assert "\n" not in str(refusal.value)


def test_a_number_beyond_any_float_is_refused() -> None:
    text = full_schema().to_json()
    with pytest.raises(SchemaError, match="changed after it was written"):
        Schema.from_json(text.replace("0.30000000000000004", "1e400"))


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=r"Cannot read a schema from .*none\.json': No such file"):
        Schema.load(tmp_path / "none.json")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SchemaError, match="not UTF-8 text"):
        Schema.load(tmp_path / "bytes.json")
