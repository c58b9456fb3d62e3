"""Pairs as tables for CSV files and workbooks: one row per pair, and text that no spreadsheet runs as a formula."""

from __future__ import annotations

import math
import re
import zipfile
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from likewise._checks import free_name
from likewise._extras import require
from likewise.exceptions import ScoreError, TableFileError
from likewise.record._internal import Factor, PairCase
from likewise.schema._internal import array_of, as_arrow

if TYPE_CHECKING:
    import pyarrow as pa

Sides = dict[str, tuple[list[Any], list[Any]]]
# A cell that begins like this is run, or may be once blanks and quotes are cut off; wide signs in East Asian settings.
FORMULA: Final = r"^[\t\r\n]|^[\s\"]*[=+\-@＝＋－＠]"  # noqa: RUF001  # spreadsheets take the wide signs, too
NUMBER: Final = r"^-$|^[+-]?(\d+([.,]\d+)*|[.,]\d+)([eE][+-]?\d+)?%?$"
# Where commas do not part cells, a text may fall into several, and a quote is a letter like any other.
LATER_FORMULA: Final = r"([;\t\r\n][\" ]*)([=+\-@＝＋－＠])"  # noqa: RUF001  # spreadsheets take the wide signs, too
PURPOSE: Final = "A review sheet in a workbook (.xlsx)"
FIRST_DAY: Final = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip file can hold: the same sheet is the same bytes
MOST_BYTES: Final = 1 << 28  # unpacked: a sheet of some hundred pairs has a few million
WIDTHS: Final = {"key": 16, "reviewer": 16, "date": 12, "disposition": 13, "reason": 40}
WIDTH: Final = 14
MOST_EXACT: Final = 1e15  # whole numbers up to here are shown with all digits
CONTROLS: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
MADE: Final = re.compile(rb"(<dcterms:(?:created|modified)[^>]*>)[^<]*")


def cases_table(cases: Sequence[PairCase], labels: Sequence[Any] | None = None) -> pa.Table:
    """Write pairs as a table: one row per pair, and two columns for everything that both people have.

    Parameters
    ----------
    cases : sequence of PairCase
        Such as the ``worst`` pairs of an audit.
    labels : sequence, optional
        Where people have a score for each label, the labels, to name the columns of scores by; otherwise these are
        numbered from 0.

    Returns
    -------
    pyarrow.Table
        ``rank``, ``left_row``, ``right_row``, ``left_id``, ``right_id``, ``label``, ``left_score``, ``right_score``,
        ``gap``, ``rank_gap``, ``flip``, ``differs``, and ``left_…`` and ``right_…`` of every compared column. Where
        such a name is taken, the column's has an underscore more.

    Examples
    --------
    >>> from likewise.auditing import Factor, PairCase, cases_table
    >>> sex = Factor(column="sex", role="sensitive", left="f", right="m", differs=True)
    >>> case = PairCase(left_row=3, right_row=8, left_id=3, right_id=8, label="yes", left_score=0.25, right_score=0.75,
    ...                 gap=0.5, rank_gap=0.4, is_flip=True, factors=(sex,))
    >>> table = cases_table([case])
    >>> table.column_names[-3:], table["right_sex"].to_pylist()
    (['differs', 'left_sex', 'right_sex'], ['m'])
    """
    import pyarrow as pa

    columns: dict[str, Any] = {"rank": as_arrow(range(1, len(cases) + 1))}
    for name, (left, right) in _rows_and_ids(cases).items():
        columns[f"left_{name}"], columns[f"right_{name}"] = typed_alike(left, right)
    columns["label"] = typed([case.label for case in cases])
    scores = scores_by_name(cases, labels)
    for name, (left, right) in scores.items():
        columns[f"left_{name}"], columns[f"right_{name}"] = array_of(left, pa.float64()), array_of(right, pa.float64())
    columns["gap"] = array_of([case.gap for case in cases], pa.float64())
    columns["rank_gap"] = array_of([case.rank_gap for case in cases], pa.float64())
    columns["flip"] = array_of([case.is_flip for case in cases], pa.bool_())
    columns["differs"] = array_of([", ".join(case.differing) for case in cases], pa.string())
    for name, (left, right) in factors_by_name(cases, {"row", "id", *scores}).items():
        columns[f"left_{name}"], columns[f"right_{name}"] = typed_alike(left, right)
    return pa.table(columns)


def _rows_and_ids(cases: Sequence[PairCase]) -> Sides:
    return {
        "row": ([case.left_row for case in cases], [case.right_row for case in cases]),
        "id": ([case.left_id for case in cases], [case.right_id for case in cases]),
    }


