"""Candidates of a search: rows and folds, the steps and grids that are tried, and models scored out of fold."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import KFold, ParameterGrid, StratifiedKFold

from likewise._checks import check_count, check_number, suggest
from likewise._estimators import SEEDS, seed_unset, weight_name
from likewise._random import draw_seed
from likewise.exceptions import ParameterError
from likewise.learning import SmoothedTargetsClassifier, SmoothedTargetsRegressor
from likewise.learning._internal import takes_pairs
from likewise.schema._internal import (
    array_of_table,
    as_frame,
    is_frame,
    join_columns,
    named_beside,
    table_of_array,
    take_rows,
)

GENERATOR: Final = "generator"  # top level only: inside a pipeline a generator sees other columns than X has
ON_PATH: Final = frozenset(("strength", "pair_weight"))  # what `fit_path` varies with its teachers fitted once
HIDES: Final = "discard_sensitive"
Params = dict[str, Any]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows as the models get them (an array, if the user passed one), what is kept beside them, and what is learned."""

    X: Any
    beside: Any  # columns that models are not shown
    y: NDArray[Any]
    weights: Floats | None

    @classmethod
    def gather(cls, X: Any, frame: Any, beside: Any, y: NDArray[Any], weights: Floats | None) -> Rows:
        """Build rows from the checked frame, the columns beside it, outcomes and weights."""
        beside = None if beside is None else as_frame(named_beside(beside)).data.to_native()
        return cls(frame if is_frame(X) else array_of_table(frame), beside, y, weights)

    @property
    def frame(self) -> Any:
        """All columns, as audits read them."""
        frame = self.X if is_frame(self.X) else table_of_array(self.X)
        return frame if self.beside is None else join_columns(frame, self.beside)

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: NDArray[np.intp]) -> Rows:
        """Return some of the rows, by position."""
        X = take_rows(self.X, rows) if is_frame(self.X) else self.X[rows]
        beside = None if self.beside is None else take_rows(self.beside, rows)
        return Rows(X, beside, self.y[rows], None if self.weights is None else self.weights[rows])


def split(y: NDArray[Any], n_folds: int, seed: int, *, by_label: bool) -> NDArray[np.int64]:
    """Return the fold of each row: fewer folds than asked for, where a label has fewer rows."""
    kind = StratifiedKFold if by_label else KFold
    counts = np.unique(y, return_counts=True)[1] if by_label else [len(y)]
    n = min(n_folds, *map(int, counts))
    fold_of = np.empty(len(y), np.int64)
    for k, (_, held_out) in enumerate(kind(n, shuffle=True, random_state=draw_seed(seed, "folds") % SEEDS).split(y, y)):
        fold_of[held_out] = k
    return fold_of


@dataclass(frozen=True)
class WeightRange:
    """A range of weights to search: some values in equal ratios, then others where the budget ends.

    After the first values, the search tries the geometric mean of the largest value within the budget and the smallest
    one beyond it, ``n_refined`` times; if none is within the budget, a third of the smallest.

    Parameters
    ----------
    low, high : float
        The ends, above 0.
    n_values : int
        How many values to try first.
    n_refined : int
        How many values to try then.

    Examples
    --------
    >>> from likewise.frontier import WeightRange
    >>> WeightRange(0.1, 10.0, n_values=3).values
    (0.1, 1.0, 10.0)
    """

    low: float
    high: float
    n_values: int = 5
    n_refined: int = 2

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            check_number(name, getattr(self, name), above=0.0)
        if self.low >= self.high:
            raise ParameterError(f"is {self.low:g}, but high is {self.high:g}. Give a lower one.", "low")
        check_count("n_values", self.n_values, or_none=False, least=2)
        check_count("n_refined", self.n_refined, or_none=False)

    @property
    def values(self) -> tuple[float, ...]:
        """The first values, rounded to three digits."""
        return tuple(float(f"{value:.3g}") for value in np.geomspace(self.low, self.high, self.n_values))

    def refine(self, within: Sequence[float], beyond: Sequence[float]) -> float | None:
        """Return the next value to try, given those within the budget and those beyond it; None if there is none."""
        if not within:
            return float(f"{min(beyond) / 3:.3g}") if beyond else None
        above = [value for value in beyond if value > max(within)]
        return float(f"{np.sqrt(max(within) * min(above)):.3g}") if above else None


# What most users want to know of a model with a trade-off, by the name of its weight.
DEFAULT_GRIDS: Final[Mapping[str, WeightRange]] = {
    "strength": WeightRange(1.0, 30.0, n_values=4),
    "pair_weight": WeightRange(0.1, 10.0),
    "smoothing": WeightRange(0.1, 30.0),
    "antidote_weight": WeightRange(0.25, 4.0, n_values=3, n_refined=1),
    "ratio": WeightRange(0.1, 1.0, n_values=3, n_refined=0),
}
STRENGTHS: Final = (1.0, 3.0, 10.0, 30.0)
PAIR_WEIGHTS: Final = (0.3, 1.0, 3.0, 10.0)
BOTH: Final = ((3.0, 0.3), (10.0, 0.3), (10.0, 1.0), (30.0, 3.0))


