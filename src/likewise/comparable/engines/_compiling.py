"""Compiling the kernels, and keeping them for later runs where there is a place to."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from numba import njit

# What is kept has the code of other kernels inlined, and numba only notices a change of the file a kernel stands in.
SOURCES: Final = sha256(b"".join(file.read_bytes() for file in sorted(Path(__file__).parent.rglob("*.py")))).hexdigest()


def compiled(kernel: Callable[..., Any]) -> Any:
    """Compile a function at its first call, to run without the interpreter's lock."""
    kernel.__qualname__ = f"{kernel.__qualname__}-{SOURCES[:12]}"  # the name it is kept under
    try:
        return njit(cache=True, nogil=True)(kernel)
    except RuntimeError:  # neither the package nor the user has a folder to write to: each run compiles anew
        return njit(nogil=True)(kernel)
