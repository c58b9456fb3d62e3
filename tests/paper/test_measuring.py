"""Every kind of method can be measured, and says what a report needs."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from paper._cells import make_spec
from paper._experiments import read_experiment
from paper._measuring import MEASURES, measure

from likewise import load_dataset

SHORT = "params = { n_iterations = 5 }"
GIBBS = 'generator = "gibbs", params = { n_iterations = 5, width = 16 }'
TUNED = "tune = { max_loss = 0.5, grid = { n_antidotes = [1, 2] } }"
ADVERSARIAL = (
    'generator = "adversarial", params = { n_iterations = 4, evaluate_every = 2, batch_size = 128, width = 32 }'
)


def measured(folder: Path, row: str, head: str = "", seed: int = 0) -> dict[str, Any]:
    path = folder / "some.toml"
    path.write_text(f'title = "A"\ndata = "planted"\n{head}\n[[row]]\nname = "A"\n{row}\n', "utf-8")
    (asked,) = read_experiment(path).rows
    cell = measure(make_spec(asked, seed), folder / "work", "cpu")
    assert cell.get("error") is None
    numbers: dict[str, Any] = cell["numbers"]
    return numbers


@pytest.mark.long(8)
@pytest.mark.parametrize(
    "row",
    [
        'model = "linear"',
        'model = "linear"\ncolumns = "projected"',
        f'model = "network"\n{SHORT}',
        f'model = "network"\ncolumns = "dropped"\n{SHORT}',
        f'model = "network"\ncolumns = "projected"\n{SHORT}',
        f'model = "sensr"\n{SHORT}',
        f'model = "sensei"\n{SHORT}',
        f'model = "lcifr"\n{SHORT}',
        'model = "hist_gradient_boosting"\ncolumns = "dropped"',
        'model = "linear"\nantidotes = { generator = "uniform", rounds = 1 }',
        f'model = "linear"\ncolumns = "projected"\nantidotes = {{ {GIBBS}, rounds = 1 }}',
        f'model = "antidro"\n{SHORT}\nantidotes = {{ {GIBBS}, rounds = 1 }}',
        f'model = "antidro"\n{SHORT}\nantidotes = {{ {GIBBS} }}\n{TUNED}',
        'model = "linear"\nantidotes = { generator = "uniform" }\ntune = { max_loss = 0.5, grid = { ratio = [0.5] } }',
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_every_kind_of_model_has_all_numbers(tmp_path: Path, row: str) -> None:
    numbers = measured(tmp_path, row, 'rules = ["any", "none"]')
    assert [name for name in MEASURES if not isinstance(numbers[name], float)] == []
    assert ("antidote_ratio" in numbers) == ("antidotes" in tomllib.loads(row))
    assert [*numbers["rules"]] == ["any", "none"]
    for side, label in (("positive", 1), ("negative", 0)):
        box = numbers["rules"]["any"][side]
        assert box["mean"] == pytest.approx(numbers[f"gap_mean[{label}]"])
        assert box["quantiles"] == sorted(box["quantiles"])
        assert box["quantiles"][3] == pytest.approx(numbers[f"gap_q3[{label}]"])


def test_the_same_cell_has_the_same_numbers_whoever_trained_the_generator(tmp_path: Path) -> None:
    row = f'model = "linear"\nantidotes = {{ {GIBBS}, ratio = 0.2 }}'
    first, second = measured(tmp_path, row), measured(tmp_path, row)
    assert first == second
    assert first != measured(tmp_path, row, seed=1)


def test_the_statistics_are_counted_by_rule(tmp_path: Path) -> None:
    numbers = measured(tmp_path, "", 'kind = "statistics"\nrules = ["all", "any"]')
    data = load_dataset("planted")
    assert (numbers["n_train"], numbers["n_test"]) == (len(data.train), len(data.test))
    assert numbers["test_positive_pairs"] + numbers["test_negative_pairs"] == len(data.test.pairs)
    assert numbers["train_positive_pairs_all"] < numbers["train_positive_pairs"]


@pytest.mark.long(3)
@pytest.mark.parametrize("made", ["original", "random", f'sensei"\n{SHORT}\nblock = "ours', "antidotes"])
def test_efficacy_is_told_of_all_ways_to_make_rows(tmp_path: Path, made: str) -> None:
    antidotes = 'antidotes = { generator = "uniform", ratio = 1 }' if made == "antidotes" else ""
    numbers = measured(tmp_path, f'made = "{made}"\n{antidotes}', 'kind = "efficacy"')
    assert {"accuracy", "balanced_accuracy", "f1"} <= {*numbers}
    assert numbers["accuracy"] > 0.7 or made == "random" or "sensei" in made


def test_convergence_is_a_curve_for_each_kind_of_column(tmp_path: Path) -> None:
    numbers = measured(tmp_path, f"antidotes = {{ {ADVERSARIAL} }}", 'kind = "convergence"')
    assert numbers["iteration"] == [2, 4]
    assert {"sensitive", "discrete", "continuous", "together"} <= {*numbers["ratio"]}
    assert all(len(curve) == 2 for curve in numbers["ratio"].values())
