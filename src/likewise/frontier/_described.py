"""Unfitted estimators and their parameters as JSON, and back; nothing that is read back runs code of its own."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_selector
from sklearn.frozen import FrozenEstimator

from likewise._random import draw_seed
from likewise._version import __version__
from likewise.auditing._internal import list_versions
from likewise.comparable import Comparability
from likewise.exceptions import LikewiseError
from likewise.frontier._candidates import Rows, WeightRange
from likewise.frontier._log import hash_people
from likewise.schema import Roles, Schema
from likewise.schema._internal import Frame, open_frame

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
DEEPEST: Final = 40  # levels of estimators within estimators


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
