"""The role of each column of a table: what users write, checked, and what is inferred from the values."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from itertools import pairwise
from typing import Any, Final, Self, get_args

import numpy as np
from numpy.typing import NDArray

from likewise._checks import check_plain_data, parameter, suggest
from likewise._format import count_of
from likewise.exceptions import SchemaError
from likewise.schema._arrow import Column, Dtype, from_json_value, plain_value, to_json_value
from likewise.schema._cells import find_odd_cells, type_cells
from likewise.schema._codecs import Missing
from likewise.schema._table import EXACT

LISTED: Final = ("sensitive", "discrete", "continuous", "matched", "ignored")
ROLES: Final = ("sensitive", "discrete", "continuous", "ordinal", "matched", "ignored", "label", "row_id")
Names = str | Sequence[str] | None

FEW: Final = 10  # integers with at most this many distinct values are categories
NEARLY_ALL: Final = 0.9  # text with a larger share of distinct values identifies rows
ENOUGH_ROWS: Final = 20  # with fewer, all values may differ by chance
MANY: Final = 50  # with more categories, and few rows in each, two people seldom share one
ROWS_TO_SHARE: Final = 20  # rows per category
LOOKED_AT: Final = 100  # distinct texts checked for dates
SURE_TO_REPEAT: Final = 10  # repeats expected of that many measurements: that there is none is no chance
NAMES_AN_ID: Final = re.compile(r"(?:^|[^A-Za-z])(?i:u?id|uuid)$|[a-z]I[dD]$")
NUMBERED: Final = re.compile(r"(.*[^\d])\d+")
MOSTLY: Final = 0.5  # of the distinct values
STARTS_AS_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True, init=False)
class ColumnRoles:
    """The role of each column, checked: what :class:`~likewise.Roles` holds."""

    sensitive: tuple[str, ...]
    discrete: tuple[str, ...]
    continuous: tuple[str, ...]
    ordinal: Mapping[str, tuple[Any, ...]]
    matched: tuple[str, ...]
    ignored: tuple[str, ...]
    label: str | None
    row_id: str | None
    bins: Mapping[str, int | tuple[float, ...]]
    missing: Missing | Mapping[str, Missing]
    reasons: Mapping[str, str] = field(compare=False, repr=False)

    def __init__(
        self,
        *,
        sensitive: Names = (),
        discrete: Names = (),
        continuous: Names = (),
        ordinal: Mapping[str, Sequence[Any]] | None = None,
        matched: Names = (),
        ignored: Names = (),
        label: str | None = None,
        row_id: str | None = None,
        bins: Mapping[str, int | Sequence[float]] | None = None,
        missing: Missing | Mapping[str, Missing] = "refuse",
        reasons: Mapping[str, str] | None = None,
    ) -> None:
        # written by hand: the arguments accept more types than the fields hold
        kept = {
            "sensitive": _check_names("sensitive", sensitive),
            "discrete": _check_names("discrete", discrete),
            "continuous": _check_names("continuous", continuous),
            "ordinal": _check_orders({} if ordinal is None else ordinal),
            "matched": _check_names("matched", matched),
            "ignored": _check_names("ignored", ignored),
            "label": _check_name("label", label),
            "row_id": _check_name("row_id", row_id),
            "bins": _check_bins({} if bins is None else bins),
            "missing": _check_missing(missing),
            "reasons": _check_reasons(reasons),
        }
        for name, value in kept.items():
            object.__setattr__(self, name, value)
        self._refuse_two_roles()
        self._refuse_misplaced()

    def __hash__(self) -> int:
        return hash((self.sensitive, self.discrete, self.continuous, self.matched, self.label, self.row_id))

    def names(self, role: str) -> tuple[str, ...]:
        """Return the columns with a role, in the order given."""
        value = getattr(self, role)
        if role in ("label", "row_id"):
            return () if value is None else (value,)
        return tuple(value)

    def role_of(self, column: str) -> str | None:
        """Return the role of a column, or None."""
        return next((role for role in ROLES if column in self.names(role)), None)

    def missing_in(self, column: str) -> Missing:
        """Return the policy on missing values of a continuous or ordinal column."""
        return self.missing.get(column, "refuse") if isinstance(self.missing, Mapping) else self.missing

    def describe(self) -> str:
        """Return the role of each column and its reason as text, one line per column."""
        rows = [(role, name, self.reasons.get(name, "given")) for role in ROLES for name in self.names(role)]
        widths = [max((len(row[i]) for row in rows), default=0) for i in range(2)]
        return "\n".join(f"{role:{widths[0]}}  {name:{widths[1]}}  {reason}" for role, name, reason in rows)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready data for :meth:`from_dict`, without the reasons."""
        return {
            **{role: list(self.names(role)) for role in LISTED},
            "ordinal": {name: [to_json_value(value) for value in values] for name, values in self.ordinal.items()},
            "label": self.label,
            "row_id": self.row_id,
            "bins": {name: bins if isinstance(bins, int) else list(bins) for name, bins in self.bins.items()},
            "missing": dict(self.missing) if isinstance(self.missing, Mapping) else self.missing,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Build roles from the data of :meth:`to_dict`."""
        check_plain_data(data, "What roles are made of", SchemaError)
        known = [one.name for one in fields(cls) if one.name != "reasons"]
        unknown = sorted(set(data) - set(known))
        if unknown:
            raise SchemaError(f"Roles have no {unknown}; the fields are {known}.")
        try:
            ordinal = {name: tuple(map(from_json_value, values)) for name, values in data.get("ordinal", {}).items()}
        except (AttributeError, LookupError, TypeError, ValueError, ArithmeticError):
            raise SchemaError("The orders of roles are not plain data. Give what to_dict() returns.") from None
        return cls(**dict(data) | {"ordinal": ordinal})

    def _refuse_two_roles(self) -> None:
        seen: dict[str, str] = {}
        for role in ROLES:
            for name in self.names(role):
                if seen.get(name) == role:
                    raise SchemaError(f"Column '{name}' is listed twice in '{role}'. List it once.")
                if name in seen:
                    raise SchemaError(
                        f"Column '{name}' has two roles, '{seen[name]}' and '{role}'. Give each column one role."
                    )
                seen[name] = role

    def _refuse_misplaced(self) -> None:
        for name in self.bins:
            if name not in self.sensitive:
                raise SchemaError(
                    f"Column '{name}' has bins but is not sensitive. Only sensitive columns are cut into bins."
                )
        for name in self.missing if isinstance(self.missing, Mapping) else ():
            if name not in (*self.continuous, *self.ordinal):
                raise SchemaError(
                    f"Column '{name}' has a policy on missing values but is neither continuous nor ordinal. "
                    "In other columns missing is its own category."
                )


def refuse_absent(roles: ColumnRoles, columns: Sequence[str], needed: Sequence[str]) -> None:
    """Raise an error if a column with one of the needed roles is not among the columns."""
    known = set(columns)
    for role in needed:
        for name in roles.names(role):
            if name not in known:
                the = "the " if role in ("label", "row_id") else ""
                raise SchemaError(f"The table has no column '{name}', which is {the}{role}.{suggest(name, columns)}")


def _check_name(role: str, name: Any) -> str | None:
    """Return a column name or None; refuse anything else."""
    if name is None or (isinstance(name, str) and name):
        return name
    raise SchemaError(f"'{role}' is {name!r}, which is not a column name. Names must be text.")


def _check_names(role: str, given: Any) -> tuple[str, ...]:
    """Return one name or several as a tuple."""
    if given is None or isinstance(given, str):
        given = () if given is None else (given,)
    if not hasattr(given, "__iter__") or getattr(given, "ndim", 1) != 1:
        raise SchemaError(f"'{role}' is {given!r}. Pass column names.")
    names = tuple(sorted(given, key=str) if isinstance(given, Set) else given)  # the order of a set varies between runs
    for name in names:
        if not isinstance(name, str) or not name:
            raise SchemaError(f"'{role}' holds {name!r}, which is not a column name. Names must be text.")
    return names


def _check_orders(given: Any) -> dict[str, tuple[Any, ...]]:
    """Return each ordinal column with its categories in order."""
    if not isinstance(given, Mapping):
        raise SchemaError(f"'ordinal' is {given!r}. Map each column to its order, such as {{'size': ['S', 'M', 'L']}}.")
    _check_names("ordinal", given)
    orders: dict[str, tuple[Any, ...]] = {}
    for name, order in given.items():
        values = tuple(map(plain_value, order)) if _is_listing(order) else ()
        is_plain = all(isinstance(one, Hashable) for one in values)
        if not values or None in values or not is_plain or len(set(values)) < len(values):
            raise SchemaError(
                f"The order of '{name}' is {order!r}. List its categories from lowest to highest, each once, "
                "without missing values."
            )
        orders[name] = values
    return orders


def _check_bins(given: Any) -> dict[str, int | tuple[float, ...]]:
    """Return bins as a number of intervals or as ascending edges."""
    if not isinstance(given, Mapping):
        raise SchemaError(f"'bins' is {given!r}. Map each column to its bins, such as {{'age': 4}}.")
    return {name: _check_bins_of(name, bins) for name, bins in given.items()}


def _check_bins_of(name: str, bins: Any) -> int | tuple[float, ...]:
    if isinstance(bins, int | np.integer) and not isinstance(bins, bool) and bins >= 2:
        return int(bins)
    edges = tuple(map(plain_value, bins)) if _is_listing(bins) else ()
    if edges and all(map(_is_number, edges)) and all(low < high for low, high in pairwise(edges)):
        return edges
    shown = f"[{', '.join(map(repr, bins))}]" if isinstance(bins, tuple) else repr(bins)
    raise SchemaError(
        f"The bins of '{name}' are {shown}. Use a number of intervals, 2 or more, or ascending cut points."
    )


def _check_reasons(given: Any) -> dict[str, str]:
    """Return why columns have their roles."""
    if given is not None and not isinstance(given, Mapping):
        raise SchemaError(f"'reasons' is {given!r}. Map each column to the reason for its role.")
    return dict(given or {})


def _check_missing(given: Any) -> Any:
    """Return the policies on missing values, if they exist."""
    policies = dict(given) if isinstance(given, Mapping) else {None: given}
    for name, policy in policies.items():
        if not isinstance(policy, str) or policy not in get_args(Missing):
            where = "" if name is None else f" for '{name}'"
            raise SchemaError(
                f"The policy on missing values{where} is {policy!r}; choose 'refuse', 'median' or 'apart'."
            )
    return policies if isinstance(given, Mapping) else given


def _is_listing(given: Any) -> bool:
    return isinstance(given, Sequence | np.ndarray) and not isinstance(given, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


@dataclass(frozen=True, slots=True)
class Inferred:
    """The role that a column's values suggest, and why."""

    role: str
    reason: str
    what: str = ""  # the values are
    order: tuple[Any, ...] = ()  # of ordinal categories


def infer_column(column: Column, *, as_text: bool = False) -> Inferred:
    """Infer the role of a column from its values; refuse numbers with some odd cells, unless text is meant."""
    if not as_text:
        _refuse_odd_cells(column)
    n_rows = len(column.array)
    if column.dtype.family is None:
        return Inferred("ignored", f"{column.dtype.arrow} values, which cannot be compared")
    is_measure = (column.dtype.family == "numbers" or column.dtype.is_time) and column.dtype.levels is None
    present = column.present() if is_measure else None
    values: list[Any] = []
    if present is not None:
        n_distinct, n_present = len(np.unique(present)), len(present)
    else:
        values, _ = column.distinct()
        n_distinct = len(values) - (None in values)
        n_present = n_rows - column.array.null_count
    n_missing = n_rows - n_present
    if not n_present:
        return Inferred("ignored", "no values")
    if n_distinct == 1 and not n_missing and n_rows > 1:
        return Inferred("ignored", "the same value in every row")
    if column.dtype.ordered:
        role, what = "ordinal", "ordered categories"
    elif present is not None:
        role, what = _judge_numbers(column, present, n_distinct)
    else:
        role, what = _judge_categories(column, n_distinct, n_present)
    among = f", {n_missing:,} missing" if n_missing else ""
    advice = _advise(role, values, n_distinct, n_present) if values and role != "ordinal" else ""
    if (role, what) == ("continuous", "integers") and n_distinct == n_present >= ENOUGH_ROWS:
        advice = ", one for each row: ignore it, if it is an identifier"
    reason = f"{what} with {count_of(n_distinct, 'distinct value')}{among}{advice}"
    return Inferred(role, reason, what, column.dtype.levels or ())


def _judge_categories(column: Column, n_distinct: int, n_present: int) -> tuple[str, str]:
    if column.dtype.family == "booleans":
        return "discrete", "booleans"
    kind = "categories" if column.dtype.levels is not None else "text"
    if n_present >= ENOUGH_ROWS and n_distinct > NEARLY_ALL * n_present:
        return "ignored", f"{kind} nearly unique to each row,"
    return "discrete", kind


def _advise(role: str, values: list[Any], n_distinct: int, n_present: int) -> str:
    """Return advice on categories that few people share, or that read as dates."""
    some = [value for value in values[:LOOKED_AT] if value is not None]
    if all(isinstance(value, str) and _is_date(value) for value in some):
        return "; they read as dates: convert them to compare by distance"
    if role == "discrete" and n_distinct > MANY and n_distinct * ROWS_TO_SHARE > n_present:
        return "; few people share one: ignore it?"
    return ""


def _refuse_odd_cells(column: Column) -> None:
    """Refuse text of which nearly all cells are numbers: as categories, all of them would be compared as words."""
    if column.dtype.family != "text" or column.dtype.levels is not None or column.is_empty:
        return
    odd = find_odd_cells(column.array)
    if odd is not None:
        places = [f"row {row + 1:,}" for row in odd.rows[: len(odd.texts)].tolist()]
        raise SchemaError(
            f"{odd.describe(column.name, places)} (the first row below the header is row 1). Correct them, make them "
            f"missing, or take the column as categories ({parameter('text', column.name)})."
        )
    typed = type_cells(column.array).values
    is_number = str(typed.type) in ("int64", "double")
    if is_number and infer_column(Column(column.name, typed, Dtype(str(typed.type)))).role == "continuous":
        raise SchemaError(
            f"Column '{column.name}' is text, though all of its cells are numbers, such as "
            f"{column.array.drop_null()[0].as_py()!r}. Convert it (in pandas: pd.to_numeric), or take it as categories "
            f"({parameter('text', column.name)})."
        )


def _is_date(text: str) -> bool:
    if not STARTS_AS_DATE.match(text):
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def is_row_counter(column: Column) -> bool:
    """Whether a column numbers the rows, and would be ignored without a given role."""
    is_whole = column.dtype.family == "numbers" and column.dtype.is_whole and column.dtype.levels is None
    return is_whole and _number_rows(column.present())


def _number_rows(present: NDArray[Any]) -> bool:
    """Whether integers run from the lowest to the highest without gaps or repeats."""
    n = len(present)
    return n >= ENOUGH_ROWS and int(present.max()) - int(present.min()) == n - 1 and len(np.unique(present)) == n


def _judge_numbers(column: Column, present: NDArray[Any], n_distinct: int) -> tuple[str, str]:
    # two values are always few; otherwise one must repeat, or a table of five people would have no numbers
    is_few = n_distinct <= 2 or (n_distinct <= FEW and n_distinct < len(present))
    if column.dtype.is_time:
        return ("discrete" if is_few else "continuous"), "dates or times"
    if not column.dtype.is_whole and np.any(np.floor(present) != present):
        return "continuous", "numbers"
    low, high = int(present.min()), int(present.max())
    if _number_rows(present):
        return "ignored", "integers that number the rows,"
    if not is_few and max(-low, high) > EXACT:
        return "ignored", "integers beyond 2**53, too large for measurements,"
    if n_distinct == len(present) and _identify_rows(column.name, n_distinct, high - low + 1):
        return "ignored", "integers that identify the rows,"
    return ("discrete" if is_few else "continuous"), "integers"


def _identify_rows(name: str, n: int, n_possible: int) -> bool:
    """Whether different integers are identifiers: by the column's name, or because some measurements would repeat."""
    n_repeats = n * (n - 1) / 2 / n_possible  # to be expected of numbers that are spread evenly; others repeat more
    return n >= ENOUGH_ROWS and (bool(NAMES_AN_ID.search(name)) or n_repeats > SURE_TO_REPEAT)


def align_alike(found: Mapping[str, Inferred], columns: Callable[[str], Column]) -> dict[str, Inferred]:
    """Assign numbered columns of one name, such as PAY_0 to PAY_6, one role.

    They are continuous if one of them has too many values to be discrete; those with two values, or mostly with others
    than the continuous ones have, keep their role.
    """
    families: dict[str, list[str]] = {}
    for name, one in found.items():
        numbered = NUMBERED.fullmatch(name)
        if numbered and one.what == "integers" and one.role in ("discrete", "continuous"):
            families.setdefault(numbered[1], []).append(name)
    aligned = dict(found)
    for names in families.values():
        first = next((name for name in names if found[name].role == "continuous"), None)
        few = [name for name in names if found[name].role == "discrete"]
        if first is None or not few:
            continue
        known = np.unique(columns(first).present())
        for name in few:
            values = np.unique(columns(name).present())
            if len(values) > 2 and np.isin(values, known).mean() >= MOSTLY:
                reason = f"{found[name].reason}; continuous like '{first}'"
                aligned[name] = replace(found[name], role="continuous", reason=reason)
    return aligned
