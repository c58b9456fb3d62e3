"""Scores on Spark's executors: model files that travel as bytes, and several columns of scores."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.cli._models import Model, Scoring
from likewise.cli._onnx import OnnxModel
from likewise.cli._skops import SkopsModel

if TYPE_CHECKING:
    import pyarrow as pa

    from likewise.schema import CodedTable


@dataclass(frozen=True, slots=True)
class TravellingModel:
    """A model as the bytes of its file, loaded where it scores: no code comes with it, there as here."""

    data: bytes
    file: str
    trusted: tuple[str, ...]
    features: tuple[str, ...]
    apart: tuple[str, ...]
    classes: tuple[Any, ...] | None  # a batch may be too small to tell which column is which label's

    def score_batch(self, frame: pa.Table, table: CodedTable, positive: Any) -> Any:
        """Score some people."""
        from likewise.auditing._internal import ask_scores

        usual = [name for name in frame.column_names if name not in self.apart]
        scoring = _load(self.data, self.file, self.trusted)
        found, _ = scoring.score(frame, list(self.features) or usual, bool(self.features))
        classes = None if self.classes is None else list(self.classes)
        return ask_scores(Model(found, classes), frame, table, positive)[0]


@dataclass(frozen=True, slots=True)
class ScoreColumns:
    """Several columns of scores, one for each label."""

    names: tuple[str, ...]

    def score_batch(self, frame: pa.Table, table: CodedTable, positive: Any) -> Any:
        """Put them side by side."""
        return np.column_stack([frame.column(name).to_numpy() for name in self.names])


@lru_cache(maxsize=2)
def _load(data: bytes, file: str, trusted: tuple[str, ...]) -> Scoring:
    return OnnxModel(data, file) if file.lower().endswith(".onnx") else SkopsModel(data, file, list(trusted))
