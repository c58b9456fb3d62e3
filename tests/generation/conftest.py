"""People of all kinds of columns, every generator there is, and what all of them promise."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from likewise import Comparability, Roles, generation
from likewise.generation import Antidotes
from likewise.generation._internal import BaseGenerator
from likewise.schema._internal import KINDS, open_frame

GENERATORS = ("UniformGenerator", "GibbsGenerator", "AdversarialGenerator")
# of a network only what it takes to hold it to its promises; what it learns is tested elsewhere
QUICK: dict[str, Any] = {
    "n_iterations": 3,
    "batch_size": 64,
    "width": 16,
    "n_noise": 4,
    "max_modes": 2,
    "device": "cpu",
}
KINDS_OF_FRAME: dict[str, Callable[[pa.Table], Any]] = {
    "pandas": lambda table: table.to_pandas(),
    "polars": pl.from_arrow,
    "pyarrow": lambda table: table,
}

ROLES = Roles(
    sensitive=["sex", "age"],
    discrete=["job", "city"],
    ordinal={"size": ["S", "M", "L"]},
    matched="team",
    continuous=["income", "years", "since"],
    ignored="note",
    label="hired",
    bins={"age": (30, 50)},
)
RULE = Comparability(max_discrete_changes=1, max_continuous_shift={"income": 0.2, "years": 0.3, "since": 0.4})


Make = Callable[..., BaseGenerator]
Check = Callable[..., None]


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Keep small networks on one thread: on several they wait for each other."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture(params=GENERATORS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=list(KINDS_OF_FRAME))
def convert(request: pytest.FixtureRequest) -> Callable[[pa.Table], Any]:
    """Make a frame of each library of an Arrow table."""
    return KINDS_OF_FRAME[request.param]


@pytest.fixture(scope="session")
def roles() -> Roles:
    return ROLES


@pytest.fixture(scope="session")
def rule() -> Comparability:
    return RULE


@pytest.fixture(scope="session")
def make() -> Make:
    """Give a function that makes a generator by its name, quick to train."""
    return _make


@pytest.fixture(scope="session")
def promised() -> Check:
    """Give a function that holds antidotes to everything that is promised of them."""
    return _check_promises


@pytest.fixture(scope="session")
def dtypes_of() -> Callable[[Any], list[str]]:
    return _dtypes


@pytest.fixture(scope="session")
def people() -> pa.Table:
    """Make up people, with missing cities, and notes that nobody compares."""
    random = np.random.default_rng(0)
    n = 150
    start = date(2020, 1, 1)
    cities = random.choice(["Bonn", "Jena", ""], n)
    return pa.table(
        {
            "note": [f"n{i}" for i in range(n)],
            "sex": random.choice(["f", "m"], n),
            "age": random.integers(18, 66, n),
            "job": pa.array(random.choice(["baker", "cook", "smith"], n)).dictionary_encode(),
            "city": pa.array([city or None for city in cities.tolist()], pa.string()),
            "size": random.choice(["S", "M", "L"], n),
            "team": random.choice(["a", "b"], n),
            "income": random.integers(1000, 3000, n) / 10,
            "years": pa.array(random.integers(0, 9, n), pa.int16()),
            "since": pa.array([start + timedelta(int(days)) for days in random.integers(0, 900, n)]),
            "hired": random.choice(["no", "yes"], n),
        }
    )


@pytest.fixture(scope="session", params=GENERATORS)
def fitted(request: pytest.FixtureRequest, people: pa.Table) -> BaseGenerator:
    return _make(request.param).fit(people)


def _make(name: str, roles: Roles = ROLES, rule: Comparability | None = RULE, seed: int | None = 0) -> BaseGenerator:
    kind = getattr(generation, name)
    known = inspect.signature(kind).parameters
    made = kind(roles, rule, random_state=seed, **{key: value for key, value in QUICK.items() if key in known})
    assert isinstance(made, BaseGenerator)
    return made


def _check_promises(generator: BaseGenerator, X: Any, y: Any, antidotes: Antidotes) -> None:
    """Hold antidotes to everything that is promised of them, by the frame a user gets."""
    rule = generator.rule or Comparability()
    everybody = generator.schema_.encode(X, y)
    sources = everybody[antidotes.source]
    again = generator.schema_.encode(antidotes.frame, antidotes.y).aligned_to(sources)
    assert rule.holds(sources, again).all()
    assert (sources.sensitive != again.sensitive).any(axis=1).all()
    assert antidotes.y.tolist() == sources.classes[sources.labels].tolist()
    assert antidotes.n_sources == len(everybody)
    assert (np.diff(antidotes.source) >= 0).all()
    for kind in KINDS:
        made, own = getattr(again, kind), getattr(sources, kind)
        assert np.allclose(made, getattr(antidotes.table, kind), rtol=0, atol=1e-9)
        if kind == "continuous":
            assert (made >= np.minimum(own, 0) - 1e-9).all()
            assert (made <= np.maximum(own, 1) + 1e-9).all()
        else:
            n_known = [len(generator.schema_.categories[name]) for name in again.names[kind]]
            assert ((made < n_known) | (made == own)).all()
    _check_cells(generator, X, antidotes)
    rows = np.column_stack([antidotes.source, *(getattr(again, kind) for kind in KINDS)])
    assert len(np.unique(rows.round(10), axis=0)) == len(rows)


def _check_cells(generator: BaseGenerator, X: Any, antidotes: Antidotes) -> None:
    """See that what did not change is the source's own, and that columns are those of the source frame."""
    before, after = open_frame(X), open_frame(antidotes.frame)
    assert type(antidotes.frame) is type(X)
    assert before.names == after.names
    changed = antidotes.changed
    for name in before.names:
        own, new = before.cells(name, antidotes.source), after.cells(name, np.arange(len(antidotes)))
        kept = ~changed.get(name, np.zeros(len(antidotes), bool))
        assert [new[i] for i in np.flatnonzero(kept)] == [own[i] for i in np.flatnonzero(kept)]


def _dtypes(frame: Any) -> list[str]:
    if isinstance(frame, pd.DataFrame):
        return [repr(dtype) for dtype in frame.dtypes]
    return [str(kind) for kind in (frame.dtypes if isinstance(frame, pl.DataFrame) else frame.schema.types)]


@pytest.fixture(scope="module")
def few() -> pa.Table:
    """Make up people of whom many are comparable."""
    random = np.random.default_rng(1)
    return pa.table(
        {
            "sex": random.choice(["f", "m"], 60),
            "job": random.choice(["cook", "smith"], 60),
            "age": random.integers(20, 30, 60),
        }
    )


@pytest.fixture(scope="module")
def labels() -> list[int]:
    return [int(label) for label in np.random.default_rng(2).integers(0, 2, 60)]
