"""One fit with pairs: the parts of a pipeline, the pairs of its rows, and the way for each kind of model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse, vstack
from sklearn.frozen import FrozenEstimator

from likewise._random import stream
from likewise.exceptions import ParameterError
from likewise.learning._pipeline import encode_again, encode_first, encode_held_out, split_pipeline
from likewise.learning.consistent._boosting import Booster, Objective, booster_of
from likewise.learning.consistent._linear import fit_linear, is_linear, pair_covariance, plain_inputs
from likewise.learning.consistent._pair_graph import Groups, Numbers, PairGraph, PairSettings
from likewise.learning.consistent._pair_loss import GapKind, PairLoss, PairLossKind
from likewise.nets._internal import BaseNetworkClassifier
from likewise.schema._internal import is_frame, stack_frames

CLASSIFIERS = "XGBClassifier, LGBMClassifier, LogisticRegression, NetworkClassifier and AntiDROClassifier"
REGRESSORS = "XGBRegressor, LGBMRegressor and Ridge"


class Kind(NamedTuple):
    """How an estimator takes pairs: by one of these ways."""

    booster: Booster | None = None
    is_linear: bool = False
    is_network: bool = False


def find_kind(estimator: Any, *, is_classifier: bool) -> Kind:
    """Return how an estimator takes pairs, or refuse it in one line that says which do."""
    if not isinstance(estimator, type | FrozenEstimator):
        booster = booster_of(estimator, is_classifier=is_classifier)
        if booster is not None:
            return Kind(booster=booster)
        if is_linear(estimator, is_classifier=is_classifier):
            return Kind(is_linear=True)
        if is_classifier and isinstance(estimator, BaseNetworkClassifier) and estimator._takes_pairs:
            return Kind(is_network=True)
    is_class = isinstance(estimator, type)
    shown = f"the class {estimator.__name__}" if is_class else f"a {type(estimator).__name__}"
    known = CLASSIFIERS if is_classifier else REGRESSORS
    also = "AugmentedClassifier takes any classifier" if is_classifier else "AugmentedRegressor takes any regressor"
    raise ParameterError(
        f"is {shown}. Pairs can be put into the loss of {known}, also as the last step of a Pipeline. {also}.",
        "estimator",
    )


def stack_rows(above: Any, below: Any) -> Any:
    """Put encoded rows below others of the same kind."""
    if issparse(above):
        return vstack([above, below], format="csr")
    return stack_frames(above, below) if is_frame(above) else np.concatenate([np.asarray(above), np.asarray(below)])


@dataclass(eq=False, kw_only=True)
class PairedFit:
    """Everything that one fit needs besides the estimator; ``added`` are rows that only pairs use."""

    shown: Any
    target: NDArray[Any]
    weights: Numbers | None
    groups: Groups
    settings: PairSettings
    weight: float
    kind: PairLossKind
    gap: GapKind
    n_classes: int  # 1 for outcomes
    seed: int
    added: Any = None
    added_sources: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, np.intp))

    @cached_property
    def graph(self) -> PairGraph:
        """The weighted pairs of all rows, those that only pairs use included."""
        return PairGraph.weigh(self.groups, self._masses(), self.settings)

    def _masses(self) -> Numbers:
        own = np.ones(len(self.target)) if self.weights is None else self.weights
        return np.concatenate([own, own[self.added_sources]])

    def fit(self, estimator: Any, how: Kind, given: Mapping[str, Any]) -> Any:
        """Fit an estimator, a pipeline or not, and return it."""
        around, last = split_pipeline(estimator)
        if how.is_network:
            return self._fit_network(estimator, around, last, given)
        encoded = encode_first(around, self.shown, self.target)
        if encoded.shape[0] != len(self.target):
            raise ParameterError(
                f"has a step that makes {encoded.shape[0]:,} rows of {len(self.target):,}; pairs need the rows as "
                "they are. Put that step outside.",
                "estimator",
            )
        if self.added is not None:
            encoded = stack_rows(encoded, encode_again(around, self.added))
        given = encode_held_out(around, given)
        if how.booster is not None:
            self._fit_booster(last, how.booster, encoded, given)
        else:
            self._fit_linear(last, encoded, given)
        return estimator

    def _fit_booster(self, last: Any, booster: Booster, encoded: Any, given: dict[str, Any]) -> None:
        own = np.ones(len(self.target)) if self.weights is None else self.weights
        target, weights = self.target, self.weights
        if len(self.added_sources):  # they have pairs, but no loss of their own
            target = np.concatenate([target, target[self.added_sources]])
            weights = np.concatenate([own, np.zeros(len(self.added_sources))])
        if weights is not None:
            given["sample_weight"] = weights
        objective = Objective(
            PairLoss(self.graph, self.kind, self.seed),
            self.weight,
            gap=self.gap,
            target=target,
            n_classes=self.n_classes,
            weights=weights,
            label_weights=booster.label_weights(last, self.target, own) if self.n_classes > 1 else None,
        )
        booster.fit(last, encoded, target, objective, given)

    def _fit_linear(self, last: Any, encoded: Any, given: dict[str, Any]) -> None:
        if self.kind != "squared":
            raise ParameterError(
                f"is {self.kind!r}, but a linear model's penalty is squared. Use 'squared'.", "pair_loss"
            )
        if self.weights is not None:
            given["sample_weight"] = self.weights
        covariance = pair_covariance(plain_inputs(encoded), self.graph, stream(self.seed, "pairs of a round"))
        own = encoded if self.added is None else encoded[: len(self.target)]
        fit_linear(*(last, own, self.target, self.weights, covariance), weight=self.weight, gap=self.gap, given=given)

    def _fit_network(self, estimator: Any, around: list[Any], last: Any, given: Mapping[str, Any]) -> Any:
        if self.added is not None:
            raise ParameterError(
                "is given, but a network takes antidotes by itself. Use an AntiDROClassifier as estimator.", "generator"
            )
        encoded = encode_first(around, self.shown, self.target)
        known = dict(given) | ({} if self.weights is None else {"sample_weight": self.weights})
        last._added_loss = partial(self._pair_network, last.batch_size)
        try:
            last.fit(encoded, self.target, **known)
        finally:
            del last._added_loss
        return estimator

    def _pair_network(self, batch_size: int, objective: Any, network: Any, people: Any) -> Any:
        """Add pairs of the rows that are trained on to the objective of a network."""
        from likewise.learning.consistent._network import PairedLoss

        mass = np.zeros(len(self.target))
        mass[people.train] = self._masses()[people.train]
        n_pairs = max(min(batch_size, len(people.train)) // 4, 1)  # half as many people as there are rows in a batch
        return PairedLoss(
            objective,
            network,
            people,
            PairGraph.weigh(self.groups, mass, self.settings),
            kind=self.kind,
            gap=self.gap,
            weight=self.weight,
            n_pairs=n_pairs,
            random=stream(self.seed, "pairs of a step"),
        )
