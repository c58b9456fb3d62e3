"""Files and folders appear whole, by one run at a time, and never in the place of what anybody else made or changed."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from likewise import UniformGenerator, _files, load_dataset
from likewise._files import local_path, new_folder, remove_folder, write_file, write_folder
from likewise.comparable import read_pairs, write_pairs
from likewise.exceptions import SavedModelError, TableFileError
from likewise.generation import generate_parts, load_generator

FILES = ("one", "two")
FILE_EVENTS = (
    "open",
    "ctypes.dlsym",
    *(f"os.{name}" for name in ("mkdir", "link", "rename", "remove", "rmdir")),
)


def write(target: Path, text: str, kind: str | None = "audit") -> None:
    write_folder(target, kind, dict.fromkeys(FILES, text))


def texts_in(folder: Path) -> set[str]:
    """What the files of a folder say; nothing but those, and their list, may be there."""
    assert {one.name for one in folder.iterdir()} <= {*FILES, _files.MARKER}
    return {(folder / name).read_text() for name in FILES}


@pytest.fixture(autouse=True)
def no_power_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait for the disk."""
    monkeypatch.setattr(_files, "flush", Path.exists)


@pytest.fixture(params=[True, False], ids=["in one step", "in two"])
def swap(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if not request.param:
        monkeypatch.setattr(_files, "_exchange", lambda one, other: False)


def change_a_file(folder: Path) -> None:
    (folder / "one").write_text("filled in by hand")


def add_a_file(folder: Path) -> None:
    (folder / "thesis.part").write_text("years of work")


def add_a_folder(folder: Path) -> None:
    (folder / "sub.part").mkdir()
    (folder / "sub.part" / "deep.txt").write_text("years of work")


def put_a_link(folder: Path) -> None:
    (folder / "one").rename(folder.with_name("mine"))
    (folder / "one").symlink_to(folder.with_name("mine"))


def put_a_folder(folder: Path) -> None:
    (folder / "one").unlink()
    (folder / "one").mkdir()


def forget_what_is_ours(folder: Path) -> None:
    (folder / _files.MARKER).unlink()


def tree(folder: Path) -> dict[str, bytes | None]:
    return {str(one.relative_to(folder)): one.read_bytes() if one.is_file() else None for one in folder.rglob("*")}


@pytest.mark.usefixtures("swap")
def test_a_folder_of_ours_that_nobody_changed_is_replaced(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "audit"
    for text in ("first", "second", "third"):
        write(target, text)
        assert texts_in(target) == {text}
        assert [one.name for one in target.parent.iterdir()] == ["audit"]
    (target / "two").unlink()
    write(target, "fourth")
    assert texts_in(target) == {"fourth"}
    (tmp_path / "empty").mkdir()
    write(tmp_path / "empty", "fifth")
    assert texts_in(tmp_path / "empty") == {"fifth"}


@pytest.mark.parametrize(
    "change", [change_a_file, add_a_file, add_a_folder, put_a_link, put_a_folder, forget_what_is_ours]
)
def test_a_folder_that_anybody_changed_is_refused_before_and_after_the_work(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    target = tmp_path / "audit"
    write(target, "first")
    with new_folder(target, "audit") as put:
        change(target)  # while the work goes on
        before = tree(tmp_path / "audit")
        with pytest.raises(TableFileError, match="Name another folder"):
            put(dict.fromkeys(FILES, "second"))
    assert tree(tmp_path / "audit") == before
    before = tree(tmp_path)
    with pytest.raises(TableFileError, match="Name another folder"), new_folder(target, "audit"):
        pytest.fail("the work has begun")
    remove_folder(target, "audit")
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    ("first", "second"), [("saved model", "audit"), (None, "audit"), ("audit", None), (None, None)]
)
def test_a_folder_of_another_kind_is_refused(tmp_path: Path, first: str | None, second: str | None) -> None:
    write(tmp_path / "there", "first", first)
    with pytest.raises(TableFileError, match="not replaced"):
        write(tmp_path / "there", "second", second)
    assert texts_in(tmp_path / "there") == {"first"}


def test_a_folder_that_is_holds_or_lies_in_an_input_or_is_the_current_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit, people = tmp_path / "audit", tmp_path / "people"
    write(audit, "first")
    people.mkdir()
    monkeypatch.chdir(people)
    for target, read, words in (
        (audit, audit / "one", "holds the input"),
        (audit, audit, "is the input"),
        (people / "audit", people, "lies in the input"),
        (people, audit, "the folder that you are in"),
        (tmp_path, audit, "holds the input"),
    ):
        with pytest.raises(TableFileError, match=words), new_folder(target, "audit", [read]):
            pytest.fail("the work has begun")
    assert texts_in(audit) == {"first"}


def test_a_file_is_never_replaced(tmp_path: Path) -> None:
    target = tmp_path / "plan.json"
    write_file(target, "first")
    with pytest.raises(TableFileError, match="is there already"):
        write_file(target, "second")
    (tmp_path / "nowhere").symlink_to(tmp_path / "pointed")
    write_file(tmp_path / "nowhere", "through a link")
    with pytest.raises(TableFileError, match="is a folder"):
        write_file(tmp_path, "third")
    texts = {one.name: one.read_text() for one in tmp_path.iterdir()}
    assert texts == {"plan.json": "first", "nowhere": "through a link", "pointed": "through a link"}


@pytest.mark.parametrize("name", [".audit.partial", ".plan.json.partial"])
def test_what_only_looks_like_a_leftover_is_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name / "new").mkdir(parents=True)
    (tmp_path / name / "new" / "thesis.txt").write_text("years of work")
    before = tree(tmp_path)
    with pytest.raises(TableFileError, match="has other files in it"):
        write(tmp_path / "audit", "text") if "audit" in name else write_file(tmp_path / "plan.json", "text")
    assert tree(tmp_path) == before


def test_of_several_at_once_one_writes_and_the_others_are_refused(tmp_path: Path) -> None:
    target, n_threads = tmp_path / "audit", 4
    at_once, refused = threading.Barrier(n_threads), []

    def work(text: str) -> None:
        try:
            with new_folder(target, "audit") as put:
                at_once.wait(10)
                put(dict.fromkeys(FILES, text))
        except TableFileError as error:
            refused.append(str(error))
            at_once.wait(10)

    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(work, "abcd"))
    assert refused == [f"Another run is writing '{target}'. Wait until it is finished, or use another name."] * 3
    assert len(texts_in(target)) == 1
    assert [one.name for one in tmp_path.iterdir()] == ["audit"]


