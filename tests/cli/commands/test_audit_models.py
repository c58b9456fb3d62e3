"""What ``likewise audit --model`` promises: the scores of a file, gaps split over columns, people named, certified."""

from __future__ import annotations

import hashlib
import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import skl2onnx
import skops.io
from skl2onnx.common.data_types import FloatTensorType, Int64TensorType
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from tests.cli.commands.test_audit import ASKED, NEAR, RULE, SCORED, read_json

from likewise.auditing import audit
from likewise.schema import Roles

if TYPE_CHECKING:
    from tests.cli.conftest import Run


@pytest.mark.long(2)
@pytest.mark.parametrize("kind", ["onnx", "skops"])
def test_a_model_file_scores_the_rows(run: Run, scored: pa.Table, scored_csv: Path, kind: str) -> None:
    people, y = scored.select(["age", "hours"]).to_pandas(), scored.column("hired").to_numpy()
    fitted = LogisticRegression().fit(people, y)
    path = scored_csv.with_name(f"m.{kind}")
    if kind == "onnx":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = skl2onnx.to_onnx(fitted, initial_types=[("X", FloatTensorType([None, 2]))])
        path.write_bytes(model.SerializeToString())
    else:
        skops.io.dump(fitted, path)
    asked = (scored_csv, *ASKED, *NEAR, "--ignore", "p", "--resamples", 0)
    named = ("--set", "features=age,hours") if kind == "onnx" else ()
    record = read_json(run, *asked, *named, "--model", path)
    roles = Roles.infer(scored, label="hired", sensitive="race", ignored="p")
    found = audit(fitted, scored.to_pandas(), roles=roles, rule=RULE, n_resamples=0).to_dict()
    for name, measure in found["measures"].items():
        assert record["measures"][name]["value"] == pytest.approx(measure["value"], abs=1e-5), name
    assert record["data"]["model"]["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert record["data"]["scores"] == f"model file 'm.{kind}'"
    assert ("onnxruntime" if kind == "onnx" else "skops") in record["versions"]


def test_model_labels_that_the_table_lacks_are_a_line(run: Run, scored: pa.Table, scored_csv: Path) -> None:
    people = scored.select(["age", "hours"]).to_pandas()
    skops.io.dump(LogisticRegression().fit(people, [0, 1] * 150), scored_csv.with_name("m.skops"))
    outcome = run("audit", scored_csv, *ASKED, "--model", scored_csv.with_name("m.skops"), "--quiet")
    assert outcome.code == 2
    assert "knows the labels [0, 1], not the positive label 'yes'" in outcome.stderr


def test_a_model_of_named_columns_needs_no_list_of_them(run: Run, scored: pa.Table, scored_csv: Path) -> None:
    people, y = scored.select(["age", "hours"]).to_pandas(), scored.column("hired").to_numpy()
    types = [("age", Int64TensorType([None, 1])), ("hours", FloatTensorType([None, 1]))]
    columns = make_column_transformer(("passthrough", ["age", "hours"]))
    fitted = make_pipeline(columns, LogisticRegression()).fit(people, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = skl2onnx.to_onnx(fitted, initial_types=types)
    scored_csv.with_name("m.onnx").write_bytes(model.SerializeToString())
    asked = (scored_csv, *ASKED, *NEAR, "--ignore", "p", "--resamples", 0, "--model", scored_csv.with_name("m.onnx"))
    assert read_json(run, *asked)["pairs"]["n"] > 0


@pytest.fixture
def alike() -> pd.DataFrame:
    """Make people of five kinds, of which blue ones have worked a little longer."""
    random = np.random.default_rng(0)
    kind, race = np.repeat(np.arange(5), 24), np.tile(["blue", "green"], 60)
    return pd.DataFrame(
        {
            "race": race,
            "age": 30 + 2 * kind + random.uniform(0, 0.02, 120),
            "hours": 2 * kind + random.uniform(0, 0.05, 120) + 0.5 * (race == "blue"),
            "hired": np.where(random.random(120) < (kind + 1) / 6, "yes", "no"),
        }
    )


def test_gaps_are_split_people_named_and_certified_and_all_is_verified(
    run: Run, alike: pd.DataFrame, tmp_path: Path
) -> None:
    csv, model, out = tmp_path / "people.csv", tmp_path / "m.skops", tmp_path / "audit"
    alike.to_csv(csv, index=False)
    skops.io.dump(LogisticRegression().fit(alike[["age", "hours"]], alike["hired"]), model)
    added = ("--attribute", "--name-people", "0.2", "--certify")
    asked = (*ASKED, *NEAR, "--resamples", 0, "--model", model, *added)
    told = run("audit", csv, *asked, "--out", out)
    assert told.code == 0, told.stderr
    parts_of = told.stdout.partition("Part of the mean gap by column")[2]
    assert ["race", "-", "the", "model", "does", "not", "see", "it"] in map(str.split, parts_of.splitlines())
    assert "named at a false discovery rate of 0.2" in " ".join(told.stdout.split())
    record = json.loads((out / "audit.json").read_text())
    parts = {one["column"]: one["mean_part"] for one in record["attribution"]["columns"]}
    assert set(parts) <= {"age", "hours"}  # all that the model sees
    assert sum(parts.values()) == pytest.approx(record["measures"]["gap_mean"]["value"], abs=1e-9)
    assert record["named"]["n_tested"] > 100
    assert {alike["race"][one["row"]] for one in record["named"]["people"]} == {"green"}
    assert record["certificates"]["n_people"] == record["certificates"]["n_exact"] == record["data"]["n_rows"]
    assert record["measures"]["certified_max"]["value"] >= record["measures"]["gap_max"]["value"] - 1e-9
    assert "Worst possible gap at most" in told.stdout
    page = (out / "report.html").read_text()
    assert "Gaps by column" in page
    assert "People worse off beyond chance" in page
    again = run("verify", out / "audit.json", csv, "--model", model)
    assert again.code == 0, again.stdout
    for part, name in {"attribution": "mean_gap", "named": "n_reference", "certificates": "q95"}.items():
        changed = json.loads(json.dumps(record))
        changed[part][name] += 1
        (out / "changed.json").write_text(json.dumps(changed))
        told = run("verify", out / "changed.json", csv, "--model", model)
        assert told.code == 1
        assert f"{part}." in told.stdout


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((*SCORED, "--attribute"), "give the model with --model"),
        ((*SCORED, "--certify"), "give the model with --model"),
        ((*SCORED, "--name-people", "5"), "give a rate between 0 and 1"),
    ],
)
def test_what_cannot_be_explained_is_refused_in_a_line(
    run: Run, scored_csv: Path, args: tuple[str, ...], words: str
) -> None:
    outcome = run("audit", scored_csv, *args, "--quiet")
    assert outcome.code == 2
    assert words in outcome.stderr
    assert outcome.stderr.count("\n") == 1


def test_a_model_that_cannot_be_looked_into_is_refused_in_a_line(run: Run, scored_csv: Path, tmp_path: Path) -> None:
    scored = pd.read_csv(scored_csv)
    path = tmp_path / "bayes.skops"
    skops.io.dump(GaussianNB().fit(scored[["age", "hours"]], scored["hired"]), path)
    told = run("audit", scored_csv, *ASKED, *NEAR, "--ignore", "p", "--model", path, "--certify", "--quiet")
    assert told.code == 2
    assert "cannot be looked into" in told.stderr
    assert told.stderr.count("\n") == 1
