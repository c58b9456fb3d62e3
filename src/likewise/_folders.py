"""Folders of numbered parts, resumed after a kill, and read back part by part."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from likewise._files import flush, local_path, read_json, remove, workshop, writing
from likewise._json import plain
from likewise.exceptions import TableFileError

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger(__name__)
ABOUT: Final = "_about.json"  # Parquet readers skip names with a leading underscore
ZSTD: Final = {"compression": "zstd"}


class PartsFolder:
    """Write numbered parts into a temporary folder, resumed if ``about`` is unchanged, and rename it at the end."""

    def __init__(self, target: str | Path, about: Mapping[str, Any], kind: str) -> None:
        self.target = local_path(target)
        self._about = {"kind": kind, **plain(about)}
        self._known: dict[int, dict[str, Any]] = {}  # rows and checksum of each part written here
        self._partial = self.target

    @property
    def is_whole(self) -> bool:
        """Whether the folder is there already; refuses one that was made from something else."""
        if not self.target.exists():
            return False
        there = read_json(self.target / ABOUT)
        if not self._is_of(there):
            how = "made from other input" if isinstance(there, dict) else "not written by likewise"
            raise TableFileError(f"'{self.target}' exists already and was {how}. Use another name, or move it away.")
        return True

    @contextmanager
    def opened(self) -> Iterator[PartsFolder]:
        """Keep other runs from writing the same folder, and go on with what an earlier one left of it."""
        with writing(self.target):
            self.target.parent.mkdir(parents=True, exist_ok=True)
        with workshop(self.target, resumes=True) as self._partial:
            with writing(self.target):
                there = read_json(self._partial / ABOUT)
                if not self._is_of(there):
                    self._start_over(is_other=there is not None)
            yield self

    def has(self, number: int) -> bool:
        """Whether a part exists."""
        return (self._partial / _name(number)).exists()

    def read(self, number: int) -> pa.Table:
        """Read an existing part."""
        return _read_part(self._partial / _name(number))

    def write(self, number: int, table: pa.Table, layout: Mapping[str, Any] = ZSTD) -> None:
        """Write a part atomically, laid out by options of pyarrow."""
        import pyarrow.parquet

        part = self._partial / _name(number)
        unfinished = part.with_name(f".{part.name}")
        with writing(self.target):
            pyarrow.parquet.write_table(table, unfinished, **layout)
            self._known[number] = _describe(unfinished.read_bytes(), len(table))
            flush(unfinished)
            os.replace(unfinished, part)

    def finish(self, n_parts: int, found: Mapping[str, Any]) -> None:
        """Record the result beside the parts, with rows and checksum of each, and rename the folder."""
        missing = [number for number in range(n_parts) if not self.has(number)]
        if missing:
            raise TableFileError(f"'{self.target}' lacks part {missing[0]} of {n_parts}. Run the same again to resume.")
        with writing(self.target):
            for left_over in self._partial.glob(".*"):
                left_over.unlink()
            parts = [self._known.get(number) or self._describe_earlier(number) for number in range(n_parts)]
            about = {"n_parts": n_parts, "parts": parts, "found": plain(found)}
            _write_json(self._partial / ABOUT, self._about | about)
            os.rename(self._partial, self.target)

    def _describe_earlier(self, number: int) -> dict[str, Any]:
        """Describe a part that an earlier run wrote."""
        return _describe((self._partial / _name(number)).read_bytes(), len(self.read(number)))

    def _is_of(self, there: Any) -> bool:
        return isinstance(there, dict) and {name: there.get(name) for name in self._about} == self._about

    def _start_over(self, *, is_other: bool) -> None:
        if is_other:
            log.warning("%s was left unfinished by a run that asked for something else; it starts over.", self.target)
        remove(self._partial)
        self._partial.mkdir()
        _write_json(self._partial / ABOUT, self._about)


def read_about(folder: Path, kind: str) -> dict[str, Any]:
    """Return what a complete folder was made from, and its result."""
    about = read_json(local_path(folder) / ABOUT)
    if not isinstance(about, dict) or about.get("kind") != kind or "n_parts" not in about:
        raise TableFileError(f"'{folder}' is not a folder of {kind} written by likewise.")
    parts, is_plain = about.get("parts"), isinstance(about.get("found"), dict)
    is_plain &= isinstance(parts, list) and all(isinstance(p, dict) and type(p.get("n_rows")) is int for p in parts)
    if not is_plain or len(parts) != about["n_parts"]:  # type: ignore[arg-type]  # a list
        raise TableFileError(f"'{Path(folder) / ABOUT}' does not list all parts. Write the folder again.")
    return about


def read_parts(folder: Path, kind: str) -> Iterator[pa.Table]:
    """Yield the parts of a complete folder in order; refuse one that is not as it was written."""
    parts = read_about(folder, kind)["parts"]
    found = {path.name for path in Path(folder).glob("part-*.parquet")}
    for name in sorted(found ^ {_name(number) for number in range(len(parts))}):
        how = "was not written with the others" if name in found else "is missing"
        raise TableFileError(f"'{Path(folder) / name}' {how}. Write the folder again.")
    for number, known in enumerate(parts):
        yield _read_part(Path(folder) / _name(number), known)


def _read_part(part: Path, known: Mapping[str, Any] | None = None) -> pa.Table:
    """Read a part, and hold it against what is known of it."""
    import pyarrow as pa
    import pyarrow.parquet

    changed = TableFileError(f"'{part}' was changed after it was written. Write the folder again.")
    try:
        content = part.read_bytes()
        if known is not None and known.get("sha256") != hashlib.sha256(content).hexdigest():
            raise changed
        table = pyarrow.parquet.read_table(pa.BufferReader(content))
    except (OSError, pa.ArrowException) as error:
        reason = " ".join(str(error).split())
        raise TableFileError(f"'{part}' cannot be read: {reason}. Write the folder again.") from error
    if known is not None and known != _describe(content, len(table)):
        raise changed
    return table


def _describe(content: bytes, n_rows: int) -> dict[str, Any]:
    return {"n_rows": n_rows, "sha256": hashlib.sha256(content).hexdigest()}


def _name(number: int) -> str:
    return f"part-{number:05d}.parquet"


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    unfinished = path.with_name(f".{path.name}")
    unfinished.write_text(json.dumps(content, indent=1, sort_keys=True), encoding="utf-8")
    flush(unfinished)
    os.replace(unfinished, path)
