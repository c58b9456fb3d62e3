"""A small, quiet Spark."""

from __future__ import annotations

import atexit
import os
from functools import cache
from typing import Any, Final

import likewise.spark
from golden.cases._calls import planted, shown, weights
from likewise import Roles

SETTINGS: Final = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.log.level": "ERROR",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


@cache
def start() -> Any:
    """Start Spark with two threads."""
    import sys

    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").appName("golden")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    atexit.register(session.stop)
    return session


def people() -> Any:
    """Return applicants with label, scores and weights as a Spark frame."""
    data = planted()
    table = data.test.X.assign(repaid=data.test.y, p=data.scores(data.test.X), weight=weights(len(data.test)))
    return start().createDataFrame(table)


def roles() -> Any:
    """Return the roles of these people."""
    return Roles.from_dict({**planted().roles.to_dict(), "ignored": ["p", "weight"]})


def ask_spark(**settings: Any) -> dict[str, Any]:
    """Audit them in Spark."""
    return shown(
        likewise.spark.audit("p", people(), roles=roles(), rule=planted().rule, label="repaid", n_worst=20, **settings)
    )
