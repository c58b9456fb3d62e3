"""Comma-separated text → a pyarrow table; errors name the line of the file."""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from likewise._format import count_of
from likewise.exceptions import TableFileError

if TYPE_CHECKING:
    import pyarrow as pa

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


def read_csv(
    path: Path, *, encoding: str, delimiter: str, decimal: str | None, null_values: Collection[str] = NULL_VALUES
) -> pa.Table:
    """Read text with a header line; types are inferred over the whole file."""
    import pyarrow as pa

    _check_options(encoding, delimiter, decimal)
    _refuse_binary(path, encoding)
    try:
        table = parse_csv(path, encoding, delimiter, decimal or ".", null_values=null_values)
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
    import pyarrow as pa

    try:
        "a".encode(encoding)
        codecs.getincrementaldecoder(encoding)("replace").decode(pa.py_buffer(b"a"))  # as pyarrow reads blocks
    except (LookupError, ValueError, TypeError, AttributeError):  # 'undefined' knows no letter, 'idna' only names
        raise TableFileError(
            f"--encoding is '{encoding}', which is not a text encoding. Try utf-8, cp1252, latin-1 or utf-16."
        ) from None
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0':
        raise TableFileError(f"--delimiter is {delimiter!r}; give one character, such as ';'.")
    if decimal not in (None, ".", ","):
        raise TableFileError(f"--decimal is {decimal!r}; give '.' or ','.")


def parse_csv(
    path: Path,
    encoding: str,
    delimiter: str,
    decimal: str = ".",
    *,
    columns: list[str] | None = None,
    null_values: Collection[str] = NULL_VALUES,
    **parse_options: Any,
) -> pa.Table:
    """Parse a file; some ``columns`` only, as text, if they are named."""
    import pyarrow.csv

    with _stream(path) as stream:
        return pyarrow.csv.read_csv(
            stream,
            pyarrow.csv.ReadOptions(
                encoding=encoding, block_size=BLOCK_SIZE, use_threads="invalid_row_handler" not in parse_options
            ),
            pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, **parse_options),
            _conversion(columns, null_values, decimal),
        )


def parse_blocks(
    path: Path, encoding: str, delimiter: str, columns: list[str], null_values: Collection[str] = NULL_VALUES
) -> Iterator[Any]:
    """Yield the text of some columns block by block, so that little memory is needed."""
    import pyarrow.csv

    with _stream(path) as stream:
        yield from pyarrow.csv.open_csv(
            stream,
            pyarrow.csv.ReadOptions(encoding=encoding, block_size=BLOCK_SIZE),
            pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            _conversion(list(columns), null_values, "."),
        )


def _conversion(columns: list[str] | None, null_values: Collection[str], decimal: str) -> Any:
    import pyarrow as pa
    import pyarrow.csv

    kept = {} if columns is None else {"include_columns": columns, "column_types": dict.fromkeys(columns, pa.string())}
    return pyarrow.csv.ConvertOptions(
        null_values=list(null_values), strings_can_be_null=bool(null_values), decimal_point=decimal, **kept
    )


def _stream(path: Path) -> Any:
    import pyarrow as pa

    return pa.input_stream(str(path), compression="gzip" if path.name.lower().endswith(".gz") else None)


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
    if start.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")) and not wide:
        raise TableFileError(f"'{path}' is text in UTF-32. Add --encoding utf-32.")
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
        parse_csv(path, encoding, delimiter, invalid_row_handler=note)
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
                f"'{path}' has one column only, '{' '.join(header.split())[:60]}'. If another character separates its "
                f"values, add --delimiter {spelled}."
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
