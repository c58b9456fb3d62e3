"""Files and folders of results: whole or not there, and never in the place of what somebody else made or changed."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from likewise.exceptions import LikewiseError, TableFileError

AT_FDCWD: Final = -100
RENAME_EXCHANGE: Final = 2  # of Linux: two names change places in one step

ADDRESS: Final = re.compile(r"([A-Za-z][\w+.-]+):/+(.*)", re.S)  # a drive of Windows has one letter
MARKER: Final = ".likewise-files.json"  # what a folder was written with: its kind, and the checksum of each file
KIND_OF_AUDITS: Final = "audit"
KIND_OF_MODELS: Final = "saved model"
LOCK, NEW, OLD = ".lock", "new", "old"  # all that there is in the folder of what is not whole yet
TRIES: Final = 100

Content = bytes | str | Callable[[Path], object]  # a text is written in UTF-8
Files = Mapping[str, Content]
Put = Callable[[Files], None]
Inputs = Iterable[str | Path]


def address_of(path: str | Path) -> str | None:
    """Return the address that a path is meant as, such as s3a://bucket/people; None for one of this machine."""
    found = ADDRESS.fullmatch(os.fspath(path))  # a Path has lost one of the slashes
    return None if found is None else f"{found[1]}://{found[2]}"


def local_path(path: str | Path, error: type[LikewiseError] = TableFileError) -> Path:
    """Return a path of this machine; refuse an address such as hdfs://, which would become a folder of that name."""
    if not isinstance(path, str | os.PathLike):
        raise error(f"{path!r} is not a path. Give one as text, or as a Path.")
    name = os.fspath(path)
    if name.encode("utf-8", "replace").decode() != name:
        raise error(f"{name!r} is not a name in UTF-8. Choose another name.")
    address = address_of(path)
    if address is not None:
        raise error(f"'{address}' is not on this machine. Give a local path, and copy between the two yourself.")
    return Path(path)


def refuse_pipe(path: Path) -> None:
    """Refuse what is no file and no folder: reading it could wait for ever, or take what cannot be read again."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise TableFileError(f"'{path}' is a pipe or device. Write what comes from it to a file, and give that.")


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file."""
    refuse_pipe(path)
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise TableFileError(f"'{path}' cannot be read: {error.strerror or error}.") from error


def check_file(path: str | Path, inputs: Inputs = ()) -> Path:
    """Return where a file is to be written; refuse a place that is taken, cannot be written, or lies in an input."""
    target = _find_target(path, inputs)
    if target.is_dir():
        raise TableFileError(f"'{path}' is a folder. Name a file.")
    if os.path.lexists(target):
        raise TableFileError(f"'{path}' is there already, and no file is replaced. Name another, or remove it first.")
    if not target.parent.is_dir():
        raise TableFileError(f"There is no folder '{Path(path).parent}' for '{path}'. Create it first.")
    _refuse_read_only(target.parent, path)
    return target


def check_folder(path: str | Path, kind: str | None, inputs: Inputs = ()) -> Path:
    """Return where a folder is to be written: where nothing, an empty one, or an unchanged one of that kind is."""
    target = _find_target(path, inputs)
    there = next(parent for parent in (target, *target.parents) if os.path.lexists(parent))
    if not there.is_dir():
        raise TableFileError(f"'{there if there != target else path}' is a file. Name another folder.")
    _refuse_read_only(there, path)
    if there == target:
        if target in (Path.cwd(), *Path.cwd().parents) or target.is_mount():
            what = "a disk is mounted there" if target.is_mount() else "it is the folder that you are in"
            raise TableFileError(f"'{path}' cannot be replaced: {what}. Name a folder in it, such as 'results'.")
        _refuse_read_only(target.parent, path)
        _refuse_foreign(target, Path(path), kind)
    return target


@contextmanager
def new_file(path: str | Path, inputs: Inputs = ()) -> Iterator[Path]:
    """Yield a temporary name, which becomes the path if all goes well and nothing has it by then."""
    target = check_file(path, inputs)
    with writing(path), workshop(target) as new:
        yield new
        flush(new)
        try:
            os.link(new, target)
        except FileExistsError:
            check_file(path)
        except OSError:  # a disk without links; the name is taken first
            os.close(os.open(target, os.O_CREAT | os.O_EXCL))
            os.replace(new, target)


def write_file(path: str | Path, content: Content) -> None:
    """Write a file that is not there yet, whole or not at all; anything that has its name is left alone and refused."""
    with new_file(path) as new:
        _write(new, content)


@contextmanager
def new_folder(path: str | Path, kind: str | None, inputs: Inputs = ()) -> Iterator[Put]:
    """Take the name of a folder, alone; yield a function that writes files there, all of them in one step.

    A folder is replaced only if it is empty, or has nothing but what was written there as the same kind; without a
    kind only if it is empty. Anything else is refused at once.
    """
    target = check_folder(path, kind, inputs)
    missing = [parent for parent in target.parents if not parent.exists()]
    try:
        with writing(path):
            target.parent.mkdir(parents=True, exist_ok=True)
        with workshop(target) as new:
            check_folder(path, kind)  # which another run may have written by now
            yield partial(_put, new, target, kind)
    finally:
        for parent in missing:
            with suppress(OSError):  # nothing was written there
                parent.rmdir()


def write_folder(path: str | Path, kind: str | None, files: Files) -> None:
    """Write a folder whole or not at all, in the place of nothing but an unchanged one of this kind."""
    with new_folder(path, kind) as put:
        put(files)


def remove_folder(path: Path, kind: str) -> None:
    """Remove a folder that was written as such a kind, and that nobody changed since; any other is left alone."""
    with suppress(TableFileError, OSError):
        _refuse_foreign(path, path, kind)
        remove(path)


