"""The explorer as a web application: a page, its two assets, and the questions its script asks."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from importlib import resources
from typing import Any, Final

from likewise._checks import check_count
from likewise._extras import require
from likewise.exceptions import LikewiseError, ScoreError
from likewise.explore._explorer import Explorer
from likewise.explore._guarding import HEADERS, Guard, Refused, read_question

log = logging.getLogger(__name__)

PURPOSE: Final = "The explorer"
LEAST_TOKEN: Final = 16
ASSETS: Final = {  # all that is ever read from disk, once, at the start
    "": ("index.html", "text/html; charset=utf-8"),
    "explore.css": ("explore.css", "text/css; charset=utf-8"),
    "explore.js": ("explore.js", "text/javascript; charset=utf-8"),
}
JSON: Final = "application/json"

Question = dict[str, Any]
Answered = tuple[bytes, str]  # a body, and what it is


def build_app(explorer: Explorer, *, token: str, port: int) -> Any:
    """Make an ASGI application of an explorer.

    Parameters
    ----------
    explorer : Explorer
    token : str
        What the address has to begin with, and every question to repeat; at least 16 letters that nobody guesses.
    port : int
        Where it will be served, on 127.0.0.1: requests under any other name are refused.

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
    if not isinstance(token, str) or len(token) < LEAST_TOKEN or not token.replace("-", "").replace("_", "").isalnum():
        raise ValueError(f"token has to be {LEAST_TOKEN} letters or more, such as secrets.token_urlsafe() gives.")
    return _App(explorer, Guard(token, port))


class _App:
    """Answer requests one by one; nothing of a request but fixed names decides what is answered."""

    def __init__(self, explorer: Explorer, guard: Guard) -> None:
        self._guard = guard
        self._response = require("starlette.responses", "explore", PURPOSE).Response
        self._headers = require("starlette.datastructures", "explore", PURPOSE).Headers
        folder = resources.files("likewise.explore") / "assets"
        self._assets = {path: ((folder / name).read_bytes(), kind) for path, (name, kind) in ASSETS.items()}
        self._answers: dict[str, Callable[[Question], Answered]] = {
            "api/about": lambda asked: _as_json(explorer.about()),
            "api/look": lambda asked: _as_json(explorer.look(asked)),
            "api/pair": lambda asked: _as_json(_call(explorer.pair, asked)),
            "api/what-if": lambda asked: _as_json(_try(explorer.what_if, asked)),
            "api/pairs.csv": lambda asked: (explorer.to_csv(asked), "text/csv; charset=utf-8"),
            "api/policy.toml": lambda asked: (explorer.to_toml(asked).encode(), "application/toml; charset=utf-8"),
        }

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Speak ASGI."""
        if scope["type"] != "http":
            await _refuse_other(scope, receive, send)
            return
        try:
            body, kind = await self._answer(scope, receive)
            status = 200
        except Refused as refusal:
            (body, kind), status = _as_json({"error": refusal.reason}), refusal.status
        except asyncio.CancelledError:  # at Ctrl-C, while a model takes its time
            (body, kind), status = _as_json({"error": "The explorer was ended."}), 503
        except (LikewiseError, ValueError, TypeError) as error:
            (body, kind), status = _as_json({"error": str(error)}), 400
        except Exception:
            log.exception("A question could not be answered")
            (body, kind), status = _as_json({"error": "This could not be answered; the log says why."}), 500
        response = self._response(body, status, {**HEADERS, "content-type": kind})
        await response(scope, receive, send)

    async def _answer(self, scope: Any, receive: Any) -> Answered:
        headers = self._headers(scope=scope)
        path = self._guard.admit(headers, scope["path"])
        method = scope["method"]
        if path in self._assets:
            if method != "GET":
                raise Refused(405, "This can only be read.")
            return self._assets[path]
        if path not in self._answers:
            raise Refused(404, "There is nothing here.")
        if method != "POST":
            raise Refused(405, "Questions are asked by POST.")
        self._guard.check_question(headers)
        asked = await read_question(receive, headers)
        return await _in_thread(self._answers[path], asked)


async def _in_thread(answer: Callable[[Question], Answered], asked: Question) -> Answered:
    """Answer beside the server, in a thread that is left behind at Ctrl-C: a model may take its time."""
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
            found = answer(asked)
        except Exception as raised:
            error = raised
        with suppress(RuntimeError):  # the server may have ended meanwhile
            loop.call_soon_threadsafe(settle, found, error)

    threading.Thread(target=work, daemon=True).start()
    return await answered


def _as_json(answer: Any) -> Answered:
    return json.dumps(answer, allow_nan=False).encode(), JSON


def _call(method: Callable[..., Any], asked: dict[str, Any]) -> Any:
    """Hand a question's parts over by name; what is missing or too much is the asker's fault."""
    try:
        return method(**asked)
    except TypeError as error:
        raise Refused(400, f"The question makes no sense: {str(error).rpartition('.')[2]}.") from error


def _try(method: Callable[..., Any], asked: dict[str, Any]) -> Any:
    """Answer with the reason where a model cannot say: a person tries things out here, and that is no failure."""
    try:
        return _call(method, asked)
    except ScoreError as error:
        return {"problem": str(error)}


async def _refuse_other(scope: Any, receive: Any, send: Any) -> None:
    """Take no part in anything but plain requests."""
    if scope["type"] == "lifespan":
        while (await receive())["type"] != "lifespan.shutdown":
            await send({"type": "lifespan.startup.complete"})
        await send({"type": "lifespan.shutdown.complete"})
    elif scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
