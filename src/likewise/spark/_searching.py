"""Find the pairs of scored people in Spark, and tally them: there, or here where they are few enough to keep."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from likewise.auditing import Scores, rank_scores
from likewise.auditing._internal import AuditSettings, PairTally, Question, TallyShape
from likewise.comparable import Comparability, count_spark_pairs, spark_pairs
from likewise.schema import CodedTable
from likewise.spark._columns import quiet
from likewise.spark._people import CodedPeople
from likewise.spark._tallying import Columns, PairMeter, tally_here, tally_pairs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class PairSearch:
    """Search the people of a question by any rule."""

    def __init__(self, people: CodedPeople, question: Question, settings: AuditSettings) -> None:
        scores, table = question.scores, question.table
        self._people = people
        self._sample = people.sample()
        self._columns = _columns_of(scores, table)
        n_scores = 1 if scores.values.ndim == 1 else scores.values.shape[1]
        self._meter = PairMeter(n_scores, scores.scale, scores.decisions is not None)
        self._shape = TallyShape(
            n_people=len(table),
            n_labels=len(table.classes),
            n_combinations=int(self._columns["combination"].max(initial=-1)) + 1,
            largest=_largest_gap(scores),
            limit=settings.gap_limit,
            n_worst=settings.n_worst,
            n_kept=settings.max_pairs,
            seed=settings.seed,
        )
        self._carrying: DataFrame | None = None

    def tally(self, rule: Comparability) -> PairTally:
        """Count the pairs; the driver takes them if it may keep so many, else Spark sums them up."""
        n_total = self._people.n_people * (self._people.n_people - 1) // 2
        if n_total > self._shape.n_kept:  # few people have few pairs: no need to count them
            n_total = int(count_spark_pairs(self._people.frame, rule, self._sample)[:, -1].sum())
        if n_total > self._shape.n_kept:
            pairs = spark_pairs(self._carry(), rule, self._sample, carry=self._meter.carried)
            return tally_pairs(pairs, self._meter, self._shape, n_total)
        found = spark_pairs(self._people.frame, rule, self._sample)
        with quiet():
            rows = found.select("left_row", "right_row").toArrow()
        left, right = (rows.column(name).to_numpy() for name in rows.column_names)
        order = np.lexsort([right, left])
        return tally_here(left[order], right[order], self._columns, self._meter, self._shape)

    def forget(self) -> None:
        """Give back what Spark keeps."""
        if self._carrying is not None:
            self._carrying.unpersist()

    def _carry(self) -> DataFrame:
        """Send ranks, decisions and joined scores of everybody back to where the codes are."""
        import pyarrow as pa

        if self._carrying is None:
            codes = self._people.frame
            known = {
                "row": np.arange(self._people.n_people),
                **{name: self._columns[name] for name in self._meter.carried},
            }
            with quiet():
                sent = codes.sparkSession.createDataFrame(pa.table(known))
            self._carrying = codes.join(sent, "row").persist()
        return self._carrying


def _columns_of(scores: Scores, table: CodedTable) -> Columns:
    """Give what pairs have to know of everybody."""
    values, ranks = scores.values, rank_scores(scores.values)
    columns: Columns = {"label": table.labels, "combination": _number_combinations(table.sensitive)}
    if scores.decisions is not None:
        columns["decision"] = scores.decisions.astype(np.int32)
    for name, array in (("score", values), ("rank", ranks)):
        by_label = array[:, None] if array.ndim == 1 else array
        columns |= {f"{name}_{i}": np.ascontiguousarray(by_label[:, i]) for i in range(by_label.shape[1])}
    return columns


def _number_combinations(sensitive: NDArray[np.int32]) -> NDArray[np.int32]:
    """Number the combinations of sensitive codes that occur, in their order."""
    numbers = np.zeros(len(sensitive), np.int64)
    for codes in sensitive.T:
        numbers = np.unique(numbers * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[1]
    return numbers.astype(np.int32)


def _largest_gap(scores: Scores) -> float:
    if scores.values.ndim > 1 or not len(scores):
        return 1.0
    return float(scores.values.max() - scores.values.min()) / scores.scale
