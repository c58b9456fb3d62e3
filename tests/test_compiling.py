"""Kernels are compiled when they are first called, kept where a folder can be written to, and not needed at first."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import likewise
from likewise import _compiling
from likewise.comparable.engines import _columns, _joining

DECORATORS = {"compiled", "compiled_part", "compiled_with_arrays"}
MAKERS = {"arange", "argsort", "copy", "cumsum", "empty", "empty_like", "full", "ones", "sort", "zeros", "zeros_like"}
SOURCE = Path(likewise.__file__).parents[1]


def run_apart(code: str, cache: Path, *arguments: str) -> str:
    """Run code in a fresh process with a kernel cache of its own."""
    environment = os.environ | {"PYTHONPATH": str(SOURCE), "NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


@_compiling.compiled
def double(value: Any) -> Any:
    return value + value


def test_kernels_that_make_arrays_say_so() -> None:
    # an array that a kernel makes all the same fails when it is first called; one that it is given would never be freed
    kernels: dict[str, tuple[str, set[str]]] = {}
    for file in (SOURCE / "likewise").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            made = {getattr(one, "id", "") for one in getattr(node, "decorator_list", [])} & DECORATORS
            if made:
                called = {one.func for one in ast.walk(node) if isinstance(one, ast.Call)}
                names = {getattr(one, "id", getattr(one, "attr", "")) for one in called}
                kernels[f"{file.name}:{node.name}"] = made.pop(), names  # type: ignore[attr-defined]  # it has a name
    with_arrays = {place.split(":")[1] for place, (kind, _) in kernels.items() if kind == "compiled_with_arrays"}
    assert with_arrays
    silent = {
        name
        for name, (kind, called) in kernels.items()
        if kind != "compiled_with_arrays" and called & (MAKERS | with_arrays)
    }
    assert silent == set()


def test_a_kernel_lets_go_of_the_arrays_it_was_given() -> None:
    given = np.arange(5)
    before = sys.getrefcount(given)
    _double_all(given)
    assert sys.getrefcount(given) == before
    assert given.tolist() == [0, 2, 4, 6, 8]


@_compiling.compiled
def _double_all(values: Any) -> None:
    for place in range(len(values)):
        values[place] = double(values[place])


def test_where_nothing_can_be_written_kernels_are_compiled_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def compile_if_not_kept(*, cache: bool = False, **how: bool) -> Any:
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return lambda kernel: kernel

    def kernel() -> str:
        return "called"

    monkeypatch.setattr(numba, "njit", compile_if_not_kept)
    assert _compiling.compiled(kernel)() == "called"


def test_kernels_are_kept_in_the_folder_that_numba_is_told(tmp_path: Path) -> None:
    code = "import numpy as np; from likewise.comparable.engines._columns import find_lowest"
    run_apart(f"{code}; find_lowest(np.zeros(2), 0.0, False, np.zeros(2, np.int32))", tmp_path)
    assert list(tmp_path.rglob("_columns.find_lowest-*.nbi"))


def test_kernels_are_kept_under_the_state_of_all_sources_of_their_folder() -> None:
    # numba looks at one file only, and an inlined kernel of another would be an old one after an upgrade
    digests = {
        _compiling.digest_of_sources(kernel.py_func)
        for module in (_columns, _joining)
        for kernel in vars(module).values()
        if hasattr(kernel, "py_func") and kernel.py_func.__module__.startswith("likewise.comparable.")
    }
    assert len(digests) == 1
    assert digests != {_compiling.digest_of_sources(double.py_func)}


def test_the_first_audit_of_a_small_table_needs_no_kernel(tmp_path: Path) -> None:
    data = likewise.load_dataset("planted")
    people = data.train.X.head(1_000).assign(repaid=data.train.y[:1_000])
    people["p"] = np.random.default_rng(0).random(len(people)).round(3)
    people.to_csv(tmp_path / "people.csv", index=False)
    code = """
import sys
from likewise.cli import main
try:
    main(sys.argv[1:])
except SystemExit as stop:
    print(stop.code, [name for name in ("numba", "pandas", "sklearn", "scipy.stats") if name in sys.modules])
"""
    columns = ("--label", "repaid", "--sensitive", "group,gender", "--scores", "p")
    asked = ("audit", str(tmp_path / "people.csv"), *columns)
    shown = run_apart(code, tmp_path / "kernels", *asked, "--out", str(tmp_path / "audit"))
    assert shown.splitlines()[-1] == "0 []"
