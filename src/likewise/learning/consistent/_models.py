"""Classifiers and regressors that are fitted with the comparable pairs of their training rows in the loss."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import assert_all_finite, column_or_1d

from likewise._checks import check_choice
from likewise._estimators import PredictsByProbability
from likewise.exceptions import ParameterError, SchemaError
from likewise.learning._inner_estimator import if_offered, split_pipeline
from likewise.learning.consistent._base import Answers, ConsistentModel, Kind
from likewise.learning.consistent._pair_loss import GAPS, GapKind
from likewise.schema._internal import take_labels


@dataclass(eq=False, repr=False, kw_only=True)
class ConsistentClassifier(PredictsByProbability, ClassifierMixin, ConsistentModel):  # type: ignore[misc]  # scikit-learn ships no types
    """Fit a classifier with the comparable pairs of its training rows in the loss.

    The loss is the mean log loss over rows, plus ``pair_weight`` times the mean over comparable pairs of the squared
    gap between the two people's scores. No antidotes are needed. It works for

    - boosted trees: ``XGBClassifier`` and ``LGBMClassifier``, by their objective;
    - linear models: ``LogisticRegression`` with its L2 penalty, by the covariance of pairs as a further penalty;
    - networks: :class:`NetworkClassifier` and :class:`AntiDROClassifier`, by a batch of pairs in each step;

    and for pipelines that end with one of them. Any other classifier can be wrapped in an
    :class:`AugmentedClassifier`.

    Parameters
    ----------
    estimator : classifier
        A clone of it is fitted. Its objective must be unset: it is the log loss. ``HistGradientBoostingClassifier``
        takes no other objective than its own by its public parameters, and so no pairs.
    roles : Roles or Schema
        The roles of the columns. Those of arrays are called x0, x1 and so on.
    rule : Comparability, optional
        When two people are comparable.
    pair_weight : float
        Weight of the pairs. With 0 this is the plain estimator, and gaps fall as it grows.
        :class:`FrontierSearch` chooses one.
    pair_loss : {"squared", "absolute"}
        Whether the mean is of squared or of absolute gaps (which are rounded off below 0.01). Linear models have the
        squared ones only.
    gap : {"probability", "logit"}
        What is compared in a pair. For linear models the gap of probabilities is that of logits times the slope of the
        logistic curve at the share of the label.
    balance_labels : bool
        Whether the pairs of all labels weigh alike; otherwise every pair does, and a label with many pairs decides.
    balance_people : bool
        Whether a pair weighs the less the more partners its people have, so that nobody weighs more than one pair.
    generator : generator, optional
        Its antidotes are the partners of people who have none. Their labels are not used: an antidote has a gap, but no
        loss of its own. Not for networks: an AntiDROClassifier takes antidotes by itself.
    memory_limit : int or str, optional
        Memory for the pairs, as for :func:`mine_pairs`; where they need more, those among fewer people are listed.
    random_state : int, optional
        Seed for an estimator without one, and for drawing pairs.

    Attributes
    ----------
    classes_ : array
    estimator_ : classifier
        The fitted estimator. XGBoost's is as if fitted by itself, and can be saved by its own methods; LightGBM's
        returns margins in place of probabilities.
    n_pairs_ : dict
        Number of comparable pairs of the training rows by label; empty at weight 0.
    generator_ : generator
        The fitted generator, if there is one.
    feature_names_in_ : array of str
        Column names, if there are any.
    n_features_in_ : int

    Notes
    -----
    Equal rows are grouped, so that millions of pairs cost no more than those of distinct rows. If there are still more
    than 250,000, that many are drawn of all pairs, others every five rounds of boosting or in each epoch of a network.
    Of more than 500,000 rows with many pairs, or where pairs do not fit into ``memory_limit``, the pairs among some of
    the people are listed, drawn at random, and those of others every 30 rounds or in each epoch; ``n_pairs_`` is an
    estimate then. With a ``generator`` all pairs are listed if they fit.

    A LogisticRegression with its default solver is fitted by a preconditioned L-BFGS, which finds the same coefficients
    in fewer steps; with any other solver, by that solver on shrunk inputs.

    Several labels: the gap is half the sum of the gaps over all labels.

    Examples
    --------
    >>> from sklearn.compose import make_column_selector, make_column_transformer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import OneHotEncoder, StandardScaler
    >>> from likewise import ConsistentClassifier, audit, load_dataset
    >>> data = load_dataset("planted")
    >>> numbers = make_column_selector(dtype_include="number")
    >>> coding = make_column_transformer((StandardScaler(), numbers), remainder=OneHotEncoder())
    >>> plain = make_pipeline(coding, LogisticRegression()).fit(data.train.X, data.train.y)
    >>> model = ConsistentClassifier(plain, data.roles, data.rule, pair_weight=2.0).fit(data.train.X, data.train.y)
    >>> people = {"roles": data.roles, "rule": data.rule, "n_resamples": 0}
    >>> before, after = (audit(one, data.test.X, data.test.y, **people)["gap_mean"] for one in (plain, model))
    >>> after.value < before.value / 2
    True
    """

    _is_classifier = True
    gap: str = "probability"
    balance_labels: bool = True
    generator: Any = None

    def _check_parameters(self) -> Kind:
        check_choice("gap", self.gap, GAPS)
        return super()._check_parameters()

    def _take_answers(self, y: Any, how: Kind) -> Answers:
        codes, classes = take_labels(y)
        labels = classes[codes]
        target = codes if how.booster is not None else labels
        code = partial(_code, classes=classes)
        return Answers(labels, classes, target, len(classes), cast("GapKind", self.gap), code)

    @if_offered
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class.

        Parameters
        ----------
        X : as in :meth:`fit`

        Returns
        -------
        array, shape (n_rows, n_classes)
        """
        return self._score(self._shown(X))

    def _score(self, shown: Any) -> NDArray[np.float64]:
        """Return the probabilities of rows as the estimator sees them."""
        around, last = split_pipeline(self.estimator_)
        margins = None if self._margins is None else self._margins.margins(last, around, shown)
        if margins is None:
            return np.asarray(self.estimator_.predict_proba(shown))
        if margins.shape[1] > 1:
            return np.asarray(softmax(margins, axis=1))
        return np.column_stack([expit(-margins[:, 0]), expit(margins[:, 0])])

    @if_offered
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the estimator's own scores.

        Parameters
        ----------
        X : as in :meth:`fit`

        Returns
        -------
        array
        """
        shown = self._shown(X)
        return np.asarray(self.estimator_.decision_function(shown))


def _code(labels: Any, classes: NDArray[Any]) -> NDArray[np.intp]:
    """Return labels of other rows as positions among the classes; refuse others."""
    given = np.asarray(labels).ravel()
    codes = np.searchsorted(classes, given)
    is_known = classes[np.minimum(codes, len(classes) - 1)] == given
    if not is_known.all():
        raise ParameterError(
            f"has the label {given[~is_known].tolist()[0]!r}, which is not in y. Give labels of the training rows.",
            "eval_set",
        )
    return np.asarray(codes)


class ConsistentRegressor(RegressorMixin, ConsistentModel):  # type: ignore[misc]  # scikit-learn ships no types
    """Fit a regressor with the comparable pairs of its training rows in the loss.

    The loss is the mean squared error, plus ``pair_weight`` times the mean over comparable pairs of the squared gap
    between the two people's predictions. People are comparable by their columns alone: outcomes need not be equal. It
    works for ``XGBRegressor``, ``LGBMRegressor`` and ``Ridge``, and for pipelines that end with one of them.

    Parameters
    ----------
    estimator : regressor
        A clone of it is fitted. Its objective must be unset: it is the squared error.
    roles : Roles or Schema
        The roles of the columns. Those of arrays are called x0, x1 and so on.
    rule : Comparability, optional
        When two people are comparable.
    pair_weight : float
        Weight of the pairs. With 0 this is the plain estimator.
    pair_loss : {"squared", "absolute"}
        Loss of a gap. An absolute gap is multiplied by the standard deviation of the outcomes, to be in the units of
        a squared error. Linear models have the squared one only.
    balance_people, memory_limit, random_state
        As in :class:`ConsistentClassifier`.

    Attributes
    ----------
    estimator_ : regressor
        The fitted estimator.
    n_pairs_ : dict
        Number of comparable pairs of the training rows, under the key "all"; empty at weight 0.
    feature_names_in_ : array of str
        Column names, if there are any.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn.compose import make_column_transformer
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> from likewise import ConsistentRegressor, Roles
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 20, "age": [20.0 + k // 2 for k in range(40)]})
    >>> pay = np.tile([10.0, 12.0], 20)
    >>> coding = make_column_transformer((OneHotEncoder(), ["sex"]), remainder="passthrough")
    >>> roles = Roles(sensitive="sex", continuous="age")
    >>> for weight in (0.0, 1.0, 10.0):
    ...     model = ConsistentRegressor(make_pipeline(coding, Ridge()), roles, pair_weight=weight).fit(people, pay)
    ...     woman, man = model.predict(people)[:2]
    ...     print(f"{man - woman:.2f}")
    1.90
    0.40
    0.05
    """

    _is_classifier = False

    def _take_answers(self, y: Any, how: Kind) -> Answers:
        outcomes = np.asarray(column_or_1d(np.asarray(y), warn=True), np.float64)
        assert_all_finite(outcomes, input_name="y")
        if len(outcomes) < 2:
            raise SchemaError("There is one sample, and a pair needs two. Give more rows.")
        return Answers(np.zeros(len(outcomes), np.int64), np.array(["all"]), outcomes, 1, "outcome", np.asarray)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the predicted outcome.

        Parameters
        ----------
        X : as in :meth:`fit`

        Returns
        -------
        array, shape (n_rows,)
        """
        shown = self._shown(X)
        return np.asarray(self.estimator_.predict(shown))
