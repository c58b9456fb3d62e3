"""No text of a table runs in a spreadsheet, and all other values stay what they are."""

from __future__ import annotations

import csv
import datetime
import io
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sizes import sized

from likewise.auditing._internal import defuse_formulas

HOSTILE = [
    "=1+1",
    "=HYPERLINK(0)",
    "+cmd|' /C calc'!A0",
    "-2+3+cmd",
    "@SUM(1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "  =1",
    "＝1+1",  # noqa: RUF001  # a wide sign, which East Asian settings read as =
]
HARMLESS = ["", "Ann", "-5", "+3.5", "-1,234.5", "-1e-05", "12%", "-", "a-b", "x=y", "a, -b", "'=1", "<b>", "😀=1"]
PARTED = {"a;=1": "a;'=1", 'a;"=1': "a;\"'=1", "a; -x": "a; '-x", "a\n=1": "a\n'=1", "a\t@b": "a\t'@b"}
texts = st.text(st.sampled_from("=+-@\t\r\n;,'\" 1.aé＝"), max_size=8)  # noqa: RUF001


def through_csv(table: pa.Table) -> list[list[str]]:
    file = io.BytesIO()
    pyarrow.csv.write_csv(table, file)
    return list(csv.reader(io.StringIO(file.getvalue().decode(), newline="")))


@pytest.mark.parametrize("text", HOSTILE)
def test_a_formula_gets_an_apostrophe(text: str) -> None:
    (found,) = defuse_formulas(pa.table({"x": [text]}))["x"].to_pylist()
    assert found.startswith("'")
    assert found.replace("'", "") == text.replace("'", "")


def test_other_text_and_numbers_stay_as_they_are() -> None:
    columns: dict[str, Any] = {
        "text": HARMLESS,
        "int": range(-3, len(HARMLESS) - 3),
        "float": [-0.5] * len(HARMLESS),
        "day": [datetime.date(2026, 3, 1)] * len(HARMLESS),
        "decimal": [Decimal("-1.5")] * len(HARMLESS),
        "bool": [None, True, *[False] * (len(HARMLESS) - 2)],
        "nothing": [None] * len(HARMLESS),
    }
    table = pa.table({name: pa.array(values) for name, values in columns.items()})
    assert defuse_formulas(table).equals(table)
    assert defuse_formulas(table.slice(0, 0)).equals(table.slice(0, 0))


@pytest.mark.parametrize("text", PARTED)
def test_a_formula_behind_what_parts_cells_is_harmless_too(text: str) -> None:
    assert defuse_formulas(pa.table({"x": [text]}))["x"].to_pylist() == [PARTED[text]]


@settings(max_examples=sized(37, 150))
@given(st.lists(st.none() | texts, max_size=6))
def test_whichever_way_a_spreadsheet_reads_it_no_cell_begins_with_a_formula(values: list[str | None]) -> None:
    safe = defuse_formulas(pa.table({"n": range(len(values)), "x": pa.array(values, pa.string())}))
    assert defuse_formulas(safe).equals(safe)  # once is enough
    assert safe["x"].null_count == sum(value is None for value in values)
    cells = [row[1] for row in through_csv(safe)[1:]]
    for whole in cells:
        for part in [whole, *whole.replace("\t", ";").replace("\r", ";").replace("\n", ";").split(";")[1:]]:
            begins = part.strip(' "')[:1]
            if part is not whole or not is_number(part):
                assert begins not in ("=", "+", "-", "@", "＝") or part == whole == "-", (whole, part)  # noqa: RUF001


def is_number(text: str) -> bool:
    try:
        float(text.replace(",", "").strip("%"))
    except ValueError:
        return False
    return True


def test_names_of_columns_are_text_too_and_stay_different() -> None:
    table = pa.table([[1], [2], [3]], names=["=a", "'=a", "b"])
    assert defuse_formulas(table).column_names == ["'=a", "'=a_", "b"]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array(["=1", "a"]).dictionary_encode(), ["'=1", "a"]),
        (pa.array(["=1", "a"], pa.large_string()), ["'=1", "a"]),
        (pa.array(["=1", "a"]).cast(pa.string_view()), ["'=1", "a"]),
        (pa.array([b"=1", None]), ["b'=1'", None]),
        (pa.array([["=1"], None]), ["['=1']", None]),
        (pa.chunked_array([["=1"], ["a"]]), ["'=1", "a"]),
    ],
    ids=["categories", "large", "view", "bytes", "list", "chunks"],
)
def test_text_of_every_kind_can_be_written(column: Any, expected: list[Any]) -> None:
    table = defuse_formulas(pa.table({"x": column}))
    assert table["x"].to_pylist() == expected
    assert ["".join(row) for row in through_csv(table)[1:]] == [value or "" for value in expected]
