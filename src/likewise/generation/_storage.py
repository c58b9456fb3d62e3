"""Generators in folders: one JSON record and one file of arrays (safetensors). Loading never runs code."""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple, Self

import numpy as np

from likewise._extras import require
from likewise._files import KIND_OF_MODELS, local_path, write_folder
from likewise.exceptions import SavedModelError
from likewise.nets._internal import choose_device

RECORD: Final = "likewise.json"
NUMBERS: Final = "numbers.safetensors"


class Description(NamedTuple):
    """A fitted generator as plain data: a record that JSON can hold, and arrays by name."""

    record: dict[str, Any]
    arrays: dict[str, Any]

    def arrays_under(self, prefix: str) -> dict[str, Any]:
        """Return the arrays whose names start with a prefix, by the rest of the name."""
        return {name.removeprefix(prefix): array for name, array in self.arrays.items() if name.startswith(prefix)}


class SavedInFolder:
    """Mixin for generators that describe themselves in plain data and can be restored from it."""

    _saved_as: ClassVar[str] = ""  # "NAME FORMAT"; the name of the class and format 1 by default
    _has_device: ClassVar[bool] = True

    def save(self, path: str | Path) -> None:
        """Write a folder that :meth:`load` reads, on this or another machine.

        Parameters
        ----------
        path : str or Path
        """
        save_folder(path, self._kind(), *self._describe())

    @classmethod
    def load(cls, path: str | Path, *, device: str = "auto") -> Self:
        """Read a folder that :meth:`save` wrote; no code from the folder is run.

        Parameters
        ----------
        path : str or Path
        device : str
            Device for networks from now on, if there are any.

        Returns
        -------
        generator
        """
        if cls._has_device:
            choose_device(device)  # a wrong device is no fault of the folder
        record, arrays = load_folder(path, cls._kind())
        try:
            # writable, for torch
            generator = cls._restore(Description(record, {name: np.array(one) for name, one in arrays.items()}), device)
            generator._rehearse()
            return generator
        except SavedModelError as error:
            raise SavedModelError(f"'{path}': {error}") from error.__cause__
        except Exception as error:  # whatever a forged folder leads to
            raise SavedModelError(f"'{path}' lacks something or has too much: {error!r}. Save it again.") from None

    @classmethod
    def _kind(cls) -> str:
        return cls._saved_as or f"{cls.__name__} 1"

    @abstractmethod
    def _describe(self) -> Description:
        """Return everything that prediction or generation needs; refuse if not fitted."""

    @classmethod
    @abstractmethod
    def _restore(cls, description: Description, device: str) -> Self:
        """Return the generator; any error means that the description is invalid."""

    @abstractmethod
    def _rehearse(self) -> None:
        """Do once what the generator is for, so that an invalid description fails now and not later."""


def subclasses(cls: type[Any]) -> list[type[Any]]:
    """Return a class and all that are derived from it so far."""
    return [cls, *(deeper for one in cls.__subclasses__() for deeper in subclasses(one))]


def save_folder(path: str | Path, kind: str, record: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write a folder of a kind such as "GibbsGenerator 1"; it appears complete or not at all.

    A folder that likewise saved, and nobody changed since, is replaced. Anything else there is left alone and refused.
    """
    numpy_format = require("safetensors.numpy", "torch", "Saving")
    target = local_path(path, SavedModelError)
    numbers = numpy_format.save({name: np.asarray(array, order="C") for name, array in arrays.items()})
    plain = json.loads(json.dumps(dict(record), allow_nan=False))  # as it will be read again
    head = {"kind": kind, "sha256": _checksum(kind, plain, numbers), "record": plain}
    text = json.dumps(head, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    write_folder(target, KIND_OF_MODELS, {NUMBERS: numbers, RECORD: text})


def load_folder(path: str | Path, kind: str) -> Description:
    """Read a folder that :func:`save_folder` wrote, or raise an error that names what is wrong with it."""
    numpy_format = require("safetensors.numpy", "torch", "Loading")
    folder = local_path(path, SavedModelError)
    head = _read_head(folder)
    try:
        numbers = (folder / NUMBERS).read_bytes()
    except OSError as error:
        raise _unreadable(folder, error) from None
    if head["kind"] != kind:
        raise SavedModelError(f"'{folder}' holds '{head['kind']}', not '{kind}'. Load it as that.")
    if _checksum(kind, head["record"], numbers) != head.get("sha256"):
        raise SavedModelError(f"A file in '{folder}' was changed or truncated after it was written. Save it again.")
    try:
        return Description(head["record"], dict(numpy_format.load(numbers)))
    except Exception as error:  # safetensors has errors of its own
        raise SavedModelError(f"'{folder / NUMBERS}' cannot be read: {error}. Save it again.") from None


def read_kind(path: str | Path) -> str:
    """Return the kind of a saved folder, without checking the rest of it."""
    return str(_read_head(local_path(path, SavedModelError))["kind"])


def _read_head(folder: Path) -> dict[str, Any]:
    try:
        head = json.loads((folder / RECORD).read_text("utf-8"))
    except OSError as error:
        raise _unreadable(folder, error) from None
    except (ValueError, RecursionError) as error:
        raise SavedModelError(f"'{folder / RECORD}' is not valid JSON: {error}. Save it again.") from None
    if not isinstance(head, dict) or not isinstance(head.get("record"), dict) or not isinstance(head.get("kind"), str):
        raise SavedModelError(f"'{folder / RECORD}' was not written by likewise. Give a folder that save wrote.")
    return head


def _unreadable(folder: Path, error: OSError) -> SavedModelError:
    return SavedModelError(f"Cannot load from '{folder}': {error.strerror or error}. Give a folder that save wrote.")


def _checksum(kind: str, record: dict[str, Any], numbers: bytes) -> str:
    text = json.dumps([kind, record], sort_keys=True)
    return hashlib.sha256(text.encode() + b"\0" + numbers).hexdigest()
