"""Cells: what was measured, each under the hash of what it is, stored one a line and never twice."""

from __future__ import annotations

import hashlib
import json
import lzma
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from paper._experiments import HERE, Experiment, Row
from paper._registry import OWN_SPLIT

LOCK: Final = ".lock"
FAST_SEEDS: Final = 1

Spec = dict[str, Any]
Cell = dict[str, Any]


class StoreBusy(Exception):
    """Another run holds the store."""


def make_spec(row: Row, seed: int, *, fast: bool = False) -> Spec:
    """Say what a cell is: everything that decides its numbers, and nothing else."""
    spec = {"data": row.data, "method": row.method, "seed": seed, "fast": fast}
    has_split = row.data in OWN_SPLIT and row.method["kind"] != "protocol"
    return spec if has_split else spec | {"split": seed}


def list_specs(row: Row, *, fast: bool = False, n_seeds: int | None = None) -> list[Spec]:
    """List the cells of a row, one a seed."""
    most = FAST_SEEDS if fast and n_seeds is None else n_seeds
    return [make_spec(row, seed, fast=fast) for seed in row.seeds[:most]]


def find_cells(row: Row, cells: Mapping[str, Cell], *, fast: bool = False) -> list[Cell | None]:
    """Look up the cells of a row, in the order of its seeds; None for one that is missing."""
    return [cells.get(key_of(spec)) for spec in list_specs(row, fast=fast)]


def unique_specs(experiments: Iterable[Experiment], *, fast: bool = False, n_seeds: int | None = None) -> list[Spec]:
    """List the cells of experiments; those that several of them share come once."""
    specs = (
        spec
        for experiment in experiments
        for row in experiment.rows
        for spec in list_specs(row, fast=fast, n_seeds=n_seeds)
    )
    return [*{key_of(spec): spec for spec in specs}.values()]


def key_of(spec: Mapping[str, Any]) -> str:
    """Hash a spec: the same whatever the order of its keys."""
    return hashlib.sha256(canonical(spec).encode()).hexdigest()


def canonical(record: Mapping[str, Any]) -> str:
    """Write JSON in one way only."""
    return json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


class Store:
    """A folder with one compressed file of cells for each data set, ``NAME.jsonl.xz``.

    What is measured stands in a plain file beside it until the run ends: whole lines only, whenever it is killed.
    A cell is a record: "key", "spec", "numbers" (or "error", where it failed), "seconds", "cpu_s", "versions",
    "data_checksum" and "machine".
    """

    def __init__(self, folder: Path = HERE / "results") -> None:
        self.folder = folder

    def read(self) -> dict[str, Cell]:
        """Read all cells by key; of a cell that failed and was tried again, the last."""
        cells: dict[str, Cell] = {}
        for path in (*sorted(self.folder.glob("*.jsonl.xz")), *sorted(self.folder.glob("*.jsonl"))):
            cells |= {cell["key"]: cell for cell in _read_lines(path)}
        return cells

    def append(self, cell: Cell) -> None:
        """Put a cell at the end of its file, and come back when it is on the disk."""
        path = self.folder / f"{cell['spec']['data']}.jsonl"
        self.folder.mkdir(parents=True, exist_ok=True)
        _cut_torn_line(path)
        with path.open("a", encoding="utf-8") as file:
            file.write(canonical(cell) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def pack(self) -> None:
        """Put what was measured into the compressed files; the same cells give the same bytes."""
        for path in sorted(self.folder.glob("*.jsonl")):
            packed, part = path.with_name(f"{path.name}.xz"), path.with_name(f"{path.name}.part")
            cells = {cell["key"]: cell for file in (packed, path) if file.exists() for cell in _read_lines(file)}
            lines = sorted((canonical(cell["spec"]), canonical(cell)) for cell in cells.values())
            part.write_bytes(lzma.compress("".join(f"{line}\n" for _, line in lines).encode()))
            os.replace(part, packed)
            path.unlink()

    def merge(self, cells: Iterable[Cell]) -> int:
        """Take in cells that were measured elsewhere, where there are none, or failed ones; give their number."""
        known, n_taken = self.read(), 0
        for cell in cells:
            if cell["key"] != key_of(cell["spec"]):
                raise ValueError(f"The cell {cell['key'][:12]} is not what its key says. Measure it again.")
            mine = known.get(cell["key"])
            if mine is None or ("error" in mine and "error" not in cell):
                self.append(cell)
                known[cell["key"]] = cell
                n_taken += 1
        return n_taken

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other runs out; the system lets go of the lock when this process ends, however it ends."""
        import fcntl

        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / LOCK).open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise StoreBusy(f"Another run is writing to {self.folder}. Wait for it, or end it.") from None
            yield


def _read_lines(path: Path) -> Iterator[Cell]:
    """Read whole lines; a last one that was cut when a run was killed is as if it were not there."""
    content = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    whole, _, _ = content.rpartition(b"\n")
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            yield json.loads(line)
        except ValueError:
            raise ValueError(
                f"{path}, line {number} is no JSON. Delete the line; its cell is measured again."
            ) from None


def _cut_torn_line(path: Path) -> None:
    if not path.exists():
        return
    with path.open("r+b") as file:
        content = file.read()
        end = content.rfind(b"\n") + 1
        if end < len(content):
            file.truncate(end)
