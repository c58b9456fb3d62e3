"""Kernels are compiled wherever they can be kept, and kept under the state of the code they were made of."""

from __future__ import annotations

from typing import Any

import pytest

from likewise import _compiling
from likewise.comparable.engines import _near, _numbering
from likewise.comparable.engines.memory import _search


def test_where_nothing_can_be_written_kernels_are_compiled_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def compile_if_not_kept(*, nogil: bool, cache: bool = False) -> Any:
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return lambda kernel: kernel

    def kernel() -> None: ...

    monkeypatch.setattr(_compiling, "njit", compile_if_not_kept)
    assert _compiling.compiled(kernel) is kernel


def test_kernels_are_kept_under_the_state_of_all_sources_of_their_folder() -> None:
    # numba looks at one file only, and an inlined kernel of another would be an old one after an upgrade
    digests = {
        kernel.py_func.__qualname__.rpartition("-")[2]
        for module in (_near, _numbering, _search)
        for kernel in vars(module).values()
        if hasattr(kernel, "py_func")
    }
    assert len(digests) == 1
    assert digests != {_compiling.digest_of_sources(pytest.raises)}
