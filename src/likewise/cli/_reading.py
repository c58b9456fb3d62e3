"""Table files → one pyarrow table, or one sentence that says why not."""

from __future__ import annotations

import difflib
import glob
import gzip
import os
import re
import zlib
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from likewise._format import count_of
from likewise.cli._options import FILE, argument, option
from likewise.exceptions import TableFileError

if TYPE_CHECKING:
    import pyarrow as pa

CSV_ENDINGS: Final = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
PARQUET_ENDINGS: Final = (".parquet", ".pq")
NULL_VALUES: Final = ("", "NA", "N/A", "NaN", "nan", "null", "NULL")
NUMBER: Final = r"^[+-]?\d+(,\d+|(,\d{3})+)?$"  # with a comma for decimals or thousands, or none
BLOCK_SIZE: Final = 1 << 24  # one row has to fit in it
CONTROL: Final = bytes({*range(32)} - {*b"\t\n\r\f\x1b"})  # text has almost none of these
FILE_KINDS: Final = {
    b"PAR1": "is a Parquet file; name it .parquet",
    b"PK\x03\x04": "is a zip archive or an Excel workbook; save the table as CSV",
    b"\x1f\x8b": "is compressed with gzip; name it .csv.gz",
    b"\xd0\xcf\x11\xe0": "is an Excel workbook; save the table as CSV",
    b"%PDF": "is a PDF document; save the table as CSV",
}

