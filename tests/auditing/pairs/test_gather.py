"""All pairs where they are few; where they are many, a tally of all and a uniform sample that the seed decides."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sizes import sized

from likewise import CodedTable, Comparability
from likewise.auditing import Scores
from likewise.auditing._internal import AuditSettings, Gathered, pair_keys
from likewise.auditing.pairs import _gather, _meter
from likewise.auditing.pairs._gather import gather_pairs
from likewise.auditing.pairs._meter import ScoredPeople
from likewise.comparable import ComparablePairs, iter_pairs


def gather(table: CodedTable, most: int, seed: int = 0, chunks: Iterator[ComparablePairs] | None = None) -> Gathered:
    scored = ScoredPeople.of(table, Scores(np.linspace(0, 1, len(table)), "binary"))
    shape = scored.shape(AuditSettings(max_pairs=most, seed=seed))
    found = iter_pairs(table, Comparability()) if chunks is None else chunks
    return gather_pairs(found, table, scored, shape, lambda share: None)


def people(n: int) -> CodedTable:
    return CodedTable(sensitive=np.arange(n)[:, None])


@settings(max_examples=sized(10, 40))
@given(st.integers(2, 30), st.integers(1, 500), st.integers(0, 100))
def test_the_pairs_are_all_or_as_many_as_asked_in_order_and_none_twice(n: int, most: int, seed: int) -> None:
    found = gather(people(n), most, seed)
    rows = list(zip(found.pairs.left.tolist(), found.pairs.right.tolist(), strict=True))
    assert found.n_total == found.n_measured == n * (n - 1) // 2
    assert len(rows) == min(most, found.n_total)
    assert rows == sorted(set(rows))
    assert found.has_partner.all()
    assert (found.summary is None) == (found.n_total <= most)
    assert found.share_by_person() == pytest.approx(2 / n)


@pytest.mark.parametrize("n_in_piece", [1, 7, 50])
def test_how_the_pairs_come_in_changes_neither_the_sample_nor_a_digit_of_what_is_summed_up(
    n_in_piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (_gather, _meter):
        monkeypatch.setattr(module, "AT_ONCE", 11)
    table = people(60)
    whole = gather(table, 100, seed=3)

    def in_small_pieces() -> Iterator[ComparablePairs]:
        for chunk in iter_pairs(table, Comparability()):
            for start in range(0, len(chunk), n_in_piece):
                piece = slice(start, start + n_in_piece)
                yield ComparablePairs(chunk.left[piece], chunk.right[piece], table, table)

    pieces = gather(table, 100, seed=3, chunks=in_small_pieces())
    assert (pieces.pairs.left == whole.pairs.left).all()
    assert (pieces.pairs.right == whole.pairs.right).all()
    assert pieces.summary is not None
    assert whole.summary is not None
    assert (pieces.summary.totals == whole.summary.totals).all()
    assert (pieces.summary.transitions.sums == whole.summary.transitions.sums).all()


def test_every_pair_is_as_likely_as_any_other() -> None:
    counts = np.zeros((12, 12))
    n_draws = 600
    left, right = np.triu_indices(12, 1)
    for seed in range(n_draws):
        kept = np.argsort(pair_keys(left, right, seed))[:10]
        counts[left[kept], right[kept]] += 1
    share = counts[np.triu_indices(12, 1)] / n_draws
    assert share.mean() == pytest.approx(10 / 66)
    assert abs(share - 10 / 66).max() < 5 * np.sqrt(10 / 66 * 56 / 66 / n_draws)


def test_the_sample_is_that_of_the_lowest_keys() -> None:
    table = people(40)
    left, right = np.triu_indices(40, 1)
    lowest = np.sort(np.argsort(pair_keys(left, right, 8))[:50])
    found = gather(table, 50, seed=8).pairs
    assert found.left.tolist() == left[lowest].tolist()
    assert found.right.tolist() == right[lowest].tolist()
