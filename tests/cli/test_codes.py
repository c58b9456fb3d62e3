"""Codes of a CSV file stay what they are: equal only where their text is, and given back as they were."""

from __future__ import annotations

import csv as csv_files
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.cli._columns import ColumnOptions, NamedColumns
from likewise.cli._tables import TableFiles, TextFormat
from likewise.cli._typing import as_numbers

if TYPE_CHECKING:
    from tests.cli.conftest import Run

ASKED = ("--label", "hired", "--sensitive", "sex")


def read(path: Path, content: str, numbers: tuple[str, ...] = (), **how: Any) -> pa.Table:
    path.write_text(content)
    return TextFormat(**how).read_files([path], NamedColumns(frozenset(numbers)))


def column(*cells: str) -> str:
    return "code,x\n" + "".join(f"{cell},1\n" for cell in cells)


@pytest.mark.parametrize(
    ("cells", "is_text"),
    [
        (("007", "7"), True),
        (("7", "007"), True),
        (("01234", ""), True),
        (("10000000000000000001", "10000000000000000002"), True),
        (("1", "99999999999999999999"), True),
        (("12E4", "13"), True),
        ((" 007", "7 "), True),
        (("0", "10"), False),
        (("0.5", "00.7"), False),
        (("1.5", "10000000000000000001"), False),
        (("1e+16", "2"), False),
        (("1e-05", "2.5"), False),
        (("9223372036854775807", "1"), False),
        (("", ""), False),
    ],
)
def test_codes_are_text_and_numbers_numbers(tmp_path: Path, cells: tuple[str, ...], is_text: bool) -> None:
    found = read(tmp_path / "a.csv", column(*cells))
    assert pa.types.is_string(found.frame.schema.field("code").type) == is_text
    assert ("code" in found.text) == is_text
    if is_text:
        assert found.frame.column("code").to_pylist() == [cell or None for cell in cells]


def test_whoever_names_a_column_decides(tmp_path: Path) -> None:
    codes = column("007", "7")
    assert read(tmp_path / "a.csv", codes, ("code",)).frame.column("code").to_pylist() == [7, 7]
    assert read(tmp_path / "a.csv", column("1.50", "2"), text=["code"]).frame.column("code").to_pylist() == [
        "1.50",
        "2",
    ]
    exact = TextFormat().read_files([tmp_path / "a.csv"], text={})
    assert exact.frame.column("code").to_pylist() == [1.5, 2]


CATEGORIES = "sex,code,age,hired\n" + "".join(
    f"{'fm'[row % 2]},{code},{30 + row}.5,{'yn'[row // 2 % 2]}\n"
    for row, code in enumerate(("1.1", "1.10", "1.10", "1.1", "2.5", "2.5"))
)


@pytest.mark.parametrize("option", ["--discrete", "--must-match", "--sensitive"])
def test_categories_keep_the_spelling_of_numbers(run: Run, tmp_path: Path, option: str) -> None:
    path, halves = tmp_path / "all.csv", (tmp_path / "a.csv", tmp_path / "b.csv")
    path.write_text(CATEGORIES)
    lines = CATEGORIES.splitlines(keepends=True)
    for half, rows in zip(halves, (lines[1:2], lines[2:]), strict=True):
        half.write_text("".join([lines[0], *rows]))
    asked: dict[str, Any] = {"sensitive": ["sex"]}
    asked[option[2:].replace("-", "_")] = ["sex", "code"] if option == "--sensitive" else ["code"]
    named = ColumnOptions(**asked).named()
    for files in ([path], [*halves]):
        found = TableFiles(data=[str(file) for file in files]).read(named)
        assert found.frame.column("code").to_pylist() == ["1.1", "1.10", "1.10", "1.1", "2.5", "2.5"]
        assert found.text == {"code": "several spellings"}
        assert pa.types.is_floating(found.frame.schema.field("age").type)
        same = TableFiles(data=[str(file) for file in files]).read(text=found.text)
        assert same.frame.equals(found.frame)
    outcome = run("pairs", path, *ASKED, option, "code", "--max-continuous-shift", "1")
    assert outcome.code == 0
    assert "Column 'code' is read as text: it holds codes, numbers with several spellings" in outcome.stderr


@pytest.mark.parametrize(
    ("cells", "option", "is_text"),
    [
        (("1", "1.0", "2"), None, True),  # inferred to be categories
        (("250.0", "250.00", "250.0"), None, True),
        (("1.1", "1.10", "1.10"), None, False),  # inferred to be amounts
        (("1.1", "1.10", "1.10"), "continuous", False),
        (("1", "1.0", "2"), "label", False),
        (("1", "1.0", "2"), "ignore", False),
        (("1.1", "2.5", "1.1"), "discrete", False),  # one spelling each
        (("1.0", "2.0", ""), None, False),
        ((" 1.1", "1.1 ", "2"), "discrete", False),
    ],
)
def test_numbers_with_one_spelling_each_stay_numbers(
    tmp_path: Path, cells: tuple[str, ...], option: str | None, is_text: bool
) -> None:
    (tmp_path / "a.csv").write_text(column(*cells, *cells))
    asked: dict[str, Any] = {} if option is None else {option: "code" if option == "label" else ["code"]}
    found = TableFiles(data=[str(tmp_path / "a.csv")]).read(ColumnOptions(**asked).named())
    assert pa.types.is_string(found.frame.schema.field("code").type) == is_text


