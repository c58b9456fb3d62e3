"""What a frame holds, asked in one pass of Spark: the values of its categories, and what is missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from likewise._format import count_of
from likewise.exceptions import SchemaError
from likewise.schema import Roles
from likewise.spark._columns import column, quiet

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """Hold what the columns of a frame have, each as a short Arrow array of the column's own type.

    ``values`` are all different values of columns of categories, and of numbers the least one; ``n_missing`` counts
    missing values, NaN among them.
    """

    n_rows: int
    values: dict[str, Any]
    n_missing: dict[str, int]

    def of(self, name: str) -> Any:
        """Give the values of a column, the missing one among them if there is any."""
        import pyarrow as pa

        values = self.values[name]
        return pa.concat_arrays([values, pa.nulls(1, values.type)]) if self.n_missing[name] else values


def survey_frame(frame: DataFrame, roles: Roles, label: str | None) -> Survey:
    """Ask for all columns at once: of categories for the values that occur, of numbers for one.

    The different values of a column of categories come to the driver, as they do in a schema; a column of numbers
    may have as many as it likes.
    """
    from pyspark.sql import functions as F  # noqa: N812  # what everybody calls it

    numbers = [*roles.continuous, *roles.bins]
    names = [name for kind in ("sensitive", "discrete", "ordinal", "matched") for name in roles.names(kind)]
    names = [*(name for name in names if name not in roles.bins), *numbers, *([] if label is None else [label])]
    asked: list[Column] = [F.count(F.lit(1)).alias("n")]
    kinds = dict(frame.dtypes)
    for place, name in enumerate(names):
        one, is_float = column(name), kinds[name] in ("float", "double")
        is_missing = one.isNull() | F.isnan(one) if is_float else one.isNull()
        present = F.when(~is_missing, one)
        found = F.array_compact(F.array(F.min(present))) if name in numbers else F.collect_set(present)
        asked += [found.alias(f"values_{place}"), F.count(F.when(is_missing, 1)).alias(f"missing_{place}")]
    with quiet():
        answer = frame.agg(*asked).toArrow()
    row = {name: answer.column(name)[0].as_py() for name in answer.column_names if not name.startswith("values_")}
    values = {name: _one_list(answer, f"values_{place}") for place, name in enumerate(names)}
    return Survey(row["n"], values, {name: row[f"missing_{place}"] for place, name in enumerate(names)})


def refuse_missing(survey: Survey, roles: Roles, label: str | None) -> None:
    """Refuse missing numbers and labels with the number of them in the whole frame, not in some batch."""
    for role in ("continuous", "ordinal"):
        for name in roles.names(role):
            if survey.n_missing[name] and roles.missing_in(name) == "refuse":
                found = count_of(survey.n_missing[name], "missing value")
                raise SchemaError(
                    f"{role.capitalize()} column '{name}' has {found}. Fill in values, or choose a policy in the "
                    f"roles: missing={{{name!r}: 'median'}} (the training median) or 'apart' (comparable with missing "
                    "only)."
                )
    if label is not None and survey.n_missing[label]:
        where = count_of(survey.n_missing[label], "row")
        raise SchemaError(f"Label '{label}' is missing in {where}. Drop such rows, or label them.")


def refuse_row_ids(frame: DataFrame, roles: Roles) -> None:
    """Refuse row ids that are missing or repeat."""
    if roles.row_id is None:
        return
    from pyspark.sql import functions as F  # noqa: N812

    one = column(roles.row_id)
    n, n_present, n_different = frame.agg(F.count(F.lit(1)), F.count(one), F.count_distinct(one)).collect()[0]
    if n_present < n:
        raise SchemaError(f"Row id '{roles.row_id}' is missing in {count_of(n - n_present, 'row')}. Name every row.")
    if n_different < n:
        how_often = count_of(n - n_different, "time")
        raise SchemaError(f"Row id '{roles.row_id}' repeats {how_often}. Give every row its own id.")


def _one_list(answer: pa.Table, name: str) -> Any:
    values = answer.column(name).combine_chunks().flatten()
    return values.cast(values.type)
