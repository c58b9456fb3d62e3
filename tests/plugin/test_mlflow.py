"""MLflow: an audit in a run of a real store, by itself and by the evaluator that MLflow finds by its name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from likewise import audit, load_dataset
from likewise.exceptions import ParameterError
from likewise.mlflow import AuditEvaluator, log_audit

ROOT = Path(__file__).parents[2]
PROGRAM = """
import json, logging, warnings
logging.disable(logging.INFO)
import mlflow
from likewise import audit, load_dataset
from likewise.mlflow import log_audit

mlflow.set_tracking_uri("sqlite:///store.db")
mlflow.set_experiment(experiment_id=mlflow.create_experiment("people", artifact_location="artifacts"))
data = load_dataset("planted")
how = {"roles": data.roles, "rule": data.rule, "n_resamples": 50}
found = audit(data.scores, data.test.X, data.test.y, **how)
with mlflow.start_run() as run:
    logged = log_audit(found, "policy.toml")
again = log_audit(found, run_id=run.info.run_id, name="again")
people = data.test.X.assign(repaid=data.test.y, p=data.scores(data.test.X))
asked = {"targets": "repaid", "model_type": "classifier", "evaluators": "likewise"}
with mlflow.start_run() as second:
    by_column = mlflow.models.evaluate(
        data=people, predictions="p", evaluator_config=how | {"policy": "policy.toml"}, **asked
    )
with mlflow.start_run():
    by_model = mlflow.models.evaluate(data.scores, people.drop(columns="p"), evaluator_config=how, **asked)
client = mlflow.MlflowClient()
kept = client.get_run(run.info.run_id).data
other = client.get_run(second.info.run_id).data
print(json.dumps({
    "logged": logged, "again": again, "kept": kept.metrics, "tags": kept.tags,
    "report": client.download_artifacts(run.info.run_id, "likewise/report.html"),
    "record": client.download_artifacts(second.info.run_id, "likewise/audit.json"),
    "by_column": by_column.metrics, "in_second": other.metrics, "second_tags": other.tags,
    "by_model": by_model.metrics, "content": by_column.artifacts["likewise/audit.json"].content["pairs"]["n"],
}))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mlflow")


@pytest.fixture(scope="module")
def told(folder: Path) -> dict[str, Any]:
    """Run the program in a process of its own, with the entry points of the project, whatever was installed."""
    if find_spec("mlflow") is None or find_spec("alembic") is None:
        pytest.skip("MLflow, or its store, is not on this machine")
    points = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]
    group = "mlflow.model_evaluator"
    about = folder / "site" / "entry-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: entry\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{group}]\nlikewise = {points[group]['likewise']}\n")
    (folder / "policy.toml").write_text("max_gap_mean = 0.01\n")
    paths = [str(ROOT / "src"), str(folder / "site"), os.environ.get("PYTHONPATH", "")]
    settings = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "MLFLOW_DISABLE_TELEMETRY": "true"}
    program = [sys.executable, "-c", PROGRAM]
    ended = subprocess.run(program, cwd=folder, env=settings, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return found


def measured() -> Any:
    data = load_dataset("planted")
    return audit(data.scores, data.test.X, data.test.y, roles=data.roles, rule=data.rule, n_resamples=50)


def test_a_run_holds_the_numbers_of_the_audit_and_its_evidence(told: dict[str, Any]) -> None:
    found = measured()
    assert told["logged"]["likewise/gap_mean"] == found["gap_mean"].value
    ends = [told["kept"][f"likewise/gap_mean_{end}"] for end in ("low", "high")]
    assert ends == [found["gap_mean"].low, found["gap_mean"].high]
    assert told["logged"].items() <= told["kept"].items()
    assert told["again"]["again/pairs"] == len(found.pairs)
    assert told["tags"]["likewise.verdict"] == "fail"
    assert told["tags"]["likewise.rule"] == found.record.rule_in_words
    assert Path(told["report"]).read_text("utf-8").startswith("<!DOCTYPE html>")


def test_the_evaluator_audits_predictions_and_models(told: dict[str, Any], folder: Path) -> None:
    assert told["by_column"] == told["by_model"] == told["logged"]
    assert told["by_column"].items() <= told["in_second"].items()
    assert told["second_tags"]["likewise.verdict"] == "fail"
    record = json.loads((folder / told["record"]).read_text("utf-8"))
    assert record["verdict"]["outcome"] == "fail"
    assert record["pairs"]["n"] == told["content"] == 134


def test_without_roles_the_evaluator_stands_aside() -> None:
    assert not AuditEvaluator.can_evaluate(model_type="classifier", evaluator_config=None)
    assert AuditEvaluator.can_evaluate(model_type="classifier", evaluator_config={"roles": 1}, later=True)


def test_what_is_no_audit_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"audit is a dict\. Give what likewise\.audit returns"):
        log_audit({"gap_mean": 0.1})  # type: ignore[arg-type]
