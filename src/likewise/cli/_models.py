"""Model files: which kinds are read, which are refused, and why."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from likewise._checks import suggest
from likewise.cli._onnx import OnnxModel
from likewise.cli._skops import SkopsModel
from likewise.exceptions import ScoreError

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

PICKLE_ENDINGS: Final = (".pkl", ".pickle", ".p", ".joblib", ".sav", ".cloudpickle", ".dill", ".pt", ".pth")
PICKLE_PROTOCOLS: Final = tuple(bytes((0x80, protocol)) for protocol in range(2, 6))


class Scoring(Protocol):
    """A model of any kind, ready to score."""

    def score(self, frame: pa.Table, features: list[str], are_named: bool) -> tuple[Any, list[Any] | None]:
        """Give one row of numbers a person and, where known, the labels that the columns stand for."""

    def versions(self) -> dict[str, str]:
        """Name the package that does it."""


@dataclass(frozen=True, slots=True)
class Model:
    """What a model said of every row, in the form that an audit asks for it."""

    probabilities: NDArray[Any]
    classes_: list[Any] | None

    def predict_proba(self, frame: Any) -> NDArray[Any]:
        """Repeat what was said."""
        return self.probabilities


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model, and what the record of an audit says of it."""

    file: str
    sha256: str
    trusted: list[str]
    scoring: Scoring

    def score(self, frame: pa.Table, *, apart: list[str], features: list[str]) -> Model:
        """Score every row; a model that names no columns gets the ``features``, or all but those ``apart``."""
        usual = [name for name in frame.column_names if name not in apart]
        return Model(*self.scoring.score(frame, features or usual, bool(features)))

    def describe(self) -> dict[str, Any]:
        """Say which model it is, and what its owner vouched for."""
        return {"file": self.file, "sha256": self.sha256, "trusted": self.trusted}


def load_model(path: Path, trusted: list[str]) -> ModelFile:
    """Read a model without running any code that its file brings along."""
    data = _read(path)
    suffix = path.suffix.lower()
    if suffix in PICKLE_ENDINGS or data.startswith(PICKLE_PROTOCOLS):
        raise ScoreError(
            f"'{path}' is a pickle, and loading one may run code that is in it. Where you trust it, convert it in "
            f"Python: skops.io.dump(model, '{path.stem}.skops'), or skl2onnx.to_onnx(model, X[:1]) written to "
            f"'{path.stem}.onnx'."
        )
    if suffix not in (".onnx", ".skops"):
        raise ScoreError(f"'{path}' is not a model that likewise reads. Give an .onnx or a .skops file.")
    if suffix == ".onnx" and trusted:
        raise ScoreError(f"--trust is for .skops files; '{path}' holds no types to trust. Leave it out.")
    scoring: Scoring = OnnxModel(data, str(path)) if suffix == ".onnx" else SkopsModel(data, str(path), trusted)
    return ModelFile(str(path), hashlib.sha256(data).hexdigest(), sorted(set(trusted)), scoring)


def _read(path: Path) -> bytes:
    """Read the file once: what is hashed is what is loaded."""
    if path.is_dir():
        raise ScoreError(f"'{path}' is a folder. Name the model file in it.")
    try:
        return path.read_bytes()
    except FileNotFoundError:
        hint = suggest(path.name, os.listdir(path.parent) if path.parent.is_dir() else [])
        raise ScoreError(f"There is no model file '{path}'.{hint or ' Check the path.'}") from None
    except OSError as error:
        raise ScoreError(f"'{path}' cannot be read: {error.strerror or error}.") from error
