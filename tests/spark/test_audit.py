"""An audit in Spark is the audit of the same table in memory, whatever the partitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pytest
from tests.sizes import sized
from tests.spark.same_records import differences

import likewise.spark
from likewise.auditing import audit
from likewise.comparable import Comparability, mine_pairs
from likewise.exceptions import NoComparablePairs, ParameterError, SchemaError, ScoreError
from likewise.schema import Roles, Schema

N = 400
ROLES = Roles(sensitive=["sex", "origin"], discrete=["job", "city"], continuous="age", label="hired", row_id="id")
WEIGHTS = "greatest(age % 7 - 1.0D, 0.0D) / 3 as weight"
IGNORED = ["origin", "city", "hired", "id"]
RULE = Comparability(max_discrete_changes=1, max_continuous_shift=0.1)
EQUAL = Comparability(max_discrete_changes=0, max_continuous_shift=0.1)  # of which Spark has less to do


def rate(people: Any) -> Any:
    """Score as no column does: by age and sex."""
    return 1 / (1 + np.exp(-(people["age"] - 45) / 20)) - 0.1 * (people["sex"] == "f")


@pytest.fixture(scope="module")
def frame(spark: Any) -> Any:
    random = np.random.default_rng(1)
    columns = {
        "sex": random.choice(["f", "m"], N),
        "origin": random.choice(np.array(["here", "there", None]), N, p=[0.6, 0.3, 0.1]).tolist(),
        "job": random.choice(list("abcd"), N),
        "city": random.integers(0, 3, N),
        "age": random.integers(25, 65, N),
        "hired": random.choice(["no", "yes"], N),
        "id": [f"p{row:03}" for row in random.permutation(N)],
    }
    frame = spark.createDataFrame(pa.table(columns)).repartition(3).persist()
    yield frame
    frame.unpersist()


@pytest.fixture(scope="module")
def whole(frame: Any) -> pa.Table:
    """The same people, in the order that the partitions have them."""
    return frame.toArrow()


def learn_without(whole: pa.Table, job: str, roles: Roles) -> Schema:
    """Learn of some people only: the others' job is new to the schema, in every batch."""
    return roles.learn(whole.filter(pyarrow.compute.not_equal(whole["job"], job)))


def weigh(whole: pa.Table) -> Any:
    """Weights of the people by their age; some are 0."""
    weights = np.maximum(whole["age"].to_numpy() % 7 - 1.0, 0.0) / 3
    assert 0 in weights
    return weights


# the small draw of people without weights: the record of the command in tests/cli/commands/test_audit_spark.py
@pytest.mark.parametrize(
    ("max_pairs", "weight"), sized([(100, "weight")], [(300, None), (300, "weight"), (5_000_000, None)])
)
def test_without_labels_it_has_the_numbers_of_one_in_memory(
    frame: Any, whole: pa.Table, max_pairs: int, weight: str | None
) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    decided = F.when(F.col("age") + 5 * F.col("city") > 50, "denied").otherwise("approved")
    table = whole.append_column(
        "decision",
        pyarrow.compute.if_else(
            pyarrow.compute.greater(pyarrow.compute.add(whole["age"], pyarrow.compute.multiply(whole["city"], 5)), 50),
            "denied",
            "approved",
        ),
    ).drop_columns(["hired"])
    roles = Roles(sensitive="sex", discrete=["job", "city"], continuous="age", ignored="origin", row_id="id")
    how: dict[str, Any] = {"roles": roles, "rule": RULE, "n_resamples": 50, "favourable": "approved"}
    if weight is not None:
        new = {"roles": learn_without(whole.drop_columns(["hired"]), "d", roles), "rule": sized(EQUAL, RULE)}
        how |= {**new, "reference": "m", "sample_weight": weight}
        table, frame = table.append_column(weight, pa.array(weigh(whole))), frame.selectExpr("*", WEIGHTS)
    asked = how | {"max_pairs": max_pairs, "baseline": False}
    inside = likewise.spark.audit("decision", frame.withColumn("decision", decided).drop("hired"), **asked)
    outside = audit("decision", table, **asked)
    assert inside.record.pairs.n_total > 100
    assert (inside.record.weights is not None and inside.record.weights.n_zero > 0) == (weight is not None)
    assert list(differences(inside.to_dict(), outside.to_dict())) == []
    assert (inside.record.labels, inside.record.groups[0].selection_rate) == ((), outside.groups[0].selection_rate)


@pytest.mark.long  # the small draw: the one above
def test_an_audit_has_the_numbers_of_one_in_memory_also_where_pairs_are_tallied(frame: Any, whole: pa.Table) -> None:
    schema, max_pairs = learn_without(whole, "d", ROLES), 300
    how: dict[str, Any] = {"roles": schema, "rule": RULE, "n_resamples": 50, "max_pairs": max_pairs, "baseline": False}
    inside = likewise.spark.audit(rate, frame, **how)
    outside = audit(rate, whole.to_pandas(), **how)
    assert inside.record.pairs.n_total > max_pairs
    assert list(differences(inside.to_dict(), outside.to_dict())) == []


