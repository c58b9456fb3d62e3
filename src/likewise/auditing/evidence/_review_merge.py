"""Review sheets, back from spreadsheets → the reviews of a record; what was lost, doubled or changed is named."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from likewise._checks import suggest
from likewise.auditing.evidence._review_sheet import TO_FILL, review_table
from likewise.auditing.evidence._tables import defuse_formulas, read_workbook, without_controls
from likewise.exceptions import ReviewError, TableFileError
from likewise.record import AuditRecord
from likewise.record._internal import DISPOSITIONS, Review

if TYPE_CHECKING:
    import pyarrow as pa

SEPARATORS: Final = ",;\t|"
NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?")
N_DIGITS: Final = 6  # which spreadsheets show of any number, at least
SLASHED: Final = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})")
DATES: Final = (
    re.compile(r"(?P<y>\d{4})-(?P<m>\d{1,2})-(?P<d>\d{1,2})"),
    re.compile(r"(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4})"),
)
LONGEST: Final = 60  # letters of a cell in a message
NEEDS_REASON: Final = ("resolved", "explained")


def merge_reviews(record: AuditRecord | Mapping[str, Any], *sheets: str | Path) -> AuditRecord:
    """Read filled-in review sheets back into the record that they were made from.

    A sheet has to hold every pair once, with the values of the record; rows and columns may come in any order. What a
    spreadsheet alters by itself is understood: semicolons or tabs between cells, decimal commas, other encodings,
    numbers rounded to what is shown (six digits at least), dates in another form. A disposition needs a reviewer and a
    date; ``resolved`` and ``explained`` need a reason, too. Pairs without a disposition are not reviewed.

    Parameters
    ----------
    record : AuditRecord or mapping
        What ``Audit.to_record`` or ``Audit.to_dict`` returned, or an earlier merge: its reviews are kept.
    *sheets : str or Path
        CSV files, or workbooks (.xlsx), which need the extra ``xlsx``.

    Returns
    -------
    AuditRecord
        The record with all reviews, by pair and date.

    Raises
    ------
    ReviewError
        If a row or column is missing, doubled, changed or foreign, or filled in wrongly; its ``faults`` name each.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow.csv
    >>> from likewise import audit, load_dataset
    >>> from likewise.auditing import merge_reviews, review_table
    >>> data = load_dataset("planted")
    >>> record = audit(data.scores, data.test.X, data.test.y, roles=data.roles, rule=data.rule).to_record()
    >>> sheet = review_table(record)
    >>> rows = sheet.to_pylist()
    >>> rows[0] |= {"reviewer": "A. Lee", "date": "2026-11-17", "disposition": "explained", "reason": "second income"}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pyarrow.csv.write_csv(pyarrow.Table.from_pylist(rows, sheet.schema), f"{folder}/sheet.csv")
    ...     merged = merge_reviews(record, f"{folder}/sheet.csv")
    >>> print(merged.reviews[0])
    Pair 1, explained by A. Lee on 2026-11-17: second income
    >>> print(merged.review_summary)
    Reviewed: 1 of 100 pairs (0 resolved, 1 explained, 0 unresolved).
    """
    shown = AuditRecord.of(record)
    expected = ExpectedSheet.of(shown)
    faults = [
        f"The record has a review of pair {one.pair:,} whose key '{one.key}' is not that of the pair: the pair or the "
        "review was changed. Start from the record as it was written."
        for one in shown.reviews
        if one.key != shown.pair_keys[one.pair - 1]
    ]
    reviews = {(one.pair, one.date, one.who): one for one in shown.reviews}
    for path in map(Path, sheets):
        found = read_sheet(path, expected)
        faults += found.faults
        for one in found.reviews:
            other = reviews.setdefault((one.pair, one.date, one.who), one)
            if (other.disposition, other.reason) != (one.disposition, one.reason):
                faults.append(
                    f"{path.name}: {one.reviewer} has two different reviews of pair {one.pair:,} on {one.date}, "
                    f"'{other.disposition}' and '{one.disposition}'. Keep one, or date them apart."
                )
    if faults:
        raise ReviewError(tuple(faults))
    return replace(shown, reviews=tuple(reviews[place] for place in sorted(reviews)))


@dataclass(frozen=True, slots=True)
class ExpectedSheet:
    """The sheet as it was written: names and cells, as they are and as the CSV file has them."""

    names: tuple[str, ...]
    in_file: tuple[str, ...]
    rows: Mapping[str, tuple[tuple[str, str], ...]]  # by key

    @classmethod
    def of(cls, record: AuditRecord) -> ExpectedSheet:
        """Write the sheet of a record once more."""
        raw = review_table(record)
        (names, *plain), (in_file, *defused) = _cells(raw), _cells(defuse_formulas(raw))
        pairs = [tuple(zip(one, other, strict=True)) for one, other in zip(plain, defused, strict=True)]
        return cls(tuple(names), tuple(in_file), dict(zip(record.pair_keys, pairs, strict=True)))

    def place(self, name: str) -> int | None:
        """Find a column by its name."""
        for names in (self.in_file, self.names):
            if name in names:
                return names.index(name)
        return None


def _cells(table: pa.Table) -> list[list[str]]:
    import pyarrow.csv

    file = io.BytesIO()
    pyarrow.csv.write_csv(table, file)
    return [[_tidy(cell) for cell in row] for row in csv.reader(io.StringIO(file.getvalue().decode(), newline=""))]


def _tidy(cell: str) -> str:
    return "\n".join(line.strip() for line in cell.strip("\ufeff \t\r\n\xa0").splitlines())


@dataclass(frozen=True, slots=True)
class SheetRead:
    """What a sheet holds: reviews, and what is wrong with it."""

    reviews: tuple[Review, ...]
    faults: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SheetText:
    """The cells of a file, and how they are written."""

    rows: list[list[str]]
    encoding: str = "utf-8"
    separator: str = ","

    def agrees(self, cell: str, expected: tuple[str, str]) -> bool:
        """Whether a cell still has its value, as far as a spreadsheet keeps it."""
        lossy = tuple(one.encode(self.encoding, "replace").decode(self.encoding) for one in expected)
        if cell in (*expected, *lossy, without_controls(expected[0])) or cell.casefold() == expected[0].casefold() in (
            "true",
            "false",
        ):
            return True
        return _is_shown_number(self._number(cell), self._number(expected[0], ".")) or _is_date(cell, expected[0])

    def _number(self, text: str, mark: str = "") -> str | None:
        if not mark and self.separator != ",":
            text = text.replace(",", ".") if text.count(",") == 1 and "." not in text else text
        return text if NUMBER.fullmatch(text) else None


def read_sheet(path: Path, expected: ExpectedSheet) -> SheetRead:
    """Read one sheet, and compare it with the one that was written."""
    text = _read_text(path, expected)
    places, faults = _find_columns(path.name, text.rows[0], expected, text.rows[1:])
    if faults:
        return SheetRead((), tuple(faults))
    known = {name: place for place, name in enumerate(expected.names)}
    by_key: dict[str, list[tuple[int, list[str]]]] = {}
    for number, row in enumerate(text.rows[1:], 2):  # as spreadsheets count them
        if any(row):
            row = [row[place] if place is not None and place < len(row) else "" for place in places]
            by_key.setdefault(row[known["key"]], []).append((number, row))
    if by_key and not by_key.keys() & expected.rows.keys() and expected.rows:
        return SheetRead((), (f"{path.name} is the sheet of another audit: none of its keys is in the record.",))
    faults += _foreign_and_lost(path.name, by_key, expected)
    reviews: list[Review] = []
    pairs = {key: pair for pair, key in enumerate(expected.rows, 1)}
    orders = _orders_of_dates([row[known["date"]] for rows in by_key.values() for _, row in rows])
    for key, found in by_key.items():
        for number, row in found if key in expected.rows else ():
            where = f"{path.name}, row {number:,} (pair {pairs[key]:,})"
            faults += _changed_cells(where, row, expected, text)
            filled = {name: row[known[name]] for name in TO_FILL}
            problems = list(_problems(filled, orders))
            faults += [f"{where}: {problem}" for problem in problems]
            if filled["disposition"] and not problems:
                reviews.append(_review(pairs[key], key, filled, orders))
    return SheetRead(tuple(reviews), tuple(faults))


def _read_text(path: Path, expected: ExpectedSheet) -> SheetText:
    """Decode a file, and split it by the separator that gives most of the known columns."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise TableFileError(f"'{path}' cannot be read: {error.strerror or error}.") from error
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise TableFileError(f"'{path}' is a workbook of Excel before 2007, or locked. Save it as .xlsx or as CSV.")
    if data.startswith(b"PK\x03\x04"):
        return _check_head(path, SheetText([[_tidy(cell) for cell in row] for row in read_workbook(path, data)]))
    for encoding in ("utf-16",) if data.startswith((b"\xff\xfe", b"\xfe\xff")) else ("utf-8-sig", "cp1252"):
        with suppress(UnicodeError):
            text = data.decode(encoding)
            break
    else:
        raise TableFileError(f"'{path}' is text in an unknown encoding. Save it as CSV in UTF-8.")
    first, _, rest = text.partition("\n")
    text = rest if re.fullmatch(r"sep=.\r?", first) else text  # which Excel puts before a table
    wanted = {*expected.names, *expected.in_file}
    splits: list[tuple[int, str, list[list[str]]]] = []
    for separator in SEPARATORS:
        try:
            rows = [
                [_tidy(cell) for cell in row] for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator)
            ]
        except csv.Error:
            continue
        splits.append((len(wanted.intersection(rows[0] if rows else ())), separator, rows))
    _, separator, rows = max(splits, key=lambda one: one[0], default=(0, "", []))
    return _check_head(path, SheetText(rows, encoding, separator))


