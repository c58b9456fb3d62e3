"""Progress of long work: a bar on a terminal or in a notebook after two seconds, and silence everywhere else."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, Protocol

from likewise.exceptions import ParameterError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

SECONDS: Final = 2.0  # shorter work is over before it is read about
SWITCH: Final = "LIKEWISE_PROGRESS"  # 0 or off: no bars
Show = Callable[[float, str], None]
_HUSHED: ContextVar[bool] = ContextVar("_HUSHED", default=False)


class _Bar(Protocol):
    def show(self, done: float, words: str) -> None: ...

    def close(self) -> None: ...


@contextmanager
def follow(what: str, total: float, progress: Any = None) -> Iterator[Show]:
    """Yield a function that shows how much of some work is done, and a few words about it.

    Nothing is shown where nobody watches, inside other work that is being shown, or where ``progress``, the argument of
    the caller, is False or a function: who passes a function shows progress by it.
    """
    if progress is not None and not isinstance(progress, bool) and not callable(progress):
        raise ParameterError(f"is {progress!r}; give a function, or False for no progress bar.", "progress")
    kind = None if progress is False or callable(progress) else _find_kind()
    if kind is None:
        yield lambda done, words: None
        return
    bar = _LateBar(lambda: kind(what, total))
    with hush():
        try:
            yield bar.show
        finally:
            bar.close()


def tell(progress: Any, *news: Any) -> None:
    """Call the function that an argument ``progress`` may be."""
    if callable(progress):
        progress(*news)


@contextmanager
def hush() -> Iterator[None]:
    """Show no bars for a while: of what is inside other work, or in a program that shows its own."""
    token = _HUSHED.set(True)
    try:
        yield
    finally:
        _HUSHED.reset(token)


def _find_kind() -> Callable[[str, float], _Bar] | None:
    """Return the kind of bar to show; None where nobody watches."""
    import multiprocessing

    is_main = threading.current_thread() is threading.main_thread()
    is_worker = multiprocessing.current_process().name != "MainProcess"
    if _HUSHED.get() or is_worker or not is_main or os.environ.get(SWITCH, "").lower() in ("0", "off", "false"):
        return None
    if _in_notebook():
        return _TqdmBar if _has_tqdm() else _NotebookLine
    return _RichBar if sys.stderr is not None and sys.stderr.isatty() else None


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


def _has_tqdm() -> bool:
    from importlib.util import find_spec

    return find_spec("tqdm") is not None


class _LateBar:
    """A bar that appears only if the work takes long."""

    def __init__(self, make: Callable[[], _Bar]) -> None:
        self._make, self._begun = make, time.monotonic()
        self._bar: _Bar | None = None

    def show(self, done: float, words: str) -> None:
        if self._bar is None and time.monotonic() - self._begun >= SECONDS:
            self._bar = self._make()
        if self._bar is not None:
            self._bar.show(done, words)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def rich_bar(console: Console, *, disable: bool = False) -> Progress:
    """Return the bar of a terminal, which is gone when the work is done."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True, disable=disable)


class _RichBar:
    def __init__(self, what: str, total: float) -> None:
        from rich.console import Console

        self._what, self._bar = what, rich_bar(Console(stderr=True, markup=False, highlight=False))
        self._bar.start()
        self._task = self._bar.add_task(what, total=total)

    def show(self, done: float, words: str) -> None:
        self._bar.update(self._task, completed=done, description=f"{self._what}: {words}" if words else self._what)

    def close(self) -> None:
        self._bar.stop()


class _TqdmBar:
    def __init__(self, what: str, total: float) -> None:
        import warnings
        from importlib import import_module

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of notebooks without widgets, where it prints a line instead
            self._bar = import_module("tqdm.auto").tqdm(total=total, desc=what, leave=False)

    def show(self, done: float, words: str) -> None:
        self._bar.set_postfix_str(words, refresh=False)
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        self._bar.close()


class _NotebookLine:
    """A line of text that changes, in notebooks without tqdm."""

    def __init__(self, what: str, total: float) -> None:
        display = sys.modules["IPython"].display
        self._what, self._total = what, total
        self._handle = display.display({"text/plain": f"{what} ..."}, raw=True, display_id=True)

    def show(self, done: float, words: str) -> None:
        line = f"{self._what} ... {done / self._total:.0%}{f', {words}' if words else ''}"
        self._handle.update({"text/plain": line}, raw=True)

    def close(self) -> None:
        self._handle.update({"text/plain": ""}, raw=True)
