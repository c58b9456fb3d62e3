"""Learn a schema in Spark: reduce the frame to a few rows that teach the same, and learn from these."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from likewise.exceptions import SchemaError
from likewise.schema import Roles, Schema
from likewise.schema._internal import open_frame
from likewise.spark._columns import check_frame, refuse_absent
from likewise.spark._faults import faults
from likewise.spark._lesson import teach
from likewise.spark._survey import refuse_missing, refuse_row_ids, survey_frame

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


def learn(roles: Roles, frame: DataFrame) -> Schema:
    """Learn the categories and ranges of the columns of a Spark frame.

    It is the schema that ``roles.learn(frame.toArrow())`` would give, number by number, without having all rows in one
    place: only the different values of columns of categories, and a few numbers of the others, come to the driver.

    Parameters
    ----------
    roles : Roles
        What the columns are; every column needs a role.
    frame : Spark DataFrame
        The training rows.

    Returns
    -------
    Schema

    Examples
    --------
    >>> from pyspark.sql import SparkSession
    >>> import likewise.spark
    >>> from likewise import Roles
    >>> session = SparkSession.builder.getOrCreate()
    >>> people = session.createDataFrame([("f", 20), ("m", 60)], "sex string, age int")
    >>> likewise.spark.learn(Roles(sensitive="sex", continuous="age"), people).ranges
    {'age': (20.0, 60.0)}
    """
    if not isinstance(roles, Roles):
        raise SchemaError(f"roles is a {type(roles).__name__}. Give Roles, such as Roles(sensitive=['sex'], ...).")
    empty = check_frame(frame)
    check_columns(empty, roles)
    label = roles.label if roles.label in empty.column_names else None
    with faults("learning the schema"):
        survey = survey_frame(frame, roles, label)
        if not survey.n_rows:
            raise SchemaError("The frame has no rows, so there is nothing to learn. Give a frame with rows.")
        refuse_missing(survey, roles, label)
        refuse_row_ids(frame, roles)
        return teach(frame, roles, survey, empty)


def check_columns(empty: pa.Table, roles: Roles) -> None:
    """Refuse columns that are absent, have no role or cannot be compared: Spark would say it in Java's words."""
    names = empty.column_names
    refuse_absent(names, replace(roles, label=None))
    without_role = [name for name in names if roles.role_of(name) is None]
    if without_role:
        listed = ", ".join(map(repr, without_role[:5]))
        raise SchemaError(f"These columns have no role: {listed}. Give each a role, or put it in ignored.")
    opened = open_frame(empty)
    for name in names:
        if roles.role_of(name) != "ignored":
            opened.column(name).refuse_incomparable()
