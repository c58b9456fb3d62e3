"""Folders that take the place of others whole, what killed processes left behind, and addresses that are no paths."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

from likewise.exceptions import LikewiseError, TableFileError

AT_FDCWD: Final = -100
RENAME_EXCHANGE: Final = 2  # of Linux: two names change places in one step
ONE_AT_A_TIME: Final = threading.Lock()  # of the threads that put something in its place

ADDRESS: Final = re.compile(r"([A-Za-z][\w+.-]+):/+(.*)", re.S)  # a drive of Windows has one letter


def address_of(path: str | Path) -> str | None:
    """Return the address that a path is meant as, such as s3a://bucket/people; None for one of this machine."""
    found = ADDRESS.fullmatch(os.fspath(path))  # a Path has lost one of the slashes
    return None if found is None else f"{found[1]}://{found[2]}"


def local_path(path: str | Path, error: type[LikewiseError] = TableFileError) -> Path:
    """Return a path of this machine; refuse an address such as hdfs://, which would become a folder of that name."""
    address = address_of(path)
    if address is not None:
        raise error(f"'{address}' is not on this machine. Give a local path, and copy between the two yourself.")
    return Path(path)


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
    """Give a whole folder the name of another, which is removed.

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
