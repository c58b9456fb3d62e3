"""The sensitive subspace of a frame, and the projection away from it (Proj of the paper), as estimators."""

from __future__ import annotations

from collections import Counter
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from likewise._checks import check_choice
from likewise._fit_guard import fit_guard
from likewise._json import plain
from likewise.baselines._sensitive_columns import (
    Sensitive,
    complete_roles,
    refuse_other_names,
    sensitive_roles,
    subspace_of,
)
from likewise.baselines._subspace import METHODS, Subspace
from likewise.exceptions import SchemaError
from likewise.nets._internal import Description, InputCoding, SavedInFolder
from likewise.schema import Roles
from likewise.schema._internal import take_frame

BY_COLUMN: Final = ("accuracy", "majority", "balanced_accuracy", "is_noise")  # of a Subspace


class SensitiveSubspace(SavedInFolder, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Learn the directions along which a linear model predicts sensitive columns from the others.

    Numbers are scaled and every category becomes an indicator, as in the networks. Each sensitive column is then
    regressed on all columns that are not sensitive. The directions of these regressions, together with the sensitive
    columns themselves, span the subspace: a difference inside it does not count.

    Parameters
    ----------
    roles : Roles, str or sequence of str
        Column roles, or only the names of the sensitive columns. Other roles are inferred, see :meth:`Roles.infer`; the
        columns of an array, x0, x1 and so on, are numbers. A numeric sensitive column is predicted by its bins.
    method : {"softmax", "one_vs_rest"}
        One multinomial model per column, or one model per value against all others, which adds a direction.
    include_indicators : bool
        Whether the sensitive columns themselves belong to the subspace.
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
        Cross-validated accuracy of a multinomial model for each sensitive column, whatever the method.
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

    _has_device: ClassVar[bool] = False

    def __init__(
        self,
        roles: Sensitive,
        *,
        method: str = "softmax",
        include_indicators: bool = True,
        scaling: str = "range",
    ) -> None:
        self.roles = roles
        self.method = method
        self.include_indicators = include_indicators
        self.scaling = scaling

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
            _refuse_same_names(self.coding_.names)
            self._keep(
                subspace_of(
                    frame, self.roles_, self.coding_, method=self.method, include_indicators=self.include_indicators
                )
            )
        return self

    def _describe(self) -> Description:
        check_is_fitted(self, "subspace_")
        params = self.get_params(deep=False)
        given = params.pop("roles")
        names = getattr(self, "feature_names_in_", None)
        record = {
            "params": plain(params),
            "given": given.to_dict() if isinstance(given, Roles) else plain(given),
            "roles": self.roles_.to_dict(),
            "names": None if names is None else names.tolist(),
            "n_features": self.n_features_in_,
            "coding": self.coding_.to_dict(),
            "told": {name: dict(getattr(self.subspace_, name)) for name in BY_COLUMN},
        }
        return Description(record, {"basis": self.subspace_.basis})

    @classmethod
    def _restore(cls, description: Description, device: str) -> Self:
        record, arrays = description
        given = record["given"]
        made = cls(Roles.from_dict(given) if isinstance(given, dict) else given, **record["params"])
        made._refuse_odd_parameters()
        made.n_features_in_ = record["n_features"]
        if record["names"] is not None:
            made.feature_names_in_ = np.array(record["names"], dtype=object)
        made.roles_ = Roles.from_dict(record["roles"])
        made.coding_ = InputCoding.from_dict(record["coding"])
        names, basis = made.coding_.names, arrays["basis"]
        if basis.ndim != 2 or basis.shape[1] != len(names):
            raise ValueError(f"a basis of shape {basis.shape} for {len(names)} inputs")
        made._keep(Subspace(basis, names, **{name: dict(record["told"][name]) for name in BY_COLUMN}))
        return made

    def _keep(self, subspace: Subspace) -> None:
        self.subspace_ = subspace
        self.basis_, self.projector_, self.rank_ = subspace.basis, subspace.projector, subspace.rank
        self.attribute_accuracy_, self.majority_ = dict(subspace.accuracy), dict(subspace.majority)

    def _refuse_odd_parameters(self) -> None:
        sensitive_roles(self.roles)
        check_choice("method", self.method, METHODS)
        if not isinstance(self.include_indicators, bool | np.bool_):
            raise TypeError(f"include_indicators is {self.include_indicators!r}; give True or False.")


def _refuse_same_names(names: tuple[str, ...]) -> None:
    """Refuse a column that has the name of another column's indicator."""
    (name, count), *_ = Counter(names).most_common(1)
    if count > 1:
        raise SchemaError(
            f"Two inputs would be called '{name}': a column, and a category's indicator of another. Rename the column."
        )


class ProjectSensitive(TransformerMixin, SensitiveSubspace):  # type: ignore[misc]  # scikit-learn ships no types
    """Project rows so that no linear model can predict the sensitive columns along the learned directions.

    Frames become matrices: numbers are scaled, every category becomes an indicator, and the sensitive subspace is
    projected out (see :class:`SensitiveSubspace`). The columns keep their number and names, but mix: an indicator is no
    longer 0 or 1, and those of sensitive columns are 0 everywhere.

    Later steps should not scale the columns again, which would undo the geometry of the projection: before a network,
    use ``NetworkClassifier(scaling="none")``.

    Parameters
    ----------
    roles, method, include_indicators, scaling
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
