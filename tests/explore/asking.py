"""Requests to a page that is served, with every byte of them as the test wants it."""

from __future__ import annotations

import http.client
import json
import queue
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from likewise.explore import Explorer, serve


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
class Served:
    """An explorer that answers at an address of this machine; nothing in a path asked of it is tidied up."""

    explorer: Explorer
    port: int
    token: str

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/{self.token}/"

    def request(
        self, method: str, path: str, *, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> Answer:
        given = {"host": f"127.0.0.1:{self.port}"} | ({} if body is None else {"content-length": str(len(body))})
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in (given | dict(headers or {})).items():
                connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            return Answer(answer.status, {name.lower(): one for name, one in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.request("GET", path, headers=headers)

    def post(self, path: str, question: Any, headers: Mapping[str, str]) -> Answer:
        body = json.dumps(question).encode()
        return self.request("POST", path, headers={"content-type": "application/json", **headers}, body=body)


def start_page(explorer: Explorer) -> Served:
    """Serve an explorer on a free port, from a thread that lasts as long as the process."""
    told: queue.Queue[str] = queue.Queue()
    how: dict[str, Any] = {"opens_browser": False, "announce": told.put}
    threading.Thread(target=serve, args=(explorer,), kwargs=how, daemon=True).start()
    address = urlsplit(told.get(timeout=20))
    return Served(explorer, address.port or 0, address.path.strip("/"))
