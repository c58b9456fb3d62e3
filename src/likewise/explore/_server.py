"""The local server: the page, its assets and its JSON interface as an ASGI application, and who may use them."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final

from likewise._checks import check_count
from likewise._extras import require
from likewise.exceptions import LikewiseError, ParameterError, ScoreError
from likewise.explore._explorer import Explorer

log = logging.getLogger(__name__)

HOST: Final = "127.0.0.1"
LAST_PORT: Final = 65_535
KEPT_S: Final = 120  # seconds an idle connection stays open: people pause between moves
PURPOSE: Final = "The explorer"
MIN_TOKEN: Final = 16
ASSETS: Final = {  # the only files read from disk, once, at the start
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

Request = dict[str, Any]
Answered = tuple[bytes, str]  # body and content type


def build_app(explorer: Explorer, *, token: str, port: int) -> Any:
    """Build the ASGI application of an explorer.

    Parameters
    ----------
    explorer : Explorer
    token : str
        Secret first part of the address, repeated in every request; at least 16 random characters.
    port : int
        The port on 127.0.0.1; requests to other hosts are refused.

    Returns
    -------
    ASGI application

    Examples
    --------
    >>> import secrets
    >>> from likewise import load_dataset
    >>> from likewise.explore import Explorer, build_app
    >>> data = load_dataset("planted")
    >>> explorer = Explorer(data.scores, data.test.X, data.test.y, roles=data.roles.learn(data.train.X), rule=data.rule)
    >>> app = build_app(explorer, token=secrets.token_urlsafe(), port=8000)
    """
    check_count("port", port, or_none=False)
    if not isinstance(token, str) or len(token) < MIN_TOKEN or not token.replace("-", "").replace("_", "").isalnum():
        raise ParameterError(f"must have {MIN_TOKEN} characters or more, as from secrets.token_urlsafe().", "token")
    return _App(explorer, Guard(token, port))


class _App:
    """Answer requests; only fixed paths decide what is served."""

    def __init__(self, explorer: Explorer, guard: Guard) -> None:
        self._guard = guard
        self._response = require("starlette.responses", "explore", PURPOSE).Response
        self._headers = require("starlette.datastructures", "explore", PURPOSE).Headers
        folder = resources.files("likewise.explore") / "assets"
        self._assets = {path: ((folder / name).read_bytes(), kind) for path, (name, kind) in ASSETS.items()}
        self._answers: dict[str, Callable[[Request], Answered]] = {
            "api/about": lambda request: _as_json(explorer.about()),
            "api/look": lambda request: _as_json(explorer.look(request)),
            "api/pair": lambda request: _as_json(_call(explorer.pair, request)),
            "api/what-if": lambda request: _as_json(_try(explorer.what_if, request)),
            "api/parts": lambda request: _as_json(_try(explorer.parts, request)),
            "api/split": lambda request: _as_json(_try(lambda **asked: explorer.split(asked), request)),
            "api/pairs.csv": lambda request: (explorer.to_csv(request), "text/csv; charset=utf-8"),
            "api/policy.toml": lambda request: (explorer.to_toml(request).encode(), "application/toml; charset=utf-8"),
        }

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handle one ASGI connection."""
        if scope["type"] != "http":
            await _refuse_other(scope, receive, send)
            return
        try:
            body, kind = await self._answer(scope, receive)
            status = 200
        except Refused as refusal:
            (body, kind), status = _as_json({"error": refusal.reason}), refusal.status
        except asyncio.CancelledError:  # Ctrl-C during a slow model
            (body, kind), status = _as_json({"error": "The explorer was stopped."}), 503
        except (LikewiseError, ValueError, TypeError) as error:
            (body, kind), status = _as_json({"error": str(error)}), 400
        except Exception:
            log.exception("A request failed")
            (body, kind), status = _as_json({"error": "Internal error; see the log."}), 500
        response = self._response(body, status, {**HEADERS, "content-type": kind})
        await response(scope, receive, send)

    async def _answer(self, scope: Any, receive: Any) -> Answered:
        headers = self._headers(scope=scope)
        path = self._guard.admit(headers, scope["path"])
        method = scope["method"]
        if path in self._assets:
            if method != "GET":
                raise Refused(405, "Only GET is allowed here.")
            return self._assets[path]
        if path not in self._answers:
            raise Refused(404, "Not found.")
        if method != "POST":
            raise Refused(405, "Only POST is allowed here.")
        self._guard.check_request(headers)
        request = await read_request(receive, headers)
        return await _in_thread(self._answers[path], request)


