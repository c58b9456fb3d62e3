"""What is asked about the people of a Spark frame, and the people encoded, scored and hashed batch by batch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._checks import suggest
from likewise._json import plain
from likewise.auditing._internal import (
    AuditSettings,
    People,
    ResolvedTask,
    ask_scores,
    name_decisions,
    refuse_compared,
    refuse_weight_role,
    resolve_task,
)
from likewise.comparable import Comparability
from likewise.exceptions import ParameterError, SchemaError, ScoreError, SparkError
from likewise.schema import CodedTable, Roles, Schema
from likewise.schema._internal import KINDS, refuse_absent
from likewise.spark._frames import ROW, NumberedRows, check_frame, column, map_batches, number_rows, quiet
from likewise.spark._schema import Survey, check_columns, check_people, learn_schema, survey_frame

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

Floats = NDArray[np.float64]

GIVEN: Final = "given"  # raw scores, unchecked
OUTCOME: Final = "outcome"
WEIGHT: Final = "weight"
MOST_WORDS: Final = 8  # different ones that a message may list
PLANNED_ON: Final = 20_000  # sampled rows to plan joins with
NUMERIC: Final = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "boolean")
HASHED: Final = ("sensitive", "discrete", "ordinal", "matched", "continuous", "labels")


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameQuestion:
    """What is asked about the people of a frame; without scores, only their codes are needed."""

    scores: Any
    roles: Roles | Schema
    rule: Comparability
    label: str | None = None
    settings: AuditSettings = AuditSettings()  # noqa: RUF009  # it is frozen
    files: Sequence[str] | None = None  # in the order of their rows

    @property
    def column_roles(self) -> Roles:
        """The roles of the columns, also where a schema is given."""
        return self.roles.roles if isinstance(self.roles, Schema) else self.roles


def prepare_people(frame: DataFrame, question: FrameQuestion) -> tuple[CodedPeople, ResolvedTask | None]:
    """Check the arguments, then encode and score everybody; without scores there is no task."""
    empty = check_frame(frame)
    label = _find_label(empty.column_names, question)
    refuse_compared(question.scores, question.column_roles)
    is_regression = (
        question.scores is not None and label is not None and _is_regression(frame, label, question.settings.task)
    )
    _check_scores(question.scores, empty.column_names)
    _check_weight(frame, question)
    words = _name_decisions(frame, question)
    coded_label = None if is_regression else label
    schema, survey = _learn(frame, empty, question, label, coded_label)
    reference = refer(schema, survey, coded_label)
    question.rule.check(reference)
    resolved = None
    if question.scores is not None:
        resolved = resolve_task(
            question.settings,
            reference.classes.tolist(),
            is_regression=is_regression,
            is_labelled=label is not None,
        )
    positive = None if resolved is None else resolved.positive_label
    outcome = label if is_regression else None
    weight = question.settings.sample_weight
    coder = Coder(schema, reference, coded_label, outcome, question.scores, positive, words, weight)
    wanted = list(empty.column_names)
    if question.scores is None or isinstance(question.scores, str):  # no model, which might use other columns
        compared = (name for kind in KINDS for name in schema.roles.names(kind))
        needed = {label, question.scores, schema.roles.row_id, weight, *compared}
        wanted = [name for name in wanted if name in needed]
    numbered = number_rows(frame, question.files)
    coded = map_batches(numbered.frame.select(*map(column, [*wanted, ROW])), coder, coder.columns)
    return CodedPeople(coded.persist(), coder, numbered), resolved


def _name_decisions(frame: DataFrame, question: FrameQuestion) -> tuple[str, str] | None:
    """Return the two words of a column of decisions, the favourable one first; None where scores are no words."""
    name = question.scores
    if not isinstance(name, str) or dict(frame.dtypes)[name] != "string":
        return None
    with quiet():
        found = frame.select(column(name)).distinct().limit(MOST_WORDS).collect()
    return name_decisions([row[0] for row in found], f"The scores of column '{name}'", question.settings.favourable)


def _find_label(names: list[str], question: FrameQuestion) -> str | None:
    """Return the label column; None where nobody has a label, as where only the training rows had one."""
    roles = question.column_roles
    if not isinstance(roles, Roles):
        raise SchemaError(
            f"roles is a {type(roles).__name__}. Pass Roles, such as Roles(sensitive=['sex'], ...), or a Schema from "
            "likewise.spark.learn."
        )
    if question.label is not None and roles.label not in (None, question.label):
        raise SchemaError(f"label is '{question.label}', but the roles name '{roles.label}'. Use one of them.")
    label = question.label or roles.label
    if label is None or (isinstance(question.roles, Schema) and question.label is None and label not in names):
        return None
    if label not in names:
        raise SchemaError(f"There are no labels: the frame has no column '{label}'.{suggest(label, names)}")
    return label


def _is_regression(frame: DataFrame, label: str, task: str) -> bool:
    """Whether outcomes are amounts rather than classes, decided by fractions as in memory."""
    from pyspark.sql import functions as F  # noqa: N812

    if task not in ("auto", "regression"):
        return False
    is_number = dict(frame.dtypes)[label].startswith(NUMERIC)
    number = column(label).cast("double") if is_number else F.lit(None)
    is_finite = number.isNotNull() & ~F.isnan(number) & (F.abs(number) < float("inf"))
    counts = [F.count(F.when(~is_finite, 1)), F.count(F.when(number != F.floor(number), 1))]
    n_odd, n_fractions = frame.agg(*counts).collect()[0]
    if task == "regression" and n_odd:
        raise SchemaError(
            f"Regression needs one finite outcome per person; column '{label}' has none in {n_odd:,} rows."
        )
    return task == "regression" or (is_number and not n_odd and bool(n_fractions))


def _check_scores(scores: Any, names: list[str]) -> None:
    if isinstance(scores, str) and scores not in names:
        raise ScoreError(
            f"There is no column '{scores}' to take scores from.{suggest(scores, names)} Name another, or pass a "
            "model or a function."
        )
    known = ("predict_proba", "predict")
    if scores is None or isinstance(scores, str) or callable(scores) or any(hasattr(scores, one) for one in known):
        return
    raise ScoreError(
        f"The scores are a {type(scores).__name__}. The rows of a Spark frame have no fixed order: add them to the "
        "frame as a column and pass its name, or pass a model or a function."
    )


def _check_weight(frame: DataFrame, question: FrameQuestion) -> None:
    """Refuse a column of weights that is missing, has a role, or holds no numbers."""
    name, types = question.settings.sample_weight, dict(frame.dtypes)
    if question.settings.cluster is not None:
        raise ParameterError("is of people in memory; audit a sample of them there, or leave it out.", "cluster")
    if name is None:
        return
    if name not in types:
        raise ParameterError(f"is '{name}', but there is no such column.{suggest(name, types)}", "sample_weight")
    refuse_weight_role(name, question.scores, question.column_roles)
    if name == question.label:
        raise ParameterError(
            f"is '{name}', which is the label. Give weights in a column of their own.", "sample_weight"
        )
    if not types[name].startswith(NUMERIC[:-1]):
        raise ParameterError(f"(column '{name}') is not made of numbers; give one weight per person.", "sample_weight")


def _learn(
    frame: DataFrame, empty: pa.Table, question: FrameQuestion, label: str | None, coded_label: str | None
) -> tuple[Schema, Survey]:
    if isinstance(question.roles, Schema):
        schema = question.roles
        refuse_absent(schema.roles, empty.column_names, (*KINDS, "row_id"))
        survey = survey_frame(frame, schema.roles, coded_label)
        check_people(frame, survey, schema.roles, coded_label)
        return schema, survey
    roles = question.roles
    ignored = tuple(name for name in roles.ignored if name != label)
    if isinstance(question.scores, str) and roles.role_of(question.scores) is None and question.scores != label:
        ignored = (*ignored, question.scores)  # scores are audited, not compared
    if label is not None and coded_label is None:
        ignored = (*ignored, label)  # amounts are not labels
    weight = question.settings.sample_weight
    if weight is not None and roles.role_of(weight) is None:
        ignored = (*ignored, weight)
    roles = replace(roles, label=coded_label, ignored=ignored)
    check_columns(empty, roles)
    survey = survey_frame(frame, roles, coded_label)
    if not survey.n_rows:
        raise SchemaError("The frame has no rows, so there is nothing to audit. Pass a frame with rows.")
    check_people(frame, survey, roles, coded_label)
    return learn_schema(frame, roles, survey, empty), survey


@dataclass(frozen=True, slots=True, eq=False)
class Coder:
    """Encodes and scores the batches of a partition, on the executors."""

    schema: Schema
    reference: CodedTable  # holds the common codes: a batch lacks categories of other batches
    label: str | None  # None: all people share one label
    outcome: str | None = None
    given: Any = None  # scores as the user passed them: a column name, or a model or function of pandas frames
    positive: Any = None
    words: tuple[str, str] | None = None  # of decisions, the favourable one first
    weight: str | None = None

    @property
    def columns(self) -> dict[str, str]:
        """The output columns and their Spark types."""
        names = [(f"{kind}_{i}", kind) for kind in KINDS for i in range(len(self.reference.names[kind]))]
        coded = {name: "double" if kind == "continuous" else "int" for name, kind in names}
        outcome = {} if self.outcome is None else {OUTCOME: "double"}
        given = {} if self.given is None else {GIVEN: "array<double>"}
        weight = {} if self.weight is None else {WEIGHT: "double"}
        return {"row": "long", "label": "int", **coded, **outcome, **given, **weight}

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Encode the batches one by one."""
        import pyarrow as pa

        for batch in batches:
            if not batch.num_rows:
                continue
            people = pa.Table.from_batches([batch])
            frame = people.drop_columns([ROW])
            table = self.encode(frame)
            named = [(f"{kind}_{i}", one) for kind in KINDS for i, one in enumerate(getattr(table, kind).T)]
            columns = {"row": people.column(ROW).combine_chunks(), "label": table.labels}
            columns |= {name: np.ascontiguousarray(one) for name, one in named}
            if self.outcome is not None:
                columns[OUTCOME] = _as_floats(frame.column(self.outcome), f"Outcome '{self.outcome}'")
            if self.given is not None:
                columns[GIVEN] = _as_lists(self._score(frame, table), len(table))
            if self.weight is not None:
                columns[WEIGHT] = _as_floats(frame.column(self.weight), f"Weight '{self.weight}'")
            yield pa.RecordBatch.from_pydict(columns)

    def encode(self, frame: pa.Table) -> CodedTable:
        """Encode some people in the common codes."""
        if self.label is None:
            y: Any = np.zeros(len(frame), np.int64)
        else:
            y = None if self.schema.roles.label == self.label else frame.column(self.label)
        return self.schema.encode(frame, y).aligned_to(self.reference)

    def _score(self, frame: pa.Table, table: CodedTable) -> Any:
        if self.words is not None:
            return np.array([one == self.words[0] for one in frame.column(self.given).to_pylist()], np.float64)
        people = frame if isinstance(self.given, str) else frame.to_pandas()
        return ask_scores(self.given, people, table, self.positive)[0]


