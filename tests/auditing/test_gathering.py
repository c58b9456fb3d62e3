"""All pairs, or a uniform sample of them that depends on the seed alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise import CodedTable, Comparability
from likewise.auditing import _gathering
from likewise.auditing._gathering import Gathered, gather_pairs
from likewise.comparable import iter_pairs


def gather(table: CodedTable, most: int, seed: int = 0, engine: Any = "auto") -> Gathered:
    return gather_pairs(table, Comparability(), most=most, seed=seed, engine=engine, progress=lambda share: None)


def people(n: int) -> CodedTable:
    return CodedTable(sensitive=np.arange(n)[:, None])


@settings(max_examples=40)
@given(st.integers(2, 30), st.integers(1, 500), st.integers(0, 100))
def test_the_pairs_are_all_or_as_many_as_asked_in_order_and_none_twice(n: int, most: int, seed: int) -> None:
    found = gather(people(n), most, seed)
    rows = list(zip(found.pairs.left.tolist(), found.pairs.right.tolist(), strict=True))
    assert found.n_total == n * (n - 1) // 2
    assert len(rows) == min(most, found.n_total)
    assert rows == sorted(set(rows))
    assert found.has_partner.all()


def test_how_the_pairs_come_in_does_not_change_the_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    table = people(60)
    whole = gather(table, 100, seed=3)

    def in_small_pieces(*args: Any, **options: Any) -> Any:
        for chunk in iter_pairs(*args, **options):
            for start in range(0, len(chunk), 7):
                piece = slice(start, start + 7)
                yield type(chunk)(chunk.left[piece], chunk.right[piece], table, table)

    monkeypatch.setattr(_gathering, "iter_pairs", in_small_pieces)
    pieces = gather(table, 100, seed=3)
    assert (pieces.pairs.left == whole.pairs.left).all()
    assert (pieces.pairs.right == whole.pairs.right).all()


def test_every_pair_is_as_likely_as_any_other() -> None:
    counts = np.zeros((12, 12))
    n_draws = 600
    for seed in range(n_draws):
        pairs = gather(people(12), 10, seed).pairs
        counts[pairs.left, pairs.right] += 1
    share = counts[np.triu_indices(12, 1)] / n_draws
    assert share.mean() == pytest.approx(10 / 66)
    assert abs(share - 10 / 66).max() < 5 * np.sqrt(10 / 66 * 56 / 66 / n_draws)


def test_engines_give_one_sample() -> None:
    pytest.importorskip("duckdb")
    one, other = (gather(people(50), 90, engine=engine).pairs for engine in ("memory", "duckdb"))
    assert (one.left == other.left).all()
    assert (one.right == other.right).all()