DATA_FILES: Final = partial(
    argument,
    "DATA",
    "A .csv, .tsv, .csv.gz or .parquet file, one person per row; several files with the same columns; or a folder of "
    "Parquet files.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFormat:
    """How the text of a CSV file is written."""

    encoding: str = option("utf-8", FILE, "NAME", "Text encoding of a CSV file, such as cp1252 or latin-1.")
    delimiter: str | None = option(None, FILE, "CHAR", "Field separator of a CSV file, if not a comma (a tab in .tsv).")
    decimal: str | None = option(None, FILE, "CHAR", "Decimal mark of numbers in a CSV file, if not a point.")

    def read_file(self, path: Path) -> tuple[pa.Table, list[str]]:
        """Read a table of people, with notes on the columns that were dropped."""
        refuse_unreadable(path)
        name = path.name.lower()
        try:
            if name.endswith(PARQUET_ENDINGS):
                table = _read_parquet(path)
            elif name.endswith(CSV_ENDINGS):
                usual = "\t" if ".tsv" in name[-7:] else ","
                separator = usual if self.delimiter is None else self.delimiter
                table = read_csv(path, encoding=self.encoding, delimiter=separator, decimal=self.decimal)
            else:
                ending = f"has the unknown ending '{path.suffix}'" if path.suffix else "has no ending such as .csv"
                raise TableFileError(f"'{path}' {ending}. Give one of {', '.join(CSV_ENDINGS)}, .parquet.")
        except OSError as error:
            raise TableFileError(f"'{path}' cannot be read: {error.strerror or _first_sentence(error)}.") from error
        table, notes = _drop_row_numbers(path, table)
        _refuse_repeated_names(path, table)
        if table.num_rows == 0:
            raise TableFileError(
                f"'{path}' has {table.num_columns} column names and no rows. Give a file with people in it."
            )
        return table, notes


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFile(TextFormat):
    """One file to read."""

    data: Path = argument("DATA", "A .csv, .tsv, .csv.gz or .parquet file, one person per row.")

    def read(self) -> tuple[pa.Table, list[str]]:
        """Read the table, with notes on the columns that were dropped."""
        return self.read_file(self.data)


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

    def read(self) -> tuple[pa.Table, list[str]]:
        """Read the table, with notes on the columns that were dropped."""
        import pyarrow as pa

        files = self.files()
        tables: list[pa.Table] = []
        notes: list[str] = []
        for file in files:
            table, dropped = self.read_file(file)
            if tables:
                _refuse_other_columns(tables[0], files[0], table, file)
                table = table.select(tables[0].column_names)
            tables.append(table)
            notes += [note for note in dropped if note not in notes]
        if len(tables) == 1:
            return tables[0], notes
        try:
            return pa.concat_tables(tables, promote_options="permissive"), notes
        except pa.ArrowException:
            raise _different_types(tables, files) from None


def name_files(files: list[str]) -> str:
    """Name files by the first and the number of the others."""
    return files[0] if len(files) == 1 else f"{files[0]} and {count_of(len(files) - 1, 'more file')}"


def refuse_unreadable(path: Path) -> None:
    """Refuse a path that is no readable file, with the name that was probably meant."""
    if path.is_dir():
        raise TableFileError(f"'{path}' is a folder. Name the file in it.")
    if path.exists():
        if path.is_file() and path.stat().st_size == 0:
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
            return file.read()
    except (pa.ArrowException, OSError) as error:
        raise TableFileError(
            f"'{path}' is a damaged Parquet file, perhaps cut short ({_first_sentence(error)}). Copy or write it again."
        ) from error


def _drop_row_numbers(path: Path, table: pa.Table) -> tuple[pa.Table, list[str]]:
    """Drop what data frame libraries add on writing: row numbers as a nameless or index column, empty columns."""
    kept: list[int] = []
    notes: list[str] = []
    for position, name in enumerate(table.column_names):
        if is_pandas_index(name):
            notes.append(f"Column '{name}' is left out: it is a pandas index, written along with the data.")
        elif name.strip():
            kept.append(position)
        elif position == 0:
            notes.append("The first column has no name and is left out: it is taken for row numbers.")
        elif table.column(position).null_count == table.num_rows:
            notes.append(f"Column {position + 1} has no name and no values and is left out.")
        else:
            raise TableFileError(f"Column {position + 1} of '{path}' has no name. Name it in the file's first line.")
    return table.select(kept), notes


def is_pandas_index(name: str) -> bool:
    """Whether a column is an index that pandas wrote along with the data."""
    return re.fullmatch(r"__index_level_\d+__", name) is not None


def _refuse_repeated_names(path: Path, table: pa.Table) -> None:
    names = table.column_names
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise TableFileError(f"'{path}' has more than one column named '{repeated[0]}'. Rename or remove all but one.")


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


def read_csv(path: Path, *, encoding: str, delimiter: str, decimal: str | None) -> pa.Table:
    """Read text with a header line; types are inferred over the whole file."""
    import pyarrow as pa

    _check_options(encoding, delimiter, decimal)
    _refuse_binary(path, encoding)
    try:
        table = _parse(path, encoding, delimiter, decimal or ".")
        names = table.column_names  # decoded only now
        if any(pa.types.is_binary(kind) for kind in table.schema.types):  # how pyarrow reads what is not UTF-8
            raise _wrong_encoding(path, encoding)
    except UnicodeError as error:
        raise _wrong_encoding(path, encoding) from error
    except pa.ArrowInvalid as error:
        if not _is_wide(encoding) and _first_invalid_byte(path, encoding):
            raise _wrong_encoding(path, encoding) from error
        raise _explain(path, encoding, delimiter, error) from error
    if len(names) == 1:
        _refuse_other_delimiter(path, names[0])
    _refuse_open_quote(path, table, encoding)
    if decimal is None:
        _refuse_decimal_commas(path, table)
    return table


def _check_options(encoding: str, delimiter: str, decimal: str | None) -> None:
    try:
        "a".encode(encoding)
    except (LookupError, ValueError):  # some, such as 'undefined', know no letter
        raise TableFileError(
            f"--encoding is '{encoding}', which is not a text encoding. Try utf-8, cp1252, latin-1 or utf-16."
        ) from None
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
        raise TableFileError(f"--delimiter is {delimiter!r}; give one character, such as ';'.")
    if decimal not in (None, ".", ","):
        raise TableFileError(f"--decimal is {decimal!r}; give '.' or ','.")


def _parse(path: Path, encoding: str, delimiter: str, decimal: str = ".", **parse_options: Any) -> pa.Table:
    import pyarrow as pa
    import pyarrow.csv

    with pa.input_stream(str(path), compression="gzip" if path.name.lower().endswith(".gz") else None) as stream:
        return pyarrow.csv.read_csv(
            stream,
            pyarrow.csv.ReadOptions(
                encoding=encoding, block_size=BLOCK_SIZE, use_threads="invalid_row_handler" not in parse_options
            ),
            pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, **parse_options),
            pyarrow.csv.ConvertOptions(null_values=list(NULL_VALUES), strings_can_be_null=True, decimal_point=decimal),
        )


def _open(path: Path) -> IO[bytes]:
    # a GzipFile reads bytes like any other, but is not declared so
    return gzip.open(path, "rb") if path.name.lower().endswith(".gz") else path.open("rb")  # type: ignore[return-value]


