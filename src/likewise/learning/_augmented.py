"""Models fitted to training rows and antidotes: any classifier or regressor inside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin, clone
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.validation import check_is_fitted

from likewise._checks import check_flag
from likewise._estimators import fit_guard, seed_unset, weight_name
from likewise._random import check_seed
from likewise.exceptions import SchemaError
from likewise.generation import Antidotes
from likewise.learning._antidotes import check_ratio, fitted_generator, make_antidotes, refuse_odd_source, roles_to_fit
from likewise.learning._inner_estimator import (
    EstimatorWrapper,
    add_sensitive,
    fit_plain,
    if_offered,
    leave_out,
    take_held_out,
    tell_hidden,
    trim_columns,
)
from likewise.schema._internal import (
    array_of_table,
    is_frame,
    open_frame,
    stack_frames,
    take_frame,
    take_labels,
    take_rows,
    take_weights,
)


class Target(NamedTuple):
    """What the estimator learns to predict, and what a row and its antidotes have in common."""

    values: NDArray[Any]
    labels: NDArray[Any]  # classes; all the same for amounts, which need not be equal in a pair


@dataclass(eq=False, repr=False)
class AugmentedModel(EstimatorWrapper):
    """Base of the models that are fitted to training rows and antidotes; a subclass checks what is predicted."""

    generator: Any
    _: KW_ONLY
    ratio: float | None = 0.3
    discard_sensitive: bool = False
    random_state: int | None = None
    estimator_: Any = field(init=False)
    antidotes_: Antidotes = field(init=False)

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, sensitive_features: Any = None, **fit_params: Any
    ) -> Self:
        """Generate antidotes of the rows, and fit the estimator to both.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, or array of numbers
            The columns of arrays are called x0, x1 and so on.
        y : array
            Labels, with two or more classes; of a regressor outcomes, of which an antidote has that of its source.
        sample_weight : array, optional
            Weight of each row; an antidote has the weight of its source. The generator does not use rows of weight 0,
            neither in its fit nor as sources.
        sensitive_features : table or series, optional
            Sensitive columns that are not in X, row by row: the generator sees them, the estimator does not.
        **fit_params
            For the estimator's own fit (in a pipeline, that of its last step), such as ``eval_set``, whose rows go
            through the encoder as well and get no antidotes.

        Returns
        -------
        self
        """
        with fit_guard(self):
            target = self._fit(X, y, sample_weight, sensitive_features, fit_params)
            if self._is_classifier:
                self.classes_ = getattr(self.estimator_, "classes_", np.unique(target.labels))
        return self

    def _take_target(self, y: Any) -> Target:
        """Check what is to be predicted."""
        raise NotImplementedError

    def _fit(self, X: Any, y: Any, sample_weight: Any, sensitive_features: Any, given: Mapping[str, Any]) -> Target:
        """Generate antidotes, fit a clone of the estimator to both, and return what it was fitted to."""
        self._refuse_odd_parameters(sample_weight)
        seed = None if self.random_state is None else check_seed(self.random_state)
        frame, outside = add_sensitive(
            take_frame(self, X, y, reset=True), sensitive_features, roles_to_fit(self.generator), type(self).__name__
        )
        target = self._take_target(y)
        n_rows = len(target.values)
        weights = None if sample_weight is None else take_weights(sample_weight, n_rows, scaled=False)
        made = self._make_antidotes(frame, target.labels, weights, seed)
        self.antidotes_ = made
        self.discarded_ = list(self.generator_.schema_.roles.sensitive) if self.discard_sensitive else []
        self.discarded_ = [name for name in self.discarded_ if name not in outside]
        hidden = [*outside, *self.discarded_]
        rows = leave_out(stack_frames(frame, made.frame), hidden)
        estimator = clone(self.estimator)
        trim_columns(estimator, open_frame(frame).names, hidden)
        if seed is not None:
            seed_unset(estimator, seed)
        by = "discard_sensitive=True" if self.discarded_ else "sensitive_features is given"
        with tell_hidden(hidden, by):
            self.estimator_ = self._fit_estimator(
                estimator,
                rows if is_frame(X) else array_of_table(rows),
                np.append(target.values, target.values[made.source]),
                None if weights is None else np.append(weights, weights[made.source]),
                take_held_out(given, self._see, np.asarray),
            )
        return target

    def _fit_estimator(
        self, estimator: Any, shown: Any, target: NDArray[Any], weights: NDArray[Any] | None, given: dict[str, Any]
    ) -> Any:
        """Fit as scikit-learn would; with parameters for the last step of a pipeline, step by step."""
        if given:
            known = given if weights is None else {**given, "sample_weight": weights}
            return fit_plain(estimator, shown, target, known)
        return estimator.fit(shown, target, **({} if weights is None else {weight_name(self.estimator): weights}))

    def _make_antidotes(
        self, frame: Any, labels: NDArray[Any], weights: NDArray[np.float64] | None, seed: int | None
    ) -> Antidotes:
        """Generate antidotes of the rows of nonzero weight, as if there were no others."""
        if weights is None or weights.all():
            self.generator_ = fitted_generator(self.generator, frame, labels, seed)
            return make_antidotes(self.generator_, frame, labels, ratio=self.ratio, random_state=seed)
        counting = np.flatnonzero(weights)
        rows = take_rows(frame, counting), labels[counting]
        self.generator_ = fitted_generator(self.generator, *rows, seed)
        made = make_antidotes(self.generator_, *rows, ratio=self.ratio, random_state=seed)
        return replace(made, source=counting[made.source], n_sources=len(labels))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return what the estimator predicts.

        Parameters
        ----------
        X : as in :meth:`fit`

        Returns
        -------
        array, shape (n_rows,)
        """
        return self._ask("predict", X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the estimator's own score, for most classifiers the accuracy and for most regressors R².

        Parameters
        ----------
        X : as in :meth:`fit`
        y : array
        sample_weight : array, optional

        Returns
        -------
        float
        """
        check_is_fitted(self, "estimator_")
        known = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(self.estimator_.score(self._shown(X), y, **known))

    def _ask(self, method: str, X: Any) -> NDArray[Any]:
        check_is_fitted(self, "estimator_")
        answer: NDArray[Any] = getattr(self.estimator_, method)(self._shown(X))
        return answer

    def _refuse_odd_parameters(self, sample_weight: Any) -> None:
        refuse_odd_source(self.generator)
        check_ratio(self.ratio)
        check_flag("discard_sensitive", self.discard_sensitive)
        self._refuse_odd_estimator("Augmented")
        if sample_weight is not None and not weight_name(self.estimator):
            raise ValueError(
                f"sample_weight is given, but {type(self.estimator).__name__} does not support it. Omit it, or use "
                "another estimator."
            )


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
    Hold rows out yourself, for XGBoost and LightGBM by ``fit(..., eval_set=[(X_valid, y_valid)])``:
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
    <Antidotes: 450 for 396 of 1,500 rows>
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
    1.15
    0.65
    0.00
    """

    _is_classifier: ClassVar[bool] = False

    def _take_target(self, y: Any) -> Target:
        outcomes = np.asarray(column_or_1d(np.asarray(y), warn=True), np.float64)
        assert_all_finite(outcomes, input_name="y")
        if len(outcomes) < 2:
            raise SchemaError("There is one sample, and an antidote needs another person's values. Give more rows.")
        return Target(outcomes, np.zeros(len(outcomes), np.int64))
