"""Questions and findings → plain data, for ``--json`` and to go with a file of pairs."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likewise import __version__
from likewise._json import plain
from likewise.cli._findings import Findings, example_values
from likewise.comparable import Comparability
from likewise.schema import Roles

if TYPE_CHECKING:
    import pyarrow as pa


def record_question(data: Path, roles: Roles, rule: Comparability, how: dict[str, Any]) -> dict[str, Any]:
    """Say what it takes to have the same findings again: program, file, roles, rule, and how they were asked for."""
    with data.open("rb") as file:
        checksum = hashlib.file_digest(file, "sha256").hexdigest()
    return {
        "likewise": __version__,
        "file": str(data),
        "sha256": checksum,
        "roles": roles.to_dict(),
        "rule": rule.to_dict(),
        **how,
    }


def record_findings(
    findings: Findings, question: dict[str, Any], frame: pa.Table, roles: Roles, *, out: str | None
) -> dict[str, Any]:
    """Say everything once: what was asked, and what was found."""
    partnered = findings.partnered_by_label
    record: dict[str, Any] = plain(
        {
            **question,
            "n_rows": findings.n_rows,
            "n_pairs": findings.n_pairs,
            "n_pairs_total": findings.n_total,
            "is_complete": findings.is_complete,
            "n_with_partner": None if partnered is None else sum(partnered.values()),
            "by_label": [
                {
                    "label": label,
                    "n_rows": findings.people_by_label[label],
                    "n_with_partner": None if partnered is None else partnered[label],
                    "n_pairs": n,
                }
                for label, n in findings.by_label.items()
            ],
            "by_transition": [
                {
                    "one": dict(zip(roles.sensitive, first, strict=True)),
                    "other": dict(zip(roles.sensitive, second, strict=True)),
                    "n_pairs": n,
                }
                for (first, second), n in findings.by_transition.items()
            ],
            "examples": [_record_example(frame, roles, left, right) for left, right in findings.examples],
            "out": out,
        }
    )
    return record


def _record_example(frame: pa.Table, roles: Roles, left: int, right: int) -> dict[str, Any]:
    values = example_values(frame, roles, left, right)
    return {
        "left_row": left,
        "right_row": right,
        "label": values[str(roles.label)][0],
        "differs": {name: list(both) for name, both in values.items() if both[0] != both[1]},
    }
