"""Find the pairs of scored people in Spark, and sum them up: there, or here where they are few enough to keep."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from likewise.auditing._internal import AuditSettings, PairSummary, Question, ScoredPeople
from likewise.comparable import Comparability, count_spark_pairs, spark_pairs
from likewise.spark._frames import quiet
from likewise.spark._people import CodedPeople
from likewise.spark._tallying import CarriedValues, summarize_in_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class PairSearch:
    """Search the people of a question by any rule."""

    def __init__(self, people: CodedPeople, question: Question, settings: AuditSettings) -> None:
        self._people = people
        self._sample = people.sample()
        self._scored = ScoredPeople.of(question.table, question.scores)
        self._carried = CarriedValues.of(self._scored)
        self._shape = self._scored.shape(settings)
        self._carrying: DataFrame | None = None

    def summarize(self, rule: Comparability) -> PairSummary:
        """Count the pairs; the driver takes them if it may keep so many, else Spark sums them up."""
        n_total = self._people.n_people * (self._people.n_people - 1) // 2
        if n_total > self._shape.n_kept:  # few people have few pairs: no need to count them
            n_total = int(count_spark_pairs(self._people.frame, rule, self._sample)[:, -1].sum())
        if n_total > self._shape.n_kept:
            pairs = spark_pairs(self._carry(), rule, self._sample, carry=self._carried.names)
            return summarize_in_spark(pairs, self._carried, self._shape, n_total)
        found = spark_pairs(self._people.frame, rule, self._sample)
        with quiet():
            rows = found.select("left_row", "right_row").toArrow()
        left, right = (rows.column(name).to_numpy() for name in rows.column_names)
        order = np.lexsort([right, left])
        summary = PairSummary(self._shape)
        for batch in self._scored.measure_parts(left[order], right[order]):
            summary.add(batch)
        return summary

    def forget(self) -> None:
        """Release what Spark keeps."""
        if self._carrying is not None:
            self._carrying.unpersist()

    def _carry(self) -> DataFrame:
        """Send ranks, decisions and joined scores of everybody back to where the codes are."""
        import pyarrow as pa

        if self._carrying is None:
            codes = self._people.frame
            known = {"row": np.arange(self._people.n_people), **self._carried.to_columns(self._scored.values)}
            with quiet():
                sent = codes.sparkSession.createDataFrame(pa.table(known))
            self._carrying = codes.join(sent, "row").persist()
        return self._carrying
