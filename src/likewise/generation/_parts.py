"""Antidotes of long tables, part by part: as a stream, or as a folder of Parquet files."""

from __future__ import annotations

import json
import logging
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from likewise._checks import check_count, free_name
from likewise._files import hash_file, local_path
from likewise._folders import PartsFolder, read_about
from likewise._json import plain
from likewise._random import check_seed
from likewise._version import __version__
from likewise.exceptions import GenerationError, TableFileError
from likewise.generation._antidotes import Antidotes
from likewise.generation._generator import BY_ROW_ADVICE, BaseGenerator, fingerprint, warn_of_few
from likewise.generation._rounds import Amount
from likewise.schema._internal import is_pandas_index

if TYPE_CHECKING:
    import pyarrow as pa

READ_AT_ONCE: Final = 65_536  # rows, at most
COUNTS: Final = ("n_sources", "n_antidotes", "n_with_antidote", "n_raw", "n_wanted")

Record = dict[str, Any]


def count_made(antidotes: Antidotes, n_wanted: int) -> Record:
    """Return counts of one part: antidotes, changed columns, and transitions between sensitive values."""
    table, names = antidotes.table, antidotes.table.names["sensitive"]
    codes = np.column_stack([antidotes.sources.sensitive, table.sensitive])
    found, counts = np.unique(codes, axis=0, return_counts=True)
    transitions = []
    for row, n in zip(found.tolist(), counts.tolist(), strict=True):
        values = [table.categories[name][code] for name, code in zip((*names, *names), row, strict=True)]
        transitions.append([values[: len(names)], values[len(names) :], n])
    counted: Record = plain(
        {
            "n_sources": antidotes.n_sources,
            "n_antidotes": len(antidotes),
            "n_with_antidote": len(np.unique(antidotes.source)),
            "n_raw": antidotes.n_raw,
            "n_wanted": n_wanted,
            "changed": {name: int(differs.sum()) for name, differs in antidotes.changed.items()},
            "by_transition": transitions,
        }
    )
    return counted


def add_up(parts: Iterable[Record]) -> Record:
    """Return of all parts together what :meth:`Antidotes.summary` returns, and transitions, the most frequent first."""
    counts: Counter[str] = Counter(dict.fromkeys(COUNTS, 0))
    changed: Counter[str] = Counter()
    transitions: Counter[str] = Counter()
    for part in parts:
        counts.update({name: part[name] for name in COUNTS})
        changed.update(part["changed"])
        transitions.update({json.dumps([one, other]): n for one, other, n in part["by_transition"]})
    n_made, n_sources = counts["n_antidotes"], counts["n_sources"]
    return {
        **counts,
        "ratio": n_made / n_sources if n_sources else 0.0,
        "coverage": counts["n_with_antidote"] / n_sources if n_sources else 0.0,
        "kept": n_made / counts["n_raw"] if counts["n_raw"] else 0.0,
        "changed": {name: n / n_made for name, n in changed.items()} if n_made else {},
        "by_transition": [
            {"source": json.loads(both)[0], "antidote": json.loads(both)[1], "n_antidotes": n}
            for both, n in sorted(transitions.items(), key=lambda item: (-item[1], item[0]))
        ],
    }


def iter_antidotes(
    generator: BaseGenerator,
    tables: Iterable[Any],
    *,
    rounds: int | None = None,
    ratio: float | None = None,
    per_row: int | None = None,
    random_state: int | None = None,
    row_id: str | None = None,
    rows_at_a_time: int | None = None,
) -> Iterator[pa.Table]:
    """Generate antidotes of Arrow tables one after the other, and yield them as they are made.

    The antidotes of a row are those of ``generate`` with the same ``row_ids``: they depend only on its id, the seed and
    the row.

    Parameters
    ----------
    generator : generator
        Fitted.
    tables : iterable of pyarrow tables or record batches
        All with the same columns, the label among them.
    rounds, ratio, per_row
        Number of antidotes, as for ``generate``.
    random_state : int, optional
        Another seed than the generator's own.
    row_id : str, optional
        Column of row identifiers; by default the row id of the roles, or the position in the stream.
    rows_at_a_time : int, optional
        Rows per output table; by default as many as keep memory small.

    Yields
    ------
    pyarrow table
        With the columns of the tables, in plain types, and the columns is_antidote, source_row (the position in the
        stream) and antidote_round.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from likewise import UniformGenerator, load_dataset
    >>> from likewise.generation import iter_antidotes
    >>> data = load_dataset("planted")
    >>> people = pa.Table.from_pandas(data.train.X).append_column("repaid", pa.array(data.train.y))
    >>> generator = UniformGenerator(data.roles, data.rule, random_state=0).fit(data.train.X, data.train.y)
    >>> [len(part) for part in iter_antidotes(generator, [people], per_row=1, rows_at_a_time=1000)]
    [1000, 500]
    """
    maker = PartMaker.of(generator, Amount(rounds, ratio, per_row), random_state, row_id)
    start = 0
    for table in TableStream(given=tables).tables(rows_at_a_time or maker.rows_at_a_time):
        yield maker.make(table, start)[0]
        start += len(table)


