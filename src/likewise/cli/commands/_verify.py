"""``likewise verify``: recompute an audit and compare it with its record."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import typer

from likewise._format import count_of, one_line
from likewise.cli import _options as shared
from likewise.cli._console import open_messages, say, shown, tell, working
from likewise.cli._explanations import Explanations
from likewise.cli._models import ModelFile, load_model
from likewise.cli._options import PLAN, argument, option, takes
from likewise.cli._outputs import complete_record, hash_files, load_json, read_plan, read_record
from likewise.cli._plan import AuditPlan, following
from likewise.cli._tables import DATA_FILES, TableFiles
from likewise.exceptions import LikewiseError, NoComparablePairs, ParameterError, PolicyError
from likewise.record import AuditRecord
from likewise.report._internal import sum_up_plan

HELP: Final = """Recompute an audit from its record and the data, and report whether every number agrees.

[bold]Example[/bold]

  likewise verify audit/audit.json people.csv --model model.onnx

Numbers agree when they are equal within one part in a billion. A record of an audit under a plan has the plan, which \
is checked with its departures; --plan checks that it is this plan.

The exit code is 0 when all agree; 1 when something does not, also when data, model or plan is another; 2 when the \
audit cannot be recomputed; 4 when the machine fails; 130 when interrupted.
"""
TOLERANCE: Final = 1e-9
ROUNDING: Final = 1e-12  # for numbers that are zero except for rounding
N_SHOWN: Final = 10
WIDEST: Final = 100  # letters in a line
DIFFERS: Final = 1
# When and where it was made is not a result; versions and other files are reported separately.
NOT_COMPARED: Final = (
    *("made_at", "likewise", "versions", "data.file", "data.sha256", "data.files"),
    *("data.model.file", "data.model.sha256", "data.model.trusted", "reviews"),
)
Leaf = tuple[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyOptions:
    """What to check."""

    record: Path = argument("RECORD", "The audit.json to check.")
    data: list[str] = DATA_FILES()
    model: Path | None = shared.MODEL()
    trust: list[str] | None = shared.TRUST()
    plan: Path | None = option(None, PLAN, "FILE", "The plan.json that the audit was made under, to check that too.")
    quiet: bool = shared.QUIET()


@dataclass(frozen=True, slots=True)
class Comparison:
    """What agrees and what does not."""

    n_numbers: int
    n_others: int
    differences: list[tuple[str, Any, Any]]


@takes(options=VerifyOptions)
def verify(options: VerifyOptions) -> int:
    """Recompute an audit and report whether every number agrees."""
    console = open_messages(options.quiet)
    plain = load_json(options.record)
    old = read_record(options.record, plain)
    lines = _other_plan(old, options)
    plan, source = _plan_again(old, options)
    model, explained = _load_model(old, options), Explanations.of(old)
    with working(console, "Reading"):
        frame = source.read(text=plan.text).frame
    lines += _other_files(old, source, model)
    tell(*lines)
    try:
        new = _compute(old, plan, source, model, frame, explained, console)
    except NoComparablePairs as error:
        tell(f"Nothing agrees: {error}")
        return DIFFERS
    except PolicyError as error:
        raise LikewiseError(f"The policy in '{options.record}' cannot be applied: {error}") from error
    except (ValueError, TypeError, KeyError) as error:
        if isinstance(error, LikewiseError) and not isinstance(error, ParameterError):
            raise
        reason = str(error).rstrip(".")
        raise LikewiseError(f"'{options.record}' cannot be recomputed: {reason}.") from error
    compared = compare(plain, new.to_dict(), _machine_dependent(old))
    say(console, *_other_versions(old, new))
    _report(compared, old)
    if old.plan is not None and not (lines or compared.differences):
        tell(f"Plan: {sum_up_plan(old)}")
    if not compared.differences and new.verdict is not None:
        typer.echo(f"Recorded verdict: {None if new.verdict is None else new.verdict.headline}")
    return DIFFERS if compared.differences or lines else 0


def _plan_again(old: AuditRecord, options: VerifyOptions) -> tuple[AuditPlan, TableFiles]:
    command = old.command
    if command is None:
        raise LikewiseError(
            f"'{options.record}' does not record how its table was read and scored, so it cannot be recomputed. Give "
            "an audit.json that 'likewise audit --out' wrote."
        )
    try:
        source = TableFiles(
            data=options.data,
            encoding=command.encoding,
            delimiter=command.delimiter,
            decimal=command.decimal,
            missing_values=list(command.missing_values),
        )
        return AuditPlan.from_record(old, command), source
    except LikewiseError as error:
        raise LikewiseError(f"'{options.record}' cannot be recomputed: {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise LikewiseError(
            f"'{options.record}' is incomplete or was altered: {error!r}. Give an audit.json as it was written."
        ) from error


def _other_plan(old: AuditRecord, options: VerifyOptions) -> list[str]:
    """List what is wrong with the plan that an audit was made under."""
    given = None if options.plan is None else read_plan(options.plan)
    if old.plan is None:
        return [] if given is None else [f"'{options.record}' names no plan: the audit was not made under one."]
    sealed = old.plan.sealed
    lines = []
    if not sealed.is_intact:
        lines.append("The plan in the record was changed after it was sealed: its checksum is wrong.")
    if sealed.sealed_at > (old.made_at or ""):
        lines.append(f"The plan was sealed at {sealed.sealed_at}, after the audit, made at {old.made_at}.")
    if given is not None and given.checksum != sealed.checksum:
        lines += [
            f"The audit was made under another plan than '{options.plan}'.",
            f"  checksum on record  {sealed.checksum}",
            f"  checksum found      {given.checksum}",
        ]
    return lines


def _load_model(old: AuditRecord, options: VerifyOptions) -> ModelFile | None:
    used = old.data.model
    if used is None:
        if options.model is not None:
            raise LikewiseError(f"'{options.record}' took its scores from the table. Leave out --model.")
        return None
    if options.model is None:
        raise LikewiseError(
            f"'{options.record}' took its scores from the model '{used.file}'. Give that file with --model."
        )
    return load_model(options.model, options.trust or [])


def _other_files(old: AuditRecord, source: TableFiles, model: ModelFile | None) -> list[str]:
    """List the files that are not those of the record."""
    found = hash_files(source)
    recorded = [one.sha256 for one in old.data.files or (old.data,)]
    printed = old.data.sha256  # of a single file, beside its entry in the list
    if len(found) != len(recorded):
        n_then = len(recorded)
        return [f"The data is not what was audited: {count_of(len(found), 'file')} given, {n_then:,} on record."]
    files = [
        ("data", one.file, one.sha256, sha256)
        for one, sha256 in zip(found, recorded, strict=True)
        if sha256 is not None  # files elsewhere have no checksum on record
    ]
    if printed is not None and printed != recorded[0]:
        files.append(("data", found[0].file, found[0].sha256, printed))
    if model is not None and old.data.model is not None:
        files.append(("model", model.file, model.sha256, old.data.model.sha256 or ""))
    return [
        line
        for what, file, sha256, then in files
        if sha256 != then
        for line in (
            f"The {what} is not what was audited: '{file}' is a different file.",
            f"  SHA-256 on record  {then}",
            f"  SHA-256 found      {sha256}",
        )
    ]


def _compute(
    old: AuditRecord,
    plan: AuditPlan,
    source: TableFiles,
    model: ModelFile | None,
    frame: Any,
    explained: Explanations,
    console: Any,
) -> AuditRecord:
    from likewise.auditing import Policy

    missing = [
        name
        for name in (*plan.scores, *plan.features, *plan.compared, *plan.settings.columns)
        if name not in frame.column_names
    ]
    if missing:
        raise LikewiseError(f"'{source.name}' has no column '{missing[0]}', which was audited. Give the same data.")
    with following(console) as progress:
        audit = explained.add_to(plan.run(frame, model, progress), plan, frame, model, progress)
    verdict = None if old.policy is None else audit.judge(Policy.from_dict(old.policy))
    new = complete_record(audit.to_record(verdict), plan, source, model)
    if old.plan is None:
        return new
    # versions and files of the audit are on record; those found now are reported by themselves
    then = replace(new, likewise=old.likewise, versions=old.versions, data=replace(new.data, files=old.data.files))
    return replace(new, plan=then.under(old.plan.sealed).plan)


def compare(old: Mapping[str, Any], new: Mapping[str, Any], apart: Collection[str] = ()) -> Comparison:
    """Compare two records, as plain data, leaf by leaf, but for what is at the places ``apart``."""
    before, after = (dict(_leaves(one, frozenset((*NOT_COMPARED, *apart)))) for one in (old, new))
    nothing = "(absent)"
    differences = []
    n_numbers = n_others = 0
    for path in before | after:
        one, other = before.get(path, nothing), after.get(path, nothing)
        if _is_number(one):
            n_numbers += 1
        else:
            n_others += 1
        if not _agree(one, other):
            differences.append((path, one, other))
    return Comparison(n_numbers, n_others, differences)


def _leaves(value: Any, apart: frozenset[str], path: str = "") -> Iterator[Leaf]:
    """List everything in a record by its place: 'measures.gap_mean.value', 'worst_pairs[0].gap'."""
    if path in apart:
        return
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _leaves(one, apart, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        yield f"{path}[]", f"{len(value):,} entries"
        for position, one in enumerate(value):
            yield from _leaves(one, apart, f"{path}[{position}]")
    else:
        yield path, value


def _machine_dependent(old: AuditRecord) -> tuple[str, ...]:
    """Name what may differ between machines: checksums of a model's scores."""
    return () if old.data.model is None else ("data.scores_checksum", "data.scores")


