"""What a row can name: models, generators and data sets. Each is one entry here; files of others add theirs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Final, Literal

from likewise import (
    AdversarialGenerator,
    AntiDROClassifier,
    ConsistentClassifier,
    Dataset,
    GibbsGenerator,
    NetworkClassifier,
    Roles,
    SmoothedScores,
    UniformGenerator,
    list_datasets,
    load_dataset,
)
from likewise.baselines import DropSensitive, LCIFRClassifier, ProjectSensitive, SenSeIClassifier, SenSRClassifier

OWN_SPLIT: Final = ("adult",)  # comes split; of any other the published split is unknown, and every seed draws one
# What the fast mode takes instead: enough to see directions, not to compare numbers.
FAST_NETWORK: Final = {"n_iterations": 1_000, "halve_every": 250}
FAST_ADVERSARIAL: Final = {
    **{"n_epochs": None, "n_iterations": 800, "batch_size": 256, "width": 64, "evaluate_every": 100, "max_modes": 3}
}

Params = Mapping[str, Any]


class Lacking(Exception):
    """A package that a cell needs is not here: the cell is left for another machine."""


@dataclass(frozen=True, slots=True)
class Model:
    """How to make a classifier that has learned nothing yet, and what it takes.

    ``make`` has the data set (for roles and rule, not for rows), the seed, which columns to use, and parameters.
    ``antidotes`` says how it takes them: as further rows, as antidotes of each row, or not at all.
    """

    make: Callable[[Dataset, int, str, Params], Any]
    antidotes: Literal["rows", "by row", "none"] = "rows"
    any_columns: bool = True  # or all of them only
    is_sure: bool = False  # without antidotes, every seed gives the same
    fast: Params = field(default_factory=dict)
    cost: float = 1.0  # processor seconds on Adult, roughly: the longest come first


@dataclass(frozen=True, slots=True)
class Generator:
    """How to make a generator, and how to load a saved one; None where it is quicker to fit it again."""

    make: Callable[..., Any]
    load: Callable[..., Any] | None
    fast: Params = field(default_factory=dict)
    fast_ratio: float = 0.3  # at most; few rows that a hardly trained generator makes are comparable


def _make_network(data: Dataset, seed: int, columns: str, params: Params) -> Any:
    from sklearn.pipeline import make_pipeline

    roles, shared = data.roles, {"device": "cpu", "random_state": seed, **params}
    if columns == "projected":
        return make_pipeline(ProjectSensitive(roles), NetworkClassifier(scaling="none", **shared))
    if columns == "dropped":
        left = NetworkClassifier(roles=replace(roles, sensitive=()), **shared)
        return make_pipeline(DropSensitive(roles), left)
    return NetworkClassifier(roles=roles, **shared)


def _make_linear(data: Dataset, seed: int, columns: str, params: Params) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    coding = _make_coding(data.roles, columns, is_linear=True)
    return make_pipeline(coding, LogisticRegression(max_iter=2048, **params))


def _make_xgboost(data: Dataset, seed: int, columns: str, params: Params) -> Any:
    from sklearn.pipeline import make_pipeline

    try:
        import xgboost
    except ImportError:
        raise Lacking("xgboost") from None
    boosted = xgboost.XGBClassifier(n_jobs=1, random_state=seed, **params)
    return make_pipeline(_make_coding(data.roles, columns, is_linear=False), boosted)


def _make_histogram(data: Dataset, seed: int, columns: str, params: Params) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.pipeline import make_pipeline

    boosted = HistGradientBoostingClassifier(random_state=seed, **params)
    return make_pipeline(_make_coding(data.roles, columns, is_linear=False), boosted)


def _make_coding(roles: Roles, columns: str, *, is_linear: bool) -> Any:
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

    if columns == "projected":
        return ProjectSensitive(roles)
    names = [*(roles.sensitive if columns == "all" else ()), *roles.discrete]
    return make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=is_linear), names),
        (MinMaxScaler() if is_linear else "passthrough", [*roles.continuous]),
    )


def _attacked(kind: Any, **known: Callable[[Dataset], Any]) -> Callable[[Dataset, int, str, Params], Any]:
    def make(data: Dataset, seed: int, columns: str, params: Params) -> Any:
        more = {name: find(data) for name, find in known.items()}
        return kind(data.roles, device="cpu", random_state=seed, **more, **params)

    return make


def _antidro(make: Callable[..., Any]) -> Callable[[Dataset, int, str, Params], Any]:
    return lambda data, seed, columns, params: make(device="cpu", random_state=seed, **params)


PAIR_PARAMS: Final = ("pair_weight", "pair_loss", "gap", "balance_labels", "balance_people")


def _with_pairs(base: str) -> Callable[[Dataset, int, str, Params], Any]:
    """Put pairs into the loss of another model; the parameters that are not of pairs are the model's."""

    def make(data: Dataset, seed: int, columns: str, params: Params) -> Any:
        mine = {name: value for name, value in params.items() if name in PAIR_PARAMS}
        inner = MODELS[base].make(data, seed, columns, {k: v for k, v in params.items() if k not in PAIR_PARAMS})
        return ConsistentClassifier(inner, data.roles, data.rule, random_state=seed, **mine)

    return make