def test_files_with_types_have_no_codes(run: Run, people: pa.Table, tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    pyarrow.parquet.write_table(people, path)
    asked = ("--label", "hired", "--sensitive", "sex", "--text", "age", "--quiet")
    for command in (("pairs",), ("antidote", "--generator", "uniform", "--out", tmp_path / "folder")):
        outcome = run(command[0], path, *asked, *command[1:])
        assert (outcome.code, outcome.stdout) == (2, "")
        assert "--text is for CSV files" in outcome.stderr
    unknown = run("pairs", path.with_name("none.csv"), *asked)
    assert unknown.code == 2


def test_a_model_gets_codes_as_numbers(tmp_path: Path) -> None:
    codes = [" 007", "12E4", "10000000000000000001"]
    found = read(tmp_path / "a.csv", column(*codes))
    assert as_numbers(found.frame, found.text).column("code").to_pylist() == [7.0, 120_000.0, 1e19]
    assert as_numbers(found.frame, {"code": "given"}).column("code").to_pylist() == codes


def test_a_code_in_one_file_is_a_code_in_all(tmp_path: Path) -> None:
    for name, cells in (("a.csv", ("7", "8")), ("b.csv", ("007",))):
        (tmp_path / name).write_text(column(*cells))
    found = TableFiles(data=[str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]).read()
    assert found.frame.column("code").to_pylist() == ["7", "8", "007"]
    assert as_numbers(found.frame, found.text).column("code").to_pylist() == [7, 8, 7]


@given(st.lists(st.text("0123456789", min_size=1, max_size=25), min_size=1, max_size=8))
def test_no_two_whole_numbers_are_merged(tmp_path_factory: pytest.TempPathFactory, cells: list[str]) -> None:
    found = read(tmp_path_factory.mktemp("codes") / "a.csv", column(*cells)).frame.column("code").to_pylist()
    assert len(set(found)) == len(set(cells))


@pytest.fixture
def branches(tmp_path: Path) -> Path:
    """Four people at two branches whose codes are equal as numbers; amounts and ids in forms of their own."""
    path = tmp_path / "people.csv"
    path.write_text(
        "sex,branch,age,id,note,hired\n"
        "f,10000000000000000001,30,0001,1.50,yes\nm,10000000000000000002,30,0002,NA,yes\n"
        "f,007,40,0003,2020-01-01,yes\nm,7,40,0004,=1+1,yes\n"
    )
    return path


def test_people_of_two_branches_are_no_pair(run: Run, branches: Path) -> None:
    outcome = run("pairs", branches, *ASKED, "--must-match", "branch", "--ignore", "note,id", "--json")
    assert json.loads(outcome.stdout)["n_pairs"] == 0
    assert "Column 'branch' is read as text" in outcome.stderr


def test_ignored_and_identifying_columns_come_back_as_they_were(run: Run, branches: Path) -> None:
    out = branches.with_name("out.csv")
    asked = (*ASKED, "--ignore", "note", "--row-id", "id", "--generator", "uniform", "--out", out)
    assert run("antidote", branches, *asked, "--max-continuous-shift", "0").code == 0
    rows, before = (list(csv_files.DictReader(path.read_text().splitlines())) for path in (out, branches))
    assert [{name: row[name] for name in before[0]} for row in rows[:4]] == before
    for row in rows[4:]:
        source = before[int(row["source_row"])]
        assert (row["note"], row["id"]) == (source["note"], source["id"])


def test_formulas_stay_unless_they_are_to_be_defused(run: Run, branches: Path) -> None:
    out = branches.with_name("out.csv")
    asked = (*ASKED, "--ignore", "note", "--row-id", "id", "--generator", "uniform", "--out", out)
    outcome = run("antidote", branches, *asked)
    assert "like a formula: add --defuse-formulas" in outcome.stderr
    assert '"=1+1"' in out.read_text()
    out.unlink()
    outcome = run("antidote", branches, *asked, "--defuse-formulas")
    assert "like a formula" not in outcome.stderr
    assert '"=1+1"' not in out.read_text()
    assert '"\'=1+1"' in out.read_text()


def test_an_audit_of_codes_can_be_verified(run: Run, scored: pa.Table, tmp_path: Path) -> None:
    data, out = tmp_path / "people.csv", tmp_path / "audit"
    padded = pa.array([f"{number % 7:03d}" for number in range(len(scored))])
    pyarrow.csv.write_csv(scored.append_column("zip", padded), data, pyarrow.csv.WriteOptions(quoting_style="none"))
    asked = ("--label", "hired", "--sensitive", "race", "--scores", "p", "--resamples", "0", "--ignore", "name")
    assert run("audit", data, *asked, "--out", out).code == 0
    assert json.loads((out / "audit.json").read_text())["command"]["text"] == {"zip": "leading zeros"}
    assert run("verify", out / "audit.json", data).code == 0
