"""Table files → one pyarrow table, or one sentence that says why not."""

from __future__ import annotations

import difflib
import glob
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from likewise._files import address_of, hash_file, local_path, refuse_pipe
from likewise._format import count_of
from likewise.cli._columns import AS_TEXT, ColumnNames, NamedColumns
from likewise.cli._csv import NULL_VALUES, parse_blocks, parse_csv, read_csv
from likewise.cli._options import FILE, argument, option
from likewise.exceptions import TableFileError
from likewise.schema import Roles
from likewise.schema._internal import is_pandas_index

if TYPE_CHECKING:
    import pyarrow as pa

CSV_ENDINGS: Final = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
PARQUET_ENDINGS: Final = (".parquet", ".pq")
GIVEN: Final = "given"  # why a column is text: --text names it
PADDED: Final = "leading zeros"
LONG: Final = "more digits than a number holds"
SPELLED: Final = "several spellings"
PADDING: Final = r"^\s*[+-]?0\d"
UNNAMED: Final = NamedColumns()
WHOLE: Final = r"^\s*[+-]?\d+([eE]\d+)?\s*$"  # an exponent without a sign is part of a code, such as 12E4

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

    text: list[str] | None = option(
        *(None, FILE, "COLUMNS"),
        "Columns of a CSV file to read as text. Codes are found without it: whole numbers with leading zeros, or with "
        "more digits than 64 bits hold, and categories that are written 1.1 and 1.10. A column that --continuous, "
        "--bins or --scores names is read as numbers.",
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

    def read_files(self, files: list[Path], named: NamedColumns, text: Mapping[str, str] | None = None) -> TableRead:
        """Read files as one table; a column that is a code in one is text in all, and with ``text`` exactly these."""
        _refuse_repeated(files)
        tables: list[pa.Table] = []
        notes: list[str] = []
        texts: list[dict[str, str]] = []
        for file in files:
            table, dropped, codes = self.read_file(file, named.numbers, text)
            if tables:
                _refuse_other_columns(tables[0], files[0], table, file)
                table = table.select(tables[0].column_names)
            tables.append(table)
            texts.append(codes)
            notes += [note for note in dropped if note not in notes]
        found = {name: why for codes in reversed(texts) for name, why in codes.items()}
        for place, (file, codes) in enumerate(zip(files, texts, strict=True)):
            if is_csv(file):
                tables[place] = self.with_texts(file, tables[place], [name for name in found if name not in codes])
        frame = _join(tables, files)
        spelled = self._find_spellings(files, frame, named) if text is None else {}
        if spelled:
            frame = _join([self.with_texts(*one, spelled) for one in zip(files, tables, strict=True)], files)
        found |= spelled
        return TableRead(frame, [*notes, *_note_codes(found)], found)

    def read_file(self, path: Path, numbers: Collection[str] = (), text: Mapping[str, str] | None = None) -> TableRead:
        """Read a table of people; ``numbers`` are not read as text, and with ``text`` exactly its columns are."""
        table, notes = self._read_typed(path)
        if not is_csv(path):
            self.refuse_text(path)
            return TableRead(table, notes, {})
        if text is None:
            given = ColumnNames(tuple(table.column_names), str(path)).find_all("--text", self.text)
            text = dict.fromkeys(given, GIVEN) | self._find_codes(path, table, {*numbers, *given})
        text = {name: why for name, why in text.items() if name in table.column_names}
        return TableRead(self.with_texts(path, table, text), notes, text)

    def refuse_text(self, path: Path | str) -> None:
        """Refuse ``--text`` where columns have types of their own."""
        if self.text:
            raise TableFileError(f"--text is for CSV files; the columns of '{path}' have types. Leave it out.")

    def with_texts(self, path: Path, table: pa.Table, names: Collection[str], *, raw: bool = False) -> pa.Table:
        """Replace columns by their text in the file; ``raw`` text is never missing."""
        import pyarrow as pa

        if names:
            separator, missing = self._separator(path), () if raw else self.null_values
            texts = parse_csv(path, self.encoding, separator, columns=list(names), null_values=missing)
            for name in names:
                field = pa.field(name, texts.schema.field(name).type, metadata=AS_TEXT)
                table = table.set_column(table.column_names.index(name), field, texts.column(name))
        return table

    def _find_codes(self, path: Path, table: pa.Table, apart: Collection[str]) -> dict[str, str]:
        """Find columns of whole numbers that are codes: two of them would be equal as numbers, or lose digits."""
        import pyarrow as pa
        import pyarrow.compute as pc

        kinds = {one.name: one.type for one in table.schema if one.name not in apart}
        candidates = [name for name, kind in kinds.items() if kind in (pa.int64(), pa.float64())]
        found: dict[str, str] = {}
        for batch in (
            parse_blocks(path, self.encoding, self._separator(path), candidates, self.null_values) if candidates else ()
        ):
            for name in list(candidates):
                texts = batch.column(name)
                if kinds[name] == pa.float64() and not pc.all(pc.match_substring_regex(texts, WHOLE)).as_py():
                    candidates.remove(name)  # amounts
                    found.pop(name, None)
                elif pc.any(pc.match_substring_regex(texts, PADDING)).as_py():
                    found[name] = PADDED
        # pyarrow reads whole numbers as float64 only where they do not fit; a column without values is no code
        long = [name for name in candidates if kinds[name] == pa.float64()]
        return {name: LONG for name in long if table.column(name).null_count < len(table)} | found

    def _find_spellings(self, files: list[Path], table: pa.Table, named: NamedColumns) -> dict[str, str]:
        """Find columns of categories in which numbers are written in several ways, such as 1.1 and 1.10."""
        import pyarrow as pa
        import pyarrow.compute as pc

        numbers = [one.name for one in table.schema if one.type == pa.float64() and one.name not in named.numbers]
        unnamed = [name for name in numbers if name not in named.categories | named.others]
        whole = [name for name in unnamed if pc.all(pc.equal(table.column(name), pc.floor(table.column(name)))).as_py()]
        measures = Roles.infer(table.select(whole)).continuous if whole else ()
        spellings: dict[str, set[str]] = {
            name: set()
            for name in numbers
            if name in named.categories - named.others or (name in whole and name not in measures)
        }
        for file in files if spellings and all(map(is_csv, files)) else ():
            for batch in parse_blocks(file, self.encoding, self._separator(file), list(spellings), self.null_values):
                for name, texts in spellings.items():
                    texts |= set(pc.unique(pc.utf8_trim_whitespace(batch.column(name).drop_null())).to_pylist())
        n_numbers = {name: pc.count_distinct(table.column(name)).as_py() for name in spellings}
        return {name: SPELLED for name, texts in spellings.items() if len(texts) > n_numbers[name]}

    def _separator(self, path: Path) -> str:
        usual = "\t" if ".tsv" in path.name.lower()[-7:] else ","
        return usual if self.delimiter is None else self.delimiter

    def _read_typed(self, path: Path) -> tuple[pa.Table, list[str]]:
        refuse_unreadable(path)
        try:
            if path.name.lower().endswith(PARQUET_ENDINGS):
                table = _read_parquet(path)
            elif is_csv(path):
                table = read_csv(
                    path,
                    encoding=self.encoding,
                    delimiter=self._separator(path),
                    decimal=self.decimal,
                    null_values=self.null_values,
                )
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


def _note_codes(text: Mapping[str, str]) -> list[str]:
    return [
        f"Column '{name}' is read as text: it holds codes, {'' if why == SPELLED else 'whole '}numbers with {why}. "
        "To compare it as numbers, name it with --continuous."
        for name, why in text.items()
        if why != GIVEN
    ]


def as_numbers(frame: pa.Table, text: Mapping[str, str]) -> pa.Table:
    """Return a table with codes as the numbers that most programs, so those that train models, read them as."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for name in (one for one, why in text.items() if why != GIVEN):  # nobody asked for text
        texts = pc.utf8_trim_whitespace(frame.column(name))
        try:
            numbers = texts.cast(pa.int64())
        except pa.ArrowInvalid:
            try:
                numbers = texts.cast(pa.float64())
            except pa.ArrowInvalid:  # some of it is no number, which an odd encoding may hide at first
                continue
        frame = frame.set_column(frame.column_names.index(name), name, numbers)
    return frame


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
