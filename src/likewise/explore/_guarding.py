"""Who is answered: requests of the page itself, on this machine, with the token; everybody else is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from secrets import compare_digest
from typing import Any, Final

MOST_BYTES: Final = 1 << 16  # of a request: a page's questions are short
MOST_DIGITS: Final = 30  # of a whole number: those of hundreds of digits are no float any more
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


class Refused(Exception):
    """A request that gets no answer but this: a status and a sentence."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


@dataclass(frozen=True, slots=True)
class Guard:
    """Know the token and the names of this machine under which the page is served."""

    token: str
    port: int

    @property
    def hosts(self) -> tuple[str, ...]:
        """What a browser that was sent here calls this machine."""
        return f"127.0.0.1:{self.port}", f"localhost:{self.port}"

    def admit(self, headers: Mapping[str, str], path: str) -> str:
        """Refuse strangers; give what follows the token in the path."""
        host = headers.get("host", "")
        if host not in self.hosts:  # a foreign name that was made to point here
            raise Refused(403, "This page is served to its own machine only.")
        if headers.get("origin", f"http://{host}") != f"http://{host}":
            raise Refused(403, "Another page asked for this; it is not answered.")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            raise Refused(403, "Another page asked for this; it is not answered.")
        given, slash, rest = path.removeprefix("/").partition("/")
        if not slash or not self.is_token(given):
            raise Refused(403, "The address lacks the right token. Open the one that likewise printed.")
        return rest

    def check_question(self, headers: Mapping[str, str]) -> None:
        """Let only the page's script ask: a form or a link cannot send these headers."""
        if not self.is_token(headers.get(TOKEN_HEADER, "")):
            raise Refused(403, "The request lacks the right token.")
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise Refused(415, "Questions are asked in JSON.")

    def is_token(self, given: str) -> bool:
        """Compare in a time that tells nothing."""
        return compare_digest(given.encode("utf-8", "replace"), self.token.encode())


async def read_question(receive: Any, headers: Mapping[str, str]) -> dict[str, Any]:
    """Read a short JSON object, and stop where it is not short."""
    length = headers.get("content-length", "0")
    if not length.isascii() or not length.isdigit() or int(length[:20]) > MOST_BYTES:
        raise Refused(413, "The question is too long.")
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refused(400, "The question broke off.")
        body += message.get("body", b"")
        if len(body) > MOST_BYTES:
            raise Refused(413, "The question is too long.")
        if not message.get("more_body", False):
            break
    try:
        asked = json.loads(body or b"{}", parse_int=_read_whole, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise Refused(400, "The question is not JSON.") from None
    if not isinstance(asked, dict):
        raise Refused(400, "A question is a JSON object.")
    return asked


def _read_whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError("a number is too long")
    return int(digits)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
