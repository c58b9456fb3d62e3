"""A folder takes the place of another whole, and what dead processes left is cleared away."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from likewise import UniformGenerator, _folders, load_dataset
from likewise._folders import clear_leftovers, local_path, put_in_place, unfinished_name
from likewise.comparable import read_pairs, write_pairs
from likewise.exceptions import SavedFolderError, TableFileError
from likewise.generation import generate_parts, load_generator


def make(folder: Path, text: str) -> Path:
    folder.mkdir()
    for name in ("one", "two"):
        (folder / name).write_text(text)
    return folder


def read(folder: Path) -> set[str]:
    return {one.read_text() for one in folder.iterdir()}


@pytest.mark.parametrize("in_one_step", [True, False])
def test_the_new_folder_has_the_name_and_the_old_one_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_one_step: bool
) -> None:
    if not in_one_step:
        monkeypatch.setattr(_folders, "_exchange", lambda one, other: False)
    target = tmp_path / "audit"
    for text in ("first", "second", "third"):
        put_in_place(make(unfinished_name(target), text), target)
        assert read(target) == {text}
        assert [one.name for one in tmp_path.iterdir()] == ["audit"]


def test_the_old_folder_keeps_its_name_where_the_new_one_cannot_have_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_folders, "_exchange", lambda one, other: False)
    target = make(tmp_path / "audit", "old")
    with pytest.raises(OSError, match="missing"):
        put_in_place(tmp_path / "missing", target)
    assert read(target) == {"old"}


@pytest.mark.parametrize("in_one_step", [True, False])
def test_threads_that_write_one_folder_do_not_mix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_one_step: bool
) -> None:
    if not in_one_step:
        monkeypatch.setattr(_folders, "_exchange", lambda one, other: False)
    target, n_threads = tmp_path / "audit", 4
    at_once = threading.Barrier(n_threads)

    def write(text: str) -> None:
        for _ in range(5):
            at_once.wait(10)
            put_in_place(make(unfinished_name(target), text), target)

    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(write, "abcd"))
    assert len(read(target)) == 1
    assert [one.name for one in tmp_path.iterdir()] == ["audit"]


@pytest.mark.skipif(sys.platform != "linux", reason="two names change places in one step on Linux only")
def test_names_change_places_in_one_step(tmp_path: Path) -> None:
    one, other = make(tmp_path / "one", "1"), make(tmp_path / "other", "2")
    assert _folders._exchange(one, other)
    assert (read(one), read(other)) == ({"2"}, {"1"})


def test_only_what_dead_processes_left_of_this_name_is_cleared(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    kept = [
        f".audit.{os.getpid()}.part",
        f".other.{dead.pid}.part",
        ".audit.notes.part",
        "audit",
        f"audit.{dead.pid}.part",
    ]
    gone = [f".audit.{dead.pid}.part", f".audit.{dead.pid}.x1y2.part"]
    for name in (*kept, gone[0]):
        (tmp_path / name).touch()
    make(tmp_path / gone[1], "half")
    clear_leftovers(tmp_path / "audit")
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted(kept)


@pytest.mark.parametrize("address", ["s3a://bucket/folder", "hdfs://host:9000/folder", "gs://bucket/folder"])
def test_an_address_is_no_local_path(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = load_dataset("planted")
    table = data.roles.learn(data.test.X).encode(data.test.X, data.test.y)
    generator = UniformGenerator(data.roles, data.rule).fit(data.test.X, data.test.y)
    words = rf"'{address}' is not on this machine\. Give a local path"
    with pytest.raises(TableFileError, match=words):
        write_pairs(table, data.rule, address)
    with pytest.raises(TableFileError, match=words):
        list(read_pairs(Path(address), table))
    with pytest.raises(TableFileError, match=words):
        generate_parts(generator, address, "here")
    with pytest.raises(SavedFolderError, match=words):
        generator.save(address)
    with pytest.raises(SavedFolderError, match=words):
        load_generator(address)
    assert list(tmp_path.iterdir()) == []
    assert local_path("C:/people") == Path("C:/people")
