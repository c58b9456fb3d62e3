"""Table files → one pyarrow table, or one sentence that says why not."""

from __future__ import annotations

import difflib
import glob
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from likewise._files import address_of, hash_file, local_path, refuse_pipe
from likewise._format import count_of
from likewise.cli._columns import ColumnNames, NamedColumns
from likewise.cli._csv import TextFile
from likewise.cli._options import FILE, argument, option
from likewise.cli._typing import Part, Typing
from likewise.exceptions import TableFileError

if TYPE_CHECKING:
    import pyarrow as pa

CSV_ENDINGS: Final = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
PARQUET_ENDINGS: Final = (".parquet", ".pq")
NULL_VALUES: Final = ("", "NA", "N/A", "NaN", "nan", "null", "NULL")
UNNAMED: Final = NamedColumns()

DATA_FILES: Final = partial(
    argument,
    "DATA",
    "Table with a person per row: .csv, .tsv (.gz), .parquet; several files, or a folder of them.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFormat:
    """How the text of a CSV file is written."""

    encoding: str = option("utf-8", FILE, "NAME", "Text encoding of a CSV file, such as cp1252 or latin-1.")
    delimiter: str | None = option(
        None, FILE, "CHAR", "Field separator of a CSV file; by default the one its first lines have."
    )
    decimal: str | None = option(
        None, FILE, "CHAR", "Decimal mark of numbers in a CSV file, '.' or ','; by default as its numbers tell."
    )
    text: list[str] | None = option(
        *(None, FILE, "COLUMNS"),
        "Columns of a CSV file to read as text. Codes, such as 007, are found without it.",
    )
    missing_values: list[str] | None = option(
        *(None, FILE, "WORDS"),
        "Words of a CSV file that mean a missing value, such as '?' or 'unknown,none', besides an empty cell, NA, N/A, "
        "NaN and null.",
    )

    @property
    def null_values(self) -> tuple[str, ...]:
        """The words that mean a missing value."""
        given = [word for text in self.missing_values or () for word in (text.split(",") if text != "," else [text])]
        return (*NULL_VALUES, *dict.fromkeys(word.strip() or word for word in given if word))

    def read_files(
        self, files: list[Path], named: NamedColumns = UNNAMED, text: Mapping[str, str] | None = None
    ) -> TableRead:
        """Read files as one table; a column that is a code in one is text in all, and with ``text`` exactly these."""
        _refuse_repeated(files)
        if self.decimal not in (None, ".", ","):
            raise TableFileError(f"--decimal is {self.decimal!r}; give '.' or ','.")
        parts, notes = self._open_parts(files)
        named_texts = self._name_texts(parts[0], files[0]) if text is None else ()
        typing = Typing(parts, named, self.null_values, self.decimal, named_texts, text)
        if typing.is_empty:
            self.refuse_text(files[0])
            return TableRead(_join([part.table for part in parts], files), notes, {})
        table, codes, more = typing.run()
        start, tables = 0, []
        for part in parts:
            tables.append(table.slice(start, part.n_rows) if part.file is not None else part.table)
            start += part.n_rows if part.file is not None else 0
        return TableRead(_join(tables, files), [*notes, *more], codes)

    def refuse_text(self, path: Path) -> None:
        """Refuse ``--text`` where columns have types of their own."""
        if self.text:
            raise TableFileError(f"--text is for CSV files; the columns of '{path}' have types. Leave it out.")

    def _name_texts(self, part: Part, file: Path) -> tuple[str, ...]:
        return ColumnNames(tuple(part.table.column_names), str(file)).find_all("--text", self.text)

    def _open_parts(self, files: list[Path]) -> tuple[list[Part], list[str]]:
        """Read the files, those of text as text, with the columns of the first in its order."""
        parts: list[Part] = []
        notes: list[str] = []
        for file in files:
            part, dropped = self.open(file)
            if parts:
                _refuse_other_columns(parts[0].table, files[0], part.table, file)
                part = replace(part, table=part.table.select(parts[0].table.column_names))
            parts.append(part)
            notes += [note for note in dropped if note not in notes]
        return parts, notes

    def open(self, path: Path) -> tuple[Part, list[str]]:
        """Read a file, text as text, without the columns that other programs add; notes say which."""
        refuse_unreadable(path)
        file: TextFile | None = None
        try:
            if path.name.lower().endswith(PARQUET_ENDINGS):
                table = _read_parquet(path)
            elif is_csv(path):
                file = TextFile.open(path, self.encoding, self.delimiter)
                table = file.read()
            else:
                ending = f"has the unknown ending '{path.suffix}'" if path.suffix else "has no ending such as .csv"
                raise TableFileError(f"'{path}' {ending}. Give one of {', '.join(CSV_ENDINGS)}, .parquet.")
        except OSError as error:
            raise TableFileError(f"'{path}' cannot be read: {error.strerror or _first_sentence(error)}.") from error
        table, notes = _drop_row_numbers(path, table)
        table, repeated = _drop_repeated_columns(path, table)
        if table.num_rows == 0:
            raise TableFileError(
                f"'{path}' has {table.num_columns} column names and no rows. Give a file with people in it."
            )
        return Part(table, file, table.num_rows), [*notes, *repeated]


class TableRead(NamedTuple):
    """A table, notes on the columns that were dropped or are text, and the columns that were read as text, and why."""

    frame: pa.Table
    notes: list[str]
    text: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFile(TextFormat):
    """One file to read."""

    data: Path = argument("DATA", "A .csv, .tsv, .csv.gz or .parquet file, one person per row.")

    def read(self, named: NamedColumns) -> TableRead:
        """Read the table, given what options name."""
        return self.read_files([self.data], named)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFiles(TextFormat):
    """Files to read as one table."""

    data: list[str] = DATA_FILES()

    @property
    def name(self) -> str:
        """The files in a few words."""
        return name_files([str(file) for file in self.files()])

    def files(self) -> list[Path]:
        """List the files in the order of their rows: as given, those of a folder by name."""
        return [file for named in self.data for file in _list_files(named)]

    def read(self, named: NamedColumns = UNNAMED, text: Mapping[str, str] | None = None) -> TableRead:
        """Read the table, given what options name."""
        return self.read_files(self.files(), named, text)


def _refuse_repeated(files: list[Path]) -> None:
    """Refuse files with the same bytes, whose people would count twice; only those of one size are read."""
    sizes = [file.stat().st_size if file.is_file() else None for file in files]
    known: dict[str, Path] = {}
    for file, size in zip(files, sizes, strict=True):
        if not size or sizes.count(size) < 2:
            continue
        first = known.setdefault(hash_file(file), file)
        if first is not file:
            raise TableFileError(
                f"'{file}' is the same as '{first}' (equal checksums): everybody in it would count twice. Give it once."
            )


def _join(tables: list[pa.Table], files: list[Path]) -> pa.Table:
    import pyarrow as pa

    if len(tables) == 1:
        return tables[0]
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException:
        raise _different_types(tables, files) from None


def is_csv(path: Path) -> bool:
    """Whether a file is text, by its name."""
    return path.name.lower().endswith(CSV_ENDINGS)


def name_files(files: list[str]) -> str:
    """Name files by the first and the number of the others."""
    return files[0] if len(files) == 1 else f"{files[0]} and {count_of(len(files) - 1, 'more file')}"


def refuse_unreadable(path: Path) -> None:
    """Refuse a path that is no readable file, with the name that was probably meant."""
    if local_path(path).is_dir():
        raise TableFileError(f"'{path}' is a folder. Name the file in it.")
    if path.exists():
        refuse_pipe(path)
        if path.stat().st_size == 0:
            raise TableFileError(f"'{path}' is empty. Give a file with column names and people in it.")
        return
    from likewise.datasets import list_datasets

    known = [dataset.name for dataset in list_datasets()]
    if str(path) in known:
        raise TableFileError(
            f"There is no file '{path}'. It is one of the data sets that likewise knows ({', '.join(known)}), "
            f"but this command reads files: load it in Python with load_dataset('{path}')."
        )
    if path.is_symlink():
        raise TableFileError(f"'{path}' is a link that leads to no file: '{os.readlink(path)}'. Correct the link.")
    siblings = os.listdir(path.parent) if path.parent.is_dir() else []
    nearest = difflib.get_close_matches(path.name, siblings, n=1)
    hint = f" Did you mean '{path.parent / nearest[0]}'?" if nearest else " Check the path."
    raise TableFileError(f"There is no file '{path}'.{hint}")


def _list_files(named: str) -> list[Path]:
    if address_of(named) is not None:
        raise TableFileError(
            f"'{named}' is not on this machine. Copy it here, or audit it there with likewise.spark.audit in Python."
        )
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
            raise TableFileError(f"No file matches '{named}'. Check the path.")
        return matching
    return [path]


def _read_parquet(path: Path) -> pa.Table:
    import pyarrow as pa
    import pyarrow.parquet

    with path.open("rb") as file:
        if file.read(4) != b"PAR1":
            raise TableFileError(f"'{path}' is not a Parquet file, despite its name. If it is text, name it .csv.")
    try:
        # ParquetFile rather than read_table: a file in a folder named 'year=2020' has no extra column
        with pyarrow.parquet.ParquetFile(path) as file:
            table = file.read()
            table.validate(full=True)  # whatever is not UTF-8 would come up later
            _ = table.column_names  # which are decoded only now
            return table
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise TableFileError(
            f"'{path}' is a damaged Parquet file, perhaps cut short ({_first_sentence(error)}). Copy or write it again."
        ) from error


def _drop_row_numbers(path: Path, table: pa.Table) -> tuple[pa.Table, list[str]]:
    """Drop what data frame libraries add on writing: row numbers as a nameless or index column, empty columns."""
    from likewise.schema._internal import is_pandas_index

    kept: list[int] = []
    notes: list[str] = []
    for position, name in enumerate(table.column_names):
        if is_pandas_index(name):
            notes.append(f"Column '{name}' is left out: it is a pandas index, written along with the data.")
        elif name.strip():
            kept.append(position)
        elif position == 0:
            notes.append("The first column has no name and is left out: it is taken for row numbers.")
        elif not any(table.column(position).unique().to_pylist()):
            notes.append(f"Column {position + 1} has no name and no values and is left out.")
        else:
            raise TableFileError(f"Column {position + 1} of '{path}' has no name. Name it in the file's first line.")
    return table.select(kept), notes


def _drop_repeated_columns(path: Path, table: pa.Table) -> tuple[pa.Table, list[str]]:
    """Drop columns that repeat another under the same name; refuse two of one name with other values."""
    first: dict[str, int] = {}
    notes: list[str] = []
    for place, name in enumerate(table.column_names):
        if first.setdefault(name, place) == place:
            continue
        if not table.column(place).equals(table.column(first[name])):
            raise TableFileError(
                f"'{path}' has more than one column named '{name}', with different values. Rename or remove all but "
                "one."
            )
        notes.append(f"Column '{name}' is in the file twice, with the same values; it is read once.")
    return table.select(list(first.values())), notes


def _refuse_other_columns(first: pa.Table, first_file: Path, table: pa.Table, file: Path) -> None:
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
                    f"Column '{name}' has type {kind} in '{file}' and {first} in '{files[0]}'. Use the same type."
                )
    return TableFileError(f"The columns of '{files[0]}' and of the other files have types that cannot be combined.")


def _first_sentence(error: Exception) -> str:
    return re.split(r"[.\n]\s|\n", str(error).strip(), maxsplit=1)[0].rstrip(".")[:200]
