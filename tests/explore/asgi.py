"""Requests to an ASGI application without a server, with every byte of them as the test wants it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote


@dataclass(frozen=True)
class Answer:
    status_code: int
    headers: dict[str, str]
    content: bytes

    @property
    def text(self) -> str:
        return self.content.decode()

    def json(self) -> Any:
        return json.loads(self.content)


@dataclass(frozen=True)
class Client:
    """Ask an application as a browser at a host would; nothing in a path is tidied up."""

    app: Any
    host: str

    def request(
        self, method: str, path: str, *, headers: Mapping[str, str] | None = None, body: Iterable[bytes] = (b"",)
    ) -> Answer:
        given = {"host": self.host, **(headers or {})}
        scope = {
            "type": "http",
            "method": method,
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in given.items()],
        }
        return asyncio.run(self._send(scope, [*body]))

    def get(self, path: str, **headers: str) -> Answer:
        return self.request("GET", path, headers=headers)

    def post(self, path: str, question: Any, headers: Mapping[str, str]) -> Answer:
        body = json.dumps(question).encode()
        length = {"content-type": "application/json", "content-length": str(len(body))}
        return self.request("POST", path, headers={**length, **headers}, body=[body])

    async def _send(self, scope: dict[str, Any], parts: list[bytes]) -> Answer:
        waiting, sent = list(parts), []

        async def receive() -> dict[str, Any]:
            part = waiting.pop(0)
            return {"type": "http.request", "body": part, "more_body": bool(waiting)}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        start, *bodies = sent
        headers = {name.decode(): value.decode() for name, value in start["headers"]}
        return Answer(start["status"], headers, b"".join(one.get("body", b"") for one in bodies))
