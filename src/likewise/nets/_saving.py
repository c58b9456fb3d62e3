"""Fitted things in a folder: JSON for what they are, safetensors for their numbers. Loading runs nothing."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from likewise._extras import require
from likewise.exceptions import SavedFolderError

RECORD: Final = "likewise.json"
NUMBERS: Final = "numbers.safetensors"


def save_folder(path: str | Path, kind: str, record: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write a folder that :func:`load_folder` reads; it appears whole, or not at all.

    Parameters
    ----------
    path : str or Path
        Replaced if it is such a folder already; anything else there is left alone and refused.
    kind : str
        What is saved, such as "GibbsGenerator 1".
    record : mapping
        Plain data: it is JSON.
    arrays : mapping of str to array
        NumPy arrays.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from likewise.nets import load_folder, save_folder
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     save_folder(f"{parent}/saved", "example 1", {"seed": 3}, {"weights": np.ones(2)})
    ...     load_folder(f"{parent}/saved", "example 1")
    ({'seed': 3}, {'weights': array([1., 1.])})
    """
    numpy_format = require("safetensors.numpy", "torch", "Saving")
    target = Path(path)
    if target.exists() and not (target / RECORD).is_file():
        raise SavedFolderError(f"'{target}' is there already and was not saved by likewise. Choose another name.")
    for other in sorted({one.name for one in target.glob("*")} - {RECORD, NUMBERS}):
        raise SavedFolderError(f"'{target}' also holds '{other}', which saving would delete. Choose another name.")
    target.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        _let_others_read(made)
        numbers = numpy_format.save({name: _contiguous(array) for name, array in arrays.items()})
        (made / NUMBERS).write_bytes(numbers)
        plain = json.loads(json.dumps(dict(record), allow_nan=False))  # as it will be read again
        head = {"kind": kind, "sha256": _checksum(kind, plain, numbers), "record": plain}
        (made / RECORD).write_text(json.dumps(head, indent=1, ensure_ascii=False, allow_nan=False) + "\n", "utf-8")
        _put_in_place(made, target)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def load_folder(path: str | Path, kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read a folder that :func:`save_folder` wrote, or say what is wrong with it.

    Parameters
    ----------
    path : str or Path
    kind : str
        What it has to be.

    Returns
    -------
    record, arrays : dict, dict of str to array
    """
    numpy_format = require("safetensors.numpy", "torch", "Loading")
    folder = Path(path)
    try:
        head = json.loads((folder / RECORD).read_text("utf-8"))
        numbers = (folder / NUMBERS).read_bytes()
    except OSError as error:
        raise SavedFolderError(
            f"Nothing can be loaded from '{folder}': {error.strerror or error}. Give a folder that save wrote."
        ) from None
    except (ValueError, RecursionError) as error:
        raise SavedFolderError(f"'{folder / RECORD}' is not JSON, or not all of it: {error}. Save it again.") from None
    if not isinstance(head, dict) or not isinstance(head.get("record"), dict) or "kind" not in head:
        raise SavedFolderError(f"'{folder / RECORD}' is not what likewise writes. Give a folder that save wrote.")
    if head["kind"] != kind:
        raise SavedFolderError(f"'{folder}' holds '{head['kind']}', not '{kind}'. Load it as what it is.")
    if _checksum(kind, head["record"], numbers) != head.get("sha256"):
        raise SavedFolderError(f"A file in '{folder}' was changed or cut short after it was written. Save it again.")
    try:
        return head["record"], dict(numpy_format.load(numbers))
    except Exception as error:  # safetensors has errors of its own
        raise SavedFolderError(f"'{folder / NUMBERS}' cannot be read: {error}. Save it again.") from None


@contextmanager
def opened_folder(path: str | Path, kind: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Read a folder, and say in one line what making something of it failed for.

    Parameters
    ----------
    path : str or Path
    kind : str
        What it has to be.
    """
    import numpy as np

    record, arrays = load_folder(path, kind)
    try:
        yield record, {name: np.array(array) for name, array in arrays.items()}  # torch takes no read-only ones
    except SavedFolderError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RuntimeError) as error:
        raise SavedFolderError(f"'{path}' lacks something, or has too much: {error!r}. Save it again.") from None


def _checksum(kind: str, record: dict[str, Any], numbers: bytes) -> str:
    text = json.dumps([kind, record], sort_keys=True)
    return hashlib.sha256(text.encode() + b"\0" + numbers).hexdigest()


def _let_others_read(folder: Path) -> None:
    """Give a folder the rights that any new one gets here; a temporary one is its owner's alone."""
    mask = os.umask(0)
    os.umask(mask)
    folder.chmod(0o777 & ~mask)


def _put_in_place(made: Path, target: Path) -> None:
    """Move an old folder aside before the new one takes its name, so that one of them is always there."""
    if not target.exists():
        os.replace(made, target)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    os.rename(target, old / "old")
    try:
        os.replace(made, target)
    except BaseException:
        os.rename(old / "old", target)
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)


def _contiguous(array: Any) -> Any:
    import numpy as np

    return np.asarray(array, order="C")
