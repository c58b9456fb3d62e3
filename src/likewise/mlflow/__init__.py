"""Audits in MLflow: numbers, record and report of a run, and an evaluator for ``mlflow.models.evaluate``."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from likewise._extras import require
from likewise.auditing import Audit, Policy, Verdict, audit
from likewise.auditing._internal import split_key
from likewise.exceptions import ParameterError

__all__ = ["AuditEvaluator", "log_audit"]

PREFIX: Final = "likewise"  # of metrics and tags, and the folder of the artifacts
MOST_IN_A_BATCH: Final = 1000  # metrics that MLflow takes at a time
LONGEST_TAG: Final = 5000  # letters
UNUSABLE: Final = re.compile(r"[^\w./ -]")  # in the name of a metric


@dataclass(frozen=True, slots=True)
class _Logged:
    """What was logged, and where it lies."""

    run_id: str
    metrics: dict[str, float]
    uris: dict[str, str]  # of the artifacts, by file
    texts: dict[str, str]


def log_audit(
    audit: Audit, policy: Policy | str | Path | None = None, *, run_id: str | None = None, name: str = PREFIX
) -> dict[str, float]:
    """Log an audit to an MLflow run: its measures as metrics, rule and verdict as tags, record and report as artifacts.

    Parameters
    ----------
    audit : Audit
    policy : Policy, or path of a TOML file, optional
        Limits to judge by; the verdict is the tag ``likewise.verdict``, and heads the report.
    run_id : str, optional
        The run to log to; by default the active run, or a new one.
    name : str
        Begins the names of metrics, and is the folder of the artifacts ``audit.json`` and ``report.html``. Give audits
        of one run different names.

    Returns
    -------
    dict of str to float
        The metrics, such as ``likewise/gap_mean``, and ``likewise/gap_mean/1`` of the label 1; ends of an interval are
        ``likewise/gap_mean_low`` and ``_high``.

    Examples
    --------
    >>> import mlflow  # doctest: +SKIP
    >>> from likewise import audit, load_dataset
    >>> from likewise.mlflow import log_audit
    >>> data = load_dataset("planted")
    >>> found = audit(data.scores, data.test.X, data.test.y, roles=data.roles, rule=data.rule)
    >>> with mlflow.start_run():  # doctest: +SKIP
    ...     log_audit(found, "policy.toml")["likewise/gap_mean"]
    0.0616
    """
    if not isinstance(audit, Audit):
        raise ParameterError(f"is a {type(audit).__name__}. Give what likewise.audit returns.", "audit")
    verdict = None if policy is None else audit.judge(policy)
    mlflow = require("mlflow", "mlflow", "Logging an audit")
    if run_id is None:
        run_id = (mlflow.active_run() or mlflow.start_run()).info.run_id
    return _log(mlflow, audit, verdict, str(run_id), name).metrics


def _log(mlflow: Any, found: Audit, verdict: Verdict | None, run_id: str, name: str) -> _Logged:
    client = mlflow.MlflowClient()
    metrics = _name_metrics(found, name)
    tags = {"rule": found.record.rule_in_words, "data": found.record.data.table_checksum or "unknown"}
    tags |= {} if verdict is None else {"verdict": verdict.outcome, "reason": str(verdict)}
    for key, text in tags.items():
        client.set_tag(run_id, f"{name}.{key}", text[:LONGEST_TAG])
    now = time.time_ns() // 1_000_000
    entries = [mlflow.entities.Metric(key, value, now, 0) for key, value in metrics.items()]
    for start in range(0, len(entries), MOST_IN_A_BATCH):
        client.log_batch(run_id, metrics=entries[start : start + MOST_IN_A_BATCH])
    texts = {
        "audit.json": json.dumps(found.to_dict(verdict), allow_nan=False),
        "report.html": found.to_html(verdict=verdict),
    }
    for file, text in texts.items():
        client.log_text(run_id, text, f"{name}/{file}")
    base = client.get_run(run_id).info.artifact_uri.rstrip("/")
    return _Logged(run_id, metrics, {file: f"{base}/{name}/{file}" for file in texts}, texts)


def _name_metrics(found: Audit, name: str) -> dict[str, float]:
    """Return every number that was measured, with the ends of its interval."""
    named: dict[str, float | None] = {f"{name}/pairs": float(found.record.pairs.n)}
    for key, one in found.measures.items():
        measure, part = split_key(key)
        measure += "" if part is None else f"/{UNUSABLE.sub('_', part)}"
        named |= {f"{name}/{measure}{end}": value for end, value in zip(("", "_low", "_high"), _ends(one), strict=True)}
    return {key: float(value) for key, value in named.items() if value is not None}


def _ends(measure: Any) -> tuple[float | None, float | None, float | None]:
    return measure.value, measure.low, measure.high


class AuditEvaluator:
    """Audit a model in ``mlflow.models.evaluate(..., evaluators="likewise")``, and log the audit to its run.

    MLflow finds it by its name where likewise is installed. ``evaluator_config`` has the arguments of
    :func:`likewise.audit`, of which ``roles`` is required, and optionally ``policy``: limits, or the path of a TOML
    file. Predictions should be probabilities of the positive label; a fitted model with ``predict_proba`` that MLflow
    can unwrap is asked for them.

    Examples
    --------
    >>> import mlflow  # doctest: +SKIP
    >>> mlflow.models.evaluate(  # doctest: +SKIP
    ...     data=people, targets="hired", predictions="p", model_type="classifier",
    ...     evaluators="likewise", evaluator_config={"roles": roles, "policy": "policy.toml"},
    ... ).metrics["likewise/gap_mean"]
    0.0616
    >>> from likewise.mlflow import AuditEvaluator
    >>> AuditEvaluator.can_evaluate(model_type="classifier", evaluator_config={})
    False
    """

    @classmethod
    def can_evaluate(cls, *, model_type: str, evaluator_config: Mapping[str, Any] | None, **others: Any) -> bool:
        """Whether there are roles: MLflow asks every evaluator that is installed.

        Parameters
        ----------
        model_type : str
        evaluator_config : mapping
        **others
            What later versions of MLflow may pass.

        Returns
        -------
        bool
        """
        return "roles" in (evaluator_config or {})

    def evaluate(
        self, *, dataset: Any, run_id: str, evaluator_config: Mapping[str, Any], model: Any = None, **others: Any
    ) -> Any:
        """Audit the predictions of a data set, log the audit, and return MLflow's result.

        Parameters
        ----------
        dataset : mlflow.models.EvaluationDataset
        run_id : str
        evaluator_config : mapping
            Arguments of :func:`likewise.audit`, and ``policy``.
        model : mlflow.pyfunc.PyFuncModel, optional
            Otherwise the data set has predictions.
        **others
            What MLflow has for other evaluators.

        Returns
        -------
        mlflow.models.EvaluationResult
        """
        mlflow = require("mlflow", "mlflow", "The evaluator")
        require("mlflow.models.evaluation.artifacts", "mlflow", "The evaluator")
        arguments = dict(evaluator_config)
        policy, name = arguments.pop("policy", None), arguments.pop("name", PREFIX)
        labels = dataset.labels_data if dataset.has_targets else None
        scores = dataset.predictions_data if model is None else _scorer(model)
        if scores is None:
            raise ParameterError(
                "is missing: there is no model, and the data set has no predictions. Give one of them.", "predictions"
            )
        found = audit(scores, dataset.features_data, labels, **arguments)
        logged = _log(mlflow, found, None if policy is None else found.judge(policy), run_id, name)
        kinds = mlflow.models.evaluation.artifacts
        artifacts = {
            f"{name}/audit.json": kinds.JsonEvaluationArtifact(
                uri=logged.uris["audit.json"], content=json.loads(logged.texts["audit.json"])
            ),
            f"{name}/report.html": kinds.TextEvaluationArtifact(
                uri=logged.uris["report.html"], content=logged.texts["report.html"]
            ),
        }
        return mlflow.models.EvaluationResult(metrics=logged.metrics, artifacts=artifacts, run_id=run_id)


def _scorer(model: Any) -> Any:
    """Return the model inside MLflow's wrapper where it has probabilities, else the wrapper's prediction."""
    try:
        raw = model.get_raw_model()
    except Exception:  # a wrapper without one raises what it likes
        raw = None
    return raw if hasattr(raw, "predict_proba") else model.predict
