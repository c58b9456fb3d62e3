"""The records of the command line: read, completed with files and command, and sealed plans."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from likewise._json import plain
from likewise.auditing import Policy
from likewise.cli._models import ModelFile
from likewise.cli._tables import TableFiles, name_files
from likewise.cli.audits._plan import AuditPlan
from likewise.exceptions import LikewiseError, TableFileError
from likewise.record import AuditRecord
from likewise.record._internal import (
    CommandRecord,
    DataFile,
    FormError,
    ModelOrigin,
    RecordError,
    SealedPlan,
    read_as,
)


def complete_record(
    found: AuditRecord,
    plan: AuditPlan,
    reading: TableFiles,
    model: ModelFile | None,
    files: list[DataFile] | None = None,
) -> AuditRecord:
    """Add files, model and command; ``files`` with checksums where they are not on this machine."""
    files = hash_files(reading) if files is None else files
    is_one = len(files) == 1
    scores = found.data.scores
    if len(plan.scores) > 1:
        columns, labels = ", ".join(f"'{name}'" for name in plan.scores), ", ".join(map(str, found.labels))
        scores = f"columns {columns} for the labels {labels}"
    if model is not None:
        scores = f"model file '{Path(model.file).name}'"
    data = replace(
        found.data,
        file=name_files([str(one.file) for one in files]),
        sha256=files[0].sha256 if is_one else None,
        scores=scores,
        files=tuple(files),
        model=None if model is None else read_as(ModelOrigin, model.describe()),
    )
    completed = replace(
        found,
        made_at=now(),
        data=data,
        versions={**found.versions, **({} if model is None else model.scoring.versions())},
        command=record_command(plan, reading),
    )
    return AuditRecord.of(completed)  # with plain values only, as a file holds them


def record_command(plan: AuditPlan, reading: TableFiles) -> CommandRecord:
    """Return how the table is read and scored, in plain values."""
    read_by = {"encoding": reading.encoding, "delimiter": reading.delimiter, "decimal": reading.decimal}
    return read_as(CommandRecord, plain({**read_by, **plan.to_dict()}))


def now() -> str:
    """Return the time, in a form that sorts as text."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def hash_files(reading: TableFiles) -> list[DataFile]:
    """Return each file with its checksum."""
    return [DataFile(file=str(file), sha256=hash_file(file)) for file in reading.files()]


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise TableFileError(f"'{path}' cannot be read: {error.strerror or error}.") from error


def load_json(path: Path, what: str = "the record of an audit", usual: str = "audit.json") -> Any:
    """Read the plain data of a file, which is ``what`` and usually has the name ``usual``."""
    if path.is_dir():
        raise LikewiseError(f"'{path}' is a folder. Name the {usual} in it.")
    try:
        return json.loads(path.read_bytes().decode("utf-8-sig"), parse_constant=_refuse_constant)
    except OSError as error:
        raise LikewiseError(f"'{path}' cannot be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:200].rstrip(".")
        article = "an" if usual.startswith("a") else "a"
        raise LikewiseError(f"'{path}' is not {what}: {reason}. Give {article} {usual}.") from error


def read_record(path: Path, data: Mapping[str, Any], *, to_show: bool = False) -> AuditRecord:
    """Read the plain data of an audit.json as a typed record; ``to_show`` if its parts must fit each other."""
    try:
        return AuditRecord.of(data) if to_show else AuditRecord.from_dict(data)
    except RecordError as error:
        raise LikewiseError(
            f"'{path}' is not the record of an audit: {error.fault}. Give an audit.json as it was written."
        ) from error


def read_plan(path: Path) -> SealedPlan:
    """Read a sealed plan; refuse one that was changed, or sealed later than now."""
    try:
        plan = SealedPlan.from_dict(load_json(path, "a sealed plan", "plan.json"))
    except FormError as error:
        raise LikewiseError(f"'{path}' is not a sealed plan: {error}. Give a plan.json as it was written.") from error
    if plan.sealed_at > now():
        raise LikewiseError(
            f"'{path}' was sealed at {plan.sealed_at}, and it is {now()} now. Correct the clock of this machine."
        )
    if not plan.command.scores and plan.model is None:
        raise LikewiseError(f"'{path}' names neither a column of scores nor a model. Seal the plan again.")
    try:
        AuditPlan.from_record(plan, plan.command)
        _ = None if plan.policy is None else Policy.from_dict(plan.policy)
    except LikewiseError as error:
        raise LikewiseError(f"'{path}' cannot be followed: {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise LikewiseError(f"'{path}' is incomplete or was altered: {error!r}. Seal the plan again.") from error
    return plan


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
