"""Comma-separated text → a pyarrow table of text, cell by cell as it stands; errors name the line of the file."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from likewise._format import count_of
from likewise.exceptions import TableFileError

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK_SIZE: Final = 1 << 22  # one row has to fit in it
START: Final = 1 << 16  # bytes by which encoding and separator are told
LINES: Final = 20  # in which a separator stands equally often
SEPARATORS: Final = ",;\t|"
CONTROL: Final = bytes({*range(32)} - {*b"\t\n\r\f\x1b"})  # text has almost none of these
MARKS: Final = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32", codecs.BOM_UTF16_LE: "utf-16"} | {
    codecs.BOM_UTF16_BE: "utf-16"
}
FILE_KINDS: Final = {
    b"PAR1": "is a Parquet file; name it .parquet",
    b"PK\x03\x04": "is a zip archive or an Excel workbook; save the table as CSV",
    b"\x1f\x8b": "is compressed with gzip; name it .csv.gz",
    b"\xd0\xcf\x11\xe0": "is an Excel workbook; save the table as CSV",
    b"%PDF": "is a PDF document; save the table as CSV",
}


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file of text: its encoding and the separator of its cells."""

    path: Path
    encoding: str
    delimiter: str

    @classmethod
    def open(cls, path: Path, encoding: str, delimiter: str | None) -> TextFile:
        """Tell what is not given by the start of the file: the mark of UTF-16, and the separator of its first lines."""
        _check_options(encoding, delimiter)
        start = _read_start(path)
        by_mark = next((name for mark, name in MARKS.items() if start.startswith(mark)), encoding)
        encoding = encoding if _is_wide(encoding) else by_mark
        _refuse_binary(path, start, encoding)
        usual = "\t" if ".tsv" in path.name.lower()[-7:] else ","
        return cls(path, encoding, delimiter or _find_separator(start.decode(encoding, "replace"), usual))

    def read(self) -> pa.Table:
        """Return every cell as text."""
        import pyarrow as pa

        try:
            table = self._parse()
            if any(pa.types.is_binary(kind) for kind in table.schema.types):  # how pyarrow reads what is not UTF-8
                raise self._wrong_encoding()
            names = [column[0].as_py() for column in table.columns]
        except UnicodeError as error:
            raise self._wrong_encoding() from error
        except pa.ArrowInvalid as error:
            if not _is_wide(self.encoding) and self._first_invalid_byte():
                raise self._wrong_encoding() from error
            raise self._explain(error) from error
        table = table.slice(1).rename_columns(names)
        if not table.num_rows:
            raise TableFileError(f"'{self.path}' has no rows below its header. Give a file with people in it.")
        self._refuse_open_quote(table)
        return table

    def line_of(self, row: int) -> int:
        """Return the line on which a row begins, the first below the header being row 0."""
        with suppress(csv.Error, UnicodeError), _open(self.path) as file:
            lines = csv.reader(io.TextIOWrapper(file, self.encoding, newline=""), delimiter=self.delimiter)
            begin = 1
            for cells in lines:
                row -= bool(cells)
                if row < -1:
                    return begin
                begin = lines.line_num + 1
        return row + 2

    def _parse(self, **parse_options: Any) -> pa.Table:
        import pyarrow as pa
        import pyarrow.csv

        # the header is the first row, so that no column has a type of its own before it has a name
        start = _read_start(self.path).decode(self.encoding, "replace")
        most = max(start.count(self.delimiter), 1) + 1
        with _stream(self.path) as stream:
            return pyarrow.csv.read_csv(
                stream,
                pyarrow.csv.ReadOptions(
                    encoding=self.encoding,
                    block_size=BLOCK_SIZE,
                    autogenerate_column_names=True,
                    use_threads="invalid_row_handler" not in parse_options,
                ),
                pyarrow.csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True, **parse_options),
                pyarrow.csv.ConvertOptions(column_types={f"f{place}": pa.string() for place in range(most)}),
            )

    def _wrong_encoding(self) -> TableFileError:
        remedy = (
            "If it comes from Excel or an older system, try --encoding cp1252 or --encoding latin-1"
            if self.encoding.lower().replace("_", "-") in ("utf-8", "utf8")
            else "Try another --encoding, such as utf-8, cp1252 or latin-1"
        )
        place = "" if _is_wide(self.encoding) else self._first_invalid_byte()
        return TableFileError(f"'{self.path}' is not text in {self.encoding}{place}. {remedy}.")

    def _first_invalid_byte(self) -> str:
        with _open(self.path) as file:
            for number, line in enumerate(file, 1):
                try:
                    line.decode(self.encoding)
                except UnicodeDecodeError as error:
                    return f": line {number:,} has the byte 0x{line[error.start]:02x}"
                except UnicodeError:  # some encodings do not say where
                    break
        return ""

    def _explain(self, error: Exception) -> TableFileError:
        """Parse once more to find the first row that has another number of values."""
        import pyarrow as pa

        rows: list[Any] = []

        def note(row: Any) -> str:
            rows.append(row)
            return "error"

        with suppress(pa.ArrowInvalid):
            self._parse(invalid_row_handler=note)
        if rows:
            row = rows[0]
            place = "a row" if row.number is None else f"line {self.line_of(row.number - 2):,}"
            return TableFileError(
                f"'{self.path}' is not a table: {place} has {count_of(row.actual_columns, 'value')} where the header "
                f"has {count_of(row.expected_columns, 'column')}. Correct it; a value that contains the separator "
                f"{self.delimiter!r} needs quotes."
            )
        text = str(error).removeprefix("CSV parse error: ")
        if "Empty CSV file" in text:  # a header without a line end, or blank lines only
            return TableFileError(f"'{self.path}' has no rows below its header. Give a file with people in it.")
        if "straddling" in text or "out of sync" in text:
            return TableFileError(f"'{self.path}' has a quote (\") that is never closed. Close it.")
        return TableFileError(f"'{self.path}' is not a table: {text[:200]}")

    def _refuse_open_quote(self, table: pa.Table) -> None:
        """Refuse a quote that is never closed in the last column: it would swallow the remaining rows silently."""
        last = table.column(table.num_columns - 1)[-1].as_py()
        if "\n" not in last:
            return
        with _open(self.path) as file:
            end = file.read().decode(self.encoding).rstrip()
        if not end.endswith('"'):
            raise TableFileError(
                f"'{self.path}' has a quote (\") that is never closed, before '{last.splitlines()[0][:40]}'. Close it."
            )


