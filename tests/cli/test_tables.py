"""Every kind of file is read, or refused in one line that says what to do."""

from __future__ import annotations

import gzip
import io
import os
import re
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.cli.conftest import Run
from tests.sizes import sized

from likewise.cli._options import option_name
from likewise.cli._tables import TableFiles, TextFormat
from likewise.exceptions import TableFileError

TEXT = "race,age,y\nblue,30,1\nré,,0\n"


def read_table(path: Path, **how: Any) -> tuple[pa.Table, list[str]]:
    return TextFormat(**how).read_files([path])[:2]


def parquet_bytes(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pyarrow.parquet.write_table(table, sink)
    return sink.getvalue()


GZIP = gzip.compress(b"a,b\n" + np.random.default_rng(0).integers(48, 58, 20_000).astype(np.uint8).tobytes() + b",1\n")
PARQUET = parquet_bytes(pa.table({"a": list(range(1000)), "b": ["x"] * 1000}))

GOOD = {
    "plain.csv": (TEXT.encode(), {}),
    "mark.csv": (b"\xef\xbb\xbf" + TEXT.encode(), {}),
    "windows.csv": (TEXT.replace("\n", "\r\n").encode(), {}),
    "upper.CSV": (TEXT.encode(), {}),
    "tabs.tsv": (TEXT.replace(",", "\t").encode(), {}),
    "small.csv.gz": (gzip.compress(TEXT.encode()), {}),
    "small.tsv.gz": (gzip.compress(TEXT.replace(",", "\t").encode()), {}),
    "semicolons.csv": (TEXT.replace(",", ";").encode(), {"delimiter": ";"}),
    "latin.csv": (TEXT.encode("latin-1"), {"encoding": "latin-1"}),
    "wide.csv": (TEXT.encode("utf-16"), {"encoding": "utf-16"}),
    "wide_by_its_mark.csv": (TEXT.replace(",", "\t").encode("utf-16"), {}),
    "wider_by_its_mark.csv": (TEXT.encode("utf-32"), {}),
    "semicolons_seen.csv": (b"\xef\xbb\xbf" + TEXT.replace(",", ";").encode(), {}),
    "bars_seen.csv": (TEXT.replace(",", "|").encode(), {}),
    "columns.parquet": (parquet_bytes(pa.table({"race": ["blue", "ré"], "age": [30, None], "y": [1, 0]})), {}),
}


@pytest.mark.parametrize("name", GOOD)
def test_one_table_is_read_the_same_from_every_form(name: str, tmp_path: Path) -> None:
    content, options = GOOD[name]
    (tmp_path / name).write_bytes(content)
    table, notes = read_table(tmp_path / name, **options)
    assert table.to_pydict() == {"race": ["blue", "ré"], "age": [30, None], "y": [1, 0]}
    assert notes == []


BAD = {
    "empty.csv": (b"", "is empty"),
    "blank.csv": (b"\n \n", "is empty"),
    "mark_only.csv": (b"\xef\xbb\xbf", "is empty"),
    "empty.csv.gz": (gzip.compress(b""), "is empty"),
    "damaged.csv.gz": (GZIP[:10] + bytes((0xFF,)) * 4 + GZIP[14:], "incomplete or damaged gzip"),
    "damaged_later.csv.gz": (GZIP[:5000] + bytes((0xFF,)) * 4 + GZIP[5004:], "gzip"),
    "header.csv": (b"a,b\n", "no rows"),
    "header_without_end.csv": (b"a,b", "no rows"),
    "header.parquet": (parquet_bytes(pa.table({"a": pa.array([], pa.int64())})), "no rows"),
    "rubbish.csv": (bytes(range(256)) * 9, "not text but binary"),
    "controls.csv": (bytes(range(1, 256)) * 9, "not text but binary"),
    "encoding.csv": (TEXT.encode("latin-1"), "line 3 has the byte 0xe9. .*--encoding cp1252"),
    "encoded_header.csv": ("ré,y\n1,2\n".encode("latin-1"), "line 1 has the byte 0xe9"),
    "encoded_ragged.csv": ("a,y\nré\n".encode("latin-1"), "line 2 has the byte 0xe9"),
    "short_row.csv": (b"a,b\n1,2\n3\n", r"line 3 has 1 value where the header has 2 columns"),
    "long_row.csv": (b'a,b\n"1\n",2\n3,4,5\n', r"line 4 has 3 values where the header has 2 columns"),
    "quote.csv": (b'a,b\n1,"x\n2,y\n', "never closed"),
    "twice.csv": (b"a,b,a\n1,2,3\n", "more than one column named 'a'"),
    "nameless.csv": (b"a,,b\n1,2,3\n", "Column 2 .* has no name"),
    "columns.csv": (PARQUET, "is a Parquet file"),
    "book.csv": (b"PK\x03\x04rest", "Excel"),
    "packed.csv": (gzip.compress(TEXT.encode()), "name it .csv.gz"),
    "not_packed.csv.gz": (TEXT.encode(), "an incomplete or damaged gzip file"),
    "cut.csv.gz": (gzip.compress(TEXT.encode())[:-9], "an incomplete or damaged gzip file"),
    "cut_late.csv.gz": (gzip.compress(b"a,b\n" + os.urandom(200_000).hex().encode())[:-9000], "cannot be read"),
    "cut.parquet": (PARQUET[:-9], "damaged Parquet file"),
    "hole.parquet": (PARQUET[:8] + bytes(200) + PARQUET[208:], "damaged Parquet file"),
    "names.parquet": (
        parquet_bytes(pa.table({"née": [1]})).replace("né".encode(), b"n\xff\xff"),
        "damaged Parquet file",
    ),
    "words.parquet": (
        parquet_bytes(pa.table({"a": ["née"]})).replace("né".encode(), b"n\xff\xff"),
        "damaged Parquet file",
    ),
    "text.parquet": (TEXT.encode(), "not a Parquet file"),
    "book.xlsx": (b"PK\x03\x04rest", r"unknown ending '.xlsx'"),
    "no_ending": (TEXT.encode(), "has no ending"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_refused_in_one_line_that_names_it(name: str, tmp_path: Path) -> None:
    content, message = BAD[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TableFileError, match=message) as refusal:
        read_table(tmp_path / name)
    assert name in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("encoding", name) for name in ("nonsense", "base64", "idna", "punycode")),
        *(("delimiter", ";;"), ("delimiter", "\0"), ("decimal", ";"), ("decimal", "")),
    ],
)
def test_a_bad_option_is_named(option: str, value: str, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(TEXT, encoding="utf-8")
    with pytest.raises(TableFileError, match=re.escape(f"{option_name(option)} is {value!r}")):
        read_table(tmp_path / "people.csv", **{option: value})


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (("1500,25", "-3,5", "", "12"), [1500.25, -3.5, None, 12.0]),
        (("1.234,5", "1.234", "7", "0,125"), [1234.5, 1234.0, 7.0, 0.125]),
        (("1,234.5", "1,234", "7", "0.125"), [1234.5, 1234.0, 7.0, 0.125]),
        (("1,234,567", "12", "", "3"), [1234567, 12, None, 3]),
        (("1 234", "12", "", "3"), [1234, 12, None, 3]),
        (("31.12.2020", "1.2.2021", "", "3.3.2003"), [date(2020, 12, 31), date(2021, 2, 1), None, date(2003, 3, 3)]),
        (("12/31/2020", "1/2/2021", "", "3/3/2003"), [date(2020, 12, 31), date(2021, 1, 2), None, date(2003, 3, 3)]),
        (("1/2/2020", "1/3/2020", "", "1/4/2020"), ["1/2/2020", "1/3/2020", None, "1/4/2020"]),
        (("31.02.2020", "1.2.2021", "", "3.3.2003"), ["31.02.2020", "1.2.2021", None, "3.3.2003"]),
        (("10.0.0.1", "1.2.3", "", "x"), ["10.0.0.1", "1.2.3", None, "x"]),
        (("1,2,3", "2,x", "", "7"), ["1,2,3", "2,x", None, "7"]),
    ],
)
def test_a_spreadsheet_of_any_country_is_read_without_options(
    cells: tuple[str, ...], values: list[Any], tmp_path: Path
) -> None:
    for separator in (";", ",", "\t"):
        path = tmp_path / "people.csv"
        rows = [("job", "pay"), *(("cook", cell) for cell in cells)]
        text = "".join(f'{job}{separator}"{cell}"\r\n' for job, cell in rows)
        path.write_text("\ufeff" + text, "utf-8", newline="")
        table, notes = read_table(path)
        assert table.to_pydict() == {"job": ["cook"] * 4, "pay": values}
        assert len(notes) == (cells[0] in ("1500,25", "1.234,5"))


