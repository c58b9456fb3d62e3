"""The fast mode shows directions: with antidotes gaps fall, and utility holds."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest
from paper.__main__ import main
from paper._cells import Store, find_cells
from paper._experiments import HERE, load_experiments
from tests.sizes import sized

from likewise import Dataset

# by block; no block: both. Generators and networks take a minute and more.
ROWS: dict[str, tuple[str, ...]] = sized(
    {"paper": ("LR (Base)",)},
    {"": ("LR (Base)", "LR+Dis", "LR+Anti", "NN (Base)", "AntiDRO")},
)
TREATED = [
    ("LR (Base), paper", "LR+Anti, ours"),
    ("LR (Base), paper", "LR+Anti, paper"),
    ("NN (Base), paper", "AntiDRO, ours"),
]


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory, public: Callable[[str], Dataset]) -> dict[str, dict[str, float]]:
    public("adult")
    folder = tmp_path_factory.mktemp("fast")
    (folder / "experiments").mkdir()
    shutil.copy(HERE / "experiments" / "adult.toml", folder / "experiments")
    for block, rows in ROWS.items():
        words = ["--only", *rows, *(["--block", block] if block else [])]
        assert main(["--folder", str(folder), "run", "--fast", "--device", "cpu", *words]) == 0
    assert not (folder / "results").exists()
    cells = Store(folder / ".work" / "fast").read()
    found = {}
    for row in load_experiments(folder / "experiments")[0].rows:
        if row.name in ROWS.get(row.block, ROWS.get("", ())):
            (cell,) = find_cells(row, cells, fast=True)
            assert cell is not None
            found[f"{row.name}, {row.block}"] = cell["numbers"]
    return found


@pytest.mark.long
@pytest.mark.parametrize(("base", "treated"), TREATED)
def test_gaps_fall_and_utility_holds(numbers: dict[str, dict[str, float]], base: str, treated: str) -> None:
    before, after = numbers[base], numbers[treated]
    assert after["gap_mean[1]"] < 0.9 * before["gap_mean[1]"]
    assert after["rank_gap_mean[1]"] < 0.95 * before["rank_gap_mean[1]"]
    assert after["roc_auc"] > before["roc_auc"] - 0.02
    assert after["average_precision"] > before["average_precision"] - 0.03
    assert after["score_spread"] > 0.7 * before["score_spread"]
