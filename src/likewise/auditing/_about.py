"""What it takes to have the same numbers again: who was asked what, with which program."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from importlib import metadata
from typing import Any, Final

import numpy as np

from likewise._plain import plain
from likewise._version import __version__
from likewise.auditing._gathering import Gathered
from likewise.auditing._question import Question
from likewise.schema import CodedTable

PACKAGES: Final = ("numpy", "scipy", "scikit-learn", "numba", "narwhals", "pyarrow", "fairlearn")
ARRAYS: Final = ("sensitive", "discrete", "ordinal", "matched", "continuous", "labels")


def describe_audit(
    question: Question, gathered: Gathered, within: Gathered | None, settings: Mapping[str, Any]
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
            "table_checksum": hash_table(table),
            "scores_checksum": _hash_array(scores.values),
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
        "settings": dict(settings),
        "versions": _list_versions(),
        "pairs": {
            "n": len(gathered.pairs),
            "n_total": gathered.n_total,
            "n_within": None if within is None else len(within.pairs),
            "n_within_total": None if within is None else within.n_total,
        },
    }


def hash_table(table: CodedTable) -> str:
    """Name the content of a coded table: the same on every machine, whatever frame it came from."""
    digest = hashlib.sha256()
    known = {"names": table.names, "categories": table.categories, "classes": table.classes}
    digest.update(json.dumps(plain(known), sort_keys=True).encode())
    for name in ARRAYS:
        digest.update(_hash_array(getattr(table, name)).encode())
    return digest.hexdigest()


def _hash_array(array: Any) -> str:
    values = np.ascontiguousarray(array)
    kind = "<f8" if values.dtype.kind == "f" else "<i8"
    return hashlib.sha256(str(values.shape).encode() + values.astype(kind).tobytes()).hexdigest()


def _list_versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions
