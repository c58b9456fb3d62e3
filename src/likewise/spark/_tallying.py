"""Pairs summed up where Spark finds them: each partition tallies its own, Spark adds the tallies up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.auditing._internal import (
    PairBatch,
    PairTally,
    TallyShape,
    pair_keys,
    tally_from_columns,
    tally_to_columns,
)
from likewise.spark._columns import map_batches, quiet

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

Columns = dict[str, NDArray[Any]]

COUNTED, PERSON, WORST, KEPT = range(4)  # what a row that leaves a partition is about
ROUNDED: Final = 1e12  # gaps are compared in this unit: what differs less differs by rounding
AT_ONCE: Final = 250_000  # pairs to measure at a time
KEYS: Final = 2**64
OUT: Final = {
    **{"kind": "tinyint", "what": "tinyint", "key": "long", "other": "long", "n": "long"},
    **{"total": "double", "most": "double", "rounded": "double", "minus_partner": "long"},
}


@dataclass(frozen=True, slots=True)
class PairMeter:
    """Measure pairs from what is known of their two people, column by column."""

    n_scores: int  # of a person
    scale: float
    has_decisions: bool

    @property
    def carried(self) -> list[str]:
        """The columns that a pair has to know of either person."""
        several = [f"{name}_{i}" for name in ("score", "rank") for i in range(self.n_scores)]
        return [*several, *(["decision"] if self.has_decisions else []), "combination"]

    def measure(self, left: NDArray[Any], right: NDArray[Any], labels: NDArray[Any], of: list[Columns]) -> PairBatch:
        """Measure some pairs; ``of`` has the carried columns of the left people, and of the right ones."""
        places = range(self.n_scores)
        apart = [of[1][f"score_{i}"] - of[0][f"score_{i}"] for i in places]
        ranks = [np.abs(of[1][f"rank_{i}"] - of[0][f"rank_{i}"]) for i in places]
        is_single = self.n_scores == 1
        gaps = np.abs(apart[0]) if is_single else np.abs(np.column_stack(apart)).sum(axis=1) / 2
        return PairBatch(
            left=left,
            right=right,
            labels=labels,
            gaps=gaps / self.scale,
            rank_gaps=ranks[0] if is_single else np.column_stack(ranks).max(axis=1),
            flips=of[0]["decision"] != of[1]["decision"] if self.has_decisions else None,
            signed=apart[0] / self.scale if is_single else None,
            left_combination=of[0]["combination"] if is_single else None,
            right_combination=of[1]["combination"] if is_single else None,
        )


@dataclass(frozen=True, slots=True)
class Tallying:
    """Tally the pairs of a partition; it travels to the executors."""

    meter: PairMeter
    shape: TallyShape
    cutoff: int  # pairs with keys up to here may be in the sample

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Give what has to be known of single people as pairs come by, and all the rest at the end."""
        tally = PairTally(replace(self.shape, n_people=0, n_kept=0))
        for pairs in _in_larger_parts(batches):
            batch = self._measure(pairs)
            tally.add(batch)
            yield _rows(PERSON, **_sum_up_people(batch))
            low = pair_keys(batch.left, batch.right, self.shape.seed) <= np.uint64(self.cutoff)
            yield _rows(KEPT, key=batch.left[low], other=batch.right[low])
        yield _rows(COUNTED, **tally_to_columns(tally))
        worst = tally.worst.to_columns()
        yield _rows(WORST, key=worst["left"], other=worst["right"], total=worst["gap"], most=worst["rank_gap"])

    def _measure(self, pairs: pa.Table) -> PairBatch:
        left, right, labels = (pairs.column(name).to_numpy() for name in ("left_row", "right_row", "label"))
        of = [
            {name: pairs.column(f"{side}_{name}").to_numpy() for name in self.meter.carried}
            for side in ("left", "right")
        ]
        return self.meter.measure(left, right, labels, of)


def tally_pairs(pairs: DataFrame, meter: PairMeter, shape: TallyShape, n_total: int) -> PairTally:
    """Tally all pairs in one pass over them; ``n_total`` says how low keys have to be to get into the sample."""
    from pyspark.sql import functions as F  # noqa: N812

    enough = shape.n_kept + 6 * shape.n_kept**0.5 + 100  # more than six deviations above what is wanted
    cutoff = KEYS - 1 if enough >= n_total else int(KEYS * (enough / n_total))
    while True:
        told = map_batches(pairs, Tallying(meter, shape, cutoff), OUT)
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
        tally = _put_together(columns, shape)
        if cutoff == KEYS - 1 or len(tally.kept.to_columns()["key"]) == min(shape.n_kept, tally.n_total):
            return tally
        cutoff = min(2 * cutoff, KEYS - 1)  # about never: fewer low keys than chance has them


def tally_here(
    left: NDArray[Any], right: NDArray[Any], people: Columns, meter: PairMeter, shape: TallyShape
) -> PairTally:
    """Tally pairs that the driver has; ``people`` are the labels and carried columns of everybody."""
    tally = PairTally(shape)
    for start in range(0, len(left), AT_ONCE):
        some = left[start : start + AT_ONCE], right[start : start + AT_ONCE]
        of = [{name: people[name][rows] for name in meter.carried} for rows in some]
        tally.add(meter.measure(*some, people["label"][some[0]], of))
    return tally


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


def _sum_up_people(batch: PairBatch) -> Columns:
    """Say of everybody in some pairs how many these are, the worst gap, and with whom; of several, the earliest row."""
    person = np.concatenate([batch.left, batch.right])
    partner = np.concatenate([batch.right, batch.left])
    gaps = np.tile(batch.gaps, 2)
    rounded = np.rint(gaps * ROUNDED)
    order = np.lexsort([partner, -rounded, person])
    person, gaps = person[order], gaps[order]
    starts = np.flatnonzero(np.diff(person, prepend=-1))
    return {
        "key": person[starts],
        "n": np.diff(starts, append=len(person)),
        "most": np.maximum.reduceat(gaps, starts) if len(starts) else gaps,
        "rounded": rounded[order][starts],
        "minus_partner": -partner[order][starts],
    }


def _rows(kind: int, **columns: NDArray[Any]) -> pa.RecordBatch:
    import pyarrow as pa

    n = len(columns["key"])
    kinds = {"tinyint": pa.int8(), "long": pa.int64(), "double": pa.float64()}
    full = {name: columns.get(name, np.full(n, kind if name == "kind" else 0)) for name in OUT}
    arrays = [pa.array(full[name]).cast(kinds[OUT[name]]) for name in OUT]
    return pa.RecordBatch.from_arrays(arrays, names=list(OUT))


def _put_together(columns: Columns, shape: TallyShape) -> PairTally:
    def of(kind: int, **names: str) -> Columns:
        chosen = columns["kind"] == kind
        return {name: columns[column][chosen] for name, column in names.items()}

    return tally_from_columns(
        shape,
        of(COUNTED, what="what", key="key", n="n", total="total", most="most"),
        people=of(PERSON, row="key", n="n", most="most", minus_partner="minus_partner"),
        worst=of(WORST, left="key", right="other", gap="total", rank_gap="most"),
        kept=of(KEPT, left="key", right="other"),
    )
