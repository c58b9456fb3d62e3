"""A signature is right for one key and one file, and whatever is wrong is named."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Run


@pytest.fixture
def key(run: Run, tmp_path: Path) -> Path:
    path = tmp_path / "audit.key"
    assert run("sign", "--new-key", path).code == 0
    return path


@pytest.fixture
def signed(run: Run, tmp_path: Path, key: Path) -> Path:
    path = tmp_path / "audit.json"
    path.write_text('{"format": "likewise audit 1"}')
    assert run("sign", path, "--key", key).code == 0
    return path


def test_a_signature_is_right_until_the_file_changes(run: Run, signed: Path, key: Path) -> None:
    assert run("sign", signed, "--key", key, "--check").code == 0
    signed.write_text(signed.read_text() + " ")
    outcome = run("sign", signed, "--key", key, "--check")
    assert outcome.code == 1
    assert f"'{signed}' was changed after it was signed at 2" in outcome.stdout


def test_another_key_is_named(run: Run, signed: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.key"
    run("sign", "--new-key", other)
    outcome = run("sign", signed, "--key", other, "--check")
    assert outcome.code == 1
    assert "was signed with another key" in outcome.stdout


@pytest.mark.parametrize("name", ["signed_at", "sha256", "signature"])
def test_an_altered_signature_is_named(run: Run, signed: Path, key: Path, name: str) -> None:
    place = signed.with_name("audit.json.sig")
    found = json.loads(place.read_text())
    place.write_text(json.dumps(found | {name: "0" * 64}))
    outcome = run("sign", signed, "--key", key, "--check")
    assert outcome.code == 1
    assert f"The signature '{place}' was altered" in outcome.stdout


def test_keys_are_random_and_for_the_owner_alone(run: Run, key: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.key"
    run("sign", "--new-key", other)
    assert key.read_bytes() != other.read_bytes()
    if os.name == "posix":
        assert stat.S_IMODE(key.stat().st_mode) == 0o600


def test_a_key_is_not_overwritten(run: Run, key: Path) -> None:
    before = key.read_bytes()
    outcome = run("sign", "--new-key", key)
    assert (outcome.code, outcome.stderr.count("\n")) == (2, 1)
    assert key.read_bytes() == before


@pytest.mark.parametrize(
    ("case", "complaint"),
    [
        ("no key", "cannot be read"),
        ("no key file", "is not a key of likewise"),
        ("open key", "is open to other users"),
        ("no file", "cannot be read"),
        ("no signature", "There is no signature"),
        ("not JSON", "is not a signature"),
        ("another format", "its format is 'x'"),
        ("another algorithm", "its algorithm is 'none'"),
        ("half a signature", "lacks"),
        ("nothing", "name the file to sign"),
        ("both", "it makes a key and signs nothing"),
    ],
)
def test_bad_use_is_one_line(run: Run, signed: Path, key: Path, case: str, complaint: str) -> None:
    place = signed.with_name("audit.json.sig")
    found = json.loads(place.read_text())
    args: list[object] = [signed, "--key", key, "--check"]
    match case:
        case "no key":
            args[2] = key.with_name("absent")
        case "no key file":
            args[2] = signed
        case "open key":
            if os.name != "posix":
                pytest.skip("there are no modes")
            key.chmod(0o644)
        case "no file":
            args = [signed.with_name("absent"), "--key", key]
        case "no signature":
            place.unlink()
        case "not JSON":
            place.write_text("{")
        case "another format":
            place.write_text(json.dumps(found | {"format": "x"}))
        case "another algorithm":
            place.write_text(json.dumps(found | {"algorithm": "none"}))
        case "half a signature":
            place.write_text(json.dumps({"format": found["format"]}))
        case "nothing":
            args = []
        case "both":
            args = [signed, "--new-key", key]
    outcome = run("sign", *args)
    assert (outcome.code, outcome.stdout) == (2, "")
    assert outcome.stderr.count("\n") == 1
    assert complaint in outcome.stderr


def test_verify_checks_the_signature_and_the_numbers(run: Run, scored_csv: Path, key: Path) -> None:
    out = scored_csv.with_name("audit")
    asked = ("--label", "hired", "--sensitive", "race", "--max-continuous-shift", "0.1", "--resamples", "0")
    assert run("audit", scored_csv, *asked, "--scores", "p", "--out", out, "-q").code == 0
    record = out / "audit.json"
    run("sign", record, "--key", key)
    right = run("verify", record, scored_csv, "--key", key)
    assert right.code == 0
    assert "The signature is that of the key" in right.stdout
    record.write_text(record.read_text("utf-8").replace('"n_worst": 100', '"n_worst":  100'), "utf-8")
    wrong = run("verify", record, scored_csv, "--key", key)
    assert wrong.code == 1
    assert "was changed after it was signed" in wrong.stdout
    assert "numbers agree" in wrong.stdout
