"""Models out of .onnx and .skops files: how an audit gets its scores."""

from __future__ import annotations

import hashlib
import io
import os
import re
import shlex
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from likewise._checks import suggest
from likewise._extras import require
from likewise._files import refuse_pipe
from likewise._models import load_model as load_skops
from likewise.cli._typing import GIVEN, as_numbers
from likewise.exceptions import LikewiseWarning, ScoreError

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


PICKLE_ENDINGS: Final = (".pkl", ".pickle", ".p", ".joblib", ".sav", ".cloudpickle", ".dill", ".pt", ".pth")
PICKLE_PROTOCOLS: Final = tuple(bytes((0x80, protocol)) for protocol in range(2, 6))
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
N_LISTED: Final = 6

Scored = tuple[Any, list[Any] | None]  # one row of numbers per person, and the labels of the columns where known


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
    scoring: OnnxModel | SkopsModel
    data: bytes

    def score(
        self, frame: pa.Table, *, apart: Sequence[str], features: list[str], text: Mapping[str, str] | None = None
    ) -> ScoredRows:
        """Score every row; a model that names no columns gets the ``features``, or all columns but those ``apart``.

        Columns of ``text`` that were found to be codes stay so where the model takes text, and are numbers elsewhere.
        """
        given = features or [name for name in frame.column_names if name not in apart]
        takes_text = self.scoring.take(frame.column_names, given, bool(features))
        codes = {name: why for name, why in (text or {}).items() if why != GIVEN and not takes_text.get(name)}
        for name in (name for name in codes if name in takes_text):
            warnings.warn(
                f"The model gets column '{name}', which is compared as text, as numbers: most programs that train "
                f"models read it so. To give it the text, add --text {shlex.quote(name)}.",
                LikewiseWarning,
                stacklevel=2,
            )
        return ScoredRows(*self.scoring.score(as_numbers(frame, codes), given, bool(features)))

    def describe(self) -> dict[str, Any]:
        """File, checksum and trusted types, for the record."""
        return {"file": self.file, "sha256": self.sha256, "trusted": self.trusted}


@dataclass(frozen=True, slots=True)
class ScoreColumns:
    """Several columns of scores, one per label."""

    names: tuple[str, ...]

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
def _open_model(data: bytes, file: str, trusted: tuple[str, ...]) -> OnnxModel | SkopsModel:
    return OnnxModel(data, file) if file.lower().endswith(".onnx") else SkopsModel(data, file, trusted)


def _read(path: Path) -> bytes:
    """Read the file once: the bytes that are hashed are the bytes that are loaded."""
    if path.is_dir():
        raise ScoreError(f"'{path}' is a folder. Name the model file in it.")
    refuse_pipe(path)
    try:
        return path.read_bytes()
    except FileNotFoundError:
        hint = suggest(path.name, os.listdir(path.parent) if path.parent.is_dir() else [])
        raise ScoreError(f"There is no model file '{path}'.{hint or ' Check the path.'}") from None
    except OSError as error:
        raise ScoreError(f"'{path}' cannot be read: {error.strerror or error}.") from error


