"""A review sheet as a workbook: types stay, no formula is run, and what comes back is judged like a CSV file."""

from __future__ import annotations

import datetime as dt
import io
import sys
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.records import make_record

from likewise import Comparability, Roles, audit
from likewise.auditing import Review, merge_reviews, review_table, write_review_sheet
from likewise.auditing.evidence import _tables
from likewise.exceptions import MissingExtra, ReviewError, TableFileError
from likewise.record import AuditRecord

openpyxl = pytest.importorskip("openpyxl")


def make_reviewed() -> AuditRecord:
    record = make_record()
    for number, pair in enumerate(record["worst_pairs"]):
        pair |= {"gap": 0.5 - number / 97, "left_id": f"00{number}"}
        pair["factors"][1] |= {"left": '=HYPERLINK("x")', "right": "a\x01b"}
    return AuditRecord.of(record)


RECORD = make_reviewed()
FILLED = {"reviewer": "A. Lee", "date": dt.date(2026, 11, 17), "disposition": "explained", "reason": "second income"}


def fill(path: Path, changes: dict[str, Any], row: int = 2) -> Path:
    """Change cells as a person in a spreadsheet would, and save."""
    book = openpyxl.load_workbook(path)
    head = [cell.value for cell in book.active[1]]
    for name, value in changes.items():
        book.active.cell(row, head.index(name) + 1).value = value
    book.save(path)
    return path


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    write_review_sheet(RECORD, tmp_path / "sheet.xlsx")
    return tmp_path / "sheet.xlsx"


def test_what_is_filled_in_comes_back_and_nothing_else_is_asked_for(sheet: Path) -> None:
    assert merge_reviews(RECORD, sheet).reviews == ()
    (review,) = merge_reviews(RECORD, fill(sheet, FILLED)).reviews
    key = RECORD.pair_keys[0]
    told = {"reviewer": "A. Lee", "date": "2026-11-17", "disposition": "explained", "reason": "second income"}
    assert review == Review(pair=1, key=key, **told)  # type: ignore[arg-type]  # a disposition


def test_cells_keep_their_type_and_hold_no_formula(sheet: Path) -> None:
    page = openpyxl.load_workbook(sheet).active
    head = [cell.value for cell in page[1]]
    assert head == review_table(RECORD).column_names
    assert {cell.data_type for row in page.iter_rows() for cell in row} <= {"s", "n"}
    assert page.cell(2, head.index("gap") + 1).value == 0.5
    assert page.cell(2, head.index("person_id") + 1).value == "000"
    assert b"<f>" not in zipfile.ZipFile(sheet).read("xl/worksheets/sheet1.xml")
    assert '"resolved,explained,unresolved"' in page.data_validations.dataValidation[0].formula1


def test_the_same_record_gives_the_same_bytes(sheet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    later = sheet.with_name("later.xlsx")
    monkeypatch.setattr("time.time", lambda: 2e9)
    write_review_sheet(RECORD, later)
    assert later.read_bytes() == sheet.read_bytes()


def test_a_formula_that_a_reviewer_wrote_is_not_run(sheet: Path) -> None:
    """Without a value that a spreadsheet stored, there is none."""
    with pytest.raises(ReviewError, match="without a reason"):
        merge_reviews(RECORD, fill(sheet, FILLED | {"reason": "=1+1"}))


def zipped(**parts: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return file.getvalue()


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (zipped(mimetype=b"application/vnd.oasis"), r"is not a workbook \(.xlsx\) that can be read"),
        (b"PK\x03\x04 cut off", r"is not a workbook \(.xlsx\) that can be read"),
        (b"\xd0\xcf\x11\xe0 old", "is a workbook of Excel before 2007, or locked. Save it as .xlsx or as CSV"),
        (zipped(huge=b" " * 2000), "unpacks to 2,000 bytes, too many for a review sheet"),
    ],
)
def test_what_cannot_be_read_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, fault: str
) -> None:
    monkeypatch.setattr(_tables, "MOST_BYTES", 1000)
    (tmp_path / "sheet.xlsx").write_bytes(data)
    with pytest.raises(TableFileError, match=fault) as caught:
        merge_reviews(RECORD, tmp_path / "sheet.xlsx")
    assert "\n" not in str(caught.value)


def test_without_the_package_the_extra_is_named(sheet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingExtra, match=r"A review sheet in a workbook \(.xlsx\) needs the package openpyxl"):
        merge_reviews(RECORD, sheet)


def test_differences_are_in_units_where_limits_are() -> None:
    people = pd.DataFrame(
        {
            "sex": ["f", "m"],
            "income": [50_000, 54_000],
            "dti": [40.0, 36.5],
            "applied": [dt.date(2026, 1, 1), dt.date(2026, 1, 31)],
            "age": [30, 30],
        }
    )
    rule = Comparability(limits={"income": "5,000", "dti": "10 %", "applied": "60 days"})
    roles = Roles(sensitive="sex", continuous=["income", "dti", "applied", "age"])
    (line,) = review_table(audit([0.2, 0.8], people, roles=roles, rule=rule, n_resamples=0).to_record()).to_pylist()
    assert (line["difference_in_units_income"], line["tolerance_in_units_income"]) == (4000, 5000)
    assert (line["difference_in_units_dti"], line["tolerance_in_units_dti"]) == (3.5, 4.0)
    assert (line["difference_in_days_applied"], line["tolerance_in_days_applied"]) == (30, 60)
    assert (line["difference_age"], line["tolerance_age"]) == (0, 0.025)


def test_the_person_who_is_worse_off_is_under_review() -> None:
    people = pd.DataFrame({"sex": ["m", "f", "f", "m"], "age": [30, 30, 50, 50]})
    roles, y = Roles(sensitive="sex", continuous="age"), [1, 1, 0, 0]
    how: dict[str, Any] = {"roles": roles, "n_resamples": 0, "baseline": False}
    record = audit([0.8, 0.3, 0.2, 0.6], people, y, reference="m", **how).to_record()
    for line, case in zip(review_table(record).to_pylist(), record.worst_pairs, strict=True):
        assert (line["person_sex"], line["comparator_sex"]) == ("f", "m")
        assert line["person_score"] < line["comparator_score"]
        assert {line["person_row"], line["comparator_row"]} == {case.left_row, case.right_row}
    turned = review_table(audit([0.8, 0.3, 0.2, 0.6], people, y, favourable="low", **how).to_record()).to_pylist()
    assert [line["person_sex"] for line in turned] == ["m", "m"]
