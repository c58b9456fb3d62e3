"""From the method of a row to a fitted model, through the public names of likewise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from likewise import (
    AdversarialGenerator,
    AntiDROClassifier,
    AugmentedClassifier,
    Dataset,
    FrontierSearch,
    GibbsGenerator,
    NetworkClassifier,
    Roles,
    UniformGenerator,
)
from likewise.baselines import DropSensitive, LCIFRClassifier, ProjectSensitive, SenSeIClassifier, SenSRClassifier
from paper._cells import Spec

Method = dict[str, Any]
Generators = Callable[[Spec], Any]  # gives the fitted generator that a cell asks for

GENERATORS: Final[dict[str, Any]] = {
    "adversarial": AdversarialGenerator,
    "gibbs": GibbsGenerator,
    "uniform": UniformGenerator,
}
ATTACKED: Final[dict[str, Any]] = {"sensr": SenSRClassifier, "sensei": SenSeIClassifier, "lcifr": LCIFRClassifier}
NETWORKS: Final = ("network", "antidro", *ATTACKED)

# What the fast mode takes instead: enough to see directions, not to compare numbers.
FAST_NETWORK: Final = {"n_iterations": 1_000, "halve_every": 250}
FAST_GENERATORS: Final[dict[str, Method]] = {
    "adversarial": {"n_iterations": 800, "batch_size": 256, "width": 64, "evaluate_every": 100, "max_modes": 3},
    "gibbs": {"n_iterations": 300, "width": 64},
    "uniform": {},
}
FAST_RATIOS: Final = {"adversarial": 0.3, "gibbs": 0.3, "uniform": 5.0}  # at most; few rows they make are comparable
FAST_ROUNDS: Final = 2


class Lacking(Exception):
    """A package that a cell needs is not here: the cell is left for another machine."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A model, and what there is to tell of how it came about."""

    model: Any
    told: dict[str, Any] = field(default_factory=dict)


def shorten(method: Method) -> Method:
    """Give the method as the fast mode fits it."""
    short = dict(method)
    if method.get("model") in NETWORKS or method.get("made") == "sensei":
        short["params"] = method["params"] | FAST_NETWORK
    if method.get("antidotes"):
        few = dict(method["antidotes"])
        few["params"] = few["params"] | FAST_GENERATORS[few["generator"]]
        few["ratio"] = None if few["ratio"] is None else min(few["ratio"], FAST_RATIOS[few["generator"]])
        few["rounds"] = None if few["rounds"] is None else min(few["rounds"], FAST_ROUNDS)
        short["antidotes"] = few
    if method.get("tune"):
        grid = {name: values[:1] for name, values in method["tune"]["grid"].items()}
        short["tune"] = method["tune"] | {"grid": grid}
    return short


def generator_spec(spec: Spec) -> Spec | None:
    """Say which generator a cell shares with others; None if it has none to share."""
    antidotes = spec["method"].get("antidotes")
    if not antidotes or antidotes["generator"] == "uniform" or spec["method"].get("tune"):
        return None
    shared = {name: spec[name] for name in ("data", "split", "seed", "fast") if name in spec}
    return shared | {"generator": antidotes["generator"], "params": antidotes["params"]}


def make_generator(antidotes: Method, data: Dataset, seed: int, device: str) -> Any:
    """Make a generator that has learned nothing yet."""
    params = dict(antidotes["params"])
    if antidotes["generator"] != "uniform":
        params["device"] = device
    return GENERATORS[antidotes["generator"]](data.roles, data.rule, random_state=seed, **params)


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
        return Fitted(make_model(method, data, seed).fit(X, y))
    antidotes = make_antidotes(spec, method, data, generators)
    told = {"antidote_ratio": antidotes.ratio, "antidote_coverage": antidotes.coverage}
    if method["model"] == "antidro":
        model = AntiDROClassifier(None, device="cpu", random_state=seed, **method["params"])
        return Fitted(model.fit(X, y, antidotes=antidotes), told)
    rows, labels = antidotes.append_to(X, y)
    return Fitted(make_model(method, data, seed).fit(rows, labels), told)


def _fit_tuned(method: Method, data: Dataset, seed: int, device: str) -> Fitted:
    """Search on a part of the training rows, which neither generator nor model has seen; then fit to all of them."""
    generator = make_generator(method["antidotes"], data, seed, device)
    estimator: Any
    if method["model"] == "antidro":
        amount = {} if method["antidotes"]["rounds"] is None else {"rounds": method["antidotes"]["rounds"]}
        estimator = AntiDROClassifier(generator, device="cpu", random_state=seed, **amount, **method["params"])
    else:
        model = make_model(method, data, seed)
        estimator = AugmentedClassifier(model, generator, ratio=method["antidotes"]["ratio"], random_state=seed)
    asked = {name: value for name, value in method["tune"].items() if name != "grid"}
    search = FrontierSearch(
        estimator,
        method["tune"]["grid"],
        roles=data.roles,
        rule=data.rule,
        n_resamples=0,
        random_state=seed,
        **asked,
    )
    search.fit(data.train.X, data.train.y)
    made = getattr(search.best_estimator_, "antidotes_", None)
    ratio = 0.0 if made is None else made.ratio
    return Fitted(search.best_estimator_, {"tuned": search.best_params_, "antidote_ratio": ratio})


def make_model(method: Method, data: Dataset, seed: int) -> Any:
    """Make a model that has learned nothing yet."""
    kind, params, roles = method["model"], method["params"], data.roles
    if kind in ATTACKED:
        known = {"comparability": data.rule} if kind == "lcifr" else {}
        return ATTACKED[kind](roles, device="cpu", random_state=seed, **known, **params)
    if kind == "network":
        return _make_network(method["columns"], roles, seed, params)
    return _make_plain(kind, method["columns"], roles, seed, params)


def _make_network(columns: str, roles: Roles, seed: int, params: Method) -> Any:
    from sklearn.pipeline import make_pipeline

    if columns == "projected":
        mixed = NetworkClassifier(scaling="none", device="cpu", random_state=seed, **params)
        return make_pipeline(ProjectSensitive(roles), mixed)
    if columns == "dropped":
        left = NetworkClassifier(roles=replace(roles, sensitive=()), device="cpu", random_state=seed, **params)
        return make_pipeline(DropSensitive(roles), left)
    return NetworkClassifier(roles=roles, device="cpu", random_state=seed, **params)


def _make_plain(kind: str, columns: str, roles: Roles, seed: int, params: Method) -> Any:
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

    names = [*(roles.sensitive if columns == "all" else ()), *roles.discrete]
    is_linear = kind == "linear"
    coding: Any = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=is_linear), names),
        (MinMaxScaler() if is_linear else "passthrough", [*roles.continuous]),
    )
    if columns == "projected":
        coding = ProjectSensitive(roles)
    if is_linear:
        return make_pipeline(coding, LogisticRegression(max_iter=2048, **params))
    if kind == "xgboost":
        return make_pipeline(coding, _make_xgboost(seed, params))
    return make_pipeline(coding, HistGradientBoostingClassifier(random_state=seed, **params))


def _make_xgboost(seed: int, params: Method) -> Any:
    try:
        import xgboost
    except ImportError:
        raise Lacking("xgboost") from None
    return xgboost.XGBClassifier(n_jobs=1, random_state=seed, **params)
