"""Options → the roles of the columns, and the rule."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from likewise.cli import _arguments as given
from likewise.cli._naming import ColumnNames, Settings, read_bins, read_number, read_order
from likewise.comparable import Comparability
from likewise.exceptions import RuleError, SchemaError
from likewise.schema import Roles

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What was asked about columns and rule, in the words of the command line."""

    label: given.Label
    sensitive: given.Sensitive = None
    discrete: given.Discrete = None
    continuous: given.Continuous = None
    ordinal: given.Ordinal = None
    must_match: given.MustMatch = None
    ignore: given.Ignore = None
    row_id: given.RowId = None
    bins: given.Bins = None
    missing: given.Missing = field(default_factory=lambda: ["refuse"])
    max_discrete_changes: given.MaxDiscreteChanges = 1
    max_continuous_shift: given.MaxContinuousShift = field(default_factory=lambda: ["0.025"])
    max_ordinal_shift: given.MaxOrdinalShift = field(default_factory=lambda: ["1"])
    sensitive_differs: given.SensitiveDiffers = given.Differs.ANY


def choose_roles(wishes: Wishes, frame: pa.Table, file: str) -> Roles:
    """Infer the roles of the columns that were not named."""
    names = ColumnNames(tuple(frame.column_names), file)
    overrides: dict[str, Any] = {
        "discrete": names.find_all("--discrete", wishes.discrete),
        "continuous": names.find_all("--continuous", wishes.continuous),
        "matched": names.find_all("--must-match", wishes.must_match),
        "ignored": names.find_all("--ignore", wishes.ignore),
        "ordinal": _read_orders(names.settings("--ordinal", wishes.ordinal, commas=True), frame),
        "bins": {
            column: read_bins("--bins", column, text)
            for column, text in _by_column("--bins", names, wishes.bins).items()
        },
        "row_id": None if wishes.row_id is None else names.find("--row-id", wishes.row_id),
    }
    sensitive = names.find_all("--sensitive", wishes.sensitive)
    if not sensitive and wishes.sensitive_differs != "none":
        raise RuleError(
            "No sensitive column is named. Add --sensitive with one or more columns, such as --sensitive race,sex."
        )
    missing = names.settings("--missing", wishes.missing)
    roles = Roles.infer(
        frame,
        label=names.find("--label", wishes.label),
        sensitive=sensitive,
        missing=missing.by_column or missing.for_all or "refuse",  # type: ignore[arg-type]  # it checks the words
        **{role: columns for role, columns in overrides.items() if columns},
    )
    if missing.by_column and missing.for_all is not None:
        others = dict.fromkeys((*roles.continuous, *roles.ordinal), missing.for_all)
        roles = replace(roles, missing=others | missing.by_column)  # type: ignore[arg-type]  # it checks the words
    _refuse_missing(frame, roles)
    return roles


def keep_apart(wishes: Wishes, scores: Sequence[str], names: ColumnNames) -> Wishes:
    """Leave the scores out of the comparison, whatever they look like."""
    listed = {
        "--label": (wishes.label,),
        "--row-id": (wishes.row_id,),
        **{
            option: names.find_all(option, asked)
            for option, asked in {
                "--sensitive": wishes.sensitive,
                "--discrete": wishes.discrete,
                "--continuous": wishes.continuous,
                "--must-match": wishes.must_match,
            }.items()
        },
    }
    for option, columns in listed.items():
        both = [name for name in scores if name in columns]
        if both:
            raise SchemaError(f"Column '{both[0]}' is named by --scores and by {option}. It can be one of them only.")
    ignored = names.find_all("--ignore", wishes.ignore)
    return replace(wishes, ignore=[*ignored, *(name for name in scores if name not in ignored)])


def describe_roles(roles: Roles, scores: Collection[str] = ()) -> Iterator[str]:
    """Say what the columns are; those with the scores are left out of the comparison, and yet not ignored."""
    for line in roles.describe().splitlines():
        role, rest = line[:7], line[7:]
        is_score = role == "ignored" and any(rest.lstrip().startswith(f"{name}  ") for name in scores)
        yield f"scores {rest}" if is_score else line


def choose_rule(wishes: Wishes, roles: Roles, frame: pa.Table, file: str) -> Comparability:
    """Fill in the limits of the columns that were not named."""
    names = ColumnNames(tuple(frame.column_names), file)

    def limits(role: str, asked: list[str], usual: Any) -> float | dict[str, float]:
        option = f"--max-{role}-shift"
        settings = names.settings(option, asked)
        for_all: float = usual if settings.for_all is None else read_number(option, settings.for_all)
        if not settings.by_column:
            return for_all
        for column in settings.by_column:
            if column not in roles.names(role):
                raise RuleError(f"{option} names column '{column}', which is {roles.role_of(column)} and not {role}.")
        named = {column: read_number(option, text) for column, text in settings.by_column.items()}
        return dict.fromkeys(roles.names(role), for_all) | named

    return Comparability(
        max_discrete_changes=wishes.max_discrete_changes,
        max_continuous_shift=limits("continuous", wishes.max_continuous_shift, Comparability().max_continuous_shift),
        max_ordinal_shift=limits("ordinal", wishes.max_ordinal_shift, Comparability().max_ordinal_shift),
        sensitive_differs=wishes.sensitive_differs.value,
    )


def _refuse_missing(frame: pa.Table, roles: Roles) -> None:
    """Say it in the words of the command line, before the schema says it in those of the library."""
    import pyarrow.compute as pc

    names = [name for name in (*roles.continuous, *roles.ordinal) if roles.missing_in(name) == "refuse"]
    counts = {name: pc.sum(pc.is_null(frame.column(name), nan_is_null=True)).as_py() for name in names}
    where = ", ".join(f"'{name}' ({n:,})" for name, n in counts.items() if n)
    if where:
        raise SchemaError(
            f"Amounts are missing in {where}. Add --missing median to fill them in, --missing apart to compare them "
            "with each other only, or --ignore these columns."
        )


def _by_column(option: str, names: ColumnNames, asked: list[str] | None) -> dict[str, str]:
    settings = names.settings(option, asked, commas=True)
    if settings.for_all is not None:
        raise SchemaError(f"{option} is '{settings.for_all}', which names no column. Write it as COLUMN=VALUE.")
    return settings.by_column


def _read_orders(settings: Settings, frame: pa.Table) -> dict[str, Sequence[Any]]:
    """Give categories the type of their column: '1<2<3' of a column of integers means integers."""
    import pyarrow as pa

    if settings.for_all is not None:
        raise SchemaError(
            f"--ordinal is '{settings.for_all}', which names no column. Write it as 'size=S<M<L', in quotes."
        )
    orders: dict[str, Sequence[Any]] = {}
    for column, text in settings.by_column.items():
        order = read_order("--ordinal", column, text)
        kind = frame.schema.field(column).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        try:
            orders[column] = tuple(pa.array(order).cast(kind).to_pylist())
        except pa.ArrowException:
            raise SchemaError(
                f"--ordinal {column}={text} does not fit the column, which holds {kind} values."
            ) from None
    return orders
