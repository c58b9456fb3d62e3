"""Checks of what people write into roles, before any table is seen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from itertools import pairwise
from typing import Any, get_args

import numpy as np

from likewise.exceptions import SchemaError
from likewise.schema._coding import Missing
from likewise.schema._values import plain_value


def check_name(role: str, name: Any) -> str | None:
    """Let a column name through, or None."""
    if name is None or (isinstance(name, str) and name):
        return name
    raise SchemaError(f"'{role}' is {name!r}, which is not the name of a column. Give names as text.")


def check_names(role: str, given: Any) -> tuple[str, ...]:
    """Make a tuple of one name or several."""
    if given is None or isinstance(given, str):
        given = () if given is None else (given,)
    if not hasattr(given, "__iter__"):
        raise SchemaError(f"'{role}' is {given!r}. Give the names of columns.")
    names = tuple(sorted(given, key=str) if isinstance(given, Set) else given)  # sets have another order in each run
    for name in names:
        if not isinstance(name, str) or not name:
            raise SchemaError(f"'{role}' holds {name!r}, which is not the name of a column. Give names as text.")
    return names


def check_orders(given: Any) -> dict[str, tuple[Any, ...]]:
    """Make sure that each ordinal column comes with its categories in order."""
    if not isinstance(given, Mapping):
        raise SchemaError(
            f"'ordinal' is {given!r}. Give each column with its order, such as {{'size': ['S', 'M', 'L']}}."
        )
    check_names("ordinal", given)
    orders: dict[str, tuple[Any, ...]] = {}
    for name, order in given.items():
        values = tuple(map(plain_value, order)) if _is_listing(order) else ()
        if not values or None in values or len(set(values)) < len(values):
            raise SchemaError(
                f"The order of '{name}' is {order!r}. List its categories from the lowest to the highest, each once, "
                "none missing."
            )
        orders[name] = values
    return orders


def check_bins(given: Any) -> dict[str, int | tuple[float, ...]]:
    """Make sure that bins are a number of intervals or ascending edges."""
    if not isinstance(given, Mapping):
        raise SchemaError(f"'bins' is {given!r}. Give each column with its bins, such as {{'age': 4}}.")
    return {name: _check_bins_of(name, bins) for name, bins in given.items()}


def _check_bins_of(name: str, bins: Any) -> int | tuple[float, ...]:
    if isinstance(bins, int | np.integer) and not isinstance(bins, bool) and bins >= 2:
        return int(bins)
    edges = tuple(map(plain_value, bins)) if _is_listing(bins) else ()
    if edges and all(map(_is_number, edges)) and all(low < high for low, high in pairwise(edges)):
        return edges
    raise SchemaError(
        f"The bins of '{name}' are {bins!r}. Give how many, 2 or more, or the ascending numbers to cut at."
    )


def check_missing(given: Any) -> Any:
    """Make sure that each policy is one there is."""
    policies = dict(given) if isinstance(given, Mapping) else {None: given}
    for name, policy in policies.items():
        if policy not in get_args(Missing):
            where = "" if name is None else f" for '{name}'"
            raise SchemaError(
                f"The policy on missing values{where} is {policy!r}; choose 'refuse', 'median' or 'apart'."
            )
    return policies if isinstance(given, Mapping) else given


def _is_listing(given: Any) -> bool:
    return isinstance(given, Sequence | np.ndarray) and not isinstance(given, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
