"""The local server: the page, its assets and its JSON interface over HTTP, and who may use them."""

from __future__ import annotations

import errno
import json
import logging
import os
import secrets
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from email.message import Message
from functools import cache, partial
from http.server import BaseHTTPRequestHandler
from importlib import resources
from pathlib import Path
from socketserver import ThreadingTCPServer
from tempfile import TemporaryDirectory
from typing import Any, Final

from likewise._checks import check_count
from likewise.exceptions import LikewiseError, ParameterError, ScoreError
from likewise.explore._explorer import Explorer

log = logging.getLogger(__name__)

HOST: Final = "127.0.0.1"
LAST_PORT: Final = 65_535
KEPT_S: Final = 120  # seconds a connection may say nothing: people pause between moves
MOST_WAITING: Final = 64  # connections without a request that is admitted; a browser opens six
ASSETS: Final = {  # the only files read from disk, once
    "": ("index.html", "text/html; charset=utf-8"),
    "explore.css": ("explore.css", "text/css; charset=utf-8"),
    "explore.js": ("explore.js", "text/javascript; charset=utf-8"),
}
JSON: Final = "application/json"
MAX_BYTES: Final = 1 << 16  # of a request; those of the page are short
MAX_DIGITS: Final = 30  # of an integer; hundreds of digits overflow a float
TOKEN_HEADER: Final = "x-likewise-token"

HEADERS: Final = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}

REDIRECT: Final = """<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={0}"><title>likewise explore</title>
<a href="{0}">Open the explorer</a></html>
"""

Request = dict[str, Any]
Answered = tuple[bytes, str]  # body and content type


def serve(
    explorer: Explorer,
    *,
    port: int = 0,
    opens_browser: bool = True,
    announce: Callable[[str], Any] | None = None,
) -> None:
    """Serve an explorer's page on this machine only, until interrupted.

    Parameters
    ----------
    explorer : Explorer
    port : int
        The port; 0 for any free one.
    opens_browser : bool
        Whether to open the page in a browser.
    announce : function, optional
        Called with the address, for example ``print``; the page cannot be opened without the token in it.

    Examples
    --------
    >>> from likewise.explore import serve
    >>> serve(explorer, announce=print)  # doctest: +SKIP
    http://127.0.0.1:52341/q3vYb5.../
    """
    with PageServer(port) as server:
        server.run(explorer, opens_browser=opens_browser, announce=announce)


class PageServer(ThreadingTCPServer):
    """A port of this machine; each connection to it has a thread, which Ctrl-C leaves behind: a model may take long."""

    daemon_threads = True
    request_queue_size = 128
    allow_reuse_address = os.name == "posix"  # on Windows this would let another program use the same port

    def __init__(self, port: int) -> None:
        check_count("port", port, or_none=False)
        if port > LAST_PORT:
            raise ParameterError(f"is {port}; use a number from 1 to {LAST_PORT}, or 0 for any free one.", "port")
        self._lock, self._has_told = threading.Lock(), False
        self._to_page: TemporaryDirectory[str] | None = None
        self._waiting: dict[Any, None] = {}  # connections, the one that has waited longest first
        try:
            super().__init__((HOST, port), _Connection)
        except OSError as error:
            is_used = error.errno == errno.EADDRINUSE
            reason = "is in use by another program" if is_used else f"cannot be used: {error.strerror}"
            raise LikewiseError(f"Port {port} {reason}. Choose another, or 0 for any free one.") from error

    def run(self, explorer: Explorer, *, opens_browser: bool, announce: Callable[[str], Any] | None) -> None:
        """Serve the page of an explorer until interrupted."""
        port = int(self.server_address[1])
        self.guard, self.answers = Guard(secrets.token_urlsafe(24), port), _list_answers(explorer)
        address = f"http://{HOST}:{port}/{self.guard.token}/"
        log.info("The explorer is at http://%s:%d", HOST, port)
        if announce is not None:
            announce(address)
        if opens_browser:  # a terminal browser would block
            with suppress(OSError):
                self._to_page = TemporaryDirectory(prefix="likewise-", ignore_cleanup_errors=True)
                threading.Thread(target=_open, args=(address, Path(self._to_page.name)), daemon=True).start()
        with suppress(KeyboardInterrupt):  # the usual way to stop it
            self.serve_forever()
        self.end_redirect()

    def end_redirect(self) -> None:
        """Remove the file that leads to the page, which a browser has read once it asks for the page."""
        if self._to_page is not None:
            self._to_page.cleanup()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection in a thread; where many say nothing, the one that has waited longest is closed for it."""
        self.wait_for(request)
        super().process_request(request, client_address)

    def wait_for(self, connection: Any) -> None:
        """Count a connection among those that wait for a request."""
        with self._lock:
            self._waiting[connection] = None
            oldest = next(iter(self._waiting)) if len(self._waiting) > MOST_WAITING else None
            self._waiting.pop(oldest, None)
        if oldest is not None:
            with suppress(OSError):
                oldest.shutdown(socket.SHUT_RDWR)  # its thread reads the end, and closes it
            if not self._has_told:
                self._has_told = True
                log.warning("More than %d connections say nothing: the oldest are closed.", MOST_WAITING)

    def keep(self, connection: Any) -> None:
        """Do not close a connection while its request, which was admitted, is answered."""
        with self._lock:
            self._waiting.pop(connection, None)

    def shutdown_request(self, request: Any) -> None:
        """Forget a connection, and close it."""
        self.keep(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print no traceback where the other side has gone."""
        is_theirs = isinstance(sys.exc_info()[1], OSError)
        log.log(logging.DEBUG if is_theirs else logging.ERROR, "A connection failed", exc_info=True)


