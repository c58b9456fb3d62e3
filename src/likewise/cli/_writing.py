"""Pairs → a Parquet or CSV file, streamed; the final name appears only when the file is whole."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from likewise._json import plain
from likewise.auditing._internal import defuse_formulas
from likewise.comparable import ComparablePairs
from likewise.exceptions import TableFileError
from likewise.schema import Roles

if TYPE_CHECKING:
    import pyarrow as pa

ENDINGS: Final = (".parquet", ".csv")


def is_folder(out: Path) -> bool:
    """Tell whether a folder of parts is meant: a name without an ending."""
    return not out.suffix


def check_target(out: Path, data: Path) -> None:
    """Refuse a place that cannot be written to, before any work is done for it."""
    folder = out.parent
    if not is_folder(out) and out.suffix.lower() not in ENDINGS:
        raise TableFileError(
            f"--out is '{out}'; likewise writes files that end in {' or '.join(ENDINGS)}, "
            "and folders, whose names have no ending."
        )
    if not folder.is_dir():
        raise TableFileError(f"--out is '{out}', but there is no folder '{folder}'. Make it first.")
    if is_folder(out) and out.exists() and not out.is_dir():
        raise TableFileError(
            f"--out is '{out}', which is a file. Name a folder, or a file that ends in .parquet or .csv."
        )
    if out.exists() and not is_folder(out):
        if not out.is_file():
            raise TableFileError(f"--out is '{out}', which is a folder or device. Name a file.")
        if data.exists() and out.samefile(data):
            raise TableFileError(f"--out is '{out}', the very file that is read. Give the pairs another name.")
    if not os.access(folder, os.W_OK):
        raise TableFileError(f"--out is '{out}', but the folder '{folder}' may not be written to. Choose another.")


@contextmanager
def open_target(
    out: Path, frame: pa.Table, roles: Roles, about: dict[str, Any]
) -> Iterator[Callable[[ComparablePairs], None]]:
    """Give a function that writes pairs; put the file in place at the end, or leave nothing behind."""
    target = Path(os.path.realpath(out))  # replace what a link points at, not the link
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    columns = _Columns(frame, roles)
    try:
        with _open_writer(part, target.suffix.lower(), columns.schema(about)) as write:
            yield lambda pairs: write(columns.of(pairs))
        os.replace(part, target)
    except OSError as error:
        raise TableFileError(f"'{out}' cannot be written: {error.strerror or error}.") from error
    finally:
        with suppress(OSError):
            part.unlink()


@contextmanager
def _open_writer(path: Path, suffix: str, schema: pa.Schema) -> Iterator[Callable[[pa.Table], None]]:
    import pyarrow.csv
    import pyarrow.parquet

    if suffix == ".csv":
        with pyarrow.csv.CSVWriter(str(path), defuse_formulas(schema.empty_table()).schema) as writer:
            yield lambda table: writer.write_table(defuse_formulas(table))
    else:
        with pyarrow.parquet.ParquetWriter(str(path), schema, compression="zstd") as writer:
            yield writer.write_table


class _Columns:
    """The columns of the output: rows, ids, label, and the sensitive values of both people as they are in the file."""

    def __init__(self, frame: pa.Table, roles: Roles) -> None:
        self._label = _whole_column(frame, str(roles.label))
        self._sides: list[tuple[str, pa.Array]] = []
        taken = {"row"}
        if roles.row_id is not None:
            self._sides.append(("id", _whole_column(frame, roles.row_id)))
            taken.add("id")
        for name in roles.sensitive:
            title = name
            while title in taken:  # a sensitive column may be called 'row'
                title += "_"
            taken.add(title)
            self._sides.append((title, _whole_column(frame, name)))

    def schema(self, about: dict[str, Any]) -> pa.Schema:
        import pyarrow as pa

        fields = [("left_row", pa.int64()), ("right_row", pa.int64())]
        sides = [(f"{side}_{title}", values.type) for title, values in self._sides for side in ("left", "right")]
        n_ids = 2 if self._sides and self._sides[0][0] == "id" else 0
        fields += [*sides[:n_ids], ("label", self._label.type), *sides[n_ids:]]
        return pa.schema(fields, metadata={"likewise": json.dumps(plain(about))})

    def of(self, pairs: ComparablePairs) -> pa.Table:
        import pyarrow as pa

        left, right = pa.array(pairs.left, pa.int64()), pa.array(pairs.right, pa.int64())
        columns = {"left_row": left, "right_row": right, "label": self._label.take(left)}
        for title, values in self._sides:
            columns[f"left_{title}"], columns[f"right_{title}"] = values.take(left), values.take(right)
        schema = self.schema({})
        return pa.table([columns[name] for name in schema.names], schema=schema)


def _whole_column(frame: pa.Table, name: str) -> pa.Array:
    import pyarrow as pa

    column = frame.column(name)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if str(column.type) == "string_view":  # pyarrow can neither take rows of these nor write them as CSV
        column = column.cast(pa.string())
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
