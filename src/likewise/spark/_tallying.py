"""Pairs summed up where Spark finds them: each partition sums up its own, and Spark merges the summaries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.auditing._internal import (
    PairBatch,
    PairMeter,
    PairSummary,
    PersonValues,
    ScoredPeople,
    SummaryShape,
    pair_keys,
    people_to_columns,
    summary_from_columns,
    summary_to_columns,
)
from likewise.spark._frames import map_batches, quiet

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

Columns = dict[str, NDArray[Any]]

COUNTED, PERSON, WORST, KEPT = range(4)  # what a row that leaves a partition is about
AT_ONCE: Final = 250_000  # pairs to measure at a time
KEYS: Final = 2**64
OUT: Final = {
    **{"kind": "tinyint", "what": "tinyint", "key": "long", "other": "long", "n": "long"},
    **{"total": "double", "most": "double", "rounded": "double", "minus_partner": "long"},
}


@dataclass(frozen=True, slots=True)
class CarriedValues:
    """The columns that a pair carries of either person, and the meter that measures pairs from them."""

    n_scores: int  # of a person
    has_decisions: bool
    meter: PairMeter

    @classmethod
    def of(cls, people: ScoredPeople) -> CarriedValues:
        """Describe the columns of these people."""
        values = people.values
        n_scores = 1 if values.scores.ndim == 1 else values.scores.shape[1]
        return cls(n_scores, values.decisions is not None, people.meter)

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        several = [f"{name}_{i}" for name in ("score", "rank") for i in range(self.n_scores)]
        return [*several, *(["decision"] if self.has_decisions else []), "combination"]

    def to_columns(self, values: PersonValues) -> Columns:
        """Return the columns of everybody."""
        columns: Columns = {}
        for name, array in (("score", values.scores), ("rank", values.ranks)):
            by_class = array.reshape(len(array), -1)
            columns |= {f"{name}_{i}": np.ascontiguousarray(by_class[:, i]) for i in range(self.n_scores)}
        if values.decisions is not None:
            columns["decision"] = values.decisions.astype(np.int32)
        return columns | {"combination": np.asarray(values.combinations)}

    def measure(self, pairs: pa.Table) -> PairBatch:
        """Measure pairs that carry the columns of their people."""
        left, right, labels = (pairs.column(name).to_numpy() for name in ("left_row", "right_row", "label"))
        return self.meter.measure((left, right), labels, self._values(pairs, "left"), self._values(pairs, "right"))

    def _values(self, pairs: pa.Table, side: str) -> PersonValues:
        of = {name: pairs.column(f"{side}_{name}").to_numpy() for name in self.names}
        scores, ranks = (
            of[f"{name}_0"]
            if self.n_scores == 1
            else np.column_stack([of[f"{name}_{i}"] for i in range(self.n_scores)])
            for name in ("score", "rank")
        )
        return PersonValues(scores, ranks, of.get("decision"), of["combination"])


@dataclass(frozen=True, slots=True)
class PartitionSummary:
    """Sum up the pairs of a partition; it travels to the executors."""

    carried: CarriedValues
    shape: SummaryShape
    cutoff: int  # pairs with keys up to here may be in the sample

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield what has to be known of single people as pairs come by, and all the rest at the end."""
        summary = PairSummary(replace(self.shape, n_people=0, n_kept=0))
        for pairs in _in_larger_parts(batches):
            batch = self.carried.measure(pairs)
            summary.add(batch)
            people = people_to_columns(batch)
            yield _rows(PERSON, key=people.pop("row"), **people)
            low = pair_keys(batch.left, batch.right, self.shape.seed) <= np.uint64(self.cutoff)
            yield _rows(KEPT, key=batch.left[low], other=batch.right[low])
        yield _rows(COUNTED, **summary_to_columns(summary))
        worst = summary.worst.to_columns()
        yield _rows(WORST, key=worst["left"], other=worst["right"], total=worst["gap"], most=worst["rank_gap"])


def summarize_in_spark(pairs: DataFrame, carried: CarriedValues, shape: SummaryShape, n_total: int) -> PairSummary:
    """Sum up all pairs in one pass; from ``n_total`` follows how low keys have to be to get into the sample."""
    from pyspark.sql import functions as F  # noqa: N812

    enough = shape.n_kept + 6 * shape.n_kept**0.5 + 100  # more than six deviations above what is wanted
    cutoff = KEYS - 1 if enough >= n_total else int(KEYS * (enough / n_total))
    while True:
        told = map_batches(pairs, PartitionSummary(carried, shape, cutoff), OUT)
        furthest = F.max(F.struct("rounded", "minus_partner"))
        merged = told.groupBy("kind", "what", "key", "other").agg(
            F.sum("n").alias("n"),
            F.sum("total").alias("total"),
            F.max("most").alias("most"),
            furthest.alias("furthest"),
        )
        flat = merged.select("kind", "what", "key", "other", "n", "total", "most", "furthest.minus_partner")
        with quiet():
            columns = {name: one.to_numpy() for name, one in zip(flat.columns, flat.toArrow().columns, strict=True)}
        summary = _put_together(columns, shape)
        if cutoff == KEYS - 1 or len(summary.kept.to_columns()["key"]) == min(shape.n_kept, summary.n_total):
            return summary
        cutoff = min(2 * cutoff, KEYS - 1)  # about never: fewer low keys than chance has them


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
        people=of(PERSON, row="key", n="n", most="most", minus_partner="minus_partner"),
        worst=of(WORST, left="key", right="other", gap="total", rank_gap="most"),
        kept=of(KEPT, left="key", right="other"),
    )
