"""Experiments: what is asked for is checked before anything runs, and covers what was published."""

from __future__ import annotations

from pathlib import Path

import pytest
from paper._cells import key_of, unique_specs
from paper._experiments import ExperimentError, load_experiments, read_experiment
from paper._methods import make_generator, make_model, shorten
from paper._published import TABLES, read_published
from paper._registry import Lacking

from likewise import AntiDROClassifier, load_dataset

HEAD = 'title = "A"\ndata = "planted"\n'
ROW = '[[row]]\nname = "LR"\nmodel = "linear"\n'


def write(folder: Path, text: str) -> Path:
    path = folder / "some.toml"
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("title = ", "some.toml is no TOML"),
        (HEAD, r"some.toml has no \[\[row\]\]"),
        (f"{HEAD}sedes = 2\n{ROW}", r"some.toml: there is no key 'sedes'. Did you mean 'seeds'\?"),
        (f'data = "planted"\n{ROW}', "some.toml: title is missing"),
        (f'title = "A"\n{ROW}', r"some.toml, row 1 \(LR\): data is missing"),
        (f'title = "A"\ndata = "adults"\n{ROW}', r"row 1 \(LR\): data is 'adults'; choose one of adult, compas"),
        (f"{HEAD}{ROW}{ROW}", "two rows 'LR' in block 'paper' on planted"),
        (f"{HEAD}seeds = 0\n{ROW}", "seeds is 0; give 1 or more"),
        (f'{HEAD}rules = ["or"]\n{ROW}', r"rules is \['or'\]; choose among all, any, none"),
        (f'{HEAD}rules = ["all"]\n{ROW}', "'any', the paper's rule, has to be among them"),
        (f'{HEAD}{ROW}columns = "some"\n', r"row 1 \(LR\): columns is 'some'; choose one of all, dropped, projected"),
        (f"{HEAD}{ROW}params = 3\n", r"row 1 \(LR\): params is 3; give a dict"),
        (f'{HEAD}{ROW}antidotes = {{ generator = "gibbs" }}\n', "give one of ratio and rounds"),
        (f'{HEAD}{ROW}antidotes = {{ generator = "gibbs", ratio = 1, rounds = 1 }}\n', "give one of ratio and rounds"),
        (f'{HEAD}{ROW}antidotes = {{ kind = "gibbs", ratio = 1 }}\n', "there is no key 'antidotes.kind'"),
        (f"{HEAD}{ROW}tune = {{ max_loss = 1, grid = {{ C = [1] }} }}\n", "only methods with antidotes are tuned"),
        (f'{HEAD}[[row]]\nname = "A"\nmodel = "antidro"\n', "'antidro' needs some"),
        (f'{HEAD}[[row]]\nname = "A"\nmodel = "sensr"\ncolumns = "dropped"\n', "'sensr' needs all columns"),
        (f'{HEAD}kind = "convergence"\n[[row]]\nname = "A"\n', "name a generator that learns"),
        (f'{HEAD}kind = "efficacy"\n[[row]]\nname = "A"\nmade = "antidotes"\n', "they go with made = 'antidotes'"),
    ],
)
def test_what_is_wrong_in_a_file_is_told_with_its_place(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ExperimentError, match=told):
        read_experiment(write(tmp_path, text))


def test_an_unknown_experiment_is_refused(tmp_path: Path) -> None:
    write(tmp_path, HEAD + ROW)
    with pytest.raises(ExperimentError, match=r"no experiment 'sone' in .* Did you mean 'some'\?"):
        load_experiments(tmp_path, ["sone"])


def test_every_published_row_has_ours_beside_it() -> None:
    ours = {row.published for experiment in load_experiments() for row in experiment.rows if row.block == "paper"}
    published = read_published()
    wanted = {(table, method) for table in published for method in published[table]}
    assert wanted <= ours
    assert sum(len(published[table]) for table in TABLES) == 58


def test_names_and_blocks_do_not_make_another_cell(tmp_path: Path) -> None:
    one = read_experiment(write(tmp_path, HEAD + ROW))
    text = 'title = "B"\nrules = ["any"]\n[[row]]\nname = "X"\nblock = "ours"\ndata = "planted"\nmodel = "linear"\n'
    other = read_experiment(write(tmp_path, text))
    assert len(unique_specs([one, other])) == 1


def test_all_committed_parameters_are_known_to_what_they_are_for() -> None:
    data = load_dataset("planted")
    methods = {key_of(row.method): row.method for found in load_experiments() for row in found.rows}
    for method in [*methods.values(), *map(shorten, methods.values())]:
        if method.get("antidotes"):
            made = make_generator(method["antidotes"], data, 0, "cpu")
            made._refuse_odd_parameters()
        if method.get("model") == "antidro":
            tuned = (method["tune"] or {"grid": {}})["grid"]
            assert {*method["params"], *tuned} <= {*AntiDROClassifier().get_params()}
        elif "model" in method:
            try:
                make_model(method, data, 0, "cpu")
            except Lacking:
                assert method["model"] == "xgboost"
