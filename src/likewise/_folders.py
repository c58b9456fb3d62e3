"""Folders and files written whole or part by part, what killed processes left behind, addresses that are no paths."""

from __future__ import annotations

import ctypes
import hashlib
import json
import logging
import os
import re
import shutil
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from likewise._json import plain
from likewise.exceptions import LikewiseError, TableFileError

if TYPE_CHECKING:
    import pyarrow as pa

AT_FDCWD: Final = -100
RENAME_EXCHANGE: Final = 2  # of Linux: two names change places in one step
ONE_AT_A_TIME: Final = threading.Lock()  # of the threads that put something in its place

ADDRESS: Final = re.compile(r"([A-Za-z][\w+.-]+):/+(.*)", re.S)  # a drive of Windows has one letter
log = logging.getLogger(__name__)
ABOUT: Final = "_about.json"  # Parquet readers skip names with a leading underscore
LOCK: Final = ".lock"
PARTIAL: Final = ".partial"
ZSTD: Final = {"compression": "zstd"}
_LOCKED: Final[dict[str, threading.Thread]] = {}  # files that threads of this process hold
_LOCKING: Final = threading.Lock()


def address_of(path: str | Path) -> str | None:
    """Return the address that a path is meant as, such as s3a://bucket/people; None for one of this machine."""
    found = ADDRESS.fullmatch(os.fspath(path))  # a Path has lost one of the slashes
    return None if found is None else f"{found[1]}://{found[2]}"


def local_path(path: str | Path, error: type[LikewiseError] = TableFileError) -> Path:
    """Return a path of this machine; refuse an address such as hdfs://, which would become a folder of that name."""
    if not isinstance(path, str | os.PathLike):
        raise error(f"{path!r} is not a path. Give one as text, or as a Path.")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise error(f"{os.fspath(path)!r} is not a path that this machine can write. Choose another name.") from None
    address = address_of(path)
    if address is not None:
        raise error(f"'{address}' is not on this machine. Give a local path, and copy between the two yourself.")
    return Path(path)


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise TableFileError(f"'{path}' cannot be read: {error.strerror or error}.") from error


def unfinished_name(target: Path) -> Path:
    """Return the name that a file or folder has until it is whole; it tells which process and thread are at work."""
    return target.with_name(f".{target.name}.{os.getpid()}.{threading.get_native_id()}.part")


def clear_leftovers(target: Path) -> None:
    """Remove what processes that are no more left of a file or folder that was to have this name."""
    start, end = f".{target.name}.", ".part"
    with suppress(OSError):
        for one in target.parent.iterdir():
            number = one.name.removeprefix(start).partition(".")[0]
            is_unfinished = one.name.startswith(f"{start}{number}.") and one.name.endswith(end) and number.isdecimal()
            if is_unfinished and not _is_running(int(number)):
                remove(one)


def put_in_place(made: Path, target: Path) -> None:
    """Put a whole folder in the place of another, which is removed.

    On Linux the name always has a whole folder. Elsewhere the old one is moved aside first, and a process that is
    killed between two renames leaves it there. Of several threads the last one's folder stays.
    """
    with ONE_AT_A_TIME:
        if not target.exists():
            os.replace(made, target)
        elif _exchange(made, target):
            remove(made)
        else:
            old = made.with_name(f"{made.name}.old")
            os.rename(target, old)
            try:
                os.replace(made, target)
            except BaseException:
                os.rename(old, target)
                raise
            remove(old)


