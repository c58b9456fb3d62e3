"""Sensitive columns, given by roles or by name, and the group of each row in each of them."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.baselines._subspace import SensitiveGroup, Subspace, learn_subspace
from likewise.exceptions import SchemaError
from likewise.nets._internal import BaseNetworkClassifier, InputCoding, guess_roles
from likewise.schema import Roles
from likewise.schema._internal import open_frame

Sensitive = Roles | str | Sequence[str]


def sensitive_roles(given: Sensitive) -> Roles:
    """Return roles, also from the names of sensitive columns alone."""
    roles = given if isinstance(given, Roles) else Roles(sensitive=given)
    if not roles.sensitive:
        raise SchemaError("No column is sensitive. Name at least one, such as Roles(sensitive='sex').")
    return roles


def complete_roles(given: Sensitive, frame: Any, *, is_array: bool = False) -> Roles:
    """Infer the role of every column without one; the columns of an array are numbers."""
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
    """Return the group of each row in each sensitive column: its category or bin."""
    others = [name for name in open_frame(frame).names if name not in roles.sensitive]
    schema = Roles(sensitive=roles.sensitive, bins=roles.bins, ignored=others).learn(frame)
    codes = schema.encode(frame, np.zeros(len(open_frame(frame)), np.int64)).sensitive  # labels do not matter
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
    """Learn the sensitive subspace of a training frame as the network sees it; ``amounts`` are row weights."""
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


class SensitiveNetworkClassifier(BaseNetworkClassifier):
    """Base of networks that need sensitive columns; roles are completed in fit and saved."""

    roles: Sensitive | None  # type: ignore[assignment]  # names of sensitive columns will do
    roles_: Roles

    def _find_roles(self, frame: Any) -> Roles:
        self.roles_ = complete_roles(self.roles, frame, is_array=self._took_array)  # type: ignore[arg-type]  # not None
        return self.roles_

    def _extra_record(self) -> dict[str, Any]:
        return {"roles": self.roles_.to_dict()}

    def _restore_extra(self, record: dict[str, Any]) -> None:
        self.roles_ = Roles.from_dict(record["roles"])

    def _refuse_odd_parameters(self) -> None:
        known = copy(self)
        known.roles = sensitive_roles(() if self.roles is None else self.roles)
        super(SensitiveNetworkClassifier, known)._refuse_odd_parameters()
