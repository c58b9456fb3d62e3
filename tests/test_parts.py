"""A folder of parts is whole under its name, or not there; and what was done is not done again."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

from likewise._folders import PartsFolder, read_about, read_parts
from likewise.exceptions import TableFileError

ABOUT = {"seed": 1, "rule": {"shift": 0.025}}
OTHER_RUN = """
import sys
from pathlib import Path
from likewise._folders import PartsFolder
with PartsFolder(Path(sys.argv[1]), {"seed": 1, "rule": {"shift": 0.025}}, "numbers").opened():
    print("writing", flush=True)
    sys.stdin.read()
"""


def part(*values: int) -> pa.Table:
    return pa.table({"value": list(values)})


def begin(target: Path) -> None:
    with PartsFolder(target, ABOUT, "numbers").opened() as folder:
        folder.write(0, part(1))


def values_in(folder: Path) -> list[int]:
    return [value for table in read_parts(folder, "numbers") for value in table.column("value").to_pylist()]


def test_the_name_appears_when_all_parts_are_there(tmp_path: Path) -> None:
    target = tmp_path / "found"
    with PartsFolder(target, ABOUT, "numbers").opened() as folder:
        folder.write(1, part(3))
        folder.write(0, part(1, 2))
        assert not target.exists()
        folder.finish(2, {"n": 3})
    assert values_in(target) == [1, 2, 3]
    assert read_about(target, "numbers")["found"] == {"n": 3}
    assert [file.name for file in tmp_path.iterdir()] == ["found"]


def test_a_run_goes_on_with_the_parts_of_the_one_before(tmp_path: Path) -> None:
    begin(tmp_path / "found")
    (tmp_path / ".found.partial" / "new" / ".part-00001.parquet").write_bytes(b"cut off in the midd")
    with PartsFolder(tmp_path / "found", ABOUT, "numbers").opened() as again:
        assert again.has(0)
        assert not again.has(1)
        again.write(1, part(2))
        again.finish(2, {})
    assert values_in(tmp_path / "found") == [1, 2]


def test_parts_of_another_question_are_not_gone_on_with(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    begin(tmp_path / "found")
    with caplog.at_level(logging.WARNING), PartsFolder(tmp_path / "found", ABOUT | {"seed": 2}, "n").opened() as again:
        assert not again.has(0)
    assert "asked for something else" in caplog.text


def test_a_folder_without_all_parts_is_not_finished(tmp_path: Path) -> None:
    with PartsFolder(tmp_path / "found", ABOUT, "numbers").opened() as folder:
        folder.write(0, part(1))
        with pytest.raises(TableFileError, match="lacks part 1 of 2"):
            folder.finish(2, {})
    assert not (tmp_path / "found").exists()


def test_a_whole_folder_is_left_as_it_is(tmp_path: Path) -> None:
    with PartsFolder(tmp_path / "found", ABOUT, "numbers").opened() as folder:
        folder.finish(0, {})
    assert PartsFolder(tmp_path / "found", ABOUT, "numbers").is_whole
    with pytest.raises(TableFileError, match="made from other input"):
        _ = PartsFolder(tmp_path / "found", ABOUT | {"seed": 2}, "numbers").is_whole


@pytest.mark.parametrize("content", [None, "{}", "no json"])
def test_what_is_no_folder_of_ours_is_neither_read_nor_replaced(tmp_path: Path, content: str | None) -> None:
    there = tmp_path / "there"
    there.mkdir()
    if content is not None:
        (there / "_about.json").write_text(content)
    with pytest.raises(TableFileError, match="exists already"):
        _ = PartsFolder(there, ABOUT, "numbers").is_whole
    with pytest.raises(TableFileError, match="is not a folder of numbers"):
        read_about(there, "numbers")
    assert len(list(there.iterdir())) == (content is not None)


@pytest.mark.skipif(os.name != "posix", reason="only there can a lock outlive no process")
def test_two_runs_do_not_write_one_folder(tmp_path: Path) -> None:
    how = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", OTHER_RUN, str(tmp_path / "found")], **how) as other:  # type: ignore[call-overload]
        assert other.stdout.readline() == "writing\n"
        for about in (ABOUT, ABOUT | {"seed": 2}):  # what is asked differently must not clear the other's parts away
            with (
                pytest.raises(TableFileError, match=r"Another run is writing '.*found'"),
                PartsFolder(tmp_path / "found", about, "numbers").opened(),
            ):
                pytest.fail("two runs write one folder")
        other.kill()
    begin(tmp_path / "found")  # an attempt of this run that broke off is no other run
    with PartsFolder(tmp_path / "found", ABOUT, "numbers").opened() as folder:
        folder.finish(1, {})
    assert sorted(file.name for file in (tmp_path / "found").iterdir()) == ["_about.json", "part-00000.parquet"]


def test_of_several_threads_one_writes_a_folder_and_the_others_are_refused(tmp_path: Path) -> None:
    target, all_there = tmp_path / "found", threading.Barrier(3)
    refused: list[str] = []

    def write(number: int) -> None:
        try:
            with PartsFolder(target, ABOUT, "numbers").opened() as folder:
                all_there.wait(10)
                folder.write(0, part(number))
                folder.finish(1, {})
        except TableFileError as error:
            refused.append(str(error))
            all_there.wait(10)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(write, range(3)))
    assert refused == [f"Another run is writing '{target}'. Wait until it is finished, or use another name."] * 2
    assert len(list(read_parts(target, "numbers"))) == 1
    shutil.rmtree(target)
    begin(target)  # what is finished is not held


def test_a_folder_without_a_name_of_its_own_is_refused_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for target in (Path(), Path("/")):
        with pytest.raises(TableFileError, match="exists already"):
            _ = PartsFolder(target, ABOUT, "numbers").is_whole


def test_a_part_that_is_not_as_it_was_written_is_refused_in_one_line_without_parsing_it(tmp_path: Path) -> None:
    with PartsFolder(tmp_path / "found", ABOUT, "numbers").opened() as parts:
        parts.write(0, part(1, 2))
        parts.finish(1, {})
    file, about = tmp_path / "found" / "part-00000.parquet", tmp_path / "found" / "_about.json"
    sound = file.read_bytes()
    file.write_bytes(b"PAR1 of something else PAR1")
    with pytest.raises(TableFileError, match="was changed after it was written"):
        values_in(tmp_path / "found")
    footer = len(sound) - 8 - int.from_bytes(sound[-8:-4], "little")
    damaged = sound[:footer] + b"\xff" * 12 + sound[footer + 12 :]
    file.write_bytes(damaged)
    told = json.loads(about.read_text())  # as a forger would see to
    told["parts"][0]["sha256"] = hashlib.sha256(damaged).hexdigest()
    about.write_text(json.dumps(told))
    with pytest.raises(TableFileError, match="cannot be read: ") as refusal:
        values_in(tmp_path / "found")
    assert "\n" not in str(refusal.value)
