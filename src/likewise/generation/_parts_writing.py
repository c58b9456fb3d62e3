"""Antidotes of a table of any length, into a folder of Parquet parts: with little memory, and never half done."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from likewise._checks import check_count
from likewise._parts import PartsFolder, read_about
from likewise._version import __version__
from likewise.generation._by_row import Amount
from likewise.generation._counting import Record, add_up
from likewise.generation._generator import BY_ROW_ADVICE, BaseGenerator, warn_of_few
from likewise.generation._loading import fingerprint
from likewise.generation._source import open_source
from likewise.generation._streaming import Asked

log = logging.getLogger(__name__)

KIND: Final = "antidotes"
COUNTED: Final = b"likewise"  # in the metadata of a part: a run that goes on need not count again


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
    """Make antidotes of a table of any length, some rows at a time, and write them to a folder of Parquet parts.

    The folder has its name when all parts are there. A run that was killed goes on where it was when the same is
    asked for again, and ends with the same bytes. The antidotes of a row are those that ``generate`` makes of it
    with the same ``row_ids``.

    Parameters
    ----------
    generator : generator
        Fitted.
    source : str, Path, list of them, or iterable of pyarrow tables
        Parquet files, a folder of them, or tables that come one after the other; the label is one of the columns.
    folder : str or Path
        The final name. If it is there already, made of the same, nothing is done.
    rounds, ratio, per_row
        How many antidotes to make, as for ``generate`` with ``row_ids``: a ratio is one for each row, in the mean.
    random_state : int, optional
        Another seed than the generator's own.
    row_id : str, optional
        The column that says what rows are called; the row id of the roles, or the position of a row, if not given.
    rows_at_a_time : int, optional
        How many rows to read for a part; by default as many as keep the memory small.
    source_name : plain data, optional
        What tells the tables of an iterable from others, such as a checksum. Without it, an unfinished run over an
        iterable is not gone on with, as the tables might be others. Of files, the content tells.
    about : dict, optional
        Plain data to keep with the folder, on which a run that goes on has to agree, too.
    progress : callable, optional
        Called after each part with a record: n_rows and n_antidotes so far, n_rows_total (None if not known).

    Returns
    -------
    dict
        The numbers of ``Antidotes.summary``, and how often each sensitive value became which other.

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
    asked = Asked.of(generator, Amount(rounds, ratio, per_row), random_state, row_id)
    opened = open_source(source, source_name)
    n_rows = rows_at_a_time or asked.rows_at_a_time
    made_of = {
        "likewise": __version__,
        "generator": fingerprint(generator),
        "source": opened.describe(),
        "rounds": rounds,
        "ratio": ratio,
        "per_row": per_row,
        "seed": asked.seed,
        "row_id": asked.row_id,
        "rows_at_a_time": n_rows,
        **(about or {}),
    }
    parts = PartsFolder(Path(folder), made_of, KIND)
    if parts.is_whole:
        return dict(read_about(Path(folder), KIND)["found"])
    counted = _count_done(parts)
    if counted:
        log.info("going on after %d parts", len(counted))
    start = len(counted) * n_rows
    for number, table in enumerate(opened.tables(n_rows, start), len(counted)):
        made, record = asked.make(table, start)
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
    """Take over what the parts say that an earlier run wrote: the first ones, up to one that is not there."""
    counted: list[Record] = []
    while parts.has(len(counted)):
        counted.append(json.loads(parts.read(len(counted)).schema.metadata[COUNTED]))
    return counted
