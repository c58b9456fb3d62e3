"""ONNX models: columns in by name, probabilities out, whichever way the model was exported."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from likewise._checks import suggest
from likewise._extras import require
from likewise.cli._columns import column_of_numbers, column_of_text
from likewise.cli._skops import needless_features, wrong_number
from likewise.exceptions import ScoreError

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

NUMBERS: Final = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
}
TEXT: Final = "tensor(string)"
FLOATS: Final = ("tensor(float)", "tensor(double)", "tensor(float16)")
BATCH: Final = 1 << 16  # rows at a time: a model's inner arrays can be wide
ROUNDING: Final = 1e-5  # how far beyond 0 and 1 a float32 probability may come out


class OnnxModel:
    """A model that onnxruntime runs."""

    def __init__(self, data: bytes, file: str) -> None:
        runtime = require("onnxruntime", "onnx", f"The model file '{file}'")
        self._version = str(runtime.__version__)
        self._who = f"The model in '{file}'"
        options = runtime.SessionOptions()
        options.log_severity_level = 4  # what goes wrong is raised, and said in our words
        try:
            self._session = runtime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime's errors share no other root
            raise ScoreError(
                f"'{file}' cannot be loaded as an ONNX model: {_reason(error)}. Export it again, as one file."
            ) from error
        self._inputs = self._session.get_inputs()
        self._answer, self._labels = _choose_outputs(self._session.get_outputs(), self._who)

    def score(self, frame: pa.Table, features: list[str], are_named: bool) -> tuple[Any, list[Any] | None]:
        """Feed the columns in batches, and put the answers together."""
        feeds = self._feed(frame, features, are_named)
        wanted = [output.name for output in (self._answer, self._labels) if output is not None]
        batch = self._inputs[0].shape[0] if self._inputs[0].shape else None
        step = batch if isinstance(batch, int) and batch > 0 else BATCH
        answers: list[Any] = []
        labels: list[Any] = []
        try:
            for start in range(0, frame.num_rows, step):
                rows = {name: values[start : start + step] for name, values in feeds.items()}
                answer, *label = self._session.run(wanted, rows)
                answers.append(answer)
                labels += label
        except Exception as error:
            raise ScoreError(
                f"{self._who} cannot score this table: {_reason(error)}. Check that the columns hold what it was "
                "made for."
            ) from error
        if isinstance(answers[0], list):  # a dictionary a person: label -> probability
            people = [person for part in answers for person in part]
            classes = list(people[0])
            return _rounded(np.array([[person[label] for label in classes] for person in people])), classes
        found = np.concatenate(answers).astype(np.float64)
        if found.ndim != 2 or found.shape[1] < 2:
            return found, None
        return _rounded(found), _name_columns(found, np.concatenate(labels).ravel()) if labels else None

    def versions(self) -> dict[str, str]:
        """Name the package that runs the model."""
        return {"onnxruntime": self._version}

    def _feed(self, frame: pa.Table, features: list[str], are_named: bool) -> dict[str, NDArray[Any]]:
        columns = self._match(frame.column_names)
        if len(self._inputs) == 1 and (are_named or columns[self._inputs[0].name] is None):
            return {self._inputs[0].name: self._matrix(frame, features)}
        if are_named:
            raise ScoreError(needless_features(self._who))
        absent = [name for name, column in columns.items() if column is None]
        if absent:
            listed = ", ".join(f"'{name}'" for name in absent[:6])
            more = f" and {len(absent) - 6:,} more" if len(absent) > 6 else ""
            raise ScoreError(
                f"{self._who} takes columns that the table lacks: {listed}{more}."
                f"{suggest(absent[0], frame.column_names)} Give it the table it was made for."
            )
        return {
            one.name: self._column(frame, str(columns[one.name]), one.type).reshape(-1, *[1] * (len(one.shape) - 1))
            for one in self._inputs
        }

    def _match(self, names: list[str]) -> dict[str, str | None]:
        """Find the column of each input; exporters write an underscore for what is no letter."""
        plain = {name: re.sub(r"\W", "_", name) for name in names}
        found: dict[str, str | None] = {}
        for one in self._inputs:
            alike = [name for name in names if plain[name] == one.name]
            found[one.name] = one.name if one.name in names else alike[0] if len(alike) == 1 else None
        return found

    def _matrix(self, frame: pa.Table, features: list[str]) -> NDArray[Any]:
        one = self._inputs[0]
        width = one.shape[-1] if len(one.shape) > 1 else 1
        if isinstance(width, int) and width != len(features):
            raise ScoreError(wrong_number(self._who, width, features))
        values = np.column_stack([self._column(frame, name, one.type) for name in features])
        return values if len(one.shape) > 1 else values[:, 0]

    def _column(self, frame: pa.Table, name: str, kind: str) -> NDArray[Any]:
        if kind == TEXT:
            return column_of_text(frame, name, self._who)
        if kind not in NUMBERS:
            raise ScoreError(f"{self._who} takes {kind} as input, which a column of a table is not.")
        return column_of_numbers(frame, name, np.dtype(NUMBERS[kind]), self._who)


def _choose_outputs(outputs: list[Any], who: str) -> tuple[Any, Any | None]:
    """Tell the output with the probabilities, and the one with the likeliest label, if there is one."""
    maps = [one for one in outputs if one.type.startswith("seq(map(")]
    floats = [one for one in outputs if one.type in FLOATS]
    named = [one for one in floats if "prob" in one.name.lower()]
    answers = maps or named or floats
    if len(answers) != 1:
        listed = ", ".join(f"'{one.name}' ({one.type})" for one in outputs)
        raise ScoreError(
            f"{who} gives {listed}: it cannot be told which of them are the probabilities. Export it with one such "
            "output, named 'probabilities'."
        )
    labels = [one for one in outputs if one.type in (TEXT, "tensor(int64)", "tensor(int32)", "tensor(bool)")]
    return answers[0], labels[0] if len(labels) == 1 else None


def _name_columns(found: NDArray[Any], labels: NDArray[Any]) -> list[Any] | None:
    """Learn from the label that the model gives each person which column of probabilities is which label's."""
    ordered = np.sort(found, axis=1)
    is_clear = ordered[:, -1] > ordered[:, -2]
    names: dict[int, Any] = {}
    for column, label in zip(found.argmax(axis=1)[is_clear].tolist(), labels[is_clear].tolist(), strict=True):
        if names.setdefault(column, label) != label:
            return None
    return [names[column] for column in range(found.shape[1])] if len(names) == found.shape[1] else None


def _rounded(probabilities: NDArray[Any]) -> NDArray[Any]:
    inside = np.clip(probabilities, 0.0, 1.0)
    is_rounding = np.abs(inside - probabilities) <= ROUNDING
    return np.where(is_rounding, inside, probabilities)


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())
    return re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ", "", text)[:300].rstrip(".")