def refer(schema: Schema, survey: Survey, label: str | None) -> CodedTable:
    """Encode every value that occurs once: the common codes of all batches."""
    import pyarrow as pa

    roles = schema.roles
    names = [name for kind in KINDS for name in roles.names(kind)]
    n = max([1, *(len(survey.of(name)) for name in survey.values)])
    columns: dict[str, Any] = {name: _repeat(survey.of(name), n) for name in names}
    labels = np.zeros(n, np.int64) if label is None else _repeat(survey.of(label), n)
    if roles.row_id is not None:
        columns[roles.row_id] = np.arange(n)
    frame = pa.table(columns) if columns else pa.table({"nothing": np.zeros(n)})
    return schema.encode(frame, labels)


def _repeat(values: Any, n: int) -> Any:
    import pyarrow as pa

    if not len(values):
        return pa.nulls(n, values.type)
    return values.take(pa.array(np.minimum(np.arange(n), len(values) - 1)))


def _as_floats(column: Any, what: str) -> NDArray[np.float64]:
    try:
        return np.asarray(column.to_numpy(), dtype=np.float64)
    except (TypeError, ValueError):
        raise ScoreError(f"{what} is not numeric. Provide one number per person.") from None


def _as_lists(found: Any, n_people: int) -> Any:
    """Return scores of any shape as lists; they are checked once all are collected."""
    import pyarrow as pa

    try:
        if hasattr(found, "to_pylist") and hasattr(found, "type"):
            found = found.to_numpy(zero_copy_only=False)
        values = np.asarray(found.to_numpy() if hasattr(found, "to_numpy") else found, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError):
        raise ScoreError("The scores are not numbers. Provide one probability per person.") from None
    if values.ndim not in (1, 2) or len(values) != n_people:
        raise ScoreError(f"The scores of {n_people:,} people have shape {values.shape}. Provide one number per person.")
    width = values.size // max(n_people, 1)
    flat = pa.array(np.ascontiguousarray(values).ravel())
    return pa.ListArray.from_arrays(pa.array(np.arange(n_people + 1, dtype=np.int32) * width, pa.int32()), flat)


