"""Cells of text → the values they spell: the one rule by which columns of text are typed (docs/data.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.schema._arrow import as_arrow, as_numpy

# pyarrow is imported inside the functions: `import likewise` stays light

NUMBER: Final = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
APART: Final = r"' \x{00a0}\x{2019}\x{202f}"  # what else separates thousands
NEARLY_A_NUMBER: Final = rf"^\s*[$€£¥]?\s*[+-]?(\d+|\d{{1,3}}([.,{APART}]\d{{3}})+)?([.,]\d+)?\s*[%$€£¥]?\s*$"
WHOLE: Final = r"^\s*[+-]?\d+([eE]\d+)?\s*$"  # an exponent without a sign is part of a code, such as 12E4
INTEGER: Final = r"^\s*[+-]?\d+\s*$"
PADDING: Final = r"^\s*[+-]?0\d"
GROUPS: Final = {  # the mark of decimals → numbers whose thousands another mark separates
    ".": rf"^\s*[+-]?(\d{{1,3}}([,{APART}]\d{{3}})+|\d*)(\.\d*)?([eE][+-]?\d+)?\s*$",
    ",": rf"^\s*[+-]?(\d{{1,3}}([.{APART}]\d{{3}})+|\d*)(,\d*)?([eE][+-]?\d+)?\s*$",
}
COMMAS: Final = f"[,{APART}]"
POINTS: Final = f"[.{APART}]"
DECIMAL_COMMA: Final = r"^\s*[+-]?(0|\d{4,}|\d{1,3}(\.\d{3})+),\d+\s*$|^\s*[+-]?\d+,(\d{1,2}|\d{4,})\s*$"
THOUSANDS: Final = r"^\s*[+-]?\d{1,3}((,\d{3})+\.\d*|(,\d{3}){2,})\s*$"
MARKED: Final = rf"^\s*[+-]?\d[\d.,{APART}]*\s*$"  # digits with marks among them
DAY: Final = r"^\s*(\d{1,2})([./])(\d{1,2})[./](\d{4})\s*$"
DAY_FIRST: Final = r"\4-0\3-0\1"
MONTH_FIRST: Final = r"\4-0\1-0\3"

PADDED: Final = "leading zeros"
LONG: Final = "more digits than a number holds"
SHOWN: Final = 3
MOSTLY: Final = 0.9  # share of the cells from which on the others are odd


class TypedCells(NamedTuple):
    """Values, and why they are still text although each is a number: they are codes."""

    values: Any
    code: str | None = None


def type_cells(cells: Any, decimal: str = ".") -> TypedCells:
    """Return a column of text, which may lack some, as whole numbers, numbers, truth values, days, times or text."""
    import pyarrow as pa

    if cells.null_count == len(cells):
        return TypedCells(pa.nulls(len(cells)))
    typed = _type_plain_numbers(cells) if decimal == "." else None  # quicker than by patterns
    spelled = None if typed is not None else _spell_plainly(cells, decimal)
    if spelled is not None:
        typed = _type_numbers(spelled, cells)
    return typed or TypedCells(_type_words(cells))


def _type_plain_numbers(cells: Any) -> TypedCells | None:
    """Type numbers as programs write them; None where a cell is no such number, or may be a code."""
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = _cast(cells, pa.int64())
    if whole is not None:
        return TypedCells(whole) if pc.all(pc.equal(whole.cast(pa.string()), cells)).as_py() else None
    numbers = _cast(cells, pa.float64())
    if numbers is None or not pc.all(pc.is_finite(numbers)).as_py():
        return None
    return None if pc.all(pc.equal(numbers, pc.floor(numbers))).as_py() else TypedCells(numbers)


def _spell_plainly(cells: Any, decimal: str) -> Any:
    """Return numbers with a point for decimals and no other mark; None where a cell is no number."""
    import pyarrow.compute as pc

    if decimal == "." and _match(cells, NUMBER):
        return pc.utf8_trim_whitespace(cells)
    if not _match(cells, GROUPS[decimal]) or not _match(cells, r"\d"):
        return None
    without = pc.replace_substring_regex(pc.utf8_trim_whitespace(cells), {".": COMMAS, ",": POINTS}[decimal], "")
    return pc.replace_substring(without, ",", ".") if decimal == "," else without


def _type_numbers(spelled: Any, cells: Any) -> TypedCells:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not _match(spelled, WHOLE):
        return TypedCells(spelled.cast(pa.float64()))
    if pc.any(pc.match_substring_regex(spelled, PADDING)).as_py():
        return TypedCells(cells, PADDED)
    whole = _cast(pc.utf8_ltrim(spelled, "+"), pa.int64()) if _match(spelled, INTEGER) else None
    return TypedCells(cells, LONG) if whole is None else TypedCells(whole)


def _type_words(cells: Any) -> Any:
    """Return truth values, days or times, if all cells are such, and else the text itself."""
    import pyarrow as pa

    if _match(cells, "^(true|True|TRUE|false|False|FALSE)$"):
        return cells.cast(pa.bool_())
    if not _match(cells, r"^\s*\d"):
        return cells
    local = (pa.date32(), pa.timestamp("s"), pa.timestamp("ns"))
    for kind in (*local, pa.timestamp("s", "UTC"), pa.timestamp("ns", "UTC")):
        values = _cast(cells, kind)
        if values is not None:
            return values
    if not _match(cells, DAY):
        return cells
    orders = (DAY_FIRST,) if _match(cells, r"\.") else (DAY_FIRST, MONTH_FIRST)
    days = [one for one in (_days(cells, order) for order in orders) if one is not None]
    return days[0] if len(days) == 1 else cells  # 1/2/2020 may be in January or February


def _days(cells: Any, order: str) -> Any:
    """Return days such as 31.12.2020 or 12/31/2020; None where a cell is none in this order."""
    import pyarrow as pa
    import pyarrow.compute as pc

    padded = pc.replace_substring_regex(cells, DAY, order)
    return _cast(pc.replace_substring_regex(padded, r"-0(\d\d)", r"-\1"), pa.date32())


def _cast(cells: Any, kind: Any) -> Any:
    import pyarrow as pa

    try:
        return cells.cast(kind)
    except pa.ArrowInvalid:
        return None


def _match(cells: Any, pattern: str) -> bool:
    """Whether all cells that are there match a pattern; the first ones tell soon that they do not."""
    import pyarrow.compute as pc

    return all(
        pc.all(pc.match_substring_regex(some, pattern)).as_py() is not False for some in (cells.slice(0, 100), cells)
    )


@dataclass(frozen=True, slots=True)
class OddCells:
    """The cells of a column of numbers that are no numbers, by row."""

    rows: NDArray[np.int64]
    texts: list[str]  # of the first rows
    n_present: int

    def describe(self, name: str, places: Sequence[str]) -> str:
        """Return what is odd, with the places of the texts."""
        shown = ", ".join(f"{text!r} in {place}" for text, place in zip(self.texts, places, strict=True))
        more = f" and {len(self.rows) - len(places):,} more" if len(self.rows) > len(places) else ""
        n = self.n_present - len(self.rows)
        how = f"{n:,} of its {self.n_present:,} cells are numbers" if n else "its cells read as numbers"
        return f"Column '{name}' is text, though {how}: {shown}{more}"


def find_odd_cells(cells: Any, decimal: str = ".") -> OddCells | None:
    """Find the cells that are no numbers where nine of ten are, or nearly (as $6.0 and 12% are); None where none is."""
    import pyarrow as pa
    import pyarrow.compute as pc

    encoded = (cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells).dictionary_encode()
    words = encoded.dictionary
    codes = as_numpy(encoded.indices.cast(pa.int64()).fill_null(as_arrow([-1])[0]))
    counts = np.bincount(codes[codes >= 0], minlength=len(words))
    is_number = pc.match_substring_regex(words, NUMBER if decimal == "." else GROUPS[","])
    is_near = pc.and_(pc.match_substring_regex(words, NEARLY_A_NUMBER), pc.match_substring_regex(words, r"\d"))
    number, near = (as_numpy(found.cast(pa.uint8())).view(np.bool_) for found in (is_number, is_near))
    n_present = int(counts.sum())
    if number.all() or not counts[number | near].sum() >= MOSTLY * n_present:
        return None
    if pc.any(pc.match_substring_regex(words.filter(is_number), PADDING)).as_py():  # which only codes are
        return None
    rows = np.flatnonzero((codes >= 0) & ~number[codes])
    return OddCells(rows, [words[int(codes[row])].as_py() for row in rows[:SHOWN]], n_present)