def die_at(number: int, work: Callable[[], None]) -> bool:
    """Do work in another process, which is killed at the file operation of that number; return whether it was."""
    child = os.fork()
    if child == 0:
        left = iter(range(number))

        def count(event: str, args: tuple[object, ...]) -> None:
            is_change = event in FILE_EVENTS and args[1:2] not in (("r",), ("rb",))
            if is_change and next(left, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)

        with suppress(BaseException):
            sys.addaudithook(count)
            work()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def each_kill(work: Callable[[], None], prepare: Callable[[], None]) -> Iterator[int]:
    """Kill work at every file operation, one after the other."""
    for number in range(1_000):
        prepare()
        if not die_at(number, work):
            assert number > 5, "nothing was killed"
            return
        yield number


@pytest.mark.skipif(os.name != "posix", reason="signals are posix")
@pytest.mark.usefixtures("swap")
def test_killed_at_any_file_operation_the_old_or_the_new_folder_is_whole(tmp_path: Path) -> None:
    target, aside = tmp_path / "audit", tmp_path / ".audit.partial" / "old"
    seen = set()
    for _ in each_kill(lambda: write(target, "new"), lambda: write(target, "old")):
        [text] = texts_in(target if target.exists() else aside)
        seen.add(text)
        with new_folder(target, "audit"):  # the next run begins with what the kill left
            assert texts_in(target) == {text}
        assert [one.name for one in tmp_path.iterdir()] == ["audit"]
    assert seen == {"old", "new"}


@pytest.mark.skipif(os.name != "posix", reason="signals are posix")
def test_killed_at_any_file_operation_a_file_is_whole_or_not_there(tmp_path: Path) -> None:
    target = tmp_path / "plan.json"
    seen = set()
    for _ in each_kill(lambda: write_file(target, "new"), lambda: target.unlink(missing_ok=True)):
        seen.add(target.read_text() if target.exists() else None)
        target.unlink(missing_ok=True)
        write_file(target, "next")
        assert [one.name for one in tmp_path.iterdir()] == ["plan.json"]
    assert seen == {None, "new"}


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
    with pytest.raises(SavedModelError, match=words):
        generator.save(address)
    with pytest.raises(SavedModelError, match=words):
        load_generator(address)
    assert list(tmp_path.iterdir()) == []
    assert local_path("C:/people") == Path("C:/people")
