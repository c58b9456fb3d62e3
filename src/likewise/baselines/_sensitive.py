"""Which columns are sensitive, by roles or by name, and what group each row belongs to in each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.baselines._subspace import SensitiveGroup, Subspace, learn_subspace
from likewise.exceptions import SchemaError
from likewise.nets import InputCoding, guess_roles
from likewise.schema import Roles
from likewise.schema._internal import open_frame

Sensitive = Roles | str | Sequence[str]


def sensitive_roles(given: Sensitive) -> Roles:
    """Take roles, or only the names of sensitive columns."""
    roles = given if isinstance(given, Roles) else Roles(sensitive=given)
    if not roles.sensitive:
        raise SchemaError("No column is sensitive. Name at least one, such as Roles(sensitive='sex').")
    return roles


def complete_roles(given: Sensitive, frame: Any, *, is_array: bool = False) -> Roles:
    """Guess the role of every column that has none; the columns of an array are numbers."""
    roles, names = sensitive_roles(given), open_frame(frame).names
    without = [name for name in names if roles.role_of(name) is None]
    if not without:
        return roles
    if is_array:
        return replace(roles, continuous=(*roles.continuous, *without))
    known = {role: getattr(roles, role) for role in ("sensitive", "discrete", "continuous", "ordinal", "matched")}
    here = {role: name for role in ("label", "row_id") if (name := getattr(roles, role)) in names}
    return guess_roles(frame, **known, **here, ignored=roles.ignored, bins=roles.bins, missing=roles.missing)


def group_rows(frame: Any, roles: Roles, coding: InputCoding) -> list[SensitiveGroup]:
    """Find the group of each row in each sensitive column: its category, or the interval it was cut into."""
    others = [name for name in open_frame(frame).names if name not in roles.sensitive]
    schema = Roles(sensitive=roles.sensitive, bins=roles.bins, ignored=others).learn(frame)
    codes = schema.encode(frame, np.zeros(len(open_frame(frame)), np.int64)).sensitive  # labels play no part
    pairs = zip(roles.sensitive, codes.T, strict=True)
    return [SensitiveGroup(name, coding.positions(name), np.ascontiguousarray(column)) for name, column in pairs]


def subspace_of(
    frame: Any,
    roles: Roles,
    coding: InputCoding,
    *,
    method: str = "softmax",
    include_indicators: bool = True,
    amounts: NDArray[np.floating] | None = None,
) -> Subspace:
    """Learn the subspace of a training frame, as the network sees it; rows count by their amounts."""
    return learn_subspace(
        coding.encode(frame).dense(),
        group_rows(frame, roles, coding),
        method=method,
        include_indicators=include_indicators,
        names=coding.names,
        amounts=amounts,
    )


def refuse_other_names(estimator: Any, input_features: ArrayLike | None) -> None:
    """Refuse names that are not those of training, as scikit-learn's transformers do."""
    if input_features is None:
        return
    names = np.asarray(input_features, dtype=object)
    if hasattr(estimator, "feature_names_in_") and not np.array_equal(names, estimator.feature_names_in_):
        raise ValueError("input_features is not equal to feature_names_in_. Leave it out.")
    if len(names) != estimator.n_features_in_:
        raise ValueError(
            f"input_features should have length equal to the number of columns in training, "
            f"{estimator.n_features_in_}; it has {len(names)}."
        )
