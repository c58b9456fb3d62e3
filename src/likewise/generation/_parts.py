"""Antidotes of long tables, part by part: as a stream, or as a folder of Parquet files."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._checks import check_count
from likewise._json import plain
from likewise._parts import PartsFolder, read_about
from likewise._random import check_seed
from likewise._version import __version__
from likewise.exceptions import GenerationError
from likewise.generation._antidotes import Antidotes
from likewise.generation._generator import BY_ROW_ADVICE, BaseGenerator, fingerprint, warn_of_few
from likewise.generation._rounds import Amount
from likewise.generation._tables import TableStream, open_tables

if TYPE_CHECKING:
    import pyarrow as pa

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
        antidotes, n_wanted = self.generator._make_by_row(table, None, self.amount, self.seed, ids)
        made = _in_types_of(antidotes.frame, table.schema)
        beside = {
            "is_antidote": pa.array(np.ones(len(made), np.bool_)),
            "source_row": pa.array(start + antidotes.source),
            "antidote_round": pa.array(antidotes.round),
        }
        for name, values in beside.items():
            while name in made.column_names:
                name += "_"
            made = made.append_column(name, values)
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
    parts = PartsFolder(Path(folder), made_of, KIND)
    if parts.is_whole:
        return dict(read_about(Path(folder), KIND)["found"])
    counted = _count_done(parts)
    if counted:
        log.info("resuming after %d parts", len(counted))
    start = len(counted) * n_rows
    for number, table in enumerate(opened.tables(n_rows, start), len(counted)):
        made, record = maker.make(table, start)
        parts.write(number, made.replace_schema_metadata({COUNTED: json.dumps(record)}))
        start += len(table)
        counted.append(record)
        if progress is not None:
            so_far = add_up(counted)
            done = {"n_rows": so_far["n_sources"], "n_antidotes": so_far["n_antidotes"]}
            progress(done | {"n_rows_total": opened.n_rows})
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


MOST_TIMES: Final = 8  # the ratio; beyond, hardly any more can be generated


def scale_ratio(
    generator: BaseGenerator,
    X: Any,
    y: Any = None,
    *,
    ratio: float,
    random_state: int | None = None,
    row_ids: Any = None,
) -> float:
    """Return the ratio to request per row, with ``row_ids``, to get a given number of antidotes per row on average.

    With row ids no row compensates for another, and some yield fewer antidotes than requested, or none. The yield is
    measured on some rows; the others are then requested in the same proportion.

    Parameters
    ----------
    generator : generator
        Fitted.
    X : pandas, polars or pyarrow table
        A random sample of the rows to generate antidotes of: with 2,000 rows the ratio is met within a few percent.
    y : array, optional
        Their labels; the label column of ``X`` by default.
    ratio : float
        Antidotes per row to end up with.
    random_state : int, optional
        Another seed than the generator's own.
    row_ids : str or array, optional
        Row identifiers; positions by default.

    Returns
    -------
    float
        To be passed as ``ratio`` to ``generate`` with ``row_ids``, ``generate_parts`` or ``likewise.spark.generate``.
        At most eight per requested antidote of a row, beyond which hardly any more can be generated.

    Examples
    --------
    >>> from likewise import UniformGenerator, load_dataset
    >>> from likewise.generation import scale_ratio
    >>> data = load_dataset("planted")
    >>> generator = UniformGenerator(data.roles, data.rule, random_state=0).fit(data.train.X, data.train.y)
    >>> scale_ratio(generator, data.train.X.head(200), data.train.y[:200], ratio=0.5)
    0.5
    """
    Amount(ratio=ratio)  # checks the ratio
    generator._refuse_unfitted()
    seed = check_seed(generator.random_state if random_state is None else random_state)
    ids = np.arange(len(X)) if row_ids is None else row_ids
    most = ceil(ratio)
    while len(X):
        made, _ = generator._make_by_row(X, y, Amount(ratio=most), seed, ids)
        counts = np.bincount(made.source, minlength=made.n_sources)
        if counts.mean() >= ratio or most >= MOST_TIMES * ceil(ratio):
            return _invert(counts, ratio, most)
        most *= 2
    return float(ratio)


def _invert(counts: NDArray[np.int64], ratio: float, most: int) -> float:
    """Return the request at which rows with these yields give the ratio on average; it is piecewise linear."""
    before = 0.0
    for whole in range(most):
        after = float(np.minimum(counts, whole + 1).mean())
        if after >= ratio:
            return whole + (ratio - before) / (after - before)
        before = after
    return float(most)
