"""``likewise audit --engine spark``: the same audit of tables that fit on no machine."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from likewise._spark_session import hushed
from likewise.cli import _audit as here
from likewise.cli._audit_record import complete_record
from likewise.cli._audit_writing import check_folder
from likewise.cli._choosing import describe_roles
from likewise.cli._models import ModelFile, load_model
from likewise.cli._pairs import ROLES_TITLE, say
from likewise.cli._reading import CSV_ENDINGS
from likewise.cli._searching import working
from likewise.cli._spark_arguments import Cluster
from likewise.cli._spark_models import ScoreColumns, TravellingModel
from likewise.cli._wording import name_setting
from likewise.exceptions import ParameterError, ScoreError, ScoresCollapsed, TableFileError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from rich.console import Console

    from likewise.cli._choosing import Wishes
    from likewise.cli._plan import Plan
    from likewise.cli._reading_files import FilesReading

INFERRED_FROM: Final = 100_000  # rows; of a table with no more, the roles are those that all rows give
QUIET: Final = {"spark.log.level": "OFF", "spark.ui.showConsoleProgress": "false", "spark.driver.maxResultSize": "0"}


def audit_on_spark(
    wishes: Wishes, reading: FilesReading, scored: here.Scored, handling: here.Handling, cluster: Cluster
) -> int:
    """Measure in Spark, then judge, write and print as ever; the verdict is the exit code."""
    from rich.console import Console

    from likewise.auditing import Policy

    console = Console(stderr=True, quiet=handling.quiet, markup=False, highlight=False)
    _refuse_local(reading, scored, handling)
    if handling.out is not None:
        check_folder(handling.out)
    policy = None if handling.policy is None else Policy.from_toml(handling.policy)
    model = None if scored.model is None else load_model(scored.model, scored.trust or [])
    with _session(console, cluster) as session:
        with working(console, "Reading"):
            frame, files = _read(session, reading.data)
            some, n_rows = _take_some(frame)
        plan = here.make_plan(wishes, scored, handling, some, ", ".join(reading.data))
        noted = [] if n_rows <= len(some) else [f"Roles are inferred from {len(some):,} of {n_rows:,} rows."]
        say(console, *noted, ROLES_TITLE, *describe_roles(plan.roles, plan.scores), "")
        found = _measure(console, plan, frame, files, _scores(plan, model, scored.model, some))
    verdict = None if policy is None else here._judge(found, policy, str(handling.policy))
    are_here = all(file.startswith("file:") for file in files)
    hashed = None if are_here else [{"file": file, "sha256": None} for file in files]
    record = complete_record(found.to_dict(verdict), plan, reading, model, hashed)
    here.hand_over(record, found.worst, handling, console)
    return 0 if verdict is None else verdict.exit_code


def _refuse_local(reading: FilesReading, scored: here.Scored, handling: here.Handling) -> None:
    text = [name for name in reading.data if name.lower().endswith(CSV_ENDINGS)]
    if text:
        raise TableFileError(
            f"'{text[0]}' is text, whose columns have no types. Write it as Parquet, or leave out --engine spark."
        )
    unheeded = {
        "--when-too-many": scored.when_too_many.value == "sample",
        "--pairs": scored.pairs is not None,
        "--memory-limit": handling.memory_limit is not None,
    }
    for name, is_given in unheeded.items():
        if is_given:
            raise typer.BadParameter("it is about one machine, and not about Spark; leave it out.", param_hint=name)


@contextmanager
def _session(console: Console, cluster: Cluster) -> Iterator[SparkSession]:
    """Use the Spark that is running in this process, or start one, and stop that."""
    from likewise._extras import require
    from likewise._spark_session import open_session

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
    """Read Parquet files, and list them in the order of their rows: as given, those of one name in their own order."""
    from pyspark.errors import AnalysisException

    from likewise._spark_session import spark_faults

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
        return frame.drop(*(one for one in frame.columns if re.fullmatch(r"__index_level_\d+__", one))), files


def _unreadable(name: str, error: Exception) -> TableFileError:
    text = str(error)
    if "PATH_NOT_FOUND" in text:
        return TableFileError(f"Spark finds no file '{name}'. Check the path.")
    reason = re.sub(r"^\[[\w.]+\]\s*", "", text.splitlines()[0]).partition(" SQLSTATE")[0].rstrip(".")
    return TableFileError(f"'{name}' cannot be read as Parquet: {reason[:200]}.")


def _take_some(frame: DataFrame) -> tuple[pa.Table, int]:
    """Take rows from all over the table: what its columns are is told by them."""
    from likewise._spark_session import spark_faults

    with spark_faults("reading the files"):
        n_rows = frame.count()
        if not n_rows:
            raise TableFileError("The files have column names and no rows. Give files with people in them.")
        share = min(1.0, 1.1 * INFERRED_FROM / n_rows)
        chosen = frame if n_rows <= INFERRED_FROM else frame.sample(fraction=share, seed=0).limit(INFERRED_FROM)
        return chosen.toArrow(), n_rows


def _scores(plan: Plan, model: ModelFile | None, path: Path | None, some: pa.Table) -> Any:
    """Say where scores come from; a model scores a few rows here first, so that its faults show at once."""
    if model is None or path is None:
        return plan.scores[0] if len(plan.scores) == 1 else ScoreColumns(tuple(plan.scores))
    apart = [plan.label, *plan.roles.names("row_id")]
    classes = model.score(some, apart=apart, features=plan.features).classes_
    return TravellingModel(
        path.read_bytes(),
        model.file,
        tuple(model.trusted),
        tuple(plan.features),
        tuple(apart),
        None if classes is None else tuple(classes),
    )


def _measure(console: Console, plan: Plan, frame: DataFrame, files: list[str], scores: Any) -> Any:
    from likewise.spark import audit

    try:
        with warnings.catch_warnings(), here._following(console) as progress:
            warnings.simplefilter("ignore", ScoresCollapsed)  # the audit's notes begin with it
            return audit(
                scores,
                frame,
                roles=plan.schema or plan.roles,
                rule=plan.rule,
                label=plan.label,
                task=plan.task,  # type: ignore[arg-type]  # one of four words, checked on the way in
                positive=plan.positive,
                threshold=plan.threshold,
                approval_rate=plan.approval_rate,
                scale=plan.scale,
                gap_limit=plan.gap_limit,
                baseline=plan.baseline,
                n_worst=plan.n_worst,
                n_resamples=plan.n_resamples,
                confidence=plan.confidence,
                random_state=plan.seed,
                max_pairs=plan.max_pairs,
                files=files,
                progress=progress,
            )
    except ParameterError as error:
        raise ScoreError(name_setting(error)) from error
