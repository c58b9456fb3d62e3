"""The benchmark: a setting is chosen by training rows alone, with the same budget for all; anybody can add to it."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import stdev
from typing import Any

import pytest
from paper.__main__ import main
from paper._added import DATA_KEYS, know_added
from paper._board import (
    choose,
    describe_board,
    find_entries,
    find_frontiers,
    is_as_fixed,
    paired_change,
)
from paper._cells import Cell, Store, unique_specs
from paper._experiments import HERE, ExperimentError, Place, read_toml
from paper._protocol import Protocol, read_protocol
from paper._published import read_published
from paper._rows import rows_of

from likewise import load_dataset

SMALL = """
splits = [100, 101]
data = ["planted"]
folds = 2
budget = 2
reference = "LR"
max_ap_loss = 0.02
max_log_loss_rise = 0.02
[[method]]
name = "LR"
family = "linear"
model = "linear"
settings = [{ C = 1.0 }, { C = 0.1 }]
[[method]]
name = "LR, pairs in the loss"
family = "linear"
model = "pairs_linear"
settings = [{ pair_weight = 2.0 }, { pair_weight = 8.0 }]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "protocol.toml").write_text(SMALL, "utf-8")
    (tmp_path / "experiments").mkdir()
    return tmp_path


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("measured")
    (folder / "protocol.toml").write_text(SMALL, "utf-8")
    (folder / "experiments").mkdir()
    assert main(["--folder", str(folder), "run", "protocol"]) == 0
    return folder


def numbers(gap: float, ap: float, loss: float = 0.4) -> dict[str, Any]:
    return {"gap_mean[1]": gap, "gap_mean[0]": gap, "average_precision": ap, "log_loss": loss}


def test_the_protocol_is_the_one_that_was_fixed_before_it_was_run() -> None:
    assert is_as_fixed(HERE)
    protocol = read_protocol(HERE)
    assert min(protocol.splits) >= 100  # no earlier run had these
    assert len(protocol.splits) == 10
    assert {len(one.settings) for one in protocol.contenders} == {protocol.budget}


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("{ C = 1.0 }, { C = 0.1 }", "{ C = 1.0 }", r"row 1 \(LR\): settings is 1; give 2, the budget"),
        ('data = ["planted"]', 'data = ["plant"]', "data is 'plant'; choose among adult"),
        ('reference = "LR"', 'reference = "NN"', "reference is 'NN'; choose one of LR"),
        ("folds = 2", "fold = 2", r"no key 'fold'. Did you mean 'folds'\?"),
        ('model = "linear"', 'model = "line"', r"row 1 \(LR\): model is 'line'; choose one of linear"),
    ],
)
def test_what_is_wrong_in_the_protocol_is_told(folder: Path, old: str, new: str, told: str) -> None:
    (folder / "protocol.toml").write_text(SMALL.replace(old, new), "utf-8")
    with pytest.raises(ExperimentError, match=told):
        read_protocol(folder)


def test_folds_are_of_training_rows_and_each_row_is_held_out_once(folder: Path) -> None:
    spec = unique_specs([read_protocol(folder).experiment()])[0]
    whole = rows_of(spec)
    folds = [rows_of(spec | {"fold": [number, 2]}) for number in range(2)]
    held = [tuple(row) for one in folds for row in one.test.X.itertuples(index=False)]
    assert sorted(held) == sorted(tuple(row) for row in whole.train.X.itertuples(index=False))
    assert all(len(one.train) + len(one.test) == len(whole.train) for one in folds)


def test_adult_is_drawn_again(public: Any) -> None:
    original = public("adult")
    spec = {"data": "adult", "split": 100, "seed": 100, "method": {"kind": "protocol"}}
    drawn, other = rows_of(spec), rows_of(spec | {"split": 101})
    assert (len(drawn.train), len(drawn.test)) == (len(original.train), len(original.test))
    assert not drawn.test.X.equals(original.test.X)
    assert not drawn.test.X.equals(other.test.X)


