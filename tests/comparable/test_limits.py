"""Limits in units of the columns: what they mean is what an examiner means, and every search honours it."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sizes import sized

from likewise import CodedTable, Comparability, Roles, Schema, count_pairs, mine_pairs, sample_pairs
from likewise.comparable import read_pairs, write_pairs
from likewise.comparable.engines import _exhaustive
from likewise.exceptions import RuleError, TableFileError
from likewise.schema._internal import Unit

DAY = dt.date(2026, 1, 1)
LIMITS = {
    "units": st.sampled_from(["0", "1", "2.5", 5, "12", "1,000"]),
    "relative": st.sampled_from(["0 %", "5 %", "10 %", "25 %", "99 %"]),
    "share": st.sampled_from(["0.1 of range", "25 % of range", "0 of range", "25 % of the middle range"]),
    "time": st.sampled_from(["0 days", "1 day", "30 days", "0.1 of range"]),
    "rank": st.sampled_from(["0", "1 rank", 2]),
}


@st.composite
def people_with_limits(draw: st.DrawFn) -> tuple[pa.Table, CodedTable, Comparability]:
    """Draw a table of whole numbers, cents, dates and ranks; an outlier may stretch the range, training be coarser."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows = draw(st.integers(2, 24))
    outlier = draw(st.sampled_from([0, 10**6, 10**12]))
    units = random.integers(-3, 30, n_rows)
    units[0] += outlier
    relative = random.integers(-20, 120, n_rows) / draw(st.sampled_from([1, 4, 100]))
    frame = pa.table(
        {
            "sex": random.integers(0, 2, n_rows),
            "job": random.integers(0, 3, n_rows),
            "units": units,
            "relative": [None if one == 7 else one for one in relative.tolist()],
            "share": random.integers(0, 40, n_rows) / 40,
            "time": [DAY + dt.timedelta(int(days)) for days in random.integers(0, 90, n_rows)],
            "rank": random.integers(0, 4, n_rows),
        }
    )
    roles = Roles(
        sensitive="sex",
        discrete="job",
        continuous=["units", "relative", "share", "time"],
        ordinal={"rank": [0, 1, 2, 3]},
        missing={"relative": "apart"},
    )
    coarse = pa.array([None if one is None else float(round(one)) for one in frame.column("relative").to_pylist()])
    learned = draw(st.sampled_from([frame, frame.set_column(3, "relative", coarse)]))
    table = roles.learn(learned).encode(frame, random.integers(0, 2, n_rows))
    wide = draw(st.booleans())  # few pairs pass five narrow limits
    limits: dict[str, Any] = {name: draw(one) for name, one in LIMITS.items() if draw(st.booleans())}
    shift = 1.0 if wide else draw(st.sampled_from([0.0, 0.1, 0.5]))
    return frame, table, Comparability(1, shift, 3 if wide else 1, limits=limits)


def rows_of(pairs: Any) -> list[tuple[int, int]]:
    return list(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))


def expected(table: CodedTable, rule: Comparability) -> list[tuple[int, int]]:
    left, right = np.triu_indices(len(table), 1)
    near = rule.holds(table[left], table[right])
    return list(zip(left[near].tolist(), right[near].tolist(), strict=True))