def _check_options(encoding: str, delimiter: str | None) -> None:
    import pyarrow as pa

    try:
        "a".encode(encoding)
        codecs.getincrementaldecoder(encoding)("replace").decode(pa.py_buffer(b"a"))  # as pyarrow reads blocks
    except (LookupError, ValueError, TypeError, AttributeError):  # 'undefined' knows no letter, 'idna' only names
        raise TableFileError(
            f"--encoding is '{encoding}', which is not a text encoding. Try utf-8, cp1252, latin-1 or utf-16."
        ) from None
    is_one = delimiter is None or (len(delimiter) == 1 and delimiter.isascii() and delimiter not in '"\r\n\0')
    if not is_one:
        raise TableFileError(f"--set delimiter is {delimiter!r}; give one character, such as ';'.")


def _find_separator(start: str, usual: str) -> str:
    """Return the separator that stands equally often in the first lines, or else one that the header has."""
    lines = [line for line in re.sub(r'"[^"]*"', "", start).splitlines()[: LINES + 1] if line.strip()]
    lines = lines[:-1] if len(lines) > 2 else lines  # the last may be cut off
    candidates: tuple[str, ...] = (usual, *SEPARATORS.replace(usual, ""))
    for mark in candidates:
        numbers = {line.count(mark) for line in lines}
        if len(numbers) == 1 and numbers != {0}:
            return mark
    return next((mark for mark in candidates if lines and mark in lines[0]), usual)


def _stream(path: Path) -> Any:
    import pyarrow as pa

    return pa.input_stream(str(path), compression="gzip" if path.name.lower().endswith(".gz") else None)


def _open(path: Path) -> IO[bytes]:
    # a GzipFile reads bytes like any other, but is not declared so
    return gzip.open(path, "rb") if path.name.lower().endswith(".gz") else path.open("rb")  # type: ignore[return-value]


def _read_start(path: Path) -> bytes:
    """Return the first bytes of a file, with its whole header."""
    try:
        with _open(path) as file:
            start = file.read(START)
            return start if b"\n" in start or b"\r" in start else start + file.read(BLOCK_SIZE)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise TableFileError(
            f"'{path}' is an incomplete or damaged gzip file. Copy it again, or name it .csv if it is plain text."
        ) from error


def _refuse_binary(path: Path, start: bytes, encoding: str) -> None:
    if not start.removeprefix(codecs.BOM_UTF8).strip():
        raise TableFileError(f"'{path}' is empty. Give a file with column names and people in it.")
    for magic, kind in FILE_KINDS.items():
        if start.startswith(magic):
            raise TableFileError(f"'{path}' {kind}.")
    n_control = len(start) - len(start.translate(None, CONTROL))
    if not _is_wide(encoding) and (b"\0" in start or 100 * n_control > len(start)):
        raise TableFileError(f"'{path}' is not text but binary data. Give a table as CSV or Parquet.")


def _is_wide(encoding: str) -> bool:
    """Whether every letter takes several bytes, some of which may be zero."""
    return len("a".encode(encoding)) > 1
