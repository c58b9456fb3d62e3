"""Rows without what tells their sensitive columns (Proj of the paper)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from likewise.baselines._sensitive import refuse_other_names
from likewise.baselines._sensitive_subspace import SensitiveSubspace
from likewise.schema._internal import take_frame


class ProjectSensitive(TransformerMixin, SensitiveSubspace):  # type: ignore[misc]  # scikit-learn ships no types
    """Project rows so that no linear model can tell the sensitive columns by the learned directions.

    Frames become matrices: numbers are scaled, every category becomes an indicator, and the sensitive subspace is
    taken out (see :class:`SensitiveSubspace`). The columns keep their number and their names, but mix: an indicator
    is no longer 0 or 1, and those of sensitive columns are 0 everywhere.

    What comes after should not scale the columns again, which would undo the geometry of the projection: before a
    network, ``NetworkClassifier(scaling="none")``.

    Parameters
    ----------
    roles : Roles, str or sequence of str
        What the columns are, or only the names of the sensitive ones. What has no role gets one from what it holds,
        see :meth:`Roles.infer`; the columns of an array, x0, x1 and so on, are numbers. A numeric sensitive column is
        told by its bins.
    method : {"softmax", "one_vs_rest"}
        Whether the values of a column are told by one model, or each from all others by a model of its own.
    include_indicators : bool
        Whether the sensitive columns themselves are taken out.
    scaling : {"range", "deviation", "none"}
        Whether the training range of a number becomes [0, 1], or its mean 0 and its standard deviation 1, or numbers
        stay as they are.

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
        """Scale, write indicators out, and project.

        Parameters
        ----------
        X : as in :meth:`fit`
            Categories that training did not have become no indicator.

        Returns
        -------
        array of float, shape (n_rows, n_inputs)
        """
        check_is_fitted(self, "subspace_")
        frame = take_frame(self, X, reset=False)
        return self.subspace_.project(self.coding_.encode(frame).dense())

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Name the columns that :meth:`transform` gives.

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