def scores_by_name(cases: Sequence[PairCase], labels: Sequence[Any] | None) -> Sides:
    """Return the scores of both people by name: one each, or one per class."""
    left, right = [case.left_score for case in cases], [case.right_score for case in cases]
    if not any(isinstance(score, tuple) for score in left):
        return {"score": (left, right)}
    sides = [list(zip(*side, strict=True)) for side in (left, right)]
    n_labels = len(sides[0])
    if labels is not None and len(labels) != n_labels:
        raise ScoreError(f"{len(labels):,} labels for {n_labels:,} scores per person. Give one label for each score.")
    named: Sides = {}
    for label, one, other in zip(range(n_labels) if labels is None else labels, *sides, strict=True):
        named[free_name(f"score_{label}", named)] = list(one), list(other)
    return named


def factors_by_name(cases: Sequence[PairCase], taken: set[str]) -> Sides:
    """Return the values of both people by column; a name that is taken has an underscore more."""
    named: Sides = {}
    for column in range(len(cases[0].factors) if cases else 0):
        factors = [case.factors[column] for case in cases]
        name = free_name(factors[0].column, {*taken, *named})
        named[name] = [factor.left for factor in factors], [factor.right for factor in factors]
    return named


def typed_alike(left: list[Any], right: list[Any]) -> tuple[Any, Any]:
    """Find the type of both sides together: one of them may hold nothing but missing values."""
    both = typed([*left, *right])
    return both.slice(0, len(left)), both.slice(len(left))


def typed(values: list[Any]) -> Any:
    """Find the type of values, which is text where it is none or several."""
    import pyarrow as pa

    try:
        array = array_of(values)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):  # several types: text can hold them all
        array = array_of([as_text(value) for value in values], pa.string())
    return array.cast(pa.string()) if pa.types.is_null(array.type) else array


def is_within(factor: Factor) -> bool | None:
    """Return whether a difference is within its tolerance; a column that must match tolerates none."""
    if factor.role == "matched":
        return not factor.differs
    shift = _known(factor.shift)
    return None if shift is None or factor.tolerance is None else shift <= factor.tolerance + factor.tie


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def defuse_formulas(table: pa.Table) -> pa.Table:
    """Return a table that is safe to open in a spreadsheet: an apostrophe stands before text that is a formula.

    Text is run where it begins with ``=``, ``+``, ``-``, ``@``, a tab or a line break; also behind a semicolon, a tab
    or a line break, where a spreadsheet splits cells. Numbers stay as they are, also those written as text, and so does
    a lone dash. Use it for CSV only: other files keep the type of a cell, and nothing is run.
    """
    import pyarrow as pa

    names: list[str] = []
    for name in defuse_texts(array_of(table.column_names, pa.string())).to_pylist():
        names.append(name)
        while names[-1] in names[:-1]:
            names[-1] += "_"
    return pa.table([_defuse_column(column) for column in table.columns], names=names)


def defuse_texts(texts: Any) -> Any:
    """Return texts with an apostrophe where a formula would begin."""
    import pyarrow.compute as pc

    inside = pc.replace_substring_regex(texts, LATER_FORMULA, r"\1'\2")
    is_run = pc.and_not(pc.match_substring_regex(texts, FORMULA), pc.match_substring_regex(texts, NUMBER))
    return pc.if_else(is_run, pc.utf8_replace_slice(inside, 0, 0, "'"), inside)


def _defuse_column(column: Any) -> Any:
    import pyarrow as pa

    kinds = pa.types
    if kinds.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if str(column.type) == "string_view":  # pyarrow cannot write these as CSV
        column = column.cast(pa.string())
    if kinds.is_string(column.type) or kinds.is_large_string(column.type):
        return defuse_texts(column)
    is_plain = any(
        is_kind(column.type)
        for is_kind in (kinds.is_boolean, kinds.is_integer, kinds.is_floating, kinds.is_temporal, kinds.is_decimal)
    )
    if is_plain or kinds.is_null(column.type):
        return column
    return defuse_texts(array_of([as_text(value) for value in column.to_pylist()], pa.string()))


def as_text(value: Any) -> str | None:
    """Write any value as text that a file can hold; half a surrogate pair becomes a question mark."""
    return None if value is None else str(value).encode("utf-8", "replace").decode("utf-8")


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
    cell.value = CONTROLS.sub("?", value) if is_text else value  # which no workbook can hold
    if is_text:
        cell.data_type = "s"
        cell.quotePrefix = True  # stays text when it is edited
    cell.number_format = "yyyy-mm-dd" if is_date else "@" if is_text else "General"


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
