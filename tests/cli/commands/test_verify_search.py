"""``likewise verify`` replays the log of a search on the file it was searched with, and names what differs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from likewise import ConsistentClassifier, FrontierSearch, load_dataset

if TYPE_CHECKING:
    from tests.cli.conftest import Run

pytestmark = pytest.mark.filterwarnings("ignore::likewise.exceptions.LikewiseWarning")
QUICK: dict[str, Any] = {"n_resamples": 0, "max_loss": 0.5, "min_pairs": 0, "random_state": 0}


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Log a search of a CSV file, one of whose columns is a code with zeros in front."""
    folder = tmp_path_factory.mktemp("searched")
    data = load_dataset("planted", n_rows=800)
    X = data.train.X.assign(region=["00" + str(len(one)) for one in data.train.X["region"]])
    X.assign(repaid=data.train.y).to_csv(folder / "train.csv", index=False)
    read = pd.read_csv(folder / "train.csv", dtype={"region": str})
    numbers = make_column_selector(dtype_include="number")
    coding = make_column_transformer((StandardScaler(), numbers), remainder=OneHotEncoder(handle_unknown="ignore"))
    model = ConsistentClassifier(make_pipeline(coding, LogisticRegression()), data.roles, data.rule)
    log = folder / "search.jsonl"
    FrontierSearch(model, {"pair_weight": [1.0]}, log=log, **QUICK).fit(read.drop(columns="repaid"), read["repaid"])
    return log, folder / "train.csv"


def test_a_search_is_replayed_from_its_log(run: Run, searched: tuple[Path, Path]) -> None:
    outcome = run("verify", *searched)
    assert (outcome.code, outcome.stderr) == (0, "")
    assert "numbers of 2 models agree (relative tolerance 1e-09), and so does the choice." in outcome.stdout


def test_what_differs_is_named_in_one_line(run: Run, searched: tuple[Path, Path], tmp_path: Path) -> None:
    log, data = searched
    altered, other, fewer = tmp_path / "altered.jsonl", tmp_path / "other.csv", tmp_path / "fewer.csv"
    altered.write_text(log.read_text().replace('"n_rows": 600', '"n_rows": 601'))
    table = pd.read_csv(data, dtype=str)
    table.iloc[:-1].to_csv(other, index=False)
    table.drop(columns="age").to_csv(fewer, index=False)
    for asked, code, words in (
        ((altered, data), 1, "was altered: line 1, or one before it"),
        ((log, other), 1, "The data is not what was searched: SHA-256 on record"),
        ((log, fewer), 2, "has no column 'age', which was searched"),
        ((log, data, "--plan", log), 2, "is the log of a search, which has no plan"),
    ):
        outcome = run("verify", *asked)
        said = outcome.stdout + outcome.stderr
        assert outcome.code == code, said
        assert words in said
        assert said.count("\n") == 1
