"""The log of a search: one JSON object per line, each sealed by a checksum over all lines so far.

The first line is the search itself: parameters, seeds, data and versions. Then comes one line per model, with its
parameters, its measures and its scores of the held-out rows, the base first; and at the end the choice. A line is
written as soon as its model is measured, so that an interrupted search can go on from there.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._json import plain
from likewise.exceptions import SearchLogError
from likewise.schema._internal import open_frame

FORMAT: Final = "likewise search 1"
NOT_COMPARED: Final = ("made_at",)  # when it was made is no result
SECTIONS: Final = ("versions", "seeds", "data", "settings")  # of a header: their parts have names
SCORES: Final = "<f8"


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
            record, seal = _parse(line, number, file)
            checksum = _seal(checksum, record)
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
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise SearchLogError(f"'{file}' is not the log of a search: {error!r}.") from error

    @classmethod
    def _gather(cls, found: list[dict[str, Any]], checksum: str, n_bytes: int) -> LoggedSearch:
        header, *rest = found
        choice = rest.pop() if rest and rest[-1]["kind"] == "choice" else None
        models = [_read_model(record) for record in rest]
        if [one.number for one in models] != list(range(len(models))):
            raise ValueError("models are missing")
        return cls(header, models, choice, checksum, n_bytes)


def _read_model(record: Mapping[str, Any]) -> LoggedModel:
    known = KnownModel.from_json(record)
    return LoggedModel(int(record["number"]), record["params"], dict(record["result"]), known)


def _parse(line: bytes, number: int, file: Path) -> tuple[dict[str, Any], Any]:
    try:
        record = json.loads(line)
        return record, record.pop("checksum")
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