class OnnxModel:
    """A model that onnxruntime runs, whichever way it was exported."""

    def __init__(self, data: bytes, file: str) -> None:
        runtime = require("onnxruntime", "onnx", f"The model file '{file}'")
        self._version, self._run_options = str(runtime.__version__), runtime.RunOptions
        self._who = f"The model in '{file}'"
        options = runtime.SessionOptions()
        options.log_severity_level = 4  # failures are raised, and reported in our words
        try:
            with redirect_stdout(io.StringIO()):  # it prints before it raises
                self._session = runtime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime's errors share no other root
            raise ScoreError(
                f"'{file}' cannot be loaded as an ONNX model: {_onnx_reason(error)}. Export it again, as one file."
            ) from error
        self._inputs = self._session.get_inputs()
        self._answer, self._labels = _choose_outputs(self._session.get_outputs(), self._who)

    def score(self, frame: pa.Table, features: list[str], are_named: bool) -> Scored:
        """Score the rows in batches."""
        feeds = self._feed(frame, features, are_named)
        wanted = [output.name for output in (self._answer, self._labels) if output is not None]
        batch = self._inputs[0].shape[0] if self._inputs[0].shape else None
        step = batch if isinstance(batch, int) and batch > 0 else BATCH
        answers: list[Any] = []
        labels: list[Any] = []
        try:
            for start in range(0, frame.num_rows, step):
                rows = {name: values[start : start + step] for name, values in feeds.items()}
                answer, *label = self._run(wanted, rows)
                answers.append(answer)
                labels += label
        except Exception as error:
            raise ScoreError(
                f"{self._who} cannot score this table: {_onnx_reason(error)}. Check that the columns hold what it was "
                "made for."
            ) from error
        if isinstance(answers[0], list):  # one dictionary per person: label -> probability
            people = [person for part in answers for person in part]
            classes = list(people[0])
            return _rounded(np.array([[person[label] for label in classes] for person in people])), classes
        found = np.concatenate(answers).astype(np.float64)
        if found.ndim != 2 or found.shape[1] < 2:
            return found, None
        return _rounded(found), _name_columns(found, np.concatenate(labels).ravel()) if labels else None

    def _run(self, wanted: list[str], rows: dict[str, NDArray[Any]]) -> list[Any]:
        """Run the model in a thread, so that Ctrl-C can stop it."""
        options = self._run_options()
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(self._session.run, wanted, rows, options)
            try:
                answers: list[Any] = running.result()
                return answers
            except KeyboardInterrupt:
                options.terminate = True
                raise

    def take(self, names: list[str], features: list[str], are_named: bool) -> dict[str, bool]:
        """Return the columns that the model takes, and whether as text."""
        columns, (one, *more) = self._match(names), self._inputs
        if not more and (are_named or columns[one.name] is None):
            return dict.fromkeys(features, one.type == TEXT)
        return {str(columns[one.name]): one.type == TEXT for one in self._inputs if columns[one.name] is not None}

    def versions(self) -> dict[str, str]:
        """The package that runs the model."""
        return {"onnxruntime": self._version}

    def _feed(self, frame: pa.Table, features: list[str], are_named: bool) -> dict[str, NDArray[Any]]:
        columns = self._match(frame.column_names)
        if len(self._inputs) == 1 and (are_named or columns[self._inputs[0].name] is None):
            return {self._inputs[0].name: self._matrix(frame, features)}
        if are_named:
            raise _needless_features(self._who)
        _refuse_absent([name for name, column in columns.items() if column is None], frame.column_names, self._who)
        return {
            one.name: self._column(frame, str(columns[one.name]), one.type).reshape(-1, *[1] * (len(one.shape) - 1))
            for one in self._inputs
        }

    def _match(self, names: list[str]) -> dict[str, str | None]:
        """Find the column of each input; exporters replace other characters than letters by an underscore."""
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
            raise _wrong_number(self._who, width, features)
        values = np.column_stack([self._column(frame, name, one.type) for name in features])
        return values if len(one.shape) > 1 else values[:, 0]

    def _column(self, frame: pa.Table, name: str, kind: str) -> NDArray[Any]:
        if kind == TEXT:
            return column_of_text(frame, name, self._who)
        if kind not in NUMBERS:
            raise ScoreError(f"{self._who} takes {kind} as input, which a column of a table cannot be.")
        return column_of_numbers(frame, name, np.dtype(NUMBERS[kind]), self._who)


