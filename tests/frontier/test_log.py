"""The log of a search: it resumes an interrupted one, replays to the same numbers, and tells what was changed."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from likewise import (
    AugmentedClassifier,
    ConsistentClassifier,
    FrontierSearch,
    UniformGenerator,
    load_dataset,
)
from likewise.datasets import PlantedDataset
from likewise.exceptions import SearchLogError
from likewise.frontier import WeightRange, replay_search
from likewise.frontier._log import LoggedSearch, _seal

Logged = tuple[Path, PlantedDataset, ConsistentClassifier]
Search = Callable[..., Any]  # a FrontierSearch, all of whose numbers are known here
pytestmark = pytest.mark.filterwarnings("ignore::likewise.exceptions.LikewiseWarning")
GRID = {"gap": [0.0, 0.05], "noise": [0.0, 0.4]}
QUICK: dict[str, Any] = {"n_resamples": 40, "max_loss": 0.5, "folds": 2, "random_state": 0}


def lines_of(path: Path) -> list[dict[str, Any]]:
    """Read a log, without what differs between two runs."""
    apart = ("made_at", "seconds", "checksum")
    return [
        {name: value for name, value in json.loads(line).items() if name not in apart}
        for line in path.read_text().splitlines()
    ]


def forge(path: Path, change: Callable[[list[dict[str, Any]]], None]) -> None:
    """Change a log and seal it again, as somebody would who knows how it is sealed."""
    records = [json.loads(line) for line in path.read_text().splitlines()]
    for record in records:
        del record["checksum"]
    change(records)
    seal, lines = "", []
    for record in records:
        seal = _seal(seal, record)
        lines.append(json.dumps(record | {"checksum": seal}, ensure_ascii=False))
    path.write_text("".join(f"{line}\n" for line in lines))


def test_the_log_tells_everything_of_a_search(search: Search, planted: PlantedDataset, tmp_path: Path) -> None:
    path = tmp_path / "search.jsonl"
    found = search(GRID, log=path).fit(planted.train.X, planted.train.y)
    header, *models, choice = lines_of(path)
    assert header["seed"] == 0
    assert header["fold_of"] == found.fold_of_.tolist()
    assert header["data"]["n_rows"] == len(planted.train)
    assert header["versions"]["scikit-learn"]
    assert header["settings"]["max_loss"] == 0.05
    assert [model["result"]["name"] for model in models] == [point.name for point in found.frontier_]
    for model, point in zip(models, found.frontier_, strict=True):
        assert model["result"]["measures"]["gap_mean"]["value"] == point.unfairness.value
        scores = np.frombuffer(base64.b64decode(model["scores"]), "<f8").reshape(model["shape"])
        assert point.audit is not None
        assert scores[:, 1] == pytest.approx(point.audit.question.scores.values)
    assert choice["chosen"] == found.frontier_.index(found.best_point_)
    assert "least of mean gap" in choice["reason"]


@pytest.mark.long(3)
@pytest.mark.parametrize("n_lines", [1, 3, 6])
def test_an_interrupted_search_goes_on_from_its_log(
    search: Search, planted: PlantedDataset, lender: Any, tmp_path: Path, n_lines: int
) -> None:
    whole, path = tmp_path / "whole.jsonl", tmp_path / "search.jsonl"
    before = search(GRID, log=whole, folds=2, n_resamples=0).fit(planted.train.X, planted.train.y)
    lines = whole.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:n_lines]) + lines[n_lines][:40])  # as a kill leaves it
    lender.seen.clear()
    found = search(GRID, log=path, folds=2, n_resamples=0).fit(planted.train.X, planted.train.y)
    n_known = n_lines - 1
    assert len(lender.seen) == 2 * (5 - n_known) + 2  # base and chosen model are fitted to all rows
    assert lines_of(path) == lines_of(whole)
    assert [one | {"seconds": 0} for one in found.results_] == [one | {"seconds": 0} for one in before.results_]
    assert found.best_estimator_.gap == before.best_estimator_.gap


def test_a_failure_on_record_is_not_tried_again(
    search: Search, planted: PlantedDataset, lender: Any, tmp_path: Path
) -> None:
    path = tmp_path / "search.jsonl"
    grid = {"gap": [0.0], "mood": ["ill", "well"]}
    first = search(grid, log=path, n_resamples=0).fit(planted.train.X, planted.train.y)
    lender.seen.clear()
    again = search(grid, log=path, n_resamples=0).fit(planted.train.X, planted.train.y)
    assert [point.error for point in again.frontier_] == [point.error for point in first.frontier_]
    assert len(lender.seen) == 2  # only the chosen model and the base, refitted to all rows


def test_without_a_seed_the_log_has_it(search: Search, planted: PlantedDataset, tmp_path: Path) -> None:
    path = tmp_path / "search.jsonl"
    one, two = (
        search({"gap": [0.0]}, log=path, random_state=None, n_resamples=0).fit(planted.train.X, planted.train.y)
        for _ in range(2)
    )
    assert one.fold_of_.tolist() == two.fold_of_.tolist()


@pytest.mark.long(3)
@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({"max_loss": 0.1}, "settings.max_loss"),
        ({"random_state": 1}, "seed"),
        ({"grid": {"gap": [0.0, 0.01]}}, "grid"),
    ],
)
def test_the_log_of_another_search_is_not_gone_on_with(
    search: Search, planted: PlantedDataset, tmp_path: Path, other: dict[str, Any], named: str
) -> None:
    path = tmp_path / "search.jsonl"
    search({"gap": [0.0]}, log=path, n_resamples=0).fit(planted.train.X, planted.train.y)
    before = path.read_bytes()
    with pytest.raises(SearchLogError, match=f"log of another search: its {named} differs") as refused:
        search(other.pop("grid", {"gap": [0.0]}), log=path, n_resamples=0, **other).fit(
            planted.train.X, planted.train.y
        )
    assert "\n" not in str(refused.value)
    assert path.read_bytes() == before
    text = tmp_path / "notes.txt"
    text.write_text("Buy milk.\n")
    with pytest.raises(SearchLogError, match="is not the log of a search"):
        search({"gap": [0.0]}, log=text).fit(planted.train.X, planted.train.y)


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, PlantedDataset, ConsistentClassifier]:
    """Log a search of a pipeline."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    data = load_dataset("planted", n_rows=1_200)
    numbers = make_column_selector(dtype_include=np.number)
    coding = make_column_transformer((StandardScaler(), numbers), remainder=OneHotEncoder(handle_unknown="ignore"))
    model = ConsistentClassifier(make_pipeline(coding, LogisticRegression()), data.roles, data.rule)
    path = tmp_path_factory.mktemp("logs") / "search.jsonl"
    grid = {"pair_weight": WeightRange(0.3, 3.0, n_values=2, n_refined=1)}
    FrontierSearch(model, grid, log=path, **QUICK).fit(data.train.X, data.train.y)
    return path, data, model


