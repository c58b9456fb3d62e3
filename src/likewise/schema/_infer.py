"""Guess the roles of the columns that nobody gave one."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._checks import suggest
from likewise.exceptions import SchemaError
from likewise.schema._arrow import Column
from likewise.schema._coding import EXACT, Missing
from likewise.schema._frames import Frame, open_frame
from likewise.schema._roles import LISTED, ROLES, Roles
from likewise.schema._values import show_count

FEW: Final = 10  # whole numbers with no more different values than this are categories
NEARLY_ALL: Final = 0.9  # text with more different values than this, as a share, names the rows
ENOUGH_ROWS: Final = 20  # with fewer, all values may differ by chance
MANY: Final = 50  # different categories: with more, and few rows for each, two people seldom share one
ROWS_TO_SHARE: Final = 20  # for each category
LOOKED_AT: Final = 100  # different texts, to see whether they are dates
STARTS_AS_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")

logger = logging.getLogger(__name__)


def infer_roles(frame: Any, given: Roles, missing: Missing | Mapping[str, Missing]) -> Roles:
    """Complete the given roles by judging every other column."""
    opened = open_frame(frame)
    refuse_absent(opened, given, list(ROLES))
    if not len(opened):
        raise SchemaError("The frame has no rows, so nothing can be told about its columns. Give a frame with rows.")
    columns: dict[str, list[str]] = {role: list(given.names(role)) for role in LISTED}
    ordinal, reasons = dict(given.ordinal), {}
    for name in opened.names:
        if given.role_of(name) is not None:
            if name in given.continuous and _is_counter(opened.column(name)):
                reasons[name] = "given, though it counts the rows"
            continue
        role, reasons[name], order = _judge(opened, name)
        if role == "ordinal":
            ordinal[name] = order
        else:
            columns[role].append(name)
    listed: dict[str, Any] = {role: tuple(names) for role, names in columns.items()}
    roles = replace(given, **listed, ordinal=ordinal, missing=missing, reasons=reasons)
    logger.info("Roles inferred from %s rows:\n%s", f"{len(opened):,}", roles.describe())
    return roles


def refuse_absent(frame: Frame, roles: Roles, needed: list[str]) -> None:
    """Name a column that has one of the needed roles and that the frame lacks."""
    known = set(frame.names)
    for role in needed:
        for name in roles.names(role):
            if name not in known:
                raise SchemaError(
                    f"The frame has no column '{name}', which is {'the ' if role in ('label', 'row_id') else ''}{role}."
                    f"{suggest(name, frame.names)}"
                )


def _judge(frame: Frame, name: str) -> tuple[str, str, tuple[Any, ...]]:
    """Give a column's role, the reason, and the order of its categories if it has one."""
    column = frame.column(name)
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
        n_present = len(frame) - column.array.null_count
    n_missing = len(frame) - n_present
    if not n_present:
        return "ignored", "no values at all", ()
    if n_distinct == 1 and not n_missing and len(frame) > 1:
        return "ignored", "the same value in every row", ()
    if column.dtype.ordered:
        role, what = "ordinal", "ordered categories"
    elif present is not None:
        role, what = _judge_numbers(column, present, n_distinct)
    else:
        role, what = _judge_categories(column, n_distinct, n_present)
    among = f", {n_missing:,} missing" if n_missing else ""
    advice = _advise(role, values, n_distinct, n_present) if values and role != "ordinal" else ""
    reason = f"{what} with {show_count(n_distinct, 'different value')}{among}{advice}"
    return role, reason, column.dtype.levels or ()


def _judge_categories(column: Column, n_distinct: int, n_present: int) -> tuple[str, str]:
    if column.dtype.family == "truth values":
        return "discrete", "truth values"
    kind = "categories" if column.dtype.levels is not None else "text"
    if n_present >= ENOUGH_ROWS and n_distinct > NEARLY_ALL * n_present:
        return "ignored", f"{kind} that nearly every row has to itself,"
    return "discrete", kind


def _advise(role: str, values: list[Any], n_distinct: int, n_present: int) -> str:
    """Say what is better done with categories that hardly tell who is alike."""
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


def _is_counter(column: Column) -> bool:
    """Tell what would have been ignored, had nobody given it a role."""
    is_whole = column.dtype.family == "numbers" and column.dtype.is_whole and column.dtype.levels is None
    return is_whole and _count_the_rows(column.present())


def _count_the_rows(present: NDArray[Any]) -> bool:
    """Tell whether whole numbers are as many as there are from the lowest to the highest, each once."""
    n = len(present)
    return n >= ENOUGH_ROWS and int(present.max()) - int(present.min()) == n - 1 and len(np.unique(present)) == n


def _judge_numbers(column: Column, present: NDArray[Any], n_distinct: int) -> tuple[str, str]:
    # two values are always few; otherwise one has to repeat, or a table of five people would have no numbers
    is_few = n_distinct <= 2 or (n_distinct <= FEW and n_distinct < len(present))
    if column.dtype.is_time:
        return ("discrete" if is_few else "continuous"), "dates or times"
    if not column.dtype.is_whole and np.any(np.floor(present) != present):
        return "continuous", "numbers"
    low, high = int(present.min()), int(present.max())
    if _count_the_rows(present):
        return "ignored", "whole numbers that count the rows,"
    if not is_few and max(-low, high) > EXACT:
        return "ignored", "whole numbers beyond 2**53, too large for measurements,"
    return ("discrete" if is_few else "continuous"), "whole numbers"
