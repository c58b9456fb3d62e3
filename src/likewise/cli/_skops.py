"""Scikit-learn models in the skops format: only types that skops knows, or that the caller vouches for."""

from __future__ import annotations

import re
import warnings
from importlib import metadata
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise._extras import require
from likewise.cli._columns import column_of_numbers
from likewise.exceptions import LikewiseWarning, ScoreError

if TYPE_CHECKING:
    import pyarrow as pa


class SkopsModel:
    """A scikit-learn model out of a file."""

    def __init__(self, data: bytes, file: str, trusted: list[str]) -> None:
        self._who = f"The model in '{file}'"
        self._model = _load(data, file, trusted)
        if not hasattr(self._model, "predict"):
            raise ScoreError(
                f"'{file}' holds a {type(self._model).__name__}, which is not a model that can score people."
            )
        if not hasattr(self._model, "predict_proba") and hasattr(self._model, "classes_"):
            raise ScoreError(
                f"{self._who}, a {type(self._model).__name__}, gives no probabilities. Fit one that has predict_proba; "
                "sklearn.calibration.CalibratedClassifierCV makes one of it."
            )

    def score(self, frame: pa.Table, features: list[str], are_named: bool) -> tuple[Any, list[Any] | None]:
        """Show the model the columns that it was fitted on."""
        names_them = hasattr(self._model, "feature_names_in_")
        if names_them and are_named:
            raise ScoreError(needless_features(self._who))
        people = self._named(frame) if names_them else self._matrix(frame, features)
        try:
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                ask = getattr(self._model, "predict_proba", self._model.predict)
                found = np.asarray(ask(people))
        except Exception as error:  # whatever a model of any kind does with a table that it was not made for
            reason = re.split(r"(?<=[.!?])\s", str(error).strip() or "it gives no reason", maxsplit=1)[0]
            raise ScoreError(
                f"{self._who} cannot score this table: {type(error).__name__}: {reason[:300].rstrip('.')}. "
                "Check that the columns hold what it was fitted on."
            ) from error
        for text in dict.fromkeys(str(one.message) for one in said):
            warnings.warn(f"{self._who} says: {' '.join(text.split())[:300]}", LikewiseWarning, stacklevel=2)
        classes = getattr(self._model, "classes_", None)
        return found, None if classes is None else np.asarray(classes).tolist()

    def versions(self) -> dict[str, str]:
        """Name the package that loaded the model."""
        return {"skops": metadata.version("skops")}

    def _named(self, frame: pa.Table) -> Any:
        from likewise.auditing._internal import select_columns

        wanted = [str(name) for name in self._model.feature_names_in_]
        require("pandas", "pandas", f"{self._who}, which was fitted on named columns,")
        chosen = select_columns(frame, wanted, self._who)
        return chosen.to_pandas(strings_to_categorical=False)

    def _matrix(self, frame: pa.Table, features: list[str]) -> Any:
        n_wanted = getattr(self._model, "n_features_in_", len(features))
        if n_wanted != len(features):
            raise ScoreError(wrong_number(self._who, n_wanted, features))
        return np.column_stack([column_of_numbers(frame, name, np.dtype(np.float64), self._who) for name in features])


def wrong_number(who: str, n_wanted: int, features: list[str]) -> str:
    """Say that columns without names cannot be told."""
    listed = ", ".join(f"'{name}'" for name in features[:12]) + (", ..." if len(features) > 12 else "")
    return (
        f"{who} takes {n_wanted:,} columns, without saying which; there are {len(features):,}: {listed}. "
        "Name the right ones in their order, by --features."
    )


def needless_features(who: str) -> str:
    """Say that a model needs no list of columns."""
    return f"{who} says itself which columns it takes, and is given them by name. Leave out --features."


def _load(data: bytes, file: str, trusted: list[str]) -> Any:
    skops = require("skops.io", "skops", f"The model file '{file}'")
    try:
        strange = [name for name in skops.get_untrusted_types(data=data) if name not in trusted]
    except Exception as error:  # not a zip file, or one of anything else
        raise _unreadable(file, error) from error
    if strange:
        options = " ".join(f"--trust {name}" for name in strange)
        raise ScoreError(
            f"'{file}' holds types that may run any code when it is loaded: {', '.join(strange)}. Look at what they "
            f"are, and if you trust them add {options}."
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scikit-learn's word on other versions of itself
            return skops.loads(data, trusted=trusted)
    except Exception as error:
        raise _unreadable(file, error) from error


def _unreadable(file: str, error: Exception) -> ScoreError:
    reason = " ".join(str(error).split())[:200].rstrip(".")
    return ScoreError(
        f"'{file}' cannot be loaded as a skops file ({type(error).__name__}: {reason}). Write it again with "
        "skops.io.dump."
    )
