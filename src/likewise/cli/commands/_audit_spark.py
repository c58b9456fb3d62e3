"""``likewise audit --engine spark``: the same audit of tables that fit on no single machine."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from likewise._spark_session import hushed, open_session, spark_faults
from likewise.cli._columns import ROLES_HEADING, ColumnOptions, describe_roles
from likewise.cli._console import say, working
from likewise.cli._models import ModelFile, ScoreColumns, load_model
from likewise.cli._options import option
from likewise.cli._reading import CSV_ENDINGS, TableFiles, is_pandas_index
from likewise.cli.commands._audit_record import hash_files
from likewise.cli.commands._plan import AuditOptions, AuditPlan, AuditRun, following, make_plan
from likewise.exceptions import TableFileError
from likewise.record._internal import DataFile

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from rich.console import Console

    from likewise.auditing import Audit
    from likewise.auditing._internal import AuditSettings

SPARK: Final = "Spark (with --engine spark)"
INFERRED_FROM: Final = 100_000  # rows; for a table with no more, the roles are those that all rows give
QUIET: Final = {"spark.log.level": "OFF", "spark.ui.showConsoleProgress": "false", "spark.driver.maxResultSize": "0"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkOptions:
    """Which Spark to run on."""

    spark_master: Annotated[
        str | None,
        option(
            *(SPARK, "--spark-master", "URL"),
            "Master, such as local[4], yarn or spark://host:7077; by default all cores of this machine.",
        ),
    ] = None
    spark_conf: Annotated[
        list[str] | None,
        option(
            *(SPARK, "--spark-conf", "KEY=VALUE"),
            "Spark setting, such as spark.executor.memory=8g; may be repeated.",
        ),
    ] = None

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


def audit_on_spark(
    console: Console,
    columns: ColumnOptions,
    source: TableFiles,
    asked: AuditOptions,
    settings: AuditSettings,
    cluster: SparkOptions,
) -> AuditRun:
    """Audit Parquet files in Spark."""
    _refuse_local(source, asked)
    model = None if asked.model is None else load_model(asked.model, asked.trust or [])
    with _session(console, cluster) as session:
        with working(console, "Reading"):
            frame, files = _read(session, source.data)
            some, n_rows = _take_some(frame)
        plan = make_plan(columns, asked, settings, some, ", ".join(source.data), **asked.search())
        notes = [] if n_rows <= len(some) else [f"Roles are inferred from {len(some):,} of {n_rows:,} rows."]
        say(console, *notes, ROLES_HEADING, *describe_roles(plan.roles, plan.scores), "")
        found = _measure(console, plan, frame, files, _scores(plan, model, some))
    are_here = all(file.startswith("file:") for file in files)
    checksums = hash_files(source) if are_here else [DataFile(file=file) for file in files]
    return AuditRun(found, plan, model, checksums)


def _refuse_local(source: TableFiles, asked: AuditOptions) -> None:
    text = [name for name in source.data if name.lower().endswith(CSV_ENDINGS)]
    if text:
        raise TableFileError(
            f"'{text[0]}' is text, whose columns have no types. Write it as Parquet, or leave out --engine spark."
        )
    unused = {
        "--when-too-many": asked.when_too_many.value == "sample",
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


def _scores(plan: AuditPlan, model: ModelFile | None, some: pa.Table) -> Any:
    if model is not None:
        return model.for_executors(some, apart=plan.apart, features=plan.features)
    return plan.scores[0] if len(plan.scores) == 1 else ScoreColumns(tuple(plan.scores))


def _measure(console: Console, plan: AuditPlan, frame: DataFrame, files: list[str], scores: Any) -> Audit:
    from likewise.spark import audit

    settings = asdict(plan.settings)
    settings["random_state"] = settings.pop("seed")
    del settings["when_too_many"]  # Spark always streams
    with following(console) as progress:
        return audit(
            scores,
            frame,
            roles=plan.schema or plan.roles,
            rule=plan.rule,
            label=plan.label,
            files=files,
            progress=progress,
            **settings,
        )
