"""Through Spark Connect, which has no context and no JVM of the client's, everything is as in one process.

Only a long run starts the server. What is refused without one is tried always.
"""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.spark.same_records import differences

from likewise import Comparability, UniformGenerator, mine_pairs
from likewise.auditing import audit
from likewise.schema import Roles

ROLES = Roles(sensitive="sex", continuous="age", label="hired", ignored="p", row_id="id")
HOW: dict[str, Any] = {"roles": ROLES, "n_resamples": 50, "baseline": False}
SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
PROGRAM = """
import json, sys
from pyspark.sql import SparkSession

import likewise.spark
from likewise import Comparability, UniformGenerator
from likewise.exceptions import ScoreError
from tests.spark.test_connect import HOW, ROLES, people

folder, address = sys.argv[1:]
session = SparkSession.builder.remote(address).getOrCreate()
table, frame = people(), session.read.parquet(folder)
found = {"client": type(session).__module__, "record": likewise.spark.audit("p", frame, **HOW).to_dict()}
pairs = likewise.spark.mine_pairs(frame, roles=ROLES).toPandas()
found["pairs"] = sorted(map(list, zip(pairs["left_row"].tolist(), pairs["right_row"].tolist())))
generator = UniformGenerator(ROLES, Comparability(), random_state=0).fit(table)
made = likewise.spark.generate(generator, frame, row_id="id", rounds=1).toPandas()
found["antidotes"] = sorted(made["age"].tolist())
try:
    likewise.spark.audit(lambda rows: 1 / 0, frame, **HOW)
except ScoreError as error:
    found["fault"] = str(error)
session.stop()
print(json.dumps(found))
"""


def people() -> pa.Table:
    random, n = np.random.default_rng(0), 60
    return pa.table(
        {
            "id": np.arange(n),
            "sex": random.choice(["f", "m"], n),
            "age": random.integers(20, 60, n),
            "hired": random.integers(0, 2, n),
            "p": random.random(n),
        }
    )


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def connect_server(log: Path) -> Iterator[str]:
    """Start a Spark Connect server of two threads, yield its address, and end it."""
    import pyspark

    port, home = free_port(), Path(pyspark.__file__).parent
    *settings, _ = shlex.split(os.environ["PYSPARK_SUBMIT_ARGS"])
    known = {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(sys.path), "SPARK_HOME": str(home)}
    known |= {name: value for name, value in os.environ.items() if name not in (*known, "PYSPARK_SUBMIT_ARGS")}
    binding = f"spark.connect.grpc.binding.port={port}"
    command = [str(home / "bin" / "spark-submit"), "--class", SERVER, "--conf", binding, *settings, "spark-internal"]
    with log.open("w") as written, subprocess.Popen(command, env=known, stdout=written, stderr=written) as server:
        try:
            for _ in range(600):
                with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                    break
                assert server.poll() is None, log.read_text()[-2000:]
                time.sleep(0.5)
            yield f"sc://127.0.0.1:{port}"
        finally:
            server.terminate()


@pytest.mark.spark
@pytest.mark.long
def test_a_connect_server_gives_what_one_process_gives(tmp_path: Path) -> None:
    pytest.importorskip("grpc_status")
    table = people()
    (tmp_path / "people").mkdir()
    pyarrow.parquet.write_table(table, tmp_path / "people" / "part-0.parquet")
    with connect_server(tmp_path / "server.log") as address:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", PROGRAM, str(tmp_path / "people"), address],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=False,
            timeout=500,
        )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["client"].startswith("pyspark.sql.connect")
    outside = audit("p", table, **HOW)
    assert list(differences(found["record"], outside.to_dict())) == []
    pairs = mine_pairs(ROLES.learn(table).encode(table), Comparability())
    expected = [list(map(int, pair)) for pair in zip(pairs.left, pairs.right, strict=True)]
    assert found["pairs"] == sorted(expected)
    assert len(expected) > 5
    generator = UniformGenerator(ROLES, Comparability(), random_state=0).fit(table)
    made = generator.generate(table, rounds=1, row_ids="id")
    assert found["antidotes"] == sorted(made.frame["age"].to_pylist())
    assert "ZeroDivisionError: division by zero" in found["fault"]