def has_weight(estimator: Any) -> bool:
    """Whether an estimator has a weight of fairness of its own; others are tried with each remedy."""
    return any(name in estimator.get_params(deep=False) for name in DEFAULT_GRIDS)


def as_remedy(estimator: Any, roles: Any, rule: Any) -> Any:
    """Return an estimator inside the one that can do all steps: without columns, smoothed, pairs in the loss, both."""
    kind = SmoothedTargetsClassifier if is_classifier(estimator) else SmoothedTargetsRegressor
    return kind(estimator, roles, rule)


def list_steps(estimator: Any, *, are_beside: bool, hides: bool = True) -> list[Params]:
    """List what is tried of a plain model, as parameters of :func:`as_remedy`, the mildest first."""
    is_weighed = not is_classifier(estimator) or bool(weight_name(estimator))
    is_paired = takes_pairs(estimator, is_classifier=is_classifier(estimator))
    steps: list[tuple[float | None, float]] = [(None, 0.0)] if hides and not are_beside else []
    steps += [(strength, 0.0) for strength in STRENGTHS if is_weighed]
    steps += [(None, weight) for weight in PAIR_WEIGHTS if is_paired]
    steps += [both for both in BOTH if is_weighed and is_paired]
    return [{"strength": strength, "pair_weight": weight, HIDES: hides} for strength, weight in steps]


def name_of(params: Mapping[str, Any]) -> str:
    """Return the name of a candidate in tables: what was done, or the parameters that were set."""
    if {*params} != {*ON_PATH, HIDES}:
        return ", ".join(f"{name}={_show(value)}" for name, value in params.items()) or "as given"
    strength, weight = params["strength"], params["pair_weight"]
    smoothed = "" if strength is None else f"smoothed targets ({strength:g})"
    paired = f"pairs in the loss ({weight:g})" if weight else ""
    done = " and ".join(filter(None, (smoothed, paired)))
    seen = "without the sensitive columns" if not done else "" if params[HIDES] else "seeing the sensitive columns"
    return ", ".join(filter(None, (done, seen)))


def _show(value: Any) -> str:
    """Return a parameter's value as text: an estimator by its class, a number in short form."""
    if hasattr(value, "get_params"):
        return type(value).__name__
    return f"{value:g}" if isinstance(value, float) else str(value)


def default_grid(estimator: Any) -> dict[str, WeightRange]:
    """Return the range of the estimator's weight of fairness."""
    params = estimator.get_params(deep=False)
    return next({name: weights} for name, weights in DEFAULT_GRIDS.items() if name in params)


def find_range(grid: Any) -> tuple[str, WeightRange] | None:
    """Return the range of a grid and its parameter; refuse several, or a range among other lists of values."""
    grids = [grid] if isinstance(grid, Mapping) else list(grid)
    ranges = [(name, value) for part in grids for name, value in part.items() if isinstance(value, WeightRange)]
    if len(ranges) > 1 or (ranges and len(grids) > 1):
        raise ParameterError("has several ranges. Give one range, in one dict.", "grid")
    return ranges[0] if ranges and len(grids[0]) == 1 else None


def list_params(grid: Any, estimator: Any) -> list[Params]:
    """Expand a grid; refuse parameters that the estimator does not have."""
    if isinstance(grid, Mapping):
        grid = {name: list(value.values) if isinstance(value, WeightRange) else value for name, value in grid.items()}
    try:
        listed = [dict(params) for params in ParameterGrid(grid)]
    except (TypeError, ValueError) as error:
        raise type(error)(f"grid must be a dict or list of dicts, as for GridSearchCV. {error}") from None
    if not listed:
        raise ParameterError("is empty. Pass values, such as {'ratio': [0.1, 0.3]}.", "grid")
    refuse_unknown({name for params in listed for name in params}, estimator)
    return listed


def refuse_unknown(names: Iterable[str], estimator: Any) -> None:
    """Refuse names of parameters that an estimator does not have."""
    known = {name.partition("__")[0] for name in estimator.get_params()}
    for name in sorted(names):
        if name.partition("__")[0] not in known:
            hint = suggest(name, estimator.get_params())
            raise ParameterError(f"names {name!r}, which {type(estimator).__name__} does not have.{hint}", "grid")


def derive_base(estimator: Any) -> Any:
    """Return the same model without pairs, smoothing or antidotes."""
    params = estimator.get_params(deep=False)
    if GENERATOR in params and "antidote_weight" in params:
        return clone(estimator).set_params(antidote_weight=0.0)
    if hasattr(params.get("estimator"), "fit") and (has_weight(estimator) or GENERATOR in params):
        return clone(params["estimator"])
    raise ParameterError(
        f"is not given, and {type(estimator).__name__} has neither pairs nor antidotes to leave out. Pass the model to "
        "compare with.",
        "base",
    )


