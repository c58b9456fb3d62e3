"""Any scikit-learn classifier, fitted to the training rows and their antidotes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone, is_classifier, is_regressor
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from likewise._checks import check_flag
from likewise._extras import require
from likewise._fit_guard import fit_guard
from likewise._meta import seed_unset, weight_name
from likewise._random import check_seed
from likewise.exceptions import SavedFolderError
from likewise.generation import Antidotes
from likewise.learning._antidotes import check_ratio, fitted_generator, make_antidotes, refuse_odd_source, roles_to_fit
from likewise.learning._inner_estimator import (
    add_sensitive,
    dump_estimator,
    if_offered,
    leave_out,
    load_estimator,
    refuse_unknown_columns,
    trim_roles,
    warn_of_leaks,
)
from likewise.nets._internal import BaseNetworkClassifier, Description, SavedInFolder, subclasses
from likewise.schema._internal import (
    array_of_table,
    fitted_names,
    is_frame,
    stack_frames,
    take_frame,
    take_labels,
    take_rows,
    take_weights,
)

SKOPS: Final = "estimator.skops"  # the array that holds an estimator of scikit-learn


class AugmentedClassifier(SavedInFolder, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
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
    There is a warning. Switch that off, such as ``early_stopping`` of scikit-learn's histogram boosting, which is on
    above 10,000 rows, or put it outside: ``GridSearchCV(AugmentedClassifier(...), ...)``,
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

    _has_device: ClassVar[bool] = False  # only some inner estimators have one
    __metadata_request__fit: ClassVar = {"sensitive_features": True}  # what scikit-learn's routing passes on by default
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, sensitive_features: Any = None) -> Self:
        """Generate antidotes of the rows, and fit the estimator to both.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, or array of numbers
            The columns of arrays are called x0, x1 and so on.
        y : array
            Labels, with two or more classes.
        sample_weight : array, optional
            Weight of each row; an antidote has the weight of its source. The generator does not use rows of weight 0,
            neither in its fit nor as sources.
        sensitive_features : table or series, optional
            Sensitive columns that are not in X, row by row: the generator sees them, the estimator does not.

        Returns
        -------
        self
        """
        with fit_guard(self):
            self._fit(X, y, sample_weight, sensitive_features)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, sensitive_features: Any) -> None:
        self._refuse_odd_parameters(sample_weight)
        seed = None if self.random_state is None else check_seed(self.random_state)
        frame, outside = add_sensitive(
            take_frame(self, X, y, reset=True), sensitive_features, roles_to_fit(self.generator), type(self).__name__
        )
        codes, classes = take_labels(y)
        labels = classes[codes]
        weights = None if sample_weight is None else take_weights(sample_weight, len(labels), scaled=False)
        made = self._make_antidotes(frame, labels, weights, seed)
        self.antidotes_ = made
        self.discarded_ = list(self.generator_.schema_.roles.sensitive) if self.discard_sensitive else []
        self.discarded_ = [name for name in self.discarded_ if name not in outside]
        hidden = [*outside, *self.discarded_]
        rows = leave_out(stack_frames(frame, made.frame), hidden)
        known = {} if weights is None else {weight_name(self.estimator): np.append(weights, weights[made.source])}
        estimator = trim_roles(clone(self.estimator), hidden)
        if seed is not None:
            seed_unset(estimator, seed)
        if len(made):
            warn_of_leaks(estimator, len(labels) + len(made))
        shown = rows if is_frame(X) else array_of_table(rows)
        try:
            self.estimator_ = estimator.fit(shown, np.append(labels, labels[made.source]), **known)
        except Exception as error:  # its own message is best; only what it cannot know is added
            if hidden:
                by = "discard_sensitive=True" if self.discarded_ else "sensitive_features is given"
                error.add_note(
                    f"{by}: the estimator did not see {', '.join(hidden)}. If it names columns, let it select "
                    "them instead, such as with scikit-learn's make_column_selector."
                )
            raise
        self.classes_ = getattr(self.estimator_, "classes_", classes)

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
        """Return the class that the estimator predicts.

        Parameters
        ----------
        X : as in :meth:`fit`

        Returns
        -------
        array, shape (n_rows,)
        """
        return self._ask("predict", X)

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

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the estimator's own score, for most classifiers the accuracy.

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
        """Write a folder that :meth:`load` reads, on this or another machine; the generator is not saved.

        Only estimators that can be read again without running code are saved: networks of likewise, and scikit-learn's
        linear models, preprocessing, calibration and searches. Trees, your own functions and models of other libraries
        are refused: save ``estimator_`` with its own library.

        Parameters
        ----------
        path : str or Path
        """
        require("safetensors", "skops", "Saving")
        super().save(path)

    @classmethod
    def load(cls, path: str | Path, *, device: str = "auto") -> Self:
        """Read a folder that :meth:`save` wrote; no code from it is run. To fit the model again, set a generator.

        Parameters
        ----------
        path : str or Path
        device : str
            Device of the estimator from now on, if it is a network of likewise.

        Returns
        -------
        classifier
        """
        require("safetensors", "skops", "Loading")
        return super().load(path, device=device)

    def _describe(self) -> Description:
        check_is_fitted(self, "estimator_")
        estimator: Any = "skops"
        if isinstance(self.estimator_, BaseNetworkClassifier):
            record, arrays = self.estimator_._describe()
            estimator = {"type": type(self.estimator_).__name__, "record": record}
        else:
            arrays = {SKOPS: np.frombuffer(dump_estimator(self.estimator_), np.uint8)}
        names = getattr(self, "feature_names_in_", None)
        is_seed = isinstance(self.random_state, int | np.integer)
        saved = {
            "ratio": None if self.ratio is None else float(self.ratio),
            "discard_sensitive": bool(self.discard_sensitive),
            "random_state": int(self.random_state) if is_seed else None,  # type: ignore[arg-type]
            "discarded": self.discarded_,
            "names": None if names is None else names.tolist(),
            "n_features": self.n_features_in_,
            "estimator": estimator,
        }
        return Description(saved, arrays)

    @classmethod
    def _restore(cls, description: Description, device: str) -> Self:
        record, arrays = description
        saved = record["estimator"]
        params = {name: record[name] for name in ("ratio", "discard_sensitive", "random_state")}
        discarded, n_features, names = list(map(str, record["discarded"])), int(record["n_features"]), record["names"]
        if saved == "skops":
            estimator = load_estimator(arrays[SKOPS].tobytes())
        else:
            kind = str(saved["type"])
            known = {one.__name__: one for one in subclasses(BaseNetworkClassifier)}
            if kind not in known:
                raise SavedFolderError(f"The saved estimator is a {kind}, which is not imported. Import it first.")
            estimator = known[kind]._restore(Description(saved["record"], arrays), device)
        classifier = cls(clone(estimator), None, **params)
        classifier.estimator_, classifier.classes_, classifier.discarded_ = estimator, estimator.classes_, discarded
        if names is not None:
            classifier.feature_names_in_ = np.array(names, dtype=object)
        classifier.n_features_in_ = n_features
        return classifier

    def _rehearse(self) -> None:
        """Score made-up rows if the estimator is a network, whose schema is known; hold columns and labels together."""
        names = fitted_names(self)
        if not {*self.discarded_} <= {*names}:
            raise ValueError(f"columns {names} without {self.discarded_}")
        if np.ndim(self.classes_) != 1 or len(self.classes_) < 2:
            raise ValueError(f"classes {self.classes_}")
        if isinstance(self.estimator_, BaseNetworkClassifier):
            self.estimator_._rehearse()
            seen, shown = fitted_names(self.estimator_), [name for name in names if name not in self.discarded_]
            if len(seen) != len(shown) or (hasattr(self.estimator_, "feature_names_in_") and seen != shown):
                raise ValueError(f"an estimator of the columns {seen}")

    def _ask(self, method: str, X: Any) -> NDArray[Any]:
        check_is_fitted(self, "estimator_")
        answer: NDArray[Any] = getattr(self.estimator_, method)(self._shown(X))
        return answer

    def _shown(self, X: Any) -> Any:
        """Check the columns as scikit-learn does, and drop those the estimator does not see."""
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
            raise TypeError(f"estimator is a {kind}, not a classifier. Give one, such as LogisticRegression().")
        if hasattr(self.estimator, "__sklearn_tags__") and is_regressor(self.estimator):
            raise TypeError(
                f"estimator is a {type(self.estimator).__name__}, which predicts amounts: each would be a class of its "
                "own here. Give a classifier; for amounts there is ConsistentRegressor."
            )
        if sample_weight is not None and not weight_name(self.estimator):
            raise ValueError(
                f"sample_weight is given, but {type(self.estimator).__name__} does not support it. Omit it, or use "
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
    """Whether it has predict, or says that it is a classifier: a StackingClassifier has predict when fitted."""
    says_so = hasattr(estimator, "__sklearn_tags__") and is_classifier(estimator)
    return hasattr(estimator, "fit") and (says_so or hasattr(estimator, "predict"))