class SkopsModel:
    """A scikit-learn model; its file may hold only types that skops knows or that the caller trusts."""

    def __init__(self, data: bytes, file: str, trusted: Sequence[str]) -> None:
        self._who = f"The model in '{file}'"
        self._model = load_skops(data, file, trusted, option="--trust")
        kind = type(self._model).__name__
        if not hasattr(self._model, "predict"):
            raise ScoreError(f"'{file}' holds a {kind}, which is not a model that can score people.")
        if not hasattr(self._model, "predict_proba") and hasattr(self._model, "classes_"):
            raise ScoreError(
                f"{self._who}, a {kind}, has no predict_proba. Use a model that predicts probabilities; "
                "sklearn.calibration.CalibratedClassifierCV adds them."
            )
        is_told = False
        with suppress(Exception):  # whatever a forged pipeline asks its steps
            n, names = getattr(self._model, "n_features_in_", 0), getattr(self._model, "feature_names_in_", ())
            is_told = isinstance(n, int | np.integer) and np.ndim(names) == 1
        if not is_told:
            raise ScoreError(f"'{file}' holds a {kind} that does not tell how many columns it takes. Save it again.")

    @property
    def estimator(self) -> Any:
        """The fitted model itself."""
        return self._model

    def score(self, frame: pa.Table, features: list[str], are_named: bool) -> Scored:
        """Score the rows by the columns that the model was fitted on."""
        names_columns = hasattr(self._model, "feature_names_in_")
        if names_columns and are_named:
            raise _needless_features(self._who)
        people = self._named(frame) if names_columns else self._matrix(frame, features)
        try:
            with warnings.catch_warnings(record=True) as raised:
                warnings.simplefilter("always")
                predict = getattr(self._model, "predict_proba", self._model.predict)
                found = np.asarray(predict(people))
        except Exception as error:  # whatever a model of any kind does with a table that it was not made for
            reason = re.split(r"(?<=[.!?])\s", str(error).strip() or "no reason given", maxsplit=1)[0]
            raise ScoreError(
                f"{self._who} cannot score this table: {type(error).__name__}: {reason[:300].rstrip('.')}. "
                "Check that the columns hold what it was fitted on."
            ) from error
        for text in dict.fromkeys(str(one.message) for one in raised):
            warnings.warn(f"{self._who} warns: {' '.join(text.split())[:300]}", LikewiseWarning, stacklevel=2)
        classes = getattr(self._model, "classes_", None)
        return found, None if classes is None else np.asarray(classes).tolist()

    def take(self, names: list[str], features: list[str], are_named: bool) -> dict[str, bool]:
        """Return the columns that the model takes, and whether as text, which its file does not tell."""
        return dict.fromkeys((str(name) for name in getattr(self._model, "feature_names_in_", features)), False)

    def versions(self) -> dict[str, str]:
        """The package that loaded the model."""
        return {"skops": metadata.version("skops")}

    def _named(self, frame: pa.Table) -> Any:
        wanted = [str(name) for name in self._model.feature_names_in_]
        require("pandas", "pandas", f"{self._who}, which was fitted on named columns,")
        _refuse_absent([name for name in wanted if name not in frame.column_names], frame.column_names, self._who)
        return frame.select(wanted).to_pandas(strings_to_categorical=False)

    def _matrix(self, frame: pa.Table, features: list[str]) -> Any:
        n_wanted = getattr(self._model, "n_features_in_", len(features))
        if n_wanted != len(features):
            raise _wrong_number(self._who, n_wanted, features)
        return np.column_stack([column_of_numbers(frame, name, np.dtype(np.float64), self._who) for name in features])


