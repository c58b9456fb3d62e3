"""From the method of a row to a fitted model, through the public names of likewise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from sklearn.base import BaseEstimator

from likewise import AugmentedClassifier, Dataset, FrontierSearch
from paper._cells import Spec
from paper._registry import FAST_NETWORK, GENERATORS, MODELS

Method = dict[str, Any]
Generators = Callable[[Spec], Any]  # gives the fitted generator that a cell asks for

FAST_ROUNDS: Final = 2


@dataclass(frozen=True, slots=True)
class Fitted:
    """A model, and what there is to tell of how it came about."""

    model: Any
    told: dict[str, Any] = field(default_factory=dict)


def shorten(method: Method) -> Method:
    """Give the method as the fast mode fits it."""
    short = dict(method)
    if "model" in method:
        short["params"] = method["params"] | MODELS[method["model"]].fast
    if method.get("made") == "sensei":
        short["params"] = method["params"] | FAST_NETWORK
    if method.get("antidotes"):
        few = dict(method["antidotes"])
        kind = GENERATORS[few["generator"]]
        few["params"] = few["params"] | kind.fast
        few["ratio"] = None if few["ratio"] is None else min(few["ratio"], kind.fast_ratio)
        few["rounds"] = None if few["rounds"] is None else min(few["rounds"], FAST_ROUNDS)
        short["antidotes"] = few
    if method.get("tune"):
        grid = {name: values[:1] for name, values in method["tune"]["grid"].items()}
        short["tune"] = method["tune"] | {"grid": grid}
    return short


def generator_spec(spec: Spec) -> Spec | None:
    """Say which generator a cell shares with others; None if it has none to share."""
    antidotes = spec["method"].get("antidotes")
    if not antidotes or GENERATORS[antidotes["generator"]].load is None or spec["method"].get("tune"):
        return None
    shared: Spec = {name: spec[name] for name in ("data", "split", "fold", "seed", "fast") if name in spec}
    if spec["method"]["kind"] == "protocol":
        shared["kind"] = "protocol"  # draws other rows
    return shared | {"generator": antidotes["generator"], "params": antidotes["params"]}


def make_generator(antidotes: Method, data: Dataset, seed: int, device: str) -> Any:
    """Make a generator that has learned nothing yet."""
    kind, params = GENERATORS[antidotes["generator"]], dict(antidotes["params"])
    if kind.load is not None:
        params["device"] = device
    return kind.make(data.roles, data.rule, random_state=seed, **params)


def make_antidotes(spec: Spec, method: Method, data: Dataset, generators: Generators) -> Any:
    """Make the antidotes of a cell, of training rows only."""
    wanted = method["antidotes"]
    amount = {name: wanted[name] for name in ("ratio", "rounds") if wanted[name] is not None}
    return generators(spec).generate(data.train.X, data.train.y, **amount, random_state=spec["seed"])


def fit_method(spec: Spec, data: Dataset, generators: Generators, device: str) -> Fitted:
    """Fit the model of a cell to the training rows."""
    method, seed = spec["method"], spec["seed"]
    if spec["fast"]:
        method = shorten(method)
    if method["tune"] is not None:
        return _fit_tuned(method, data, seed, device)
    X, y = data.train.X, data.train.y
    if method["antidotes"] is None:
        return Fitted(make_model(method, data, seed, device).fit(X, y))
    antidotes = make_antidotes(spec, method, data, generators)
    told = {"antidote_ratio": antidotes.ratio, "antidote_coverage": antidotes.coverage}
    if MODELS[method["model"]].antidotes == "by row":
        return Fitted(make_model(method, data, seed, device).fit(X, y, antidotes=antidotes), told)
    rows, labels = antidotes.append_to(X, y)
    return Fitted(make_model(method, data, seed, device).fit(rows, labels), told)


def _fit_tuned(method: Method, data: Dataset, seed: int, device: str) -> Fitted:
    """Search by cross-validation among the training rows; then fit to all of them."""
    generator = make_generator(method["antidotes"], data, seed, device)
    estimator = make_model(method, data, seed, device)
    if MODELS[method["model"]].antidotes == "by row":
        amount = {} if method["antidotes"]["rounds"] is None else {"rounds": method["antidotes"]["rounds"]}
        estimator.set_params(generator=generator, **amount)
    else:
        estimator = AugmentedClassifier(estimator, generator, ratio=method["antidotes"]["ratio"], random_state=seed)
    asked = {name: value for name, value in method["tune"].items() if name != "grid"}
    search = FrontierSearch(
        estimator,
        method["tune"]["grid"],
        roles=data.roles,
        rule=data.rule,
        **{"folds": 3, "n_resamples": 0, "random_state": seed, **asked},
    )
    search.fit(data.train.X, data.train.y)
    made = getattr(search.best_estimator_, "antidotes_", None)
    ratio = 0.0 if made is None else made.ratio
    return Fitted(search.best_estimator_, {"tuned": search.best_params_, "antidote_ratio": ratio})


def make_model(method: Method, data: Dataset, seed: int, device: str) -> Any:
    """Make a model that has learned nothing yet; networks train on the device."""
    model = MODELS[method["model"]].make(data, seed, method["columns"], method["params"])
    params = model.get_params() if isinstance(model, BaseEstimator) else {}  # somebody's own need not be one
    networks = [name for name in params if name.split("__")[-1] == "device" and params[name] == "cpu"]
    return model.set_params(**dict.fromkeys(networks, device)) if networks else model
