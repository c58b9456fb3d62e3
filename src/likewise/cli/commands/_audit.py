"""``likewise audit``: read a table, score it, measure, judge, write and show."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from likewise._files import KIND_OF_AUDITS, new_folder
from likewise.cli import _options as shared
from likewise.cli._columns import ColumnOptions
from likewise.cli._console import open_messages, print_json, print_result, say, working
from likewise.cli._explanations import ExplanationOptions, Explanations
from likewise.cli._options import OUTPUT, first, given_options, option, takes
from likewise.cli._plan import (
    AuditOptions,
    AuditPlan,
    AuditRun,
    PlannedAuditOptions,
    follow_plan,
    following,
    make_plan,
)
from likewise.cli._tables import TableFiles
from likewise.exceptions import LikewiseError, PolicyError

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console

    from likewise.auditing import Audit, Policy, Verdict
    from likewise.record._internal import SealedPlan

HELP: Final = """Measure how differently a model scores comparable people, and judge it by a policy.

  likewise audit people.csv --label hired --sensitive race,sex --scores p

  likewise audit people.csv --label hired --sensitive sex --model model.onnx --policy policy.toml --out audit
"""
MORE: Final = """[bold]More examples[/bold]

  likewise audit applications.csv --sensitive sex --scores decision --favourable approved

  likewise audit survey.csv --label hired --sensitive sex --scores p --weight person_weight

  likewise audit people.csv --plan plan.json --out audit

  likewise audit part-*.parquet --label hired --sensitive sex --scores p --memory-limit "2 GB"

Scores come from a column, or from a model file that scores the rows: ONNX, or scikit-learn in the skops format. A \
pickle is refused: loading one may run code that is in it. Several files, or a folder of Parquet files, are one \
table, in the order given. If there are more pairs than max_pairs, all of them are still measured in a stream (means, \
counts and maxima exactly, quantiles within 0.1%), and confidence intervals are computed from a sample of that many.

A policy is a TOML file of limits, such as max_gap_mean = 0.2, max_flip_rate = 0.05 or min_roc_auc = 0.8; a limit is \
met when the whole confidence interval meets it. With --out, audit.json, report.html, audit.md, junit.xml, \
worst_pairs.parquet and review_sheet.csv are written to that folder, which may be new, empty, or an earlier audit that \
nobody changed; [bold]likewise verify[/bold] recomputes audit.json. Columns are named, and missing values written, as \
for [bold]likewise pairs[/bold]. Beside a policy nobody is printed unless --set rows=true asks for it, and audit.md \
shows nobody: both end in logs of builds.

With --plan, columns, rule, measures and policy are those that [bold]likewise plan[/bold] sealed. Options that are \
given beside it replace the plan's (options of columns, or of the rule, all of them), and every departure is in the \
record and on the report.

