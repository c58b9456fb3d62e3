"""``likewise audit``: read a table, score it, measure, judge, write and show."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from likewise._spark_session import hushed, open_session, spark_faults
from likewise.auditing import Policy
from likewise.cli import _options as shared
from likewise.cli._columns import ColumnOptions
from likewise.cli._console import open_messages, print_json, print_result, say, working
from likewise.cli._explanations import ExplanationOptions, Explanations
from likewise.cli._options import OUTPUT, given_options, option, takes
from likewise.cli._outputs import check_audit_target, complete_record, hash_files, read_plan, write_audit
from likewise.cli._plan import (
    AuditOptions,
    AuditPlan,
    AuditRun,
    PlannedAuditOptions,
    follow_plan,
    following,
    make_plan,
)
from likewise.cli._tables import CSV_ENDINGS, TableFiles
from likewise.cli.commands._audit_screen import show_audit
from likewise.exceptions import LikewiseError, PolicyError, TableFileError
from likewise.record import AuditRecord
from likewise.record._internal import DataFile, SealedPlan
from likewise.schema._internal import is_pandas_index

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from rich.console import Console

    from likewise.auditing import Audit, Verdict

HELP: Final = """Measure how differently a model scores comparable people, and judge it by a policy.

The scores come from a column of the table, or from a model file that scores its rows: ONNX, or scikit-learn in the \
skops format. A pickle is refused: loading one may run code that is in it.

[bold]Examples[/bold]

  likewise audit people.csv --label hired --sensitive race,sex --scores p

  likewise audit people.csv --label hired --sensitive sex --model model.onnx --policy policy.toml --out audit

  likewise audit applications.csv --sensitive sex --scores decision --favourable approved

  likewise audit survey.csv --label hired --sensitive sex --scores p --weight person_weight

  likewise audit people.csv --plan plan.json --out audit

  likewise audit part-*.parquet --label hired --sensitive sex --scores p --memory-limit "2 GB"

  likewise audit 'people/*.parquet' --label hired --sensitive sex --scores p --engine spark --spark-master spark://host:7077

Several files, or a folder of Parquet files, are one table, in the order given. If there are more pairs than \
--max-pairs, all of them are still measured in a stream (means, counts and maxima exactly, quantiles within 0.1%), and \
confidence intervals are computed from a sample of that many; with --when-too-many sample, only the sample is measured.

A policy is a TOML file of limits, such as max_positive_gap_mean = 0.2, max_flip_rate = 0.05 or min_roc_auc = 0.8; a \
limit is met when the whole confidence interval meets it. With --out, audit.json, report.html, audit.md, junit.xml, \
worst_pairs.parquet and review_sheet.csv are written to that folder; [bold]likewise verify[/bold] \
recomputes audit.json. Columns are named, and missing values written, as for [bold]likewise pairs[/bold].

With --plan, columns, rule, measures and policy are those that [bold]likewise plan[/bold] sealed. Options that are \
given beside it replace the plan's (options of columns, or of the rule, all of them), and every departure is in the \
record and on the report.

