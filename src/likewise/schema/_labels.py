"""What each row is called and how it is labelled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise._checks import suggest
from likewise.exceptions import SchemaError
from likewise.schema._arrow import Column
from likewise.schema._frames import Frame, open_labels
from likewise.schema._roles import Roles
from likewise.schema._values import show_count, show_values, sort_values


def label_column(roles: Roles, frame: Frame, y: Any) -> Column:
    """Find the labels: ``y`` if given, else the frame's own column."""
    if y is None:
        if roles.label is None:
            raise SchemaError("There are no labels: the roles name no label column. Give the labels as y.")
        if roles.label not in frame.names:
            near = suggest(roles.label, frame.names)
            raise SchemaError(
                f"There are no labels: the frame has no column '{roles.label}'. Give the labels as y.{near}"
            )
        return frame.column(roles.label).refuse_incomparable()
    column = open_labels(y)
    if len(column.array) != len(frame):
        raise SchemaError(
            f"y has {show_count(len(column.array), 'label')} for {show_count(len(frame), 'row')}. Give one label a row."
        )
    return column


def row_ids_of(roles: Roles, frame: Frame) -> Any:
    """Give the ids as an array, or None for positions."""
    if roles.row_id is None:
        return None
    column = frame.column(roles.row_id).refuse_incomparable()
    if column.array.null_count:
        where = show_count(column.array.null_count, "row")
        raise SchemaError(f"Row id '{roles.row_id}' is missing in {where}. Name every row.")
    n_repeated = len(column.array) - len(column.array.unique())
    if n_repeated:
        how_often = show_count(n_repeated, "time")
        raise SchemaError(f"Row id '{roles.row_id}' repeats {how_often}. Give every row its own id.")
    return column.array.to_numpy(zero_copy_only=False)


def code_labels(column: Column) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Code labels by their position among the sorted classes that occur."""
    values, rows = column.distinct()
    if column.array.null_count:
        where = show_count(column.array.null_count, "row")
        raise SchemaError(f"Label '{column.name}' is missing in {where}. Drop such rows, or label them.")
    fractions = [value for value in values if isinstance(value, float) and not value.is_integer()]
    if fractions:
        raise SchemaError(
            f"Labels are classes, but '{column.name}' holds fractional numbers, such as {show_values(fractions[:2])}. "
            "Cut them into classes first."
        )
    # 1.0 is 1: pandas makes floats of whole numbers all by itself
    values = [int(value) if isinstance(value, float) else value for value in values]
    classes = sort_values(values)
    positions = {value: code for code, value in enumerate(classes)}
    return np.array([positions[value] for value in values], np.int32)[rows], np.array(classes)
