"""Ctrl-C: noticed in whatever form it surfaces, and said in one line. Imports nothing heavy."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Final

INTERRUPTED: Final = 130  # as shells report Ctrl-C


@dataclass(slots=True)
class _Interrupt:
    came: bool = False


_state: Final = _Interrupt()


@contextmanager
def watch_interrupts() -> Iterator[None]:
    """Remember Ctrl-C: compiled libraries may turn it into an error of their own."""
    _state.came = False
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(usual):  # as when it is ignored
        yield
        return

    def remember(number: int, frame: FrameType | None) -> None:
        _state.came = True
        usual(number, frame)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)


def comes_of_interrupt(error: BaseException | None) -> bool:
    """Whether an error is Ctrl-C, or what became of it."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None or _state.came


def report_interrupt() -> int:
    """Print one line, and return the exit code."""
    if sys.stderr is not None:  # it is None when the caller closed it
        print("likewise: interrupted; every file is whole, or was not written.", file=sys.stderr)
    return INTERRUPTED
