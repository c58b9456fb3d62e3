"""RESULTS.md and the figures follow from the committed cells; what is missing or failed is told, and no success."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from paper._board import describe_board, find_frontiers
from paper._cells import Cell, Store, find_cells
from paper._experiments import HERE, Experiment, load_experiments
from paper._protocol import read_protocol
from paper._published import read_published
from paper._report import FIGURES, FILE, describe_results, find_pictures, write_results
from tests.sizes import sized

EXPERIMENTS = load_experiments()
PUBLISHED = read_published()
CELLS = Store().read()


@pytest.fixture(scope="module")
def text() -> str:
    return describe_results(EXPERIMENTS, CELLS)


def named(name: str) -> Experiment:
    return next(experiment for experiment in EXPERIMENTS if experiment.name == name)


def section(text: str, title: str) -> str:
    return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def counts(text: str) -> tuple[int, int]:
    """How many published rows are as published, and how many are not worse."""
    found = re.search(r"\*\*(\d+) of 58\*\* published rows.*\*\*(\d+) of 58\*\* rows are not worse", text)
    assert found is not None
    return int(found[1]), int(found[2])


BEFORE = counts((HERE / FILE).read_text("utf-8"))


def keys_of(name: str, row: str, block: str = "paper") -> list[str]:
    (found,) = [one for one in named(name).rows if (one.name, one.block) == (row, block)]
    return [cell["key"] for cell in find_cells(found, CELLS) if cell is not None]


def test_the_committed_report_is_what_the_committed_cells_give() -> None:
    written = (HERE / FILE).read_text("utf-8")
    assert written == describe_results(EXPERIMENTS, CELLS), "run `python -m paper report`"
    board = (HERE / "LEADERBOARD.md").read_text("utf-8")
    assert board == describe_board(read_protocol(HERE), CELLS, PUBLISHED), "run `python -m paper report`"


def test_the_committed_figures_are_drawn_from_the_committed_cells() -> None:
    pictures = [*find_pictures(EXPERIMENTS, CELLS), *find_frontiers(read_protocol(HERE), CELLS)]
    wanted = {picture.name: picture.digest() for picture in pictures}
    files = sorted((HERE / FIGURES).glob("*.*"))
    assert {path.name for path in files} == {f"{name}.png" for name in wanted}
    for path in files:
        assert f"drawn from {wanted[path.stem]}".encode() in path.read_bytes(), f"{path.name}: `python -m paper report`"


def test_without_cells_everything_is_missing_and_nothing_a_success() -> None:
    text = describe_results(EXPERIMENTS, {})
    assert "**0 of 58** published rows" in text
    assert text.count("ours, **missing**") >= sum(len(one.rows) for one in EXPERIMENTS if one.kind == "models")
    assert "reached" not in text.replace("not reached", "")
    assert find_pictures(EXPERIMENTS, {}) == []


def test_a_missing_seed_is_told_and_its_row_is_no_success() -> None:
    lost = keys_of("law_school", "NN+Anti+Dis")[2]
    text = describe_results(EXPERIMENTS, {key: cell for key, cell in CELLS.items() if key != lost})
    assert "ours, **4 of 5 seeds**" in section(text, "Law School")
    assert "so far as published" in section(text, "Law School")
    assert "| law_school | NN+Anti+Dis | **missing or failed** |" in text
    assert counts(text) == (BEFORE[0] - 1, BEFORE[1] - 1)


def test_a_failed_cell_is_shown_with_its_error() -> None:
    key = keys_of("law_school", "SenSR")[0]
    failed = {name: value for name, value in CELLS[key].items() if name != "numbers"}
    cells = CELLS | {key: failed | {"error": "Traceback:\n  deep inside\nTrainingError: lost | its *way*"}}
    shown = section(describe_results(EXPERIMENTS, cells), "Law School")
    assert "ours, **4 of 5 seeds**, 1 **failed**" in shown
    assert r"- **failed**: SenSR on law_school, seed 0: TrainingError: lost \| its \*way\*" in shown
    assert "deep inside" not in shown


def test_a_worse_row_is_listed_with_what_is_worse() -> None:
    cells = dict(CELLS)
    for key in keys_of("law_school", "NN+Anti+Dis"):
        numbers = cells[key]["numbers"] | {"roc_auc": 0.50, "gap_mean[0]": 0.90}
        cells[key] = cells[key] | {"numbers": numbers}
    text = describe_results(EXPERIMENTS, cells)
    assert counts(text) == (BEFORE[0] - 1, BEFORE[1] - 1)
    (row,) = re.findall(r"\| law_school \| NN\+Anti\+Dis \| (.*) \| (.*) \| (.*) \|\n", text)
    assert re.fullmatch(r"\*\*no\*\*: ROC -3\d\.\d+, negative gap \+8\d\.\d+", row[0])
    assert row[2] == row[0]


def test_every_table_is_well_formed(text: str) -> None:
    width = 0
    for line in text.splitlines():
        here = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
        assert not width or not here or here == width, line
        width = here


@pytest.mark.slow
def test_every_figure_can_be_drawn_whatever_is_missing(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    few = {key: cell for place, (key, cell) in enumerate(sorted(CELLS.items())) if place % 3 == 0}
    path = write_results(sized([named("random")], EXPERIMENTS), few, tmp_path)
    drawn = {file.name for file in (tmp_path / FIGURES).iterdir()}
    assert sized("random.png", "compas_network.png") in drawn
    assert set(re.findall(r"\(figures/(.*?)\)", path.read_text("utf-8"))) == drawn


def test_a_digest_tells_other_numbers_from_the_same() -> None:
    def digests(cells: dict[str, Cell]) -> set[str]:
        return {picture.digest() for picture in find_pictures([named("random")], cells)}

    key = keys_of("random", "+300 % random")[1]
    other = CELLS[key] | {"numbers": CELLS[key]["numbers"] | {"gap_mean[1]": 0.5}}
    assert digests(CELLS) == digests(dict(CELLS)) != digests(CELLS | {key: other})
