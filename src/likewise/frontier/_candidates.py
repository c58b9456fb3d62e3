"""Candidates of a search: rows, the parameter grid, unfitted models and the generators they share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import ParameterGrid

from likewise._checks import check_count, check_number, suggest
from likewise._estimators import seed_unset
from likewise.comparable import Comparability
from likewise.exceptions import ParameterError
from likewise.generation import Antidotes
from likewise.schema._internal import array_of_table, is_frame, take_rows

GENERATOR = "generator"  # top level only: inside a pipeline a generator sees other columns than X has


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows as the models get them (an array, if the user passed one) and as a frame for audits."""

    X: Any
    frame: Any
    y: NDArray[Any]
    weights: NDArray[np.float64] | None

    @classmethod
    def gather(cls, X: Any, frame: Any, y: NDArray[Any], weights: NDArray[np.float64] | None) -> Rows:
        """Build rows from the checked frame, labels and weights."""
        return cls(frame if is_frame(X) else array_of_table(frame), frame, y, weights)

    def __len__(self) -> int:
        return len(self.y)

    def split(self, held_out: NDArray[np.int64]) -> tuple[Rows, Rows]:
        """Return the training rows and the held-out rows."""
        return self.take(np.setdiff1d(np.arange(len(self)), held_out)), self.take(held_out)

    def take(self, rows: NDArray[np.int64]) -> Rows:
        """Return some of the rows, by position."""
        frame = take_rows(self.frame, rows)
        X = frame if self.X is self.frame else self.X[rows]
        return Rows(X, frame, self.y[rows], None if self.weights is None else self.weights[rows])


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A model to try, the error that prevented building it, or what an earlier run found."""

    params: Mapping[str, Any]
    model: Any = None
    error: Exception | None = None
    known: Any = None  # the trial of an earlier run


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
            raise ParameterError(f"is {self.high:g}, but low is {self.low:g}. Give a higher one.", "high")
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
DEFAULT_GRIDS: Final[Mapping[str, Any]] = {
    "pair_weight": WeightRange(0.1, 10.0),
    "smoothing": WeightRange(0.1, 30.0),
    "antidote_weight": WeightRange(0.25, 4.0, n_values=3, n_refined=1),
    "ratio": WeightRange(0.1, 1.0, n_values=3, n_refined=0),
}


def default_grid(estimator: Any) -> dict[str, Any]:
    """Return the range of the estimator's weight of fairness; refuse an estimator that has none."""
    params = estimator.get_params(deep=False)
    for name, weights in DEFAULT_GRIDS.items():
        if name in params:
            return {name: weights}
    raise ParameterError(
        f"is not given, and {type(estimator).__name__} has no weight that is known here. Pass values, such as "
        "{'ratio': [0.1, 0.3]}.",
        "grid",
    )


def find_range(grid: Any) -> tuple[str, WeightRange] | None:
    """Return the range of a grid and its parameter; refuse several, or a range among other lists of values."""
    grids = [grid] if isinstance(grid, Mapping) else list(grid) if isinstance(grid, Sequence) else []
    found = [
        (name, value)
        for one in grids
        if isinstance(one, Mapping)
        for name, value in one.items()
        if isinstance(value, WeightRange)
    ]
    if len(found) > 1 or (found and len(grids) > 1):
        raise ParameterError("has several ranges. Give one range, in one dict.", "grid")
    return found[0] if found and len(grids[0]) == 1 else None


def list_params(grid: Any, estimator: Any) -> list[dict[str, Any]]:
    """Expand a grid; refuse parameters that the estimator does not have."""
    if isinstance(grid, Mapping):
        grid = {name: list(value.values) if isinstance(value, WeightRange) else value for name, value in grid.items()}
    try:
        listed = [dict(params) for params in ParameterGrid(grid)]
    except (TypeError, ValueError) as error:
        raise type(error)(f"grid must be a dict or list of dicts, as for GridSearchCV. {error}") from None
    if not listed:
        raise ParameterError("is empty. Pass values, such as {'ratio': [0.1, 0.3]}.", "grid")
    _refuse_unknown({name for params in listed for name in params}, estimator)
    return listed