The exit code is 0 when the policy is met or there is none; 1 when it is not met; 2 on invalid arguments or an \
unreadable file; 3 when the audit is inconclusive: too few pairs, no pairs (then no file is written), or a confidence \
interval on both sides of a limit; 4 when the machine fails, for example out of memory; 130 when interrupted.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultOptions:
    """What is done with the result."""

    policy: Path | None = first(None, OUTPUT, "FILE", "Limits to judge by, in TOML.")
    out: Path | None = first(None, OUTPUT, "FOLDER", "Folder for report, record and evidence.", names="--out -o")
    rows: bool = option(
        *(False, OUTPUT, ""),
        "With a policy, print the worst pairs and other people, too. Without one they are printed anyway.",
    )
    as_json: bool = shared.JSON()
    quiet: bool = shared.QUIET()


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for: options, which of them were given, and the plan that has the others."""

    columns: ColumnOptions
    source: TableFiles
    asked: AuditOptions
    sealed: SealedPlan | None
    given: frozenset[str]

    def read_by_plan(self) -> Request:
        """Read the files as the plan says, unless options say otherwise."""
        if self.sealed is None:
            return self
        names = [one for one in ("encoding", "delimiter", "decimal", "missing_values") if one not in self.given]
        source = replace(self.source, **{name: getattr(self.sealed.command, name) for name in names})
        used = self.sealed.model
        if used is not None and self.asked.model is None and not self.asked.scores:
            raise LikewiseError(f"The plan takes its scores from the model '{used.file}'. Give that file with --model.")
        return replace(self, source=source)

    def plan(self, console: Console, notes: list[str], frame: pa.Table, file: str, **search: Any) -> AuditPlan:
        """Return what to audit and how."""
        search |= {"memory_limit": self.asked.memory_limit, "pairs": self.asked.pairs}
        if self.sealed is None:
            return make_plan(console, notes, self.columns, self.asked, frame, file, **search)
        plan = follow_plan(self.sealed, self.given, self.columns, self.asked, frame, file, **search)
        say(console, *notes, f"The plan was sealed at {self.sealed.sealed_at}.", "")
        return plan


@takes(
    columns=ColumnOptions,
    source=TableFiles,
    asked=PlannedAuditOptions,
    options=ResultOptions,
    explained=ExplanationOptions,
    context=typer.Context,
)
def audit(
    columns: ColumnOptions,
    source: TableFiles,
    asked: PlannedAuditOptions,
    options: ResultOptions,
    explained: ExplanationOptions,
    context: typer.Context,
) -> int:
    """Measure, judge, write and print; the exit code is the verdict's."""
    from likewise.auditing import Policy
    from likewise.cli._outputs import complete_record, read_plan
    from likewise.cli.commands._audit_screen import show_audit
    from likewise.record import AuditRecord

    policy = None if options.policy is None else read_policy(options.policy)
    sealed = None if asked.plan is None else read_plan(asked.plan)
    if policy is None and sealed is not None and sealed.policy is not None:
        policy = Policy.from_dict(sealed.policy)
    console = open_messages(options.quiet)
    request = Request(columns, source, asked, sealed, given_options(context)).read_by_plan()
    explained.check(asked)
    read: list[str | Path] = [*source.data, *source.files()]
    read += [one for one in (options.policy, asked.plan, asked.model) if one is not None]
    with nullcontext() if options.out is None else new_folder(options.out, KIND_OF_AUDITS, read) as put:
        run = _run(console, request, explained.explanations())
        verdict = None if policy is None else _judge(run.audit, policy, str(options.policy or asked.plan))
        record = complete_record(run.audit.to_record(verdict), run.plan, request.source, run.model, run.files)
        record = record if sealed is None else AuditRecord.of(record.under(sealed))
        if put is not None:
            from likewise.auditing._internal import audit_files

            put(audit_files(record))
    if options.as_json:
        print_json(record.to_dict())
    else:
        print_result(lambda width: show_audit(record, width, options.out, rows=options.rows or policy is None))
        if options.out is not None:
            say(console, f"Record and evidence are in {options.out}; the report is {options.out / 'report.html'}.")
    return 0 if verdict is None else verdict.exit_code


def _run(console: Console, request: Request, explained: Explanations) -> AuditRun:
    """Read, score and measure."""
    from likewise.cli._outputs import hash_files

    source, asked = request.source, request.asked
    as_planned = None if request.sealed is None or "text" in request.given else request.sealed.command.text or {}
    with working(console, "Reading"):
        frame, notes, text = source.read(request.columns.named(*asked.numbers()), as_planned)
        model = asked.load_model()
    plan = request.plan(console, notes, frame, source.name, text=text)
    with following(console) as progress:
        found = explained.add_to(plan.run(frame, model, progress), plan, frame, model, progress)
        return AuditRun(found, plan, model, hash_files(source))


def read_policy(file: Path) -> Policy:
    """Read the limits of a TOML file."""
    from likewise.auditing import Policy

    policy = Policy.from_toml(file)
    if not policy.has_limits:
        raise PolicyError(f"{file} sets no limit, so there is nothing to judge. Add one, such as max_gap_mean = 0.2.")
    return policy


def _judge(found: Audit, policy: Policy, file: str) -> Verdict:
    try:
        return found.judge(policy)
    except PolicyError as error:  # a limit that this audit shows to be impossible
        raise PolicyError(f"{file}: {error}") from error
