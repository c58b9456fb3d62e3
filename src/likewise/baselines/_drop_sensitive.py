"""Tables without their sensitive columns (Dis of the paper)."""

from __future__ import annotations

from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from likewise._checks import check_choice, suggest
from likewise._fit_guard import fit_guard
from likewise.baselines._sensitive_columns import Sensitive, refuse_other_names, sensitive_roles
from likewise.exceptions import SchemaError
from likewise.schema._internal import is_frame, open_frame, table_of_array, take_frame

OUTPUTS: Final = ("default", "pandas", "polars")


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
