"""Tables without their sensitive columns (Dis of the paper), or projected away from the subspace they span (Proj)."""

from __future__ import annotations

from collections import Counter
from dataclasses import KW_ONLY, dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from likewise._checks import check_choice, suggest
from likewise._estimators import fit_guard
from likewise._models import SavedModel
from likewise.baselines._subspace import (
    Sensitive,
    Subspace,
    complete_roles,
    refuse_other_names,
    sensitive_roles,
    subspace_of,
)
from likewise.exceptions import SchemaError
from likewise.nets._internal import InputCoding
from likewise.schema._internal import is_frame, open_frame, table_of_array, take_frame

OUTPUTS: Final = ("default", "pandas", "polars")
BY_COLUMN: Final = ("accuracy", "majority", "balanced_accuracy", "is_noise")  # of a Subspace


@dataclass(eq=False, repr=False)
class SensitiveSubspace(SavedModel, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Learn the directions along which a linear model predicts sensitive columns from the others.

    Numbers are scaled and every category becomes an indicator, as in the networks. Each sensitive column is then
    regressed on all columns that are not sensitive. The directions of these regressions, together with the sensitive
    columns themselves, span the subspace: a difference inside it does not count.

    Parameters
    ----------
    roles : Roles, str or sequence of str
        Column roles, or only the names of the sensitive columns. Other roles are inferred, see :meth:`Roles.infer`; the
        columns of an array, x0, x1 and so on, are numbers. A numeric sensitive column is predicted by its bins.
    scaling : {"range", "deviation", "none"}
        Scale numbers to [0, 1] over the training range, to mean 0 and standard deviation 1, or not at all. The
        directions depend on it.

    Attributes
    ----------
    basis_ : array of float, shape (``rank_``, n_inputs)
        Orthonormal rows.
    projector_ : array of float, shape (n_inputs, n_inputs)
        Matrix that projects rows away from the subspace.
    rank_ : int
    attribute_accuracy_ : dict of str to float
        Cross-validated accuracy of a multinomial model for each sensitive column.
    majority_ : dict of str to float
        Accuracy of always predicting the most common value. Fitting warns about a column that is predicted hardly
        better than by chance, rare values included: its directions are mostly noise.
    subspace_ : Subspace
        All of this, with distances.
    coding_ : InputCoding
        Encodes rows as inputs.
    roles_ : Roles
        Roles with a role for every column.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from likewise.baselines import SensitiveSubspace
    >>> people = pa.table({"sex": ["f", "m"] * 20, "height": [1.6, 1.8] * 20, "age": [30.5, 40, 35, 50] * 10})
    >>> subspace = SensitiveSubspace("sex").fit(people)
    >>> subspace.coding_.names, subspace.rank_
    (('height', 'age', 'sex=f', 'sex=m'), 3)
    >>> subspace.attribute_accuracy_, subspace.majority_
    ({'sex': 1.0}, {'sex': 0.5})
    """

    roles: Sensitive
    _: KW_ONLY
    scaling: str = "range"

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the subspace.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, or array of numbers
        y : ignored

        Returns
        -------
        self
        """
        self._refuse_odd_parameters()
        with fit_guard(self):
            frame = take_frame(self, X, reset=True)
            self.roles_ = complete_roles(self.roles, frame, is_array=not hasattr(self, "feature_names_in_"))
            self.coding_ = InputCoding.learn(frame, self.roles_, self.scaling)
            (name, count), *_ = Counter(self.coding_.names).most_common(1)
            if count > 1:
                raise SchemaError(
                    f"Two inputs would be called '{name}': a column, and a category's indicator of another. Rename the "
                    "column."
                )
            self._keep(subspace_of(frame, self.roles_, self.coding_))
        return self

    def _keep(self, subspace: Subspace) -> None:
        self.subspace_ = subspace
        self.basis_, self.projector_, self.rank_ = subspace.basis, subspace.projector, subspace.rank
        self.attribute_accuracy_, self.majority_ = dict(subspace.accuracy), dict(subspace.majority)

    def _refuse_odd_parameters(self) -> None:
        sensitive_roles(self.roles)


class ProjectSensitive(TransformerMixin, SensitiveSubspace):  # type: ignore[misc]  # scikit-learn ships no types
    """Project rows so that no linear model can predict the sensitive columns along the learned directions.

    Frames become matrices: numbers are scaled, every category becomes an indicator, and the sensitive subspace is
    projected out (see :class:`SensitiveSubspace`). The columns keep their number and names, but mix: an indicator is no
    longer 0 or 1, and those of sensitive columns are 0 everywhere.

    Later steps should not scale the columns again, which would undo the geometry of the projection: before a network,
    use ``NetworkClassifier(scaling="none")``.

    Parameters
    ----------
    roles, scaling
        As in :class:`SensitiveSubspace`.

    Attributes
    ----------
    basis_, projector_, rank_, attribute_accuracy_, majority_, subspace_, coding_, roles_
        As in :class:`SensitiveSubspace`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from likewise.baselines import ProjectSensitive
    >>> people = pa.table({"sex": ["f", "m"] * 20, "height": [1.6, 1.8] * 20, "age": [30.5, 40, 35, 50] * 10})
    >>> projection = ProjectSensitive("sex").fit(people)
    >>> projection.get_feature_names_out().tolist()
    ['height', 'age', 'sex=f', 'sex=m']
    >>> projection.transform(people)[:2].round(2).tolist()
    [[0.0, 0.0, 0.0, 0.0], [0.02, -0.03, 0.0, 0.0]]
    """

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return scaled numbers and indicators, projected.

        Parameters
        ----------
        X : as in :meth:`fit`
            Categories that training did not have turn on no indicator.

        Returns
        -------
        array of float, shape (n_rows, n_inputs)
        """
        check_is_fitted(self, "subspace_")
        frame = take_frame(self, X, reset=False)
        return self.subspace_.project(self.coding_.encode(frame).dense())

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Return the names of the columns of :meth:`transform`.

        Parameters
        ----------
        input_features : sequence of str, optional
            Only checked; the names are those of training.

        Returns
        -------
        array of str
        """
        check_is_fitted(self, "subspace_")
        refuse_other_names(self, input_features)
        return np.array(self.coding_.names, dtype=object)


# scikit-learn would convert a frame to one dtype on the way to another library
class DropSensitive(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[misc,call-arg]
    """Drop the sensitive columns, and nothing else.

    Other columns may still predict them: :class:`ProjectSensitive` measures how well.

    Parameters
    ----------
    roles : Roles, str or sequence of str
        Roles with sensitive columns, or the names of these columns. Those of an array are x0, x1 and so on.

    Attributes
    ----------
    dropped_ : list of str
        Names of the dropped columns.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from likewise.baselines import DropSensitive
    >>> people = pa.table({"sex": ["f", "m"], "age": [20, 40]})
    >>> DropSensitive("sex").fit_transform(people).to_pydict()
    {'age': [20, 40]}
    """

    _output: str | None = None  # None: scikit-learn's configuration

    def __init__(self, roles: Sensitive) -> None:
        self.roles = roles

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the columns.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, or array, or sparse matrix
        y : ignored

        Returns
        -------
        self
        """
        sensitive = sensitive_roles(self.roles).sensitive
        with fit_guard(self):
            self._take(X, reset=True)
            names = self._names_in()
            for name in sensitive:
                if name not in names:
                    raise SchemaError(f"There is no column '{name}' to drop.{suggest(name, names)}")
            if len(sensitive) == len(names):
                raise SchemaError(
                    f"Every column is sensitive (n_features = {len(names)}), so nothing would be left. Add other "
                    "columns."
                )
            self.dropped_ = list(sensitive)
        return self

    def transform(self, X: Any) -> Any:
        """Return the table without the sensitive columns.

        Parameters
        ----------
        X : as in :meth:`fit`

        Returns
        -------
        table or array of the same type
        """
        check_is_fitted(self, "dropped_")
        taken = self._take(X, reset=False)
        names = self._names_in()
        kept = [position for position, name in enumerate(names) if name not in self.dropped_]
        wanted = get_config()["transform_output"] if self._output is None else self._output
        if is_frame(taken):
            return _convert(open_frame(taken).data.select([names[position] for position in kept]), wanted)
        left = taken[:, kept]
        if wanted == "default":
            return left
        whole = left.toarray() if issparse(left) else left
        frame = _convert(open_frame(table_of_array(whole, self.get_feature_names_out())).data, wanted)
        return frame.set_index(X.index) if wanted == "pandas" and hasattr(X, "index") else frame

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Return the names of the remaining columns.

        Parameters
        ----------
        input_features : sequence of str, optional
            Names for the columns of an array; those of a frame are known.

        Returns
        -------
        array of str
        """
        check_is_fitted(self, "dropped_")
        refuse_other_names(self, input_features)
        names = self._names_in()
        called = names if input_features is None else list(np.asarray(input_features, dtype=object))
        kept = [given for given, name in zip(called, names, strict=True) if name not in self.dropped_]
        return np.array(kept, dtype=object)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose the type of table that :meth:`transform` returns.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, optional
            "default" is the type of the input; None changes nothing.

        Returns
        -------
        self
        """
        if transform is not None:
            check_choice("transform", transform, OUTPUTS)
            self._output = transform
        return self

    def __sklearn_clone__(self) -> Self:
        made = type(self)(clone(self.roles, safe=False))
        made._output = self._output
        return made

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = tags.input_tags.string = True
        return tags

    def _take(self, X: Any, *, reset: bool) -> Any:
        """Check the columns only, not their values."""
        if is_frame(X) and (reset or hasattr(self, "feature_names_in_")):
            return take_frame(self, X, reset=reset)
        return validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=False, accept_sparse=["csr", "csc"])

    def _names_in(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        return [f"x{position}" for position in range(self.n_features_in_)] if names is None else names.tolist()


def _convert(frame: Any, wanted: str) -> Any:
    """Return a frame of the requested library."""
    ways = {"default": frame.to_native, "pandas": frame.to_pandas, "polars": frame.to_polars}
    return ways[wanted]()