def _check_head(path: Path, text: SheetText) -> SheetText:
    """Refuse what is no review sheet."""
    lacking = next((name for name in ("key", "disposition") if not text.rows or name not in text.rows[0]), None)
    if lacking is not None:
        raise TableFileError(f"'{path}' is not a review sheet: its first row has no column '{lacking}'.")
    return text


def _find_columns(
    sheet: str, head: Sequence[str], expected: ExpectedSheet, rows: Sequence[Sequence[str]]
) -> tuple[list[int | None], list[str]]:
    """Find where each expected column is; name those that are missing, doubled or foreign."""
    places: list[int | None] = [None] * len(expected.names)
    faults = []
    width = max(map(len, [head, *rows]))
    for place, name in zip_longest(range(width), head, fillvalue=""):
        column = int(place)
        wanted = expected.place(name)
        if wanted is None:
            is_filled = any(row[column] for row in rows if column < len(row))
            if name or is_filled:
                named = f"a column '{_short(name)}'" if name else f"cells without a column name (column {column + 1:,})"
                faults.append(
                    f"{sheet} has {named}, which the sheet did not have. Move what it says to 'reason', and delete it."
                )
        elif places[wanted] is not None:
            faults.append(f"{sheet} has the column '{_short(name)}' twice. Delete one.")
        else:
            places[wanted] = column
    faults += [
        f"{sheet} lacks the column '{_short(name)}'. Put it back as it was."
        for name, found in zip(expected.in_file, places, strict=True)
        if found is None
    ]
    return places, faults


