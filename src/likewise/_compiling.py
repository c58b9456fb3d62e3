"""Compiling kernels, and keeping them for later runs where there is a place to."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from numba import njit

__all__ = ["compiled", "digest_of_sources"]


def compiled(kernel: Callable[..., Any]) -> Any:
    """Compile a function at its first call, to run without the interpreter's lock."""
    kernel.__qualname__ = f"{kernel.__qualname__}-{digest_of_sources(kernel)}"  # the name it is kept under
    try:
        return njit(cache=True, nogil=True)(kernel)
    except RuntimeError:  # neither the package nor the user has a folder to write to: each run compiles anew
        return njit(nogil=True)(kernel)


def digest_of_sources(kernel: Callable[..., Any]) -> str:
    """Name the state of all code a kernel may have inlined: numba notices a change only of the file it stands in."""
    package, file = Path(__file__).parent, Path(kernel.__code__.co_filename)
    folder = package / file.relative_to(package).parts[0] if file.is_relative_to(package) else file
    return _digest(folder)


@cache
def _digest(place: Path) -> str:
    files = sorted(place.rglob("*.py")) if place.is_dir() else [place] * place.is_file()
    sources = [file.read_bytes() for file in files]
    return sha256(b"".join(source for source in sources if b"compiled" in source)).hexdigest()[:12]
