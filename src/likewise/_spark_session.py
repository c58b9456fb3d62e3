"""The Spark session that likewise works in, the caller's own or a new one, and Spark's faults in plain words."""

from __future__ import annotations

import logging
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from likewise._extras import require
from likewise.exceptions import MissingExtra, SparkError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["hushed", "open_session", "spark_faults"]

QUIET: Final = {"spark.log.level": "ERROR", "spark.ui.showConsoleProgress": "false"}
MOST_OF_A_REASON: Final = 300  # characters; Spark's own go on for pages


def open_session(purpose: str, *, master: str | None = None, settings: Mapping[str, str] | None = None) -> SparkSession:
    """Take the active session, or start one: on ``master``, on the one Spark is set up for, or on this machine's cores.

    ``purpose`` begins the message if there can be none: "Engine 'spark'". A master or settings that the active
    session does not have are refused, since they would not be heeded.
    """
    sql = require("pyspark.sql", extra="spark", purpose=purpose)
    active: SparkSession | None = sql.SparkSession.getActiveSession()
    if active is not None:
        _refuse_other_settings(active, {**({} if master is None else {"spark.master": master}), **(settings or {})})
        return active
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        raise MissingExtra(
            f"{purpose} needs Java 17 or newer, which is not on this machine. Install a Java runtime, such as Debian's "
            "package openjdk-17-jre-headless, or name its folder in JAVA_HOME."
        )
    builder = sql.SparkSession.builder.appName("likewise")
    if master is not None:  # else spark-submit, spark-defaults.conf or MASTER may name one; without them it is local[*]
        builder = builder.master(master)
    for name, value in {**QUIET, **(settings or {})}.items():
        builder = builder.config(name, value)
    try:
        session: SparkSession = builder.getOrCreate()
    except Exception as error:  # of py4j, of Java or of Spark, by what went wrong
        raise SparkError(
            f"Spark could not be started{f' on {master!r}' if master else ''}: {_reason(error)} "
            "Check that Java 17 or newer runs here and that the master can be reached."
        ) from error
    context = getattr(session, "sparkContext", None)  # of Spark Connect there is none
    if context is not None and context.master.startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = sys.executable  # else some other Python runs on this machine's executors
    return session


def _refuse_other_settings(active: SparkSession, wanted: Mapping[str, str]) -> None:
    for name, value in wanted.items():
        found = active.conf.get(name, None)
        if found != value:
            raise SparkError(
                f"A Spark session is active already, with {name} = {found!r} and not {value!r}. "
                "Stop it first, or leave the setting out."
            )


@contextmanager
def spark_faults(doing: str) -> Iterator[None]:
    """Say in a sentence what Spark failed at, in place of a Java stack; ``doing`` goes on "Spark failed while"."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise SparkError(f"Spark failed while {doing}: {_reason(error)}") from error


def _reason(error: BaseException) -> str:
    """Find the innermost cause that Spark names; the frames of its stacks say nothing to a user."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    reason = (causes or lines or [type(error).__name__])[-1 if causes else 0]
    short = reason if len(reason) <= MOST_OF_A_REASON else reason[: MOST_OF_A_REASON - 1] + "…"
    return short if short.endswith((".", "…", "!", "?")) else f"{short}."


@contextmanager
def hushed() -> Iterator[None]:
    """Ask what may not be there, without a page of Java on the screen if it is not."""
    logger = logging.getLogger("DataFrameQueryContextLogger")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)
