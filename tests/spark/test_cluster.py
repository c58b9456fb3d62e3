"""An audit on a cluster of two executors, which are processes of their own, is the audit of one process.

Only a long run starts the cluster. The small draw is ``likewise audit`` of three files on two threads.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.spark.same_records import differences

import likewise.spark
from likewise.auditing import audit
from likewise.schema import Roles

ROLES = Roles(sensitive="sex", continuous="age", label="hired", ignored="p")
HOW: dict[str, Any] = {"roles": ROLES, "n_resamples": 50, "max_pairs": 5, "baseline": False}
PROGRAM = """
import json, sys
from pyspark.sql import SparkSession
from tests.spark.test_cluster import audit_files

builder = SparkSession.builder.master("local-cluster[2,1,600]").config("spark.executor.memory", "600m")
session = builder.config("spark.executor.extraJavaOptions", "-XX:TieredStopAtLevel=1").getOrCreate()
record = audit_files(session, sys.argv[1])
executors = session.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1  # without the driver
app = session.sparkContext.applicationId
session.stop()
print(json.dumps({"app": app, "executors": executors, "record": record}))
"""


def audit_files(session: Any, folder: str) -> dict[str, Any]:
    return likewise.spark.audit("p", session.read.parquet(folder), **HOW).to_dict()


def audit_on_a_cluster(folder: str) -> dict[str, Any]:
    """Audit on two executors; workers leave a folder inside the installed pyspark."""
    import pyspark

    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, folder],
        env=os.environ | {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    shutil.rmtree(Path(pyspark.__file__).parent / "work" / found["app"])
    assert found["executors"] == 2
    record: dict[str, Any] = found["record"]
    return record


@pytest.mark.spark
@pytest.mark.long
def test_two_executors_give_the_audit_of_one_process(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    n = 60
    people = pa.table(
        {
            "sex": random.choice(["f", "m"], n),
            "age": random.integers(20, 60, n),
            "hired": random.integers(0, 2, n),
            "p": random.random(n),
        }
    )
    (tmp_path / "people").mkdir()
    for place in range(2):
        pyarrow.parquet.write_table(people.slice(30 * place, 30), tmp_path / "people" / f"part-{place}.parquet")
    found = audit_on_a_cluster(str(tmp_path / "people"))
    outside = audit("p", people, **HOW)
    assert outside.record.pairs.n_total > 5
    assert list(differences(found, outside.to_dict())) == []
