"""Whatever is wrong with a table or its file: an exit code, one line, no traceback, and nothing written."""

from __future__ import annotations

import io
import os
import shutil
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import skops.io
from sklearn.linear_model import LogisticRegression
from tests.cli.conftest import Run, run
from tests.hostile.faults import COLUMNS, SCORED, Home, break_file
from tests.sizes import sized

from likewise.cli import main

__all__ = ["run"]

N_CASES = 240
CASES = np.random.default_rng(1).permutation(N_CASES).tolist()


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A folder with one sound file of each kind, which the cases copy."""
    home = Home(tmp_path_factory.mktemp("sound"))
    random = np.random.default_rng(0)
    n = 120
    columns: dict[str, Any] = {
        "name": [f"p{i}" for i in range(n)],
        "race": random.choice(["blue", "green", "red"], n),
        "sex": random.choice(["f", "m"], n),
        "size": random.choice(["L", "M", "S"], n),
        "age": random.integers(20, 30, n),
        "hours": random.integers(1, 20, n) / 2,
        "hired": random.choice(["no", "yes"], n),
        "p": random.integers(1, 99, n) / 100,
    }
    people = pa.table(columns)
    pyarrow.csv.write_csv(people, home.csv, pyarrow.csv.WriteOptions(quoting_header="none", quoting_style="none"))
    pyarrow.parquet.write_table(people, home.parquet)
    numbers = np.column_stack([columns["age"], columns["hours"]]).astype(np.float32)
    model = LogisticRegression().fit(numbers, columns["hired"])
    skops.io.dump(model, home.model_skops)
    for args in (
        ("audit", home.csv, *SCORED, "--out", home.audit),
        ("pairs", home.csv, *COLUMNS, "--scores", "p", "--quiet", "--out", home.pairs),
        ("antidote", home.csv, *COLUMNS, "--generator", "uniform", "--save", home.generator, "--quiet"),
    ):
        with pytest.raises(SystemExit) as stop, redirect_stdout(io.StringIO()):
            main([str(arg) for arg in args])
        assert stop.value.code == 0
    return home


@pytest.fixture
def home(sound: Home, tmp_path: Path) -> Home:
    return Home(Path(shutil.copytree(sound.folder, tmp_path / "home")))


def ask(args: tuple[str, ...], folder: Path) -> tuple[str, ...]:
    """Have the answer written to a folder that is empty now."""
    folder.mkdir()
    return (*args, "--out", str(folder / "audit"))


def test_without_a_fault_it_works(run: Run, home: Home, tmp_path: Path) -> None:
    for data in (home.csv, home.parquet):
        outcome = run(*ask(("audit", str(data), *SCORED), tmp_path / data.suffix))
        assert outcome.code == 0, outcome.stderr
        assert os.listdir(tmp_path / data.suffix)


@pytest.mark.parametrize("number", sized(CASES[: N_CASES // 10], CASES))
def test_a_fault_is_one_line_and_leaves_nothing_behind(run: Run, home: Home, tmp_path: Path, number: int) -> None:
    call = break_file(number, home)
    before = sorted(map(str, home.folder.rglob("*")))
    outcome = run(*ask(call.args, tmp_path / "out"))
    assert "Traceback" not in outcome.stderr, call.fault
    assert outcome.code in ((2, 3) if call.has_to_fail else (0, 1, 2, 3)), call.fault
    if outcome.code == 2:
        assert outcome.stdout == ""
        assert outcome.stderr.startswith("likewise: ")
        assert outcome.stderr.count("\n") == 1
        assert not os.listdir(tmp_path / "out")
    assert sorted(map(str, home.folder.rglob("*"))) == before
