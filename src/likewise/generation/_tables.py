"""A long table as a stream of Arrow tables of equal size, from Parquet files or an iterable of tables."""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from likewise.exceptions import TableFileError

if TYPE_CHECKING:
    import pyarrow as pa

PANDAS_INDEX: Final = re.compile(r"__index_level_\d+__")
READ_AT_ONCE: Final = 65_536  # rows, at most


@dataclass(frozen=True, slots=True)
class TableStream:
    """Tables one after the other, and what identifies them."""

    files: tuple[Path, ...] = ()
    given: Iterable[Any] = ()
    name: Any = None
    left_out: tuple[str, ...] = ()  # columns to drop

    @property
    def n_rows(self) -> int | None:
        """Number of rows, if known before reading."""
        if self.files:
            return sum(int(_open(file).metadata.num_rows) for file in self.files)
        is_known = isinstance(self.given, list) and all(hasattr(table, "num_rows") for table in self.given)
        return sum(int(table.num_rows) for table in self.given) if is_known else None

    def describe(self) -> Any:
        """Return what identifies the tables as plain data; unnamed tables get a random word."""
        if not self.files:
            return uuid.uuid4().hex if self.name is None else self.name
        return [{"file": file.name, "sha256": _checksum(file)} for file in self.files]

    def tables(self, n_rows: int, start: int = 0) -> Iterator[pa.Table]:
        """Yield tables of ``n_rows`` rows, the last one perhaps shorter, from row ``start`` on."""
        import pyarrow as pa

        waiting: list[Any] = []
        n_waiting = 0
        for table in self._pieces(start):
            while len(table):
                taken = table.slice(0, n_rows - n_waiting)
                waiting, n_waiting, table = [*waiting, taken], n_waiting + len(taken), table.slice(len(taken))
                if n_waiting == n_rows:
                    yield pa.concat_tables(waiting)
                    waiting, n_waiting = [], 0
        if waiting:
            yield pa.concat_tables(waiting)

    def _pieces(self, start: int) -> Iterator[pa.Table]:
        pieces = self._read_files(start) if self.files else self._read_given(start)
        first = self._form_of_files() if self.files else None
        for table in pieces:
            first = table.schema if first is None else first
            yield table if table.schema == first else _in_schema(table, first)

    def _form_of_files(self) -> Any:
        """Return the schema that all files must have: that of the first file with rows."""
        for file in self.files:
            with _open(file) as opened:
                if opened.metadata.num_rows:
                    return _plain_columns(opened.schema_arrow.empty_table(), self.left_out).schema
        return None

    def _read_given(self, start: int) -> Iterator[pa.Table]:
        import pyarrow as pa

        for table in self.given:
            if not isinstance(table, pa.Table | pa.RecordBatch):
                raise TypeError(f"The source yields a {type(table).__name__}; give Parquet files, or Arrow tables.")
            whole = table if isinstance(table, pa.Table) else pa.Table.from_batches([table])
            skipped = min(start, len(whole))
            start -= skipped
            yield _plain_columns(whole.slice(skipped), self.left_out)

    def _read_files(self, start: int) -> Iterator[pa.Table]:
        import pyarrow as pa

        for file in self.files:
            with _open(file) as opened:
                for group in range(opened.metadata.num_row_groups):
                    n_here = opened.metadata.row_group(group).num_rows
                    if start >= n_here:  # finished rows are not read again
                        start -= n_here
                        continue
                    try:
                        for batch in opened.iter_batches(READ_AT_ONCE, row_groups=[group]):
                            skipped = min(start, len(batch))
                            start -= skipped
                            yield _plain_columns(pa.Table.from_batches([batch]).slice(skipped), self.left_out)
                    except (pa.ArrowException, OSError) as error:
                        raise TableFileError(f"'{file}' is damaged: {error}. Copy or write it again.") from error


def open_tables(source: Any, name: Any = None) -> TableStream:
    """Find the files of a source, or take the tables that it yields."""
    import pyarrow as pa

    if isinstance(source, TableStream):
        return source
    if isinstance(source, pa.Table | pa.RecordBatch):
        return TableStream(given=[source], name=name)
    if isinstance(source, str | Path):
        return TableStream(files=tuple(_find(source)))
    if isinstance(source, Sequence) and source and all(isinstance(one, str | Path) for one in source):
        return TableStream(files=tuple(file for one in source for file in _find(one)))
    if not isinstance(source, Iterable):
        raise TypeError(f"The source is a {type(source).__name__}; give Parquet files, or Arrow tables.")
    return TableStream(given=source, name=name)


def _find(source: str | Path) -> list[Path]:
    path = Path(source)
    if path.is_file():
        return [path]
    if path.is_dir():
        found = [file for file in sorted(path.glob("*.parquet")) if file.name[0] not in "._"]
        if not found:
            raise TableFileError(f"The folder '{path}' has no .parquet files. Give files, or another folder.")
        return found
    found = [Path(one) for one in sorted(glob(str(source)))] if "*" in str(source) else []
    if not found:
        raise TableFileError(f"There is no file '{source}'. Check the path.")
    return found


def _open(file: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet

    try:
        return pyarrow.parquet.ParquetFile(file, pre_buffer=False)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise TableFileError(f"'{file}' cannot be read as Parquet: {reason} Give a Parquet file.") from error


def _checksum(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _plain_columns(table: pa.Table, left_out: tuple[str, ...]) -> pa.Table:
    """Drop unwanted columns and a pandas index, and decode dictionaries: all parts then have equal types."""
    import pyarrow as pa

    kept = [name for name in table.column_names if name not in left_out and not PANDAS_INDEX.fullmatch(name)]
    table = table.select(kept)
    for position, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(position, field.name, table.column(position).cast(field.type.value_type))
    return table.replace_schema_metadata(None)


def _in_schema(table: pa.Table, schema: Any) -> pa.Table:
    import pyarrow as pa

    try:
        return table.select(schema.names).cast(schema)
    except (KeyError, ValueError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise TableFileError(
            f"The tables do not have the same columns: {reason}. Give tables with the columns of the first."
        ) from None
