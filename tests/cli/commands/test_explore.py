"""What ``likewise explore`` promises: an audit's options, one address on stdout, every failure a line."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
import skl2onnx
from skl2onnx.common.data_types import FloatTensorType
from sklearn.linear_model import LogisticRegression

from likewise.auditing import Policy
from likewise.explore import Explorer

if TYPE_CHECKING:
    from tests.cli.conftest import Run

ASKED = ("--label", "hired", "--sensitive", "race", "--ignore", "name")
FEATURES = ("--set", "features=age,hours")
SCORED = (*ASKED, "--scores", "p", "--max-continuous-shift", "0.1")


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Explorer, dict[str, Any]]]:
    """Catch what would be served."""
    caught: list[tuple[Explorer, dict[str, Any]]] = []

    def serve(server: Any, explorer: Explorer, **how: Any) -> None:
        how.pop("announce")("http://127.0.0.1:1/token/")
        caught.append((explorer, how))

    monkeypatch.setattr("likewise.explore._internal.PageServer.run", serve)
    return caught


def test_it_starts_at_the_rule_and_prints_the_address(run: Run, scored_csv: Path, served: Any) -> None:
    outcome = run("explore", scored_csv, *SCORED, "--no-browser", "--port", 0, "--set", "gap_limit=0.2")
    assert (outcome.code, outcome.stdout) == (0, "http://127.0.0.1:1/token/\n")
    assert "this machine only" in outcome.stderr
    ((explorer, how),) = served
    assert how == {"opens_browser": False}
    about = explorer.about()
    assert (about["title"], about["shift"]["start"], about["limit"]) == ("people.csv", 0.1, 0.2)
    assert not about["has_model"]


def test_its_numbers_are_those_of_the_audit_command(run: Run, scored_csv: Path, served: Any) -> None:
    run("explore", scored_csv, *SCORED)
    record = json.loads(run("audit", scored_csv, *SCORED, "--resamples", 0, "--json").stdout)
    answer = served[0][0].look({"changes": 1, "shift": 0.1})
    assert answer["n_pairs"] == record["pairs"]["n"]
    assert answer["slices"][0]["gap_mean"] == record["measures"]["gap_mean"]["value"]
    assert answer["matched_share"] == record["measures"]["matched_share"]["value"]


def test_with_a_model_it_can_be_asked_what_if(
    run: Run, csv: Path, people: pa.Table, served: Any, tmp_path: Path
) -> None:
    names = ["age", "hours"]
    features = people.select(names).to_pandas().to_numpy()
    model = LogisticRegression().fit(features, people.column("hired").to_pylist())
    options = {id(model): {"zipmap": False}}
    kinds = [("X", FloatTensorType([None, 2]))]
    exported = skl2onnx.to_onnx(model, initial_types=kinds, options=options)
    path = tmp_path / "model.onnx"
    path.write_bytes(exported.SerializeToString())
    outcome = run(
        "explore", csv, *ASKED, "--model", path, "--set", "features=age,hours", "--max-continuous-shift", "0.1"
    )
    assert outcome.code == 0, outcome.stderr
    explorer = served[0][0]
    assert explorer.about()["origin"] == "the model in model.onnx"
    pair = explorer.look({"changes": 1, "shift": 0.1})["pairs"][0]
    found = explorer.what_if(pair["left_row"], pair["right_row"], "left", {"hours": 3.5})
    age = people.column("age")[pair["left_row"]].as_py()
    assert found["after"] == pytest.approx(model.predict_proba([[age, 3.5]])[0, 1], abs=1e-5)
    split = explorer.split({"changes": 1, "shift": 0.1})
    assert {one["column"] for one in split["columns"]} <= {"age", "hours"}  # all that the model sees
    assert sum(one["mean_part"] for one in split["columns"]) == pytest.approx(split["mean_gap"], abs=1e-9)


def test_the_saved_rule_and_policy_are_those_of_an_audit(
    run: Run, scored_csv: Path, served: Any, tmp_path: Path
) -> None:
    assert run("explore", scored_csv, *SCORED, "--row-id", "name").code == 2  # ignored, and the row id
    run("explore", scored_csv, *SCORED, "--threshold", 0.6, "--continuous", "age", "--weight", "hours")
    assert served[0][0].about()["weights"] == "column 'hours'"
    text = served[0][0].to_toml({"changes": 1, "shift": 0.05})
    assert Policy.from_toml_text(text).limits["min_matched_share"] > 0
    path = tmp_path / "rule.toml"
    path.write_text(text, encoding="utf-8")
    asked = (*ASKED, "--scores", "p", "--weight", "hours", "--rule", path, "--policy", path)
    outcome = run("audit", scored_csv, *asked, "--resamples", 0, "--json")
    assert outcome.code == 0, outcome.stderr
    answer = served[0][0].look({"changes": 1, "shift": 0.05})
    assert json.loads(outcome.stdout)["pairs"]["n"] == answer["n_pairs"]


BAD_USE = {
    "no scores": (ASKED, "--scores"),
    "scores and a model": ((*SCORED, "--model", "m.onnx"), "--scores and --model"),
    "no such port": ((*SCORED, "--port", "99999"), "--port"),
    "no pairs to hold": ((*SCORED, "--set", "max_pairs=0"), "--set max-pairs"),
    "unknown label": (("--label", "hird", "--sensitive", "race", "--scores", "p"), "hired"),
    "no such limit": ((*SCORED, "--set", "gap_limit=-1"), "--set gap-limit"),
    "a threshold that is none": ((*SCORED, "--threshold", "7"), "--threshold is 7"),
}


@pytest.mark.parametrize("case", BAD_USE)
def test_bad_use_is_told_in_a_line(run: Run, scored_csv: Path, served: Any, case: str) -> None:
    args, words = BAD_USE[case]
    outcome = run("explore", scored_csv, *args, "--quiet")
    assert outcome.code == 2
    assert outcome.stdout == ""
    assert words in outcome.stderr
    assert outcome.stderr.count("\n") == 1
    assert not served


def test_a_busy_port_is_told_before_the_work(run: Run, scored_csv: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        outcome = run("explore", scored_csv, *SCORED, "--port", other.getsockname()[1])
    assert outcome.code == 2
    assert "in use by another program" in outcome.stderr
    assert outcome.stderr.count("\n") == 1


def test_help_says_who_can_see_the_page(run: Run) -> None:
    outcome = run("explore", "--help")
    assert outcome.code == 0
    for words in (
        "127.0.0.1",
        "token",
        "--port",
        "--no-browser",
        "max_pairs",
        "--scores",
        "--model",
        "likewise audit",
    ):
        assert words in outcome.stdout
