"""``likewise audit``: read a table, score it, measure, judge, write and show."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from likewise.auditing import Policy
from likewise.cli import _options as shared
from likewise.cli._columns import ROLES_HEADING, ColumnOptions, describe_roles
from likewise.cli._console import open_messages, print_json, print_result, say, working
from likewise.cli._models import load_model
from likewise.cli._options import OUTPUT, EngineChoice, option, takes
from likewise.cli._reading import TableFiles
from likewise.cli._writing import check_audit_target, write_audit
from likewise.cli.commands._audit_record import complete_record, hash_files
from likewise.cli.commands._audit_screen import show_audit
from likewise.cli.commands._audit_spark import SparkOptions, audit_on_spark
from likewise.cli.commands._plan import AuditOptions, AuditRun, following, make_plan
from likewise.exceptions import PolicyError

if TYPE_CHECKING:
    from rich.console import Console

    from likewise.auditing import Audit, Verdict
    from likewise.auditing._internal import AuditSettings

HELP: Final = """Measure how differently a model scores comparable people, and judge it by a policy.

The scores come from a column of the table, or from a model file that scores its rows: ONNX, or scikit-learn in the \
skops format. A pickle is refused: loading one may run code that is in it.

[bold]Examples[/bold]

  likewise audit people.csv --label hired --sensitive race,sex --scores p

  likewise audit people.csv --label hired --sensitive sex --model model.onnx --policy policy.toml --out audit

  likewise audit part-*.parquet --label hired --sensitive sex --scores p --memory-limit "2 GB"

  likewise audit 'people/*.parquet' --label hired --sensitive sex --scores p --engine spark --spark-master spark://host:7077

Several files, or a folder of Parquet files, are one table, in the order given. If there are more pairs than \
--max-pairs, all of them are still measured in a stream (means, counts and maxima exactly, quantiles within 0.1%), and \
confidence intervals are computed from a sample of that many; with --when-too-many sample, only the sample is measured.

A policy is a TOML file of limits, such as max_positive_gap_mean = 0.2, max_flip_rate = 0.05 or min_roc_auc = 0.8; a \
limit is met when the whole confidence interval meets it. With --out, audit.json, report.html, audit.md, junit.xml, \
worst_pairs.parquet, worst_pairs.csv and review_sheet.csv are written to that folder; [bold]likewise verify[/bold] \
recomputes audit.json. Columns are named, and missing values written, as for [bold]likewise pairs[/bold].

The exit code is 0 when the policy is met or there is none; 1 when it is not met; 2 on invalid arguments or an \
unreadable file; 3 when the audit is inconclusive: too few pairs, no pairs (then no file is written), or a confidence \
interval on both sides of a limit; 4 when the machine fails, for example out of memory; 130 when interrupted.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultOptions:
    """What is done with the result."""

    policy: Annotated[Path | None, option(OUTPUT, "--policy", "FILE", "Limits to judge by, a TOML file.")] = None
    out: Annotated[Path | None, option(OUTPUT, "--out -o", "FOLDER", "Write record, report and evidence there.")] = None
    as_json: shared.Json = False
    quiet: shared.Quiet = False


@takes(columns=ColumnOptions, source=TableFiles, asked=AuditOptions, options=ResultOptions, cluster=SparkOptions)
def audit(
    columns: ColumnOptions, source: TableFiles, asked: AuditOptions, options: ResultOptions, cluster: SparkOptions
) -> int:
    """Measure, judge, write and print; the exit code is the verdict's."""
    settings = asked.settings()
    if options.out is not None:
        check_audit_target(options.out)
    policy = None if options.policy is None else Policy.from_toml(options.policy)
    console = open_messages(options.quiet)
    if asked.engine is EngineChoice.SPARK:
        run = audit_on_spark(console, columns, source, asked, settings, cluster)
    else:
        cluster.refuse_unused()
        run = _audit_here(console, columns, source, asked, settings)
    verdict = None if policy is None else _judge(run.audit, policy, str(options.policy))
    record = complete_record(run.audit.to_record(verdict), run.plan, source, run.model, run.files)
    if options.out is not None:
        write_audit(options.out, record, run.audit.worst)
    if options.as_json:
        print_json(record.to_dict())
    else:
        print_result(lambda width: show_audit(record, width, options.out))
        if options.out is not None:
            say(console, f"Record and evidence are in {options.out}; the report is {options.out / 'report.html'}.")
    return 0 if verdict is None else verdict.exit_code


def _audit_here(
    console: Console, columns: ColumnOptions, source: TableFiles, asked: AuditOptions, settings: AuditSettings
) -> AuditRun:
    """Audit on this machine."""
    with working(console, "Reading"):
        frame, notes = source.read()
        model = None if asked.model is None else load_model(asked.model, asked.trust or [])
    plan = make_plan(columns, asked, settings, frame, source.name, **asked.search())
    say(console, *notes, ROLES_HEADING, *describe_roles(plan.roles, plan.scores), "")
    with following(console) as progress:
        return AuditRun(plan.run(frame, model, progress), plan, model, hash_files(source))


def _judge(found: Audit, policy: Policy, file: str) -> Verdict:
    try:
        return found.judge(policy)
    except PolicyError as error:  # a limit that this audit shows to be impossible
        raise PolicyError(f"{file}: {error}") from error