def _refuse_binary(path: Path, encoding: str) -> None:
    """Look at the first bytes of a file."""
    try:
        with _open(path) as file:
            start = file.read(1 << 16)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise TableFileError(
            f"'{path}' is an incomplete or damaged gzip file. Copy it again, or name it .csv if it is plain text."
        ) from error
    if not start.removeprefix(b"\xef\xbb\xbf").strip():
        raise TableFileError(f"'{path}' is empty. Give a file with column names and people in it.")
    for magic, kind in FILE_KINDS.items():
        if start.startswith(magic):
            raise TableFileError(f"'{path}' {kind}.")
    wide = _is_wide(encoding)
    if start.startswith((b"\xff\xfe", b"\xfe\xff")) and not wide:
        raise TableFileError(f"'{path}' is text in UTF-16. Add --encoding utf-16.")
    n_control = len(start) - len(start.translate(None, CONTROL))
    if not wide and (b"\0" in start or 100 * n_control > len(start)):
        raise TableFileError(f"'{path}' is not text but binary data. Give a table as CSV or Parquet.")


def _wrong_encoding(path: Path, encoding: str) -> TableFileError:
    remedy = (
        "If it comes from Excel or an older system, try --encoding cp1252 or --encoding latin-1"
        if encoding.lower().replace("_", "-") in ("utf-8", "utf8")
        else "Try another --encoding, such as utf-8, cp1252 or latin-1"
    )
    place = "" if _is_wide(encoding) else _first_invalid_byte(path, encoding)
    return TableFileError(f"'{path}' is not text in {encoding}{place}. {remedy}.")


def _is_wide(encoding: str) -> bool:
    """Whether every letter takes several bytes, some of which may be zero."""
    return len("a".encode(encoding)) > 1


def _first_invalid_byte(path: Path, encoding: str) -> str:
    with _open(path) as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode(encoding)
            except UnicodeDecodeError as error:
                return f": line {number:,} has the byte 0x{line[error.start]:02x}"
            except UnicodeError:  # some encodings do not say where
                break
    return ""


def _explain(path: Path, encoding: str, delimiter: str, error: Exception) -> TableFileError:
    """Parse once more to find the first row that has another number of values."""
    import pyarrow as pa

    found: list[Any] = []

    def note(row: Any) -> str:
        found.append(row)
        return "error"

    with suppress(pa.ArrowInvalid):
        _parse(path, encoding, delimiter, invalid_row_handler=note)
    if found:
        row = found[0]
        if row.expected_columns == 1:
            with _open(path) as file:
                header = file.readline().decode(encoding, "replace").strip("\ufeff\r\n ")
            _refuse_other_delimiter(path, header)
        place = f"row {row.number:,} (the header is row 1)" if row.number is not None else "a row"
        return TableFileError(
            f"'{path}' is not a table: {place} has {count_of(row.actual_columns, 'value')} where the header has "
            f"{count_of(row.expected_columns, 'column')}. Correct it; a value that contains the separator needs quotes."
        )
    text = str(error).removeprefix("CSV parse error: ")
    if "Empty CSV file" in text:  # a header without a line end, or blank lines only
        return TableFileError(f"'{path}' has no rows below its header. Give a file with people in it.")
    if "straddling" in text or "out of sync" in text:
        return TableFileError(f"'{path}' has a quote (\") that is never closed. Close it.")
    return TableFileError(f"'{path}' is not a table: {text[:200]}")


def _refuse_other_delimiter(path: Path, header: str) -> None:
    for other, spelled in ((";", "';'"), ("\t", "$'\\t'"), ("|", "'|'"), (",", "','")):
        if other in header:
            raise TableFileError(
                f"'{path}' has one column only, '{header[:60]}'. If another character separates its values, "
                f"add --delimiter {spelled}."
            )


def _refuse_decimal_commas(path: Path, table: pa.Table) -> None:
    """Refuse numbers such as 1500,25: read as text they would be categories, and hardly any two people comparable."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for name, column in zip(table.column_names, table.columns, strict=True):
        if not pa.types.is_string(column.type):
            continue
        texts = column.drop_null()
        if pc.all(pc.match_substring_regex(texts, NUMBER)).as_py() and pc.any(pc.match_substring(texts, ",")).as_py():
            example = texts.filter(pc.match_substring(texts, ","))[0].as_py()
            raise TableFileError(
                f"Column '{name}' of '{path}' holds numbers written with a comma, such as '{example}'. "
                "Add --decimal ',' if it is the decimal mark; if it separates thousands, remove it from the file. "
                "--decimal '.' keeps them as text."
            )


def _refuse_open_quote(path: Path, table: pa.Table, encoding: str) -> None:
    """Refuse a quote that is never closed in the last column: it would swallow the remaining rows silently."""
    last = table.column(table.num_columns - 1)[-1].as_py() if table.num_rows else None
    if not isinstance(last, str) or "\n" not in last:
        return
    with _open(path) as file:
        end = file.read().decode(encoding).rstrip()
    if not end.endswith('"'):
        raise TableFileError(
            f"'{path}' has a quote (\") that is never closed, before '{last.splitlines()[0][:40]}'. Close it."
        )
