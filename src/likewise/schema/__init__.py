"""From a frame of people to the coded table the algorithms see, and back."""

from likewise.schema._assembling import BinValues, overwrite_columns, stack_frames, take_rows, write_parquet
from likewise.schema._checksum import hash_array, hash_table
from likewise.schema._coding import MISSING_RANK, MISSING_VALUE
from likewise.schema._frames import Frame, open_frame
from likewise.schema._given import (
    array_of_table,
    hold_out,
    is_frame,
    table_of_array,
    take_frame,
    take_labels,
    take_weights,
)
from likewise.schema._roles import Roles
from likewise.schema._schema import Schema
from likewise.schema._table import KINDS, CodedTable, stack_tables

__all__ = [
    "KINDS",
    "MISSING_RANK",
    "MISSING_VALUE",
    "BinValues",
    "CodedTable",
    "Frame",
    "Roles",
    "Schema",
    "array_of_table",
    "hash_array",
    "hash_table",
    "hold_out",
    "is_frame",
    "open_frame",
    "overwrite_columns",
    "stack_frames",
    "stack_tables",
    "table_of_array",
    "take_frame",
    "take_labels",
    "take_rows",
    "take_weights",
    "write_parquet",
]
