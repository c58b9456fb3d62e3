"""The DuckDB engine stays within the memory it is given, cleans up, and cuts large answers into slices."""

from __future__ import annotations

import gc
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.sizes import some_of

from likewise import CodedTable, Comparability, iter_pairs, mine_pairs
from likewise.comparable.engines._problem import Engine, state_problem
from likewise.exceptions import MissingExtra, TooManyPairs

pytest.importorskip("duckdb")

from likewise.comparable.engines.sql import _duckdb
from likewise.comparable.engines.sql._duckdb import DuckDBEngine


@pytest.fixture
def people() -> CodedTable:
    random = np.random.default_rng(5)
    return CodedTable(
        sensitive=random.integers(0, 3, (400, 1)),
        discrete=random.integers(0, 4, (400, 3)),
        continuous=random.random((400, 2)),
        labels=random.integers(0, 2, 400),
    )


@pytest.fixture
def repeated(people: CodedTable) -> CodedTable:
    return people[np.random.default_rng(6).integers(0, 40, 400)]


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


RULE = Comparability(max_discrete_changes=1, max_continuous_shift=0.3)


def all_pairs(engine: Engine, rows: Any = None) -> list[list[int]]:
    return [pair for left, right in engine.chunks(rows) for pair in np.column_stack([left, right]).tolist()]


@pytest.mark.part(2)
@pytest.mark.parametrize(
    ("table", "n_tables"), some_of([("people", 2), ("people", 1), ("repeated", 2), ("repeated", 1)], 3)
)
def test_slices_of_left_rows_make_up_the_whole(
    table: str, n_tables: int, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = request.getfixturevalue(table)
    right = left[:150] if n_tables == 2 else None
    engine = DuckDBEngine(state_problem(left, right, RULE))
    whole = all_pairs(engine)
    some_rows = np.arange(0, 400, 3)
    some = all_pairs(engine, some_rows)
    monkeypatch.setattr(_duckdb, "BYTES_A_SORTED_PAIR", engine._memory // 100)  # at most 100 pairs at once
    monkeypatch.setattr(_duckdb, "CHUNK", 70)
    sizes = [len(rows) for rows, _ in engine.chunks()]
    assert len(whole) > 500
    assert len(sizes) > len(whole) // 100
    assert max(sizes) <= 70
    assert all_pairs(engine) == whole
    assert all_pairs(engine, some_rows) == some == [pair for pair in whole if pair[0] % 3 == 0]
    assert engine.degrees().tolist() == np.bincount([pair[0] for pair in whole], minlength=400).tolist()


@pytest.mark.part(2)
@pytest.mark.parametrize("table", ["people", "repeated"])
def test_any_pair_is_picked_though_its_rows_pairs_come_in_several_chunks(
    table: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = DuckDBEngine(state_problem(request.getfixturevalue(table), None, RULE))
    whole = np.array(all_pairs(engine))
    rows, start = np.unique(whole[:, 0], return_index=True)
    places = np.arange(len(whole)) - start[np.searchsorted(rows, whole[:, 0])]
    assert places.max() > 10
    monkeypatch.setattr(_duckdb, "CHUNK", 5)
    for some in (slice(None), slice(3, None, 5), slice(0, 0)):
        assert engine.pick(whole[some, 0], places[some]).tolist() == whole[some, 1].tolist()


def test_streams_and_counts_do_not_disturb_each_other(people: CodedTable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_duckdb, "CHUNK", 50)
    engine = DuckDBEngine(state_problem(people, None, RULE))
    first, second = engine.chunks(), engine.chunks(np.arange(10))
    seen = np.column_stack(next(first)).tolist()
    next(second)
    assert engine.counts()[:, 3].sum() == engine.degrees().sum()
    del second
    for piece in first:
        seen += np.column_stack(piece).tolist()
    assert seen == all_pairs(engine)


def test_nothing_is_left_behind(people: CodedTable, scratch: Path) -> None:
    n_threads = threading.active_count()
    stream = iter_pairs(people, RULE, engine="duckdb")
    next(stream)
    assert len(list(scratch.iterdir())) == 1
    del stream
    gc.collect()
    assert list(scratch.iterdir()) == []
    assert threading.active_count() == n_threads


def test_a_small_memory_limit_still_gives_every_pair() -> None:
    random = np.random.default_rng(0)
    table = CodedTable(sensitive=np.arange(2_500)[:, None], continuous=random.random((2_500, 1)))
    rule = Comparability(max_continuous_shift=1)
    engine = DuckDBEngine(state_problem(table, None, rule), memory_limit="30 MB")
    n_found = 0
    for left, right in engine.chunks():
        assert (left < right).all()
        n_found += len(left)
    assert n_found == 2_500 * 2_499 // 2


def test_running_out_of_room_is_said_in_plain_words(people: CodedTable) -> None:
    with pytest.raises(TooManyPairs, match="DuckDB ran out of room"):
        all_pairs(DuckDBEngine(state_problem(people, None, RULE), memory_limit="1 MB"))


def test_without_duckdb_the_message_says_what_to_install(people: CodedTable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(MissingExtra, match=r"Engine 'duckdb'.*\[duckdb\]"):
        mine_pairs(people, RULE, engine="duckdb")