def fit_model(model: Any, rows: Rows) -> Any:
    """Fit a model, with weights and with the columns beside X if it takes them."""
    given: dict[str, Any] = {}
    if rows.weights is not None:
        name = weight_name(model)
        if not name:
            raise ParameterError(f"is given, but {type(model).__name__} takes none. Omit the weights.", "sample_weight")
        given[name] = rows.weights
    if rows.beside is not None and (has_weight(model) or GENERATOR in model.get_params(deep=False)):
        given["sensitive_features"] = rows.beside
    return model.fit(rows.X, rows.y, **given)


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """A candidate's scores of some rows, or its error."""

    scores: Floats | None = None
    seconds: float = 0.0
    error: Exception | None = None


@dataclass(slots=True, eq=False)
class Fold:
    """A part of the rows, which is scored by models that were fitted to the others."""

    train: Rows
    held_out: Rows
    seed: int
    _generators: list[tuple[Params, Any]] = field(default_factory=list)

    def score_all(self, estimator: Any, candidates: Sequence[Params]) -> Iterator[Scored]:
        """Fit and score candidates in order; those that differ in smoothing and pairs only share their teachers."""

        def others(params: Params) -> Params:
            return {name: value for name, value in params.items() if name not in ON_PATH}

        for apart, group in groupby(candidates, others):
            settings = [{name: value for name, value in params.items() if name in ON_PATH} for params in group]
            yield from self._score_group(estimator, apart, settings)

    def _score_group(self, estimator: Any, apart: Params, settings: list[Params]) -> Iterator[Scored]:
        while settings:
            started, n_done = time.perf_counter(), 0
            try:
                for model in self._fit_group(estimator, apart, settings):
                    scores = score(model, self.held_out, self.train.y)
                    n_done += 1
                    yield Scored(scores, time.perf_counter() - started)
                    started = time.perf_counter()
            except Exception as error:  # the other candidates go on, and the summary shows it
                n_done += 1
                yield Scored(None, time.perf_counter() - started, error)
            settings = settings[n_done:]

    def _fit_group(self, estimator: Any, apart: Params, settings: list[Params]) -> Iterator[Any]:
        if not hasattr(estimator, "fit_path"):
            for setting in settings:
                yield fit_model(self._build(estimator, apart | setting), self.train)
            return
        rows, model = self.train, self._build(estimator, apart | settings[0])
        yield from model.fit_path(rows.X, rows.y, settings, rows.weights, sensitive_features=rows.beside)

    def _build(self, estimator: Any, params: Params) -> Any:
        """Return an unfitted model with these parameters; generators are fitted once for all candidates."""
        own = {name: value for name, value in params.items() if name.partition("__")[0] == GENERATOR}
        model = build_model(estimator, params, self.seed)
        generator = getattr(model, GENERATOR, None)
        if not hasattr(generator, "generate") or isinstance(generator, FrozenEstimator):
            return model
        fitted = next((one for known, one in self._generators if known == own), None)
        if fitted is None:
            fitted = FrozenEstimator(clone(generator).fit(self.train.frame, self.train.y))
            self._generators.append((own, fitted))
        return model.set_params(**{GENERATOR: fitted})


def build_model(estimator: Any, params: Mapping[str, Any], seed: int) -> Any:
    """Return an unfitted model with these parameters; a generator that is fitted stays as it is."""
    model = clone(estimator).set_params(**{name: clone(value, safe=False) for name, value in params.items()})
    generator = params.get(GENERATOR, getattr(estimator, GENERATOR, None))
    is_changed = any(name.startswith(f"{GENERATOR}__") for name in params)
    if hasattr(generator, "schema_") and hasattr(generator, "generate") and not is_changed:
        model.set_params(**{GENERATOR: FrozenEstimator(generator)})
    return seed_unset(model, seed)  # models should differ in their parameters, not in their seeds


def score(model: Any, rows: Rows, y: NDArray[Any]) -> Floats:
    """Return a prediction for each row, or one column per label, in order; predicted labels count as certain."""
    if not is_classifier(model):
        return np.asarray(model.predict(rows.X), np.float64).ravel()
    classes = np.unique(y).tolist()
    if not hasattr(model, "predict_proba"):
        said = np.asarray(model.predict(rows.X))
        return np.column_stack([said == label for label in classes]).astype(np.float64)
    scores = np.asarray(model.predict_proba(rows.X), np.float64)
    known = np.asarray(getattr(model, "classes_", classes)).tolist()
    order = [known.index(label) for label in classes] if sorted(known) == classes else slice(None)
    ordered: Floats = scores[:, order]
    return ordered
