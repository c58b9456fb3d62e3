"""Antidotes of people in a Spark frame, made where the rows are."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from likewise._checks import suggest
from likewise._extras import require
from likewise._random import check_seed
from likewise.exceptions import GenerationError
from likewise.generation import iter_antidotes, load_generator
from likewise.generation._internal import BaseGenerator
from likewise.spark._columns import check_frame, quiet, refuse_absent

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

LOADED: Final[dict[str, BaseGenerator]] = {}  # a worker loads a generator once, for all of its tasks


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
    """Make antidotes of the people in a Spark frame; nothing is computed before the result is used.

    The antidotes of a row are those that ``generator.generate`` makes of it with the same ``row_ids``, however Spark
    cuts the frame into partitions. Networks compute alike on machines of one kind; on others the last digits of their
    sums may differ, and with them, once in a long while, an antidote.

    Parameters
    ----------
    generator : generator
        Fitted. It travels to the workers as the bytes that ``save`` writes; likewise has to be installed there.
    frame : Spark DataFrame
        The people, with their label.
    row_id : str, optional
        The column that says what rows are called, by whole numbers or text; the row id of the roles, if not given.
    rounds, ratio, per_row
        How many antidotes to make, as for ``generator.generate`` with ``row_ids``: a ratio is one for each row, in the
        mean, and :func:`likewise.generation.scale_ratio` says what to ask for where some rows give none.
    random_state : int, optional
        Another seed than the generator's own.
    device : str
        Where the workers' networks compute.

    Returns
    -------
    Spark DataFrame
        The antidotes, in the columns of the frame, with is_antidote (true) and antidote_round beside; the row id says
        of which row each was made.

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
    list(iter_antidotes(generator, [], **asked))  # amounts that mean nothing are refused here, not by the workers
    fields = [types.StructField(field.name, field.dataType, True) for field in frame.schema.fields]
    for title, kind in (("is_antidote", types.BooleanType()), ("antidote_round", types.LongType())):
        fields.append(types.StructField(_free(title, [field.name for field in fields]), kind, True))

    def make(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return make_batches(batches, saved, asked, device)

    with quiet():
        return frame.mapInArrow(make, types.StructType(fields))


def make_batches(
    batches: Iterator[pa.RecordBatch], saved: Mapping[str, bytes], asked: Mapping[str, Any], device: str
) -> Iterator[pa.RecordBatch]:
    """Make the antidotes of one partition, on a worker."""
    generator = _unpack(saved, device)
    for made in iter_antidotes(generator, batches, **asked):
        # a position in the partition says nothing; it is the last column but one
        yield from made.remove_column(made.num_columns - 2).to_batches()


def _check_columns(generator: BaseGenerator, names: list[str], row_id: str | None) -> None:
    if row_id is None:
        raise GenerationError(
            "Rows of a Spark frame have no order that lasts, so each needs an id. Name its column as row_id."
        )
    if row_id not in names:
        raise GenerationError(f"The frame has no column '{row_id}', the row id.{suggest(row_id, names)}")
    if generator.roles.label is None:
        raise GenerationError("The generator was fitted with labels apart. Name the label column in its roles.")
    refuse_absent(names, generator.roles)


def _free(name: str, taken: list[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _pack(generator: BaseGenerator) -> dict[str, bytes]:
    """Give the files that saving writes."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "saved"
        generator.save(folder)
        return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def _unpack(saved: Mapping[str, bytes], device: str) -> BaseGenerator:
    """Load a generator of its files, the first time that this worker sees it."""
    digest = hashlib.sha256(b"".join([device.encode(), *saved.values()])).hexdigest()
    if digest not in LOADED:
        with tempfile.TemporaryDirectory() as place:
            for name, content in saved.items():
                (Path(place) / name).write_bytes(content)
            LOADED.clear()  # of several, the last is the one in use
            LOADED[digest] = load_generator(place, device=device)
    return LOADED[digest]
