"""The log of a search: one JSON object per line, each sealed by a checksum over all lines so far.

The first line is the search itself: parameters, seeds, data and versions. Then comes one line per model, with its
parameters, its measures and its scores of the held-out rows, the base first; and at the end the choice. A line is
written as soon as its model is measured, so that an interrupted search can go on from there. Unfitted estimators and
their parameters are described as JSON, and nothing that is read back runs code of its own.
"""

from __future__ import annotations

import base64
import hashlib
import importlib
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_selector
from sklearn.frozen import FrozenEstimator

from likewise._json import plain
from likewise._random import draw_seed
from likewise._version import __version__
from likewise.auditing._internal import list_versions
from likewise.comparable import Comparability
from likewise.exceptions import LikewiseError, SearchLogError
from likewise.frontier._candidates import Rows, WeightRange
from likewise.schema import Roles, Schema
from likewise.schema._internal import Frame, open_frame

FORMAT: Final = "likewise search 1"
NOT_COMPARED: Final = ("made_at",)  # when it was made is no result
SECTIONS: Final = ("versions", "seeds", "data", "settings")  # of a header: their parts have names
SCORES: Final = "<f8"
# Whose estimators are built by name: their constructors store parameters, and no parameter that is written here is code
KNOWN_PACKAGES: Final = ("sklearn", "likewise", "xgboost", "lightgbm", "imblearn")
PLAIN: Final = (str, bool, int)
REFUSED: Final = ("memory",)  # a folder of pickles
# What a search is told that its numbers depend on, besides the estimator, the grid and the base
SETTINGS: Final = (
    *("roles", "rule", "utility", "unfairness", "max_loss", "cautious", "positive", "validation_fraction"),
    *("min_pairs", "n_resamples", "confidence"),
)
MORE_PACKAGES: Final = ("optuna", "pandas", "polars", "torch", "xgboost", "lightgbm", "catboost", "imbalanced-learn")
LONGEST_REASON: Final = 200  # letters
DEEPEST: Final = 40  # levels of estimators within estimators


class AlteredLog(SearchLogError):
    """A log is not as it was written."""


