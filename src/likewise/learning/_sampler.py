"""Antidotes as an imbalanced-learn sampler."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin
from sklearn.utils import InputTags, Tags, check_consistent_length
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from likewise._estimators import fit_guard
from likewise._random import check_seed
from likewise.generation import Antidotes
from likewise.learning._antidotes import check_ratio, fitted_generator, make_antidotes, refuse_odd_source, roles_to_fit
from likewise.learning._inner_estimator import add_sensitive, leave_out
from likewise.schema._internal import array_of_table, is_frame, open_frame, stack_frames, take_frame, take_labels


@dataclass(eq=False, repr=False)
class AntidoteSampler(OneToOneFeatureMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Append antidotes to a table: comparable rows with a different sensitive attribute.

    It follows the protocol of imbalanced-learn, so it can be a step of its pipelines, which add rows in fit and never
    in prediction. Put it before the steps that encode columns: it reads the columns that the generator's roles name.
    The columns of arrays are called x0, x1 and so on.

    Parameters
    ----------
    generator : generator
        A fitted one is used as it is; a clone of any other is fitted to the rows in each fit. To share a fitted one
        between clones of the sampler, as in a grid search, give ``sklearn.frozen.FrozenEstimator(generator)``.
    ratio : float, optional
        Antidotes per row, drawn at random. None means one round: every other combination of sensitive values is tried
        once for every row.
    random_state : int, optional
        Seed. If None, the generator's own seed is used.

    Attributes
    ----------
    generator_ : generator
        The fitted generator.
    antidotes_ : Antidotes
        The rows added last, with the source of each.
    sample_indices_ : array of int
        For each returned row, the position of the input row that it is or comes from.
    sampling_strategy_ : dict
        Number of rows added per class.
    feature_names_in_ : array of str
        Column names, if there are any.
    n_features_in_ : int

    Examples
    --------
    >>> from likewise import UniformGenerator, load_dataset
    >>> from likewise.learning import AntidoteSampler
    >>> data = load_dataset("planted")
    >>> sampler = AntidoteSampler(UniformGenerator(data.roles, data.rule), ratio=0.3, random_state=0)
    >>> X, y = sampler.fit_resample(data.train.X, data.train.y)
    >>> len(data.train.X), len(X), len(y)
    (1500, 1950, 1950)
    >>> sampler.antidotes_
    <Antidotes: 450 for 396 of 1,500 rows>
    """

    __metadata_request__fit: ClassVar = {"sensitive_features": True}  # what scikit-learn's routing passes on by default
    __metadata_request__fit_resample: ClassVar = {"sensitive_features": True}
    generator: Any
    ratio: float | None = 0.3
    random_state: int | None = None
    antidotes_: Antidotes = field(init=False)

    def fit(self, X: Any, y: Any, *, sensitive_features: Any = None) -> Self:
        """Fit the generator; nothing is generated.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, or array of numbers
        y : array, list, series, or frame of one column
            Labels; an array of indicators with one column per class also works.
        sensitive_features : table or series, optional
            Sensitive columns that are not in X, row by row.

        Returns
        -------
        self
        """
        with fit_guard(self):
            self._learn(X, y, sensitive_features)
        return self

    def fit_resample(self, X: Any, y: Any, *, sensitive_features: Any = None) -> tuple[Any, Any]:
        """Append antidotes below the rows.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, or array of numbers
            A frame whose columns have only numbers as names is treated as an array.
        y : array, list, series, or frame of one column
            Labels; an array of indicators with one column per class also works.
        sensitive_features : table or series, optional
            Sensitive columns that are not in X, row by row: the generator sees them, and they are not returned.

        Returns
        -------
        X, y
            Of the same type as the input.
        """
        with fit_guard(self):
            frame, outside, labels, seed = self._learn(X, y, sensitive_features)
            made = make_antidotes(self.generator_, frame, labels, ratio=self.ratio, random_state=seed)
            self.antidotes_ = made
            self.sample_indices_ = np.concatenate([np.arange(len(labels)), made.source])
            classes, counts = np.unique(labels[made.source], return_counts=True)
            self.sampling_strategy_ = dict(zip(classes.tolist(), counts.tolist(), strict=True))
            below = leave_out(made.frame, outside)
            rows = stack_frames(leave_out(frame, outside), below) if is_frame(X) else _in_kind(X, below)
            return rows, _take(y, self.sample_indices_)

    def _learn(self, X: Any, y: Any, beside: Any) -> tuple[Any, list[str], NDArray[Any], int | None]:
        """Check everything that is cheap to check, and fit the generator."""
        check_ratio(self.ratio)
        refuse_odd_source(self.generator)
        seed = None if self.random_state is None else check_seed(self.random_state)
        seen = take_frame(self, X, None if y is None else "no_validation", reset=True)
        frame, outside = add_sensitive(seen, beside, roles_to_fit(self.generator), type(self).__name__)
        labels = _labels(y)
        check_consistent_length(range(len(open_frame(frame))), labels)
        self.generator_ = fitted_generator(self.generator, frame, labels, seed)
        return frame, outside, labels, seed

    def __sklearn_tags__(self) -> Tags:
        given = super().__sklearn_tags__()
        tags = _Tags(**{one.name: getattr(given, one.name) for one in fields(given)})
        tags.estimator_type, tags.transformer_tags = "sampler", None
        tags.target_tags.required = True
        kept = {one.name: getattr(given.input_tags, one.name) for one in fields(given.input_tags)}
        tags.input_tags = _InputTags(**kept, dataframe=True)
        return tags


def _labels(y: Any) -> NDArray[Any]:
    """Return one label per row, also from a column of labels or from indicators."""
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels.ravel()
    check_classification_targets(labels)
    if labels.ndim == 2 and type_of_target(labels).startswith("multilabel"):
        if (labels.sum(axis=1) != 1).any():
            raise ValueError("y has rows with no class or several. Give one label per row.")
        labels = labels.argmax(axis=1)
    codes, classes = take_labels(labels)
    return np.asarray(classes[codes])


def _in_kind(X: Any, made: Any) -> Any:
    """Append antidotes to an array or a list of lists."""
    below = array_of_table(made)
    if isinstance(X, list | tuple):
        return [*map(list, X), *below.tolist()]
    above = np.asarray(X)
    narrow = below.astype(above.dtype) if above.dtype.kind in "iu" else below
    fits = above.dtype.kind == "f" or (narrow == below).all()
    return np.concatenate([above, below.astype(above.dtype) if fits else below])


def _take(y: Any, rows: NDArray[np.intp]) -> Any:
    """Take labels by position, from any container."""
    if isinstance(y, list | tuple):
        return [y[row] for row in rows]
    known = nw.from_native(y, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(known, nw.DataFrame | nw.Series):
        return nw.maybe_reset_index(known[rows]).to_native()
    return np.asarray(y)[rows]


# Tags that imbalanced-learn reads from samplers, and scikit-learn does not have.
@dataclass(slots=True)
class _InputTags(InputTags):  # type: ignore[misc]  # scikit-learn ships no types
    dataframe: bool = False


@dataclass(slots=True)
class _SamplerTags:
    sample_indices: bool = True


@dataclass(slots=True)
class _Tags(Tags):  # type: ignore[misc]
    sampler_tags: _SamplerTags = field(default_factory=_SamplerTags)
