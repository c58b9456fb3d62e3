"""The Spark engine puts the questions that DuckDB gets, and gives the same pairs in the same order."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.sizes import sized

from likewise import CodedTable, Comparability, count_pairs, iter_pairs, mine_pairs, sample_pairs
from likewise._spark_session import open_session
from likewise.comparable.engines._problem import Engine, state_problem
from likewise.comparable.engines.spark import _engine
from likewise.comparable.engines.spark._engine import SparkEngine
from likewise.comparable.engines.sql._query import PairQuery
from likewise.exceptions import MissingExtra, SparkError

RULE = Comparability(max_discrete_changes=1, max_continuous_shift=0.3)
pytestmark = pytest.mark.spark


@pytest.fixture
def people() -> CodedTable:
    random = np.random.default_rng(5)
    return CodedTable(
        sensitive=random.integers(0, 3, (250, 1)),
        discrete=random.integers(0, 4, (250, 3)),
        continuous=random.random((250, 2)),
        labels=random.integers(0, 2, 250),
    )


@pytest.fixture
def repeated(people: CodedTable) -> CodedTable:
    return people[np.random.default_rng(6).integers(0, 40, 250)]


def all_pairs(engine: Engine, rows: Any = None) -> list[list[int]]:
    return [pair for left, right in engine.chunks(rows) for pair in np.column_stack([left, right]).tolist()]


def as_rows(pairs: Any) -> list[list[int]]:
    rows: list[list[int]] = np.column_stack([pairs.left, pairs.right]).tolist()
    return rows


@pytest.mark.parametrize(
    ("table", "n_tables"), [("repeated", 2), ("people", 2), ("repeated", 1), ("people", 1)][: sized(1, None)]
)
def test_whatever_is_asked_the_answer_is_the_memory_engines(
    spark: Any, table: str, n_tables: int, request: pytest.FixtureRequest
) -> None:
    left = request.getfixturevalue(table)
    question: tuple[Any, ...] = (left, RULE) if n_tables == 1 else (left, left[:90], RULE)
    whole = as_rows(mine_pairs(*question, engine="memory"))
    pairs = mine_pairs(*question, engine="spark")
    assert as_rows(pairs) == whole
    assert pairs.left.dtype == pairs.right.dtype == np.int32
    assert count_pairs(*question, engine="spark") == count_pairs(*question, engine="memory")
    sampled = sample_pairs(*question, n=9, engine="spark")
    assert as_rows(sampled) == as_rows(sample_pairs(*question, n=9, engine="memory"))


def test_large_answers_come_in_ranges_of_left_rows(
    spark: Any, people: CodedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = as_rows(mine_pairs(people, RULE, engine="memory"))
    monkeypatch.setattr(_engine, "AT_ONCE", len(whole) // 3)
    monkeypatch.setattr(_engine, "CHUNK", 70)
    monkeypatch.setattr(_engine, "LEFT_ROWS_A_BIN", 10)
    pieces = [as_rows(pairs) for pairs in iter_pairs(people, RULE, engine="spark")]
    assert [pair for piece in pieces for pair in piece] == whole
    assert max(map(len, pieces)) <= 70
    engine = SparkEngine(state_problem(people, None, RULE))
    assert all_pairs(engine, np.arange(0, 250, 3)) == [pair for pair in whole if pair[0] % 3 == 0]


def test_one_join_or_many_the_builder_gives_the_same_pairs_on_either_database(spark: Any, people: CodedTable) -> None:
    pytest.importorskip("duckdb")
    from likewise.comparable.engines.sql._duckdb import DuckDBEngine

    problem = state_problem(people, None, Comparability(max_discrete_changes=2, max_continuous_shift=0.1))
    answers = []
    for engine in (DuckDBEngine(problem), SparkEngine(problem)):
        for is_one_join in (True, False):
            engine._query = PairQuery(replace(engine._query.shape, is_one_join=is_one_join))
            answers.append(all_pairs(engine))
    assert len(answers[0]) > 100
    assert answers.count(answers[0]) == 4


def test_tables_without_pairs_have_none(spark: Any, people: CodedTable) -> None:
    for table in (people[:0], people[:1]):
        assert len(mine_pairs(table, RULE, engine="spark")) == 0
        assert count_pairs(table, RULE, engine="spark").total == 0


def test_without_pyspark_the_message_says_what_to_install(people: CodedTable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(MissingExtra, match=r"Engine 'spark'.*'\.\[spark\]"):
        mine_pairs(people, RULE, engine="spark")


def test_without_java_the_message_says_what_to_install(people: CodedTable, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.sql import SparkSession

    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(MissingExtra, match="Engine 'spark' needs Java 17 or newer, which is not on this machine"):
        mine_pairs(people, RULE, engine="spark")


@pytest.mark.parametrize("master", [None, "spark://elsewhere:7077"])
def test_the_master_that_spark_is_set_up_for_stays(master: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.sql import SparkSession

    asked: dict[str, str] = {}

    class Builder:
        def appName(self, name: str) -> Builder:  # noqa: N802
            return self

        def master(self, name: str) -> Builder:
            return self.config("spark.master", name)

        def config(self, name: str, value: str) -> Builder:
            asked[name] = value
            return self

        def getOrCreate(self) -> None:  # noqa: N802
            raise RuntimeError("no answer")

    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    monkeypatch.setattr(SparkSession, "builder", Builder())
    for name in ("PYSPARK_SUBMIT_ARGS", "MASTER"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(SparkError, match=r"Spark could not be started.*: no answer"):
        open_session("A test", master=master, settings={"spark.ui.enabled": "false"})
    assert asked.get("spark.master") == master
    assert asked["spark.ui.enabled"] == "false"


def test_a_failing_query_is_told_in_a_sentence(spark: Any, people: CodedTable) -> None:
    engine = SparkEngine(state_problem(people, None, RULE))
    engine._query = PairQuery(replace(engine._query.shape, n_words=7))
    with pytest.raises(SparkError, match=r"Spark failed while counting pairs: .*word_") as caught:
        engine.counts()
    assert "\n" not in str(caught.value)