def _smoothed(base: str) -> Callable[[Dataset, int, str, Params], Any]:
    """Smooth the scores of another model; the parameters that are not of smoothing are the model's."""

    def make(data: Dataset, seed: int, columns: str, params: Params) -> Any:
        mine = {name: value for name, value in params.items() if name in ("smoothing", "graph")}
        inner = MODELS[base].make(data, seed, columns, {k: v for k, v in params.items() if k not in mine})
        return SmoothedScores(inner, data.roles, data.rule, **mine)

    return make


MODELS: Final[dict[str, Model]] = {
    "linear": Model(_make_linear, is_sure=True),
    "network": Model(_make_network, fast=FAST_NETWORK, cost=10),
    "xgboost": Model(_make_xgboost, is_sure=True, cost=5),
    "hist_gradient_boosting": Model(_make_histogram, is_sure=True),
    "sensr": Model(_attacked(SenSRClassifier), "none", any_columns=False, fast=FAST_NETWORK, cost=90),
    "sensei": Model(_attacked(SenSeIClassifier), "none", any_columns=False, fast=FAST_NETWORK, cost=60),
    "lcifr": Model(
        _attacked(LCIFRClassifier, rule=lambda data: data.rule),
        *("none", False, False, FAST_NETWORK, 120),
    ),
    "antidro": Model(_antidro(AntiDROClassifier), "by row", any_columns=False, fast=FAST_NETWORK, cost=25),
    "antidro_printed": Model(
        _antidro(AntiDROClassifier.as_printed), "by row", any_columns=False, fast=FAST_NETWORK, cost=25
    ),
    "pairs_linear": Model(_with_pairs("linear"), "none", cost=5),
    "pairs_xgboost": Model(_with_pairs("xgboost"), "none", cost=20),
    "pairs_network": Model(_with_pairs("network"), "none", fast=FAST_NETWORK, cost=30),
    "smoothed_linear": Model(_smoothed("linear"), "none", cost=3),
    "smoothed_xgboost": Model(_smoothed("xgboost"), "none", cost=10),
    "smoothed_network": Model(_smoothed("network"), "none", fast=FAST_NETWORK, cost=15),
}
GENERATORS: Final[dict[str, Generator]] = {
    "adversarial": Generator(AdversarialGenerator, AdversarialGenerator.load, FAST_ADVERSARIAL),
    "adversarial_printed": Generator(AdversarialGenerator.as_printed, AdversarialGenerator.load, FAST_ADVERSARIAL),
    "gibbs": Generator(GibbsGenerator, GibbsGenerator.load, {"n_iterations": 300, "width": 64}),
    "uniform": Generator(UniformGenerator, None, fast_ratio=5.0),
}
# by name: the data set of a split
DATASETS: Final[dict[str, Callable[[int], Dataset]]] = {}


def dataset_names() -> list[str]:
    """Name every data set that a row can name."""
    return [*(record.name for record in list_datasets()), *DATASETS]


@cache
def load(name: str, split: int = 0) -> Dataset:
    """Load a data set once a process."""
    return DATASETS[name](split) if name in DATASETS else load_dataset(name, split_seed=split)