@dataclass(frozen=True, slots=True, eq=False)
class CodedPeople:
    """A coded frame cached by Spark, with its coder and row numbers."""

    frame: DataFrame
    coder: Coder
    numbered: NumberedRows

    @property
    def n_people(self) -> int:
        """The number of rows of the whole table."""
        return self.numbered.n_rows

    def forget(self) -> None:
        """Release what Spark has cached."""
        self.frame.unpersist()
        self.numbered.forget()

    def sample(self) -> CodedTable:
        """Return a sample of people as a coded table, used to plan joins."""
        return self.examine().table

    def examine(self) -> People:
        """Return a sample of people, with their rows."""
        share = min(1.0, 1.2 * PLANNED_ON / max(self.n_people, 1))
        with quiet():
            some = self.frame if share == 1.0 else self.frame.sample(fraction=share, seed=0)
            found = some.limit(PLANNED_ON).toArrow()
        return People(frame=None, table=self._table(found, KINDS), rows=found.column("row").to_numpy())

    def look_up(self, rows: NDArray[np.int64]) -> tuple[pa.Table, CodedTable]:
        """Return a few people by row: the user's values and the codes of all columns."""
        chosen = self.numbered.frame.where(column(ROW).isin([int(row) for row in rows]))
        with quiet():
            found = chosen.toArrow().sort_by(ROW)
        if not np.array_equal(found.column(ROW).to_numpy(), rows):
            raise SparkError(
                "The rows of the frame have changed since they were scored. Write it to Parquet, and audit that."
            )
        frame = found.drop_columns([ROW])
        return frame, self.coder.encode(frame)

    def gather(self) -> Gathering:
        """Collect labels, sensitive columns, scores and outcomes of all people, in row order."""
        n_sensitive = len(self.coder.reference.names["sensitive"])
        wanted = [name for name in (GIVEN, OUTCOME, WEIGHT) if name in self.coder.columns]
        names = ["row", "label", *(f"sensitive_{i}" for i in range(n_sensitive)), *wanted]
        with quiet():
            found = self.frame.select(*names).toArrow()
        rows = found.column("row").to_numpy()
        order = np.empty(self.n_people, np.int64)
        if len(rows) != self.n_people or not np.array_equal(np.sort(rows), np.arange(self.n_people)):
            raise SparkError(
                f"The frame's {self.n_people:,} rows cannot be identified: a join repeats some, or they are "
                "partitioned differently on each run. Write it to Parquet, and audit that."
            )
        order[rows] = np.arange(self.n_people)
        found = found.drop_columns(["row"])
        return Gathering(
            table=self._table(found, ("sensitive",), order),
            given=_matrix(found.column(GIVEN), order) if GIVEN in wanted else None,
            outcomes=found.column(OUTCOME).to_numpy()[order] if OUTCOME in wanted else None,
            weights=found.column(WEIGHT).to_numpy()[order] if WEIGHT in wanted else None,
        )

    def _table(self, coded: pa.Table, kinds: tuple[str, ...], order: Any = None) -> CodedTable:
        reference = self.coder.reference
        order = slice(None) if order is None else order
        names = {kind: reference.names[kind] for kind in kinds}
        arrays: dict[str, Any] = {
            kind: _side_by_side([coded.column(f"{kind}_{i}").to_numpy()[order] for i in range(len(named))], len(coded))
            for kind, named in names.items()
        }
        listed = [name for named in names.values() for name in named if name in reference.categories]
        known = {name: reference.categories[name] for name in listed}
        labels = coded.column("label").to_numpy()[order].astype(np.int32)
        return CodedTable(
            **arrays,
            labels=labels,
            classes=reference.classes,
            names=names,
            categories=known,
            precision=reference.precision,
            units=reference.units,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Gathering:
    """What the driver holds of all people: labels, sensitive codes, raw scores, regression outcomes and weights."""

    table: CodedTable
    given: Floats | None
    outcomes: Floats | None
    weights: Floats | None


def _side_by_side(columns: list[NDArray[Any]], n_rows: int) -> NDArray[Any]:
    return np.asfortranarray(np.column_stack(columns)) if columns else np.empty((n_rows, 0), np.int32)


def _matrix(lists: Any, order: NDArray[np.int64]) -> Floats:
    import pyarrow.compute as pc

    widths = pc.unique(pc.list_value_length(lists)).to_pylist()
    if len(widths) > 1:
        raise ScoreError(
            f"Some people got {widths[0]} scores and some {widths[1]}. Provide one number per person, or one per "
            "person and label, in every batch."
        )
    width = widths[0] if widths else 1
    flat = pc.list_flatten(lists).to_numpy()
    values: Floats = flat.reshape(len(order), width)[order]
    return values[:, 0] if width == 1 else values


def hash_frame(coded: DataFrame, reference: CodedTable, n_rows: int) -> str:
    """Return the checksum that ``hash_table`` returns for the whole table in memory."""
    columns = {kind: [f"{kind}_{i}" for i in range(len(reference.names[kind]))] for kind in HASHED if kind != "labels"}
    columns["labels"] = ["label"]
    shapes = {kind: (n_rows, len(names)) for kind, names in columns.items()} | {"labels": (n_rows,)}
    digests = {kind: hashlib.sha256(str(shape).encode()) for kind, shape in shapes.items()}
    packed = map_batches(coded.orderBy("row"), partial(_pack, columns=columns), dict.fromkeys(HASHED, "binary"))
    for row in packed.toLocalIterator():  # partition by partition, in row order
        for kind in HASHED:
            digests[kind].update(row[kind])
    known = {"names": reference.names, "categories": reference.categories, "classes": reference.classes}
    known |= {"precision": reference.precision} if reference.precision else {}
    whole = hashlib.sha256(json.dumps(plain(known), sort_keys=True).encode())
    for kind in HASHED:
        whole.update(digests[kind].hexdigest().encode())
    return whole.hexdigest()


def _pack(batches: Iterator[Any], columns: dict[str, list[str]]) -> Iterator[Any]:
    """Pack the codes of each batch as the bytes to hash: row by row, eight bytes per number."""
    import pyarrow as pa

    for batch in batches:
        packed = {}
        for kind in HASHED:
            arrays = [batch.column(name).to_numpy(zero_copy_only=False) for name in columns[kind]]
            values = np.column_stack(arrays) if arrays else np.empty((0, 0))
            packed[kind] = [values.astype("<f8" if kind == "continuous" else "<i8").tobytes()]
        yield pa.RecordBatch.from_pydict(packed)