@dataclass(frozen=True, slots=True)
class PartMaker:
    """Generates the antidotes of every part in the same way."""

    generator: BaseGenerator
    amount: Amount
    seed: int
    row_id: str | None

    @classmethod
    def of(cls, generator: BaseGenerator, amount: Amount, random_state: Any, row_id: str | None) -> PartMaker:
        """Fill in the defaults of seed and row id."""
        generator._refuse_unfitted()
        seed = check_seed(generator.random_state if random_state is None else random_state)
        return cls(generator, amount, seed, generator.roles.row_id if row_id is None else row_id)

    @property
    def rows_at_a_time(self) -> int:
        """Number of rows that give at most a few hundred thousand antidotes."""
        amount = self.amount
        each: float = len(self.generator.targets_.combinations) * (amount.rounds or 1)
        each = each if amount.ratio is None else min(each, amount.ratio + 1)
        each = each if amount.per_row is None else min(each, amount.per_row)
        return int(max(min(300_000 // each, 100_000), 1_000))

    def make(self, table: pa.Table, start: int) -> tuple[pa.Table, Record]:
        """Return the antidotes and counts of one part, whose first row is number ``start``."""
        import pyarrow as pa

        ids = np.arange(start, start + len(table)) if self.row_id is None else self.row_id
        antidotes, n_wanted = self.generator._make(table, None, self.amount, self.seed, ids)
        made = _in_types_of(antidotes.frame, table.schema)
        beside = {
            "is_antidote": pa.array(np.ones(len(made), np.bool_)),
            "source_row": pa.array(start + antidotes.source),
            "antidote_round": pa.array(antidotes.round),
        }
        for name, values in beside.items():
            made = made.append_column(free_name(name, made.column_names), values)
        return made, count_made(antidotes, n_wanted)


def _in_types_of(made: pa.Table, schema: Any) -> pa.Table:
    """Cast antidotes to the types of their sources, or name the column whose type is too narrow."""
    import pyarrow as pa

    for position, field in enumerate(schema):
        column = made.column(field.name)
        if column.type == field.type:
            continue
        try:
            made = made.set_column(position, field, column.cast(field.type))
        except pa.ArrowException as error:
            raise GenerationError(
                f"Column '{field.name}' has type {field.type}, which cannot hold the values of antidotes "
                f"({str(error).splitlines()[0].rstrip('.')}). Use the type that it had in training."
            ) from None
    return made.cast(schema)


log = logging.getLogger(__name__)

KIND: Final = "antidotes"
COUNTED: Final = b"likewise"  # metadata of a part, so that a resumed run need not count again


def generate_parts(
    generator: BaseGenerator,
    source: Any,
    folder: str | Path,
    *,
    rounds: int | None = None,
    ratio: float | None = None,
    per_row: int | None = None,
    random_state: int | None = None,
    row_id: str | None = None,
    rows_at_a_time: int | None = None,
    source_name: Any = None,
    about: Record | None = None,
    progress: Callable[[Record], None] | None = None,
) -> Record:
    """Generate antidotes of a table of any length, and write them to a folder of Parquet parts.

    The folder gets its name when all parts are complete. A run that was killed resumes when repeated with the same
    arguments, and ends with the same bytes. The antidotes of a row are those of ``generate`` with the same ``row_ids``.

    Parameters
    ----------
    generator : generator
        Fitted.
    source : str, Path, list of them, or iterable of pyarrow tables
        Parquet files, a folder of them, or tables one after the other; the label is one of the columns.
    folder : str or Path
        Output folder. If it exists, from the same arguments, nothing is done.
    rounds, ratio, per_row
        Number of antidotes, as for ``generate`` with ``row_ids``: a ratio holds per row on average.
    random_state : int, optional
        Another seed than the generator's own.
    row_id : str, optional
        Column of row identifiers; by default the row id of the roles, or the position of a row.
    rows_at_a_time : int, optional
        Rows to read per part; by default as many as keep memory small.
    source_name : plain data, optional
        Identifies the tables of an iterable, such as a checksum. Without it, an unfinished run over an iterable is not
        resumed, as the tables might differ. Files are identified by their content.
    about : dict, optional
        Plain data to store with the folder; a resumed run must have the same.
    progress : callable, optional
        Called after each part with a record: n_rows and n_antidotes so far, n_rows_total (None if unknown).

    Returns
    -------
    dict
        The numbers of ``Antidotes.summary``, and counts of transitions between sensitive values.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> from likewise import UniformGenerator, load_dataset
    >>> from likewise.generation import generate_parts
    >>> data = load_dataset("planted")
    >>> people = pa.Table.from_pandas(data.train.X).append_column("repaid", pa.array(data.train.y))
    >>> generator = UniformGenerator(data.roles, data.rule, random_state=0).fit(data.train.X, data.train.y)
    >>> with tempfile.TemporaryDirectory() as place:
    ...     made = generate_parts(generator, [people], f"{place}/antidotes", per_row=1)
    ...     [path.name for path in (Path(place) / "antidotes").glob("*.parquet")]
    ['part-00000.parquet']
    >>> made["n_antidotes"]
    1500
    """
    check_count("rows_at_a_time", rows_at_a_time, least=1)
    maker = PartMaker.of(generator, Amount(rounds, ratio, per_row), random_state, row_id)
    opened = open_tables(source, source_name)
    n_rows = rows_at_a_time or maker.rows_at_a_time
    made_of = {
        "likewise": __version__,
        "generator": fingerprint(generator),
        "source": opened.describe(),
        "rounds": rounds,
        "ratio": ratio,
        "per_row": per_row,
        "seed": maker.seed,
        "row_id": maker.row_id,
        "rows_at_a_time": n_rows,
        **(about or {}),
    }
    parts = PartsFolder(folder, made_of, KIND)
    if parts.is_whole:
        return dict(read_about(Path(folder), KIND)["found"])
    with parts.opened():
        return _make_missing(parts, opened, maker, n_rows, progress)


def _make_missing(
    parts: PartsFolder, source: TableStream, maker: PartMaker, n_rows: int, progress: Callable[[Record], None] | None
) -> Record:
    """Generate the parts that are not there yet."""
    counted = _count_done(parts)
    if counted:
        log.info("resuming after %d parts", len(counted))
    start = len(counted) * n_rows
    for number, table in enumerate(source.tables(n_rows, start), len(counted)):
        made, record = maker.make(table, start)
        parts.write(number, made.replace_schema_metadata({COUNTED: json.dumps(record)}))
        start += len(table)
        counted.append(record)
        if progress is not None:
            so_far = add_up(counted)
            done = {"n_rows": so_far["n_sources"], "n_antidotes": so_far["n_antidotes"]}
            progress(done | {"n_rows_total": source.n_rows})
    found = add_up(counted)
    warn_of_few(found["n_antidotes"], found["n_sources"], found["n_wanted"], BY_ROW_ADVICE)
    parts.finish(len(counted), found)
    return found


def _count_done(parts: PartsFolder) -> list[Record]:
    """Return the counts of the parts that an earlier run wrote, up to the first missing one."""
    counted: list[Record] = []
    while parts.has(len(counted)):
        counted.append(json.loads(parts.read(len(counted)).schema.metadata[COUNTED]))
    return counted


@dataclass(frozen=True, slots=True)
class TableStream:
    """Tables one after the other, and what identifies them."""

    files: tuple[Path, ...] = ()
    given: Iterable[Any] = ()
    name: Any = None
    left_out: tuple[str, ...] = ()  # columns to drop

    @property
    def n_rows(self) -> int | None:
        """Number of rows, if known before reading."""
        if self.files:
            return sum(int(_open(file).metadata.num_rows) for file in self.files)
        is_known = isinstance(self.given, list) and all(hasattr(table, "num_rows") for table in self.given)
        return sum(int(table.num_rows) for table in self.given) if is_known else None

    def describe(self) -> Any:
        """Return what identifies the tables as plain data; unnamed tables get a random word."""
        if not self.files:
            return uuid.uuid4().hex if self.name is None else self.name
        return [{"file": file.name, "sha256": hash_file(file)} for file in self.files]

    def tables(self, n_rows: int, start: int = 0) -> Iterator[pa.Table]:
        """Yield tables of ``n_rows`` rows, the last one perhaps shorter, from row ``start`` on."""
        import pyarrow as pa

        waiting: list[Any] = []
        n_waiting = 0
        for table in self._pieces(start):
            while len(table):
                taken = table.slice(0, n_rows - n_waiting)
                waiting, n_waiting, table = [*waiting, taken], n_waiting + len(taken), table.slice(len(taken))
                if n_waiting == n_rows:
                    yield pa.concat_tables(waiting)
                    waiting, n_waiting = [], 0
        if waiting:
            yield pa.concat_tables(waiting)

    def _pieces(self, start: int) -> Iterator[pa.Table]:
        pieces = self._read_files(start) if self.files else self._read_given(start)
        first = self._form_of_files() if self.files else None
        for table in pieces:
            first = table.schema if first is None else first
            yield table if table.schema == first else _in_schema(table, first)

    def _form_of_files(self) -> Any:
        """Return the schema that all files must have: that of the first file with rows."""
        for file in self.files:
            with _open(file) as opened:
                if opened.metadata.num_rows:
                    return _plain_columns(opened.schema_arrow.empty_table(), self.left_out).schema
        return None

    def _read_given(self, start: int) -> Iterator[pa.Table]:
        import pyarrow as pa

        for table in self.given:
            if not isinstance(table, pa.Table | pa.RecordBatch):
                raise TypeError(f"The source yields a {type(table).__name__}; give Parquet files, or Arrow tables.")
            whole = table if isinstance(table, pa.Table) else pa.Table.from_batches([table])
            skipped = min(start, len(whole))
            start -= skipped
            yield _plain_columns(whole.slice(skipped), self.left_out)

    def _read_files(self, start: int) -> Iterator[pa.Table]:
        import pyarrow as pa

        for file in self.files:
            with _open(file) as opened:
                for group in range(opened.metadata.num_row_groups):
                    n_here = opened.metadata.row_group(group).num_rows
                    if start >= n_here:  # finished rows are not read again
                        start -= n_here
                        continue
                    try:
                        for batch in opened.iter_batches(READ_AT_ONCE, row_groups=[group]):
                            skipped = min(start, len(batch))
                            start -= skipped
                            yield _plain_columns(pa.Table.from_batches([batch]).slice(skipped), self.left_out)
                    except (pa.ArrowException, OSError) as error:
                        raise TableFileError(f"'{file}' is damaged: {error}. Copy or write it again.") from error


def open_tables(source: Any, name: Any = None) -> TableStream:
    """Find the files of a source, or take the tables that it yields."""
    import pyarrow as pa

    if isinstance(source, TableStream):
        return source
    if isinstance(source, pa.Table | pa.RecordBatch):
        return TableStream(given=[source], name=name)
    if isinstance(source, str | Path):
        return TableStream(files=tuple(_find(source)))
    if isinstance(source, Sequence) and source and all(isinstance(one, str | Path) for one in source):
        return TableStream(files=tuple(file for one in source for file in _find(one)))
    if not isinstance(source, Iterable):
        raise TypeError(f"The source is a {type(source).__name__}; give Parquet files, or Arrow tables.")
    return TableStream(given=source, name=name)


def _find(source: str | Path) -> list[Path]:
    path = local_path(source)
    if path.is_file():
        return [path]
    if path.is_dir():
        found = [file for file in sorted(path.glob("*.parquet")) if file.name[0] not in "._"]
        if not found:
            raise TableFileError(f"The folder '{path}' has no .parquet files. Give files, or another folder.")
        return found
    found = [Path(one) for one in sorted(glob(str(source)))] if "*" in str(source) else []
    if not found:
        raise TableFileError(f"There is no file '{source}'. Check the path.")
    return found


def _open(file: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet

    try:
        return pyarrow.parquet.ParquetFile(file, pre_buffer=False)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise TableFileError(f"'{file}' cannot be read as Parquet: {reason} Give a Parquet file.") from error


def _plain_columns(table: pa.Table, left_out: tuple[str, ...]) -> pa.Table:
    """Drop unwanted columns and a pandas index, and decode dictionaries: all parts then have equal types."""
    import pyarrow as pa

    kept = [name for name in table.column_names if name not in left_out and not is_pandas_index(name)]
    table = table.select(kept)
    for position, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(position, field.name, table.column(position).cast(field.type.value_type))
    return table.replace_schema_metadata(None)


def _in_schema(table: pa.Table, schema: Any) -> pa.Table:
    import pyarrow as pa

    try:
        return table.select(schema.names).cast(schema)
    except (KeyError, ValueError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise TableFileError(
            f"The tables do not have the same columns: {reason}. Give tables with the columns of the first."
        ) from None
