"""Review sheets, back from spreadsheets → the reviews of a record; rows that were lost or doubled are named."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, Final

from likewise._checks import suggest
from likewise._files import refuse_pipe
from likewise.auditing.evidence._review_sheet import TO_FILL
from likewise.auditing.evidence._tables import read_workbook
from likewise.exceptions import ReviewError, TableFileError
from likewise.record import AuditRecord
from likewise.record._internal import DISPOSITIONS, Review

SEPARATORS: Final = ",;\t|"
READ: Final = ("key", *TO_FILL)  # of the columns of a sheet; the others are there to be looked at
SLASHED: Final = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})")
DATES: Final = (
    re.compile(r"(?P<y>\d{4})-(?P<m>\d{1,2})-(?P<d>\d{1,2})"),
    re.compile(r"(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4})"),
)
LONGEST: Final = 60  # letters of a cell in a message
NEEDS_REASON: Final = ("resolved", "explained")


def merge_reviews(record: AuditRecord | Mapping[str, Any], *sheets: str | Path) -> AuditRecord:
    """Read filled-in review sheets back into the record that they were made from.

    A sheet has to hold every pair once, by its key; rows and columns may come in any order, and of other columns than
    the key and those to fill in, nothing is read. What a spreadsheet alters by itself is understood: semicolons or tabs
    between cells, other encodings, dates in another form. A disposition needs a reviewer and a date; ``resolved`` and
    ``explained`` need a reason, too. Pairs without a disposition are not reviewed.

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
        If a row is missing, doubled, foreign or filled in wrongly; its ``faults`` name each.

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
    Reviewed: 1 of 76 pairs (0 resolved, 1 explained, 0 unresolved).
    """
    shown = AuditRecord.of(record)
    faults = [
        f"The record has a review of pair {one.pair:,} whose key '{one.key}' is not that of the pair: the pair or the "
        "review was changed. Start from the record as it was written."
        for one in shown.reviews
        if one.key != shown.pair_keys[one.pair - 1]
    ]
    reviews = {(one.pair, one.date, one.who): one for one in shown.reviews}
    for path in map(Path, sheets):
        found = read_sheet(path, shown.pair_keys)
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


def _tidy(cell: str) -> str:
    return "\n".join(line.strip() for line in cell.strip("\ufeff \t\r\n\xa0").splitlines())


@dataclass(frozen=True, slots=True)
class SheetRead:
    """What a sheet holds: reviews, and what is wrong with it."""

    reviews: tuple[Review, ...]
    faults: tuple[str, ...]


def read_sheet(path: Path, keys: Sequence[str]) -> SheetRead:
    """Read one sheet of the pairs that have these keys."""
    by_key: dict[str, list[tuple[int, dict[str, str]]]] = {}
    for number, row in _read_rows(path):
        by_key.setdefault(row["key"], []).append((number, row))
    if by_key and keys and by_key.keys().isdisjoint(keys):
        return SheetRead((), (f"{path.name} is the sheet of another audit: none of its keys is in the record.",))
    faults = list(_foreign_and_lost(path.name, by_key, keys))
    reviews: list[Review] = []
    pairs = {key: pair for pair, key in enumerate(keys, 1)}
    orders = _orders_of_dates([row["date"] for rows in by_key.values() for _, row in rows])
    for key, found in by_key.items():
        for number, row in found if key in pairs else ():
            problems = list(_problems(row, orders))
            faults += [f"{path.name}, row {number:,} (pair {pairs[key]:,}): {problem}" for problem in problems]
            if row["disposition"] and not problems:
                reviews.append(_review(pairs[key], key, row, orders))
    return SheetRead(tuple(reviews), tuple(faults))


def _read_rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows that hold anything, numbered as spreadsheets count them, with what is read of them."""
    head, *rows = [[_tidy(cell) for cell in row] for row in _read_cells(path)] or [[]]
    for name in READ:
        if head.count(name) != 1:
            has = f"the column '{name}' twice" if name in head else f"no column '{name}'"
            raise TableFileError(f"'{path}' is not a review sheet: its first row has {has}.")
    for number, row in enumerate(rows, 2):
        if any(row):
            cells = dict(zip(head, row, strict=False))
            yield number, {name: cells.get(name, "") for name in READ}


