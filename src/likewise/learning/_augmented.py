"""Any estimator of scikit-learn, fitted to the training rows and their antidotes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import assert_all_finite, column_or_1d

from likewise.exceptions import SchemaError
from likewise.learning._augmented_model import AugmentedModel, Target
from likewise.learning._inner_estimator import if_offered
from likewise.schema._internal import take_labels


class AugmentedClassifier(ClassifierMixin, AugmentedModel):  # type: ignore[misc]  # scikit-learn ships no types
    """Fit any classifier to the training rows and their antidotes.

    An antidote of a row is comparable to it, has a different sensitive attribute and the same label. A model that sees
    both learns to treat them alike. Antidotes are generated from training rows only; prediction adds nothing.

    Parameters
    ----------
    estimator : classifier
        A classifier, or a pipeline that ends with one; a clone of it is fitted. Frames reach it as frames, arrays as
        arrays. It should not hold out rows by itself (see the notes).
    generator : generator
        A fitted one is used as it is; a clone of any other is fitted to the training rows in each fit. Clones of the
        classifier, as a grid search makes them, fit the generator again: to share a fitted one, give
        ``sklearn.frozen.FrozenEstimator(generator)``.
    ratio : float, optional
        Antidotes per row of nonzero weight, drawn at random. None means one round: every other combination of sensitive
        values is tried once for every row.
    discard_sensitive : bool
        Whether to hide the sensitive columns from the estimator in training and prediction (Anti+Dis of the paper).
        Frames to predict for may then lack them.
    random_state : int, optional
        Seed of the antidotes and of an estimator without a seed. If None, the seeds of the generator and of the
        estimator are used.

    Attributes
    ----------
    classes_ : array
    estimator_ : classifier
        The fitted estimator.
    generator_ : generator
        The fitted generator.
    antidotes_ : Antidotes
        The added rows, with the source of each.
    discarded_ : list of str
        Columns that the estimator does not see.
    feature_names_in_ : array of str
        Column names, if there are any.
    n_features_in_ : int

    Notes
    -----
    An estimator that holds out rows by itself, for early stopping, calibration or a search, holds out rows whose
    antidotes it learns from; these have the same label and nearly the same values, so it prefers overfitted models.
    There is a warning. Hold rows out yourself, for XGBoost and LightGBM by ``fit(..., eval_set=[(X_valid, y_valid)])``:
    no antidotes are generated from them. Or switch that off, such as ``early_stopping`` of scikit-learn's histogram
    boosting, which is on above 10,000 rows, or put it outside: ``GridSearchCV(AugmentedClassifier(...), ...)``,
    ``CalibratedClassifierCV(AugmentedClassifier(...))``; antidotes then come from the training rows of each split.

    Examples
    --------
    >>> from sklearn.compose import make_column_selector, make_column_transformer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import OneHotEncoder, StandardScaler
    >>> from likewise import UniformGenerator, load_dataset
    >>> from likewise.learning import AugmentedClassifier
    >>> data = load_dataset("planted")
    >>> numbers = make_column_selector(dtype_include="number")
    >>> coding = make_column_transformer((StandardScaler(), numbers), remainder=OneHotEncoder())
    >>> generator = UniformGenerator(data.roles, data.rule)
    >>> model = AugmentedClassifier(make_pipeline(coding, LogisticRegression()), generator, random_state=0)
    >>> model.fit(data.train.X, data.train.y).antidotes_
    <Antidotes: 450 for 404 of 1,500 rows>
    >>> model.predict_proba(data.test.X).shape
    (500, 2)
    """

    _is_classifier: ClassVar[bool] = True

    def _take_target(self, y: Any) -> Target:
        codes, classes = take_labels(y)
        return Target(classes[codes], classes[codes])

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
        return self._ask("predict_proba", X)

    @if_offered
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithm of the probability of each class.

        Parameters
        ----------
        X : as in :meth:`fit`

        Returns
        -------
        array, shape (n_rows, n_classes)
        """
        return self._ask("predict_log_proba", X)

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
        return self._ask("decision_function", X)


class AugmentedRegressor(RegressorMixin, AugmentedModel):  # type: ignore[misc]  # scikit-learn ships no types
    """Fit any regressor to the training rows and their antidotes.

    An antidote of a row is comparable to it, has a different sensitive attribute and the same outcome: a model that
    sees both learns to predict the same for them. People are comparable by their columns alone, as in
    :class:`ConsistentRegressor`. Antidotes are generated from training rows only; prediction adds nothing.

    Parameters
    ----------
    estimator : regressor
        A regressor, or a pipeline that ends with one; a clone of it is fitted. Frames reach it as frames, arrays as
        arrays. It should not hold out rows by itself, as in :class:`AugmentedClassifier`.
    generator : generator
        A fitted one is used as it is; a clone of any other is fitted to the training rows in each fit. Outcomes are not
        shown to it. To share a fitted one between clones, as in a grid search, give
        ``sklearn.frozen.FrozenEstimator(generator)``.
    ratio, discard_sensitive, random_state
        As in :class:`AugmentedClassifier`.

    Attributes
    ----------
    estimator_ : regressor
        The fitted estimator.
    generator_ : generator
        The fitted generator.
    antidotes_ : Antidotes
        The added rows, with the source of each.
    discarded_ : list of str
        Columns that the estimator does not see.
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
    >>> from likewise import AugmentedRegressor, Roles, UniformGenerator
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 20, "age": [20.0 + k // 2 for k in range(40)]})
    >>> pay = np.tile([10.0, 12.0], 20)
    >>> coding = make_column_transformer((OneHotEncoder(), ["sex"]), remainder="passthrough")
    >>> generator = UniformGenerator(Roles(sensitive="sex", continuous="age"))
    >>> for ratio in (0.25, 0.5, 1.0):
    ...     model = AugmentedRegressor(make_pipeline(coding, Ridge()), generator, ratio=ratio, random_state=0)
    ...     woman, man = model.fit(people, pay).predict(people)[:2]
    ...     print(f"{man - woman:.2f}")
    1.16
    0.66
    0.00
    """

    _is_classifier: ClassVar[bool] = False

    def _take_target(self, y: Any) -> Target:
        outcomes = np.asarray(column_or_1d(np.asarray(y), warn=True), np.float64)
        assert_all_finite(outcomes, input_name="y")
        if len(outcomes) < 2:
            raise SchemaError("There is one sample, and an antidote needs another person's values. Give more rows.")
        return Target(outcomes, np.zeros(len(outcomes), np.int64))