@dataclass(frozen=True, slots=True, eq=False)
class KnownModel:
    """What spares the fit of a model: its scores of the held-out rows, or why it failed, and how long the fit took."""

    scores: NDArray[np.float64] | None
    seconds: float = 0.0
    error: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return plain data; the bytes of the scores in base64."""
        coded = None if self.scores is None else base64.b64encode(self.scores.astype(SCORES).tobytes()).decode()
        shape = None if self.scores is None else list(self.scores.shape)
        return {"seconds": self.seconds, "error": self.error, "shape": shape, "scores": coded}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> KnownModel:
        """Undo :meth:`to_json`."""
        scores = None
        if data["scores"] is not None:
            scores = np.frombuffer(base64.b64decode(data["scores"], validate=True), SCORES).reshape(data["shape"])
        return cls(scores, float(data["seconds"]), data["error"])


@dataclass(frozen=True, slots=True, eq=False)
class LoggedModel:
    """One model on record: its parameters as JSON, what was measured, and what spares its fit."""

    number: int
    params: Any
    result: Mapping[str, Any]
    known: KnownModel


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
                raise AlteredLog(
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
        _check_header(header)
        choice = rest.pop() if rest and rest[-1]["kind"] == "choice" else None
        models = [_read_model(record) for record in rest]
        if [one.number for one in models] != list(range(len(models))):
            raise ValueError("models are missing")
        return cls(header, models, choice, checksum, n_bytes)


def _check_header(header: Mapping[str, Any]) -> None:
    """Refuse what a replay cannot follow: it reads these parts before it builds anything."""
    data, columns = header["data"], header["data"]["columns"]
    mappings = {"data": data, "columns": columns, "settings": header["settings"], "versions": header["versions"]}
    strange = [name for name, one in mappings.items() if not isinstance(one, dict)]
    if strange or not all(isinstance(kind, str) for kind in columns.values()):
        raise ValueError(f"{strange[0] if strange else 'a column'} has another form")
    texts = {"checksum": data["checksum"], "frame": data["frame"]}
    texts |= {name: "" if data[name] is None else data[name] for name in ("label", "weights")}
    strange = [name for name, one in texts.items() if not isinstance(one, str)]
    if strange or not isinstance(data["weighted"], bool):
        raise ValueError(f"data.{strange[0] if strange else 'weighted'} has another form")


def _read_model(record: Mapping[str, Any]) -> LoggedModel:
    known = KnownModel.from_json(record)
    return LoggedModel(int(record["number"]), record["params"], dict(record["result"]), known)


def _parse(line: bytes, before: str, number: int, file: Path) -> tuple[dict[str, Any], Any, str]:
    """Return what a line says, the checksum that it has, and the one it should have."""
    try:
        record = json.loads(line)
        return record, record.pop("checksum"), _seal(before, record)
    except (ValueError, RecursionError, AttributeError, TypeError, KeyError):
        if number == 1:
            raise _no_log(file) from None
        raise AlteredLog(f"'{file}' was altered: line {number:,} cannot be read.") from None


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

    def add(self, params: Any, result: Mapping[str, Any], known: KnownModel) -> None:
        """Write a model, unless it is on record."""
        number = self._n_written
        self._n_written += 1
        if number < len(self.known):
            return
        line = {"kind": "model", "number": number, "params": params, "result": result}
        self._write({**line, **known.to_json()})

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


def hash_header(header: Mapping[str, Any]) -> str:
    """SHA-256 of what was searched, whenever that was."""
    return _seal("", {name: one for name, one in header.items() if name not in NOT_COMPARED})


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


class NotDescribed(LikewiseError, TypeError):
    """A parameter cannot be written as JSON, or a description cannot be read."""


def describe(value: Any, where: str = "estimator") -> Any:
    """Return a value as JSON; refuse functions, fitted parts and objects of unknown types."""
    if value is None or type(value) in PLAIN:
        return value
    if isinstance(value, np.generic):
        return describe(value.item(), where)
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, np.ndarray):
        return {"array": describe(value.tolist(), where), "dtype": str(value.dtype)}
    if isinstance(value, list | tuple | set | frozenset):
        listed = [describe(one, where) for one in value]
        return listed if isinstance(value, list) else {"tuple": listed}
    if isinstance(value, Mapping):
        return {"dict": [[describe(key, where), describe(one, f"{where}[{key!r}]")] for key, one in value.items()]}
    if isinstance(value, Roles | Comparability):
        return {type(value).__name__: value.to_dict()}
    if isinstance(value, Schema):
        return {"Schema": json.loads(value.to_json())}
    if isinstance(value, type) and issubclass(value, np.generic | bool | int | float | str):
        return {"type": value.__name__}
    if isinstance(value, BaseEstimator | WeightRange | make_column_selector):
        return _describe_object(value, where)
    raise NotDescribed(f"{where} is a {type(value).__name__}, which cannot be written as JSON")


def _describe_object(value: Any, where: str) -> dict[str, Any]:
    if isinstance(value, FrozenEstimator) or hasattr(value, "schema_"):
        raise NotDescribed(f"{where} is fitted already, and a log holds no fitted models")
    if isinstance(value, BaseEstimator):
        params = value.get_params(deep=False)
    else:
        names = _names_of(type(value))
        params = {name: getattr(value, name) for name in names}
    for name in REFUSED:
        if params.get(name) is not None:
            raise NotDescribed(f"{where}.{name} is {params[name]!r}: a cache may hold anything")
    known = {name: describe(one, f"{where}.{name}") for name, one in sorted(params.items()) if not _only_reports(name)}
    return {"class": _public_name(type(value)), "params": known}


def _only_reports(name: str) -> bool:
    """Whether a parameter only reports: it changes no number."""
    return name in ("progress", "verbose")


def describe_loosely(value: Any, where: str) -> Any:
    """Return a value as JSON, or as text where it cannot be read back."""
    try:
        return describe(value, where)
    except NotDescribed:
        return {"text": " ".join(str(value).split())[:2000]}


def describe_search(
    search: Any,
    grid: Any,
    base: Any,
    people: Rows,
    held_out: NDArray[np.int64],
    seed: int,
    names: tuple[Any, Any],
) -> dict[str, Any]:
    """Return the first line of a log; ``names`` are labels and weights as given, which may have a column's name."""
    opened = open_frame(people.frame)
    is_array = people.X is not people.frame
    y, weights = (None if one is None else getattr(one, "name", None) for one in names)
    return {
        "likewise": __version__,
        "versions": list_versions(MORE_PACKAGES),
        "made_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "seed": seed,
        "seeds": {"models": draw_seed(seed, "models"), "audits": draw_seed(seed, "audits")},
        "data": {
            "checksum": hash_people(people.frame, people.y, people.weights),
            "n_rows": len(people),
            "frame": "array" if is_array else opened.kind,
            "columns": {name: _dtype_of(opened, name) for name in opened.names},
            "label": y if isinstance(y, str) else None,
            "classes": np.unique(people.y).tolist(),
            "weighted": people.weights is not None,
            "weights": weights if isinstance(weights, str) else None,
        },
        "estimator": _describe_or_tell(search.estimator, "estimator"),
        "base": _describe_or_tell(base, "base"),
        "search": search.search,
        "n_trials": search.n_trials,
        "grid": describe_loosely(grid, "grid"),
        "settings": {name: describe_loosely(getattr(search, name), name) for name in SETTINGS},
        "held_out": held_out.tolist(),
    }


