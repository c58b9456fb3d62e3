"""Whatever is wrong with a file or an option: an exit code, one line, no traceback, and nothing written."""

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
from skl2onnx import to_onnx
from sklearn.linear_model import LogisticRegression
from tests.cli.conftest import Run, run
from tests.hostile.faults import COLUMNS, DOORS, SCORED, Home, base_call, draw_call
from tests.sizes import sized

from likewise.cli import main

__all__ = ["run"]

N_CASES = 240  # of each door
CASES = np.random.default_rng(1).permutation(N_CASES).tolist()
WRITTEN = {"audit": "audit", "report": "report.html", "antidote": "antidotes.csv"}


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
    home.policy_toml.write_text("max_gap_mean = 0.9\n")
    numbers = np.column_stack([columns["age"], columns["hours"]]).astype(np.float32)
    model = LogisticRegression().fit(numbers, columns["hired"])
    skops.io.dump(model, home.model_skops)
    home.model_onnx.write_bytes(to_onnx(model, numbers).SerializeToString())
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
    return (*args, "--out", str(folder / WRITTEN[args[0]])) if args[0] in WRITTEN else args


@pytest.mark.long(2)
@pytest.mark.parametrize("door", DOORS)
def test_without_a_fault_it_works(run: Run, home: Home, tmp_path: Path, door: str) -> None:
    for number, args in enumerate(base_call(door, home)):
        outcome = run(*ask(args, tmp_path / f"out{number}"))
        assert outcome.code == 0, outcome.stderr
        assert os.listdir(tmp_path / f"out{number}") or args[0] not in WRITTEN


@pytest.mark.parametrize("number", sized(CASES[: N_CASES // 10], CASES))
@pytest.mark.parametrize("door", DOORS)
def test_a_fault_is_one_line_and_leaves_nothing_behind(
    run: Run, home: Home, tmp_path: Path, door: str, number: int
) -> None:
    call = draw_call(door, number, home)
    before = sorted(map(str, home.folder.rglob("*")))
    outcome = run(*ask(call.args, tmp_path / "out"))
    assert "Traceback" not in outcome.stderr, call.fault
    assert "a pickle was run" not in outcome.stdout
    assert outcome.code in ((2, 3) if call.has_to_fail else (0, 1, 2, 3)), call.fault
    if outcome.code == 2:
        assert outcome.stdout == ""
        assert outcome.stderr.startswith("likewise: ")
        assert outcome.stderr.count("\n") == 1
        assert not os.listdir(tmp_path / "out")
    assert sorted(map(str, home.folder.rglob("*"))) == before