def list_names(space: Any, estimator: Any) -> list[dict[str, Any]]:
    """Check the names of a space that a study searches; return the candidates that differ in their generators."""
    if not isinstance(space, Mapping) or not space:
        raise ParameterError(
            'must be a dict for search="optuna", such as {"pair_weight": WeightRange(0.1, 10.0)}.', "grid"
        )
    _refuse_unknown(set(space), estimator)
    of_generators = {name: values for name, values in space.items() if _is_about_generator(name)}
    listed = {name: list(values) for name, values in of_generators.items() if isinstance(values, Sequence)}
    return [dict(params) for params in ParameterGrid(listed)]


def _refuse_unknown(names: Iterable[str], estimator: Any) -> None:
    known = {name.partition("__")[0] for name in estimator.get_params()}
    for name in sorted(names):
        if name.partition("__")[0] not in known:
            hint = suggest(name, estimator.get_params())
            raise ParameterError(f"names {name!r}, which {type(estimator).__name__} does not have.{hint}", "grid")


def derive_base(estimator: Any) -> Any:
    """Return the same model without pairs, smoothing or antidotes."""
    params = estimator.get_params(deep=False)
    if ("pair_weight" in params or "smoothing" in params) and hasattr(params.get("estimator"), "fit"):
        return params["estimator"]
    if GENERATOR in params and "antidote_weight" in params:
        return clone(estimator).set_params(antidote_weight=0.0)
    if GENERATOR in params and hasattr(params.get("estimator"), "fit"):
        return params["estimator"]
    raise TypeError(
        f"{type(estimator).__name__} has neither pairs nor antidotes to leave out, so there is no default base to "
        "compare with. Pass one as base."
    )


def build_model(estimator: Any, params: Mapping[str, Any], generator: Any, seed: int) -> Any:
    """Return an unfitted model with these parameters; a fitted generator replaces its own."""
    own = {name: value for name, value in params.items() if generator is None or not _is_about_generator(name)}
    model = clone(estimator).set_params(**{name: clone(value, safe=False) for name, value in own.items()})
    seed_unset(model, seed)  # models should differ in their parameters, not in their seeds
    return model if generator is None else model.set_params(**{GENERATOR: generator})


def uncache_generator(model: Any) -> Any:
    """Replace a cached generator in a fitted model by the generator itself, frozen."""
    shared = getattr(model, GENERATOR, None)
    if isinstance(shared, CachedGenerator):
        own = shared.generator
        model.set_params(**{GENERATOR: own if isinstance(own, FrozenEstimator) else FrozenEstimator(own)})
        if getattr(model, "generator_", None) is shared:
            model.generator_ = model.generator
    return model


