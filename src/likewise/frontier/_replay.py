"""A search repeated from its log: the same models are fitted and measured again, and every number is compared."""

from __future__ import annotations

import json
import math
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from sklearn.base import BaseEstimator

from likewise._format import count_of
from likewise._version import __version__
from likewise.auditing._internal import list_versions
from likewise.exceptions import LikewiseError, LikewiseWarning, SearchLogError
from likewise.frontier._candidates import list_params
from likewise.frontier._log import (
    LONGEST_REASON,
    MORE_PACKAGES,
    LoggedModel,
    LoggedSearch,
    describe,
    hash_people,
    rebuild,
)
from likewise.frontier._points import FrontierPoint
from likewise.frontier._search import FrontierSearch
from likewise.schema._internal import join_columns, named_beside, take_frame, take_weights

TOLERANCE: Final = 1e-9
ROUNDING: Final = 1e-12  # for numbers that are zero except for rounding
N_SHOWN: Final = 10
ABSENT: Final = "(absent)"


@dataclass(frozen=True, slots=True)
class ReplayDifference:
    """A value that a replay found to be another: its place in the log, as recorded and as found.

    Parameters
    ----------
    where : str
        Such as "model 3 (pair_weight=1): unfairness.value", or "data".
    recorded, found : optional
        The two values.

    Examples
    --------
    >>> from likewise.frontier import ReplayDifference
    >>> print(ReplayDifference("model 3 (ratio=0.3): loss.value", 0.002, 0.02))
    model 3 (ratio=0.3): loss.value: recorded 0.002, found 0.02
    """

    where: str
    recorded: Any
    found: Any

    def __str__(self) -> str:
        return f"{self.where}: recorded {self.recorded!r}, found {self.found!r}"


@dataclass(frozen=True, slots=True)
class SearchReplay:
    """What the replay of a search found.

    Parameters
    ----------
    n_models : int
        Models that were fitted again.
    n_numbers : int
        Numbers that were compared.
    differences : tuple of ReplayDifference
        Those that do not agree within one part in a billion.
    is_same_data : bool
        Whether the rows are those that were searched; if not, no model was fitted.
    is_finished : bool
        Whether the log has a choice to compare.
    versions : tuple of str
        Packages that had another version when the log was written.

    Examples
    --------
    >>> from likewise.frontier import SearchReplay
    >>> print(SearchReplay(n_models=8, n_numbers=240))
    All 240 numbers of 8 models agree (relative tolerance 1e-09), and so does the choice.
    """

    n_models: int = 0
    n_numbers: int = 0
    differences: tuple[ReplayDifference, ...] = ()
    is_same_data: bool = True
    is_finished: bool = True
    versions: tuple[str, ...] = ()

    def __str__(self) -> str:
        other = f"\nOther versions: {', '.join(self.versions)}." if self.versions else ""
        if not self.is_same_data:
            one = self.differences[0]
            return f"The data is not what was searched: SHA-256 on record {one.recorded}, found {one.found}."
        if self.differences:
            shown = "\n".join(f"  {one}" for one in self.differences[:N_SHOWN])
            more = f"\n  ... and {len(self.differences) - N_SHOWN:,} more" if len(self.differences) > N_SHOWN else ""
            return f"{count_of(len(self.differences), 'value')} not as recorded:\n{shown}{more}{other}"
        choice = (
            "and so does the choice." if self.is_finished else "but the search was interrupted: the log has no choice."
        )
        models = count_of(self.n_models, "model")
        return f"All {self.n_numbers:,} numbers of {models} agree (relative tolerance {TOLERANCE:g}), {choice}{other}"


def replay_search(
    log: str | Path,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    estimator: Any,
    sensitive_features: Any = None,
    base: Any = None,
    grid: Any = None,
    progress: Callable[[FrontierPoint], None] | bool | None = None,
) -> SearchReplay:
    """Fit all models of a logged search again, and compare every number with the log.

    Settings and candidates are those of the log. Nothing in a log is code, so the model itself is given.

    Parameters
    ----------
    log : path
        What ``FrontierSearch(log=...)`` wrote.
    X, y, sample_weight
        The rows that the search was fitted to.
    estimator : classifier or regressor
        That of the search, unfitted.
    sensitive_features : table or series, optional
        As the search had them.
    base : classifier or regressor, optional
        That of the search, if it had one.
    grid : dict, or list of dicts, optional
        That of the search, where its values are objects, such as generators.
    progress : callable or bool, optional
        As for :class:`FrontierSearch`.

    Returns
    -------
    SearchReplay
        With the differences, if there are any. Other data is the only difference that is then reported.

    Raises
    ------
    SearchLogError
        If the log cannot be read, was altered, or has candidates that cannot be built.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.compose import make_column_selector, make_column_transformer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import OneHotEncoder, StandardScaler
    >>> from likewise import ConsistentClassifier, load_dataset
    >>> from likewise.frontier import FrontierSearch, replay_search
    >>> data = load_dataset("planted", n_rows=4_000)
    >>> numbers = make_column_selector(dtype_include="number")
    >>> coding = make_column_transformer((StandardScaler(), numbers), remainder=OneHotEncoder())
    >>> model = ConsistentClassifier(make_pipeline(coding, LogisticRegression()), data.roles, data.rule)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = os.path.join(folder, "search.jsonl")
    ...     search = FrontierSearch(model, {"pair_weight": [1.0]}, max_loss=0.02, log=log, random_state=0)
    ...     _ = search.fit(data.train.X, data.train.y)
    ...     print(replay_search(log, data.train.X, data.train.y, estimator=model))  # doctest: +ELLIPSIS
    All ... numbers of 2 models agree (relative tolerance 1e-09), and so does the choice.
    """
    logged = LoggedSearch.read(log)
    header = logged.header
    other = _compare_data(header["data"], X, y, sample_weight, sensitive_features)
    if other is not None:
        return SearchReplay(differences=(other,), is_same_data=False, is_finished=logged.choice is not None)
    again = _prepare(logged, log, estimator, base, grid)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", LikewiseWarning)
        path = Path(folder, "log")
        try:
            again.set_params(log=path, progress=progress)
            again.fit(X, y, sample_weight, sensitive_features=sensitive_features)
        except LikewiseError:
            raise
        except Exception as error:  # whatever an estimator makes of parameters that somebody altered
            raise SearchLogError(
                f"The search of '{log}' cannot be repeated: {_reason(error)}. Check that log and data belong together."
            ) from error
        found = LoggedSearch.read(path)
    n_numbers, differences = 0, list[ReplayDifference]()
    for where, one, two in _pair_up(logged, found):
        n, unlike = _compare(where, one, two)
        n_numbers += n
        differences += unlike
    return SearchReplay(
        n_models=len(logged.models),
        n_numbers=n_numbers,
        differences=tuple(differences),
        is_finished=logged.choice is not None,
        versions=tuple(_other_versions(header)),
    )