def column_of_numbers(frame: pa.Table, name: str, dtype: np.dtype[Any], who: str) -> NDArray[Any]:
    """Return a column as numbers; a missing one is NaN, where the type has that."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = _decoded(frame, name)
    kind, types = column.type, pa.types
    if not any(fits(kind) for fits in (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)):
        raise _unfit(name, kind, who, "numbers")
    if dtype.kind == "f":
        wide = column.cast(pa.float64(), safe=False)
        found: NDArray[Any] = wide.to_numpy().astype(dtype)  # missing values become NaN
        return found
    if column.null_count:
        raise _missing(name, column.null_count, who)
    if types.is_boolean(kind):
        return np.asarray(column.to_numpy()).astype(dtype)
    if not types.is_integer(kind):
        column = column.cast(pa.float64())
        if not pc.all(pc.equal(column, pc.floor(column))).as_py():
            raise _unfit(name, kind, who, "whole numbers")
    values = np.asarray(column.to_numpy())
    if dtype.kind in "iu" and len(values):
        limits = np.iinfo(dtype)
        if values.min() < limits.min or values.max() > limits.max:
            raise _unfit(name, kind, who, f"whole numbers from {limits.min:,} to {limits.max:,}")
    return values.astype(dtype)


def column_of_text(frame: pa.Table, name: str, who: str) -> NDArray[Any]:
    """Return a column as text."""
    column = _decoded(frame, name)
    if str(column.type) not in ("string", "large_string", "string_view"):
        raise _unfit(name, column.type, who, "text")
    if column.null_count:
        raise _missing(name, column.null_count, who)
    return np.array(column.to_pylist(), dtype=object)


def _decoded(frame: pa.Table, name: str) -> Any:
    import pyarrow as pa

    column = frame.column(name)
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _unfit(name: str, kind: Any, who: str, wanted: str) -> ScoreError:
    return ScoreError(
        f"Column '{name}' holds {kind} values, but {who[0].lower()}{who[1:]} takes {wanted} there. "
        "Convert the column, or check which columns the model was made for."
    )


def _missing(name: str, n: int, who: str) -> ScoreError:
    return ScoreError(
        f"Column '{name}' lacks {n:,} values, and {who[0].lower()}{who[1:]} accepts no missing values there. "
        "Fill them in, or leave those rows out."
    )


def _refuse_absent(absent: list[str], known: list[str], who: str) -> None:
    if absent:
        listed = ", ".join(f"'{name}'" for name in absent[:N_LISTED])
        more = f" and {len(absent) - N_LISTED:,} more" if len(absent) > N_LISTED else ""
        raise ScoreError(
            f"{who} takes columns that the table lacks: {listed}{more}.{suggest(absent[0], known)} "
            "Give it the table it was made for."
        )


def _wrong_number(who: str, n_wanted: int, features: list[str]) -> ScoreError:
    listed = ", ".join(f"'{name}'" for name in features[:12]) + (", ..." if len(features) > 12 else "")
    return ScoreError(
        f"{who} takes {n_wanted:,} columns, without naming them; there are {len(features):,}: {listed}. "
        "Name the right ones in their order with --set features."
    )


def _needless_features(who: str) -> ScoreError:
    return ScoreError(f"{who} names the columns it takes. Leave out --set features.")


def _choose_outputs(outputs: list[Any], who: str) -> tuple[Any, Any | None]:
    """Return the output with the probabilities, and the one with the predicted label, if there is one."""
    maps = [one for one in outputs if one.type.startswith("seq(map(")]
    floats = [one for one in outputs if one.type in FLOATS]
    named = [one for one in floats if "prob" in one.name.lower()]
    answers = maps or named or floats
    if len(answers) != 1:
        listed = ", ".join(f"'{one.name}' ({one.type})" for one in outputs)
        raise ScoreError(
            f"{who} has the outputs {listed}: it is unclear which are the probabilities. Export it with one such "
            "output, named 'probabilities'."
        )
    labels = [one for one in outputs if one.type in (TEXT, "tensor(int64)", "tensor(int32)", "tensor(bool)")]
    return answers[0], labels[0] if len(labels) == 1 else None


def _name_columns(found: NDArray[Any], labels: NDArray[Any]) -> list[Any] | None:
    """Match columns of probabilities with labels by the label that the model predicts for each person."""
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


def _onnx_reason(error: Exception) -> str:
    text = " ".join(str(error).split())
    return re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ", "", text)[:300].rstrip(".")