The exit code is 0 when the policy is met or there is none; 1 when it is not met; 2 on invalid arguments or an \
unreadable file; 3 when the audit is inconclusive: too few pairs, no pairs (then no file is written), or a confidence \
interval on both sides of a limit; 4 when the machine fails, for example out of memory; 130 when interrupted.
"""
SPARK: Final = "Spark (with --engine spark)"
INFERRED_FROM: Final = 100_000  # rows; for a table with no more, the roles are those that all rows give
QUIET: Final = {"spark.log.level": "OFF", "spark.ui.showConsoleProgress": "false", "spark.driver.maxResultSize": "0"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultOptions:
    """What is done with the result."""

    policy: Path | None = option(None, OUTPUT, "FILE", "Limits to judge by, a TOML file.")
    out: Path | None = option(None, OUTPUT, "FOLDER", "Write record, report and evidence there.", names="--out -o")
    as_json: bool = shared.JSON()
    quiet: bool = shared.QUIET()


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkOptions:
    """Which Spark to run on."""

    spark_master: str | None = option(
        *(None, SPARK, "URL"),
        "Master, such as local[4], yarn, spark://host:7077 or, for Spark Connect, sc://host:15002; by default all "
        "cores of this machine.",
    )
    spark_conf: list[str] | None = option(
        None, SPARK, "KEY=VALUE", "Spark setting, such as spark.executor.memory=8g; may be repeated."
    )

    def settings(self) -> dict[str, str]:
        """Read the Spark settings."""
        found = {}
        for text in self.spark_conf or []:
            key, sign, value = text.partition("=")
            if not sign or not key.strip():
                raise typer.BadParameter(f"it is '{text}'; write it as KEY=VALUE.", param_hint="--spark-conf")
            found[key.strip()] = value.strip()
        return found

    def refuse_unused(self) -> None:
        """Refuse options for a Spark that would not run."""
        for one in fields(self):
            if getattr(self, one.name):
                name = f"--{one.name.replace('_', '-')}"
                raise typer.BadParameter("it is for Spark; add --engine spark, or leave it out.", param_hint=name)


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
        names = [one for one in ("encoding", "delimiter", "decimal") if one not in self.given]
        source = replace(self.source, **{name: getattr(self.sealed.command, name) for name in names})
        used = self.sealed.model
        if used is not None and self.asked.model is None and not self.asked.scores:
            raise LikewiseError(f"The plan takes its scores from the model '{used.file}'. Give that file with --model.")
        return replace(self, source=source)

    def plan(self, console: Console, notes: list[str], frame: pa.Table, file: str, **search: Any) -> AuditPlan:
        """Return what to audit and how."""
        search |= self.asked.search()
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
    cluster=SparkOptions,
    context=typer.Context,
)
def audit(
    columns: ColumnOptions,
    source: TableFiles,
    asked: PlannedAuditOptions,
    options: ResultOptions,
    explained: ExplanationOptions,
    cluster: SparkOptions,
    context: typer.Context,
) -> int:
    """Measure, judge, write and print; the exit code is the verdict's."""
    if options.out is not None:
        check_audit_target(options.out)
    policy = None if options.policy is None else read_policy(options.policy)
    sealed = None if asked.plan is None else read_plan(asked.plan)
    if policy is None and sealed is not None and sealed.policy is not None:
        policy = Policy.from_dict(sealed.policy)
    console = open_messages(options.quiet)
    request = Request(columns, source, asked, sealed, given_options(context)).read_by_plan()
    explained.check(asked)
    if asked.engine == "spark":
        run = _audit_on_spark(console, request, cluster)
    else:
        cluster.refuse_unused()
        run = _audit_here(console, request, explained.explanations())
    verdict = None if policy is None else _judge(run.audit, policy, str(options.policy or asked.plan))
    record = complete_record(run.audit.to_record(verdict), run.plan, request.source, run.model, run.files)
    record = record if sealed is None else AuditRecord.of(record.under(sealed))
    if options.out is not None:
        write_audit(options.out, record)
    if options.as_json:
        print_json(record.to_dict())
    else:
        print_result(lambda width: show_audit(record, width, options.out))
        if options.out is not None:
            say(console, f"Record and evidence are in {options.out}; the report is {options.out / 'report.html'}.")
    return 0 if verdict is None else verdict.exit_code


def _audit_here(console: Console, request: Request, explained: Explanations) -> AuditRun:
    """Audit on this machine."""
    source, asked = request.source, request.asked
    as_planned = None if request.sealed is None or "text" in request.given else request.sealed.command.text or {}
    with working(console, "Reading"):
        numbers = {*request.columns.numbers(*asked.numbers()), *asked.schema_numbers()}
        frame, notes, text = source.read(numbers, as_planned)
        model = asked.load_model()
    plan = request.plan(console, notes, frame, source.name, text=text)
    with following(console) as progress:
        found = explained.add_to(plan.run(frame, model, progress), plan, frame, model, progress)
        return AuditRun(found, plan, model, hash_files(source))


def read_policy(file: Path) -> Policy:
    """Read the limits of a TOML file."""
    policy = Policy.from_toml(file)
    if not policy.has_limits:
        raise PolicyError(f"{file} sets no limit, so there is nothing to judge. Add one, such as max_gap_mean = 0.2.")
    return policy


def _judge(found: Audit, policy: Policy, file: str) -> Verdict:
    try:
        return found.judge(policy)
    except PolicyError as error:  # a limit that this audit shows to be impossible
        raise PolicyError(f"{file}: {error}") from error


