"""Antidotes of people in a Spark frame, generated on the executors."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from likewise._checks import free_name, suggest
from likewise._extras import require
from likewise._random import check_seed
from likewise.exceptions import GenerationError
from likewise.generation import iter_antidotes, load_generator
from likewise.generation._internal import BaseGenerator
from likewise.schema._internal import KINDS, refuse_absent
from likewise.spark._frames import check_frame, quiet

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

LOADED: Final[dict[str, BaseGenerator]] = {}  # loaded once per worker, for all of its tasks


def generate(
    generator: BaseGenerator,
    frame: DataFrame,
    *,
    row_id: str | None = None,
    rounds: int | None = None,
    ratio: float | None = None,
    per_row: int | None = None,
    random_state: int | None = None,
    device: str = "auto",
) -> DataFrame:
    """Generate antidotes for the people in a Spark frame, lazily.

    Each row gets the antidotes that ``generator.generate`` makes of it with the same ``row_ids``, however Spark
    partitions the frame. Networks give equal results on machines of one kind; on others rounding may differ and, very
    rarely, change an antidote.

    Parameters
    ----------
    generator : generator
        Fitted. It is sent to the executors as the files of ``save``; likewise must be installed there.
    frame : Spark DataFrame
        The people, with their labels.
    row_id : str, optional
        The column of row identifiers, integers or text; the row id of the roles, if not given.
    rounds, ratio, per_row
        The number of antidotes, as for ``generator.generate`` with ``row_ids``: a ratio is the average per row, and
        :func:`likewise.generation.scale_ratio` corrects it for rows without antidotes.
    random_state : int, optional
        Overrides the generator's seed.
    device : str
        The device of networks on the executors.

    Returns
    -------
    Spark DataFrame
        The antidotes in the columns of the frame, plus is_antidote (true) and antidote_round; the row id names the
        source row.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pyspark.sql import SparkSession
    >>> import likewise.spark
    >>> from likewise import Roles, UniformGenerator
    >>> people = pa.table({"id": [1, 2, 3], "sex": ["f", "m", "m"], "age": [31, 31, 60], "hired": [1, 1, 0]})
    >>> roles = Roles(sensitive="sex", continuous="age", label="hired", row_id="id")
    >>> generator = UniformGenerator(roles, random_state=0).fit(people)
    >>> session = SparkSession.builder.getOrCreate()
    >>> antidotes = likewise.spark.generate(generator, session.createDataFrame(people))
    >>> sorted((row.id, row.sex) for row in antidotes.collect())
    [(1, 'm'), (2, 'f'), (3, 'f')]
    """
    types = require("pyspark.sql.types", "spark", "A Spark frame")
    check_frame(frame)
    saved = _pack(generator)
    name = generator.roles.row_id if row_id is None else row_id
    _check_columns(generator, frame.columns, name)
    asked: dict[str, Any] = {"rounds": rounds, "ratio": ratio, "per_row": per_row, "row_id": name}
    asked["random_state"] = check_seed(generator.random_state if random_state is None else random_state)
    list(iter_antidotes(generator, [], **asked))  # invalid amounts are refused here, not on the executors
    fields = [types.StructField(field.name, field.dataType, True) for field in frame.schema.fields]
    for title, kind in (("is_antidote", types.BooleanType()), ("antidote_round", types.LongType())):
        fields.append(types.StructField(free_name(title, [field.name for field in fields]), kind, True))

    def make(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return make_batches(batches, saved, asked, device)

    with quiet():
        return frame.mapInArrow(make, types.StructType(fields))


def make_batches(
    batches: Iterator[pa.RecordBatch], saved: Mapping[str, bytes], asked: Mapping[str, Any], device: str
) -> Iterator[pa.RecordBatch]:
    """Generate the antidotes of one partition, on an executor."""
    generator = _unpack(saved, device)
    for made in iter_antidotes(generator, batches, **asked):
        # drop the position in the partition, the last column but one
        yield from made.remove_column(made.num_columns - 2).to_batches()


def _check_columns(generator: BaseGenerator, names: list[str], row_id: str | None) -> None:
    if row_id is None:
        raise GenerationError(
            "Rows of a Spark frame have no fixed order, so each needs an id. Pass its column as row_id."
        )
    if row_id not in names:
        raise GenerationError(f"The frame has no column '{row_id}', the row id.{suggest(row_id, names)}")
    if generator.roles.label is None:
        raise GenerationError("The generator was fitted with separate labels. Name the label column in its roles.")
    refuse_absent(generator.roles, names, (*KINDS, "row_id", "label"))


def _pack(generator: BaseGenerator) -> dict[str, bytes]:
    """Return the files that ``save`` writes."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "saved"
        generator.save(folder)
        return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def _unpack(saved: Mapping[str, bytes], device: str) -> BaseGenerator:
    """Load a generator from its files, once per worker."""
    digest = hashlib.sha256(b"".join([device.encode(), *saved.values()])).hexdigest()
    if digest not in LOADED:
        with tempfile.TemporaryDirectory() as place:
            for name, content in saved.items():
                (Path(place) / name).write_bytes(content)
            LOADED.clear()  # only the last one is in use
            LOADED[digest] = load_generator(place, device=device)
    return LOADED[digest]
