"""Tables of people: column roles, the learned schema, and the coded table the algorithms work on."""

from typing import Any

from likewise.schema._schema import Roles, Schema
from likewise.schema._table import CodedTable

__all__ = ["CodedTable", "Roles", "Schema"]


def __getattr__(name: str) -> Any:
    """Find an internal name under its old address, until every importer uses likewise.schema._internal."""
    from likewise.schema import _internal

    if name in _internal.__all__:
        return getattr(_internal, name)
    raise AttributeError(name)
