"""RESULTS.md and the figures: what they promise, on made-up cells, and that the committed ones are up to date."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from paper._board import describe_board, find_frontiers
from paper._cells import Cell, Store, find_cells, key_of, unique_specs
from paper._drawn import Picture, average_box, list_pictures
from paper._experiments import HERE, Experiment, Row, load_experiments
from paper._lines import Line, gather
from paper._protocol import read_protocol
from paper._published import BASES, TABLES, read_published
from paper._report import FIGURES, FILE, describe_results, find_pictures, write_results
from paper._summary import best_recipe
from paper._tables import escape, rule_tables
from paper._verdicts import GAPS, RANK_GAPS
from tests.sizes import sized

EXPERIMENTS = load_experiments()
PUBLISHED = read_published()
Cells = dict[str, Cell]


def made_up(experiments: Sequence[Experiment], *, wobble: float = 0.002) -> Cells:
    """Give every cell the numbers that were published, or some, a little off by its seed."""
    wanted = {key_of(spec): spec for spec in unique_specs(experiments)}
    printed: dict[str, dict[str, float]] = {}
    for experiment in reversed(experiments):
        for row in experiment.rows:
            numbers = PUBLISHED.get(row.published[0], {}).get(row.published[1], {}) if row.published else {}
            printed |= {key_of({"data": row.data, "method": row.method}): numbers}
    cells = {}
    for key, spec in wanted.items():
        base = printed[key_of({"data": spec["data"], "method": spec["method"]})]
        draw = random.Random(key)
        cells[key] = {
            "key": key,
            "spec": spec,
            "numbers": NUMBERS[spec["method"]["kind"]](spec, base, draw, wobble),
            "versions": {"likewise": "0", "python": "3"},
            "machine": {"processor": "some", "n_cores": 2, "gpu": None, "system": "any"},
            "seconds": draw.random(),
            "cpu_s": draw.random(),
            "data_checksum": "0" * 64,
            "warnings": [],
        }
    return cells


def made_up_model(spec: Any, base: dict[str, float], draw: random.Random, wobble: float) -> dict[str, Any]:
    whole = {"roc_auc": 85.0, "average_precision": 70.0, "positive_gap_mean": 12.0, "positive_gap_q3": 17.0}
    whole |= {"negative_gap_mean": 8.0, "negative_gap_q3": 11.0, "score_spread": 24.0, "log_loss": 34.0, "brier": 11.0}
    whole |= {"positive_rank_gap_mean": 20.0, "negative_rank_gap_mean": 15.0, **base}
    numbers: dict[str, Any] = {name: value / 100 + draw.gauss(0.0, wobble) for name, value in whole.items()}
    numbers["rules"] = {}
    for rule in spec["method"]["rules"]:
        mean = draw.uniform(0.05, 0.15)
        box = {"n": 100, "mean": mean, "quantiles": [mean * share for share in (0.1, 0.4, 0.8, 1.4, 2.5)]}
        numbers["rules"][rule] = {"positive": box, "negative": box}
    if spec["method"]["antidotes"]:
        numbers["antidote_ratio"] = spec["method"]["antidotes"]["ratio"] or 1.8
    if spec["method"]["tune"]:
        numbers["tuned"] = {name: values[0] for name, values in spec["method"]["tune"]["grid"].items()}
    return numbers


def made_up_curve(spec: Any, base: dict[str, float], draw: random.Random, wobble: float) -> dict[str, Any]:
    steps = range(25, 2001, 25)
    speeds = {"sensitive": 20.0, "discrete": 150.0, "continuous": 400.0, "together": 500.0}
    ratio = {kind: [step / (step + speed) + draw.gauss(0, wobble) for step in steps] for kind, speed in speeds.items()}
    return {"iteration": [*steps], "ratio": ratio}


NUMBERS: dict[str, Callable[[Any, dict[str, float], random.Random, float], dict[str, Any]]] = {
    "models": made_up_model,
    "convergence": made_up_curve,
    "statistics": lambda spec, base, draw, wobble: {name: int(value) for name, value in base.items()},
    "efficacy": lambda spec, base, draw, wobble: {name: value / 100 for name, value in base.items()},
}
CELLS = made_up(EXPERIMENTS)


@pytest.fixture(scope="module")
def text() -> str:
    return describe_results(EXPERIMENTS, CELLS)


def named(name: str) -> Experiment:
    return next(experiment for experiment in EXPERIMENTS if experiment.name == name)


def section(text: str, title: str) -> str:
    return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def keys_of(name: str, row: str, block: str = "paper") -> list[str]:
    (found,) = [one for one in named(name).rows if (one.name, one.block) == (row, block)]
    return [cell["key"] for cell in find_cells(found, CELLS) if cell is not None]


def test_the_committed_report_is_what_the_committed_cells_give() -> None:
    if not (HERE / FILE).exists():
        pytest.skip("nothing was written yet")
    written = (HERE / FILE).read_text("utf-8")
    cells = Store().read()
    assert written == describe_results(EXPERIMENTS, cells), "run `python -m paper report`"
    board = (HERE / "LEADERBOARD.md").read_text("utf-8")
    assert board == describe_board(read_protocol(HERE), cells, PUBLISHED), "run `python -m paper report`"


def test_the_committed_figures_are_drawn_from_the_committed_cells() -> None:
    if not (HERE / FILE).exists():
        pytest.skip("nothing was written yet")
    cells = Store().read()
    pictures = [*find_pictures(EXPERIMENTS, cells), *find_frontiers(read_protocol(HERE), cells)]
    wanted = {picture.name: picture.digest() for picture in pictures}
    files = sorted((HERE / FIGURES).glob("*.*"))
    assert {path.name for path in files} == {f"{name}.png" for name in wanted}
    for path in files:
        assert f"drawn from {wanted[path.stem]}".encode() in path.read_bytes(), f"{path.name}: `python -m paper report`"


def test_all_58_published_rows_are_counted() -> None:
    text = describe_results(EXPERIMENTS, made_up(EXPERIMENTS, wobble=0.0))
    assert "**58 of 58** published rows are as published, neither worse nor better. **49 of 49** methods" in text
    assert "**58 of 58** rows are not worse" in text
    for name in TABLES:
        n, n_changing = len(PUBLISHED[name]), len([method for method in PUBLISHED[name] if method not in BASES])
        assert f"| {name} | {n} of {n} | {n_changing} of {n_changing} | {n} of {n} |" in text


def test_whatever_is_printed_has_a_row_of_ours() -> None:
    ours = {row.published for experiment in EXPERIMENTS for row in experiment.rows if row.block == "paper"}
    assert {(name, row) for name, table in PUBLISHED.items() for row in table} <= ours


def test_without_cells_everything_is_missing_and_nothing_a_success() -> None:
    text = describe_results(EXPERIMENTS, {})
    assert "**0 of 58** published rows" in text
    assert text.count("ours, **missing**") >= sum(len(one.rows) for one in EXPERIMENTS if one.kind == "models")
    assert "reached" not in text.replace("not reached", "")
    assert find_pictures(EXPERIMENTS, {}) == []


def test_a_missing_seed_is_told_and_its_row_is_no_success() -> None:
    lost = keys_of("adult", "NN+Anti")[2]
    text = describe_results(EXPERIMENTS, {key: cell for key, cell in CELLS.items() if key != lost})
    assert "ours, **4 of 5 seeds**" in section(text, "Adult")
    assert "so far as published" in section(text, "Adult")
    assert "| adult | NN+Anti | **missing or failed** |" in text
    assert "**57 of 58**" in text


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
    for key in keys_of("dutch", "AntiDRO"):
        numbers = cells[key]["numbers"] | {"roc_auc": 0.80, "negative_gap_mean": 0.09}
        cells[key] = cells[key] | {"numbers": numbers}
    text = describe_results(EXPERIMENTS, cells)
    assert "**57 of 58**" in text
    against = "**no**: ROC -8.00, negative gap +4.09"
    (row,) = re.findall(r"\| dutch \| AntiDRO \| (.*) \| (.*) \| (.*) \|\n", text)
    assert row[0] == row[2] == against
    assert row[1].startswith("**no**: ROC -7.9")


def test_every_table_is_well_formed(text: str) -> None:
    width = 0
    for line in text.splitlines():
        here = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
        assert not width or not here or here == width, line
        width = here


def test_means_and_deviations_are_over_seeds() -> None:
    row = Row(name="a", block="ours", data="adult", method={}, seeds=(0, 1, 2))
    cells: tuple[Cell, ...] = tuple({"numbers": {"roc_auc": one, "log_loss": one}} for one in (0.7, 0.8, 0.9))
    line = Line(row, cells)
    assert line.mean("roc_auc") == pytest.approx(80.0)
    assert line.deviation("roc_auc") == pytest.approx(10.0)
    assert line.mean("log_loss") == pytest.approx(0.8)  # no share
    assert Line(row, cells[:1]).deviation("roc_auc") is None
    assert Line(row, (*cells[:2], {"numbers": {"roc_auc": None}})).mean("roc_auc") is None
    assert line.mean("brier") is None


def with_numbers(line: Line, **numbers: float) -> Line:
    found = [cell | {"numbers": cell["numbers"] | numbers} for cell in line.cells if cell is not None]
    return replace(line, cells=tuple(found))


def with_recipes(numbers: Callable[[Row], dict[str, float]]) -> dict[str, list[Line]]:
    """Gather all rows, those of the recipe with other numbers."""
    sections = {one.name: gather(one, CELLS) for one in EXPERIMENTS}
    best = [with_numbers(line, **numbers(line.row)) if line.row.method["tune"] else line for line in sections["best"]]
    return sections | {"best": best}


GOOD = {"roc_auc": 0.99, "average_precision": 0.99} | dict.fromkeys((*GAPS, *RANK_GAPS), 0.001)
N_DATA = 5  # data sets that the recipe is tried on
N_RECIPES = sum(row.method["tune"] is not None for row in named("best").rows)


def test_the_best_recipe_is_held_against_half_of_the_paper() -> None:
    shown = best_recipe(with_recipes(lambda row: GOOD | {"average_precision": 0.5}), PUBLISHED)
    assert len(re.findall(r"not reached: AP \d+\.\d\d too low \|", shown)) == N_RECIPES >= N_DATA
    assert f"Reached on **0 of {N_DATA}** data sets" in shown
    shown = best_recipe(with_recipes(lambda row: GOOD), PUBLISHED)
    assert shown.count("**reached**") == N_RECIPES
    assert f"Reached on **{N_DATA} of {N_DATA}** data sets" in shown
    assert "closest" not in shown


def test_rows_of_our_own_block_are_counted_apart() -> None:
    text = describe_results(EXPERIMENTS, made_up(EXPERIMENTS, wobble=0.0))
    ours = {
        (row.published, str(row.method))
        for experiment in EXPERIMENTS
        for row in experiment.rows
        if row.block == "ours" and row.published and row.published[1] in PUBLISHED.get(row.published[0], {})
    }
    n_rows = len([1 for published, _ in ours if published[0] in TABLES])
    assert f"Of the {n_rows} rows of our own block (*Ours*) that stand against a published row, {n_rows} are" in text
    assert f"stand against a published row, 0 are as published or better (0 better), 0 worse and {n_rows} missing" in (
        describe_results(EXPERIMENTS, {})
    )


def test_pairs_are_counted_over_the_splits() -> None:
    lines = gather(named("compas"), CELLS)
    counts = iter([90, 100, 110, 100, 100] * len(lines))

    def recount(cell: Cell) -> Cell:
        box = cell["numbers"]["rules"]["any"]["positive"] | {"n": next(counts)}
        rules = cell["numbers"]["rules"] | {"any": {"positive": box, "negative": box}}
        return cell | {"numbers": cell["numbers"] | {"rules": rules}}

    other = [replace(line, cells=tuple(recount(cell) for cell in line.cells if cell is not None)) for line in lines]
    assert "| pairs, mean over splits |  | 100 | 100 | 100 ± 7 | 100 ± 7 | 100 | 100 |" in rule_tables(other)
    few = [replace(line, cells=line.cells[:1]) for line in other[:1]] + other[1:]
    assert "| 100 ± 7 |" in rule_tables(few)


def test_report_and_figures_say_where_deviations_include_the_split(text: str) -> None:
    assert "deviations include the split" in text.partition("\n## ")[0]
    notes = {picture.name: picture.note for picture in find_pictures(EXPERIMENTS, CELLS)}
    assert {name for name, note in notes.items() if "each with a split of its own" in note} == {
        name
        for name in notes
        if "compas" in name or name == "yields"  # which has a row of COMPAS
    }


@pytest.mark.slow
def test_every_figure_can_be_drawn_whatever_is_missing(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    few = {key: cell for place, (key, cell) in enumerate(sorted(CELLS.items())) if place % 3 == 0}
    path = write_results(sized([named("random")], EXPERIMENTS), few, tmp_path)
    drawn = {file.name for file in (tmp_path / FIGURES).iterdir()}
    assert sized("random.png", "compas_network.png") in drawn
    assert set(re.findall(r"\(figures/(.*?)\)", path.read_text("utf-8"))) == drawn


def test_a_digest_tells_other_numbers_from_the_same() -> None:
    def picture(cells: Cells) -> Picture:
        return list_pictures(named("random"), gather(named("random"), cells), PUBLISHED)[0]

    key = keys_of("random", "+300 % random")[1]
    other = CELLS[key] | {"numbers": CELLS[key]["numbers"] | {"positive_gap_mean": 0.5}}
    assert picture(CELLS).digest() == picture(dict(CELLS)).digest() != picture(CELLS | {key: other}).digest()


def test_boxes_of_seeds_are_averaged_and_no_pairs_give_no_box() -> None:
    boxes = [
        {"n": 4, "mean": 0.1, "quantiles": [0.0, 0.1, 0.2, 0.3, 0.4]},
        {"n": 4, "mean": 0.3, "quantiles": [0.2] * 5},
    ]
    found = average_box(boxes)
    assert found is not None
    assert found["mean"] == pytest.approx(20.0)
    assert found["whishi"] == pytest.approx(30.0)
    assert average_box([*boxes, {"n": 0, "mean": None, "quantiles": None}]) is None


def test_foreign_words_are_no_markdown() -> None:
    assert escape("a|b_c `d`") == r"a\|b\_c \`d\`"