def _foreign_and_lost(
    sheet: str, by_key: Mapping[str, Sequence[tuple[int, list[str]]]], expected: ExpectedSheet
) -> Iterator[str]:
    for key, found in by_key.items():
        if key not in expected.rows:
            for number, _ in found:
                named = f"the key '{_short(key)}', which is no pair of this record" if key else "no key"
                yield f"{sheet}, row {number:,} has {named}. Restore its key, or delete the row."
        elif len(found) > 1:
            numbers = ", ".join(f"{number:,}" for number, _ in found)
            yield f"{sheet} has the pair with key '{key}' {len(found)} times, in rows {numbers}. Keep one of them."
    for pair, key in enumerate(expected.rows, 1):
        if key not in by_key:
            yield f"{sheet} lacks pair {pair:,} (key '{key}'). Put its row back; to leave a pair open, leave it empty."


def _changed_cells(where: str, row: Sequence[str], expected: ExpectedSheet, text: SheetText) -> Iterator[str]:
    cells = expected.rows[row[expected.names.index("key")]]
    for name, cell, written in zip(expected.names, row, cells, strict=True):
        if name not in TO_FILL and not text.agrees(cell, written):
            yield (
                f"{where}: {name} is {_quote(cell)} where the record has {_quote(written[0])}. Restore it; only "
                f"{', '.join(TO_FILL[:-1])} and {TO_FILL[-1]} are to be filled in."
            )