@pytest.mark.parametrize("way", ["small tables", "compiled"])
def test_the_pairs_of_the_definition_are_found(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "compiled":
        monkeypatch.setattr(_exhaustive, "MOST_COMPARISONS", -1)

    @settings(max_examples=sized(15, 600))
    @given(people_with_limits())
    def check(case: Any) -> None:
        _, table, rule = case
        pairs = expected(table, rule)
        assert rows_of(mine_pairs(table, rule)) == pairs
        assert count_pairs(table, rule).total == len(pairs)
        assert rows_of(sample_pairs(table, rule, n=1_000)) == pairs
        across = rows_of(mine_pairs(table[::2], table, rule))
        left, right = (index.ravel() for index in np.indices((len(table[::2]), len(table))))
        assert across == [
            pair
            for pair, near in zip(
                zip(left.tolist(), right.tolist(), strict=True),
                rule.holds(table[::2][left], table[right]).tolist(),
                strict=True,
            )
            if near
        ]

    check()


@settings(max_examples=sized(15, 600))
@given(people_with_limits())
def test_limits_mean_in_numbers_what_they_say(case: Any) -> None:
    """Compare with exact fractions of the users' own values, whatever the range is."""
    frame, table, rule = case
    columns = {name: frame.column(name).to_pylist() for name in LIMITS}
    free = Comparability(1, 1.0, 3)
    left, right = np.triu_indices(len(table), 1)
    alike = free.holds(table[left], table[right])
    only = Comparability(1, 1.0, 3, limits=rule.limits)
    found = only.holds(table[left], table[right])
    for place, (i, j) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        near = bool(alike[place])
        for name, limit in rule.limits.items():
            near &= is_near(name, str(limit), columns[name][i], columns[name][j], columns[name])
        assert found[place] == near, (rule.limits, frame.slice(i, 1).to_pylist(), frame.slice(j, 1).to_pylist())


def is_near(name: str, limit: str, one: Any, other: Any, column: list[Any]) -> bool:
    if one is None or other is None:
        return one is other
    amount = Fraction(limit.split()[0])
    if isinstance(one, dt.date):
        one, other, column = one.toordinal(), other.toordinal(), [value.toordinal() for value in column]
    present = [Fraction(str(value)) for value in column if value is not None]
    one, other = Fraction(str(one)), Fraction(str(other))
    if "range" in limit:
        amount *= (max(present) - min(present)) or 1
    if "%" in limit:
        amount *= max(abs(one), abs(other)) / 100
    return bool(abs(one - other) <= amount)


def test_limits_are_of_the_values_as_they_are_though_training_had_whole_numbers() -> None:
    numbers = [2.6, 3.4, 2.4, 1.5, 2.0, None]
    train = pa.table({"sex": ["f", "m", "f", "m"], "x": [1.0, 1.0, 2.0, 9.0]})
    roles = Roles(sensitive="sex", continuous="x", missing="median")  # a median of 1.5
    people = pa.table({"sex": ["f", "m", "m", "f", "m", "m"], "x": numbers})
    table = roles.learn(train).encode(people, [1] * 6)
    for equal in ("0 %", "0"):
        assert rows_of(mine_pairs(table, Comparability(limits={"x": equal}))) == [(3, 5)]
    rule = Comparability(limits={"x": "10 %"})
    assert rows_of(mine_pairs(table, rule)) == [(0, 2), (3, 5)]
    apart = rule.differences("x", table, np.array([0]), np.array([2]))
    assert apart is not None
    assert apart.at(0) == {"difference": 0.2, "limit": 0.26, "unit": "units"}


def test_a_limit_in_units_is_exact_however_far_the_range_is_stretched() -> None:
    frame = pa.table({"sex": ["f", "m", "m", "f"], "income": [50_000, 55_000, 55_001, 10**13]})
    table = Roles(sensitive="sex", continuous="income").learn(frame).encode(frame, [1] * 4)
    assert rows_of(mine_pairs(table, Comparability(limits={"income": 5000}))) == [(0, 1)]


def test_times_are_compared_in_days() -> None:
    moments = [dt.datetime(2026, 1, 1), dt.datetime(2026, 1, 2, 12), dt.datetime(2026, 1, 2, 12, 0, 1)]
    frame = pa.table({"sex": ["f", "m", "m"], "applied": moments})
    table = Roles(sensitive="sex", continuous="applied").learn(frame).encode(frame, [1] * 3)
    assert rows_of(mine_pairs(table, Comparability(limits={"applied": "1.5 days"}))) == [(0, 1)]


def test_a_tie_of_short_floats_is_near() -> None:
    values = pa.array(np.array([0.9, 1.0, 1.1, 100.0], np.float32))
    frame = pa.table({"sex": ["f", "m", "f", "m"], "rate": values})
    table = Roles(sensitive="sex", continuous="rate").learn(frame).encode(frame, [1] * 4)
    assert rows_of(mine_pairs(table, Comparability(limits={"rate": "10 %"}))) == [(0, 1), (1, 2)]
    assert rows_of(mine_pairs(table, Comparability(limits={"rate": "0.1"}))) == [(0, 1), (1, 2)]


PEOPLE = pa.table(
    {
        "sex": ["f", "m", "f"],
        "job": ["cook", "smith", "cook"],
        "income": [20_000.5, 40_000, 90_000],
        "dti": [0.2, 0.31, 0.4],
        "applied": [DAY, DAY + dt.timedelta(20), DAY + dt.timedelta(400)],
        "size": [0, 1, 2],
    }
)
SCHEMA = Roles(
    sensitive="sex", discrete="job", continuous=["income", "dti", "applied"], ordinal={"size": [0, 1, 2]}
).learn(PEOPLE)


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        ({"limits": {"income": "5000 dollars"}}, "gives '5000 dollars' for column 'income', which is no limit"),
        ({"limits": {"income": "-5"}}, "which is no limit. Write '5000'"),
        ({"limits": {"income": "5,00"}}, "which is no limit"),
        ({"limits": {"income": float("nan")}}, "which is no limit"),
        ({"limits": {"income": True}}, "which is no limit"),
        ({"limits": {"income": "1e999"}}, "finite"),
        ({"limits": {"income": "100 %"}}, "less than 100 %"),
        ({"limits": {"income": "5 of range"}}, "more than its whole range"),
        ({"limits": {"income": "30 days"}}, "holds numbers and not dates"),
        ({"limits": {"income": "1 rank"}}, "has no ranks"),
        ({"limits": {"applied": "30"}}, "holds dates or times: write '30 days'"),
        ({"limits": {"applied": "10 %"}}, "holds dates or times"),
        (
            {"limits": {"dti": "2 points"}},
            "0.2 to 0.4: points are units of a column in percent. Write '0.02'",
        ),
        ({"limits": {"size": "10 %"}}, "ordinal and has ranks"),
        ({"limits": {"incme": "5000"}}, "Did you mean 'income'"),
        ({"limits": {"job": "5000"}}, "which is discrete"),
        ({"limits": ["income"]}, "map columns to limits"),
        ({"limits": {"income": "5"}, "must_match": ["income"]}, "has a limit of '5' and has to match"),
        ({"limits": {"income": "5"}, "max_continuous_shift": {"income": 0.1}}, "has two limits: '5' in limits and 0.1"),
        ({"limits": {"income": "5"}, "max_continuous_shift": [0.1, 0.1, 0.1]}, "limit for each column in order"),
        ({"no_better": "dti"}, "is the text 'dti'"),
        ({"no_better": ["dti:up"]}, "'dti:up'; write 'income:higher'"),
        ({"no_better": [3]}, "write 'income:higher'"),
        ({"no_better": ["dti", "dti:higher"]}, "twice"),
        ({"no_better": ["dti"], "must_match": ["dti"]}, "nobody is better in it"),
        ({"no_better": ["job"]}, "which is discrete"),
        ({"must_match": 3}, "must_match is 3"),
        ({"score_band": -1}, "score_band is -1; give a finite number"),
        ({"score_band": "0.1"}, "score_band is '0.1'"),
    ],
)
def test_what_is_no_limit_is_refused_in_one_line(rule: dict[str, Any], found: str) -> None:
    with pytest.raises(RuleError) as error:
        Comparability(**rule).check(SCHEMA.encode(PEOPLE, [1, 1, 1]))
    assert found in str(error.value)
    assert "\n" not in str(error.value)


