"""The models to be tried: the base, and one for each point of the grid, all of them unfitted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import ParameterGrid

from likewise._checks import suggest
from likewise._meta import seed_unset
from likewise.comparable import Comparability
from likewise.frontier._remembering import RememberingGenerator
from likewise.frontier._rows import Rows

GENERATOR = "generator"  # only on top: inside a pipeline, a generator sees other columns than those of X


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A model to be tried, or the reason why there is none."""

    params: Mapping[str, Any]
    model: Any = None
    error: Exception | None = None


def list_params(grid: Any, estimator: Any) -> list[dict[str, Any]]:
    """Spell out a grid, and refuse parameters that the estimator does not have."""
    try:
        listed = [dict(params) for params in ParameterGrid(grid)]
    except (TypeError, ValueError) as error:
        raise type(error)(f"grid is not as GridSearchCV takes it. {error}") from None
    if not listed:
        raise ValueError("grid holds nothing to try. Give values, such as {'ratio': [0.1, 0.3]}.")
    known = {name.partition("__")[0] for name in estimator.get_params()}
    for name in sorted({name for params in listed for name in params}):
        if name.partition("__")[0] not in known:
            hint = suggest(name, estimator.get_params())
            raise ValueError(f"grid names {name!r}, which {type(estimator).__name__} does not have.{hint}")
    return listed


def derive_base(estimator: Any) -> Any:
    """Give the same model without antidotes."""
    params = estimator.get_params(deep=False)
    if GENERATOR in params and "antidote_weight" in params:
        return clone(estimator).set_params(antidote_weight=0.0)
    if GENERATOR in params and hasattr(params.get("estimator"), "fit"):
        return params["estimator"]
    raise TypeError(
        f"{type(estimator).__name__} has no antidotes to be left out, so it is not clear what model to lose against. "
        "Give one as base."
    )


def build_model(estimator: Any, params: Mapping[str, Any], generator: Any, seed: int) -> Any:
    """Make an unfitted model with these parameters; a generator that has learned takes the place of its own."""
    own = {name: value for name, value in params.items() if generator is None or not _is_about_generator(name)}
    model = clone(estimator).set_params(**{name: clone(value, safe=False) for name, value in own.items()})
    seed_unset(model, seed)  # models then differ in their parameters, and not in their luck
    return model if generator is None else model.set_params(**{GENERATOR: generator})


def give_back_generator(model: Any) -> Any:
    """Put the generator itself, frozen, where a sweep had one that remembers."""
    shared = getattr(model, GENERATOR, None)
    if isinstance(shared, RememberingGenerator):
        own = shared.generator
        model.set_params(**{GENERATOR: own if isinstance(own, FrozenEstimator) else FrozenEstimator(own)})
        if getattr(model, "generator_", None) is shared:
            model.generator_ = model.generator
    return model


class SharedGenerators:
    """The generators of a sweep, each of them fitted once: candidates that differ in other things share one."""

    def __init__(self, estimator: Any, train: Rows, seed: int) -> None:
        self._own = estimator.get_params(deep=False).get(GENERATOR)
        self._train, self._seed = train, seed
        self._known: list[tuple[dict[str, Any], Any]] = []

    @property
    def first(self) -> Any:
        """One that has learned; None if none has."""
        return next((generator for _, generator in self._known if generator is not None), None)

    def fit_for(self, params: Mapping[str, Any]) -> Any:
        """Give the generator of a candidate, fitted and frozen; None if there is none to be fitted."""
        asked = {name: value for name, value in params.items() if _is_about_generator(name)}
        for other, fitted in self._known:
            if other == asked:
                return fitted
        generator, is_ready = self.find(params)
        if generator is not None:
            if not is_ready:
                generator = seed_unset(generator, self._seed).fit(self._train.frame, self._train.y)
            generator = RememberingGenerator(generator)
        self._known.append((asked, generator))
        return generator

    def forget(self) -> None:
        """Let go of the antidotes that were made."""
        for _, generator in self._known:
            if generator is not None:
                generator.forget()

    def refuse_several(self, listed: Iterable[Mapping[str, Any]], *, roles: Any, rule: Any) -> None:
        """Refuse a grid whose generators were told different things, unless the search was told what to judge by."""
        generators = list(filter(None, map(self._peek, ({}, *listed))))
        told_roles = [generator.roles for generator in generators if hasattr(generator, "roles")]
        told_rules = [getattr(generator, "comparability", None) or Comparability() for generator in generators]
        for name, many, given, told in (("roles", "roles", roles, told_roles), ("rule", "rules", rule, told_rules)):
            if given is None and any(one != told[0] for one in told):
                raise ValueError(
                    f"The estimator and the grid hold generators of several {many}, and all models have to be judged "
                    f"alike. Give {name} to the search."
                )

    def _peek(self, params: Mapping[str, Any]) -> Any:
        try:
            return self.find(params)[0]
        except Exception:  # it fails again where it is planned, and is shown there
            return None

    def find(self, params: Mapping[str, Any]) -> tuple[Any, bool]:
        """Give the generator of a candidate, and whether it is ready: frozen, because it was fitted when it came."""
        generator = params.get(GENERATOR, self._own)
        start = f"{GENERATOR}__"
        changes = {name.removeprefix(start): value for name, value in params.items() if name.startswith(start)}
        if not hasattr(generator, "generate") or not hasattr(generator, "get_params"):
            return None, False  # the model itself says what is wrong with it
        if hasattr(generator, "schema_") and not changes:
            return generator if isinstance(generator, FrozenEstimator) else FrozenEstimator(generator), True
        return clone(generator).set_params(**changes), False


def plan_candidates(
    estimator: Any, listed: Iterable[Mapping[str, Any]], generators: SharedGenerators, seed: int
) -> list[Candidate]:
    """Make the models of a sweep; one that cannot be made is kept with the reason."""
    planned = []
    for params in listed:
        try:
            planned.append(Candidate(params, build_model(estimator, params, generators.fit_for(params), seed)))
        except Exception as error:  # whatever it is, the others go on, and it is shown
            planned.append(Candidate(params, error=error))
    return planned


def _is_about_generator(name: str) -> bool:
    return name.partition("__")[0] == GENERATOR