def _dtype_of(opened: Frame, name: str) -> str:
    """Return the type of a column, by the name that its library has for it."""
    return str(getattr(opened.data[name].to_native(), "dtype", opened.data[name].dtype))


def _describe_or_tell(value: Any, where: str) -> Any:
    try:
        return describe(value, where)
    except NotDescribed as error:
        return {"text": " ".join(str(value).split())[:2000], "not_described": str(error)}


def _names_of(kind: type) -> tuple[str, ...]:
    from inspect import signature

    return tuple(name for name in signature(kind.__init__).parameters if name != "self")  # type: ignore[misc]  # of the class itself


def _public_name(kind: type) -> str:
    """Return where a class is imported from: the shortest package that offers it."""
    parts = kind.__module__.split(".")
    for end in range(1, len(parts) + 1):
        module = importlib.import_module(".".join(parts[:end]))
        if getattr(module, kind.__qualname__, None) is kind:
            return f"{'.'.join(parts[:end])}.{kind.__qualname__}"
    return f"{kind.__module__}.{kind.__qualname__}"


def rebuild(data: Any, trusted: Iterable[str] = (), depth: int = 0) -> Any:
    """Undo :func:`describe`; build estimators of known packages and of ``trusted`` classes only."""
    if depth > DEEPEST:
        raise NotDescribed("it is nested too deeply")
    trusted = tuple(trusted)

    def inner(one: Any) -> Any:
        return rebuild(one, trusted, depth + 1)

    if isinstance(data, list):
        return [inner(one) for one in data]
    if not isinstance(data, dict):
        return data
    if set(data) == {"class", "params"} and isinstance(data["params"], dict):
        return _build(_find_class(data["class"], trusted), {name: inner(one) for name, one in data["params"].items()})
    try:
        return _rebuild_value(data, inner)
    except NotDescribed:
        raise
    except Exception as error:  # whatever an altered value makes of a constructor
        raise NotDescribed(f"{' '.join(str(error).split())[:200]}") from error


def _rebuild_value(data: dict[str, Any], inner: Any) -> Any:
    kinds: dict[frozenset[str], Any] = {
        frozenset(("float",)): lambda: {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[data["float"]],
        frozenset(("array", "dtype")): lambda: np.array(inner(data["array"]), np.dtype(str(data["dtype"]))),
        frozenset(("tuple",)): lambda: tuple(inner(data["tuple"])),
        frozenset(("dict",)): lambda: {inner(key): inner(one) for key, one in data["dict"]},
        frozenset(("Roles",)): lambda: Roles.from_dict(data["Roles"]),
        frozenset(("Comparability",)): lambda: Comparability.from_dict(data["Comparability"]),
        frozenset(("Schema",)): lambda: Schema.from_json(json.dumps(data["Schema"])),
        frozenset(("type",)): lambda: _find_type(data["type"]),
    }
    build = kinds.get(frozenset(data))
    if build is None:
        reason = data.get("not_described", f"{str(data.get('text', sorted(data)))[:80]!r} cannot be read back")
        raise NotDescribed(str(reason))
    return build()


def _find_type(name: Any) -> Any:
    plain = {"bool": bool, "int": int, "float": float, "str": str}
    found = plain.get(name) or getattr(np, str(name), None)
    if not isinstance(found, type) or not issubclass(found, np.generic | bool | int | float | str):
        raise NotDescribed(f"{name!r} is no type of numbers or text")
    return found


def _find_class(name: Any, trusted: tuple[str, ...]) -> Any:
    module, _, kind = str(name).rpartition(".")
    if module.partition(".")[0] not in KNOWN_PACKAGES and name not in trusted:
        raise NotDescribed(f"it names {name}, which is not of {', '.join(KNOWN_PACKAGES)}; trust it by name if you do")
    try:
        found = getattr(importlib.import_module(module), kind)
    except (ImportError, AttributeError, ValueError) as error:
        raise NotDescribed(f"it names {name}, which is not installed here") from error
    if not isinstance(found, type) or not issubclass(found, BaseEstimator | WeightRange | make_column_selector):
        raise NotDescribed(f"it names {name}, which is not an estimator")
    return found


def _build(kind: Any, params: dict[str, Any]) -> Any:
    if any(params.get(name) is not None for name in REFUSED):
        raise NotDescribed(f"{kind.__name__} has a cache on disk, which may hold anything")
    try:
        return kind(**params)
    except Exception as error:
        raise NotDescribed(f"{kind.__name__} cannot be built: {' '.join(str(error).split())[:200]}") from error
