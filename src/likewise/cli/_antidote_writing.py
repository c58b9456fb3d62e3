"""Rows and antidotes → a Parquet or CSV file; the final name appears only when the file is whole."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise._json import plain
from likewise.exceptions import TableFileError
from likewise.generation import Antidotes

if TYPE_CHECKING:
    import pyarrow as pa


def add_provenance(together: pa.Table, antidotes: Antidotes) -> pa.Table:
    """Say of each row whether it is an antidote, of which row, and of which round."""
    import pyarrow as pa

    n_real = antidotes.n_sources
    is_antidote = np.arange(together.num_rows) >= n_real
    nothing = np.zeros(n_real, np.int64)
    columns = {
        "is_antidote": pa.array(is_antidote),
        "source_row": pa.array(np.concatenate([nothing, antidotes.source]), mask=~is_antidote),
        "antidote_round": pa.array(np.concatenate([nothing, antidotes.round]), mask=~is_antidote),
    }
    for name, values in columns.items():
        while name in together.column_names:
            name += "_"
        together = together.append_column(name, values)
    return together


def write_table(out: Path, table: pa.Table, about: dict[str, Any]) -> None:
    """Write a table, and what it was made of, or leave nothing behind."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    target = Path(os.path.realpath(out))  # replace what a link points at, not the link
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        if target.suffix.lower() == ".csv":
            pyarrow.csv.write_csv(_in_plain_types(table), part)
        else:
            metadata = {**(table.schema.metadata or {}), b"likewise": json.dumps(plain(about)).encode()}
            pyarrow.parquet.write_table(table.replace_schema_metadata(metadata), part, compression="zstd")
        os.replace(part, target)
    except OSError as error:
        raise TableFileError(f"'{out}' cannot be written: {error.strerror or error}.") from error
    except pa.ArrowException as error:
        raise TableFileError(f"'{out}' cannot hold this table: {error}. Write a .parquet file instead.") from error
    finally:
        with suppress(OSError):
            part.unlink()


def _in_plain_types(table: pa.Table) -> pa.Table:
    """Undo what CSV does not know: dictionaries, and text in views."""
    import pyarrow as pa

    for position, field in enumerate(table.schema):
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        kind = pa.large_string() if str(kind) == "string_view" else kind
        if kind != field.type:
            table = table.set_column(position, field.name, table.column(position).cast(kind))
    return table
