"""Inference of the role of a column from its values."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._format import count_of
from likewise.schema._arrow import Column
from likewise.schema._codecs import EXACT

FEW: Final = 10  # integers with at most this many distinct values are categories
NEARLY_ALL: Final = 0.9  # text with a larger share of distinct values identifies rows
ENOUGH_ROWS: Final = 20  # with fewer, all values may differ by chance
MANY: Final = 50  # with more categories, and few rows in each, two people seldom share one
ROWS_TO_SHARE: Final = 20  # rows per category
LOOKED_AT: Final = 100  # distinct texts checked for dates
STARTS_AS_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")


def infer_column(column: Column) -> tuple[str, str, tuple[Any, ...]]:
    """Return a column's role, the reason, and the order of its categories if it has one."""
    n_rows = len(column.array)
    if column.dtype.family is None:
        return "ignored", f"{column.dtype.arrow} values, which cannot be compared", ()
    is_measure = (column.dtype.family == "numbers" or column.dtype.is_time) and column.dtype.levels is None
    present = column.present() if is_measure else None
    values: list[Any] = []
    if present is not None:
        n_distinct, n_present = len(np.unique(present)), len(present)
    else:
        values, _ = column.distinct()
        n_distinct = len(values) - (None in values)
        n_present = n_rows - column.array.null_count
    n_missing = n_rows - n_present
    if not n_present:
        return "ignored", "no values", ()
    if n_distinct == 1 and not n_missing and n_rows > 1:
        return "ignored", "the same value in every row", ()
    if column.dtype.ordered:
        role, what = "ordinal", "ordered categories"
    elif present is not None:
        role, what = _judge_numbers(column, present, n_distinct)
    else:
        role, what = _judge_categories(column, n_distinct, n_present)
    among = f", {n_missing:,} missing" if n_missing else ""
    advice = _advise(role, values, n_distinct, n_present) if values and role != "ordinal" else ""
    reason = f"{what} with {count_of(n_distinct, 'distinct value')}{among}{advice}"
    return role, reason, column.dtype.levels or ()


def _judge_categories(column: Column, n_distinct: int, n_present: int) -> tuple[str, str]:
    if column.dtype.family == "booleans":
        return "discrete", "booleans"
    kind = "categories" if column.dtype.levels is not None else "text"
    if n_present >= ENOUGH_ROWS and n_distinct > NEARLY_ALL * n_present:
        return "ignored", f"{kind} nearly unique to each row,"
    return "discrete", kind


def _advise(role: str, values: list[Any], n_distinct: int, n_present: int) -> str:
    """Return advice on categories that few people share, or that read as dates."""
    some = [value for value in values[:LOOKED_AT] if value is not None]
    if all(isinstance(value, str) and _is_date(value) for value in some):
        return "; they read as dates: convert them to compare by distance"
    if role == "discrete" and n_distinct > MANY and n_distinct * ROWS_TO_SHARE > n_present:
        return "; few people share one: ignore it?"
    return ""


def _is_date(text: str) -> bool:
    if not STARTS_AS_DATE.match(text):
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def is_row_counter(column: Column) -> bool:
    """Whether a column numbers the rows, and would be ignored without a given role."""
    is_whole = column.dtype.family == "numbers" and column.dtype.is_whole and column.dtype.levels is None
    return is_whole and _number_rows(column.present())


def _number_rows(present: NDArray[Any]) -> bool:
    """Whether integers run from the lowest to the highest without gaps or repeats."""
    n = len(present)
    return n >= ENOUGH_ROWS and int(present.max()) - int(present.min()) == n - 1 and len(np.unique(present)) == n


def _judge_numbers(column: Column, present: NDArray[Any], n_distinct: int) -> tuple[str, str]:
    # two values are always few; otherwise one must repeat, or a table of five people would have no numbers
    is_few = n_distinct <= 2 or (n_distinct <= FEW and n_distinct < len(present))
    if column.dtype.is_time:
        return ("discrete" if is_few else "continuous"), "dates or times"
    if not column.dtype.is_whole and np.any(np.floor(present) != present):
        return "continuous", "numbers"
    low, high = int(present.min()), int(present.max())
    if _number_rows(present):
        return "ignored", "integers that number the rows,"
    if not is_few and max(-low, high) > EXACT:
        return "ignored", "integers beyond 2**53, too large for measurements,"
    return ("discrete" if is_few else "continuous"), "integers"