def test_a_table_without_units_takes_shares_only() -> None:
    table = CodedTable(sensitive=[[0], [1]], continuous=[[0.2], [0.3]], names={"continuous": ["income"]})
    assert rows_of(mine_pairs(table, Comparability(limits={"income": "10 % of range"}))) == [(0, 1)]
    with pytest.raises(RuleError, match="does not know the units"):
        Comparability(limits={"income": "10"}).check(table)


def test_rules_say_their_limits_in_units() -> None:
    rule = Comparability(
        max_continuous_shift=0.1,
        limits={"income": "5,000", "applied": "1 day", "size": 2},
        no_better=("dti", "income:higher"),
    )
    assert rule.describe(SCHEMA, same_label=False) == (
        "Comparable people have different sex; income within 5,000; applied within 1 day; size within 2 ranks; other "
        "continuous columns at most 0.1 of their range apart (dti 0.02); and the control has no lower dti and no "
        "higher income than the target."
    )
    whole = Comparability().describe(SCHEMA)
    assert "(income 1,750, dti 0.005, applied 10 days)" in whole


def test_rules_with_limits_are_json_and_toml(tmp_path: Path) -> None:
    rule = Comparability(limits={"income": 5000, "age": "10%", "dti": "2 points"}, no_better=("dti",), score_band=0.1)
    assert rule.to_dict()["limits"] == {"income": "5000", "age": "10 %", "dti": "2 points"}
    assert Comparability.from_dict(rule.to_dict()) == rule
    assert "limits" not in Comparability().to_dict()  # records of other rules stay as they were
    written = (
        '[rule]\nscore_band = 0.1\nno_better = ["dti"]\n[rule.limits]\nincome = 5000\nage = "10 %"\ndti = "2 points"\n'
    )
    for name, text in {
        "rule.toml": written,
        "top.toml": written.replace("[rule]\n", "").replace("[rule.limits]", "[limits]"),
        "both.toml": f"{written}[policy]\nmax_flip_rate = 0.1\n",
        "pyproject.toml": written.replace("[rule", "[tool.likewise.rule"),
    }.items():
        (tmp_path / name).write_text(text)
        assert Comparability.from_toml(tmp_path / name) == rule


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("limits = 5 5", "is not TOML"),
        ("[rule]\n[rule.limits]\nincome = '5 apples'", "'5 apples' for column 'income'"),
        ("[rule]\nlimit = 5", "A rule has no ['limit']"),
        ("income = 5\n[rule]\n", "'income' stands beside the table [rule]"),
        ("rule = 5", "There is no table [rule]"),
    ],
)
def test_bad_rule_files_are_refused_by_name(tmp_path: Path, text: str, found: str) -> None:
    (tmp_path / "rule.toml").write_text(text)
    with pytest.raises(RuleError, match=r"rule\.toml") as error:
        Comparability.from_toml(tmp_path / "rule.toml")
    assert found in str(error.value)
    with pytest.raises(RuleError, match="cannot be read"):
        Comparability.from_toml(tmp_path / "none.toml")


