"""Kernels compiled at their first call, and kept for later runs where a folder can be written to."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from threading import RLock
from types import FunctionType
from typing import Any

_LOCK = RLock()
_IMPORTED = re.compile(rb"^from (likewise[\w.]*) import", re.MULTILINE)


class Kernel:
    """A function that numba compiles when it is called for the first time; until then numba is not even imported."""

    def __init__(self, function: FunctionType, *, makes_arrays: bool = False, is_part: bool = False) -> None:
        self.py_func, self._makes_arrays, self._is_part = function, makes_arrays, is_part
        self._dispatcher: Callable[..., Any] | None = None

    def __call__(self, *args: Any) -> Any:
        return (self._dispatcher or self.dispatcher())(*args)

    def dispatcher(self) -> Callable[..., Any]:
        """Return numba's dispatcher, made once, with the kernels that this one calls in reach of numba."""
        with _LOCK:
            if self._dispatcher is None:
                names = self.py_func.__globals__
                for name in self.py_func.__code__.co_names:
                    if isinstance(names.get(name), Kernel):
                        names[name] = names[name].dispatcher()  # numba knows dispatchers only
                self._dispatcher = _dispatcher_of(self.py_func, self._makes_arrays, self._is_part)
            return self._dispatcher


def compiled(function: Callable[..., Any]) -> Any:
    """Make a kernel of a function that neither makes arrays nor calls one that does; it runs without Python's lock.

    Numba then counts no references either. It would do so wherever one kernel calls another or takes an array out of a
    tuple, dozens of times a call; and all threads would count in the same place, at the pace of one.
    """
    assert isinstance(function, FunctionType)
    return Kernel(function)


def compiled_part(function: Callable[..., Any]) -> Any:
    """Make a part of other kernels, written into each of them: it is not called from Python."""
    assert isinstance(function, FunctionType)
    return Kernel(function, is_part=True)


def compiled_with_arrays(function: Callable[..., Any]) -> Any:
    """Make a kernel of a function that makes arrays, or calls one that does: not for what is called in inner loops."""
    assert isinstance(function, FunctionType)
    return Kernel(function, makes_arrays=True)


def _dispatcher_of(function: FunctionType, makes_arrays: bool, is_part: bool) -> Callable[..., Any]:
    from numba import njit

    function.__qualname__ = f"{function.__qualname__}-{digest_of_sources(function)}"  # the name it is kept under
    how = {"nogil": True, "_nrt": makes_arrays, "no_cfunc_wrapper": True}  # hardly documented; 0.60 and 0.68 have them
    how |= {"forceinline": is_part, "no_cpython_wrapper": is_part}
    try:
        return njit(cache=True, **how)(function)  # type: ignore[no-any-return]
    except RuntimeError:  # no folder to write to, neither the package's nor the user's: every run compiles
        return njit(**how)(function)  # type: ignore[no-any-return]


def digest_of_sources(kernel: FunctionType) -> str:
    """Digest of all code that a kernel may have inlined; numba itself notices changes of the kernel's own file only."""
    package, file = Path(__file__).parent, Path(kernel.__code__.co_filename)
    folder = package / file.relative_to(package).parts[0] if file.is_relative_to(package) else file
    return _digest(folder)


@cache
def _digest(place: Path) -> str:
    files = sorted(place.rglob("*.py")) if place.is_dir() else [place] * place.is_file()
    sources = [source for source in (file.read_bytes() for file in files) if b"compiled" in source]
    names = {
        name.decode() for source in sources for name in _IMPORTED.findall(source)
    }  # their constants are inlined, too
    others = (Path(__file__).parent.parent / f"{name.replace('.', '/')}.py" for name in sorted(names))
    return sha256(b"".join([*sources, *(file.read_bytes() for file in others if file.is_file())])).hexdigest()[:12]
