"""What generating on Spark promises: the same antidotes as on one machine, however the frame is cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.sizes import sized

import likewise.spark
from likewise import Comparability, Roles, UniformGenerator
from likewise.exceptions import GenerationError, LikewiseError
from likewise.generation import GibbsGenerator
from likewise.generation._internal import BaseGenerator

ROLES = Roles(
    sensitive=["sex", "age"], discrete="job", continuous="pay", label="hired", row_id="id", bins={"age": (40,)}
)


@pytest.fixture(scope="module")
def people() -> pa.Table:
    random = np.random.default_rng(0)
    return pa.table(
        {
            "id": [f"p{number}" for number in range(200)],
            "sex": random.choice(["f", "m"], 200),
            "age": random.integers(18, 66, 200),
            "job": random.choice(["baker", "cook", "smith"], 200),
            "pay": random.integers(1000, 3000, 200) / 10,
            "hired": random.choice(["no", "yes"], 200),
        }
    )


@pytest.fixture(scope="module", params=["uniform", "gibbs"][: sized(1, None)])
def fitted(request: pytest.FixtureRequest, people: pa.Table) -> BaseGenerator:
    rule = Comparability(max_continuous_shift=0.2)
    if request.param == "uniform":
        return UniformGenerator(ROLES, rule, random_state=0).fit(people)
    quick: dict[str, Any] = {"n_iterations": 3, "batch_size": 64, "width": 16, "device": "cpu"}
    return GibbsGenerator(ROLES, rule, random_state=0, **quick).fit(people)


def rows(table: pa.Table, rounds: Any) -> list[str]:
    return sorted(f"{number} {row}" for number, row in zip(rounds, table.to_pylist(), strict=True))


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
def test_antidotes_are_those_of_one_machine(spark: Any, fitted: BaseGenerator, people: pa.Table) -> None:
    local = fitted.generate(people, rounds=2, row_ids="id")
    frame = spark.createDataFrame(people).repartition(5, "pay")
    made = likewise.spark.generate(fitted, frame, rounds=2, device="cpu").toArrow()
    assert made.column_names == [*people.column_names, "is_antidote", "antidote_round"]
    assert set(made.column("is_antidote").to_pylist()) == {True}
    assert len(made) > 50
    found = rows(made.select(people.column_names), made.column("antidote_round").to_pylist())
    assert found == rows(local.frame, local.round.tolist())


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
def test_what_cannot_be_made_is_said_before_spark_begins(spark: Any, people: pa.Table) -> None:
    plain = Roles(sensitive="sex", discrete="job", continuous="pay", label="hired", ignored=["id", "age"])
    generator = UniformGenerator(plain, random_state=0).fit(people)
    frame = spark.createDataFrame(people)
    with pytest.raises(GenerationError, match=r"each needs an id\. Pass its column as row_id"):
        likewise.spark.generate(generator, frame)
    with pytest.raises(GenerationError, match=r"no column 'idd', the row id\. Did you mean 'id'"):
        likewise.spark.generate(generator, frame, row_id="idd")
    with pytest.raises(LikewiseError, match="no column 'job'"):
        likewise.spark.generate(generator, frame.drop("job"), row_id="id")
    with pytest.raises(ValueError, match="ratio is 0; give a number of antidotes per row"):
        likewise.spark.generate(generator, frame, row_id="id", ratio=0)
    with pytest.raises(GenerationError, match="is not fitted"):
        likewise.spark.generate(UniformGenerator(plain), frame, row_id="id")
    with pytest.raises(TypeError, match="is not a Spark DataFrame"):
        likewise.spark.generate(generator, people, row_id="id")
