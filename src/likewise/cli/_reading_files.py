"""Several files, or a folder of them → one pyarrow table, or one sentence on why not."""

from __future__ import annotations

import glob
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from likewise._format import count_of
from likewise.cli import _arguments as shared
from likewise.cli import _audit_arguments as given
from likewise.cli._reading import PARQUET_ENDINGS, read_table
from likewise.exceptions import TableFileError

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesReading:
    """Which files to read as one table, and how."""

    data: given.DataFiles
    encoding: shared.Encoding = "utf-8"
    delimiter: shared.Delimiter = None
    decimal: shared.Decimal = None

    @property
    def name(self) -> str:
        """The files in a few words."""
        files = [str(file) for file in self.files()]
        return files[0] if len(files) == 1 else f"{files[0]} and {count_of(len(files) - 1, 'more file')}"

    def files(self) -> list[Path]:
        """List the files in the order of their rows: as given, those of a folder by name."""
        return [file for named in self.data for file in _list_files(named)]

    def read(self) -> tuple[pa.Table, list[str]]:
        """Read the table, and say what was left out of it."""
        import pyarrow as pa

        files = self.files()
        tables: list[pa.Table] = []
        notes: list[str] = []
        for file in files:
            table, left_out = read_table(file, encoding=self.encoding, delimiter=self.delimiter, decimal=self.decimal)
            if tables:
                _refuse_others(tables[0], files[0], table, file)
                table = table.select(tables[0].column_names)
            tables.append(table)
            notes += [note for note in left_out if note not in notes]
        if len(tables) == 1:
            return tables[0], notes
        try:
            return pa.concat_tables(tables, promote_options="permissive"), notes
        except pa.ArrowException:
            raise _different_types(tables, files) from None


def _list_files(named: str) -> list[Path]:
    if re.match(r"\w[\w+.-]+://", named):
        raise TableFileError(f"'{named}' is not on this machine. Add --engine spark to read it where it is.")
    path = Path(named)
    if path.is_dir():
        found = sorted(one for one in path.iterdir() if one.name.lower().endswith(PARQUET_ENDINGS))
        found = [one for one in found if not one.name.startswith((".", "_"))]  # what others leave beside the data
        if not found:
            raise TableFileError(f"The folder '{path}' has no .parquet file. Name a file, or a folder with some.")
        return found
    if not path.exists() and glob.has_magic(named):
        matching = [Path(one) for one in sorted(glob.glob(named))]
        if not matching:
            raise TableFileError(f"No file is called '{named}'. Check the path.")
        return matching
    return [path]


def _refuse_others(first: pa.Table, first_file: Path, table: pa.Table, file: Path) -> None:
    here, there = set(table.column_names), set(first.column_names)
    for names, one, other in ((there - here, file, first_file), (here - there, first_file, file)):
        if names:
            raise TableFileError(
                f"'{one}' has no column '{sorted(names)[0]}', which '{other}' has. Give files with the same columns."
            )


def _different_types(tables: list[pa.Table], files: list[Path]) -> TableFileError:
    for table, file in zip(tables, files, strict=True):
        for name, kind, first in zip(table.column_names, table.schema.types, tables[0].schema.types, strict=True):
            if kind != first:
                return TableFileError(
                    f"Column '{name}' holds {kind} in '{file}' and {first} in '{files[0]}'. Write it alike in all."
                )
    return TableFileError(f"The columns of '{files[0]}' and the other files do not go together. Write them alike.")
