"""The record of an audit: what the library found, with the files it was found in and how to have it again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from likewise._format import count_of
from likewise.cli._console import shown
from likewise.cli._models import ModelFile
from likewise.cli._reading import TableFiles
from likewise.cli.commands._plan import AuditPlan
from likewise.exceptions import LikewiseError, TableFileError

TABLES: Final = ("data", "roles", "rule", "settings", "versions", "fairlearn")
TEXTS: Final = ("label", "encoding", "delimiter", "decimal", "engine", "memory_limit")


def complete_record(
    found: Mapping[str, Any],
    plan: AuditPlan,
    reading: TableFiles,
    model: ModelFile | None,
    files: list[dict[str, str | None]] | None = None,
) -> dict[str, Any]:
    """Add what the library cannot know; ``files`` with checksums, where they are not on this machine."""
    files = hash_files(reading) if files is None else files
    is_one = len(files) == 1
    name = str(files[0]["file"])
    data = {
        **found["data"],
        "file": name if is_one else f"{name} and {count_of(len(files) - 1, 'more file')}",
        "sha256": files[0]["sha256"] if is_one else None,
        "files": files,
    }
    if len(plan.scores) > 1:
        columns, labels = ", ".join(f"'{name}'" for name in plan.scores), ", ".join(map(str, found["labels"]))
        data["scores"] = f"columns {columns} for the labels {labels}"
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


def hash_files(reading: TableFiles) -> list[dict[str, str | None]]:
    """Name the bytes of each file."""
    return [{"file": str(file), "sha256": hash_file(file)} for file in reading.files()]


def hash_file(path: Path) -> str:
    """Name the bytes of a file."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise TableFileError(f"'{path}' cannot be read: {error.strerror or error}.") from error


def open_record(path: Path) -> dict[str, Any]:
    """Read an audit.json, or say why it is none."""
    from likewise.report._words import FORMAT, check_record

    if path.is_dir():
        raise LikewiseError(f"'{path}' is a folder. Name the audit.json in it.")
    try:
        record = json.loads(path.read_bytes().decode("utf-8-sig"), parse_constant=_refuse_constant)
        known_as = record.get("format") if isinstance(record, dict) else None
        if known_as != FORMAT:
            raise ValueError(f"its format is {shown(known_as, 40)}, not {FORMAT}")
        check_record(record)
    except OSError as error:
        raise LikewiseError(f"'{path}' cannot be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:200].rstrip(".")
        raise LikewiseError(
            f"'{path}' is not the record of an audit that this version reads: {reason}. Give an audit.json."
        ) from error
    wrong = [key for key in TABLES if not isinstance(record[key], dict)]
    if wrong:
        raise LikewiseError(
            f"'{path}' is not the record of an audit: its {wrong[0]} hold no names. Give an audit.json."
        )
    return dict(record)


def read_record(path: Path) -> dict[str, Any]:
    """Read an audit.json that says how its table was read and scored."""
    record = open_record(path)
    command = record.get("command")
    if not isinstance(command, dict) or not isinstance(record["data"].get("model"), dict | None):
        raise LikewiseError(
            f"'{path}' does not say how its table was read and scored, so it cannot be computed anew. Give an "
            "audit.json that 'likewise audit --out' wrote."
        )
    odd = [name for name in TEXTS if not isinstance(command.get(name), str | None)]
    if odd:
        raise LikewiseError(
            f"'{path}' has {command[odd[0]]!r} as {odd[0]}, which is not text. Give it as it was written."
        )
    return record


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
