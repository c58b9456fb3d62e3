"""Estimators in folders: one JSON record and one file of arrays (safetensors). Loading never runs code."""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from likewise._extras import require
from likewise._files import KIND_OF_MODELS, local_path, write_folder
from likewise.exceptions import SavedFolderError
from likewise.nets._device import choose_device

RECORD: Final = "likewise.json"
NUMBERS: Final = "numbers.safetensors"


class Description(NamedTuple):
    """A fitted estimator as plain data: a record that JSON can hold, and arrays by name."""

    record: dict[str, Any]
    arrays: dict[str, Any]

    def arrays_under(self, prefix: str) -> dict[str, Any]:
        """Return the arrays whose names start with a prefix, by the rest of the name."""
        return {name.removeprefix(prefix): array for name, array in self.arrays.items() if name.startswith(prefix)}


class SavedInFolder:
    """Mixin for estimators that describe themselves in plain data and can be restored from it."""

    _saved_as: ClassVar[str] = ""  # "NAME FORMAT"; the name of the class and format 1 by default
    _has_device: ClassVar[bool] = True
    feature_names_in_: NDArray[Any]
    n_features_in_: int

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
        estimator
        """
        if cls._has_device:
            choose_device(device)  # a wrong device is no fault of the folder
        record, arrays = load_folder(path, cls._kind())
        try:
            # writable, for torch
            made = cls._restore(Description(record, {name: np.array(one) for name, one in arrays.items()}), device)
            made._rehearse()
            return made
        except SavedFolderError as error:
            raise SavedFolderError(f"'{path}': {error}") from error.__cause__
        except Exception as error:  # whatever a forged folder leads to
            raise SavedFolderError(f"'{path}' lacks something or has too much: {error!r}. Save it again.") from None

    @classmethod
    def _kind(cls) -> str:
        return cls._saved_as or f"{cls.__name__} 1"

    @abstractmethod
    def _describe(self) -> Description:
        """Return everything that prediction or generation needs; refuse if not fitted."""

    @classmethod
    @abstractmethod
    def _restore(cls, description: Description, device: str) -> Self:
        """Return the estimator; any error means that the description is invalid."""

    def _describe_columns(self) -> dict[str, Any]:
        """Return the columns that the estimator was fitted to."""
        names = getattr(self, "feature_names_in_", None)
        return {"names": None if names is None else names.tolist(), "n_features": self.n_features_in_}

    def _restore_columns(self, record: Mapping[str, Any]) -> None:
        """Restore what :meth:`_describe_columns` returned."""
        if record["names"] is not None:
            self.feature_names_in_ = np.array(record["names"], dtype=object)
        self.n_features_in_ = int(record["n_features"])

    def _rehearse(self) -> None:  # not every estimator needs it
        """Do once what the estimator is for, so that an invalid description fails now and not later."""


def subclasses(cls: type[Any]) -> list[type[Any]]:
    """Return a class and all that are derived from it so far."""
    return [cls, *(deeper for one in cls.__subclasses__() for deeper in subclasses(one))]


def save_folder(path: str | Path, kind: str, record: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write a folder of a kind such as "GibbsGenerator 1"; it appears complete or not at all.

    A folder that likewise saved, and nobody changed since, is replaced. Anything else there is left alone and refused.
    """
    numpy_format = require("safetensors.numpy", "torch", "Saving")
    target = local_path(path, SavedFolderError)
    numbers = numpy_format.save({name: np.asarray(array, order="C") for name, array in arrays.items()})
    plain = json.loads(json.dumps(dict(record), allow_nan=False))  # as it will be read again
    head = {"kind": kind, "sha256": _checksum(kind, plain, numbers), "record": plain}
    text = json.dumps(head, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    write_folder(target, KIND_OF_MODELS, {NUMBERS: numbers, RECORD: text})


def load_folder(path: str | Path, kind: str) -> Description:
    """Read a folder that :func:`save_folder` wrote, or raise an error that names what is wrong with it."""
    numpy_format = require("safetensors.numpy", "torch", "Loading")
    folder = local_path(path, SavedFolderError)
    head = _read_head(folder)
    try:
        numbers = (folder / NUMBERS).read_bytes()
    except OSError as error:
        raise _unreadable(folder, error) from None
    if head["kind"] != kind:
        raise SavedFolderError(f"'{folder}' holds '{head['kind']}', not '{kind}'. Load it as that.")
    if _checksum(kind, head["record"], numbers) != head.get("sha256"):
        raise SavedFolderError(f"A file in '{folder}' was changed or truncated after it was written. Save it again.")
    try:
        return Description(head["record"], dict(numpy_format.load(numbers)))
    except Exception as error:  # safetensors has errors of its own
        raise SavedFolderError(f"'{folder / NUMBERS}' cannot be read: {error}. Save it again.") from None


def read_kind(path: str | Path) -> str:
    """Return the kind of a saved folder, without checking the rest of it."""
    return str(_read_head(local_path(path, SavedFolderError))["kind"])


def _read_head(folder: Path) -> dict[str, Any]:
    try:
        head = json.loads((folder / RECORD).read_text("utf-8"))
    except OSError as error:
        raise _unreadable(folder, error) from None
    except (ValueError, RecursionError) as error:
        raise SavedFolderError(f"'{folder / RECORD}' is not valid JSON: {error}. Save it again.") from None
    if not isinstance(head, dict) or not isinstance(head.get("record"), dict) or not isinstance(head.get("kind"), str):
        raise SavedFolderError(f"'{folder / RECORD}' was not written by likewise. Give a folder that save wrote.")
    return head


def _unreadable(folder: Path, error: OSError) -> SavedFolderError:
    return SavedFolderError(f"Cannot load from '{folder}': {error.strerror or error}. Give a folder that save wrote.")


def _checksum(kind: str, record: dict[str, Any], numbers: bytes) -> str:
    text = json.dumps([kind, record], sort_keys=True)
    return hashlib.sha256(text.encode() + b"\0" + numbers).hexdigest()
