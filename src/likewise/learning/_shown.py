"""What the estimator inside is shown: all columns, or those that are not sensitive, and roles that fit them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from likewise.exceptions import SchemaError
from likewise.schema import Roles
from likewise.schema._internal import open_frame, take_frame


def leave_out(frame: Any, discarded: list[str]) -> Any:
    """Give a frame without some columns, and refuse to give one without any."""
    if not discarded:
        return frame
    opened = open_frame(frame)
    kept = [name for name in opened.names if name not in discarded]
    if not kept:
        raise SchemaError(
            f"X has {len(opened.names)} feature(s), and without the sensitive ones there is none left to learn "
            "from. Give other columns, or discard_sensitive=False."
        )
    return opened.select(kept)


def refuse_unknown_columns(frame: Any, names: Any, discarded: list[str]) -> None:
    """Refuse columns other than these, or in another order, in scikit-learn's words; discarded ones do not matter."""
    expected = BaseEstimator()
    expected.feature_names_in_ = np.array([name for name in names if name not in discarded], dtype=object)
    expected.n_features_in_ = len(expected.feature_names_in_)
    take_frame(expected, frame, reset=False)


def trim_roles(estimator: Any, discarded: list[str]) -> Any:
    """Take columns that will not be shown out of all roles inside; those of generators, which see all, stay."""
    if not discarded or not hasattr(estimator, "get_params"):
        return estimator
    params = estimator.get_params()
    trimmed = {
        name: _without(value, discarded)
        for name, value in params.items()
        if isinstance(value, Roles) and not hasattr(params.get(name.rpartition("__")[0], estimator), "generate")
    }
    return estimator.set_params(**trimmed)


def _without(roles: Roles, discarded: list[str]) -> Roles:
    sensitive = tuple(name for name in roles.sensitive if name not in discarded)
    bins = {name: bins for name, bins in roles.bins.items() if name in sensitive}
    return replace(roles, sensitive=sensitive, bins=bins)
