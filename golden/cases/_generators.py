"""Antidotes of every generator, in memory, in parts and in Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import likewise
from golden._values import Page
from golden.cases._calls import case, planted, public
from likewise import AdversarialGenerator, GibbsGenerator, UniformGenerator

Found = dict[str, Any]


def described(made: Any) -> Found:
    told = {"ratio": made.ratio, "coverage": made.coverage, "kept": made.kept, "text": Page(str(made))}
    arrays = {"frame": made.frame, "y": np.asarray(made.y), "source": made.source, "round": made.round}
    return told | arrays | {"summary": made.summary()}


def of_all_amounts(generator: Any, data: Any) -> Found:
    """Generate by ratio, by rounds and by row; also from what was saved."""
    generator.fit(data.train.X, data.train.y)
    asked: dict[str, dict[str, Any]] = {"ratio": {"ratio": 0.2}, "rounds": {"rounds": 2}, "row": {"per_row": 2}}
    people, labels = data.train.X.head(400), data.train.y.head(400)
    found = {
        name: described(generator.generate(people, labels, random_state=1, **amount)) for name, amount in asked.items()
    }
    generator.save("saved")
    again = likewise.generation.load_generator("saved", device="cpu").generate(
        people, labels, ratio=0.2, random_state=1
    )
    found["again"] = described(again)
    found["files"] = {"names": sorted(path.name for path in Path("saved").rglob("*"))}
    return found | ({"history": generator.history_} if hasattr(generator, "history_") else {})


@case("generator.uniform")
def uniform() -> Found:
    return of_all_amounts(UniformGenerator(planted().roles, planted().rule, random_state=0), planted())


@case("generator.uniform_adult")
def uniform_adult() -> Found:
    return of_all_amounts(
        UniformGenerator(public("adult").roles, public("adult").rule, random_state=0), public("adult")
    )


def gibbs() -> Any:
    return GibbsGenerator(planted().roles, planted().rule, n_iterations=60, width=32, random_state=0, device="cpu")


@case("generator.gibbs", slow=True)
def gibbs_planted() -> Found:
    generator = gibbs()
    found = of_all_amounts(generator, planted())
    return found | {"plausibility": generator.score_samples(planted().test.X)}


@case("generator.gibbs_compas", slow=True)
def gibbs_compas() -> Found:
    data = public("compas")
    settings: dict[str, Any] = {"n_iterations": 40, "width": 32, "random_state": 0, "device": "cpu"}
    return of_all_amounts(GibbsGenerator(data.roles, data.rule, **settings), data)


@case("generator.adversarial", slow=True)
def adversarial() -> Found:
    data = public("adult")
    settings: dict[str, Any] = {
        "n_iterations": 40,
        "batch_size": 256,
        "width": 32,
        "evaluate_every": 20,
        "max_modes": 4,
    }
    generator = AdversarialGenerator(data.roles, data.rule, random_state=0, device="cpu", **settings)
    return of_all_amounts(generator, data)


@case("generator.adversarial_as_printed", slow=True)
def adversarial_as_printed() -> Found:
    data = public("adult")
    settings: dict[str, Any] = {"n_epochs": 1, "batch_size": 2_000, "width": 32, "random_state": 0, "device": "cpu"}
    generator = AdversarialGenerator.as_printed(data.roles, data.rule, **settings)
    return of_all_amounts(generator, data)


@case("generator.parts")
def parts() -> Found:
    data = planted()
    generator = UniformGenerator(data.roles, data.rule, random_state=0).fit(data.train.X, data.train.y)
    people = data.train.X.assign(repaid=data.train.y)
    people.to_parquet("people.parquet", index=False)
    told = likewise.generation.generate_parts(
        generator, "people.parquet", "parts", per_row=2, random_state=0, rows_at_a_time=400
    )
    streamed = likewise.generation.iter_antidotes(
        generator, [pa.Table.from_pandas(people)], ratio=0.2, random_state=0, rows_at_a_time=500
    )
    return {"told": told, "parts": Path("parts"), "streamed": list(streamed)}


@case("generator.quality")
def quality() -> Found:
    data, generation = planted(), likewise.generation
    generator = UniformGenerator(data.roles, data.rule, random_state=0).fit(data.train.X, data.train.y)
    made = generator.generate(data.train.X, data.train.y, ratio=0.5)
    return {
        "scaled": generation.scale_ratio(generator, data.train.X, data.train.y, ratio=0.5),
        "appended": made.append_to(data.train.X, data.train.y),
    }


@case("generator.spark", slow=True)
def spark() -> Found:
    from golden.cases._spark import start

    data = planted()
    people = start().createDataFrame(data.test.X.assign(id=range(len(data.test)), repaid=data.test.y))
    generator = UniformGenerator(data.roles, data.rule, random_state=0).fit(data.train.X, data.train.y)
    made = likewise.spark.generate(generator, people, row_id="id", per_row=1, random_state=0).toPandas()
    return {"made": made.sort_values(list(made.columns)).reset_index(drop=True)}
