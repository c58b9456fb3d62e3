"""Learn a schema from the training frame."""

from __future__ import annotations

from typing import Any

from likewise._checks import suggest
from likewise.exceptions import SchemaError
from likewise.schema._coding import Categories, Codec, Intervals, Ranks, Scale
from likewise.schema._frames import Frame, open_frame
from likewise.schema._infer import refuse_absent
from likewise.schema._labels import code_labels, label_column, row_ids_of
from likewise.schema._roles import Roles
from likewise.schema._schema import LearnedColumn, Schema
from likewise.schema._table import KINDS
from likewise.schema._values import show_values


def learn_schema(roles: Roles, frame: Any, y: Any) -> Schema:
    """Learn every column that has a part to play."""
    opened = open_frame(frame)
    refuse_absent(opened, roles, [*KINDS, "row_id"])
    without_role = [name for name in opened.names if roles.role_of(name) is None]
    if without_role:
        near = suggest(roles.label, without_role) if roles.label and roles.label not in opened.names else ""
        raise SchemaError(
            f"These columns have no role: {show_values(without_role)}. Give each a role, or put it in ignored.{near}"
        )
    if not len(opened):
        raise SchemaError("The frame has no rows, so there is nothing to learn. Give a frame with rows.")
    if y is not None or roles.label in opened.names:
        code_labels(label_column(roles, opened, y))
    row_ids_of(roles, opened)
    names = [name for name in opened.names if name not in roles.ignored]
    return Schema(roles, opened.kind, tuple(_learn_column(roles, opened, name) for name in names))


def _learn_column(roles: Roles, frame: Frame, name: str) -> LearnedColumn:
    column, role = frame.column(name).refuse_incomparable(), str(roles.role_of(name))
    codec: Codec | None
    if role in ("label", "row_id"):
        codec = None
    elif role == "continuous":
        codec = Scale.learn(column, roles.missing_in(name))
    elif role == "ordinal":
        codec = Ranks.learn(column, tuple(roles.ordinal[name]), roles.missing_in(name))
    elif name in roles.bins:
        codec = Intervals.learn(column, roles.bins[name])
    else:
        codec = Categories.learn(column, role)
    return LearnedColumn(name, column.dtype, codec)
