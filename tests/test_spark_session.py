"""Starting Spark prints nothing of Java's on the screen, and a start that fails says why."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from likewise._spark_session import _java_output_aside, _last_line, use_this_python

TRACE = "printf 'WARNING: a banner\\nError: no such class\\n\\tat some.Frame(Frame.java:1)\\n' >&2"


def test_what_a_started_program_prints_is_kept_off_the_screen_and_what_python_prints_is_not(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with _java_output_aside() as log:
        subprocess.run(["sh", "-c", TRACE], check=True)
        print("of Python", file=sys.stderr)
        assert _last_line(log) == " Java's last line was: Error: no such class."
    subprocess.run(["sh", "-c", "echo afterwards >&2"], check=True)
    assert capfd.readouterr().err == "of Python\nafterwards\n"


def test_the_screen_is_given_back_after_an_error(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError), _java_output_aside():
        raise RuntimeError
    os.write(2, b"afterwards\n")
    assert capfd.readouterr().err == "afterwards\n"


@pytest.mark.parametrize(
    ("master", "variable", "setting", "expected"),
    [
        ("local[2]", None, None, sys.executable),
        ("local[2]", None, "/opt/python", "/opt/python"),
        ("local[2]", "/opt/python", None, "python3"),  # which Spark has seen to itself
        ("spark://elsewhere:7077", None, None, "python3"),  # another machine may not have this one
    ],
)
def test_executors_here_run_this_python_where_nobody_chose_one(
    monkeypatch: pytest.MonkeyPatch, master: str, variable: str | None, setting: str | None, expected: str
) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    if variable is not None:
        monkeypatch.setenv("PYSPARK_PYTHON", variable)
    context = SimpleNamespace(master=master, pythonExec="python3")
    conf = {} if setting is None else {"spark.pyspark.python": setting}
    session: Any = SimpleNamespace(sparkContext=context, conf=conf)
    use_this_python(session)
    assert context.pythonExec == expected
    use_this_python(cast(Any, SimpleNamespace(conf=conf)))  # Spark Connect has no context


@pytest.mark.long
@pytest.mark.spark
def test_a_session_that_likewise_starts_is_silent(tmp_path: Path) -> None:
    code = (
        "import pandas as pd; from likewise._spark_session import open_session; s = open_session('A test');"
        "s.createDataFrame(pd.DataFrame({'a': [1]})).toPandas(); s.stop()"
    )
    settings = {name: value for name, value in os.environ.items() if name != "PYSPARK_SUBMIT_ARGS"}
    settings |= {"PYTHONPATH": os.pathsep.join(sys.path), "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=settings, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