def _agree(one: Any, other: Any) -> bool:
    if _is_number(one) and _is_number(other):
        return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=ROUNDING)
    return type(one) is type(other) and one == other


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _other_versions(old: AuditRecord, new: AuditRecord) -> Iterator[str]:
    before = {"likewise": old.likewise, **old.versions}
    after = {"likewise": new.likewise, **new.versions}
    changed = [
        f"{name} {before.get(name, '(none)')} then and {after.get(name, '(none)')} now"
        for name in before | after
        if before.get(name) != after.get(name)
    ]
    if changed:
        yield f"Other versions: {', '.join(changed)}."


def _report(compared: Comparison, old: AuditRecord) -> None:
    n, differences = compared.n_numbers, compared.differences
    if not differences:
        others = f"and so do {compared.n_others:,} other values; not recomputed: {', '.join(_taken_as_they_are(old))}"
        tell(f"All {n:,} numbers agree (relative tolerance {TOLERANCE:g}), {others}.")
        return
    n_all = n + compared.n_others
    verb = "does" if len(differences) == 1 else "do"
    typer.echo(f"{len(differences):,} of {n_all:,} values {verb} not agree:")
    for path, one, other in differences[:N_SHOWN]:
        parts = (f"  {one_line(path)}: recorded {_printed(one)}", f"found {_printed(other)}")
        line = ", ".join(parts)
        typer.echo(line if len(line) <= WIDEST else ",\n    ".join(parts))
    if len(differences) > N_SHOWN:
        typer.echo(f"  ... and {len(differences) - N_SHOWN:,} more")


def _taken_as_they_are(old: AuditRecord) -> Iterator[str]:
    """Name what a record says that no data can show."""
    yield "the time of the audit"
    yield "names of files"
    if old.data.model is not None:
        yield "the checksum of the model's scores"
    if old.reviews:
        yield f"what {count_of(len(old.reviews), 'review')} found (reviewers, dates, dispositions, reasons)"


def _printed(value: Any) -> str:
    if value is None:
        return "nothing"
    return repr(value) if _is_number(value) else shown(value, 80)