def test_a_replay_finds_the_same_numbers(logged: Logged) -> None:
    path, data, model = logged
    found = replay_search(path, data.train.X, data.train.y, estimator=model)
    assert not found.differences, str(found)
    assert found.n_models == len(LoggedSearch.read(path).models)
    assert "and so does the choice" in str(found)


def test_other_data_is_named(logged: Logged) -> None:
    path, data, model = logged
    X = data.train.X.copy()
    X.loc[X.index[3], "age"] += 1
    for rows, labels in ((X, data.train.y), (data.train.X, 1 - data.train.y)):
        found = replay_search(path, rows, labels, estimator=model)
        assert found.differences
        assert str(found).startswith("The data is not what was searched: SHA-256 on record")
        assert "\n" not in str(found)


def test_a_changed_line_is_named(logged: Logged, tmp_path: Path) -> None:
    path, data, model = logged
    altered = tmp_path / "altered.jsonl"
    text = path.read_text()
    assert '["pair_weight", 0.3]' in text
    altered.write_text(text.replace('["pair_weight", 0.3]', '["pair_weight", 0.31]'))
    with pytest.raises(SearchLogError, match=r"was altered: line 3, or one before it, is not as it was written"):
        replay_search(altered, data.train.X, data.train.y, estimator=model)
    lines = text.splitlines(keepends=True)
    altered.write_text("".join([*lines[:2], *lines[3:]]))  # a candidate left out
    with pytest.raises(SearchLogError, match="was altered"):
        replay_search(altered, data.train.X, data.train.y, estimator=model)


def test_a_forged_number_does_not_survive_a_replay(logged: Logged, tmp_path: Path) -> None:
    path, data, model = logged
    forged = tmp_path / "forged.jsonl"
    forged.write_bytes(path.read_bytes())

    def flatter(records: list[dict[str, Any]]) -> None:
        records[2]["result"]["measures"]["gap_mean"]["value"] /= 2

    forge(forged, flatter)
    found = replay_search(forged, data.train.X, data.train.y, estimator=model)
    assert [one.where for one in found.differences] == ["model 1 (pair_weight=0.3): measures.gap_mean.value"]
    assert "1 value not as recorded" in str(found)


def test_a_log_without_a_choice_replays_what_it_has(logged: Logged, tmp_path: Path) -> None:
    path, data, model = logged
    short = tmp_path / "short.jsonl"
    short.write_text("".join(path.read_text().splitlines(keepends=True)[:3]))
    found = replay_search(short, data.train.X, data.train.y, estimator=model)
    assert not found.differences
    assert found.n_models == 2
    assert "interrupted: the log has no choice" in str(found)


@pytest.mark.parametrize("name", ["os.system", "subprocess.Popen", "sklearn.linear_model.LogisticRegression"])
def test_a_log_builds_no_object(logged: Logged, tmp_path: Path, name: str) -> None:
    path, data, model = logged
    forged = tmp_path / "forged.jsonl"
    forged.write_bytes(path.read_bytes())

    def intrude(records: list[dict[str, Any]]) -> None:
        records[0]["settings"]["roles"] = {"class": name, "params": {}}

    forge(forged, intrude)
    with pytest.raises(SearchLogError, match=f"it holds '{name}', an object, which is not built from a log"):
        replay_search(forged, data.train.X, data.train.y, estimator=model)


def test_the_grid_is_passed_in_where_it_holds_objects(planted: PlantedDataset, regression: Any, tmp_path: Path) -> None:
    path, how = tmp_path / "search.jsonl", QUICK | {"n_resamples": 0}
    generators = [UniformGenerator(planted.roles, planted.rule, random_state=seed) for seed in (0, 1)]
    model = AugmentedClassifier(regression, generators[0], ratio=0.5, random_state=0)
    grid = {"generator": generators}
    FrontierSearch(model, grid, log=path, **how).fit(planted.train.X, planted.train.y)
    with pytest.raises(SearchLogError, match="an object, which is not built from a log"):
        replay_search(path, planted.train.X, planted.train.y, estimator=model)
    assert not replay_search(path, planted.train.X, planted.train.y, estimator=model, grid=grid).differences


def test_another_model_does_not_replay(logged: Logged) -> None:
    path, data, model = logged
    other = clone(model).set_params(estimator__logisticregression__C=0.01)
    found = replay_search(path, data.train.X, data.train.y, estimator=other)
    assert found.differences
    assert found.differences[0].where.startswith("model 0 (base): ")
