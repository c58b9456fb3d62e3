"""Serving the explorer on this machine, until Ctrl-C."""

from __future__ import annotations

import errno
import logging
import os
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from likewise._checks import check_count
from likewise._extras import require
from likewise.exceptions import LikewiseError
from likewise.explore._app import PURPOSE, build_app
from likewise.explore._explorer import Explorer

log = logging.getLogger(__name__)

HOST: Final = "127.0.0.1"
LAST_PORT: Final = 65_535
KEPT_S: Final = 120  # seconds that a silent connection stays open: people think between two moves


def serve(
    explorer: Explorer,
    *,
    port: int = 0,
    opens_browser: bool = True,
    announce: Callable[[str], Any] | None = None,
) -> None:
    """Serve an explorer's page on this machine only, until it is interrupted.

    Parameters
    ----------
    explorer : Explorer
    port : int
        Where to serve it; 0 for any port that is free.
    opens_browser : bool
        Whether to open the page.
    announce : function, optional
        Called with the address, such as ``print``: nobody can open the page without the token in it.

    Examples
    --------
    >>> from likewise.explore import serve
    >>> serve(explorer, announce=print)  # doctest: +SKIP
    http://127.0.0.1:52341/q3vYb5.../
    """
    uvicorn = require("uvicorn", "explore", PURPOSE)
    check_port(port)
    with open_socket(port) as listening:
        token, port = secrets.token_urlsafe(24), int(listening.getsockname()[1])
        app = build_app(explorer, token=token, port=port)
        address = f"http://{HOST}:{port}/{token}/"
        log.info("The explorer is at http://%s:%d", HOST, port)
        if announce is not None:
            announce(address)
        if opens_browser:  # a browser of the terminal would wait to be closed
            threading.Thread(target=_open, args=(address,), daemon=True).start()
        config = uvicorn.Config(
            app,
            log_config=None,  # a library sets up no log
            log_level="critical",  # what it would say of a broken request, or of Ctrl-C, helps nobody
            access_log=False,
            proxy_headers=False,
            lifespan="off",
            ws="none",
            server_header=False,
            date_header=False,
            timeout_keep_alive=KEPT_S,
            timeout_graceful_shutdown=1,
        )
        with suppress(KeyboardInterrupt):  # that is how one ends it
            uvicorn.Server(config).run(sockets=[listening])


def check_port(port: int) -> None:
    """Refuse what is no port."""
    check_count("port", port, or_none=False)
    if port > LAST_PORT:
        raise ValueError(f"port is {port}; give a number from 1 to {LAST_PORT}, or 0 for any that is free.")


def open_socket(port: int) -> socket.socket:
    """Listen on this machine only, or say why that cannot be."""
    # named TCP, or else asyncio lets answers wait 40 ms for a packet to fill
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # elsewhere this lets another program listen at the same port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((HOST, port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        reason = (
            "is in use by another program" if error.errno == errno.EADDRINUSE else f"cannot be had: {error.strerror}"
        )
        raise LikewiseError(f"Port {port} {reason}. Choose another, or 0 for any that is free.") from error
    return listening


def _open(address: str) -> None:
    with suppress(Exception):  # without a browser the address is still there to be copied
        webbrowser.open(address)