class _Connection(BaseHTTPRequestHandler):
    """Answer requests; only fixed paths decide what is served."""

    server: PageServer
    protocol_version = "HTTP/1.1"
    timeout = KEPT_S
    disable_nagle_algorithm = True  # else responses wait 40 ms

    def do_GET(self) -> None:
        """Answer a request."""
        self._respond()

    def do_POST(self) -> None:
        """Answer a request; what each path takes is told apart later."""
        self._respond()

    def _respond(self) -> None:
        try:
            (body, kind), status = self._answer(), 200
        except Refused as refusal:
            (body, kind), status = _as_json({"error": refusal.reason}), refusal.status
        except (LikewiseError, ValueError, TypeError) as error:
            (body, kind), status = _as_json({"error": str(error)}), 400
        except (ConnectionError, TimeoutError):  # the other side is gone, or slow
            raise
        except Exception:
            log.exception("A request failed")
            (body, kind), status = _as_json({"error": "Internal error; see the log."}), 500
        self._send(status, body, kind)
        self.server.wait_for(self.connection)

    def _answer(self) -> Answered:
        path = self.server.guard.admit(self.headers, self.path.partition("?")[0])
        self.server.keep(self.connection)
        if path in ASSETS:
            if self.command != "GET":
                raise Refused(405, "Only GET is allowed here.")
            self.server.end_redirect()
            return _read_asset(path)
        if path not in self.server.answers:
            raise Refused(404, "Not found.")
        if self.command != "POST":
            raise Refused(405, "Only POST is allowed here.")
        self.server.guard.check_request(self.headers)
        return self.server.answers[path](self._read_request())

    def _read_request(self) -> Request:
        """Read a JSON object of limited length."""
        length = self.headers.get("content-length", "")
        if not length.isascii() or not length.isdigit() or int(length[:20]) > MAX_BYTES:
            raise Refused(413, "The request has no length, or is too long.")
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            raise Refused(400, "The request was cut off.")
        try:
            request = json.loads(body or b"{}", parse_int=_read_whole, parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            raise Refused(400, "The request is not valid JSON.") from None
        if not isinstance(request, dict):
            raise Refused(400, "The request must be a JSON object.")
        return request

    def _send(self, status: int, body: bytes, kind: str) -> None:
        self.send_response_only(status)  # without the names and versions of programs
        for name, value in {**HEADERS, "content-type": kind, "content-length": str(len(body))}.items():
            self.send_header(name, value)
        if status != 200:  # what else was sent is not read
            self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer what is no request, or of another method, in the form of all answers."""
        is_other = code == 501
        reason = "Only GET and POST are allowed here." if is_other else f"Invalid request: {message}."
        self._send(405 if is_other else code, *_as_json({"error": reason}))

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing about requests."""


@cache
def _read_asset(path: str) -> Answered:
    name, kind = ASSETS[path]
    return (resources.files("likewise.explore") / "assets" / name).read_bytes(), kind


def _list_answers(explorer: Explorer) -> dict[str, Callable[[Request], Answered]]:
    return {
        "api/about": lambda request: _as_json(explorer.about()),
        "api/look": lambda request: _as_json(explorer.look(request)),
        "api/pair": lambda request: _as_json(_call(explorer.pair, request)),
        "api/what-if": lambda request: _as_json(_try(explorer.what_if, request)),
        "api/parts": lambda request: _as_json(_try(explorer.parts, request)),
        "api/split": lambda request: _as_json(_try(lambda **asked: explorer.split(asked), request)),
        "api/pairs.csv": lambda request: (explorer.to_csv(request), "text/csv; charset=utf-8"),
        "api/policy.toml": lambda request: (explorer.to_toml(request).encode(), "application/toml; charset=utf-8"),
    }


def _as_json(answer: Any) -> Answered:
    return json.dumps(answer, allow_nan=False).encode(), JSON


def _call(method: Callable[..., Any], request: dict[str, Any]) -> Any:
    """Pass a request's fields by name; missing or unknown ones are a bad request."""
    try:
        return method(**request)
    except TypeError as error:
        raise Refused(400, f"Invalid request: {str(error).rpartition('.')[2]}.") from error


def _try(method: Callable[..., Any], request: dict[str, Any]) -> Any:
    """Return the reason where a model cannot score a changed person, which is not a failure."""
    try:
        return _call(method, request)
    except ScoreError as error:
        return {"problem": str(error)}


class Refused(Exception):
    """A refused request: a status and a reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


@dataclass(frozen=True, slots=True)
class Guard:
    """The token and the host names under which the page is served."""

    token: str
    port: int

    @property
    def hosts(self) -> tuple[str, ...]:
        """The accepted Host headers."""
        return f"127.0.0.1:{self.port}", f"localhost:{self.port}"

    def admit(self, headers: Message, path: str) -> str:
        """Refuse foreign requests; return the path after the token."""
        host = headers.get("host", "")
        if host not in self.hosts:  # DNS rebinding: a foreign name that resolves here
            raise Refused(403, "This page is served to this machine only.")
        if headers.get("origin", f"http://{host}") != f"http://{host}":
            raise Refused(403, "Requests from other pages are refused.")
        given, slash, rest = path.removeprefix("/").partition("/")
        how = headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")
        is_opened = not rest and how == ("navigate", "document")  # as by the file that leads to the page
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not is_opened:
            raise Refused(403, "Requests from other pages are refused.")
        if not slash or not self.is_token(given):
            raise Refused(403, "The address has no valid token. Open the one that likewise printed.")
        return rest

    def check_request(self, headers: Message) -> None:
        """Accept only requests of the page's script: forms and links cannot send these headers."""
        if not self.is_token(headers.get(TOKEN_HEADER, "")):
            raise Refused(403, "The request has no valid token.")
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise Refused(415, "Send JSON.")

    def is_token(self, given: str) -> bool:
        """Compare in constant time."""
        return secrets.compare_digest(given.encode("utf-8", "replace"), self.token.encode())


def _read_whole(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError("number too long")
    return int(digits)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not valid JSON")


def _open(address: str, folder: Path) -> None:
    """Open a file that leads to an address: other people of this machine can read what a browser is started with."""
    page = folder / "explore.html"
    with suppress(Exception):  # without a browser, the address can still be copied
        with open(page, "x", opener=partial(os.open, mode=0o600)) as file:
            file.write(REDIRECT.format(address))
        webbrowser.open(page.as_uri())
