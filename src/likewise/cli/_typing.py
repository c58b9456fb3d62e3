"""Cells of text files → typed columns, by the rule of schema/_cells.py and by what options say of the columns."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from likewise.cli._columns import AS_TEXT, NamedColumns
from likewise.cli._csv import TextFile
from likewise.exceptions import TableFileError
from likewise.schema._internal import array_of

if TYPE_CHECKING:
    import pyarrow as pa

GIVEN: Final = "given"  # why a column is text: --text names it
SPELLED: Final = "several spellings"


@dataclass(slots=True)
class Part:
    """The table of one file; of a file of text, every cell is text, and the table is let go when they are typed."""

    table: pa.Table
    file: TextFile | None
    n_rows: int


class Typing:
    """Types the columns of text files one by one; the text of a column is let go when it has values."""

    def __init__(
        self,
        parts: list[Part],
        named: NamedColumns,
        null_values: Sequence[str],
        decimal: str | None,
        given: Collection[str],
        exactly: Mapping[str, str] | None,
    ) -> None:
        import pyarrow as pa

        texts = [part for part in parts if part.file is not None]
        self.is_empty = not texts
        table = pa.concat_tables([part.table for part in texts]) if texts else pa.table({})
        self._files = [(part.file, part.n_rows) for part in texts]
        for part in texts:
            part.table = part.table.slice(0, 0)
        self._named, self._nulls = named, array_of(null_values)
        self._given, self._exactly = given, exactly
        self._columns: dict[str, Any] = dict(zip(table.column_names, table.columns, strict=True))
        self._notes: list[str] = []
        self._decimal = decimal or self._find_decimal()

    def run(self) -> tuple[pa.Table, dict[str, str], list[str]]:
        """Return the table, the columns that are text and why, and notes on these."""
        import pyarrow as pa

        codes: dict[str, str] = {}
        fields, arrays = [], []
        for name in list(self._columns):
            cells = self._columns.pop(name)
            values, why = self._type(name, self._mask(cells))
            del cells
            codes |= {} if why is None else {name: why}
            fields.append(pa.field(name, values.type, metadata=None if why is None else AS_TEXT))
            arrays.append(values)
        return pa.table(arrays, schema=pa.schema(fields)), codes, [*self._notes, *_note_codes(codes)]

    def _mask(self, cells: Any) -> Any:
        """Return the cells without those that mean a missing value."""
        import pyarrow as pa
        import pyarrow.compute as pc

        missing = pc.is_in(cells, value_set=self._nulls)
        return pc.if_else(missing, pa.scalar(None, pa.string()), cells) if pc.any(missing).as_py() else cells

    def _type(self, name: str, cells: Any) -> tuple[Any, str | None]:
        from likewise.schema._internal import type_cells

        if self._exactly is not None:
            why = self._exactly.get(name)
            return (cells, why) if why is not None else (self._as_numbers(cells), None)
        if name in self._given:
            return cells, GIVEN
        named = self._named
        if name in named.numbers:
            values = self._as_numbers(cells)
            self._refuse_odd(name, cells, values)
            return values, None
        values, code = type_cells(cells, self._decimal)
        if code is not None:
            return values, code
        if name not in named.categories | named.others:
            self._refuse_odd(name, cells, values)
        is_spelled = str(values.type) == "double" and self._is_spelled(name, cells, values)
        return (cells, SPELLED) if is_spelled else (values, None)

    def _as_numbers(self, cells: Any) -> Any:
        """Type cells; numbers are numbers, also where they may be codes."""
        from likewise.schema._internal import type_cells

        values, code = type_cells(cells, self._decimal)
        return values if code is None else number_codes(cells)

    def _is_spelled(self, name: str, cells: Any, values: Any) -> bool:
        """Whether categories have numbers that are written in several ways, such as 1.1 and 1.10."""
        import pyarrow as pa
        import pyarrow.compute as pc

        from likewise.schema import Roles

        named = self._named
        if name not in named.categories - named.others:
            is_whole = pc.all(pc.equal(values, pc.floor(values))).as_py()
            if (
                name in named.categories | named.others
                or not is_whole
                or Roles.infer(pa.table({name: values})).continuous
            ):
                return False
        return bool(pc.count_distinct(pc.utf8_trim_whitespace(cells)).as_py() > pc.count_distinct(values).as_py())

    def _refuse_odd(self, name: str, cells: Any, values: Any) -> None:
        """Refuse numbers of which a few cells are none, with the lines of these."""
        from likewise.schema._internal import find_odd_cells

        odd = find_odd_cells(cells, self._decimal) if str(values.type) == "string" else None
        if odd is None:
            return
        places = [self.place(row) for row in odd.rows[: len(odd.texts)].tolist()]
        word = shlex.quote(odd.texts[0])
        raise TableFileError(
            f"{odd.describe(name, places)}. Correct them in the file, read them as missing (--missing-values {word}), "
            f"or take the column as categories (--text {shlex.quote(name)}) or leave it out (--ignore "
            f"{shlex.quote(name)})."
        )

    def place(self, row: int) -> str:
        """Name the line of a row, and its file where there are several."""
        for file, n_rows in self._files:
            if row < n_rows and file is not None:
                return f"line {file.line_of(row):,}{f' of {str(file.path)!r}' if len(self._files) > 1 else ''}"
            row -= n_rows
        raise AssertionError(row)

    def _find_decimal(self) -> str:
        """Tell the decimal mark by numbers that can be read in one way only; refuse 1,234 where none tells."""
        import pyarrow.compute as pc

        from likewise.schema._internal import DECIMAL_COMMA, MARKED, MOSTLY, THOUSANDS

        unclear: dict[str, tuple[str, int, str]] = {}
        signs: dict[str, tuple[str, int, str]] = {}
        for name, cells in self._columns.items():
            if name in self._given or not pc.any(pc.match_substring(cells, ",")).as_py():
                continue
            is_number = pc.match_substring_regex(cells, MARKED)
            if pc.sum(is_number).as_py() < MOSTLY * (
                len(cells) - pc.sum(pc.is_in(cells, value_set=self._nulls)).as_py()
            ):
                continue
            for mark, pattern in ((",", DECIMAL_COMMA), (".", THOUSANDS)):
                row = pc.index(pc.match_substring_regex(cells, pattern), True).as_py()
                if row >= 0:
                    signs.setdefault(mark, (name, row, cells[row].as_py()))
            row = pc.index(pc.and_(is_number, pc.match_substring(cells, ",")), True).as_py()
            if row >= 0:
                unclear.setdefault(",", (name, row, cells[row].as_py()))
        if len(signs) == 2 or (unclear and not signs):
            shown = (signs or unclear).values()
            listed = " and ".join(f"{cell!r} in column '{name}', {self.place(row)}" for name, row, cell in shown)
            raise TableFileError(
                f"Numbers are written with a comma: {listed}. Add --decimal ',' if it is the decimal mark, or "
                "--decimal '.' if it separates thousands."
            )
        for name, row, cell in (signs[","],) if "," in signs else ():
            self._notes.append(f"Numbers have a decimal comma, as {cell!r} in column '{name}', {self.place(row)}.")
        return next(iter(signs), ".")


def _note_codes(text: Mapping[str, str]) -> list[str]:
    return [
        f"Column '{name}' is read as text: it holds codes, {'' if why == SPELLED else 'whole '}numbers with {why}. "
        "To compare it as numbers, name it with --continuous."
        for name, why in text.items()
        if why != GIVEN
    ]


def as_numbers(frame: pa.Table, text: Mapping[str, str]) -> pa.Table:
    """Return a table with codes as the numbers that most programs, so those that train models, read them as."""
    for name in (one for one, why in text.items() if why != GIVEN):  # nobody asked for text
        frame = frame.set_column(frame.column_names.index(name), name, number_codes(frame.column(name)))
    return frame


def number_codes(cells: Any) -> Any:
    """Return codes as numbers; the text itself where some of it is none, which an odd encoding may hide at first."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pc.utf8_ltrim(pc.utf8_trim_whitespace(cells), "+")
    for kind in (pa.int64(), pa.float64()):
        try:
            return texts.cast(kind)
        except pa.ArrowInvalid:
            continue
    return cells