def test_the_least_gap_within_the_allowance_is_chosen(folder: Path) -> None:
    protocol = read_protocol(folder)
    plain = numbers(0.1, 0.7)
    assert choose([plain, numbers(0.05, 0.69), numbers(0.01, 0.6)], plain, protocol) == 1
    assert choose([plain, numbers(0.05, 0.7, loss=0.5)], plain, protocol) == 0
    assert choose([numbers(0.01, 0.5), numbers(0.02, 0.6)], plain, protocol) == 1  # none allowed: the best of them


def test_intervals_are_of_differences_within_splits() -> None:
    mine, theirs = {1: 3.0, 2: 5.0, 3: 4.0}, {1: 6.0, 2: 7.0, 4: 1.0}
    found = paired_change(mine, theirs, 1 / 3)
    assert found is not None
    assert found[0] == pytest.approx(-2.5)
    assert found[1] == pytest.approx(12.7062 * stdev([-3.0, -2.0]) * math.sqrt(1 / 2 + 1 / 3), rel=1e-4)
    assert paired_change({1: 1.0}, {1: 2.0}, 1 / 3) is None


def chosen_of(protocol: Protocol, cells: dict[str, Cell]) -> list[Sequence[int]]:
    return [[one.chosen for one in entry.results] for entry in find_entries(protocol, cells)]


def test_test_rows_have_no_say_in_the_choice(measured: Path) -> None:
    protocol, cells = read_protocol(measured), Store(measured / "results").read()
    assert [len(one) for one in chosen_of(protocol, cells)] == [2, 2]
    dice = random.Random(0)
    other = {
        key: cell
        | {
            "numbers": {
                name: value if name in ("inner", "base_rate") or not isinstance(value, float) else dice.random()
                for name, value in cell["numbers"].items()
            }
        }
        for key, cell in cells.items()
    }
    assert chosen_of(protocol, other) == chosen_of(protocol, cells)


def test_the_board_shows_what_was_run_and_says_what_was_not(measured: Path) -> None:
    protocol, cells = read_protocol(measured), Store(measured / "results").read()
    text = describe_board(protocol, cells, read_published())
    (pairs,) = re.findall(r"^\| LR, pairs in the loss \| 2 of 2 .*$", text, re.MULTILINE)
    assert re.search(r"\| -\d+\.\d\d ± \d+\.\d\d \|", pairs)  # the gap falls
    assert "not run" not in text.partition("## planted")[2]
    (picture,) = find_frontiers(protocol, cells)
    assert [*picture.series] == ["LR", "LR, pairs in the loss"]
    few = {key: cell for key, cell in cells.items() if cell["spec"]["method"]["model"] == "linear"}
    assert "| LR, pairs in the loss | not run |" in describe_board(protocol, few, read_published())