@pytest.mark.long  # the small draw: weights of people without labels, above
@pytest.mark.parametrize("max_pairs", [300, 5_000_000])
def test_weighted_people_count_as_in_memory(frame: Any, whole: pa.Table, max_pairs: int) -> None:
    weights, weighted = weigh(whole), frame.selectExpr("*", WEIGHTS)
    roles = Roles(
        sensitive="sex", discrete=["job", "city"], continuous="age", label="hired", row_id="id", ignored="origin"
    )
    how: dict[str, Any] = {
        "roles": learn_without(whole, "d", roles),
        "rule": RULE,
        "n_resamples": 50,
        "max_pairs": max_pairs,
        "reference": "m",
    }
    asked = how | {"baseline": False, "sample_weight": "weight"}
    inside = likewise.spark.audit(rate, weighted, **asked)
    outside = audit(rate, whole.append_column("weight", pa.array(weights)).to_pandas(), **asked)
    assert inside.record.weights is not None
    assert inside.record.pairs.n_total > 300
    assert inside.record.weights.n_zero
    assert list(differences(inside.to_dict(), outside.to_dict())) == []


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        ("wieght", "no such column"),
        ("age", "the role of this column is continuous"),
        ("origin", "not made of numbers"),
        ([1.0] * N, "holds no column's name"),
    ],
)
def test_weights_that_make_no_sense_are_told_in_a_sentence(frame: Any, weight: Any, words: str) -> None:
    roles = Roles(sensitive="sex", continuous="age", label="hired", ignored=("origin", "city", "job", "id"))
    with pytest.raises(ParameterError, match=words) as raised:
        likewise.spark.audit(rate, frame, roles=roles, rule=RULE, sample_weight=weight)
    assert "\n" not in str(raised.value)


def test_pairs_are_those_that_are_mined_in_memory(frame: Any, whole: pa.Table) -> None:
    rows = (
        likewise.spark.mine_pairs(frame, roles=ROLES, rule=sized(EQUAL, RULE))
        .toArrow()
        .sort_by([("left_row", "ascending"), ("right_row", "ascending")])
    )
    pairs = mine_pairs(ROLES.learn(whole).encode(whole), sized(EQUAL, RULE))
    assert len(pairs) > 100
    assert rows.column_names == ["left_row", "right_row"]
    assert np.array_equal(rows.column("left_row"), pairs.left)
    assert np.array_equal(rows.column("right_row"), pairs.right)


@pytest.mark.long  # the small draw: the model of amounts in tests/cli/commands/test_audit_spark.py
def test_amounts_are_audited_as_amounts(frame: Any, whole: pa.Table) -> None:
    """Regression, few enough people that the driver takes the pairs."""
    few = frame.where("city = 0").withColumn("pay", frame.age * 1.5).withColumn("guess", frame.age * 1.4)
    few = few.withColumn("age", frame.age.cast("float"))  # whose precision is part of the table, here and there
    roles = Roles(sensitive="sex", discrete="job", continuous="age", label="pay", ignored=IGNORED)
    how: dict[str, Any] = {
        "roles": roles,
        "rule": Comparability(max_discrete_changes=0, limits={"age": "5 %"}),
        "n_resamples": 50,
        "baseline": False,
    }
    inside, outside = likewise.spark.audit("guess", few, **how), audit("guess", few.toArrow(), **how)
    assert inside.question.scores.task == "regression"
    assert list(differences(inside.to_dict(), outside.to_dict())) == []


def break_down(people: Any) -> Any:
    raise RuntimeError("the model has lost its weights")


@pytest.mark.parametrize(
    ("scores", "error", "words"),
    [
        (break_down, ScoreError, "cannot score this table: RuntimeError: the model has lost its weights"),
        ("scroe", ScoreError, "no column 'scroe'"),
        ([0.5] * N, ScoreError, "The scores are a list.*add them to the frame as a column"),
        ("age", ScoreError, "Column 'age' holds the scores, but its role is continuous"),
        pytest.param(
            *(lambda people: people["age"] / 0, ScoreError, "NaN or infinite in 400 of 400 rows"),
            marks=pytest.mark.long,  # the small draw: a model that fails, above, and tests/auditing/question
        ),
    ],
)
def test_scores_that_fail_are_told_in_a_sentence(frame: Any, scores: Any, error: type, words: str) -> None:
    with pytest.raises(error, match=words) as raised:
        likewise.spark.audit(scores, frame, roles=ROLES, rule=EQUAL)
    assert "\n" not in str(raised.value)


def test_a_column_that_is_not_there_is_named(frame: Any) -> None:
    with pytest.raises(SchemaError, match="no column 'hire'"):
        likewise.spark.audit(rate, frame, roles=Roles(sensitive="sex", label="hire"))


def test_nobody_comparable_is_told_with_a_remedy(spark: Any) -> None:
    people = {"sex": ["f", "m"], "age": [20, 60], "hired": [1, 1], "p": [0.1, 0.9]}
    with pytest.raises(NoComparablePairs, match="raise max_continuous_shift"):
        likewise.spark.audit(
            "p",
            spark.createDataFrame(pa.table(people)).coalesce(1),
            roles=Roles(sensitive="sex", continuous="age", label="hired"),
        )
