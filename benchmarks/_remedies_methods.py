"""The models that the remedies are compared on, and the values that are searched for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Final

from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from xgboost import XGBClassifier

from likewise import (
    AntiDROClassifier,
    AugmentedClassifier,
    ConsistentClassifier,
    Dataset,
    GibbsGenerator,
    NetworkClassifier,
    SmoothedScores,
    SmoothedTargetsClassifier,
)
from likewise.baselines import DropSensitive

NETWORK: Final = {"n_iterations": 2_000, "halve_every": 500, "scaling": "deviation", "weight_decay": 1e-3}
GIBBS_STEPS: Final = 400

TREES, HISTOGRAMS, LINEAR, NET = "XGBoost", "HistGradientBoosting", "logistic regression", "network"
Setting = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Remedy:
    """What is done to a model against gaps, and the values that are tried."""

    model: str
    name: str
    make: Callable[[Dataset, Any, int], Any]  # of training rows, the plain model and a seed
    settings: tuple[Setting, ...] = ()

    @property
    def title(self) -> str:
        return f"{self.model}, {self.name}"

    def is_current(self, cell: dict[str, Any]) -> bool:
        """Whether a stored cell was chosen among the values that are tried now."""
        return "failed" not in cell and cell["tried"] == [*self.settings]

    def fit_all(self, data: Dataset, plain: Any, seed: int) -> Iterator[Any]:
        """Fit a model for each of the values that are tried."""
        model, X, y = self.make(data, plain, seed), data.train.X, data.train.y
        if not hasattr(model, "fit_path"):
            yield from (clone(model).set_params(**setting).fit(X, y) for setting in self.settings)
            return
        for hides, settings in groupby(self.settings, lambda setting: setting["discard_sensitive"]):
            weights = [{name: value for name, value in one.items() if name != "discard_sensitive"} for one in settings]
            yield from model.set_params(discard_sensitive=hides).fit_path(X, y, weights)


def make_plain(model: str, data: Dataset, seed: int) -> Any:
    """Return a plain model that is not fitted yet."""
    roles = data.roles
    words, numbers = [*roles.sensitive, *roles.discrete], [*roles.continuous]
    if model == NET:
        return NetworkClassifier(roles=roles, random_state=seed, device="cpu", **NETWORK)  # type: ignore[arg-type]  # values of several types
    if model == LINEAR:
        coding = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), words), (StandardScaler(), numbers))
        return make_pipeline(coding, LogisticRegression(max_iter=1000))
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    coding = make_column_transformer((codes, words), ("passthrough", numbers))
    if model == HISTOGRAMS:
        trees = HistGradientBoostingClassifier(max_iter=150, early_stopping=False, random_state=seed)
    else:
        trees = XGBClassifier(n_estimators=150, max_depth=6, learning_rate=0.1, n_jobs=1, random_state=seed)
    return make_pipeline(coding, trees)


def _plain(data: Dataset, plain: Any, seed: int) -> Any:
    return plain


def _unaware(model: str) -> Callable[[Dataset, Any, int], Any]:
    def make(data: Dataset, plain: Any, seed: int) -> Any:
        seen = replace(data, roles=replace(data.roles, sensitive=(), bins={}))
        return make_pipeline(DropSensitive(data.roles), make_plain(model, seen, seed))

    return make


def _pairs(data: Dataset, plain: Any, seed: int) -> Any:
    return ConsistentClassifier(plain, data.roles, data.rule, pair_loss=_loss(plain), random_state=seed)


def _targets(data: Dataset, plain: Any, seed: int) -> Any:
    return SmoothedTargetsClassifier(plain, data.roles, data.rule, pair_loss=_loss(plain), random_state=seed)


def _loss(plain: Any) -> str:
    return "absolute" if isinstance(plain, NetworkClassifier) else "squared"


def _antidotes(data: Dataset, plain: Any, seed: int) -> Any:
    return AugmentedClassifier(plain, _generator(data, seed), random_state=seed)


def _antidro(data: Dataset, plain: Any, seed: int) -> Any:
    return AntiDROClassifier(
        _generator(data, seed),
        objective="consistency",
        rounds=1,
        random_state=seed,
        device="cpu",
        **NETWORK,  # type: ignore[arg-type]  # values of several types
    )


def _batch(data: Dataset, plain: Any, seed: int) -> Any:
    fitted = FrozenEstimator(clone(plain).fit(data.train.X, data.train.y))
    return SmoothedScores(fitted, data.roles, data.rule, graph="people")


def _generator(data: Dataset, seed: int) -> Any:
    """Return a generator that is fitted once for all values that are tried."""
    generator = GibbsGenerator(data.roles, data.rule, n_iterations=GIBBS_STEPS, random_state=seed, device="cpu")
    return FrozenEstimator(generator.fit(data.train.X, data.train.y))


def _tried(name: str, *values: float) -> tuple[Setting, ...]:
    return tuple({name: value} for value in values)


def _seeing_or_not(settings: tuple[Setting, ...]) -> tuple[Setting, ...]:
    """Try settings with the sensitive columns hidden from the model, and with them."""
    return tuple({**setting, "discard_sensitive": hides} for hides in (True, False) for setting in settings)


BOTH: Final = tuple(
    {"strength": s, "pair_weight": w} for s, w in ((1.0, 0.1), (3.0, 0.3), (10.0, 0.3), (10.0, 1.0), (30.0, 3.0))
)
NET_BOTH: Final = tuple({"strength": s, "pair_weight": w} for s, w in ((3.0, 0.03), (10.0, 0.1), (30.0, 0.3)))


def _remedies_for(model: str) -> Iterator[Remedy]:
    is_net = model == NET
    yield Remedy(model, "plain", _plain)
    yield Remedy(model, "without the sensitive columns", _unaware(model))
    if is_net:
        yield Remedy(model, "AntiDRO", _antidro, _tried("antidote_weight", 0.5, 2.0))
    else:
        yield Remedy(model, "antidotes", _antidotes, _tried("ratio", 0.3, 1.0))
    strengths = (1.0, 3.0, 10.0) if is_net else (1.0, 3.0, 10.0, 30.0)
    if model != HISTOGRAMS:
        weights = (0.1, 0.3, 1.0) if is_net else (0.25, 1.0, 4.0, 16.0)
        yield Remedy(model, "pairs in the loss", _pairs, _tried("pair_weight", *weights))
    yield Remedy(model, "smoothed targets", _targets, _seeing_or_not(_tried("strength", *strengths)))
    if model != HISTOGRAMS:
        yield Remedy(model, "smoothed targets and pairs", _targets, _seeing_or_not(NET_BOTH if is_net else BOTH))
    yield Remedy(model, "smoothed for a batch", _batch, _tried("smoothing", 0.3, 1.0, 3.0, 10.0, 30.0))


REMEDIES: Final = tuple(remedy for model in (TREES, HISTOGRAMS, LINEAR, NET) for remedy in _remedies_for(model))