def test_pairs_on_disk_are_those_of_the_same_units(tmp_path: Path) -> None:
    frame = pa.table({"sex": ["f", "m"], "income": [1.0, 3.0]})
    roles, rule = Roles(sensitive="sex", continuous="income"), Comparability(limits={"income": "2"})
    cents = pa.table({"sex": ["f", "m"], "income": [100.0, 300.0]})  # the same codes
    tables = [roles.learn(one).encode(one, [1, 1]) for one in (frame, cents)]
    assert write_pairs(tables[0], rule, tmp_path / "pairs") == 1
    assert [len(pairs) for pairs in read_pairs(tmp_path / "pairs", tables[0], rule)] == [1]
    with pytest.raises(TableFileError, match="another rule"):
        list(read_pairs(tmp_path / "pairs", tables[1], rule))


def test_a_share_of_the_middle_range_is_not_stretched_by_an_outlier() -> None:
    """The 2nd and the 999th of a thousand are the ends of the middle, wherever the last one lies."""
    numbers = np.arange(1000.0)
    rule = Comparability(sensitive_differs="none", limits={"x": "10 % of middle range"})
    for highest in (1_000.0, 1e9):
        frame = pa.table({"x": [*numbers, highest]})
        schema = Roles(continuous="x").learn(frame)
        assert schema.units["x"].middle == (10.0, 990.0)
        table = schema.encode(frame, [0] * 1001)
        assert rule.holds(table[[0, 0]], table[[98, 99]]).tolist() == [True, False]
        assert "x within 0.1 of its middle range (1st to 99th percentile) (98)" in rule.describe(schema)
        assert Comparability.from_dict(rule.to_dict()) == rule
        assert Schema.from_json(schema.to_json()).units == schema.units


def test_a_middle_range_that_there_is_not_is_said() -> None:
    rule = Comparability(sensitive_differs="none", limits={"x": "5 % of middle range"})
    frame = pa.table({"x": [0.0] * 200 + [1.0]})
    table = Roles(continuous="x").learn(frame).encode(frame, [0] * 201)
    with pytest.raises(RuleError, match=r"1st and its 99th percentile are both 0\. Give a limit in units"):
        mine_pairs(table, rule)
    earlier = CodedTable(continuous=[[0.0], [1.0]], names={"continuous": ["x"]}, units={"x": Unit(0.0, 1.0)})
    with pytest.raises(RuleError, match=r"has no percentiles\. Code it with a schema"):
        mine_pairs(earlier, rule)
    with pytest.raises(RuleError, match=r"write '0\.05 of middle range' for 5%"):
        Comparability(limits={"x": "5 of middle range"})


@given(st.data())
@settings(max_examples=sized(20, 400))
def test_the_control_is_no_better(data: st.DataObject) -> None:
    random = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    frame = pa.table({"dti": random.integers(0, 4, 12) / 10, "size": random.integers(0, 3, 12)})
    roles = Roles(continuous="dti", ordinal={"size": [0, 1, 2]})
    table = roles.learn(frame).encode(frame, [0] * 12)
    rule = Comparability(no_better=data.draw(st.sampled_from([["dti"], ["size:higher"], ["dti", "size:higher"]])))
    left, right = (index.ravel() for index in np.indices((12, 12)))
    dti, size = (frame.column(name).to_numpy() for name in ("dti", "size"))
    fair = np.ones(len(left), bool)
    for one in rule.no_better:
        fair &= dti[left] >= dti[right] if one == "dti:lower" else size[left] <= size[right]
    np.testing.assert_array_equal(rule.holds_for(table[left], table[right]), fair)
