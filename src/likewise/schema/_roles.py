"""Which column plays which part in a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final

from likewise.exceptions import SchemaError
from likewise.schema._coding import Missing
from likewise.schema._role_checks import check_bins, check_missing, check_name, check_names, check_orders
from likewise.schema._values import from_json_value, to_json_value

if TYPE_CHECKING:
    from likewise.schema._schema import Schema

LISTED: Final = ("sensitive", "discrete", "continuous", "matched", "ignored")
ROLES: Final = ("sensitive", "discrete", "continuous", "ordinal", "matched", "ignored", "label", "row_id")
Names = str | Sequence[str] | None


@dataclass(frozen=True, slots=True, init=False)
class Roles:
    """Name the part each column of a table plays.

    Each column has one role. Wherever a sequence of names is asked for, a single name will do.

    Parameters
    ----------
    sensitive : sequence of str
        Columns in which comparable people may differ, such as race and sex. With none, only rules with
        ``sensitive_differs="none"`` can be used.
    discrete : sequence of str
        Columns of categories, of which a rule lets a few differ. A missing value is a category of its own.
    continuous : sequence of str
        Columns of numbers or times, compared by distance, as a share of their training range.
    ordinal : mapping of str to sequence, optional
        Columns of ordered categories, compared by how many ranks they are apart, each with its categories from
        the lowest to the highest.
    matched : sequence of str
        Columns in which comparable people have to be equal.
    ignored : sequence of str
        Columns that play no part. A table need not have them.
    label : str, optional
        The column of the label; comparable people have the same one. Labels can also be given apart, as ``y``.
    row_id : str, optional
        A column that names the rows, each differently.
    bins : mapping of str to int or sequence of float, optional
        Numeric sensitive columns to cut into intervals: how many, holding about as many training rows each, or the
        ascending numbers to cut at. A cut belongs to the interval above it.
    missing : {"refuse", "median", "apart"}, or one for each column by name
        What to do with missing values in continuous and ordinal columns: refuse them, take the training median, or
        hold them apart, so that missing is comparable with missing and with nothing else. Columns that a mapping
        does not name refuse.
    reasons : mapping of str to str, optional
        Why a column has its role, where it was inferred. Plays no part in equality.

    Examples
    --------
    >>> from likewise import Roles
    >>> roles = Roles(sensitive="sex", discrete=["job", "city"], continuous="age", label="income")
    >>> roles.discrete, roles.role_of("age")
    (('job', 'city'), 'continuous')
    """

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
        # written out, because what may be given is wider than what is kept
        kept = {
            "sensitive": check_names("sensitive", sensitive),
            "discrete": check_names("discrete", discrete),
            "continuous": check_names("continuous", continuous),
            "ordinal": check_orders(ordinal or {}),
            "matched": check_names("matched", matched),
            "ignored": check_names("ignored", ignored),
            "label": check_name("label", label),
            "row_id": check_name("row_id", row_id),
            "bins": check_bins(bins or {}),
            "missing": check_missing(missing),
            "reasons": dict(reasons or {}),
        }
        for name, value in kept.items():
            object.__setattr__(self, name, value)
        self._refuse_two_roles()
        self._refuse_misplaced()

    def __hash__(self) -> int:
        return hash((self.sensitive, self.discrete, self.continuous, self.matched, self.label, self.row_id))

    def names(self, role: str) -> tuple[str, ...]:
        """Name the columns that have a role, in the order they were given."""
        value = getattr(self, role)
        if role in ("label", "row_id"):
            return () if value is None else (value,)
        return tuple(value)

    def role_of(self, column: str) -> str | None:
        """Tell the role of a column, or None if it has none."""
        return next((role for role in ROLES if column in self.names(role)), None)

    def missing_in(self, column: str) -> Missing:
        """Tell what happens with missing values of a continuous or ordinal column."""
        return self.missing.get(column, "refuse") if isinstance(self.missing, Mapping) else self.missing

    @classmethod
    def infer(
        cls,
        frame: Any,
        *,
        label: str | None = None,
        sensitive: Names = (),
        discrete: Names = (),
        continuous: Names = (),
        ordinal: Mapping[str, Sequence[Any]] | None = None,
        matched: Names = (),
        ignored: Names = (),
        row_id: str | None = None,
        bins: Mapping[str, int | Sequence[float]] | None = None,
        missing: Missing | Mapping[str, Missing] = "refuse",
    ) -> Roles:
        """Give a role to every column of a frame, from what it holds; columns you name keep the role you give.

        Text, truth values and categorical columns are discrete, a categorical column with an order is ordinal. Whole
        numbers and dates with at most 10 different values are discrete, too; all other numbers and dates are
        continuous. Ignored are columns with one value only, text where nearly every value is different (names, ids),
        whole numbers that count the rows, and values that cannot be compared, such as lists.

        Nothing is printed: :meth:`describe` tells what was decided and why, and so does the log, at level INFO.

        Parameters
        ----------
        frame : pandas, polars or pyarrow table
            The training table.
        label, sensitive, discrete, continuous, ordinal, matched, ignored, row_id, bins, missing
            As in :class:`Roles`; these columns are not judged. The frame has to have all of them.

        Returns
        -------
        Roles

        Examples
        --------
        >>> import pyarrow as pa
        >>> from likewise import Roles
        >>> people = {"sex": ["f", "m", "f"], "job": ["cook", "cook", "smith"], "age": [31, 45, 28], "y": [0, 1, 1]}
        >>> print(Roles.infer(pa.table(people), label="y", sensitive="sex").describe())
        sensitive   sex  given
        discrete    job  text with 2 different values
        continuous  age  whole numbers with 3 different values
        label       y    given
        """
        from likewise.schema._infer import infer_roles  # it needs Roles

        given = cls(
            sensitive=sensitive,
            discrete=discrete,
            continuous=continuous,
            ordinal=ordinal,
            matched=matched,
            ignored=ignored,
            label=label,
            row_id=row_id,
            bins=bins,
        )
        return infer_roles(frame, given, missing)

    def learn(self, frame: Any, y: Any = None) -> Schema:
        """Learn the categories and ranges of the columns from the training frame.

        Parameters
        ----------
        frame : pandas, polars or pyarrow table
            The training table. Every column needs a role; the label column may be left out.
        y : list, array or series, optional
            The labels, row by row, only checked: a mistake shows here and not later.

        Returns
        -------
        Schema

        Examples
        --------
        >>> import pyarrow as pa
        >>> from likewise import Roles
        >>> schema = Roles(sensitive="sex", continuous="age").learn(pa.table({"sex": ["f", "m"], "age": [20, 60]}))
        >>> schema.categories, schema.ranges
        ({'sex': ('f', 'm')}, {'age': (20.0, 60.0)})
        """
        from likewise.schema._learn import learn_schema  # it needs Roles

        return learn_schema(self, frame, y)

    def describe(self) -> str:
        """Tell the role of each column and the reason for it, one line a column."""
        rows = [(role, name, self.reasons.get(name, "given")) for role in ROLES for name in self.names(role)]
        widths = [max((len(row[i]) for row in rows), default=0) for i in range(2)]
        return "\n".join(f"{role:{widths[0]}}  {name:{widths[1]}}  {reason}" for role, name, reason in rows)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that :meth:`from_dict` takes; it is JSON. The reasons are left out."""
        return {
            **{role: list(self.names(role)) for role in LISTED},
            "ordinal": {name: [to_json_value(value) for value in values] for name, values in self.ordinal.items()},
            "label": self.label,
            "row_id": self.row_id,
            "bins": {name: bins if isinstance(bins, int) else list(bins) for name, bins in self.bins.items()},
            "missing": dict(self.missing) if isinstance(self.missing, Mapping) else self.missing,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Roles:
        """Make roles of plain data."""
        known = [one.name for one in fields(cls) if one.name != "reasons"]
        unknown = sorted(set(data) - set(known))
        if unknown:
            raise SchemaError(f"Roles have no {unknown}; they have {known}.")
        ordinal = {name: tuple(map(from_json_value, values)) for name, values in data.get("ordinal", {}).items()}
        return cls(**dict(data) | {"ordinal": ordinal})

    def _refuse_two_roles(self) -> None:
        seen: dict[str, str] = {}
        for role in ROLES:
            for name in self.names(role):
                if seen.get(name) == role:
                    raise SchemaError(f"Column '{name}' stands twice in '{role}'. Name it once.")
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
                    "In other columns missing is a category of its own."
                )
