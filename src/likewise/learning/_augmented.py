"""Any classifier of scikit-learn, fitted to people and their antidotes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone, is_classifier
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from likewise._checks import check_flag
from likewise._fit_guard import forgetting
from likewise._meta import seed_unset, weight_name
from likewise._random import check_seed
from likewise.generation import Antidotes
from likewise.learning._antidote_source import check_ratio, fitted_generator, make_antidotes, refuse_odd_source
from likewise.learning._leaks import warn_of_leaks
from likewise.learning._shown import leave_out, refuse_unknown_columns, trim_roles
from likewise.schema._internal import (
    array_of_table,
    is_frame,
    stack_frames,
    take_frame,
    take_labels,
    take_rows,
    take_weights,
)

Method = TypeVar("Method", bound=Callable[..., Any])


def _if_offered(method: Method) -> Method:
    """Offer what the estimator offers: the fitted one, if there is one."""

    def check(classifier: Any) -> bool:
        getattr(getattr(classifier, "estimator_", classifier.estimator), method.__name__)  # its error says why
        return True

    offered: Method = available_if(check)(method)
    return offered


class AugmentedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # no types there
    """Fit any classifier to people and, below them, antidotes of them.

    An antidote of a row is comparable to it, has other sensitive values and the same label. A model that sees both
    learns to treat them alike. Antidotes are made of training rows only; nothing is added when it predicts.

    Parameters
    ----------
    estimator : classifier
        A classifier or a pipeline that ends with one; a copy of it is fitted. Frames reach it as frames, arrays as
        arrays. It should hold out no rows by itself (see the notes).
    generator : generator
        One that is fitted is used as it is; a copy of any other learns from the training rows at each fit. Copies of
        the classifier, as a grid search makes them, forget what was learned and fit the generator again: to share one
        that has learned, give ``sklearn.frozen.FrozenEstimator(generator)``.
    ratio : float, optional
        Antidotes per row that counts, drawn at random. With None there is one round: all that the generator makes
        when it is asked once for every other combination of sensitive values.
    discard_sensitive : bool
        Whether the estimator gets no sensitive columns to see, neither now nor when it predicts (Anti+Dis of the
        paper). Frames to predict for may then lack them.
    random_state : int, optional
        The same number gives the same antidotes and, unless the estimator has a seed of its own, the same model. If
        None, the seeds of the generator and of the estimator count.

    Attributes
    ----------
    classes_ : array
    estimator_ : classifier
        The one that was fitted.
    generator_ : generator
        The one that has learned.
    antidotes_ : Antidotes
        The rows that were added, with where each comes from.
    discarded_ : list of str
        The columns that the estimator does not see.
    feature_names_in_ : array of str
        The columns, if they have names.
    n_features_in_ : int

    Notes
    -----
    An estimator that holds out rows by itself, to stop early, to calibrate or to choose parameters, would hold out a
    row and learn from its antidotes, which have the same label and nearly the same values: it then believes in
    overfitted models. There is a warning. Switch that off, such as ``early_stopping`` of scikit-learn's histogram
    boosting, which is on above 10,000 rows, or put it outside: ``GridSearchCV(AugmentedClassifier(...), ...)``,
    ``CalibratedClassifierCV(AugmentedClassifier(...))``; antidotes are then made of the training rows of each split.

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

    antidotes_: Antidotes

    def __init__(
        self,
        estimator: Any,
        generator: Any,
        *,
        ratio: float | None = 0.3,
        discard_sensitive: bool = False,
        random_state: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.generator = generator
        self.ratio = ratio
        self.discard_sensitive = discard_sensitive
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Make antidotes of the rows, and fit the estimator to all of them.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, or array of numbers
            The columns of arrays are called x0, x1 and so on.
        y : array
            Labels, two or more different ones.
        sample_weight : array, optional
            How much each row counts; an antidote counts as much as the row it was made of. Of rows that do not count
            the generator learns nothing, and no antidotes are made of them.

        Returns
        -------
        self
        """
        with forgetting(self):
            self._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        self._refuse_odd_parameters(sample_weight)
        seed = None if self.random_state is None else check_seed(self.random_state)
        frame = take_frame(self, X, y, reset=True)
        codes, classes = take_labels(y)
        labels = classes[codes]
        weights = None if sample_weight is None else take_weights(sample_weight, len(labels), scaled=False)
        made = self._make_antidotes(frame, labels, weights, seed)
        self.antidotes_ = made
        self.discarded_ = list(self.generator_.schema_.roles.sensitive) if self.discard_sensitive else []
        rows = leave_out(stack_frames(frame, made.frame), self.discarded_)
        known = {} if weights is None else {weight_name(self.estimator): np.append(weights, weights[made.source])}
        estimator = trim_roles(clone(self.estimator), self.discarded_)
        if seed is not None:
            seed_unset(estimator, seed)
        if len(made):
            warn_of_leaks(estimator, len(labels) + len(made))
        shown = rows if is_frame(X) else array_of_table(rows)
        try:
            self.estimator_ = estimator.fit(shown, np.append(labels, labels[made.source]), **known)
        except Exception as error:  # its own words are best; only what it cannot know is added
            if self.discarded_:
                hidden = ", ".join(self.discarded_)
                error.add_note(
                    f"discard_sensitive=True: the estimator was not shown {hidden}. If it names columns, let it choose "
                    "them instead, such as by scikit-learn's make_column_selector."
                )
            raise
        self.classes_ = getattr(self.estimator_, "classes_", classes)

    def _make_antidotes(
        self, frame: Any, labels: NDArray[Any], weights: NDArray[np.float64] | None, seed: int | None
    ) -> Antidotes:
        """Make antidotes of the rows that count, as if there were no others."""
        if weights is None or weights.all():
            self.generator_ = fitted_generator(self.generator, frame, labels, seed)
            return make_antidotes(self.generator_, frame, labels, ratio=self.ratio, random_state=seed)
        counting = np.flatnonzero(weights)
        rows = take_rows(frame, counting), labels[counting]
        self.generator_ = fitted_generator(self.generator, *rows, seed)
        made = make_antidotes(self.generator_, *rows, ratio=self.ratio, random_state=seed)
        return replace(made, source=counting[made.source], n_sources=len(labels))

    def predict(self, X: Any) -> NDArray[Any]:
        """Give the class the estimator predicts.

        Parameters
        ----------
        X : as in :meth:`fit`

        Returns
        -------
        array, shape (n_rows,)
        """
        return self._ask("predict", X)

    @_if_offered
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Give the probability of each class.

        Parameters
        ----------
        X : as in :meth:`fit`

        Returns
        -------
        array, shape (n_rows, n_classes)
        """
        return self._ask("predict_proba", X)

    @_if_offered
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Give the logarithm of the probability of each class.

        Parameters
        ----------
        X : as in :meth:`fit`

        Returns
        -------
        array, shape (n_rows, n_classes)
        """
        return self._ask("predict_log_proba", X)

    @_if_offered
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Give the estimator's own scores.

        Parameters
        ----------
        X : as in :meth:`fit`

        Returns
        -------
        array
        """
        return self._ask("decision_function", X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Give the estimator's own measure, which for nearly all is the share of right predictions.

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

    def save(self, path: str | Path) -> None:
        """Write a folder that :meth:`load` reads, on this machine or another; the generator is left out.

        Only estimators are written that can be read again without running anything: networks of likewise, and what
        scikit-learn makes of linear models, preprocessing, calibration and searches. Trees, functions of your own and
        models of other libraries are refused: keep ``estimator_`` by the means of its own library.

        Parameters
        ----------
        path : str or Path
        """
        check_is_fitted(self, "estimator_")
        from likewise.learning._augmented_saving import save_augmented

        save_augmented(self, path)

    @classmethod
    def load(cls, path: str | Path, *, device: str = "auto") -> Self:
        """Read a folder that :meth:`save` wrote; nothing in it is run. It predicts; to fit it, give it a generator.

        Parameters
        ----------
        path : str or Path
        device : str
            Where the estimator computes from now on, if it is a network of likewise.

        Returns
        -------
        classifier
        """
        from likewise.learning._augmented_saving import load_augmented

        return load_augmented(cls, path, device)

    def _ask(self, method: str, X: Any) -> NDArray[Any]:
        check_is_fitted(self, "estimator_")
        answer: NDArray[Any] = getattr(self.estimator_, method)(self._shown(X))
        return answer

    def _shown(self, X: Any) -> Any:
        """Check columns as scikit-learn does, and leave out what the estimator does not see."""
        if is_frame(X) and hasattr(self, "feature_names_in_"):
            kept = leave_out(X, self.discarded_)
            refuse_unknown_columns(kept, self.feature_names_in_, self.discarded_)
            return kept
        return array_of_table(leave_out(take_frame(self, X, reset=False), self.discarded_))

    def _refuse_odd_parameters(self, sample_weight: Any) -> None:
        refuse_odd_source(self.generator)
        check_ratio(self.ratio)
        check_flag("discard_sensitive", self.discard_sensitive)
        if isinstance(self.estimator, type) or not _may_classify(self.estimator):
            kind = self.estimator.__name__ if isinstance(self.estimator, type) else type(self.estimator).__name__
            raise TypeError(f"estimator is a {kind}, which is no classifier. Give one, such as LogisticRegression().")
        if sample_weight is not None and not weight_name(self.estimator):
            raise ValueError(
                f"sample_weight is given, but a {type(self.estimator).__name__} takes none. Leave it out, or give "
                "another estimator."
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "__sklearn_tags__"):
            inner = get_tags(self.estimator)
            tags.non_deterministic = inner.non_deterministic
            if inner.classifier_tags is not None:
                tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
                tags.classifier_tags.poor_score = inner.classifier_tags.poor_score
        return tags


def _may_classify(estimator: Any) -> bool:
    """Tell by its methods, or by what it says: a StackingClassifier shows predict only when it is fitted."""
    says_so = hasattr(estimator, "__sklearn_tags__") and is_classifier(estimator)
    return hasattr(estimator, "fit") and (says_so or hasattr(estimator, "predict"))