def _read_cells(path: Path) -> list[list[str]]:
    """Decode a file, and split it by the separator that gives most of the columns."""
    refuse_pipe(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise TableFileError(f"'{path}' cannot be read: {error.strerror or error}.") from error
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise TableFileError(f"'{path}' is a workbook of Excel before 2007, or locked. Save it as .xlsx or as CSV.")
    if data.startswith(b"PK\x03\x04"):
        return read_workbook(path, data)
    for encoding in ("utf-16",) if data.startswith((b"\xff\xfe", b"\xfe\xff")) else ("utf-8-sig", "cp1252"):
        with suppress(UnicodeError):
            text = data.decode(encoding)
            break
    else:
        raise TableFileError(f"'{path}' is text in an unknown encoding. Save it as CSV in UTF-8.")
    first, _, rest = text.partition("\n")
    text = rest if re.fullmatch(r"sep=.\r?", first) else text  # which Excel puts before a table
    splits: list[list[list[str]]] = []
    for separator in SEPARATORS:
        with suppress(csv.Error):
            splits.append(list(csv.reader(io.StringIO(text, newline=""), delimiter=separator)))
    return max(splits, key=lambda rows: len({*READ}.intersection(map(_tidy, rows[0] if rows else ()))), default=[])


def _foreign_and_lost(
    sheet: str, by_key: Mapping[str, Sequence[tuple[int, object]]], keys: Sequence[str]
) -> Iterator[str]:
    for key, found in by_key.items():
        if key not in keys:
            for number, _ in found:
                named = f"the key '{_short(key)}', which is no pair of this record" if key else "no key"
                yield f"{sheet}, row {number:,} has {named}. Restore its key, or delete the row."
        elif len(found) > 1:
            numbers = ", ".join(f"{number:,}" for number, _ in found)
            yield f"{sheet} has the pair with key '{key}' {len(found)} times, in rows {numbers}. Keep one of them."
    for pair, key in enumerate(keys, 1):
        if key not in by_key:
            yield f"{sheet} lacks pair {pair:,} (key '{key}'). Put its row back; to leave a pair open, leave it empty."


def _problems(filled: Mapping[str, str], orders: Sequence[str]) -> Iterator[str]:
    """Name what is wrong with what a reviewer wrote."""
    word = filled["disposition"].casefold()
    if not word:
        if filled["reason"]:
            yield "there is a reason but no disposition. Add one: " + ", ".join(DISPOSITIONS) + "."
        return
    if word not in DISPOSITIONS:
        allowed = ", ".join(DISPOSITIONS)
        said = _short(filled["disposition"])
        yield f"disposition is '{said}'; write one of {allowed}.{suggest(word, DISPOSITIONS)}"
    if not filled["reviewer"]:
        yield "there is a disposition but no reviewer. Add who decided."
    if not filled["date"]:
        yield "there is a disposition but no date. Add it as 2026-11-17."
    elif len(_readings(filled["date"], orders)) != 1:
        unclear = "may be either of two days" if _readings(filled["date"], orders) else "is not a date"
        yield f"date is '{_short(filled['date'])}', which {unclear}. Write it as 2026-11-17."
    if word in NEEDS_REASON and not filled["reason"]:
        yield f"the pair is '{word}' without a reason. Add it."


def _review(pair: int, key: str, filled: Mapping[str, str], orders: Sequence[str]) -> Review:
    disposition = next(one for one in DISPOSITIONS if one == filled["disposition"].casefold())
    day = _readings(filled["date"], orders).pop().isoformat()
    who = " ".join(filled["reviewer"].split())
    return Review(pair=pair, key=key, reviewer=who, date=day, disposition=disposition, reason=filled["reason"])


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


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