async def _in_thread(answer: Callable[[Request], Answered], request: Request) -> Answered:
    """Run a handler in a daemon thread, which Ctrl-C leaves behind: a model may take long."""
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[Answered] = loop.create_future()

    def settle(found: Answered | None, error: Exception | None) -> None:
        if answered.cancelled():
            return
        if error is None:
            assert found is not None
            answered.set_result(found)
        else:
            answered.set_exception(error)

    def work() -> None:
        found = error = None
        try:
            found = answer(request)
        except Exception as raised:
            error = raised
        with suppress(RuntimeError):  # the server may have stopped meanwhile
            loop.call_soon_threadsafe(settle, found, error)

    threading.Thread(target=work, daemon=True).start()
    return await answered


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


async def _refuse_other(scope: Any, receive: Any, send: Any) -> None:
    """Decline anything but plain HTTP requests."""
    if scope["type"] == "lifespan":
        while (await receive())["type"] != "lifespan.shutdown":
            await send({"type": "lifespan.startup.complete"})
        await send({"type": "lifespan.shutdown.complete"})
    elif scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})


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

    def admit(self, headers: Mapping[str, str], path: str) -> str:
        """Refuse foreign requests; return the path after the token."""
        host = headers.get("host", "")
        if host not in self.hosts:  # DNS rebinding: a foreign name that resolves here
            raise Refused(403, "This page is served to this machine only.")
        if headers.get("origin", f"http://{host}") != f"http://{host}":
            raise Refused(403, "Requests from other pages are refused.")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            raise Refused(403, "Requests from other pages are refused.")
        given, slash, rest = path.removeprefix("/").partition("/")
        if not slash or not self.is_token(given):
            raise Refused(403, "The address has no valid token. Open the one that likewise printed.")
        return rest

    def check_request(self, headers: Mapping[str, str]) -> None:
        """Accept only requests of the page's script: forms and links cannot send these headers."""
        if not self.is_token(headers.get(TOKEN_HEADER, "")):
            raise Refused(403, "The request has no valid token.")
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise Refused(415, "Send JSON.")

    def is_token(self, given: str) -> bool:
        """Compare in constant time."""
        return secrets.compare_digest(given.encode("utf-8", "replace"), self.token.encode())


async def read_request(receive: Any, headers: Mapping[str, str]) -> dict[str, Any]:
    """Read a JSON object of limited length."""
    length = headers.get("content-length", "0")
    if not length.isascii() or not length.isdigit() or int(length[:20]) > MAX_BYTES:
        raise Refused(413, "The request is too long.")
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refused(400, "The request was cut off.")
        body += message.get("body", b"")
        if len(body) > MAX_BYTES:
            raise Refused(413, "The request is too long.")
        if not message.get("more_body", False):
            break
    try:
        request = json.loads(body or b"{}", parse_int=_read_whole, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise Refused(400, "The request is not valid JSON.") from None
    if not isinstance(request, dict):
        raise Refused(400, "The request must be a JSON object.")
    return request


def _read_whole(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError("number too long")
    return int(digits)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not valid JSON")


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
    uvicorn = require("uvicorn", "explore", PURPOSE)
    check_count("port", port, or_none=False)
    if port > LAST_PORT:
        raise ParameterError(f"is {port}; use a number from 1 to {LAST_PORT}, or 0 for any free one.", "port")
    with open_socket(port) as listening:
        token, port = secrets.token_urlsafe(24), int(listening.getsockname()[1])
        app = build_app(explorer, token=token, port=port)
        address = f"http://{HOST}:{port}/{token}/"
        log.info("The explorer is at http://%s:%d", HOST, port)
        if announce is not None:
            announce(address)
        if opens_browser:  # a terminal browser would block
            threading.Thread(target=_open, args=(address,), daemon=True).start()
        config = uvicorn.Config(
            app,
            log_config=None,  # a library does not configure logging
            log_level="critical",  # its messages on broken requests or Ctrl-C do not help
            access_log=False,
            proxy_headers=False,
            lifespan="off",
            ws="none",
            server_header=False,
            date_header=False,
            timeout_keep_alive=KEPT_S,
            timeout_graceful_shutdown=1,
        )
        with suppress(KeyboardInterrupt):  # the usual way to stop it
            uvicorn.Server(config).run(sockets=[listening])


def open_socket(port: int) -> socket.socket:
    """Listen on this machine only, or raise an error with the reason."""
    # with TCP named, asyncio sets TCP_NODELAY; else responses wait 40 ms
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # on Windows this would let another program use the same port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((HOST, port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        reason = (
            "is in use by another program" if error.errno == errno.EADDRINUSE else f"cannot be used: {error.strerror}"
        )
        raise LikewiseError(f"Port {port} {reason}. Choose another, or 0 for any free one.") from error
    return listening


def _open(address: str) -> None:
    with suppress(Exception):  # without a browser, the address can still be copied
        webbrowser.open(address)
