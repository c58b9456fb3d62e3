"""What columns are for a network, where nobody says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np

from likewise.schema import Roles
from likewise.schema._internal import open_frame

__all__ = ["guess_roles"]

LARGEST: Final = 2.0**53  # beyond, whole numbers are ids after all


def guess_roles(frame: Any, **given: Any) -> Roles:
    """Give a role to every column of a frame, from what it holds; numbers stay, also those that might be ids.

    That whole numbers count the rows makes them no ids: a model may learn from them, and should not stop to when it is
    fitted to some of the rows only.

    Parameters
    ----------
    frame : pandas, polars or pyarrow table
    **given
        What is known already, as in :meth:`Roles.infer`.

    Returns
    -------
    Roles

    Examples
    --------
    >>> import pyarrow as pa
    >>> from likewise.nets import guess_roles
    >>> people = pa.table({"name": [f"person {i}" for i in range(30)], "age": range(30, 60)})
    >>> roles = guess_roles(people)
    >>> roles.continuous, roles.ignored
    (('age',), ('name',))
    """
    opened, asked = open_frame(frame), Roles(ignored=given.pop("ignored", ())).ignored
    guessed = Roles.infer(frame, **given, ignored=[name for name in asked if name in opened.names])
    left_out = [opened.column(name) for name in guessed.ignored if name in guessed.reasons]  # by us, not by the caller
    numbers = [one.name for one in left_out if one.dtype.family == "numbers" and _can_be_measured(one)]
    ignored = dict.fromkeys((*asked, *(name for name in guessed.ignored if name not in numbers)))
    return replace(guessed, continuous=(*guessed.continuous, *numbers), ignored=tuple(ignored))


def _can_be_measured(column: Any) -> bool:
    """Tell whether there are any numbers, and float64 can tell them apart."""
    return not column.is_empty and bool((np.abs(column.present().astype(np.float64)) < LARGEST).all())
