"""Fit a model to some people and let it score others."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from likewise._meta import weight_name
from likewise.exceptions import ScoresCollapsed
from likewise.frontier._candidates import Candidate
from likewise.frontier._rows import Rows


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """What came of a candidate: scores of the held-out rows, one column a label, or an error."""

    scores: NDArray[np.float64] | None = None
    model: Any = None  # None where it is not to be kept
    seconds: float = 0.0
    error: Exception | None = None


def fit_model(model: Any, people: Rows) -> Any:
    """Fit a model, with the weights of the rows where there are any."""
    if people.weights is None:
        return model.fit(people.X, people.y)
    name = weight_name(model)
    if not name:
        raise TypeError(f"{type(model).__name__} takes no sample_weight. Leave the weights out, or use another model.")
    return model.fit(people.X, people.y, **{name: people.weights})


def try_model(model: Any, train: Rows, held_out: Rows, *, is_kept: bool) -> Trial:
    """Fit a model and score the held-out rows."""
    start = time.perf_counter()
    fitted = fit_model(model, train)
    seconds = time.perf_counter() - start
    return Trial(_score(fitted, held_out.X, np.unique(train.y)), fitted if is_kept else None, seconds)


def try_all(
    candidates: Sequence[Candidate], train: Rows, held_out: Rows, *, n_jobs: int | None, is_kept: bool
) -> Iterator[Trial]:
    """Try one candidate after the other, or some at a time in processes of their own; in order."""
    if n_jobs in (None, 1):
        yield from (_try(candidate, train, held_out, is_kept) for candidate in candidates)
        return
    work = (delayed(_try)(candidate, train, held_out, is_kept) for candidate in candidates)
    yield from Parallel(n_jobs=n_jobs, return_as="generator")(work)


def _try(candidate: Candidate, train: Rows, held_out: Rows, is_kept: bool) -> Trial:
    if candidate.error is not None:
        return Trial(error=candidate.error)
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ScoresCollapsed)  # the point says so, and it is not chosen
            return try_model(candidate.model, train, held_out, is_kept=is_kept)
    except Exception as error:  # whatever it is, the others go on, and it is shown
        return Trial(seconds=time.perf_counter() - start, error=error)


def _score(model: Any, X: Any, classes: NDArray[Any]) -> NDArray[np.float64]:
    """Give one column for each label in order; labels alone are as certain as can be."""
    if not hasattr(model, "predict_proba"):
        said = np.asarray(model.predict(X))
        return np.column_stack([said == label for label in classes.tolist()]).astype(np.float64)
    scores = np.asarray(model.predict_proba(X), np.float64)
    known = np.asarray(getattr(model, "classes_", classes)).tolist()
    wanted = classes.tolist()
    order = [known.index(label) for label in wanted] if sorted(known) == sorted(wanted) else slice(None)
    ordered: NDArray[np.float64] = scores[:, order]
    return ordered
