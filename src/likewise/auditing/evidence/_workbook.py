"""A review sheet as an Excel workbook (.xlsx), there and back: text stays text, and no formula is ever run."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping
from datetime import date, datetime, time
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from likewise._extras import require
from likewise.exceptions import TableFileError

if TYPE_CHECKING:
    import pyarrow as pa

PURPOSE: Final = "A review sheet in a workbook (.xlsx)"
FIRST_DAY: Final = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip file can hold: the same sheet is the same bytes
MOST_BYTES: Final = 1 << 28  # unpacked: a sheet of some hundred pairs has a few million
WIDTHS: Final = {"key": 16, "reviewer": 16, "date": 12, "disposition": 13, "reason": 40}
WIDTH: Final = 14
MOST_EXACT: Final = 1e15  # whole numbers up to here are shown with all digits
CONTROLS: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
MADE: Final = re.compile(rb"(<dcterms:(?:created|modified)[^>]*>)[^<]*")


def workbook_of(table: pa.Table, choices: Mapping[str, tuple[str, ...]]) -> bytes:
    """Return a table as a workbook with one sheet; cells of some columns are to be chosen from a list."""
    openpyxl = require("openpyxl", extra="xlsx", purpose=PURPOSE)
    from openpyxl.styles import Font
    from openpyxl.utils import get_column_letter
    from openpyxl.worksheet.datavalidation import DataValidation

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "review"
    sheet.freeze_panes = sheet.cell(2, 3)
    for place, name in enumerate(table.column_names, 1):
        _fill(sheet.cell(1, place), name)
        sheet.cell(1, place).font = Font(bold=True)
        letter = get_column_letter(place)
        sheet.column_dimensions[letter].width = WIDTHS.get(name, WIDTH)
        for row, value in enumerate(table.column(name).to_pylist(), 2):
            _fill(sheet.cell(row, place), value, is_date=name == "date")
        if name in choices:
            rule = DataValidation(type="list", formula1=f'"{",".join(choices[name])}"', allow_blank=True)
            rule.add(f"{letter}2:{letter}{max(table.num_rows + 1, 2)}")
            sheet.add_data_validation(rule)
    made = BytesIO()
    book.save(made)
    return _without_times(made.getvalue())


def _fill(cell: Any, value: Any, *, is_date: bool = False) -> None:
    """Put a value into a cell: text as text, whatever it begins with, and numbers as numbers."""
    is_text = isinstance(value, str)
    cell.value = without_controls(value) if is_text else value
    if is_text:
        cell.data_type = "s"
        cell.quotePrefix = True  # stays text when it is edited
    cell.number_format = "yyyy-mm-dd" if is_date else "@" if is_text else "General"


def without_controls(text: str) -> str:
    """Return text as a workbook can hold it."""
    return CONTROLS.sub("?", text)


def _without_times(data: bytes) -> bytes:
    """Return a zip file without the times at which its parts were made."""
    made = BytesIO()
    with zipfile.ZipFile(BytesIO(data)) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            part = old.read(name)
            if name == "docProps/core.xml":
                part = MADE.sub(rb"\g<1>1980-01-01T00:00:00Z", part)
            new.writestr(zipfile.ZipInfo(name, FIRST_DAY), part, zipfile.ZIP_DEFLATED)
    return made.getvalue()


def read_workbook(path: Path, data: bytes) -> list[list[str]]:
    """Read the sheet of a workbook that has the columns of a review sheet, as text; of formulas, what they showed."""
    openpyxl = require("openpyxl", extra="xlsx", purpose=PURPOSE)
    try:
        with zipfile.ZipFile(BytesIO(data)) as parts:
            n_bytes = sum(part.file_size for part in parts.infolist())
        if n_bytes > MOST_BYTES:
            raise TableFileError(f"'{path}' unpacks to {n_bytes:,} bytes, too many for a review sheet.")
        book = openpyxl.load_workbook(BytesIO(data), data_only=True, keep_links=False)
    except TableFileError:
        raise
    except Exception as error:  # openpyxl raises what its parts do: KeyError, ValueError, errors of zip and XML
        raise TableFileError(
            f"'{path}' is not a workbook (.xlsx) that can be read: {' '.join(str(error).split())[:80]}. Save the sheet "
            "as Excel 2007 (.xlsx) or as CSV."
        ) from error
    sheets = [
        [[_as_text(cell) for cell in row] for row in sheet.iter_rows(values_only=True)] for sheet in book.worksheets
    ]
    fits = [rows for rows in sheets if rows and "key" in rows[0]]
    return fits[0] if fits else sheets[0] if sheets else []


def _as_text(value: Any) -> str:
    """Write a cell as a CSV file has it."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < MOST_EXACT else repr(value)
    return str(value)
