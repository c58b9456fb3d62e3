"""Summaries of partitions merge into the summary of all pairs, however these are partitioned. No Spark runs here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sizes import sized

from likewise.auditing import Scores, find_flips, rank_gaps, rank_scores, score_gaps
from likewise.auditing._internal import MeasuredPairs, PairSummary, ScoredPeople, SummaryShape, summary_to_columns
from likewise.comparable import Comparability, ComparablePairs, mine_pairs
from likewise.schema import CodedTable
from likewise.spark._pairs import KEYS, CarriedValues, _put_together, summarize_partition

N = 60


def some_people(n_scores: int) -> tuple[ComparablePairs, Scores]:
    random = np.random.default_rng(n_scores)
    table = CodedTable(
        sensitive=random.integers(0, 2, (N, 2)), continuous=random.random((N, 1)), labels=random.integers(0, 2, N)
    )
    values = random.integers(0, 20, N) / 20 if n_scores == 1 else random.dirichlet(np.ones(n_scores), N)
    decisions = (values >= 0.5).astype(int) if n_scores == 1 else values.argmax(axis=1)
    scores = Scores(values, "binary" if n_scores == 1 else "multiclass", decisions)
    return mine_pairs(table, Comparability(max_continuous_shift=0.3)), scores


def carry(pairs: ComparablePairs, scores: Scores, chosen: Any) -> tuple[MeasuredPairs, pa.Table]:
    """Let pairs carry the columns of their people, as Spark does, and measure them."""
    people = ScoredPeople.of(pairs.left_table, scores)
    carried = CarriedValues.of(people)
    known = carried.to_columns(people)
    sides = {"left": pairs.left[chosen], "right": pairs.right[chosen]}
    columns = {f"{side}_row": rows.astype(np.int64) for side, rows in sides.items()}
    columns |= {"label": people.labels[sides["left"]]}
    columns |= {f"{side}_{name}": known[name][rows] for side, rows in sides.items() for name in carried.names}
    table = pa.table(columns)
    return carried.measure(table), table


@pytest.mark.parametrize("n_scores", [1, 3])
def test_a_pair_is_measured_as_it_is_in_memory(n_scores: int) -> None:
    pairs, scores = some_people(n_scores)
    batch = carry(pairs, scores, np.arange(len(pairs)))[0]
    assert np.array_equal(batch.gaps, score_gaps(pairs, scores.values))
    assert np.array_equal(batch.rank_gaps, rank_gaps(pairs, scores.values))
    assert np.array_equal(batch.flips, find_flips(pairs, scores.decisions))  # type: ignore[arg-type]  # there are some
    assert (batch.signed is None) == (n_scores > 1)


def merged(rows: list[Any]) -> dict[str, Any]:
    """Do what the query over the rows of all partitions does."""
    together = pa.Table.from_batches(rows).sort_by([("rounded", "descending"), ("minus_partner", "descending")])
    keys = ["kind", "what", "key", "other"]
    asked = [("n", "sum"), ("total", "sum"), ("most", "max"), ("minus_partner", "first")]
    found = together.group_by(keys, use_threads=False).aggregate(asked)
    return {
        name.removesuffix("_sum").removesuffix("_max").removesuffix("_first"): found.column(name).to_numpy()
        for name in found.column_names
    }


@settings(max_examples=sized(6, 15))
@given(st.randoms(use_true_random=False), st.integers(1, 5))
def test_partitions_of_any_kind_add_up(chance: Any, n_parts: int) -> None:
    pairs, scores = some_people(1)
    people = ScoredPeople.of(pairs.left_table, scores)
    shape = SummaryShape(n_people=N, n_labels=2, n_combinations=4, largest=1.0, limit=0.1, n_kept=30, seed=5)
    whole = PairSummary(shape)
    whole.add(people.measure(pairs.left, pairs.right))
    part_of = np.array([chance.randrange(n_parts) for _ in range(len(pairs))])
    rows = []
    for part in range(n_parts):
        _, table = carry(pairs, scores, np.flatnonzero(part_of == part))
        rows += list(summarize_partition(iter(table.to_batches()), CarriedValues.of(people), shape, KEYS - 1))
    found = _put_together(merged(rows), shape)
    for name, column in summary_to_columns(whole).items():
        assert np.allclose(summary_to_columns(found)[name], column, rtol=1e-12, atol=0)
    for name in ("n_pairs_of", "worst_gap_of", "partner_of"):
        assert np.array_equal(getattr(found, name), getattr(whole, name))
    wanted = whole.kept.to_columns()
    assert all(np.array_equal(column, wanted[name]) for name, column in found.kept.to_columns().items())


def test_ranks_that_travel_are_those_of_everybody() -> None:
    pairs, scores = some_people(3)
    scored = ScoredPeople.of(pairs.left_table, scores)
    people = CarriedValues.of(scored).to_columns(scored)
    assert np.array_equal(np.column_stack([people[f"rank_{i}"] for i in range(3)]), rank_scores(scores.values))
