"""``likewise verify``: compute an audit anew, and compare it with its record."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from likewise._format import count_of
from likewise.cli import _options as shared
from likewise.cli._console import one_line, open_messages, shown, working
from likewise.cli._models import ModelFile, load_model
from likewise.cli._options import argument, takes
from likewise.cli._reading import DataFiles, TableFiles
from likewise.cli.commands._audit_record import complete_record, hash_files, read_record
from likewise.cli.commands._plan import AuditPlan, following
from likewise.exceptions import LikewiseError, NoComparablePairs, PolicyError
from likewise.report._compared import say_verdict

HELP: Final = """Recompute an audit from its record and the data, and report whether every number agrees.

[bold]Example[/bold]

  likewise verify audit/audit.json people.csv --model model.onnx

Numbers agree when they are equal within one part in a billion. The exit code is 0 when all agree; 1 when something \
does not, also when the data or the model is a different file; 2 when the audit cannot be recomputed; 4 when the \
machine fails; 130 when interrupted.
"""
TOLERANCE: Final = 1e-9
ROUNDING: Final = 1e-12  # of numbers that are zero but for rounding
N_SHOWN: Final = 10
WIDEST: Final = 100  # letters in a line
DIFFERS: Final = 1
# When and where it was made is no finding; versions and other files are told of apart.
NO_FINDINGS: Final = (
    *("made_at", "likewise", "versions", "command.schema", "data.file", "data.sha256", "data.files"),
    *("data.model.file", "data.model.sha256", "data.model.trusted"),
)
# Records of earlier versions do without these.
LATER: Final = frozenset(
    (
        *("settings.when_too_many", "command.memory_limit", "pairs.measured", "pairs.n_probed"),
        *("pairs.n_kept", "pairs.n_total_error", "pairs.n_within_kept", "pairs.n_within_total_error"),
    )
)
COMPARED: Final = ("sensitive", "discrete", "ordinal", "matched", "continuous", "row_id")

Leaf = tuple[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checking:
    """What to check, and how much to say."""

    record: Annotated[Path, argument("RECORD", "The audit.json to check.")]
    data: DataFiles
    model: shared.ModelPath = None
    trust: shared.Trust = None
    quiet: shared.Quiet = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """What agrees and what does not."""

    n_numbers: int
    n_others: int
    differences: list[tuple[str, Any, Any]]


@takes(checking=Checking)
def verify(checking: Checking) -> int:
    """Compute an audit anew, and say whether every number agrees."""
    console = open_messages(checking.quiet)
    old = read_record(checking.record)
    plan, reading = _plan_again(old, checking)
    model = _load_model(old, checking)
    with working(console, "Reading"):
        frame, _ = reading.read()
    lines = _other_files(old, reading, model)
    for line in lines:
        typer.echo(one_line(line))
    try:
        new = _compute(old, plan, reading, model, frame, console)
    except NoComparablePairs as error:
        typer.echo(one_line(f"Nothing agrees: {error}"))
        return DIFFERS
    except PolicyError as error:
        raise LikewiseError(f"The policy in '{checking.record}' cannot be applied: {error}") from error
    except (ValueError, TypeError, KeyError) as error:
        if isinstance(error, LikewiseError):
            raise
        reason = str(error).rstrip(".")
        raise LikewiseError(f"'{checking.record}' cannot be computed anew: {reason}.") from error
    unchecked = _leave_out_fairlearn(old, new)
    compared = compare(old, new)
    for note in _other_versions(old, new):
        console.print(one_line(note), soft_wrap=True)
    _report(compared)
    for line in unchecked:
        typer.echo(one_line(line))
    if not compared.differences and new["verdict"] is not None:
        typer.echo(f"The verdict on record: {say_verdict(new)}")
    return DIFFERS if compared.differences or lines else 0


def _plan_again(old: dict[str, Any], checking: Checking) -> tuple[AuditPlan, TableFiles]:
    try:
        how = {name: old["command"][name] for name in ("encoding", "delimiter", "decimal")}
        return AuditPlan.from_record(old), TableFiles(data=checking.data, **how)
    except LikewiseError as error:
        raise LikewiseError(f"'{checking.record}' cannot be computed anew: {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise LikewiseError(
            f"'{checking.record}' lacks something, or has too much: {error!r}. Give an audit.json as it was written."
        ) from error


def _load_model(old: dict[str, Any], checking: Checking) -> ModelFile | None:
    used = old["data"].get("model")
    if used is None:
        if checking.model is not None:
            raise LikewiseError(f"'{checking.record}' took its scores from the table. Leave out --model.")
        return None
    if checking.model is None:
        raise LikewiseError(
            f"'{checking.record}' took its scores from the model '{used.get('file')}'. Give that file by --model."
        )
    return load_model(checking.model, checking.trust or [])


def _other_files(old: dict[str, Any], reading: TableFiles, model: ModelFile | None) -> list[str]:
    """Say which files are not the ones of the record."""
    found = hash_files(reading)
    recorded_files = [one.get("sha256") for one in old["data"].get("files") or [old["data"]]]
    if len(found) != len(recorded_files):
        n_then = len(recorded_files)
        return [f"The data is not what was audited: {count_of(len(found), 'file')} given, {n_then:,} on record."]
    files = [
        ("data", one["file"], one["sha256"], recorded)
        for one, recorded in zip(found, recorded_files, strict=True)
        if recorded is not None  # files elsewhere have no checksum on record
    ]
    if model is not None:
        files.append(("model", model.file, model.sha256, old["data"]["model"].get("sha256")))
    return [
        line
        for what, file, found, recorded in files
        if found != recorded
        for line in (
            f"The {what} is not what was audited: '{file}' is a different file.",
            f"  SHA-256 on record  {recorded}",
            f"  SHA-256 found      {found}",
        )
    ]


def _compute(
    old: dict[str, Any], plan: AuditPlan, reading: TableFiles, model: ModelFile | None, frame: Any, console: Any
) -> dict[str, Any]:
    from likewise.auditing import Policy

    compared = [name for role in COMPARED for name in plan.roles.names(role)]
    wanted = (plan.label, *plan.scores, *plan.features, *compared)
    missing = [name for name in wanted if name not in frame.column_names]
    if missing:
        raise LikewiseError(f"'{reading.name}' has no column '{missing[0]}', which was audited. Give the same data.")
    with following(console) as progress:
        audit = plan.run(frame, model, progress)
    verdict = None if old["policy"] is None else audit.judge(Policy.from_dict(old["policy"]))
    return complete_record(audit.to_dict(verdict), plan, reading, model)


def compare(old: Any, new: Any) -> Comparison:
    """Hold two records against each other, leaf by leaf."""
    before, after = dict(_leaves(old)), dict(_leaves(new))
    nothing = "(not there)"
    loose = (*_last_digits(old), *_notes_cut_short(old, new))
    differences = []
    n_numbers = n_others = 0
    for path in (path for path in before | after if path in before or path not in LATER):
        one, other = before.get(path, nothing), after.get(path, nothing)
        if _is_number(one):
            n_numbers += 1
        else:
            n_others += 1
        if not _agree(one, other) and path not in loose:
            differences.append((path, one, other))
    return Comparison(n_numbers, n_others, differences)


def _leaves(value: Any, path: str = "") -> Iterator[Leaf]:
    """List everything in a record by its place: 'measures.gap_mean.value', 'notes[0]'."""
    if path in NO_FINDINGS:
        return
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _leaves(one, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        yield f"{path}[]", f"{len(value):,} entries"
        for position, one in enumerate(value):
            yield from _leaves(one, f"{path}[{position}]")
    else:
        yield path, value


def _last_digits(old: Any) -> tuple[str, ...]:
    """Name what is another machine's own: hashes of the last digits of a model's scores, of a table cut into parts."""
    of_model = ("data.scores_checksum", "data.scores") if old["data"].get("model") else ()
    return (*of_model, *(("data.table_checksum",) if old["command"].get("engine") == "spark" else ()))


def _notes_cut_short(old: Any, new: Any) -> Iterator[str]:
    """Name notes that Spark ends earlier: which column costs most pairs is counted where all people are at hand."""
    if old["command"].get("engine") == "spark":
        for position, (one, other) in enumerate(zip(old["notes"], new["notes"], strict=False)):
            if str(other).startswith(f"{one} Most are lost to "):
                yield f"notes[{position}]"


def _agree(one: Any, other: Any) -> bool:
    if _is_number(one) and _is_number(other):
        return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=ROUNDING)
    return type(one) is type(other) and one == other


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _other_versions(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    before = {"likewise": old["likewise"], **old["versions"]}
    after = {"likewise": new["likewise"], **new["versions"]}
    changed = [
        f"{name} {before.get(name, '(none)')} then and {after.get(name, '(none)')} now"
        for name in before | after
        if before.get(name) != after.get(name)
    ]
    if changed:
        yield f"Other versions: {', '.join(changed)}."


def _leave_out_fairlearn(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Keep numbers out of the comparison that one of the two machines could not have."""
    has_it = ["fairlearn" in record["versions"] for record in (old, new)]
    if all(has_it) or not any(has_it):
        return []
    names = ", ".join(old.pop("fairlearn") | new.pop("fairlearn")) or "nothing"
    where = "when this was recorded" if not has_it[0] else "here"
    return [f"Not checked, as fairlearn was not installed {where}: {names}."]


def _report(compared: Comparison) -> None:
    n, differences = compared.n_numbers, compared.differences
    if not differences:
        others = f"and so do {compared.n_others:,} other values"
        typer.echo(f"All {n:,} numbers agree (within {TOLERANCE:g} of their size), {others}.")
        return
    n_all = n + compared.n_others
    verb = "does" if len(differences) == 1 else "do"
    typer.echo(f"{len(differences):,} of {n_all:,} values {verb} not agree:")
    for path, one, other in differences[:N_SHOWN]:
        parts = (f"  {one_line(path)}: recorded {_told(one)}", f"found {_told(other)}")
        line = ", ".join(parts)
        typer.echo(line if len(line) <= WIDEST else ",\n    ".join(parts))
    if len(differences) > N_SHOWN:
        typer.echo(f"  ... and {len(differences) - N_SHOWN:,} more")


def _told(value: Any) -> str:
    if value is None:
        return "nothing"
    return repr(value) if _is_number(value) else shown(value, 80)
