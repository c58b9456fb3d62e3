"""The page is served to this machine only, until it is interrupted; a busy port and a missing extra are a line each."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urlsplit

import pytest

from likewise.exceptions import LikewiseError, MissingExtra
from likewise.explore import Explorer, _server, serve
from likewise.explore._server import open_socket

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


def write_request(address: str, what: str, question: Any) -> bytes:
    parts, body = urlsplit(address), json.dumps(question)
    head = f"POST {parts.path}api/{what} HTTP/1.1\r\nhost: {parts.netloc}\r\ncontent-type: application/json\r\n"
    return f"{head}x-likewise-token: {parts.path[1:-1]}\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()


def test_it_listens_on_this_machine_only() -> None:
    with open_socket(0) as listening:
        assert listening.getsockname()[0] == "127.0.0.1"


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


def test_without_the_extra_it_says_how_to_get_it(explorer: Explorer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(MissingExtra, match=r"\[explore\]"):
        serve(explorer)


def test_a_browser_that_fails_does_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(address: str) -> None:
        raise OSError("no browser")

    monkeypatch.setattr("webbrowser.open", fail)
    _server._open("http://127.0.0.1:1/")