def _compare_data(recorded: Mapping[str, Any], X: Any, y: Any, weights: Any, beside: Any) -> ReplayDifference | None:
    """Return what says that these are not the rows that were searched."""
    frame, outcomes = take_frame(BaseEstimator(), X, y, reset=True), np.asarray(y).ravel()
    frame = frame if beside is None else join_columns(frame, named_beside(beside))
    given = None if weights is None else take_weights(weights, len(outcomes), scaled=False)
    found = hash_people(frame, outcomes, given)
    return None if found == recorded["checksum"] else ReplayDifference("data (SHA-256)", recorded["checksum"], found)


def _prepare(logged: LoggedSearch, log: str | Path, estimator: Any, base: Any, grid: Any) -> FrontierSearch:
    """Return the search with the candidates on record as its grid."""
    try:
        settings = {name: rebuild(one) for name, one in logged.header["settings"].items()}
        listed = [] if grid is None else list_params(grid, estimator)
        given = [(json.loads(json.dumps(describe(params))), params) for params in listed]
        candidates = [
            next((params for told, params in given if told == one.params), None) or rebuild(one.params)
            for one in logged.models[1:]
        ]
        return FrontierSearch(
            estimator,
            [{name: [value] for name, value in params.items()} for params in candidates],
            base=base,
            random_state=int(logged.header["seed"]),
            **settings,
        )
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise SearchLogError(
            f"'{log}' describes a search that cannot be built from it: {_reason(error)}. Where the grid holds objects, "
            "give it as well."
        ) from error


def _reason(error: Exception) -> str:
    return " ".join((str(error) or type(error).__name__).split())[:LONGEST_REASON].rstrip(".")


def _pair_up(old: LoggedSearch, new: LoggedSearch) -> Iterator[tuple[str, Any, Any]]:
    """Yield what to compare: each model, the folds, and the choice."""
    yield "fold_of", old.header.get("fold_of"), new.header.get("fold_of")
    for one, other in zip(old.models, new.models, strict=True):
        yield f"model {one.number} ({one.result.get('name')}): ", _values(one), _values(other)
    if old.choice is not None:
        yield "choice.", dict(old.choice), dict(new.choice or {})


def _values(model: LoggedModel) -> dict[str, Any]:
    scores = None if model.scores is None else model.scores.tolist()
    return {**model.result, "error": model.error, "scores": scores}


def _compare(where: str, one: Any, other: Any) -> tuple[int, list[ReplayDifference]]:
    """Return how many numbers there are, and which values differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        parts = [(f"{where}{name}", one.get(name, ABSENT), other.get(name, ABSENT)) for name in one | other]
        dots = [(f"{path}." if isinstance(value, dict) else path, value, two) for path, value, two in parts]
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        dots = [(f"{where}[{place}]", *both) for place, both in enumerate(zip(one, other, strict=True))]
    else:
        is_number = isinstance(one, int | float) and not isinstance(one, bool)
        differs = [] if _agree(one, other) else [ReplayDifference(where.rstrip("."), one, other)]
        return int(is_number), differs
    counted = [_compare(*part) for part in dots]
    return sum(n for n, _ in counted), [one for _, unlike in counted for one in unlike]


def _agree(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=ROUNDING)
    return bool(one == other)


def _other_versions(header: Mapping[str, Any]) -> Iterator[str]:
    now = {"likewise": __version__, **list_versions(MORE_PACKAGES)}
    then = {"likewise": header.get("likewise"), **header.get("versions", {})}
    for name in then | now:
        if then.get(name) != now.get(name):
            yield f"{name} {then.get(name, '(none)')} then and {now.get(name, '(none)')} now"
