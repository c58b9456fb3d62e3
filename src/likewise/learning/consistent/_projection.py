"""The soft projection of a linear model's inputs, as a transformer."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from likewise._checks import check_flag, check_number
from likewise._estimators import fit_guard
from likewise._random import check_seed, stream
from likewise.comparable import Comparability
from likewise.learning.consistent._linear import pair_covariance, plain_inputs, shrinkage
from likewise.learning.consistent._pair_graph import PairGraph, PairSettings, check_rule, learn_schema
from likewise.nets._internal import InputCoding
from likewise.schema import Roles, Schema
from likewise.schema._internal import array_of_table, is_frame, take_frame, take_labels


@dataclass(eq=False, repr=False)
class PairProjection(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Encode people, and shrink the directions in which comparable people differ.

    The inputs are multiplied by (I + ``strength`` * n * C) ** -1/2, where C is the mean over comparable pairs of the
    outer product of their difference with itself, and n the number of rows. A linear model with an L2 penalty on these
    inputs pays for the gaps of pairs: at 0 it is the plain model, and as the strength grows the inputs tend to a
    projection in which comparable people are equal. :class:`ConsistentClassifier` does the same for a
    LogisticRegression, in units of its loss.

    Parameters
    ----------
    encoder : transformer, optional
        Encodes frames as numbers; a clone of it is fitted. By default numbers are scaled to [0, 1] and categories
        become indicators.
    roles : Roles or Schema
        The roles of the columns. Those of arrays are called x0, x1 and so on.
    rule : Comparability, optional
        When two people are comparable.
    strength : float
        Weight of the pairs.
    balance_labels, balance_people, memory_limit, random_state
        As in :class:`ConsistentClassifier`.

    Attributes
    ----------
    encoder_ : transformer
        The fitted encoder.
    shrinkage_ : array, shape (n_inputs, n_inputs)

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import LinearSVC
    >>> from likewise import PairProjection, load_dataset
    >>> data = load_dataset("planted")
    >>> model = make_pipeline(PairProjection(roles=data.roles, rule=data.rule, strength=0.1), LinearSVC())
    >>> model.fit(data.train.X, data.train.y).predict(data.test.X).shape
    (500,)
    """

    encoder: Any = None
    roles: Roles | Schema | None = None
    rule: Comparability | None = None
    strength: float = 0.1
    _: KW_ONLY
    balance_labels: bool = True
    balance_people: bool = True
    memory_limit: int | str | None = None
    random_state: int | None = None

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the encoder, find the pairs, and learn which directions to shrink.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, or array of numbers
        y : array
            Labels; those of a pair are equal.

        Returns
        -------
        self
        """
        check_number("strength", self.strength, least=0.0)
        for name in ("balance_labels", "balance_people"):
            check_flag(name, getattr(self, name))
        with fit_guard(self):
            frame = take_frame(self, X, y, reset=True)
            codes, classes = take_labels(y)
            schema = self._learn_schema(frame)
            table = schema.encode(frame, classes[codes])
            self.encoder_ = (_Coding(schema.roles) if self.encoder is None else clone(self.encoder)).fit(
                self._shown(X, frame), y
            )
            settings = PairSettings(check_rule(self.rule), self.balance_labels, self.balance_people, self.memory_limit)
            seed = check_seed(self.random_state)
            graph = PairGraph.find(table, settings, np.ones(len(codes)), seed)
            inputs = plain_inputs(self.encoder_.transform(self._shown(X, frame)))
            covariance = pair_covariance(inputs, graph, stream(seed, "pairs of a round"))
            self.shrinkage_ = shrinkage(covariance, self.strength * len(codes))
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the encoded and shrunk inputs.

        Parameters
        ----------
        X : as in :meth:`fit`

        Returns
        -------
        array, shape (n_rows, n_inputs)
        """
        check_is_fitted(self, "shrinkage_")
        frame = take_frame(self, X, reset=False)
        return np.asarray(plain_inputs(self.encoder_.transform(self._shown(X, frame))) @ self.shrinkage_)

    @property
    def _n_features_out(self) -> int:
        """How many columns scikit-learn has to name."""
        return len(self.shrinkage_)

    def _learn_schema(self, frame: Any) -> Schema:
        return learn_schema(self.roles, frame)

    def _shown(self, X: Any, frame: Any) -> Any:
        needs_frame = is_frame(X) or self.encoder is None
        return frame if needs_frame else array_of_table(frame)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class _Coding(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """The inputs of networks as an encoder."""

    def __init__(self, roles: Roles) -> None:
        self.roles = roles

    def fit(self, X: Any, y: Any = None) -> Self:
        self.coding_ = InputCoding.learn(X, self.roles)
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        return self.coding_.encode(X).dense()
