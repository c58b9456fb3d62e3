"""From a frame of people to the coded table the algorithms see, and back."""

from likewise.schema._frames import Frame, open_frame
from likewise.schema._roles import Roles
from likewise.schema._schema import Schema
from likewise.schema._table import CodedTable

__all__ = ["CodedTable", "Frame", "Roles", "Schema", "open_frame"]
