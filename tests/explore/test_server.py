"""The page is served to this machine only, until it is interrupted; a busy port is told in a line."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.explore.asking import start_page

from likewise.exceptions import LikewiseError
from likewise.explore import Explorer, _server, serve

SERVES = """
import time

from likewise.explore import Explorer, serve
from tests.explore.conftest import ROLES, RULE, make_people, score_people


def ask_for_long(frame):
    time.sleep(600)


people = make_people()
explorer = Explorer(score_people(people), people, roles=ROLES, rule=RULE, model=ask_for_long)
worst = explorer.look({"changes": 1, "shift": 0.1})["pairs"][0]
print(worst["left_row"], worst["right_row"], flush=True)
serve(explorer, opens_browser=False, announce=lambda address: print(address, flush=True))
print("ended", flush=True)
"""


def test_it_serves_until_interrupted_and_ends_cleanly_even_while_a_model_is_asked() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SERVES], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        left, right = map(int, running.stdout.readline().split())
        address = running.stdout.readline().strip()
        try:
            assert address.startswith("http://127.0.0.1:")
            with urllib.request.urlopen(address, timeout=20) as response:
                assert b"likewise" in response.read()
            with pytest.raises(urllib.error.HTTPError, match="403"):
                urllib.request.urlopen(address[:-5] + "/", timeout=20)
            question = {"left": left, "right": right, "side": "left", "changed": {"age": 30}}
            with socket.create_connection(("127.0.0.1", urlsplit(address).port or 0), timeout=20) as asking:
                asking.sendall(write_request(address, "what-if", question))
                time.sleep(0.3)  # until the model has been asked; if that takes longer, the test shows less
                running.send_signal(signal.SIGINT)
                assert running.stdout.readline() == "ended\n"
            out, err = running.communicate(timeout=30)
        finally:
            running.kill()
    assert (out, err, running.returncode) == ("", "", 0)


BROWSER = """#!/bin/sh
printf '%s\\n' "$#" "$@" >>"$0.opened"
while [ -e "${1#file://}" ]; do sleep 0.05; done
"""


def test_the_token_stands_on_no_command_line_and_the_file_that_has_it_is_private_and_goes(tmp_path: Path) -> None:
    stand_in = tmp_path / "browser"
    stand_in.write_text(BROWSER)
    stand_in.chmod(0o755)
    settings = os.environ | {"BROWSER": str(stand_in), "TMPDIR": str(tmp_path)}
    for is_asked in (True, False):
        with subprocess.Popen(
            [sys.executable, "-c", SERVES.replace("opens_browser=False, ", "")],
            stdout=subprocess.PIPE,
            text=True,
            env=settings,
        ) as running:
            assert running.stdout is not None
            running.stdout.readline()
            address = running.stdout.readline().strip()
            try:
                opened = wait_for(tmp_path / "browser.opened").read_text().splitlines()
                (tmp_path / "browser.opened").unlink()
                assert opened[0] == "1"
                page = Path(opened[1].removeprefix("file://"))
                assert (page.stat().st_mode & 0o777, page.parent.stat().st_mode & 0o777) == (0o600, 0o700)
                assert f'http-equiv="refresh" content="0; url={address}"' in page.read_text()
                token = urlsplit(address).path.strip("/")
                assert [one for one in list_commands() if str(page) in one]  # it does see the browser
                assert [one for one in list_commands() if token in one] == []
                if is_asked:  # as a browser asks that is sent there by a file
                    cross = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
                    with urllib.request.urlopen(urllib.request.Request(address, headers=cross), timeout=20):
                        assert not page.parent.exists()
                running.send_signal(signal.SIGINT)
                assert running.stdout.readline() == "ended\n"
                assert not page.parent.exists()
            finally:
                running.kill()


def wait_for(path: Path) -> Path:
    ends = time.monotonic() + 20
    while not path.exists() or not path.read_text().endswith(".html\n"):
        assert time.monotonic() < ends, f"{path} does not come"
        time.sleep(0.05)
    return path


def list_commands() -> list[str]:
    return subprocess.run(
        ["ps", "-A", "-ww", "-o", "args="], capture_output=True, text=True, check=True
    ).stdout.splitlines()


def write_request(address: str, what: str, question: Any) -> bytes:
    parts, body = urlsplit(address), json.dumps(question)
    head = f"POST {parts.path}api/{what} HTTP/1.1\r\nhost: {parts.netloc}\r\ncontent-type: application/json\r\n"
    return f"{head}x-likewise-token: {parts.path[1:-1]}\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()


def test_it_answers_while_many_connections_say_nothing(explorer: Explorer, caplog: pytest.LogCaptureFixture) -> None:
    client = start_page(explorer)
    headers = {"x-likewise-token": client.token, "content-type": "application/json"}
    n_threads = threading.active_count()
    with ExitStack() as stack:
        for number in range(400):
            idle = stack.enter_context(socket.create_connection(("127.0.0.1", client.port), timeout=20))
            if number % 2:
                idle.sendall(b"POST / HTTP/1.1\r\nhost: ")
        assert client.get(f"/{client.token}/").status_code == 200
        assert client.request("POST", f"/{client.token}/api/about", headers=headers, body=b"{}").status_code == 200
        assert threading.active_count() - n_threads < 100
    assert [one.getMessage() for one in caplog.records if one.levelname != "INFO"] == [
        "More than 64 connections say nothing: the oldest are closed."
    ]


def test_a_slow_model_keeps_its_connection(monkeypatch: pytest.MonkeyPatch, explorer: Explorer) -> None:
    client, begun, may_end = start_page(explorer), threading.Event(), threading.Event()

    def wait(*given: Any) -> Any:
        begun.set()
        may_end.wait(20)
        return {"waited": True}

    monkeypatch.setattr(Explorer, "about", wait)
    found: list[Any] = []
    asked = ("POST", f"/{client.token}/api/about")
    headers = {"x-likewise-token": client.token, "content-type": "application/json"}
    asking = threading.Thread(target=lambda: found.append(client.request(*asked, headers=headers, body=b"{}").json()))
    asking.start()
    assert begun.wait(20)
    with ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(socket.create_connection(("127.0.0.1", client.port), timeout=20))
        assert client.get(f"/{client.token}/").status_code == 200
    may_end.set()
    asking.join(20)
    assert found == [{"waited": True}]


def test_a_connection_that_says_nothing_is_closed_after_a_while(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_server._Connection, "timeout", 0.2)
    client = start_page(explorer)
    with socket.create_connection(("127.0.0.1", client.port), timeout=20) as idle:
        assert idle.recv(1) == b""


def test_a_busy_port_is_told_in_a_line(explorer: Explorer) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(LikewiseError, match=f"Port {port} is in use by another program"):
            serve(explorer, port=port)


@pytest.mark.parametrize("port", [-1, 70_000, "80", True])
def test_what_is_no_port_is_refused(explorer: Explorer, port: Any) -> None:
    with pytest.raises(ValueError, match="port is"):
        serve(explorer, port=port)


def test_a_browser_that_fails_does_no_harm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(address: str) -> None:
        raise OSError("no browser")

    monkeypatch.setattr("webbrowser.open", fail)
    _server._open("http://127.0.0.1:1/", tmp_path)
    _server._open("http://127.0.0.1:1/", tmp_path / "absent")
