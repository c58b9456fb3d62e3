"""The command line of an audit serves for pairs and antidotes, too: a column of scores is no feature of people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Run

ASKED = ("--label", "hired", "--sensitive", "race")
MAKING = ("--generator", "uniform", "--ratio", "0.5")


def test_pairs_are_those_of_a_table_without_the_scores(run: Run, csv: Path, scored: pa.Table, tmp_path: Path) -> None:
    with_scores = tmp_path / "scored.csv"
    pyarrow.csv.write_csv(scored, with_scores)
    without = json.loads(run("pairs", csv, *ASKED, "--json").stdout)
    outcome = run("pairs", with_scores, *ASKED, "--scores", "p", "--json")
    assert json.loads(outcome.stdout)["n_pairs"] == without["n_pairs"] > 0
    assert "scores      p  " in outcome.stderr


@pytest.mark.long(2)
@pytest.mark.parametrize("out", ["augmented.csv", "parts"])
def test_antidotes_are_those_of_a_table_without_the_scores(
    run: Run, people: pa.Table, scored: pa.Table, tmp_path: Path, out: str
) -> None:
    made = []
    for name, table, scores in (("plain", people, ()), ("scored", scored, ("--scores", "p", "--ignore", "p,size"))):
        folder = tmp_path / name
        folder.mkdir()
        pyarrow.parquet.write_table(table, folder / "people.parquet")
        ignored = scores or ("--ignore", "size")
        outcome = run("antidote", folder / "people.parquet", *ASKED, *ignored, *MAKING, "--out", folder / out)
        assert outcome.code == 0, outcome.stderr
        assert ("Column 'p' is left out: synthetic people have no score." in outcome.stderr) == bool(scores)
        written = folder / out
        made.append(pyarrow.csv.read_csv(written) if written.is_file() else pyarrow.parquet.read_table(written))
    assert made[0].equals(made[1])


def test_a_generator_that_is_loaded_leaves_the_scores_out_too(run: Run, scored_csv: Path, tmp_path: Path) -> None:
    saved, out = tmp_path / "generator", tmp_path / "augmented.csv"
    assert run("antidote", scored_csv, *ASKED, "--scores", "p", *MAKING, "--save", saved).code == 0
    assert run("antidote", scored_csv, "--load", saved, "--scores", "p", "--out", out).code == 0
    assert "p" not in pyarrow.csv.read_csv(out).column_names


@pytest.mark.parametrize("verb", [("pairs",), ("antidote", *MAKING)])
@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ("q", "--scores names column 'q', which"),
        ("P", "Did you mean 'p'?"),
        ("race", "Column 'race' is named by --scores and by --sensitive. Name it in one of them."),
    ],
)
def test_a_column_that_cannot_be_scores_is_refused(
    run: Run, scored_csv: Path, verb: tuple[str, ...], scores: str, message: str
) -> None:
    outcome = run(verb[0], scored_csv, *ASKED, *verb[1:], "--scores", scores)
    assert outcome.code == 2
    assert message in outcome.stderr
