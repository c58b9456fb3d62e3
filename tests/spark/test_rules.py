"""Rules in units of the field, one-sided and banded: Spark finds the pairs of the definition, on any table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.sizes import sized
from tests.spark.same_records import differences
from tests.spark.test_search import expected_pairs, in_order, to_frame

import likewise.spark
from likewise import CodedTable, Comparability, Roles, audit, mine_pairs
from likewise.auditing._internal import PairTest, Standing
from likewise.comparable._internal import SHIFT_TOLERANCE
from likewise.schema._internal import MISSING_VALUE, Unit
from likewise.spark._pairs import CarriedValues, Merits
from likewise.spark._search import find_pairs

pytestmark = pytest.mark.spark

N_TABLES = 8
NEAR = ("income", "dti", "score", "grade")  # the columns of which one can have more or less
N_RULES = 30  # that are one-sided or banded, for each rule in units


def random_tables(random: Any) -> CodedTable:
    """Many small tables in one, told apart by a column that has to match; some amounts are missing."""
    n = N_TABLES * 40
    amounts = np.column_stack(
        [random.integers(0, 5, n) * 500.0, random.integers(10, 30, n) / 100, np.round(random.normal(600, 40, n), 1)]
    )
    amounts[random.random(amounts.shape) < 0.05] = MISSING_VALUE
    return CodedTable(
        sensitive=random.integers(0, 2, (n, 2)),
        discrete=random.integers(0, 2, (n, 2)),
        ordinal=random.integers(0, 4, (n, 1)),
        matched=np.arange(n)[:, None] % N_TABLES,
        continuous=amounts,
        labels=random.integers(0, 2, n),
        classes=[0, 1],
        names={"continuous": NEAR[:3], "ordinal": NEAR[3:]},
        units={"income": Unit(0.0, 1.0, 0), "dti": Unit(0.0, 100.0), "score": Unit(0.0, 1.0)},
    )


def random_rule(random: Any) -> Comparability:
    """A rule with limits in units: absolute ones, points, and shares of the value."""
    limits = {
        "income": str(random.choice(["500", "1000", "30 %"])),
        "dti": str(random.choice(["5", "10 points", "20 %"])),
        "score": str(random.choice(["40", "5 %"])),
    }
    return Comparability(max_discrete_changes=int(random.integers(1, 3)), max_ordinal_shift=2, limits=limits)


def asks_of_scores(random: Any) -> dict[str, Any]:
    """What a rule may ask besides: the control is no better, and near the threshold."""
    chosen = random.permutation(NEAR)[: random.integers(0, 4)].tolist()
    one_sided = [f"{name}:{random.choice(['higher', 'lower'])}" for name in chosen]
    return {"no_better": one_sided, "score_band": None if random.random() < 0.4 else float(random.choice([0.1, 0.3]))}


def left_by_definition(
    pairs: list[list[int]], table: CodedTable, rule: Comparability, standing: Standing, *, is_mirrored: bool
) -> list[list[int]]:
    """Ask the definition, pair by pair; with one sensitive column that has a control value, of two one may be it."""
    kept = []
    for left, right in pairs:
        controls = [one for one in (left, right) if standing.controls[one]]
        controls = controls if len(controls) == 1 else []
        if not any(standing.is_near[one] for one in controls or (left, right)):
            continue
        if rule.no_better and controls:
            both = (controls[0], left + right - controls[0])
            control, target = both[::-1] if is_mirrored else both
            controls = controls if rule.holds_for(table[[control]], table[[target]])[0] else []
        if controls or not rule.no_better:
            kept.append([left, right])
    return kept


@pytest.mark.parametrize("number", range(sized(1, 6)))
def test_pairs_of_limits_in_units_are_left_out_as_the_definition_says(spark: Any, number: int) -> None:
    random = np.random.default_rng(number)
    table, rule = random_tables(random), random_rule(random)
    expected = expected_pairs(table, rule)
    assert len(expected) > 30
    scores = np.round(random.random(len(table)), 1)  # many are equal
    every = Merits.of(Comparability(no_better=tuple(f"{name}:higher" for name in NEAR)), table)
    found = find_pairs(every.add_to(to_frame(spark, table)), rule, table[::3], carry=every.names).toArrow()
    assert in_order(found) == expected  # in one job, for all that is asked of scores below
    n_left = set()
    for _ in range(N_RULES):
        asked = Comparability.from_dict(rule.to_dict() | asks_of_scores(random))
        threshold, is_mirrored = float(random.choice([0.3, 0.5])), bool(random.random() < 0.5)
        band = np.inf if asked.score_band is None else asked.score_band + SHIFT_TOLERANCE
        standing = Standing(np.abs(scores - threshold) <= band, table.sensitive[:, 0].astype(np.int64))
        merits = Merits.of(asked, table)
        carried = CarriedValues(1, False, 1.0, 1, merits=merits, test=PairTest(asked, is_mirrored))
        places = [NEAR.index(name) for _, name in merits.columns]
        own = pa.table(
            {f"{side}_row": found.column(f"{side}_row") for side in ("left", "right")}
            | {
                f"{side}_{name}": found.column(f"{side}_{every.names[place]}")
                for side in ("left", "right")
                for name, place in zip(merits.names, places, strict=True)
            }
        )
        sides = (standing.take(own.column(f"{side}_row").to_numpy()) for side in ("left", "right"))
        left = in_order(carried.leave_out(own, *sides))
        assert left == left_by_definition(expected, table, asked, standing, is_mirrored=is_mirrored), asked
        n_left.add(len(left))
    assert len(n_left) > 5


@pytest.mark.long  # the small draw of the same in memory: tests/auditing/pairs
@pytest.mark.parametrize("number", range(4))
def test_an_audit_by_such_a_rule_has_the_numbers_of_one_in_memory(spark: Any, number: int) -> None:
    random = np.random.default_rng(100 + number)
    n = 300
    whole = pa.table(
        {
            "sex": random.choice(["f", "m"], n),
            "job": random.choice(["a", "b"], n),
            "income": random.integers(0, 9, n) * 500,
            "dti": random.integers(10, 45, n),
            "p": np.round(random.random(n), 2),
        }
    )
    limits = {"income": str(random.choice(["1000", "30 %"])), "dti": str(random.choice(["10", "20 %"]))}
    one_sided: tuple[str, ...] = [(), ("dti",), ("income:higher",), ("dti", "income:higher")][number]
    rule = Comparability(limits=limits, no_better=one_sided, score_band=[0.3, None, 0.2, None][number])
    roles = Roles(sensitive="sex", discrete="job", continuous=["income", "dti"])
    frame = spark.createDataFrame(whole).repartition(3).persist()
    how: dict[str, Any] = {"roles": roles, "rule": rule, "n_resamples": 40, "max_pairs": 200, "threshold": 0.5}
    how |= {"reference": "m"}
    inside = likewise.spark.audit("p", frame, baseline=False, **how)
    outside = audit("p", frame.toArrow(), baseline=False, **how)
    frame.unpersist()
    assert inside.record.pairs.n_total > 200
    assert inside.record.pairs.n_total < len(mine_pairs(outside.question.table, rule))
    assert list(differences(inside.to_dict(), outside.to_dict())) == []
