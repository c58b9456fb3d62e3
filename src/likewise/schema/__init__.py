"""Tables of people: column roles, the learned schema, and the coded table the algorithms work on."""

from likewise.schema._schema import Roles, Schema
from likewise.schema._table import CodedTable

__all__ = ["CodedTable", "Roles", "Schema"]
