"""Comparable pairs of people in a Spark frame: as a frame, or summed up by Spark for an audit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from likewise.auditing._internal import (
    AuditSettings,
    MeasuredPairs,
    PairSummary,
    PairTest,
    Question,
    ScoredPeople,
    Side,
    Standing,
    SummaryShape,
    pair_keys,
    people_to_columns,
    summary_from_columns,
    summary_to_columns,
)
from likewise.comparable import Comparability
from likewise.comparable._internal import check_rule
from likewise.schema import CodedTable, Roles, Schema
from likewise.spark._frames import faults, map_batches, quiet
from likewise.spark._people import WEIGHT, CodedPeople, FrameQuestion, prepare_people
from likewise.spark._search import count_pairs, find_pairs

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

Columns = dict[str, NDArray[Any]]

COUNTED, PERSON, KEPT = range(3)  # kinds of rows that a partition yields
AT_ONCE: Final = 250_000  # pairs to measure at a time
KEYS: Final = 2**64
STANDING: Final = ("is_near", "controls")  # columns that pairs carry where the rule asks for them
OUT: Final = {
    **{"kind": "tinyint", "what": "tinyint", "key": "long", "other": "long", "n": "long"},
    **{"total": "double", "most": "double", "rounded": "double", "minus_partner": "long"},
}


def mine_pairs(
    frame: DataFrame, *, roles: Roles | Schema, rule: Comparability | None = None, label: str | None = None
) -> DataFrame:
    """Find every comparable pair of people, lazily; only the columns are inspected at once.

    Parameters
    ----------
    frame : Spark DataFrame
        The people.
    roles : Roles or Schema
        The roles of the columns; with roles alone, the ranges of continuous columns are those of the frame.
    rule : Comparability, optional
        When two people are comparable; ``Comparability()`` if not given.
    label : str, optional
        The label column, if the roles name none; without either, people are compared whatever their label.

    Returns
    -------
    Spark DataFrame
        ``left_row`` and ``right_row``, each pair once with ``left_row < right_row``, unordered. Rows are numbered from
        0, by file (sorted by name) and position in it, or by partition if the frame does not come from Parquet files.
        Spark caches the coded people until ``unpersist`` or the end of the session.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pyspark.sql import SparkSession
    >>> import likewise.spark
    >>> from likewise import Roles
    >>> session = SparkSession.builder.getOrCreate()
    >>> people = session.createDataFrame(pa.table({"sex": ["f", "m", "m"], "age": [31, 31, 60], "hired": [1, 1, 0]}))
    >>> roles = Roles(sensitive="sex", continuous="age", label="hired")
    >>> [tuple(row) for row in likewise.spark.mine_pairs(people, roles=roles).collect()]
    [(0, 1)]
    """
    rule = check_rule(Comparability() if rule is None else rule)
    with faults("coding the people"):
        people, _ = prepare_people(frame, FrameQuestion(scores=None, roles=roles, rule=rule, label=label))
        pairs = find_pairs(people.frame, rule, people.sample())
    return pairs.select("left_row", "right_row")


class PairSearch:
    """Search for pairs of the scored people by any rule."""

    def __init__(self, people: CodedPeople, question: Question, settings: AuditSettings) -> None:
        self._people = people
        self._counted = people.frame  # without people of weight 0
        if question.scores.weights is not None:
            self._counted = people.frame.where(f"{WEIGHT} > 0")
        self._n_people = question.scores.n_people
        self._sample = people.sample()
        self._standing = Standing.of(question, question.rule)
        self._scored = ScoredPeople.of(question.table, question.scores)
        self._merits = Merits.of(question.rule, self._sample)
        self._carried = CarriedValues.of(self._scored, self._merits)
        self._shape = self._scored.shape(settings)
        self._carrying: DataFrame | None = None

    def summarize(self, rule: Comparability, *, is_mirrored: bool = False) -> PairSummary:
        """Sum up the pairs, on the driver if it may hold so many, else in Spark."""
        carried = replace(self._carried, test=PairTest(rule, is_mirrored) if rule.asks_more else None)
        n_total = self._n_people * (self._n_people - 1) // 2
        if n_total > self._shape.n_kept:  # few people have few pairs; no need to count
            n_total = self.count(rule)
        if n_total > self._shape.n_kept:
            names = [*(STANDING if rule.asks_more else ()), *carried.names, *self._merits.names]
            pairs = find_pairs(self._carry(), rule, self._sample, carry=names)
            return summarize_in_spark(pairs, carried, self._shape, n_total)
        found = find_pairs(self._merits.add_to(self._counted), rule, self._sample, carry=self._merits.names)
        with quiet():
            rows = found.drop("label").toArrow()
        left, right = (rows.column(name).to_numpy() for name in ("left_row", "right_row"))
        rows = carried.leave_out(rows, self._standing.take(left), self._standing.take(right))
        left, right = (rows.column(name).to_numpy() for name in ("left_row", "right_row"))
        order = np.lexsort([right, left])
        summary = PairSummary(self._shape)
        summary.add_parts(self._scored.measure_parts(left[order], right[order]))
        return summary

    def count(self, rule: Comparability) -> int:
        """Count the pairs, before any are left out."""
        return count_pairs(self._counted, rule, self._sample)

    def forget(self) -> None:
        """Release what Spark has cached."""
        if self._carrying is not None:
            self._carrying.unpersist()

    def _carry(self) -> DataFrame:
        """Join scores, ranks and decisions to the coded frame."""
        import pyarrow as pa

        if self._carrying is None:
            codes = self._counted.drop(WEIGHT)
            asked = dict(zip(STANDING, (self._standing.is_near, self._standing.controls), strict=True))
            known = {"row": np.arange(self._people.n_people), **asked, **self._carried.to_columns(self._scored)}
            with quiet():
                sent = codes.sparkSession.createDataFrame(pa.table(known))
            self._carrying = self._merits.add_to(codes).join(sent, "row").persist()
        return self._carrying


@dataclass(frozen=True, slots=True)
class Merits:
    """The columns of ``no_better``, which pairs carry to be left out by."""

    columns: tuple[tuple[str, str], ...] = ()  # kind and name of each
    codes: tuple[str, ...] = ()  # what the coded frame calls them
    ties: CodedTable = field(default_factory=CodedTable)  # without rows: how precise the columns are, and their units

    @classmethod
    def of(cls, rule: Comparability, table: CodedTable) -> Merits:
        """Find the columns of a rule in a table with the codes of the frame."""
        near = {
            name: (kind, f"{kind}_{i}")
            for kind in ("continuous", "ordinal")
            for i, name in enumerate(table.names[kind])
        }
        asked = [text.rpartition(":")[0] for text in rule.no_better]
        return cls(tuple((near[one][0], one) for one in asked), tuple(near[one][1] for one in asked), table[:0])

    @property
    def names(self) -> list[str]:
        """The names of the carried columns."""
        return [f"merit_{i}" for i in range(len(self.codes))]

    def add_to(self, coded: DataFrame) -> DataFrame:
        """Return a coded frame that has the columns also under the names to be carried by."""
        if not self.names:  # which Spark Connect refuses
            return coded
        return coded.withColumns({name: coded[code] for name, code in zip(self.names, self.codes, strict=True)})

    def people(self, pairs: pa.Table, side: Literal["left", "right"]) -> Side:
        """Return the people on one side of pairs, as far as these columns go."""
        arrays: dict[str, list[NDArray[Any]]] = {"continuous": [], "ordinal": []}
        names: dict[str, list[str]] = {"continuous": [], "ordinal": []}
        for (kind, column), name in zip(self.columns, self.names, strict=True):
            arrays[kind].append(pairs.column(f"{side}_{name}").to_numpy())
            names[kind].append(column)
        known = {kind: np.column_stack(some) for kind, some in arrays.items() if some}
        table = CodedTable(
            **known,  # type: ignore[arg-type]  # kinds are names of arguments
            labels=np.zeros(pairs.num_rows, np.int32),
            names=names,
            precision=self.ties.precision,
            units=self.ties.units,
        )
        return Side(table, np.arange(pairs.num_rows))


@dataclass(frozen=True, slots=True)
class CarriedValues:
    """The columns that a pair carries of either person, and what pairs are measured by."""

    n_scores: int  # of a person
    has_decisions: bool
    scale: float
    sign: int
    is_weighted: bool = False
    merits: Merits = field(default_factory=Merits)
    test: PairTest | None = None  # which pairs stay

    @classmethod
    def of(cls, people: ScoredPeople, merits: Merits | None = None) -> CarriedValues:
        """Describe the columns of these people."""
        return cls(
            n_scores=1 if people.scores.ndim == 1 else people.scores.shape[1],
            has_decisions=people.decisions is not None,
            scale=people.scale,
            sign=people.sign,
            is_weighted=people.weights is not None,
            merits=merits or Merits(),
        )

    def leave_out(self, pairs: pa.Table, left: Standing, right: Standing) -> pa.Table:
        """Leave out pairs as the rule asks, given what it asks of their two sides."""
        if self.test is None or not pairs.num_rows:
            return pairs
        people = self.merits.people(pairs, "left"), self.merits.people(pairs, "right")
        return pairs.filter(self.test.keeps((left, right), people))

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        several = [f"{name}_{i}" for name in ("score", "rank") for i in range(self.n_scores)]
        weight = [WEIGHT] if self.is_weighted else []
        return [*several, *(["decision"] if self.has_decisions else []), "combination", *weight]

    def to_columns(self, people: ScoredPeople) -> Columns:
        """Return the columns of everybody."""
        columns: Columns = {}
        for name, array in (("score", people.scores), ("rank", people.ranks)):
            by_class = array.reshape(len(array), -1)
            columns |= {f"{name}_{i}": np.ascontiguousarray(by_class[:, i]) for i in range(self.n_scores)}
        if people.decisions is not None:
            columns["decision"] = people.decisions.astype(np.int32)
        weights = {} if people.weights is None else {WEIGHT: people.weights}
        return columns | {"combination": np.asarray(people.combinations), **weights}

    def measure(self, pairs: pa.Table) -> MeasuredPairs:
        """Measure pairs that carry the columns of their people: those on the left, then those on the right."""
        n = pairs.num_rows
        of = {name: _both_sides(pairs, name) for name in ("row", *self.names)}
        scores, ranks = (
            of[f"{name}_0"]
            if self.n_scores == 1
            else np.column_stack([of[f"{name}_{i}"] for i in range(self.n_scores)])
            for name in ("score", "rank")
        )
        people = ScoredPeople(
            scores,
            ranks,
            np.tile(pairs.column("label").to_numpy(), 2),
            decisions=of.get("decision"),
            combinations=of["combination"],
            weights=of.get(WEIGHT),
            scale=self.scale,
            sign=self.sign,
            rows=of["row"],
        )
        return people.measure(np.arange(n), np.arange(n, 2 * n))


def _both_sides(pairs: pa.Table, name: str) -> NDArray[Any]:
    return np.concatenate([pairs.column(f"{side}_{name}").to_numpy() for side in ("left", "right")])


def summarize_partition(
    batches: Iterator[Any], carried: CarriedValues, shape: SummaryShape, cutoff: int
) -> Iterator[Any]:
    """Yield what is known per person for every batch, and the summary; pairs with keys to the cutoff may be sampled."""
    summary = PairSummary(replace(shape, n_people=0, n_kept=0))
    for some in _in_larger_parts(batches):
        pairs = some
        if carried.test is not None:
            pairs = carried.leave_out(some, _standing_of(some, "left"), _standing_of(some, "right"))
        if not pairs.num_rows:
            continue
        batch = carried.measure(pairs)
        summary.add(batch)
        people = people_to_columns(batch)
        yield _rows(PERSON, key=people.pop("row"), **people)
        low = pair_keys(batch.left, batch.right, shape.seed) <= np.uint64(cutoff)
        yield _rows(KEPT, key=batch.left[low], other=batch.right[low])
    yield _rows(COUNTED, **summary_to_columns(summary))


def summarize_in_spark(pairs: DataFrame, carried: CarriedValues, shape: SummaryShape, n_total: int) -> PairSummary:
    """Sum up all pairs in one pass; ``n_total``, before any are left out, sets the largest key of the sample."""
    from pyspark.sql import functions as F  # noqa: N812

    enough = shape.n_kept + 6 * shape.n_kept**0.5 + 100  # six standard deviations more than needed
    cutoff = KEYS - 1 if enough >= n_total else int(KEYS * (enough / n_total))
    while True:
        told = map_batches(pairs, partial(summarize_partition, carried=carried, shape=shape, cutoff=cutoff), OUT)
        furthest = F.max(F.struct("rounded", "minus_partner"))
        sums = (F.sum("n").alias("n"), F.sum("total").alias("total"), F.max("most").alias("most"))
        merged = told.groupBy("kind", "what", "key", "other").agg(*sums, furthest.alias("furthest"))
        flat = merged.select("kind", "what", "key", "other", "n", "total", "most", "furthest.minus_partner")
        with quiet():
            columns = {name: one.to_numpy() for name, one in zip(flat.columns, flat.toArrow().columns, strict=True)}
        summary = _put_together(columns, shape)
        if cutoff == KEYS - 1 or len(summary.kept.to_columns()["key"]) == min(shape.n_kept, summary.n_total):
            return summary
        # where pairs were left out by their scores, and practically never otherwise: fewer low keys than expected
        cutoff = min(max(2 * cutoff, int(KEYS * (enough / summary.n_total))), KEYS - 1)


def _standing_of(pairs: pa.Table, side: str) -> Standing:
    return Standing(*(pairs.column(f"{side}_{name}").to_numpy() for name in STANDING))


def _in_larger_parts(batches: Iterator[Any]) -> Iterator[Any]:
    import pyarrow as pa

    held, n_held = [], 0
    for batch in batches:
        held.append(batch)
        n_held += batch.num_rows
        if n_held >= AT_ONCE:
            yield pa.Table.from_batches(held)
            held, n_held = [], 0
    if n_held:
        yield pa.Table.from_batches(held)


def _rows(kind: int, **columns: NDArray[Any]) -> pa.RecordBatch:
    import pyarrow as pa

    n = len(columns["key"])
    kinds = {"tinyint": pa.int8(), "long": pa.int64(), "double": pa.float64()}
    full = {name: columns.get(name, np.full(n, kind if name == "kind" else 0)) for name in OUT}
    arrays = [pa.array(full[name]).cast(kinds[OUT[name]]) for name in OUT]
    return pa.RecordBatch.from_arrays(arrays, names=list(OUT))


def _put_together(columns: Columns, shape: SummaryShape) -> PairSummary:
    def of(kind: int, **names: str) -> Columns:
        chosen = columns["kind"] == kind
        return {name: columns[column][chosen] for name, column in names.items()}

    return summary_from_columns(
        shape,
        of(COUNTED, what="what", key="key", n="n", total="total", most="most"),
        people=of(PERSON, row="key", n="n", total="total", most="most", minus_partner="minus_partner"),
        kept=of(KEPT, left="key", right="other"),
    )
