"""One thread for each test process, for two on two cores wait for each other; and a Spark that is small and quiet."""

from __future__ import annotations

import gc
import os
import shlex
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import pytest
from _pytest.doctest import DoctestModule
from tests.needs import HAS_TO_RUN
from tests.sizes import IS_LONG, sized
from tests.spark_session import why_no_spark

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# for every session that a test, a doctest or a program under test starts
SPARK = {
    "spark.driver.bindAddress": "127.0.0.1",
    # tests are over before more compiling pays, and Spark's own classes need no second look
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions "
    "-XX:-BytecodeVerificationRemote -XX:-UseCodeCacheFlushing",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.executorEnv.PYTHONPATH": str(Path(__file__).parent),  # for the daemon
    "spark.log.level": "ERROR",
    "spark.python.daemon.module": "tests.spark_daemon",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": sized("2", "4"),
    "spark.sql.warehouse.dir": "/nonexistent",  # no tables are kept
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
if not IS_LONG:  # tables of a few hundred rows are read before a query is planned twice or compiled
    SPARK |= {"spark.sql.adaptive.enabled": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
settings = " ".join(f"--conf {shlex.quote(f'{name}={value}')}" for name, value in SPARK.items())
os.environ.setdefault("PYSPARK_SUBMIT_ARGS", f"--master local[2] {settings} pyspark-shell")
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # on a local cluster too


# of which Spark takes seconds for a few rows; tests/spark has the same questions
LONG_EXAMPLES: Final = (
    "likewise.spark._audit.audit",
    "likewise.spark._generation.generate",
    "likewise.spark._pairs.mine_pairs",
    "likewise.spark._schema.learn",
)
HERE: Final = Path(__file__).parent
LONGEST: Final = ("spark", "tests/browser/", "tests/paper/")  # what is begun first


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Keep what is imported and collected, which stays to the end, out of every garbage collection."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Look for examples in the package only: test files have none."""
    found = yield
    is_test = HERE / "tests" in file_path.parents
    return [one for one in found if not (is_test and isinstance(one, DoctestModule))]


@pytest.hookimpl(tryfirst=True)  # before marks are looked at
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what needs Spark, doctests too, and leave it out where there is none."""
    reason = why_no_spark()
    for item in items:
        is_doctest = isinstance(item, pytest.DoctestItem) and "spark" in item.path.as_posix().rpartition("likewise/")[2]
        if is_doctest or "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
        if item.name in LONG_EXAMPLES:
            item.add_marker("long")
        if reason is not None and not HAS_TO_RUN and item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.skip(reason=reason))
    if not IS_LONG:
        leave_long_out(config, items)
    items.sort(key=lambda item: [part not in item.nodeid.partition("::")[0] for part in LONGEST])


def leave_long_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests with the mark ``long``; of one with a number, keep one variant in so many.

    Which is first is drawn from the test's name.
    """
    kept, variants = list[pytest.Item](), dict[str, list[pytest.Item]]()
    for item in items:
        if (mark := item.get_closest_marker("long")) is None:
            kept.append(item)
        elif mark.args:
            variants.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for name, those in variants.items():
        (one_in,) = those[0].get_closest_marker("long").args  # type: ignore[union-attr]  # they have it
        kept += those[crc32(name.encode()) % min(one_in, len(those)) :: one_in]
    chosen = set(kept)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = [item for item in items if item in chosen]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give whole files to a test process, so that what their tests share is made once; one takes all of Spark's.

    Another takes the browser's: two browsers on two cores, beside Spark, wait for each other.
    """
    from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]  # it ships no types

    class WholeFiles(LoadFileScheduling):  # type: ignore[misc]  # it ships no types
        def _split_scope(self, nodeid: str) -> str:
            return next((group for group in ("spark", "tests/browser/") if group in nodeid), nodeid.partition("::")[0])

    return WholeFiles(config, log)
