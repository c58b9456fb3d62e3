"""Audits in MLflow: numbers, record and report of a run, and an evaluator for ``mlflow.models.evaluate``."""

from likewise.mlflow._logging import AuditEvaluator, log_audit

__all__ = ["AuditEvaluator", "log_audit"]
