"""A file on disk → a pyarrow table, or one sentence on why not."""

from __future__ import annotations

import difflib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from likewise.cli import _arguments as given
from likewise.cli._csv import read_csv
from likewise.datasets import list_datasets
from likewise.exceptions import TableFileError

if TYPE_CHECKING:
    import pyarrow as pa

CSV_ENDINGS: Final = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
PARQUET_ENDINGS: Final = (".parquet", ".pq")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Which file to read, and how."""

    data: given.Data
    encoding: given.Encoding = "utf-8"
    delimiter: given.Delimiter = None
    decimal: given.Decimal = None

    def read(self) -> tuple[pa.Table, list[str]]:
        """Read the table, and say what was left out of it."""
        return read_table(self.data, encoding=self.encoding, delimiter=self.delimiter, decimal=self.decimal)


def read_table(
    path: Path, *, encoding: str = "utf-8", delimiter: str | None = None, decimal: str | None = None
) -> tuple[pa.Table, list[str]]:
    """Read a table of people, and say what was left out of it."""
    refuse_what_is_no_file(path)
    name = path.name.lower()
    try:
        if name.endswith(PARQUET_ENDINGS):
            table = _read_parquet(path)
        elif name.endswith(CSV_ENDINGS):
            separator = delimiter or ("\t" if ".tsv" in name[-7:] else ",")
            table = read_csv(path, encoding=encoding, delimiter=separator, decimal=decimal)
        else:
            ending = (
                f"ends in '{path.suffix}', which likewise does not read"
                if path.suffix
                else "has no ending such as .csv"
            )
            raise TableFileError(f"'{path}' {ending}. Give one of {', '.join(CSV_ENDINGS)}, .parquet.")
    except OSError as error:
        raise TableFileError(f"'{path}' cannot be read: {error.strerror or _first_sentence(error)}.") from error
    table, notes = _leave_out_row_numbers(path, table)
    _refuse_repeated_names(path, table)
    if table.num_rows == 0:
        raise TableFileError(
            f"'{path}' has {table.num_columns} column names and no rows. Give a file with people in it."
        )
    return table, notes


def refuse_what_is_no_file(path: Path) -> None:
    """Stop at a path that names nothing readable, and say what it might have meant."""
    if path.is_dir():
        raise TableFileError(f"'{path}' is a folder. Name the file in it.")
    if path.exists():
        if path.is_file() and path.stat().st_size == 0:
            raise TableFileError(f"'{path}' is empty. Give a file with column names and people in it.")
        return
    known = [dataset.name for dataset in list_datasets()]
    if str(path) in known:
        raise TableFileError(
            f"There is no file '{path}'. It is one of the data sets that likewise knows ({', '.join(known)}), "
            f"but this command reads files: load it in Python with load_dataset('{path}')."
        )
    siblings = os.listdir(path.parent) if path.parent.is_dir() else []
    nearest = difflib.get_close_matches(path.name, siblings, n=1)
    hint = f" Did you mean '{path.parent / nearest[0]}'?" if nearest else " Check the path."
    raise TableFileError(f"There is no file '{path}'.{hint}")


def _read_parquet(path: Path) -> pa.Table:
    import pyarrow as pa
    import pyarrow.parquet

    with path.open("rb") as file:
        if file.read(4) != b"PAR1":
            raise TableFileError(
                f"'{path}' is not a Parquet file, whatever its name says. If it is text, name it .csv."
            )
    try:
        # ParquetFile rather than read_table: a file in a folder named 'year=2020' has no extra column
        with pyarrow.parquet.ParquetFile(path) as file:
            return file.read()
    except (pa.ArrowException, OSError) as error:
        raise TableFileError(
            f"'{path}' is a damaged Parquet file, perhaps cut short ({_first_sentence(error)}). Copy or write it again."
        ) from error


def _leave_out_row_numbers(path: Path, table: pa.Table) -> tuple[pa.Table, list[str]]:
    """Drop what data frame libraries add on writing: row numbers as a nameless or index column, empty columns."""
    kept: list[int] = []
    notes: list[str] = []
    for position, name in enumerate(table.column_names):
        if re.fullmatch(r"__index_level_\d+__", name):
            notes.append(f"Column '{name}' is left out: it is a pandas index, written along with the data.")
        elif name.strip():
            kept.append(position)
        elif position == 0:
            notes.append(
                "The first column has no name and is left out, as row numbers that were written along with the data."
            )
        elif table.column(position).null_count == table.num_rows:
            notes.append(f"Column {position + 1} has no name and no values and is left out.")
        else:
            raise TableFileError(f"Column {position + 1} of '{path}' has no name. Name it in the file's first line.")
    return table.select(kept), notes


def _refuse_repeated_names(path: Path, table: pa.Table) -> None:
    names = table.column_names
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise TableFileError(f"'{path}' has more than one column named '{repeated[0]}'. Rename or remove all but one.")


def _first_sentence(error: Exception) -> str:
    return re.split(r"[.\n]\s|\n", str(error).strip(), maxsplit=1)[0].rstrip(".")[:200]
