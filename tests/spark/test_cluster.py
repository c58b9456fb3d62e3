"""An audit on a cluster of two executors, which are processes of their own, is the audit of one process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.spark.same_records import differences

from likewise.auditing import audit
from likewise.schema import Roles

ROLES = Roles(sensitive="sex", continuous="age", label="hired", ignored="p")
PROGRAM = """
import json, sys
import likewise.spark
from likewise._spark_session import open_session
from likewise.schema import Roles

settings = {"spark.executor.memory": "600m", "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1"}
session = open_session("The test", master="local-cluster[2,1,600]", settings=settings)
frame = session.read.parquet(sys.argv[1])
roles = Roles(sensitive="sex", continuous="age", label="hired", ignored="p")
found = likewise.spark.audit("p", frame, roles=roles, n_resamples=50, max_pairs=5, baseline=False)
executors = session.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1  # without the driver
app = session.sparkContext.applicationId
session.stop()
print(json.dumps({"app": app, "executors": executors, "record": found.to_dict()}))
"""


@pytest.mark.spark
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
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, str(tmp_path / "people")],
        env=os.environ | {"PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    outside = audit("p", people, roles=ROLES, n_resamples=50, max_pairs=5, baseline=False)
    assert outside.record.pairs.n_total > 5
    import pyspark

    found = json.loads(done.stdout)
    shutil.rmtree(Path(pyspark.__file__).parent / "work" / found["app"])  # workers write inside the installed pyspark
    assert found["executors"] == 2
    assert list(differences(found["record"], outside.to_dict())) == []