def _audit_on_spark(console: Console, request: Request, cluster: SparkOptions) -> AuditRun:
    """Audit Parquet files in Spark."""
    source, asked = request.source, request.asked
    _refuse_local(source, asked)
    model = asked.load_model()
    with _session(console, cluster) as session:
        with working(console, "Reading"):
            frame, files = _read(session, source.data)
            some, n_rows = _take_some(frame)
        notes = [] if n_rows <= len(some) else [f"Roles are inferred from {len(some):,} of {n_rows:,} rows."]
        plan = request.plan(console, notes, some, ", ".join(source.data))
        found = _measure(console, plan, frame, files, plan.scores_for_executors(some, model))
    are_here = all(file.startswith("file:") for file in files)
    checksums = hash_files(source) if are_here else [DataFile(file=file) for file in files]
    return AuditRun(found, plan, model, checksums)


def _refuse_local(source: TableFiles, asked: AuditOptions) -> None:
    text = [name for name in source.data if name.lower().endswith(CSV_ENDINGS)]
    if text:
        raise TableFileError(
            f"'{text[0]}' is text, whose columns have no types. Write it as Parquet, or leave out --engine spark."
        )
    source.refuse_text(source.data[0])
    unused = {
        "--when-too-many": asked.when_too_many == "sample",
        "--pairs": asked.pairs is not None,
        "--memory-limit": asked.memory_limit is not None,
    }
    for name, is_given in unused.items():
        if is_given:
            raise typer.BadParameter("it has no effect on Spark; leave it out.", param_hint=name)


@contextmanager
def _session(console: Console, cluster: SparkOptions) -> Iterator[SparkSession]:
    """Use the Spark that is running in this process, or start one, and stop that."""
    from likewise._extras import require

    settings = cluster.settings()
    with warnings.catch_warnings(), working(console, "Starting Spark"):
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        sql = require("pyspark.sql", "spark", "Engine 'spark'")
        is_ours = sql.SparkSession.getActiveSession() is None
        session = open_session(
            "Engine 'spark'", master=cluster.spark_master, settings={**QUIET, **settings} if is_ours else settings
        )
    try:
        yield session
    finally:
        if is_ours:
            session.stop()


def _read(session: SparkSession, names: list[str]) -> tuple[DataFrame, list[str]]:
    """Read Parquet files; list them in the order of their rows: as given, those of one name in their own order."""
    from pyspark.errors import AnalysisException

    files: list[str] = []
    for name in names:
        try:
            with hushed():
                found = sorted(session.read.parquet(name).inputFiles())
        except AnalysisException as error:
            raise _unreadable(name, error) from error
        files += [file for file in found if file not in files]
    if not files:
        raise TableFileError(f"There is no Parquet file in '{names[0]}'. Check the path.")
    with spark_faults("reading the files"):
        frame = session.read.option("mergeSchema", "true").parquet(*files)
        return frame.drop(*filter(is_pandas_index, frame.columns)), files


def _unreadable(name: str, error: Any) -> TableFileError:
    if error.getCondition() == "PATH_NOT_FOUND":
        return TableFileError(f"Spark finds no file '{name}'. Check the path.")
    reason = re.sub(r"^\[[\w.]+\]\s*", "", str(error).splitlines()[0]).partition(" SQLSTATE")[0].rstrip(".")
    return TableFileError(f"'{name}' cannot be read as Parquet: {reason[:200]}.")


def _take_some(frame: DataFrame) -> tuple[pa.Table, int]:
    """Return rows from all over the table, from which roles are inferred, and the number of all rows."""
    with spark_faults("reading the files"):
        n_rows = frame.count()
        if not n_rows:
            raise TableFileError("The files have column names and no rows. Give files with people in them.")
        share = min(1.0, 1.1 * INFERRED_FROM / n_rows)
        chosen = frame if n_rows <= INFERRED_FROM else frame.sample(fraction=share, seed=0).limit(INFERRED_FROM)
        return chosen.toArrow(), n_rows


def _measure(console: Console, plan: AuditPlan, frame: DataFrame, files: list[str], scores: Any) -> Audit:
    from likewise.spark import audit

    settings = asdict(plan.settings)
    settings["random_state"] = settings.pop("seed")
    del settings["when_too_many"]  # Spark always streams
    of: dict[str, Any] = {"roles": plan.schema or plan.roles, "rule": plan.rule, "label": plan.label, "files": files}
    with following(console) as progress:
        return audit(scores, frame, **of, progress=progress, **settings)
