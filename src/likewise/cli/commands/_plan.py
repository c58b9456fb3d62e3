"""``likewise plan``: seal what an audit will be made of, before scores are looked at."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from likewise._files import check_file, hash_file, write_file
from likewise._version import __version__
from likewise.auditing import Policy
from likewise.cli import _options as shared
from likewise.cli._columns import ColumnOptions
from likewise.cli._console import open_messages, say, tell, working
from likewise.cli._options import OUTPUT, option, option_name, takes
from likewise.cli._outputs import hash_files, now, record_command
from likewise.cli._plan import AuditOptions, AuditPlan, make_plan
from likewise.cli._tables import TableFiles
from likewise.cli.commands._audit import read_policy
from likewise.record._internal import ModelOrigin, PlannedData, SealedPlan, SettingsRecord, read_as
from likewise.schema._internal import hash_table

if TYPE_CHECKING:
    import pyarrow as pa

HELP: Final = """Seal the rule, columns, measures and policy of an audit before its scores are looked at.

[bold]Examples[/bold]

  likewise plan people.csv --label hired --sensitive race,sex --scores p --policy policy.toml --out plan.json

  likewise audit people.csv --plan plan.json --out audit

All options are those of [bold]likewise audit[/bold]. The plan has the rule, the role of every column, the measures, \
the policy, the versions, a checksum of the people (all that is compared, without scores) and of the files. No score \
is used for it: columns that --scores names are left out, and need not be in the table yet; a model is not run. An \
audit with --plan records the plan and lists where it departed from it. To show who sealed a plan, sign it with \
a tool for that, such as ssh-keygen -Y sign.

The exit code is 0 when the plan is written; 2 on invalid arguments or an unreadable file. A plan is never overwritten.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions:
    """What else is sealed, and where it is written."""

    policy: Path | None = option(None, OUTPUT, "FILE", "Limits to judge by, a TOML file.")
    out: Path = option(Path("plan.json"), OUTPUT, "FILE", "File to write.", names="--out -o")
    quiet: bool = shared.QUIET()


@takes(columns=ColumnOptions, source=TableFiles, asked=AuditOptions, options=PlanOptions)
def plan(columns: ColumnOptions, source: TableFiles, asked: AuditOptions, options: PlanOptions) -> int:
    """Read the table without its scores, and write the plan."""
    _refuse_unsealed(asked)
    check_file(options.out, [*source.data, *source.files()])
    policy = None if options.policy is None else read_policy(options.policy)
    console = open_messages(options.quiet)
    with working(console, "Reading"):
        frame, notes, text = source.read(columns.named(*asked.numbers()))
    scores = _name_scores(asked.scores or [], frame.column_names)
    present = [name for name in scores if name in frame.column_names]
    notes += [f"Column '{name}' is not in the table yet; the audit needs it." for name in scores if name not in present]
    frame = frame.drop_columns(present)
    made = make_plan(console, notes, columns, asked, frame, source.name, unread=scores, text=text)
    sealed = _seal(made, source, asked, frame, policy, has_scores=bool(present))
    write_file(options.out, json.dumps(sealed.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    say(console, sealed.rule_in_words, "")
    tell(f"Sealed at {sealed.sealed_at}, without using a score: {options.out}")
    typer.echo(f"Checksum (SHA-256) {sealed.compute_checksum()}")
    return 0


def _refuse_unsealed(asked: AuditOptions) -> None:
    """Refuse options of how pairs are searched for, which change no pair."""
    unused = {name: getattr(asked, name) for name in ("memory_limit", "pairs")}
    for name, is_given in unused.items():
        if is_given:
            raise typer.BadParameter(
                "it is no part of a plan; give it to likewise audit.", param_hint=option_name(name)
            )


def _name_scores(given: Sequence[str], known: Sequence[str]) -> list[str]:
    """Read the names of columns that need not be there yet."""
    names = [name for text in given for name in ([text] if text in known else map(str.strip, text.split(",")))]
    return list(dict.fromkeys(name for name in names if name))


def _seal(
    made: AuditPlan,
    source: TableFiles,
    asked: AuditOptions,
    frame: pa.Table,
    policy: Policy | None,
    *,
    has_scores: bool,
) -> SealedPlan:
    from likewise.auditing._internal import Reference, encode_people, find_weights, list_versions

    people = encode_people(frame, made.labels(frame), roles=made.roles, rule=made.rule, settings=made.settings)
    made.settings.check_limit(people.settled.task)
    weights = find_weights(made.settings.sample_weight, frame, len(people.table))
    reference = Reference.of(made.settings.reference or {}, people.table).values or None
    settings: dict[str, Any] = made.settings.to_dict() | {"reference": reference}
    model = None if asked.model is None else ModelOrigin(file=str(asked.model), sha256=hash_file(asked.model))
    sealed = SealedPlan(
        sealed_at=now(),
        likewise=__version__,
        versions=list_versions(),
        data=PlannedData(
            files=tuple(hash_files(source)),
            n_rows=len(people.table),
            table_checksum=hash_table(people.table),
            has_scores=has_scores,
            weights_checksum=None if weights is None else weights.checksum,
        ),
        model=model,
        roles=people.schema.roles.to_dict(),
        rule=made.rule.to_dict(),
        rule_in_words=made.rule.describe(people.schema, same_label=made.label is not None),
        settings=SettingsRecord(**settings),
        policy=None if policy is None else policy.to_dict(),
        command=record_command(made, source),
    )
    return read_as(SealedPlan, replace(sealed, checksum=sealed.compute_checksum()).to_dict())  # as its file has it