def test_a_comma_that_may_be_either_mark_is_refused_by_cell_until_it_is_said(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text('pay;note\n;"two\nlines"\n1,500;a\n2,000;b\n')
    with pytest.raises(TableFileError, match=r"'1,500' in column 'pay', line 4\. Add --decimal ','"):
        read_table(path)
    assert read_table(path, decimal=",")[0].column("pay").to_pylist() == [None, 1.5, 2.0]
    assert read_table(path, decimal=".")[0].column("pay").to_pylist() == [None, 1500, 2000]
    path.write_text("pay;rent\n1.500,25;1,500.25\n")
    with pytest.raises(TableFileError, match=r"'1.500,25' in column 'pay'.* and '1,500.25' in column 'rent'"):
        read_table(path)


@pytest.mark.parametrize("odd", ["?", "None", "-", "unknown", " ", "$6.0", "12%", "1.2.3"])
def test_odd_cells_are_named_by_their_lines_in_every_file(odd: str, tmp_path: Path) -> None:
    lines = [f"{row}.5,x\n" for row in range(30)]
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    files[0].write_text("".join(["pay,job\n", "\n", '7,"two\nlines"\n', *lines]))
    files[1].write_text("".join(["pay,job\n", *lines, f"{odd},x\n"]))
    with pytest.raises(TableFileError, match=re.escape(f"{odd!r} in line 32 of '{files[1]}'")):
        TextFormat().read_files(files)
    settled: list[dict[str, Any]] = [{"text": ["pay"]}]
    settled += [{"missing_values": [odd]}] if odd.strip() else []
    for told in settled:
        assert TextFormat(**told).read_files(files).frame.num_rows == 62


def test_a_column_that_is_there_twice_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("a,b,a\n1,2,1\n")
    table, notes = read_table(tmp_path / "people.csv")
    assert (table.to_pydict(), len(notes)) == ({"a": [1], "b": [2]}, 1)


def test_the_wrong_encoding_for_a_plain_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("a,b\n1,xy\n")
    with pytest.raises(TableFileError, match="is not text in utf-16"):
        read_table(tmp_path / "people.csv", encoding="utf-16")


def test_a_folder_and_a_missing_file_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("a,b\n1,2\n")
    with pytest.raises(TableFileError, match="is a folder"):
        read_table(tmp_path)
    with pytest.raises(TableFileError, match=r"no file .* Did you mean '.*people.csv'"):
        read_table(tmp_path / "poeple.csv")
    with pytest.raises(TableFileError, match=r"no file .* Check the path"):
        read_table(tmp_path / "nowhere" / "people.csv")


def test_the_name_of_a_known_data_set_is_recognised() -> None:
    with pytest.raises(TableFileError, match=r"data sets that likewise knows \(adult, .*load_dataset\('adult'\)"):
        read_table(Path("adult"))


def test_only_the_documented_texts_mean_missing(tmp_path: Path) -> None:
    texts = ["NA", "N/A", "NaN", "nan", "null", "NULL", "", "?", "None", "-", "unknown"]
    (tmp_path / "people.csv").write_text("a,b\n" + "".join(f"{text},1\n" for text in texts))
    table, _ = read_table(tmp_path / "people.csv")
    assert table.column("a").to_pylist() == [None] * 7 + ["?", "None", "-", "unknown"]


def test_row_numbers_that_came_along_are_left_out_and_mentioned(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(",a,b,\n0,1,2,\n1,3,4,\n")
    table, notes = read_table(tmp_path / "people.csv")
    assert table.column_names == ["a", "b"]
    assert len(notes) == 2
    (tmp_path / "people.parquet").write_bytes(parquet_bytes(pa.table({"a": [1], "__index_level_0__": [7]})))
    table, notes = read_table(tmp_path / "people.parquet")
    assert table.column_names == ["a"]
    assert "pandas index" in notes[0]


def test_a_line_break_in_quotes_is_part_of_the_value(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text('a,b\n1,"x\ny"\n')
    table, _ = read_table(tmp_path / "people.csv")
    assert table.column("b").to_pylist() == ["x\ny"]


def test_a_type_that_shows_late_in_the_file_is_seen(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("a,b\n" + "1,y\n" * 50_000 + "1.5,2\n")
    table, _ = read_table(tmp_path / "people.csv")
    assert [str(kind) for kind in table.schema.types] == ["double", "string"]


PIECES = [
    b"a",
    b"1",
    b",",
    b"\n",
    b'"',
    b";",
    b" ",
    b"\r",
    b"NA",
    b"\xe9",
    b"1e400",
    b"\xff\xfe",
    b"x,y\n",
    b"-",
    b"\t",
]


@given(st.lists(st.sampled_from(PIECES), max_size=30).map(b"".join) | st.binary(max_size=60))
@settings(max_examples=sized(20, 150), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_the_bytes_there_is_a_table_or_a_refusal(tmp_path: Path, content: bytes) -> None:
    for name in ("any.csv", "any.parquet", "any.csv.gz"):
        (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
        with suppress(TableFileError):
            table, _ = read_table(tmp_path / name)
            assert table.num_rows
            assert all(column.strip() for column in table.column_names)


def test_a_link_to_itself_is_not_suggested(tmp_path: Path) -> None:
    loop, nowhere = tmp_path / "loop.csv", tmp_path / "nowhere.csv"
    loop.symlink_to(loop)
    nowhere.symlink_to(tmp_path / "gone.csv")
    for path in (loop, nowhere):
        with pytest.raises(TableFileError, match="is a link that leads to no file"):
            read_table(path)


@pytest.mark.parametrize("role", ["--continuous", "--must-match", "--row-id", "--sensitive"])
@pytest.mark.parametrize("zone", ["utc", "Z", "+05:30:15", "Mars/Olympus"])
def test_a_time_zone_that_python_does_not_know_is_one_line(run: Run, tmp_path: Path, zone: str, role: str) -> None:
    times = pa.array(np.arange(200) * 10**9).cast(pa.timestamp("us", zone))
    people = {"sex": ["f", "m"] * 100, "hired": ["no", "yes", "yes", "no"] * 50, "p": np.arange(200) / 200}
    pa.parquet.write_table(pa.table(people | {"when": times}), tmp_path / "people.parquet")
    asked = ("audit", tmp_path / "people.parquet", "--label", "hired", "--sensitive", "sex", "--scores", "p", "--quiet")
    outcome = run(*asked, role, "when")
    assert (outcome.code, outcome.stderr.count("\n")) == (2, 1), outcome.stderr
    assert f"times in the zone '{zone}', which Python does not know" in outcome.stderr


def test_a_file_given_twice_is_refused_by_name(tmp_path: Path) -> None:
    for name, text in {"a.csv": TEXT, "b.csv": TEXT.replace("30", "31"), "copy.csv": TEXT}.items():
        (tmp_path / name).write_text(text, "utf-8")
    a, b, copy = (str(tmp_path / name) for name in ("a.csv", "b.csv", "copy.csv"))
    assert TableFiles(data=[a, b]).read().frame.num_rows == 4
    for data in ([a, b, copy], [a, a]):
        with pytest.raises(TableFileError, match=re.escape(f"'{data[-1]}' is the same as '{a}'")):
            TableFiles(data=data).read()


def test_words_that_mean_missing_are_named(tmp_path: Path) -> None:
    (tmp_path / "odd.csv").write_text("age,job\n30,?\n?,a\nunknown,b\n", "utf-8")
    table, _ = read_table(tmp_path / "odd.csv", missing_values=["?, unknown"])
    assert table.to_pydict() == {"age": [30, None, None], "job": [None, "a", "b"]}