def _problems(filled: Mapping[str, str], orders: Sequence[str]) -> Iterator[str]:
    """Name what is wrong with what a reviewer wrote."""
    word = filled["disposition"].casefold()
    if not word:
        if filled["reason"]:
            yield "there is a reason but no disposition. Add one: " + ", ".join(DISPOSITIONS) + "."
        return
    if word not in DISPOSITIONS:
        allowed = ", ".join(DISPOSITIONS)
        yield f"disposition is {_quote(filled['disposition'])}; write one of {allowed}.{suggest(word, DISPOSITIONS)}"
    if not filled["reviewer"]:
        yield "there is a disposition but no reviewer. Add who decided."
    if not filled["date"]:
        yield "there is a disposition but no date. Add it as 2026-11-17."
    elif len(_readings(filled["date"], orders)) != 1:
        unclear = "may be either of two days" if _readings(filled["date"], orders) else "is not a date"
        yield f"date is {_quote(filled['date'])}, which {unclear}. Write it as 2026-11-17."
    if word in NEEDS_REASON and not filled["reason"]:
        yield f"the pair is '{word}' without a reason. Add it."


def _review(pair: int, key: str, filled: Mapping[str, str], orders: Sequence[str]) -> Review:
    disposition = next(one for one in DISPOSITIONS if one == filled["disposition"].casefold())
    day = _readings(filled["date"], orders).pop().isoformat()
    who = " ".join(filled["reviewer"].split())
    return Review(pair=pair, key=key, reviewer=who, date=day, disposition=disposition, reason=filled["reason"])


def _is_shown_number(shown: str | None, exact: str | None) -> bool:
    """Whether a number is another one, rounded to the digits that are shown."""
    if shown is None or exact is None:
        return False
    n_digits = max(N_DIGITS, len(re.sub(r"[eE].*|\D", "", shown).lstrip("0")))
    one, other = Decimal(shown), Decimal(exact)
    last = Decimal(1).scaleb(other.adjusted() - n_digits + 1)  # a unit of the last digit
    return one == other or (other != 0 and 2 * abs(one - other) <= last)


def _is_date(cell: str, expected: str) -> bool:
    """Whether a cell is a date in another form; times of day are not understood."""
    if not DATES[0].fullmatch(expected):
        return False
    return not _readings(expected, ("dmy",)).isdisjoint(_readings(cell, ("dmy", "mdy")))


def _orders_of_dates(texts: Sequence[str]) -> tuple[str, ...]:
    """Find in which order a sheet writes day and month between slashes: one that makes dates of all, or either."""
    slashed = [text for text in texts if SLASHED.fullmatch(text)]
    fits = tuple(order for order in ("dmy", "mdy") if all(_readings(text, (order,)) for text in slashed))
    return fits or ("dmy", "mdy")


def _readings(text: str, orders: Sequence[str]) -> set[date]:
    """Return every day that a text may mean."""
    found = [match.groupdict() for form in DATES if (match := form.fullmatch(text))]
    if match := SLASHED.fullmatch(text):
        found += [dict(zip(order, match.groups(), strict=True)) for order in orders]
    days = set()
    for parts in found:
        try:
            days.add(date(int(parts["y"]), int(parts["m"]), int(parts["d"])))
        except ValueError:  # no such day
            continue
    return days


def _quote(cell: str) -> str:
    return f"'{_short(cell)}'" if cell else "empty"


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
