"""The record of an audit: what the library found, with the files it was found in and how to have it again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from likewise.cli._models import ModelFile
from likewise.cli._plan import Plan
from likewise.cli._reading import Reading
from likewise.exceptions import LikewiseError, TableFileError

TABLES: Final = ("data", "roles", "rule", "settings", "versions", "fairlearn")


def complete_record(found: Mapping[str, Any], plan: Plan, reading: Reading, model: ModelFile | None) -> dict[str, Any]:
    """Add what the library cannot know."""
    data = {**found["data"], "file": str(reading.data), "sha256": hash_file(reading.data)}
    if len(plan.scores) > 1:
        data["scores"] = "columns " + ", ".join(f"'{name}'" for name in plan.scores)
    if model is not None:
        data["scores"] = f"model file '{Path(model.file).name}'"
    data["model"] = None if model is None else model.describe()
    command = {
        **{"encoding": reading.encoding, "delimiter": reading.delimiter, "decimal": reading.decimal},
        **plan.to_dict(),
    }
    made_at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    versions = {**found["versions"], **({} if model is None else model.scoring.versions())}
    return {**found, "made_at": made_at, "data": data, "versions": versions, "command": command}


def hash_file(path: Path) -> str:
    """Name the bytes of a file."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise TableFileError(f"'{path}' cannot be read: {error.strerror or error}.") from error


def read_record(path: Path) -> dict[str, Any]:
    """Read an audit.json, or say why it is none."""
    from likewise.report._words import check_record

    if path.is_dir():
        raise LikewiseError(f"'{path}' is a folder. Name the audit.json in it.")
    try:
        record = json.loads(path.read_bytes().decode("utf-8-sig"), parse_constant=_refuse_constant)
        check_record(record)
    except OSError as error:
        raise LikewiseError(f"'{path}' cannot be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:200].rstrip(".")
        raise LikewiseError(f"'{path}' is not the record of an audit: {reason}. Give an audit.json.") from error
    wrong = [key for key in TABLES if not isinstance(record[key], dict)]
    if wrong:
        raise LikewiseError(
            f"'{path}' is not the record of an audit: its {wrong[0]} hold no names. Give an audit.json."
        )
    if not isinstance(record.get("command"), dict) or not isinstance(record["data"].get("model"), dict | None):
        raise LikewiseError(
            f"'{path}' does not say how its table was read and scored, so it cannot be computed anew. Give an "
            "audit.json that 'likewise audit --out' wrote."
        )
    return dict(record)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