class CachedGenerator(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """A fitted generator that returns the same antidotes for the same rows, seed and amount."""

    def __init__(self, generator: Any) -> None:
        self.generator = generator

    def __getattr__(self, name: str) -> Any:
        if name == "generator" or name.startswith("_"):  # not set yet, as during copying
            raise AttributeError(name)
        return getattr(self.generator, name)

    def generate(self, X: Any, y: Any = None, *, random_state: int | None = None, **amount: Any) -> Antidotes:
        """Generate antidotes; without a seed, new ones each time."""
        if random_state is None:
            return self._generate(X, y, random_state=None, **amount)
        request = amount | {"random_state": random_state}
        cache: list[tuple[Any, Any, dict[str, Any], Antidotes]] = self.__dict__.setdefault("_cache", [])
        for rows, labels, cached, made in cache:
            if cached == request and _are_same(rows, X) and np.array_equal(labels, y):
                return made
        new = self._generate(X, y, **request)
        cache.append((X, y, request, new))
        return new

    def clear(self) -> None:
        """Drop the cached antidotes."""
        self.__dict__.pop("_cache", None)

    def _generate(self, X: Any, y: Any, **request: Any) -> Antidotes:
        made: Antidotes = self.generator.generate(X, y, **request)
        return made

    def __sklearn_clone__(self) -> Self:
        return self  # it is fitted, and copies share its cache

    def __getstate__(self) -> dict[str, Any]:
        return {"generator": self.generator}  # another process keeps its own cache


def _are_same(rows: Any, others: Any) -> bool:
    """Compare frames, which are rebuilt from arrays and where rows have zero weight."""
    return rows is others or (type(rows) is type(others) and bool(rows.equals(others)))


class SharedGenerators:
    """The generators of a search, each fitted once and shared by candidates that differ elsewhere."""

    def __init__(self, estimator: Any, train: Rows, seed: int) -> None:
        self._own = estimator.get_params(deep=False).get(GENERATOR)
        self._train, self._seed = train, seed
        self._known: list[tuple[dict[str, Any], Any]] = []

    @property
    def first(self) -> Any:
        """The first fitted generator, or None."""
        return next((generator for _, generator in self._known if generator is not None), None)

    def fit_for(self, params: Mapping[str, Any]) -> Any:
        """Return the fitted, cached generator of a candidate; None if it has none."""
        own = {name: value for name, value in params.items() if _is_about_generator(name)}
        for other, fitted in self._known:
            if other == own:
                return fitted
        generator, is_ready = self.find(params)
        if generator is not None:
            if not is_ready:
                generator = seed_unset(generator, self._seed).fit(self._train.frame, self._train.y)
            generator = CachedGenerator(generator)
        self._known.append((own, generator))
        return generator

    def clear(self) -> None:
        """Drop all cached antidotes."""
        for _, generator in self._known:
            if generator is not None:
                generator.clear()

    def refuse_several(self, listed: Iterable[Mapping[str, Any]], *, roles: Any, rule: Any) -> None:
        """Refuse generators with different roles or rules, unless the search itself sets them."""
        generators = list(filter(None, map(self._peek, ({}, *listed))))
        all_roles = [generator.roles for generator in generators if hasattr(generator, "roles")]
        all_rules = [getattr(generator, "rule", None) or Comparability() for generator in generators]
        for name, many, given, found in (("roles", "roles", roles, all_roles), ("rule", "rules", rule, all_rules)):
            if given is None and any(one != found[0] for one in found):
                raise ValueError(
                    f"The estimator and the grid hold generators with different {many}, but all models must be "
                    f"judged alike. Pass {name} to the search."
                )

    def _peek(self, params: Mapping[str, Any]) -> Any:
        try:
            return self.find(params)[0]
        except Exception:  # it fails again, visibly, when the candidate is built
            return None

    def find(self, params: Mapping[str, Any]) -> tuple[Any, bool]:
        """Return the generator of a candidate, and whether it was fitted before the search."""
        generator = params.get(GENERATOR, self._own)
        start = f"{GENERATOR}__"
        changes = {name.removeprefix(start): value for name, value in params.items() if name.startswith(start)}
        if not hasattr(generator, "generate") or not hasattr(generator, "get_params"):
            return None, False  # the model's own fit raises the right error
        if hasattr(generator, "schema_") and not changes:
            return generator if isinstance(generator, FrozenEstimator) else FrozenEstimator(generator), True
        return clone(generator).set_params(**changes), False


def plan_candidate(estimator: Any, params: Mapping[str, Any], generators: SharedGenerators, seed: int) -> Candidate:
    """Build a model of a search; one that cannot be built keeps its error."""
    try:
        return Candidate(params, build_model(estimator, params, generators.fit_for(params), seed))
    except Exception as error:  # the other candidates go on, and the summary shows it
        return Candidate(params, error=error)


def _is_about_generator(name: str) -> bool:
    return name.partition("__")[0] == GENERATOR
