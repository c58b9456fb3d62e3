"""How the tests of the command line run it, and the file they run it on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from likewise.cli import main


@dataclass(frozen=True)
class Outcome:
    code: int
    stdout: str
    stderr: str


Run = Callable[..., Outcome]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("COLUMNS", "100")

    def call(*args: object) -> Outcome:
        with pytest.raises(SystemExit) as stop:
            main([str(arg) for arg in args])
        captured = capsys.readouterr()
        assert isinstance(stop.value.code, int)
        return Outcome(stop.value.code, captured.out, captured.err)

    return call


@pytest.fixture(scope="session")
def people() -> pa.Table:
    """Make three hundred applicants, some of whom are comparable."""
    random = np.random.default_rng(0)
    n = 300
    return pa.table(
        {
            "name": [f"p{i}" for i in range(n)],
            "race": random.choice(["blue", "green", "red"], n),
            "sex": random.choice(["f", "m"], n),
            "job": random.choice(["baker", "cook", "smith"], n),
            "size": random.choice(["L", "M", "S"], n),
            "age": random.integers(20, 40, n),
            "hours": random.integers(1, 20, n) / 2,
            "hired": random.choice(["no", "yes"], n),
        }
    )


@pytest.fixture
def csv(people: pa.Table, tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    pyarrow.csv.write_csv(people, path)
    return path


@pytest.fixture(scope="session")
def scored(people: pa.Table) -> pa.Table:
    """Score the applicants by their hours, and the blue ones higher by 0.2."""
    random = np.random.default_rng(1)
    hours, is_blue = people.column("hours").to_numpy(), np.array(people.column("race").to_pylist()) == "blue"
    scores = 0.2 + hours / 20 + 0.2 * is_blue + random.normal(0, 0.01, len(hours))
    return people.append_column("p", pa.array(np.clip(scores, 0, 1)))


@pytest.fixture
def scored_csv(scored: pa.Table, tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    pyarrow.csv.write_csv(scored, path)
    return path
