"""``likewise audit`` of several files, of more pairs than are kept, and of pairs that were found before."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from likewise.comparable import Comparability, write_pairs
from likewise.schema import Roles

if TYPE_CHECKING:
    from tests.cli.conftest import Run

SCORED = (
    *("--label", "hired", "--sensitive", "race", "--max-continuous-shift", "0.1"),
    *("--scores", "p", "--resamples", "40", "--ignore", "name"),
)


@pytest.fixture
def parts(scored: pa.Table, tmp_path: Path) -> list[Path]:
    folder = tmp_path / "people"
    folder.mkdir()
    paths = [folder / f"part-{number}.parquet" for number in range(3)]
    for number, path in enumerate(paths):
        pyarrow.parquet.write_table(scored.slice(100 * number, 100), path)
    return paths


def audit(run: Run, *args: object) -> dict[str, Any]:
    outcome = run("audit", *args, *SCORED, "--json")
    assert outcome.code == 0, outcome.stderr
    record = json.loads(outcome.stdout)
    assert isinstance(record, dict)
    return record


def test_several_files_are_one_table_in_the_order_given(run: Run, scored: pa.Table, parts: list[Path]) -> None:
    whole = parts[0].parent.with_name("whole.parquet")
    pyarrow.parquet.write_table(scored, whole)
    expected, record = audit(run, whole), audit(run, *parts)
    files = record["data"].pop("files")
    digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in parts]
    assert files == [{"file": str(path), "sha256": digest} for path, digest in zip(parts, digests, strict=True)]
    assert record["data"]["file"] == f"{parts[0]} and 2 more files"
    for name in ("measures", "worst_pairs", "pairs", "directions", "coverage"):
        assert record[name] == expected[name]
    assert record["data"]["table_checksum"] == expected["data"]["table_checksum"]
    assert audit(run, parts[0].parent)["data"]["files"] == files
    assert audit(run, f"{parts[0].parent}/*.parquet")["data"]["files"] == files
    turned = audit(run, *reversed(parts))
    assert turned["worst_pairs"][0]["left_row"] != record["worst_pairs"][0]["left_row"]
    assert turned["measures"]["gap_max"] == record["measures"]["gap_max"]


def test_files_that_are_no_one_table_are_refused(run: Run, scored: pa.Table, parts: list[Path]) -> None:
    def refusal() -> str:
        outcome = run("audit", parts[0], parts[1], *SCORED)
        assert outcome.code == 2
        return " ".join(outcome.stderr.split())

    pyarrow.parquet.write_table(scored.drop(["job"]), parts[1])
    assert f"'{parts[1]}' has no column 'job', which '{parts[0]}' has." in refusal()
    pyarrow.parquet.write_table(scored.append_column("pay", scored["age"]), parts[1])
    assert f"'{parts[0]}' has no column 'pay', which '{parts[1]}' has." in refusal()
    ages = scored["age"].cast(pa.string())
    pyarrow.parquet.write_table(scored.set_column(scored.column_names.index("age"), "age", ages), parts[1])
    assert f"Column 'age' has type string in '{parts[1]}' and int64 in '{parts[0]}'." in refusal()


def test_what_is_no_file_is_told_apart(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for named, words in {
        tmp_path / "empty": "has no .parquet file",
        f"{tmp_path}/none-*.parquet": "No file matches",
        "s3a://people/2025.parquet": "likewise.spark.audit",
    }.items():
        outcome = run("audit", named, *SCORED)
        assert outcome.code == 2
        assert words in " ".join(outcome.stderr.split())


def test_addresses_are_refused_where_files_of_this_machine_are_meant(
    run: Run, parts: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for words in (
        ("audit", *parts, *SCORED, "--out", "s3a://bucket/audit"),
        ("audit", *parts, *SCORED, "--policy", "gs://bucket/policy.toml"),
        ("pairs", "hdfs://host:9000/people.parquet", "--sensitive", "sex"),
        ("antidote", "s3a://bucket/people.parquet", "--sensitive", "sex", "--out", "made.parquet"),
        ("report", "s3a://bucket/audit.json"),
    ):
        outcome = run(*words)
        assert outcome.code == 2
        told = " ".join(outcome.stderr.split())
        assert "' is not on this machine. Give a local path" in told.replace(", which is", " is")
        assert next(str(word) for word in words if "://" in str(word)) in told
    assert list(tmp_path.iterdir()) == [one for one in tmp_path.iterdir() if ":" not in one.name]


def test_a_streamed_audit_is_written_shown_and_verified(run: Run, parts: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "audit"
    outcome = run("audit", *parts, *SCORED, "--set", "max_pairs=50", "--out", out)
    assert outcome.code == 0
    shown = " ".join(outcome.stdout.split())
    record = json.loads((out / "audit.json").read_text("utf-8"))
    pairs = record["pairs"]
    assert (pairs["measured"], pairs["n_kept"]) == ("all", 50)
    assert pairs["n"] == pairs["n_total"] > 50
    assert f"{pairs['n']:,} comparable pairs among the 300 rows" in shown
    assert f"All {pairs['n']:,} comparable pairs were measured, too many to keep" in shown
    for report in ("report.html", "audit.md"):
        assert "intervals from a uniform sample of 50" in (out / report).read_text("utf-8")
    verified = run("verify", out / "audit.json", *parts)
    assert verified.code == 0, verified.stdout
    assert verified.stdout.startswith("All ")
    fewer = run("verify", out / "audit.json", *parts[:2])
    assert fewer.code == 1
    assert "2 files given, 3 on record" in fewer.stdout
    turned = run("verify", out / "audit.json", parts[1], parts[0], parts[2])
    assert turned.code == 1
    assert turned.stdout.count("The data is not what was audited") == 2


def test_pairs_found_before_and_a_memory_limit_change_no_number(
    run: Run, scored: pa.Table, parts: list[Path], tmp_path: Path
) -> None:
    expected = audit(run, *parts)
    roles = Roles.from_dict(expected["roles"])
    table = roles.learn(scored).encode(scored)
    write_pairs(table, Comparability.from_dict(expected["rule"]), tmp_path / "pairs")
    found = audit(run, *parts, "--set", f"pairs={tmp_path / 'pairs'}", "--memory-limit", "4 GB")
    assert found["measures"] == expected["measures"]
    assert found["command"]["memory_limit"] == "4 GB"
    refused = run("audit", *parts, *SCORED, "--set", f"pairs={tmp_path / 'pairs'}", "--max-discrete-changes", 0)
    assert refused.code == 2
    assert "the pairs of another rule" in " ".join(refused.stderr.split())
    wrong = run("audit", *parts, *SCORED, "--memory-limit", "much")
    assert wrong.code == 2
    assert "--memory-limit is 'much'" in wrong.stderr


def test_what_likewise_pairs_wrote_is_audited(run: Run, scored: pa.Table, tmp_path: Path) -> None:
    people = tmp_path / "people.parquet"
    pyarrow.parquet.write_table(scored, people)
    asked = ("--label", "hired", "--sensitive", "race", "--max-continuous-shift", "0.1", "--ignore", "name")
    assert run("pairs", people, *asked, "--out", tmp_path / "with_scores").code == 0
    assert run("pairs", people, *asked, "--scores", "p", "--out", tmp_path / "pairs").code == 0
    assert audit(run, people, "--set", f"pairs={tmp_path / 'pairs'}")["measures"] == audit(run, people)["measures"]
    refused = run("audit", people, *SCORED, "--set", f"pairs={tmp_path / 'with_scores'}")
    assert refused.code == 2
    assert "'likewise pairs --out' and the same --scores and --ignore" in " ".join(refused.stderr.split())