@contextmanager
def workshop(target: Path, *, resumes: bool = False) -> Iterator[Path]:
    """Yield a name beside a target, for what is not whole yet; no other run has it at the same time.

    What a killed run left there is cleared, unless this one ``resumes`` it; an older folder that the kill left without
    its name gets that back.
    """
    folder = target.with_name(f".{target.name}.partial")
    with writing(target):
        lock = _enter(folder, target, resumes=resumes)
    try:
        with writing(target):
            _clear(folder, target, resumes=resumes)
        yield folder / NEW
    finally:
        with suppress(OSError):
            _clear(folder, target, resumes=resumes)
            if os.listdir(folder) == [LOCK]:
                (folder / LOCK).unlink()
                folder.rmdir()
        os.close(lock)


@contextmanager
def writing(path: str | Path) -> Iterator[None]:
    """Say in a line what could not be written."""
    try:
        yield
    except OSError as error:
        raise TableFileError(f"'{path}' cannot be written: {error.strerror or error}.") from error


def remove(path: Path) -> None:
    """Remove a file or a folder, as far as that can be done."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def flush(path: Path) -> None:
    """Flush to disk, so that a name never outlives its content in a power cut."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def read_json(path: Path) -> Any:
    """Return the content of a JSON file; None where there is none."""
    refuse_pipe(path)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, ValueError, RecursionError):
        return None
    except OSError as error:
        raise TableFileError(f"'{path}' cannot be read: {error.strerror or error}.") from error


def _find_target(path: str | Path, inputs: Inputs) -> Path:
    """Return what a path names, links followed; refuse one that is, holds, or lies in something that is read."""
    target = Path(os.path.realpath(local_path(path)))  # what a link points at is written, not the link
    for name in inputs:
        place = Path(os.path.realpath(name))
        if target in (place, *place.parents):
            raise TableFileError(f"'{path}' {'is' if target == place else 'holds'} the input '{name}'. Name another.")
        if place in target.parents:
            raise TableFileError(f"'{path}' lies in the input '{name}'. Name a place outside it.")
    return target


def _refuse_read_only(folder: Path, path: str | Path) -> None:
    if not os.access(folder, os.W_OK):
        raise TableFileError(f"'{path}' cannot be written: the folder '{folder}' is not writable. Name another.")


def _refuse_foreign(target: Path, path: Path, kind: str | None) -> None:
    """Refuse a folder that has anything in it but what is listed there as of this kind, unchanged."""
    marker = read_json(target / MARKER)
    sums: dict[str, Any] = {}
    if kind is not None and isinstance(marker, dict) and marker.get("kind") == kind:
        sums = marker["sha256"] if isinstance(marker.get("sha256"), dict) else {}
    for name in sorted(os.listdir(target)):
        file = target / name
        is_file = file.is_file() and not file.is_symlink()
        if is_file and (name == MARKER or (name in sums and sums[name] == hash_file(file))):
            continue
        why = "is there already" if kind is None else f"is no file of an earlier {kind}"
        why = "was changed after it was written" if name in sums else why
        raise TableFileError(f"'{path / name}' {why}, and is not replaced. Name another folder, or move it away.")


def _put(new: Path, target: Path, kind: str | None, files: Files) -> None:
    """Write files into a new folder, which takes the place of an older one."""
    with writing(target):
        new.mkdir()
        for name, content in files.items():
            _write(new / name, content)
        sums = {name: hash_file(new / name) for name in files}
        if kind is not None:
            _write(new / MARKER, json.dumps({"kind": kind, "sha256": sums}, indent=1) + "\n")
        if not target.exists():
            os.rename(new, target)
            return
        new.chmod(target.stat().st_mode)
        _refuse_foreign(target, target, kind)
        if not _exchange(new, target):
            os.rename(target, new.with_name(OLD))
            os.rename(new, target)


def _write(path: Path, content: Content) -> None:
    if callable(content):
        content(path)
    else:
        path.write_bytes(content.encode("utf-8", "replace") if isinstance(content, str) else content)
    flush(path)


def _exchange(one: Path, other: Path) -> bool:
    """Let two names change places in one step; return whether this system can."""
    if sys.platform != "linux":
        return False
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):  # an older C library
        return False
    return bool(rename(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) == 0)


def _enter(folder: Path, target: Path, *, resumes: bool) -> int:
    """Lock a folder, which is made if needed; refuse one that another run holds, or that is not of this form."""
    for _ in range(TRIES):
        is_new = not folder.exists()
        with suppress(FileNotFoundError):  # another run has just ended
            folder.mkdir(exist_ok=True)
            inside = os.listdir(folder)
            if folder.is_symlink() or {*inside} - {LOCK, NEW, OLD} or (inside and LOCK not in inside):
                raise TableFileError(f"'{folder}' is needed, and has other files in it. Move it away.")
            lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
            is_held = _lock(lock)
            if is_held is False:
                os.close(lock)
                break
            if is_held is None and not (is_new or resumes):
                os.close(lock)
                raise TableFileError(f"'{folder}' is there already. If no other run is writing, remove it.")
            if os.path.samestat(os.fstat(lock), (folder / LOCK).stat()):
                return lock
            os.close(lock)
    raise TableFileError(f"Another run is writing '{target}'. Wait until it is finished, or use another name.")


def _clear(folder: Path, target: Path, *, resumes: bool) -> None:
    """Remove what is left over; an old folder that no new one has followed gets its name back."""
    old = folder / OLD
    if old.exists() and not os.path.lexists(target):
        os.rename(old, target)
    for left in (old,) if resumes else (old, folder / NEW):
        remove(left)


def _lock(file: int) -> bool | None:
    """Lock an open file; False if another run holds it, None where this system or disk has no locks."""
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True
