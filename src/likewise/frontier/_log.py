"""The log of a search: one JSON object per line, each sealed by a checksum over all lines so far.

The first line is the search itself: parameters, seeds, data and versions. Then comes one line per model, with its
parameters, its measures and its out-of-fold scores, the base first; and at the end the choice. A line is
written as soon as its model is measured, so that an interrupted search can go on from there. Estimators are described
by class and parameters; nothing that is read back is code.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import make_column_selector

from likewise._json import plain
from likewise._random import draw_seed
from likewise._version import __version__
from likewise.auditing._internal import list_versions
from likewise.comparable import Comparability
from likewise.exceptions import SearchLogError
from likewise.frontier._candidates import Rows, WeightRange
from likewise.schema import Roles, Schema
from likewise.schema._internal import open_frame

FORMAT: Final = "likewise search 2"
NOT_COMPARED: Final = ("made_at",)  # when it was made is no result
SECTIONS: Final = ("versions", "seeds", "data", "settings")  # of a header: their parts have names
SCORES: Final = "<f8"
PLAIN: Final = (str, bool, int)
REPORTING: Final = ("progress", "verbose")  # parameters that change no number
# What a search is told that its numbers depend on, besides the estimator, the grid and the base
SETTINGS: Final = (
    *("roles", "rule", "utility", "unfairness", "max_loss", "cautious", "positive"),
    *("folds", "n_resamples", "confidence"),
)
MORE_PACKAGES: Final = ("optuna", "pandas", "polars", "torch", "xgboost", "lightgbm", "catboost", "imbalanced-learn")
LONGEST_REASON: Final = 200  # letters
LONGEST_TEXT: Final = 2_000
KEEPS_PARAMETERS: Final = (WeightRange, make_column_selector)  # as attributes
WHERE_IN_MEMORY: Final = re.compile(r" at 0x[0-9a-f]+")


@dataclass(frozen=True, slots=True, eq=False)
class LoggedModel:
    """One model on record: its parameters as JSON, what was measured, and what spares its fit.

    That is its out-of-fold scores, or why it failed, and how long the fit took.
    """

    number: int
    params: Any
    result: Mapping[str, Any]
    scores: NDArray[np.float64] | None
    seconds: float
    error: str | None

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> LoggedModel:
        """Take a model from its line."""
        scores = None
        if record["scores"] is not None:
            scores = np.frombuffer(base64.b64decode(record["scores"], validate=True), SCORES).reshape(record["shape"])
        number, seconds = int(record["number"]), float(record["seconds"])
        return cls(number, record["params"], dict(record["result"]), scores, seconds, record["error"])


@dataclass(frozen=True, slots=True, eq=False)
class LoggedSearch:
    """A whole log, as read: what was searched, every model, and the choice if the search came to its end."""

    header: Mapping[str, Any]
    models: Sequence[LoggedModel]
    choice: Mapping[str, Any] | None
    checksum: str  # of the last whole line
    n_bytes: int  # of whole lines

    @classmethod
    def read(cls, path: str | Path) -> LoggedSearch:
        """Read a log and check its seals; an unfinished last line is left out."""
        file = Path(path)
        try:
            data = file.read_bytes()
        except OSError as error:
            raise SearchLogError(f"'{file}' cannot be read: {error.strerror or error}.") from error
        *lines, _unfinished = data.split(b"\n")
        if not lines:
            raise _no_log(file)
        found: list[dict[str, Any]] = []
        checksum = ""
        for number, line in enumerate(lines, 1):
            record, seal, checksum = _parse(line, checksum, number, file)
            if number == 1 and record.get("format") != FORMAT:
                raise _no_log(file)
            if seal != checksum:
                raise SearchLogError(
                    f"'{file}' was altered: line {number:,}, or one before it, is not as it was written (its checksum "
                    "differs)."
                )
            found.append(record)
        try:
            return cls._gather(found, checksum, sum(len(line) + 1 for line in lines))
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            words = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
            reason = " ".join(words.split())[:LONGEST_REASON].rstrip(".")
            raise SearchLogError(f"'{file}' is not the log of a search: {reason}.") from error

    @classmethod
    def _gather(cls, found: list[dict[str, Any]], checksum: str, n_bytes: int) -> LoggedSearch:
        header, *rest = found
        if not all(isinstance(header[name], dict) for name in ("data", "settings", "versions")):
            raise ValueError("its data, settings or versions have another form")
        int(header["seed"])
        str(header["data"]["checksum"])
        choice = rest.pop() if rest and rest[-1]["kind"] == "choice" else None
        models = [LoggedModel.read(record) for record in rest]
        if [one.number for one in models] != list(range(len(models))):
            raise ValueError("models are missing")
        return cls(header, models, choice, checksum, n_bytes)


def _parse(line: bytes, before: str, number: int, file: Path) -> tuple[dict[str, Any], Any, str]:
    """Return what a line says, the checksum that it has, and the one it should have."""
    try:
        record = json.loads(line)
        return record, record.pop("checksum"), _seal(before, record)
    except (ValueError, RecursionError, AttributeError, TypeError, KeyError):
        if number == 1:
            raise _no_log(file) from None
        raise SearchLogError(f"'{file}' was altered: line {number:,} cannot be read.") from None


def _no_log(file: Path) -> SearchLogError:
    return SearchLogError(f"'{file}' is not the log of a search. Give a file that FrontierSearch(log=...) wrote.")


@dataclass(slots=True, eq=False)
class SearchLog:
    """A log that is being written; what a file of the same search holds already is known, and kept."""

    path: Path
    known: Sequence[LoggedModel] = ()
    _checksum: str = ""
    _n_written: int = field(default=0)
    _choice: Mapping[str, Any] | None = None

    @classmethod
    def open(cls, path: str | Path, header: Mapping[str, Any]) -> SearchLog:
        """Begin a log, or go on with that of the same search; refuse another's."""
        file = Path(path)
        if not file.exists() or not file.stat().st_size:
            log = cls(file)
            log._write({"kind": "search", "format": FORMAT, **header})
            return log
        old = LoggedSearch.read(file)
        written: dict[str, Any] = json.loads(_dump({"kind": "search", "format": FORMAT, **header}))
        other = [name for name in {**old.header, **written} if old.header.get(name) != written.get(name)]
        other = [name for name in other if name not in NOT_COMPARED]
        if other:
            raise SearchLogError(
                f"'{file}' is the log of another search: its {_name_part(other[0], old.header, written)} differs. "
                "Name a new file, or remove this one."
            )
        if file.stat().st_size > old.n_bytes:  # a line that was being written
            os.truncate(file, old.n_bytes)
        return cls(file, old.models, old.checksum, 0, old.choice)

    def find(self, number: int, params: Any) -> LoggedModel | None:
        """Return a model that an earlier run measured; None if it is not on record."""
        if number >= len(self.known):
            return None
        found = self.known[number]
        if found.params != json.loads(_dump(params)):
            raise SearchLogError(
                f"'{self.path}' has other parameters for model {number:,} than this search. Name a new file."
            )
        return found

    def add(
        self, params: Any, result: Mapping[str, Any], scores: NDArray[np.float64] | None, seconds: float, error: Any
    ) -> None:
        """Write a model, unless it is on record; the bytes of its scores in base64."""
        number = self._n_written
        self._n_written += 1
        if number < len(self.known):
            return
        coded = None if scores is None else base64.b64encode(scores.astype(SCORES).tobytes()).decode()
        shape = None if scores is None else list(scores.shape)
        line = {"kind": "model", "number": number, "params": params, "result": result}
        self._write({**line, "seconds": seconds, "error": error, "shape": shape, "scores": coded})

    def finish(self, choice: Mapping[str, Any]) -> None:
        """Write the choice, unless it is on record."""
        if self._choice is None:
            self._write({"kind": "choice", **choice})

    def _write(self, record: Mapping[str, Any]) -> None:
        text = _dump(record)
        self._checksum = _seal(self._checksum, json.loads(text))
        line = f'{text[:-1]}, "checksum": "{self._checksum}"}}\n'
        try:
            with self.path.open("ab") as file:
                file.write(line.encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise SearchLogError(f"'{self.path}' cannot be written: {error.strerror or error}.") from error


def _name_part(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Return which part of a header differs, as far down as one has a name."""
    one, other = old.get(name), new.get(name)
    if name in SECTIONS and isinstance(one, dict) and isinstance(other, dict):
        return next((f"{name}.{part}" for part in one | other if one.get(part) != other.get(part)), name)
    return name


def _dump(record: Any) -> str:
    return json.dumps(plain(record), ensure_ascii=False, allow_nan=False)


def _seal(before: str, record: Mapping[str, Any]) -> str:
    return hashlib.sha256(f"{before}\n{_dump(record)}".encode()).hexdigest()


def hash_people(frame: Any, y: NDArray[Any], weights: NDArray[np.float64] | None) -> str:
    """SHA-256 of a table with labels and weights; the same for every data frame library and width of numbers."""
    opened = open_frame(frame)
    digest = hashlib.sha256(json.dumps(opened.names).encode())
    for name in opened.names:
        _add_column(digest, opened.column(name).array)
    import pyarrow as pa

    _add_column(digest, pa.array(y.tolist()))
    if weights is not None:
        _add_column(digest, pa.array(weights.tolist()))
    return digest.hexdigest()


def _add_column(digest: Any, array: Any) -> None:
    import pyarrow as pa

    kind = array.type
    if pa.types.is_dictionary(kind):
        array, kind = array.cast(kind.value_type), kind.value_type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        if pa.types.is_boolean(kind):
            array = array.cast(pa.int8())
        numbers = array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        digest.update(np.where(np.isnan(numbers), np.nan, numbers).astype("<f8").tobytes())  # one kind of NaN
        return
    texts = ["" if one is None else f"={one}" for one in array.to_pylist()]
    digest.update(json.dumps(texts).encode())


def describe(value: Any) -> Any:
    """Return a parameter as JSON: estimators by class and parameters, other objects as text."""
    if value is None or type(value) in PLAIN:
        return value
    if isinstance(value, np.generic):
        return describe(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, tuple):
        return {"tuple": [describe(one) for one in value]}
    if isinstance(value, list | np.ndarray):
        return [describe(one) for one in value]
    if isinstance(value, Mapping):
        return {"dict": [[describe(key), describe(one)] for key, one in value.items()]}
    if isinstance(value, Roles | Comparability):
        return {type(value).__name__: value.to_dict()}
    if isinstance(value, Schema):
        return {"Schema": json.loads(value.to_json())}
    if isinstance(value, type) or not (hasattr(value, "get_params") or isinstance(value, KEEPS_PARAMETERS)):
        return {"text": WHERE_IN_MEMORY.sub("", " ".join(str(value).split()))[:LONGEST_TEXT]}
    params = value.get_params(deep=False) if hasattr(value, "get_params") else vars(value)
    told = {name: describe(one) for name, one in sorted(params.items()) if name not in REPORTING}
    return {"class": f"{type(value).__module__}.{type(value).__qualname__}", "params": told}


def rebuild(data: Any) -> Any:
    """Undo :func:`describe` for anything but objects."""
    if isinstance(data, list):
        return [rebuild(one) for one in data]
    if not isinstance(data, dict):
        return data
    kind: str
    inner: Any
    kind, inner = next(iter(data.items()), ("", None))
    builders: dict[str, Callable[[], Any]] = {
        "float": lambda: float(inner),
        "tuple": lambda: tuple(rebuild(inner)),
        "dict": lambda: {rebuild(key): rebuild(one) for key, one in inner},
        "Roles": lambda: Roles.from_dict(inner),
        "Comparability": lambda: Comparability.from_dict(inner),
        "Schema": lambda: Schema.from_json(json.dumps(inner)),
    }
    if kind not in builders:
        raise ValueError(f"it holds {str(inner)[:LONGEST_REASON]!r}, an object, which is not built from a log")
    return builders[kind]()


def describe_search(
    search: Any, grid: Any, base: Any, rows: Rows, fold_of: NDArray[np.int64], seed: int
) -> dict[str, Any]:
    """Return the first line of a log."""
    return {
        "likewise": __version__,
        "versions": list_versions(MORE_PACKAGES),
        "made_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "seed": seed,
        "seeds": {"models": draw_seed(seed, "models"), "audits": draw_seed(seed, "audits")},
        "data": {
            "checksum": hash_people(rows.frame, rows.y, rows.weights),
            "n_rows": len(rows),
            "columns": list(open_frame(rows.frame).names),
            "weighted": rows.weights is not None,
        },
        "estimator": describe(search.estimator),
        "base": describe(base),
        "search": search.search,
        "n_trials": search.n_trials,
        "grid": describe(grid),
        "settings": {name: describe(getattr(search, name)) for name in SETTINGS},
        "fold_of": fold_of.tolist(),
    }
