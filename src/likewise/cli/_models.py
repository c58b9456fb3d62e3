"""Model files: which formats are read, and how an audit gets its scores, on this machine and on Spark's executors."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from likewise._checks import suggest
from likewise.cli._model_formats import OnnxModel, Scored, SkopsModel
from likewise.exceptions import ScoreError

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from likewise.schema import CodedTable

PICKLE_ENDINGS: Final = (".pkl", ".pickle", ".p", ".joblib", ".sav", ".cloudpickle", ".dill", ".pt", ".pth")
PICKLE_PROTOCOLS: Final = tuple(bytes((0x80, protocol)) for protocol in range(2, 6))


class ScoringModel(Protocol):
    """A model of any format."""

    def score(self, frame: pa.Table, features: list[str], are_named: bool) -> Scored:
        """Return one row of numbers per person and, where known, the labels of the columns."""

    def versions(self) -> dict[str, str]:
        """The package that runs the model."""


@dataclass(frozen=True, slots=True)
class ScoredRows:
    """The scores of every row, in the form of a fitted model, which ``audit`` takes."""

    probabilities: NDArray[Any]
    classes_: list[Any] | None

    def predict_proba(self, frame: Any) -> NDArray[Any]:
        """Return the scores."""
        return self.probabilities


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model with the facts that the record of an audit has of it."""

    file: str
    sha256: str
    trusted: list[str]
    scoring: ScoringModel
    data: bytes

    def score(self, frame: pa.Table, *, apart: Sequence[str], features: list[str]) -> ScoredRows:
        """Score every row; a model that names no columns gets the ``features``, or all columns but those ``apart``."""
        usual = [name for name in frame.column_names if name not in apart]
        return ScoredRows(*self.scoring.score(frame, features or usual, bool(features)))

    def describe(self) -> dict[str, Any]:
        """File, checksum and trusted types, for the record."""
        return {"file": self.file, "sha256": self.sha256, "trusted": self.trusted}

    def for_executors(self, some: pa.Table, *, apart: Sequence[str], features: list[str]) -> ExecutorModel:
        """Return the model as Spark's executors take it; it scores ``some`` rows here first, so that it fails early."""
        classes = self.score(some, apart=apart, features=features).classes_
        return ExecutorModel(
            *(self.data, self.file, tuple(self.trusted), tuple(features), tuple(apart)),
            None if classes is None else tuple(classes),
        )


@dataclass(frozen=True, slots=True)
class ExecutorModel:
    """A model as the bytes of its file, loaded where it scores: no code travels with it."""

    data: bytes
    file: str
    trusted: tuple[str, ...]
    features: tuple[str, ...]
    apart: tuple[str, ...]
    classes: tuple[Any, ...] | None  # a batch may be too small to match columns with labels

    def score_batch(self, frame: pa.Table, table: CodedTable, positive: Any) -> Any:
        """Score some people."""
        from likewise.auditing._internal import ask_scores

        usual = [name for name in frame.column_names if name not in self.apart]
        scoring = _open_model(self.data, self.file, self.trusted)
        found, _ = scoring.score(frame, list(self.features) or usual, bool(self.features))
        classes = None if self.classes is None else list(self.classes)
        return ask_scores(ScoredRows(found, classes), frame, table, positive)[0]


@dataclass(frozen=True, slots=True)
class ScoreColumns:
    """Several columns of scores, one per label."""

    names: tuple[str, ...]

    def score_batch(self, frame: pa.Table, table: CodedTable, positive: Any) -> Any:
        """Return the scores of some people."""
        return self.stack(frame)

    def stack(self, frame: pa.Table) -> NDArray[Any]:
        """Return the columns as one array."""
        return np.column_stack([frame.column(name).to_numpy() for name in self.names])


def load_model(path: Path, trusted: list[str]) -> ModelFile:
    """Load a model without running any code that its file contains."""
    data = _read(path)
    suffix = path.suffix.lower()
    if suffix in PICKLE_ENDINGS or data.startswith(PICKLE_PROTOCOLS):
        raise ScoreError(
            f"'{path}' is a pickle, and loading one may run code that is in it. If you trust it, convert it in "
            f"Python: skops.io.dump(model, '{path.stem}.skops'), or skl2onnx.to_onnx(model, X[:1]) written to "
            f"'{path.stem}.onnx'."
        )
    if suffix not in (".onnx", ".skops"):
        raise ScoreError(f"'{path}' is not a model that likewise reads. Give an .onnx or a .skops file.")
    if suffix == ".onnx" and trusted:
        raise ScoreError(f"--trust is for .skops files; '{path}' holds no types to trust. Leave it out.")
    scoring = _open_model(data, str(path), tuple(trusted))
    return ModelFile(str(path), hashlib.sha256(data).hexdigest(), sorted(set(trusted)), scoring, data)


@lru_cache(maxsize=2)  # an executor scores many batches
def _open_model(data: bytes, file: str, trusted: tuple[str, ...]) -> ScoringModel:
    return OnnxModel(data, file) if file.lower().endswith(".onnx") else SkopsModel(data, file, trusted)


def _read(path: Path) -> bytes:
    """Read the file once: the bytes that are hashed are the bytes that are loaded."""
    if path.is_dir():
        raise ScoreError(f"'{path}' is a folder. Name the model file in it.")
    try:
        return path.read_bytes()
    except FileNotFoundError:
        hint = suggest(path.name, os.listdir(path.parent) if path.parent.is_dir() else [])
        raise ScoreError(f"There is no model file '{path}'.{hint or ' Check the path.'}") from None
    except OSError as error:
        raise ScoreError(f"'{path}' cannot be read: {error.strerror or error}.") from error
