"""What ``likewise audit --engine spark`` promises: the record of the local command, of files that Spark reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet
import pytest
import skl2onnx
from skl2onnx.common.data_types import FloatTensorType
from sklearn.linear_model import LinearRegression
from tests.sizes import sized
from tests.spark.same_records import differences

if TYPE_CHECKING:
    from tests.cli.conftest import Run

RULE = ("--max-continuous-shift", "0.1", "--max-discrete-changes", "0")  # Spark takes its time for each change
ASKED = ("--label", "hired", "--sensitive", "race", *RULE, "--ignore", "sex", "--resamples", "50", "--json")
AMOUNTS = ("--label", "hours", *ASKED[2:], "--ignore", "p,hired,size", "--task", "regression")
ON_SPARK = ("--engine", "spark", "--spark-master", "local[2]")


@pytest.fixture
def parts(scored: pa.Table, tmp_path: Path) -> str:
    """The same people in three files, of which the middle one is the longest."""
    folder = tmp_path / "people"
    folder.mkdir()
    ends = [0, len(scored) // 4, 3 * len(scored) // 4, len(scored)]
    for place in range(3):
        some = scored.slice(ends[place], ends[place + 1] - ends[place])
        pyarrow.parquet.write_table(some, folder / f"part-{place}.parquet")
    return str(folder / "*.parquet")


@pytest.fixture
def model(scored: pa.Table, tmp_path: Path) -> Path:
    """A model of amounts, as a file that Spark's workers read."""
    ages = scored.column("age").to_numpy().reshape(-1, 1).astype("float32")
    fitted = LinearRegression().fit(ages, scored.column("hours").to_numpy())
    made = skl2onnx.to_onnx(fitted, initial_types=[("age", FloatTensorType([None, 1]))])
    file = tmp_path / "model.onnx"
    file.write_bytes(made.SerializeToString())
    return file


@pytest.mark.parametrize("task", sized(("regression",), ("regression", "binary")))
def test_the_record_is_that_of_the_local_command_whether_a_column_or_a_model_scores(
    run: Run, spark: Any, parts: str, model: Path, tmp_path: Path, task: str
) -> None:
    out = tmp_path / "audit"
    # the pairs of a baseline are searched for again
    asked = (*AMOUNTS, "--no-baseline", "--model", model) if task == "regression" else (*ASKED, "--scores", "p")
    inside = run("audit", parts, *asked, *ON_SPARK, "--out", out)
    outside = run("audit", parts, *asked)
    assert (inside.code, outside.code) == (0, 0), inside.stderr + outside.stderr
    records = [json.loads(one.stdout) for one in (inside, outside)]
    for record in records:
        record.pop("made_at")
        record["command"].pop("engine")
        assert record["task"] == task
    # which column costs most pairs is counted where all people are at hand
    records[1]["notes"] = [note.partition(" Most are lost to ")[0] for note in records[1]["notes"]]
    assert list(differences(*records)) == []
    assert json.loads((out / "audit.json").read_text())["command"]["engine"] == "spark"
    assert (out / "report.html").is_file()
    assert ("Most are lost to" in outside.stdout) == (task == "binary")
    files = sorted(Path(parts).parent.glob("*.parquet"))
    verified = run("verify", out / "audit.json", *files, *(("--model", model) if task == "regression" else ()))
    assert verified.code == 0, verified.stdout + verified.stderr


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("people.csv", *ON_SPARK), "Write it as Parquet"),
        (("people.parquet", "--spark-master", "local[2]"), "add --engine spark"),
        (("people.parquet", *ON_SPARK, "--when-too-many", "sample"), "no effect on Spark"),
        (("people.parquet", *ON_SPARK, "--spark-conf", "spark.cores.max"), "KEY=VALUE"),
    ],
)
def test_what_does_not_go_with_spark_is_refused_before_it_starts(run: Run, args: tuple[str, ...], words: str) -> None:
    outcome = run("audit", *args, "--label", "hired", "--sensitive", "race", "--scores", "p")
    assert outcome.code == 2
    assert words in " ".join(outcome.stderr.split())


def test_a_file_that_is_not_there_is_named(run: Run, spark: Any, tmp_path: Path) -> None:
    outcome = run("audit", tmp_path / "nobody.parquet", "--label", "y", "--sensitive", "s", "--scores", "p", *ON_SPARK)
    assert outcome.code == 2
    assert "Spark finds no file" in outcome.stderr
    assert "Traceback" not in outcome.stderr