def test_a_split_without_pairs_of_a_label_is_left_out_of_the_board(
    measured: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paper._board.PRINTED", "LR")  # what our methods are held against, where there are goals
    protocol, cells = read_protocol(measured), Store(measured / "results").read()
    for cell in cells.values():
        cell["numbers"] |= {"gap_mean[0]": None, "rank_gap_mean[0]": None}
    text = describe_board(protocol, cells, {})
    assert re.search(r"^\| LR \| 2\.0 \| 0\.\d{3} \|$", text, re.MULTILINE)


def read_examples() -> dict[str, str]:
    """Find the files that README.md shows, by the name in their first line."""
    text = (HERE / "README.md").read_text("utf-8")
    blocks = re.findall(r"```(?:python|toml)\n(.*?)```", text, re.DOTALL)
    return {block.splitlines()[0].removeprefix("# "): block for block in blocks}


def test_the_method_and_the_data_set_of_the_readme_can_be_run(
    folder: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in read_examples().items():
        (folder / name).write_text(text, "utf-8")
    people = load_dataset("planted", n_rows=1_200).train
    people.X.assign(repaid=people.y).to_csv(folder / "loans.csv", index=False)
    run = ["--folder", str(folder), "run", "--seeds", "1"]
    mine = ["--method", str(folder / "mine.py")]
    assert main([*run, *mine]) == 0
    assert main([*run, *mine, "--dataset", str(folder / "loans.toml")]) == 0
    assert main([*run, "--dataset", str(folder / "loans.toml"), "--only", "LR"]) == 0
    capsys.readouterr()
    assert main([*run, *mine]) == 0
    assert "0 cells measured" in capsys.readouterr().out  # they are there
    cells = Store(folder / "results").read()
    assert not [cell["error"] for cell in cells.values() if "error" in cell]
    by_data = {cell["spec"]["data"].partition("@")[0]: cell for cell in cells.values()}
    assert {*by_data} == {"planted", "loans"}
    known = by_data["loans"]["spec"]  # another process finds the files by their hash
    datasets: dict[str, Any] = {}
    models: dict[str, Any] = {}
    monkeypatch.setattr("paper._added.DATASETS", datasets)
    monkeypatch.setattr("paper._added.MODELS", models)
    know_added(known | {"method": {"model": by_data["planted"]["spec"]["method"]["model"]}}, folder / ".work")
    assert {*datasets} == {known["data"]}
    assert [name.partition("@")[0] for name in models] == ["mine"]
    monkeypatch.undo()
    protocol = replace(read_protocol(folder), splits=(100,))
    text = describe_board(protocol, cells, {})
    assert re.search(r"^\| mine@\w+ \| 1 of 1 ", text, re.MULTILINE)
    plain = {key: cell for key, cell in cells.items() if "@" not in cell["spec"]["method"]["model"]}
    loans = describe_board(protocol, plain, {}).partition("## loans\n")[2]  # nobody's method but the protocol's
    assert re.search(r"^\| LR \| 1 of 1 ", loans, re.MULTILINE)
    changed = folder / "mine.py"
    changed.write_text(changed.read_text("utf-8").replace('{"C": 0.1}', '{"C": 0.2}'), "utf-8")
    main([*run, *mine])
    seen = {cell["spec"]["method"]["model"] for cell in Store(folder / "results").read().values()}
    assert len([name for name in seen if name.startswith("mine@")]) == 2  # a changed file is another method


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.py", "x = 1", "has no function fit"),
        ("a.py", "SETTINGS = 3\ndef fit(X, y, **more): ...", "SETTINGS is 3; give a list"),
        ("a.py", "SETTINGS = [{}] * 9\ndef fit(X, y, **more): ...", "9 settings; the budget of every method is 2"),
        ("a.py", "def fit(", "a.py cannot be read: SyntaxError"),
        ("a.toml", 'name = "adult"', "name is 'adult'; give"),
        ("a.toml", 'name = "loans"\nfile = "b.csv"', "file is 'b.csv'; there is no such file"),
        ("a.toml", 'name = "loans"\nfile = "a.csv"\nlabel = "y"\npositive = 1\nsensitive = ["s"]', "no column 's'"),
        ("a.toml", 'name = "loans"\nfile = "a.csv"\nlabel = "y"\npositive = 7', "positive is 7; y has"),
        ("none.py", None, "none.py is no .py file"),
    ],
)
def test_what_is_wrong_in_a_file_of_somebody_is_told_in_a_line(
    folder: Path, capsys: Any, name: str, text: str | None, told: str
) -> None:
    (folder / "a.csv").write_text("x,y\n1,0\n2,1\n3,0\n4,1\n", "utf-8")
    if text is not None:
        (folder / name).write_text(text, "utf-8")
    option = "--method" if name.endswith(".py") else "--dataset"
    assert main(["--folder", str(folder), "run", option, str(folder / name)]) == 2
    assert told in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("path", sorted((HERE / "datasets").glob("*.toml")), ids=lambda path: path.stem)
def test_every_described_data_set_says_whose_rows_it_has(path: Path) -> None:
    given, there = read_toml(path), Place(path.name)
    there.know(given, DATA_KEYS)
    assert given["name"] == path.stem
    assert given["licence"]
    assert given["citation"]
    assert given["file"] in path.read_text("utf-8").splitlines()[0]  # where to get it
