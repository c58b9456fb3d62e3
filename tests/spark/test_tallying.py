"""Tallies of partitions add up to the tally of all pairs, however the pairs are dealt out. No Spark runs here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.auditing import Scores, find_flips, rank_gaps, rank_scores, score_gaps
from likewise.auditing._internal import TallyShape, tally_to_columns
from likewise.comparable import Comparability, ComparablePairs, mine_pairs
from likewise.schema import CodedTable
from likewise.spark._searching import _columns_of
from likewise.spark._tallying import KEYS, PairMeter, Tallying, _put_together, tally_here

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


@pytest.mark.parametrize("n_scores", [1, 3])
def test_a_pair_is_measured_as_it_is_in_memory(n_scores: int) -> None:
    pairs, scores = some_people(n_scores)
    people = _columns_of(scores, pairs.left_table)
    meter = PairMeter(n_scores, 1.0, has_decisions=True)
    of = [{name: people[name][rows] for name in meter.carried} for rows in (pairs.left, pairs.right)]
    batch = meter.measure(pairs.left, pairs.right, people["label"][pairs.left], of)
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


@settings(max_examples=15)
@given(st.randoms(use_true_random=False), st.integers(1, 5))
def test_partitions_of_any_kind_add_up(chance: Any, n_parts: int) -> None:
    pairs, scores = some_people(1)
    people = _columns_of(scores, pairs.left_table)
    meter = PairMeter(1, 1.0, has_decisions=True)
    shape = TallyShape(n_people=N, n_labels=2, n_combinations=4, largest=1.0, limit=0.1, n_worst=7, n_kept=30, seed=5)
    whole = tally_here(pairs.left, pairs.right, people, meter, shape)
    part_of = np.array([chance.randrange(n_parts) for _ in range(len(pairs))])
    rows = []
    for part in range(n_parts):
        left, right = pairs.left[part_of == part], pairs.right[part_of == part]
        sides = {
            f"{side}_{name}": people[name][who]
            for side, who in (("left", left), ("right", right))
            for name in meter.carried
        }
        columns = {
            "left_row": left.astype(np.int64),
            "right_row": right.astype(np.int64),
            "label": people["label"][left],
            **sides,
        }
        rows += list(Tallying(meter, shape, KEYS - 1)(iter([pa.RecordBatch.from_pydict(columns)])))
    found = _put_together(merged(rows), shape)
    for name, column in tally_to_columns(whole).items():
        assert np.allclose(tally_to_columns(found)[name], column, rtol=1e-12, atol=0)
    for name in ("n_pairs_of", "worst_gap_of", "partner_of"):
        assert np.array_equal(getattr(found, name), getattr(whole, name))
    for kept in ("worst", "kept"):
        wanted = getattr(whole, kept).to_columns()
        assert all(np.array_equal(column, wanted[name]) for name, column in getattr(found, kept).to_columns().items())


def test_ranks_that_travel_are_those_of_everybody() -> None:
    pairs, scores = some_people(3)
    people = _columns_of(scores, pairs.left_table)
    assert np.array_equal(np.column_stack([people[f"rank_{i}"] for i in range(3)]), rank_scores(scores.values))