def remove(path: Path) -> None:
    """Remove a file or a folder, as far as that can be done."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def _exchange(one: Path, other: Path) -> bool:
    """Let two names change places in one step; return whether this system can."""
    if sys.platform != "linux":
        return False
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):  # an older C library
        return False
    return bool(rename(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) == 0)


def _is_running(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


class PartsFolder:
    """Write numbered parts into a temporary folder, resumed if ``about`` is unchanged, and rename it at the end."""

    def __init__(self, target: str | Path, about: Mapping[str, Any], kind: str) -> None:
        self.target = local_path(target)
        self._about = {"kind": kind, **plain(about)}
        self._known: dict[int, dict[str, Any]] = {}  # rows and checksum of each part written here
        self.is_whole = self.target.exists()
        if self.is_whole:
            self._refuse_another()
            return
        self._partial = self.target.with_name(f".{self.target.name}{PARTIAL}")
        try:
            self._partial.mkdir(parents=True, exist_ok=True)
            self._unlock = _lock(self._partial / LOCK, self)
            if _read_json(self._partial / ABOUT) != self._about:
                self._start_over()
        except OSError as error:
            raise TableFileError(f"'{target}' cannot be written: {error.strerror or error}.") from error

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
        try:
            pyarrow.parquet.write_table(table, unfinished, **layout)
            self._known[number] = _describe(unfinished.read_bytes(), len(table))
            _flush(unfinished)
            os.replace(unfinished, part)
        except OSError as error:
            raise TableFileError(f"'{self.target}' cannot be written: {error.strerror or error}.") from error

    def finish(self, n_parts: int, found: Mapping[str, Any]) -> None:
        """Record the result beside the parts, with rows and checksum of each, and rename the folder."""
        missing = [number for number in range(n_parts) if not self.has(number)]
        if missing:
            raise TableFileError(f"'{self.target}' lacks part {missing[0]} of {n_parts}. Run the same again to resume.")
        try:
            self._clear_away(".*")
            parts = [self._known.get(number) or self._describe_earlier(number) for number in range(n_parts)]
            about = {"n_parts": n_parts, "parts": parts, "found": plain(found)}
            _write_json(self._partial / ABOUT, self._about | about)
            os.replace(self._partial, self.target)
            (self.target / LOCK).unlink(missing_ok=True)
            self._unlock()
        except OSError as error:
            raise TableFileError(f"'{self.target}' cannot be written: {error.strerror or error}.") from error

    def _describe_earlier(self, number: int) -> dict[str, Any]:
        """Describe a part that an earlier run wrote."""
        return _describe((self._partial / _name(number)).read_bytes(), len(self.read(number)))

    def _start_over(self) -> None:
        if (self._partial / ABOUT).exists():
            log.warning("%s was left unfinished by a run that asked for something else; it starts over.", self.target)
        self._clear_away("*")
        _write_json(self._partial / ABOUT, self._about)

    def _clear_away(self, pattern: str) -> None:
        for left_over in self._partial.glob(pattern):
            if left_over.name != LOCK:
                left_over.unlink()

    def _refuse_another(self) -> None:
        there = _read_json(self.target / ABOUT)
        is_ours = isinstance(there, dict)
        if not is_ours or {name: there.get(name) for name in self._about} != self._about:
            how = "made from other input" if is_ours else "not written by likewise"
            raise TableFileError(f"'{self.target}' exists already and was {how}. Use another name, or move it away.")


def read_about(folder: Path, kind: str) -> dict[str, Any]:
    """Return what a complete folder was made from, and its result."""
    about = _read_json(local_path(folder) / ABOUT)
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


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, ValueError, RecursionError):
        return None
    except OSError as error:
        raise TableFileError(f"'{path}' cannot be read: {error.strerror or error}.") from error


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    unfinished = path.with_name(f".{path.name}")
    unfinished.write_text(json.dumps(content, indent=1, sort_keys=True), encoding="utf-8")
    _flush(unfinished)
    os.replace(unfinished, path)


def _lock(path: Path, owner: object) -> Callable[[], object]:
    """Lock a file while its owner lives, or until the returned function is called; refuse where another holds it."""
    place = os.path.realpath(path)
    with _LOCKING:
        holder = _LOCKED.get(place)  # a thread of this process, which a lock of the system would not keep out
        if holder is not None and holder is not threading.current_thread() and holder.is_alive():
            raise _in_use(path)
        file = None if sys.platform == "win32" else os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        if file is not None and not _lock_file(file, path):
            os.close(file)
            raise _in_use(path)
        _LOCKED[place] = threading.current_thread()
    return weakref.finalize(owner, _unlock, place, file)


def _lock_file(file: int, path: Path) -> bool:
    """Return whether no other process holds a file."""
    import fcntl

    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:  # some network disks do not support locks
        log.debug("%s cannot be locked.", path)
    return True


def _unlock(place: str, file: int | None) -> None:
    _LOCKED.pop(place, None)
    if file is not None:
        os.close(file)


def _in_use(path: Path) -> TableFileError:
    target = path.parent.with_name(path.parent.name.removeprefix(".").removesuffix(PARTIAL))
    return TableFileError(f"Another run is writing '{target}'. Wait until it is finished, or use another name.")


def _flush(path: Path) -> None:
    """Flush to disk, so that a name never outlives its content in a power cut."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
