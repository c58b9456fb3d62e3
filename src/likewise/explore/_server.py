"""The local server of the explorer, until Ctrl-C."""

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
from likewise.exceptions import LikewiseError, ParameterError
from likewise.explore._app import PURPOSE, build_app
from likewise.explore._explorer import Explorer

log = logging.getLogger(__name__)

HOST: Final = "127.0.0.1"
LAST_PORT: Final = 65_535
KEPT_S: Final = 120  # seconds an idle connection stays open: people pause between moves


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
    check_port(port)
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


def check_port(port: int) -> None:
    """Refuse an invalid port."""
    check_count("port", port, or_none=False)
    if port > LAST_PORT:
        raise ParameterError(f"is {port}; use a number from 1 to {LAST_PORT}, or 0 for any free one.", "port")


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
