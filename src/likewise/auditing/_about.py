"""What it takes to have the same numbers again: who was asked what, with which program."""

from __future__ import annotations

import platform
from importlib import metadata
from typing import Any, Final

from likewise._version import __version__
from likewise.auditing._gathering import Gathered
from likewise.auditing._question import Question
from likewise.auditing._settings import AuditSettings
from likewise.schema._internal import hash_array, hash_table

PACKAGES: Final = ("numpy", "scipy", "scikit-learn", "numba", "narwhals", "pyarrow", "fairlearn")


def describe_audit(
    question: Question, gathered: Gathered, within: Gathered | None, settings: AuditSettings
) -> dict[str, Any]:
    """Collect the record's head."""
    scores, table, roles = question.scores, question.table, question.schema.roles
    labels = table.classes.tolist()
    positive = scores.positive
    return {
        "likewise": __version__,
        "made_at": None,
        "data": {
            "file": None,
            "sha256": None,
            "n_rows": len(table),
            "table_checksum": question.checksum or hash_table(table),
            "scores_checksum": hash_array(scores.values),
            "scores": question.origin,
        },
        "roles": roles.to_dict(),
        "rule": question.rule.to_dict(),
        "rule_in_words": question.rule.describe(roles, same_label=scores.task != "regression"),
        "task": scores.task,
        "positive": labels[positive] if positive is not None and positive < len(labels) else None,
        "labels": labels if scores.task != "regression" else [],
        "threshold": scores.threshold,
        "scale": scores.scale,
        "settings": settings.to_dict(),
        "versions": _list_versions(),
        "pairs": describe_pairs(gathered, within),
    }


def describe_pairs(gathered: Gathered, within: Gathered | None) -> dict[str, Any]:
    """Say how many pairs there are, how many of them were measured, and how many intervals rest on."""
    found: dict[str, Any] = {
        "measured": "all" if gathered.is_complete else "sample",
        "n_probed": None if gathered.probed is None else len(gathered.probed),
    }
    for name, one in {"n": gathered, "n_within": within}.items():
        found |= {
            name: None if one is None else one.n_measured,
            f"{name}_total": None if one is None else one.n_total,
            f"{name}_kept": None if one is None else len(one.pairs),
            f"{name}_total_error": None if one is None else one.n_total_error,
        }
    return found


def _list_versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions
