"""Parsing of data set files to typed columns, and to one canonical text for checksum and cache."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Callable, Iterator, Sequence

from likewise.datasets._catalogue import Recipe

Cell = int | float | str
Columns = dict[str, list[Cell]]

_MISSING = frozenset({"", "?"})


def parse_files(recipe: Recipe, contents: Sequence[bytes]) -> Columns:
    """Return the columns of the rows to keep, label last; ``ValueError`` says what is wrong with a file."""
    texts: list[list[str]] = []
    for file, content in zip(recipe.files, contents, strict=True):
        try:
            texts.extend(_kept_rows(recipe, content))
        except (ValueError, csv.Error) as error:
            raise ValueError(f"{file.name} cannot be read: {error}") from error
    columns = _transpose(texts, len(recipe.columns) + 1)
    labels = dict.fromkeys(recipe.positive, 1) | dict.fromkeys(recipe.negative, 0)
    unknown = sorted(set(columns[-1]) - set(labels))
    if unknown:
        raise ValueError(f"column '{recipe.label_column}' holds {unknown[0]!r}, which is not a known label")
    typed = {name: _typed(recipe, name, cells) for name, cells in zip(recipe.columns, columns[:-1], strict=True)}
    return typed | {recipe.label: [labels[text] for text in columns[-1]]}


def write_canonical(columns: Columns) -> str:
    """Return rows in the canonical form that is hashed and cached, whatever file they came from."""
    lines = _Lines()
    writer = csv.writer(lines)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return "".join(lines)


class _Lines(list[str]):
    """Collect rows of a csv writer; with a line feed as its own line end, it would leave carriage returns unquoted."""

    def write(self, row: str) -> None:
        self.append(row.removesuffix("\r\n") + "\n")


def read_canonical(recipe: Recipe, text: str) -> Columns:
    """Read the text of :func:`write_canonical`."""
    rows = csv.reader(io.StringIO(text, newline=""))
    names = next(rows)
    cells = _transpose(list(rows), len(names))
    return {name: _typed(recipe, name, column) for name, column in zip(names, cells, strict=True)}


def hash_rows(canonical: str) -> str:
    """Return the checksum of rows in canonical form."""
    return hashlib.sha256(canonical.encode()).hexdigest()


def _kept_rows(recipe: Recipe, content: bytes) -> Iterator[list[str]]:
    rows = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), skipinitialspace=True)
    # one copy of the Adult test file starts with a comment line, marked by a bar
    lines = (row for row in rows if row and not row[0].startswith("|"))
    header = list(recipe.header)
    if not header:
        header = [name.strip() for name in next(lines, [])]
    wanted = (*recipe.columns, recipe.label_column)
    positions = [_find(name, header) for name in wanted]
    positions_to_keep = [_find(name, header) for name in recipe.read_to_keep]
    for number, row in enumerate(lines, start=1):
        if len(row) < len(header):
            raise ValueError(f"row {number:,} has {len(row)} cells, but {len(header)} columns are expected")
        if number == 1 and row[0].strip() == header[0]:
            continue  # a copy with a header line that the original lacks
        cells = [row[position].strip() for position in positions]
        if not _MISSING.isdisjoint(cells):
            continue
        if recipe.keeps is not None:
            looked_at = {name: row[at].strip() for name, at in zip(recipe.read_to_keep, positions_to_keep, strict=True)}
            if not recipe.keeps(looked_at):
                continue
        yield cells


def _find(name: str, header: list[str]) -> int:
    if name not in header:
        raise ValueError(f"it has no column '{name}'")
    return header.index(name)  # the first one, if a file repeats a name


def _transpose(rows: list[list[str]], n_columns: int) -> list[tuple[str, ...]]:
    return list(zip(*rows, strict=True)) if rows else [()] * n_columns


def _typed(recipe: Recipe, name: str, cells: Sequence[str]) -> list[Cell]:
    if name in recipe.decimal:
        convert: Callable[[str], Cell] = float
    elif name in recipe.whole or name == recipe.label:
        convert = _whole
    else:
        return list(cells)
    try:
        values = {cell: convert(cell) for cell in set(cells)}  # few are distinct
    except ValueError as error:
        raise ValueError(f"column '{name}' holds an invalid number: {error}") from error
    return [values[cell] for cell in cells]


def _whole(cell: str) -> int:
    number = float(cell)  # some files write 1.0 for 1
    if not number.is_integer():
        raise ValueError(f"{cell!r} is not an integer")
    return int(number)
