"""The models that the remedies are compared on, and the values that are searched for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from sklearn.compose import make_column_transformer
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
)
from likewise.frontier import WeightRange

NETWORK: Final = {"n_iterations": 2_000, "halve_every": 500, "scaling": "deviation", "weight_decay": 1e-3}
GIBBS_STEPS: Final = 400
WEIGHTS: Final = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)

Grid = dict[str, Any]  # values, or a range of them


@dataclass(frozen=True, slots=True)
class Remedy:
    """What is done to a model against gaps, and the values that are tried."""

    model: str
    name: str
    make: Callable[[Dataset, Any, int], Any] | None = None  # of the data, the plain model and a seed
    grid: Grid | None = None

    @property
    def title(self) -> str:
        return f"{self.model}, {self.name}"

    @property
    def tried(self) -> str | None:
        """The range of values that a search tries, in words; None where they are listed."""
        ranges = [f"{name}: {one}" for name, one in (self.grid or {}).items() if isinstance(one, WeightRange)]
        return "; ".join(ranges) or None

    def is_current(self, cell: dict[str, Any]) -> bool:
        """Whether a stored cell was chosen among the values that are tried now."""
        return "failed" not in cell and cell.get("tried") == self.tried


def make_plain(model: str, data: Dataset, seed: int) -> Any:
    """Return a plain model that is not fitted yet."""
    roles = data.roles
    words = [*roles.sensitive, *roles.discrete]
    if model == "network":
        return NetworkClassifier(roles=roles, random_state=seed, device="cpu", **NETWORK)  # type: ignore[arg-type]  # values of several types
    if model == "logistic regression":
        coding = make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), words), (StandardScaler(), [*roles.continuous])
        )
        return make_pipeline(coding, LogisticRegression(max_iter=1000))
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    coding = make_column_transformer((codes, words), remainder="passthrough")
    trees = XGBClassifier(n_estimators=150, max_depth=6, learning_rate=0.1, n_jobs=1, random_state=seed)
    return make_pipeline(coding, trees)


def _pairs(data: Dataset, plain: Any, seed: int) -> Any:
    return ConsistentClassifier(plain, data.roles, data.rule, random_state=seed)


def _absolute(data: Dataset, plain: Any, seed: int) -> Any:
    return ConsistentClassifier(plain, data.roles, data.rule, pair_loss="absolute", random_state=seed)


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


def _smoothed(data: Dataset, plain: Any, seed: int) -> Any:
    return SmoothedScores(plain, data.roles, data.rule, graph="people")


def _smoothed_by_reference(data: Dataset, plain: Any, seed: int) -> Any:
    return SmoothedScores(plain, data.roles, data.rule, graph="reference")


def _generator(data: Dataset, seed: int) -> GibbsGenerator:
    return GibbsGenerator(data.roles, data.rule, n_iterations=GIBBS_STEPS, random_state=seed, device="cpu")


TREES, LINEAR, NET = "XGBoost", "logistic regression", "network"
SMOOTHINGS: Final[Grid] = {"smoothing": [0.3, 1.0, 3.0, 10.0, 30.0]}
REMEDIES: Final = (
    Remedy(TREES, "plain"),
    Remedy(TREES, "antidotes", _antidotes, {"ratio": [0.3, 1.0]}),
    Remedy(TREES, "pairs", _pairs, {"pair_weight": [*WEIGHTS]}),
    Remedy(TREES, "smoothed over the test people", _smoothed, SMOOTHINGS),
    Remedy(TREES, "smoothed against the training people", _smoothed_by_reference, SMOOTHINGS),
    Remedy(LINEAR, "plain"),
    Remedy(LINEAR, "antidotes", _antidotes, {"ratio": [0.3, 1.0]}),
    Remedy(LINEAR, "pairs", _pairs, {"pair_weight": [*WEIGHTS]}),
    Remedy(NET, "plain"),
    Remedy(NET, "AntiDRO", _antidro, {"antidote_weight": [0.5, 2.0]}),
    Remedy(NET, "pairs", _absolute, {"pair_weight": WeightRange(0.03, 3.0, n_values=4)}),
    Remedy(NET, "smoothed over the test people", _smoothed, SMOOTHINGS),
)
