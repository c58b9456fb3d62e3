"""Pairs of a coded Spark frame are those of the definition, and no task gets most of the work."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from tests.sizes import sized

from likewise import CodedTable, Comparability, mine_pairs
from likewise.comparable._internal import SHIFT_TOLERANCE
from likewise.exceptions import SparkError
from likewise.schema._internal import MISSING_VALUE, Unit, stack_tables
from likewise.spark import _search
from likewise.spark._frames import use_this_python
from likewise.spark._query import PairQuery
from likewise.spark._search import count_pairs, find_pairs

pytestmark = pytest.mark.spark

KINDS = ("sensitive", "discrete", "ordinal", "matched", "continuous")
TABLES_A_RULE = 100
RULES = sized((5,), tuple(range(10)))  # of the small draw, pairs are counted, too


def to_frame(spark: Any, table: CodedTable) -> Any:
    """Code a table as Spark frames are, in an order of its own, with a column to be carried along."""
    rows = np.random.default_rng(0).permutation(len(table))
    columns: dict[str, Any] = {"row": rows, "label": table.labels[rows], "score": rows / 7}
    for kind in KINDS:
        columns |= {f"{kind}_{i}": np.ascontiguousarray(c[rows]) for i, c in enumerate(getattr(table, kind).T)}
    return spark.createDataFrame(pa.table(columns))


def found(frame: Any) -> list[list[int]]:
    """Fetch pairs in order; check what came along with them."""
    return in_order(frame.toArrow())


def in_order(table: pa.Table) -> list[list[int]]:
    left, right = (table.column(f"{side}_row").to_numpy() for side in ("left", "right"))
    for side, rows in (("left", left), ("right", right)):
        if f"{side}_score" in table.column_names:
            np.testing.assert_array_equal(table.column(f"{side}_score").to_numpy(), rows / 7)
    order = np.lexsort((right, left))
    pairs: list[list[int]] = np.column_stack([left, right])[order].tolist()
    return pairs


def expected_pairs(table: CodedTable, rule: Comparability) -> list[list[int]]:
    left, right = np.triu_indices(len(table), 1)
    near = rule.holds(table[left], table[right])
    pairs: list[list[int]] = np.column_stack([left[near], right[near]]).tolist()
    return pairs


def random_question(number: int) -> tuple[list[CodedTable], Comparability]:
    """Make a rule and many small tables for it: even and skewed ones, with repeated rows, and empty ones."""
    random = np.random.default_rng(number)
    # the first rules are sure to have all of these; later ones mix them anyhow
    widths = {kind: int(random.integers(0, 4)) for kind in ("discrete", "ordinal", "continuous")}
    widths |= {"discrete": [2, 3, 4, 0, 6][number % 5], "continuous": [1, 0, 2][number % 3]}
    differs: Any = ("any", "all", "none")[number % 3]
    n_sensitive = int(random.integers(1, 3)) if differs != "none" else int(random.integers(0, 3))
    rule = Comparability(
        max_discrete_changes=[0, 1, 2, 3, 1, 2][number % 6],
        max_continuous_shift=[0.0, 1 / 40, 0.1, 0.3][number % 4],
        max_ordinal_shift=int(random.integers(0, 3)),
        sensitive_differs=differs,
        must_match=("discrete_0",) if widths["discrete"] and number % 4 == 3 else (),
    )
    n_codes = int(random.integers(2, 5))
    tables = []
    for which in range(TABLES_A_RULE):
        n_rows = int(random.integers(0, 14))
        skew = random.random() * 3 * (which % 2)  # every other table is skewed

        def codes(width: int, n: int = n_rows, skew: float = skew) -> Any:
            shares = 1.0 / np.arange(1, n_codes + 1) ** skew
            # -1: a category that the schema had not seen; 40: one that no other table has
            values = np.append(np.arange(n_codes - 1), [-1, 40][number % 2])
            return random.choice(values, (n, width), p=shares / shares.sum()).astype(np.int32)

        continuous = np.round(random.random((n_rows, widths["continuous"])) * 12) / 40
        continuous[random.random(continuous.shape) < 0.05] = -1e9  # what a missing value is coded as
        continuous[(continuous == 0) & (random.random(continuous.shape) < 0.5)] = -0.0
        table = CodedTable(
            sensitive=codes(n_sensitive),
            discrete=codes(widths["discrete"]),
            ordinal=codes(widths["ordinal"]),
            matched=np.full((n_rows, 1), which),
            continuous=continuous,
            labels=random.integers(0, 2, n_rows),
            classes=[0, 1],
        )
        if n_rows and number % 2:  # rows that repeat
            table = table[random.integers(0, max(n_rows // 3, 1), n_rows)]
        if number % 4 == 1:
            table = replace(table, sensitive=codes(n_sensitive))
        tables.append(table)
    return tables, rule


@pytest.mark.parametrize("number", RULES)
def test_pairs_are_those_of_the_definition_on_many_tables(spark: Any, number: int) -> None:
    tables, rule = random_question(number)
    stacked = stack_tables(tables)
    expected = expected_pairs(stacked, rule)
    assert np.column_stack([(pairs := mine_pairs(stacked, rule)).left, pairs.right]).tolist() == expected
    frame, sample = to_frame(spark, stacked), stacked[::3]
    assert expected
    assert found(find_pairs(frame, rule, sample, carry=["score"])) == expected
    if number % 4 == 1:  # the three ways of differing are among these
        assert count_pairs(frame, rule, sample) == len(expected)


def test_many_wide_columns_and_values_of_any_size_are_no_obstacle(spark: Any) -> None:
    random = np.random.default_rng(30)
    centres = random.integers(0, 5, (6, sized(12, 30)))[random.integers(0, 6, 120)]
    discrete = np.where(random.random(centres.shape) < 0.06, random.integers(-1_000, 1_000, centres.shape), centres)
    table = CodedTable(
        sensitive=random.integers(0, 3, (120, 1)),
        discrete=discrete,
        continuous=np.where(random.random((120, 2)) < 0.8, [1e300, 0.0], random.normal(size=(120, 2)) * [1.0, 1e-12]),
    )
    rule = Comparability(max_discrete_changes=3, max_continuous_shift=[1.0, 0.0])
    expected = expected_pairs(table, rule)
    assert len(expected) > 50
    assert found(find_pairs(to_frame(spark, table), rule, table)) == expected


def test_ties_at_the_limit_are_decided_as_the_definition_does(spark: Any) -> None:
    random = np.random.default_rng(7)
    rule = Comparability(max_discrete_changes=0, max_continuous_shift=[0.1, 0.3])
    limits = np.array([0.1, 0.3]) + SHIFT_TOLERANCE
    base = random.integers(-8, 8, (150, 2)) * limits
    # on the limit, and by the least step a float can take to either side of it
    values = np.nextafter(base, base + random.integers(-1, 2, base.shape))
    table = CodedTable(sensitive=np.arange(150)[:, None] % 3, continuous=values)
    expected = expected_pairs(table, rule)
    assert len(expected) > 50
    assert found(find_pairs(to_frame(spark, table), rule, table[:40])) == expected


@pytest.mark.parametrize("n_repeated", sized((1,), (1, 3)))
def test_limits_in_units_and_ratios_are_those_of_the_definition(spark: Any, n_repeated: int) -> None:
    """Many tables in one: amounts of either sign, none, missing ones, and sizes from tiny to huge."""
    random = np.random.default_rng(n_repeated)
    n_rows = 400
    sizes = random.integers(1, 12, n_rows) * 10.0 ** random.choice([-200, -2, 0, 0, 0, 12], n_rows)
    amounts = sizes * random.choice([-1, 0, 1, 1], n_rows)
    values = np.column_stack([amounts, random.integers(0, 60, n_rows), random.integers(0, 400, n_rows)]).astype(float)
    values = np.repeat(values[: n_rows // n_repeated], n_repeated, axis=0)
    values[random.random(len(values)) < 0.05, 0] = MISSING_VALUE
    table = CodedTable(
        sensitive=random.integers(0, 2, (len(values), 1)),
        continuous=values,
        labels=random.integers(0, 2, len(values)),
        names={"continuous": ["amount", "income", "applied"]},
        units={"amount": Unit(0.0, 1.0), "income": Unit(1000.0, 50.0, 0), "applied": Unit(0.0, 1.0, 0, 1.0)},
    )
    rule = Comparability(limits={"amount": "10 %", "income": "250", "applied": "100 days"})
    expected = expected_pairs(table, rule)
    assert len(expected) > 100
    assert any(amounts[left] < 0 for left, _ in expected)
    frame = to_frame(spark, table)
    assert found(find_pairs(frame, rule, table[::3], carry=["score"])) == expected
    assert rows_of(mine_pairs(table, rule)) == expected
    if sized(small=False, full=True):
        equal = Comparability(limits={**rule.limits, "amount": "0 %"})
        assert found(find_pairs(frame, equal, table)) == expected_pairs(table, equal)


def rows_of(pairs: Any) -> list[list[int]]:
    rows: list[list[int]] = np.column_stack([pairs.left, pairs.right]).tolist()
    return rows


def test_codes_that_the_sample_lacks_are_no_obstacle(spark: Any) -> None:
    random = np.random.default_rng(8)
    table = CodedTable(
        sensitive=random.integers(0, 4, (200, 2)), discrete=random.integers(0, 7, (200, 3)), labels=np.arange(200) % 3
    )
    table = table[np.lexsort(table.discrete.T)]
    rule = Comparability(max_discrete_changes=2, sensitive_differs="all")
    expected, sample = expected_pairs(table, rule), table[np.zeros(5, int)]
    assert found(find_pairs(to_frame(spark, table), rule, sample)) == expected
    assert count_pairs(to_frame(spark, table), rule, sample) == len(expected)


def test_a_frame_without_pairs_gives_an_empty_one_with_the_same_columns(spark: Any) -> None:
    table = CodedTable(sensitive=[[0, 1], [1, 1]], labels=[0, 1])
    frame = to_frame(spark, table)
    for some in (frame.where("row < 0"), frame)[: sized(1, 2)]:
        pairs = find_pairs(some, Comparability(), table, carry=["score"])
        assert pairs.columns == ["left_row", "right_row", "label", "left_score", "right_score"]
        assert pairs.count() == 0
        assert count_pairs(some, Comparability(), table) == 0


@contextmanager
def shuffled(spark: Any) -> Iterator[None]:
    """Let joins shuffle both sides, and leave the partitions as they come."""
    wanted = {
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.adaptive.coalescePartitions.enabled": "false",
        "spark.sql.shuffle.partitions": "8",
    }
    before = {name: spark.conf.get(name) for name in wanted}
    for name, value in wanted.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


def found_with_largest_share(pairs: Any) -> tuple[list[list[int]], float]:
    """Fetch pairs in order, and how much of them one task has found."""
    from pyspark.sql import functions as sql

    table = pairs.withColumn("task", sql.spark_partition_id()).toArrow()
    return in_order(table), float(np.bincount(table.column("task")).max() / len(table))


@pytest.mark.parametrize("n_distinct", [300, 2][: sized(1, 2)])
def test_a_hot_key_is_shared_out_and_the_pairs_stay_the_same(
    spark: Any, n_distinct: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(1)
    n_rows = sized(160, 300)
    town = np.where(random.random(n_rows) < 0.9, 0, random.integers(1, 50, n_rows))[:, None]
    # 300: nobody is quite like anybody else; 2: most people are, so that it is groups of equal rows that are hot
    table = CodedTable(sensitive=np.arange(n_rows)[:, None] % n_distinct, matched=town)
    rule, frame = Comparability(), to_frame(spark, table)
    with shuffled(spark):
        pairs, share = found_with_largest_share(find_pairs(frame, rule, table[::2]))
        assert share > 0.9
        monkeypatch.setattr(_search, "LEAST_WORK", 100)
        monkeypatch.setattr(_search, "MOST_MEMBERS", 5)
        salted, share = found_with_largest_share(find_pairs(frame, rule, table[::2], carry=["score"]))
        assert salted == pairs == expected_pairs(table, rule)
        assert share < 0.35
        if sized(small=False, full=True):
            assert count_pairs(frame, rule, table[::2]) == len(pairs)


def test_a_failing_query_is_told_in_a_sentence(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table = CodedTable(sensitive=[[0], [1]], labels=[0, 0])
    monkeypatch.setattr(PairQuery, "count", lambda query: "SELECT word_7 FROM people")
    with pytest.raises(SparkError, match=r"Spark failed while counting pairs: .*word_") as caught:
        count_pairs(to_frame(spark, table), Comparability(), table)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("master", "variable", "setting", "expected"),
    [
        ("local[2]", None, None, sys.executable),
        ("local[2]", None, "/opt/python", "/opt/python"),
        ("local[2]", "/opt/python", None, "python3"),  # which Spark has seen to itself
        ("spark://elsewhere:7077", None, None, "python3"),  # another machine may not have this one
    ],
)
def test_executors_here_run_this_python_where_nobody_chose_one(
    monkeypatch: pytest.MonkeyPatch, master: str, variable: str | None, setting: str | None, expected: str
) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    if variable is not None:
        monkeypatch.setenv("PYSPARK_PYTHON", variable)
    context = SimpleNamespace(master=master, pythonExec="python3")
    conf = {} if setting is None else {"spark.pyspark.python": setting}
    session: Any = SimpleNamespace(sparkContext=context, conf=conf)
    use_this_python(session)
    assert context.pythonExec == expected
    use_this_python(cast(Any, SimpleNamespace(conf=conf)))  # Spark Connect has no context
