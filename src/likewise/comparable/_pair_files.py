"""All pairs of a table, written to a folder of Parquet parts as they are found, and read again part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np

from likewise._checks import check_count
from likewise._files import local_path
from likewise._folders import PartsFolder, read_about, read_parts
from likewise._json import plain
from likewise._memory import bytes_allowed
from likewise.comparable._mining import resolve_question, resolve_tables, start_search
from likewise.comparable._pairs import ComparablePairs, Rows
from likewise.comparable._rule import Comparability, check_rule
from likewise.comparable.engines._problem import Engine, join_chunks, state_problem
from likewise.exceptions import TableFileError
from likewise.schema import CodedTable
from likewise.schema._internal import hash_table

KIND: Final = "pairs"
PAIRS_A_PART: Final = 1 << 20
BYTES_A_PAIR: Final = 40  # on its way from the search to the file, where the part before may still be written
LAYOUT: Final = {  # rows in order have short distances: twice as fast as dictionaries and zstd
    "compression": "none",
    "use_dictionary": ["label"],
    "column_encoding": {"left": "DELTA_BINARY_PACKED", "right": "DELTA_BINARY_PACKED"},
}

Progress = Callable[[dict[str, int]], None]
Found = tuple[Rows, Rows]


def write_pairs(
    left: CodedTable,
    right: CodedTable | Comparability | None,
    rule: Comparability | str | Path,
    folder: str | Path | None = None,
    *,
    memory_limit: int | str | None = None,
    pairs_per_part: int = PAIRS_A_PART,
    progress: Progress | None = None,
) -> int:
    """Find all comparable pairs and write them to a folder of Parquet parts, however many there are.

    Call it as ``write_pairs(table, rule, folder)`` or as ``write_pairs(left, right, rule, folder)``. The folder
    gets its name when it is complete. Call the same again to continue a run that was killed: existing parts are kept,
    and the folder is the same, byte for byte. A complete folder is left as it is.

    Parameters
    ----------
    left, right, rule
        As for :func:`mine_pairs`.
    folder : str or Path
        Where to write. Each part has the columns ``left`` and ``right``, the row positions counted from 0, and
        ``label``, the code of the label that both have; pairs are ordered by ``left``, then ``right``.
    memory_limit : int or str, optional
        As for :func:`iter_pairs`. What is held does not grow with the number of pairs.
    pairs_per_part : int
        How many pairs each part holds, but the last.
    progress : callable, optional
        Called after each part with a dict of ``n_pairs`` and ``n_parts`` written so far, and how many of the
        ``n_rows`` left rows are done, ``n_rows_done``.

    Returns
    -------
    int
        How many pairs there are in the folder.

    Examples
    --------
    >>> import tempfile
    >>> from likewise.comparable import Comparability, read_pairs, write_pairs
    >>> from likewise.schema import CodedTable
    >>> people = CodedTable(sensitive=[[0], [1], [2]], labels=[1, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     n_pairs = write_pairs(people, Comparability(), f"{folder}/pairs")
    ...     n_pairs, [len(pairs) for pairs in read_pairs(f"{folder}/pairs", people)]
    (3, [3])
    """
    if isinstance(right, Comparability) and not isinstance(rule, Comparability):
        folder, rule, right = rule if folder is None else folder, right, None
    if not isinstance(folder, str | Path):
        raise TypeError(f"folder is {' '.join(repr(folder).split())}; name the folder to write to.")
    left, right, rule = resolve_question(left, right, check_rule(rule))
    check_count("pairs_per_part", pairs_per_part, or_none=False, least=1)
    parts = PartsFolder(folder, _describe(left, right, rule) | {"pairs_per_part": pairs_per_part}, KIND)
    if parts.is_whole:
        return _count_written(Path(folder), read_about(Path(folder), KIND))
    allowed = max(bytes_allowed(memory_limit) - BYTES_A_PAIR * pairs_per_part, 0)
    with parts.opened():
        search = start_search(state_problem(left, right, rule), allowed)
        return _write_missing(parts, search, left, pairs_per_part, progress)


def read_pairs(
    folder: str | Path,
    left: CodedTable,
    right: CodedTable | Comparability | None = None,
    rule: Comparability | None = None,
) -> Iterator[ComparablePairs]:
    """Read the pairs that :func:`write_pairs` wrote, in order, a bounded number at a time.

    Parameters
    ----------
    folder : str or Path
        What was written.
    left, right : CodedTable
        The tables that the pairs were found in; :class:`~likewise.exceptions.TableFileError` is raised if they are
        others.
    rule : Comparability, optional
        The rule that the pairs have to be of, if that is to be checked, too. With one table it may stand second.

    Yields
    ------
    ComparablePairs
        The pairs of one part.

    Examples
    --------
    >>> import tempfile
    >>> from likewise.comparable import Comparability, read_pairs, write_pairs
    >>> from likewise.schema import CodedTable
    >>> people = CodedTable(sensitive=[[0], [1], [2]], labels=[1, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     n_pairs = write_pairs(people, Comparability(), f"{folder}/pairs", pairs_per_part=2)
    ...     for pairs in read_pairs(f"{folder}/pairs", people):
    ...         print(pairs.left, pairs.right)
    [0 0] [1 2]
    [1] [2]
    """
    left, right, rule = resolve_tables(left, right, rule)
    rule = None if rule is None else check_rule(rule)
    folder = local_path(folder)
    about = read_about(folder, KIND)
    asked = _describe(left, right, rule)
    other = "other rows, labels or compared columns"
    names = {"left": f"another table ({other})", "right": f"another right table ({other})", "rule": "another rule"}
    for name, what in names.items():
        if about.get(name) != asked[name] and not (name == "rule" and rule is None):
            raise TableFileError(
                f"'{folder}' holds the pairs of {what}. Write those of this one: with write_pairs in Python, or with "
                "'likewise pairs --out' and the same --scores and --ignore."
            )
    _count_written(folder, about)
    return _read_all(folder, left, left if right is None else right)


def _count_written(folder: Path, about: dict[str, Any]) -> int:
    """Return how many pairs all parts have together; refuse a folder whose record contradicts itself."""
    n_pairs = sum(part["n_rows"] for part in about["parts"])
    if about["found"].get("n_pairs") != n_pairs:
        raise TableFileError(f"The parts of '{folder}' have other numbers of pairs than its record. Write it again.")
    return int(n_pairs)


def _describe(left: CodedTable, right: CodedTable | None, rule: Comparability | None) -> dict[str, Any]:
    """Return everything that the pairs depend on."""
    units = {name: asdict(unit) for name, unit in left.units.items() if rule is not None and name in rule.limits}
    return {
        "left": hash_table(left),
        "right": None if right is None else hash_table(right),
        "rule": None if rule is None else plain(rule.to_dict() | ({"units": units} if units else {})),
    }


def _read_all(folder: Path, left: CodedTable, right: CodedTable) -> Iterator[ComparablePairs]:
    for part in read_parts(folder, KIND):
        try:
            rows = [part.column(name).to_numpy().astype(np.int32, casting="safe") for name in ("left", "right")]
        except (KeyError, TypeError) as error:
            raise TableFileError(f"A part of '{folder}' does not hold pairs: {error}. Write it again.") from None
        for side, table in zip(rows, (left, right), strict=True):
            if len(side) and not 0 <= side.min() <= side.max() < len(table):
                raise TableFileError(f"A part of '{folder}' has rows that the table does not have. Write it again.")
        yield ComparablePairs(rows[0], rows[1], left, right)


def _write_missing(
    parts: PartsFolder, search: Engine, left: CodedTable, n_a_part: int, progress: Progress | None
) -> int:
    """Write the parts that are not there yet: each is full but the last, so the last pair says where to go on."""
    n_parts = 0
    while parts.has(n_parts):
        n_parts += 1
    n_pairs, last = 0, None
    if n_parts:
        part = parts.read(n_parts - 1)
        n_pairs = (n_parts - 1) * n_a_part + len(part)
        last = part.column("left")[-1].as_py(), part.column("right")[-1].as_py()
    if n_pairs == n_parts * n_a_part:  # the last part is full, so there may be more
        pieces = _cut(_pairs_after(search, last, len(left)), n_a_part)
        for found in _write_behind(parts, n_parts, pieces, left):
            n_parts, n_pairs = n_parts + 1, n_pairs + len(found[0])
            if progress is not None:
                n_done = int(found[0][-1])
                progress({"n_pairs": n_pairs, "n_parts": n_parts, "n_rows_done": n_done, "n_rows": len(left)})
    parts.finish(n_parts, {"n_pairs": n_pairs})
    return n_pairs


def _write_behind(parts: PartsFolder, first: int, pieces: Iterator[Found], table: CodedTable) -> Iterator[Found]:
    """Write each piece as a part while the next one is searched for; yield it as soon as its part is there."""
    before: tuple[Future[None], Found] | None = None
    with ThreadPoolExecutor(1) as writer:
        for number, found in enumerate(chain(pieces, [None]), first):
            if before is not None:
                before[0].result()
                yield before[1]
            if found is not None:
                before = writer.submit(_write, parts, number, found, table), found


def _write(parts: PartsFolder, number: int, found: Found, table: CodedTable) -> None:
    import pyarrow as pa

    columns = {"left": found[0], "right": found[1], "label": table.labels[found[0]]}
    schema = pa.schema([pa.field(name, pa.int32(), nullable=False) for name in columns])
    arrays = [pa.array(values, pa.int32()) for values in columns.values()]
    parts.write(number, pa.Table.from_arrays(arrays, schema=schema), LAYOUT)


def _pairs_after(search: Engine, last: tuple[int, int] | None, n_left: int) -> Iterator[Found]:
    """Go on behind a pair, or start at the first one."""
    if last is None:
        yield from search.chunks()
        return
    for left, right in search.chunks(np.arange(last[0], n_left)):
        is_after = (left > last[0]) | (right > last[1])
        yield left[is_after], right[is_after]


def _cut(chunks: Iterator[Found], n_each: int) -> Iterator[Found]:
    """Put pieces of any size together to pieces of one size; what is left over is the last."""
    kept: list[Found] = []
    n_kept = 0
    for left, right in chunks:
        start = 0
        while n_kept + len(left) - start >= n_each:
            stop = start + n_each - n_kept
            kept.append((left[start:stop], right[start:stop]))
            yield join_chunks(kept)
            kept, n_kept, start = [], 0, stop
        if start < len(left):
            kept.append((left[start:].copy(), right[start:].copy()))  # not the whole piece for the sake of its end
            n_kept += len(left) - start
    if n_kept:
        yield join_chunks(kept)
