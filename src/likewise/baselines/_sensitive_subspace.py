"""The sensitive subspace of a frame, as a scikit-learn estimator."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from likewise._checks import check_choice
from likewise._fit_guard import forgetting
from likewise._json import plain
from likewise.baselines._sensitive import Sensitive, complete_roles, sensitive_roles, subspace_of
from likewise.baselines._subspace import Subspace
from likewise.baselines._telling import METHODS
from likewise.exceptions import SchemaError
from likewise.nets import InputCoding, opened_folder, save_folder
from likewise.schema import Roles
from likewise.schema._internal import take_frame

TOLD: Final = ("accuracy", "majority", "balanced_accuracy", "is_noise")  # by sensitive column


class SensitiveSubspace(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Learn the directions along which a linear model tells sensitive columns from the others.

    Numbers are scaled and every category becomes an indicator, as networks see people. Each sensitive column is then
    regressed on all columns that are not sensitive. The directions of these regressions, and the sensitive columns
    themselves, span the subspace: a difference inside it does not count.

    Parameters
    ----------
    roles : Roles, str or sequence of str
        What the columns are, or only the names of the sensitive ones. What has no role gets one from what it holds,
        see :meth:`Roles.infer`; the columns of an array, x0, x1 and so on, are numbers. A numeric sensitive column is
        told by its bins.
    method : {"softmax", "one_vs_rest"}
        Whether the values of a column are told by one model, or each from all others by a model of its own, which
        adds a direction to the subspace.
    include_indicators : bool
        Whether the sensitive columns themselves belong to the subspace.
    scaling : {"range", "deviation", "none"}
        Whether the training range of a number becomes [0, 1], or its mean 0 and its standard deviation 1, or numbers
        stay as they are. The directions depend on it.

    Attributes
    ----------
    basis_ : array of float, shape (``rank_``, n_inputs)
        Orthonormal rows.
    projector_ : array of float, shape (n_inputs, n_inputs)
        The matrix that takes the subspace out of rows.
    rank_ : int
    attribute_accuracy_ : dict of str to float
        For each sensitive column, the share of rows whose value one model of all values tells, whatever the method, on
        rows it was not fitted to.
    majority_ : dict of str to float
        What always naming the most common value reaches. Fitting warns of a column that is told hardly better than by
        chance, rare values included: its directions are mostly chance.
    subspace_ : Subspace
        All of this, with distances.
    coding_ : InputCoding
        How rows become inputs.
    roles_ : Roles
        What the columns were taken for.

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
        with forgetting(self):
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

    def save(self, path: str | Path) -> None:
        """Write a folder that :meth:`load` reads, on this machine or another.

        Parameters
        ----------
        path : str or Path
        """
        check_is_fitted(self, "subspace_")
        params = self.get_params(deep=False)
        given = params.pop("roles")
        subspace = self.subspace_
        names = getattr(self, "feature_names_in_", None)
        record = {
            "params": plain(params),
            "given": given.to_dict() if isinstance(given, Roles) else plain(given),
            "roles": self.roles_.to_dict(),
            "names": None if names is None else names.tolist(),
            "n_features": self.n_features_in_,
            "coding": self.coding_.to_dict(),
            "told": {name: dict(getattr(subspace, name)) for name in TOLD},
        }
        save_folder(path, f"{type(self).__name__} 1", record, {"basis": subspace.basis})

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a folder that :meth:`save` wrote; nothing in it is run.

        Parameters
        ----------
        path : str or Path

        Returns
        -------
        estimator
        """
        with opened_folder(path, f"{cls.__name__} 1") as (record, arrays):
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
            made._keep(Subspace(basis, names, **{name: dict(record["told"][name]) for name in TOLD}))
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
    """Refuse a column that is called as the indicator of another: nobody could tell the inputs apart."""
    (name, count), *_ = Counter(names).most_common(1)
    if count > 1:
        raise SchemaError(
            f"Two inputs would be called '{name}': a column, and the indicator of a category of another. Rename the "
            "column."
        )
