"""Whatever a file or a request says, its reader returns something or refuses it in one line of ours.

Tables are fuzzed in tests/cli/test_tables.py; ``HYPOTHESIS_PROFILE=explore`` looks for new inputs instead of the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.explore.asgi import Client
from tests.records import make_record
from tests.sizes import sized

from likewise import Policy, Schema, UniformGenerator, load_dataset
from likewise.comparable import read_pairs, write_pairs
from likewise.exceptions import LikewiseError
from likewise.explore import Explorer, build_app
from likewise.generation import load_generator
from likewise.report import to_html, to_markdown
from likewise.schema import CodedTable, Roles

MUCH = settings(max_examples=sized(10, 5_000))
TOKEN = "abcdefghijklmnop-_0123456789"
PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
JSON = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
)
WORDS = ["max_gap_mean", "min_pairs", "[policy]", "=", "0.1", "-1", "\n", "[", "]", "{", "}", '"', "#", ".", ",", "inf"]
TOML = st.lists(st.sampled_from(WORDS) | st.text(max_size=3), max_size=12).map("".join)


def read(reader: Callable[[], object]) -> None:
    """Read something; a refusal is one line."""
    said = "something is returned"
    try:
        reader()
    except LikewiseError as error:
        said = str(error)
    assert said
    assert "\n" not in said


def put(data: Any, value: Any, draw: st.DataObject) -> None:
    """Put a value somewhere into plain data, or take out what is there."""
    while True:
        names = list(data) if isinstance(data, dict) else list(range(len(data)))
        name = draw.draw(st.sampled_from(names))
        if not isinstance(data[name], dict | list) or not data[name] or draw.draw(st.integers(0, 3)) == 0:
            break
        data = data[name]
    if draw.draw(st.booleans()):
        data[name] = value
    else:
        del data[name]


@cache
def encoded() -> CodedTable:
    data = load_dataset("planted", n_rows=300)
    return data.roles.learn(data.train.X).encode(data.train.X, data.train.y)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of pairs, a generator and a schema of one small table."""
    path = tmp_path_factory.mktemp("fuzzed")
    data = load_dataset("planted", n_rows=300)
    data.roles.learn(data.train.X).save(path / "schema.json")
    write_pairs(encoded(), data.rule, path / "pairs")
    UniformGenerator(data.roles).fit(data.train.X, data.train.y).save(path / "generator")
    return path


@MUCH
@given(TOML)
def test_a_policy(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "policy.toml"
    path.write_bytes(text.encode("utf-8", "replace"))
    read(lambda: Policy.from_toml(path))


@settings(max_examples=sized(4, 2_000))  # pages take their time
@given(JSON, st.data())
def test_the_record_of_an_audit(value: Any, draw: st.DataObject) -> None:
    record = make_record()
    put(record, value, draw)
    read(lambda: (to_html(record), to_markdown(record)))


@pytest.mark.parametrize(
    ("file", "reader"),
    [
        ("schema.json", Schema.load),
        ("generator/likewise.json", lambda path: load_generator(path.parent)),
        ("pairs/_about.json", lambda path: list(read_pairs(path.parent, encoded()))),
    ],
    ids=["a schema", "a generator", "pairs"],
)
@MUCH
@given(value=JSON, draw=st.data())
def test_the_description_of(
    folder: Path, file: str, reader: Callable[[Path], object], value: Any, draw: st.DataObject
) -> None:
    path = folder / file
    sound = path.read_bytes()
    described = json.loads(sound)
    put(described, value, draw)
    try:
        path.write_bytes(json.dumps(described).encode())
        read(lambda: reader(path))
    finally:
        path.write_bytes(sound)


@pytest.fixture(scope="module")
def client() -> Client:
    people = pa.table({"sex": ["f", "m"] * 6, "age": range(12), "hired": ["no", "yes", "yes"] * 4, "p": [0.1, 0.9] * 6})
    roles = Roles(sensitive="sex", continuous="age", label="hired", ignored="p")
    explorer = Explorer("p", people, roles=roles)
    return Client(build_app(explorer, token=TOKEN, port=8123), "127.0.0.1:8123")


@MUCH
@given(
    st.sampled_from(["about", "look", "pair", "what-if", "pairs.csv", "policy.toml"]),
    JSON | st.dictionaries(st.sampled_from(["changes", "shift", "left", "right", "side", "changed", "label"]), JSON),
)
def test_a_request_to_the_explorer(client: Client, what: str, question: Any) -> None:
    answer = client.post(f"/{TOKEN}/api/{what}", question, {"x-likewise-token": TOKEN})
    assert answer.status_code in (200, 400, 413, 422)
    assert b"Traceback" not in answer.content
