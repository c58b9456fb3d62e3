"""The Spark session, the caller's own or a new one, and Spark's errors in one sentence."""

from __future__ import annotations

import logging
import os
import shutil
import socket
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stderr, suppress
from typing import IO, TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from likewise._extras import require
from likewise.exceptions import MissingExtra, SparkError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUIET: Final = {"spark.log.level": "ERROR", "spark.ui.showConsoleProgress": "false"}
CONNECT: Final = "sc://"
CONNECT_PORT: Final = 15002
STDERR: Final = 2  # as the system numbers it
MOST_OF_A_REASON: Final = 300  # characters; Spark's own messages run to pages


def open_session(purpose: str, *, master: str | None = None, settings: Mapping[str, str] | None = None) -> SparkSession:
    """Return the active session, or start one; refuse a master or settings that the active one does not have.

    A master that begins with sc://, or the environment variable SPARK_REMOTE, is a Spark Connect server: it needs no
    Java here.
    """
    sql = require("pyspark.sql", extra="spark", purpose=purpose)
    active: SparkSession | None = sql.SparkSession.getActiveSession()
    remote = master if master is not None and master.startswith(CONNECT) else os.environ.get("SPARK_REMOTE")
    if active is None and remote is not None and (master is None or master == remote):
        return _connect(sql, remote, settings or {})
    if active is not None:
        _refuse_other_settings(active, {**({} if master is None else {"spark.master": master}), **(settings or {})})
        use_this_python(active)
        return active
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        raise MissingExtra(
            f"{purpose} needs Java 17 or newer, which is not on this machine. Install a Java runtime, such as Debian's "
            "package openjdk-17-jre-headless, or set JAVA_HOME."
        )
    builder = sql.SparkSession.builder.appName("likewise")
    if master is not None:  # else from spark-submit, spark-defaults.conf or MASTER, or local[*]
        builder = builder.master(master)
    for name, value in {**QUIET, **(settings or {})}.items():
        builder = builder.config(name, value)
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    with _java_output_aside() as log:
        try:
            session: SparkSession = builder.getOrCreate()
        except Exception as error:  # py4j, Java or Spark errors
            raise SparkError(
                f"Spark could not be started{f' on {master!r}' if master else ''}: {_reason(error)}{_last_line(log)} "
                "Check that Java 17 or newer runs here and that the master can be reached."
            ) from error
    use_this_python(session)
    return session


def _connect(sql: Any, remote: str, settings: Mapping[str, str]) -> SparkSession:
    """Return a session of a Spark Connect server; refuse one that does not answer, for which Spark waits minutes."""
    server = urlsplit(remote)
    if remote.startswith(CONNECT):
        try:
            socket.create_connection((server.hostname or "", server.port or CONNECT_PORT), timeout=10).close()
        except (OSError, ValueError) as error:
            raise SparkError(
                f"No Spark Connect server answers at {remote!r} ({error}). Check host and port, such as "
                f"sc://host:{CONNECT_PORT}."
            ) from error
    builder = sql.SparkSession.builder.remote(remote)
    for name, value in settings.items():
        if name not in QUIET:  # which the server decides
            builder = builder.config(name, value)
    try:
        session: SparkSession = builder.getOrCreate()
    except Exception as error:  # packages that are missing here, or refusals of the server
        raise SparkError(
            f"Spark Connect could not be used at {remote!r}: {_reason(error)} It needs what pyspark[connect] installs."
        ) from error
    return session


def use_this_python(session: SparkSession) -> None:
    """Let executors on this machine run this Python where nobody chose one: Spark takes the first on the PATH."""
    context = getattr(session, "sparkContext", None)  # absent in Spark Connect
    if context is not None and context.master.startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = session.conf.get("spark.pyspark.python", None) or sys.executable


@contextmanager
def _java_output_aside() -> Iterator[IO[str]]:
    """Send what a Java process prints, if one starts in here, to a file: its banners are no news to a user."""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log, ExitStack() as stack:
        screen = os.dup(STDERR)
        stack.callback(os.close, screen)
        if _writes_to_stderr(sys.stderr):  # what Python prints meanwhile still goes to the screen
            direct = stack.enter_context(open(os.dup(screen), "w", buffering=1, encoding=sys.stderr.encoding))
            stack.enter_context(redirect_stderr(direct))
        stack.callback(os.dup2, screen, STDERR)
        os.dup2(log.fileno(), STDERR)
        yield log


def _writes_to_stderr(stream: Any) -> bool:
    try:
        return bool(stream.fileno() == STDERR)
    except (AttributeError, OSError, ValueError):  # notebooks and tests put others in its place
        return False


def _last_line(log: IO[str]) -> str:
    """Return the last line that is no frame of a stack, for the end of a message."""
    log.seek(0)
    lines = [line.strip() for line in log if line.strip() and not line[0].isspace()]
    return f" Java's last line was: {_shorten(lines[-1])}" if lines else ""


def _refuse_other_settings(active: SparkSession, wanted: Mapping[str, str]) -> None:
    for name, value in wanted.items():
        if name == "spark.master" and value.startswith(CONNECT) and not hasattr(active, "sparkContext"):
            continue  # the server knows its own master, not the address it was reached by
        found = active.conf.get(name, None)
        if found != value:
            raise SparkError(
                f"A Spark session is active already, with {name} = {found!r} and not {value!r}. "
                "Stop it first, or omit the setting."
            )


def spark_errors() -> tuple[type[Exception], ...]:
    """Return the classes of Spark's errors."""
    from pyspark.errors import PySparkException

    with suppress(ImportError):  # a client of Spark Connect has no Java behind it
        from py4j.protocol import Py4JError

        return PySparkException, Py4JError
    return (PySparkException,)


@contextmanager
def spark_faults(doing: str) -> Iterator[None]:
    """Raise Spark's errors as one sentence, "Spark failed while {doing}: ...", instead of a Java stack trace."""
    try:
        yield
    except spark_errors() as error:
        raise SparkError(f"Spark failed while {doing}: {_reason(error)}") from error


def _reason(error: BaseException) -> str:
    """Return the innermost cause in Spark's message."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    reason = (causes or lines or [type(error).__name__])[-1 if causes else 0]
    return _shorten(reason)


def _shorten(reason: str) -> str:
    short = reason if len(reason) <= MOST_OF_A_REASON else reason[: MOST_OF_A_REASON - 1] + "…"
    return short if short.endswith((".", "…", "!", "?")) else f"{short}."


@contextmanager
def hushed() -> Iterator[None]:
    """Silence Spark's log of a query that may fail."""
    logger = logging.getLogger("DataFrameQueryContextLogger")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)
