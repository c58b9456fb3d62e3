"""Options that name columns → the roles of the columns, and the comparability rule."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from likewise._checks import suggest
from likewise._format import line_up
from likewise.cli._options import COLUMNS, RULE, default_of, first, option, option_name, panel_of
from likewise.exceptions import RuleError, SchemaError

if TYPE_CHECKING:
    import pyarrow as pa

    from likewise.auditing._internal import AuditSettings
    from likewise.comparable import Comparability
    from likewise.schema import Roles

ROLE_TITLES: Final = {
    **{role: role for role in ("sensitive", "discrete", "continuous", "ordinal")},
    **{"matched": "must match", "ignored": "ignored", "label": "label", "row_id": "row id"},
}
ROLES_HEADING: Final = "Column roles (change them with --discrete, --continuous, --must-match, --ignore, ...):"
AS_TEXT: Final = {b"likewise": b"text"}  # of a column that is text by wish, or for its codes
LABEL: Final = "Outcome, which both members of a pair share, if there is one."


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnOptions:
    """What the command line says about columns and rule."""

    label: str | None = first(None, COLUMNS, "COLUMN", LABEL)
    sensitive: list[str] | None = first(
        *(None, COLUMNS, "COLUMNS"),
        "Sensitive (protected) attributes, such as race,sex.",
    )
    discrete: list[str] | None = option(None, COLUMNS, "COLUMNS", "Categorical columns.")
    continuous: list[str] | None = option(None, COLUMNS, "COLUMNS", "Numeric columns.")
    ordinal: list[str] | None = option(
        None, COLUMNS, "COLUMN=A<B<C", "Ordered categories, lowest first: 'size=S<M<L'. The shell needs the quotes."
    )
    must_match: list[str] | None = option(None, COLUMNS, "COLUMNS", "Columns that must be equal in a pair.")
    ignore: list[str] | None = option(None, COLUMNS, "COLUMNS", "Columns to leave out.")
    row_id: str | None = option(None, COLUMNS, "COLUMN", "Row identifier; not matched on.")
    bins: list[str] | None = option(
        *(None, COLUMNS, "COLUMN=N|EDGES"),
        "Bin a numeric sensitive column: age=4 for four groups of equal size, age=25,45,65 for cut points (one cut "
        "point needs a trailing comma: age=40,).",
    )
    missing: list[str] | None = option(
        *(None, COLUMNS, "POLICY"),
        "Missing numbers: keep them apart (comparable only with each other, the default), fill in the median, or "
        "refuse the file. One policy, or by column: age=median.",
    )
    max_discrete_changes: int = option(1, RULE, "N", "Number of discrete columns that may differ.", min=0)
    max_continuous_shift: float = option(
        0.025, RULE, "SHARE", "Largest difference in a continuous column, as a share of its range."
    )
    limits: list[str] | None = option(
        *(None, RULE, "COLUMN=LIMIT"),
        "Largest difference in units of a column: income=5000, 'dti=2 points', 'age=10 %' (of the larger value), "
        "'rate=0.05 of range', 'amount=5 % of middle range' (1st to 99th percentile), 'applied=30 days', "
        "'size=1 rank'.",
    )
    rule_file: Path | None = option(
        *(None, RULE, "FILE"),
        "All of the rule from a TOML file, instead of the other options of it: also shifts of ordinal columns, which "
        "sensitive columns must differ, columns in which nobody may be better, and a band around the threshold.",
        names="--rule",
    )

    def without(self, scores: Sequence[str], names: ColumnNames, named_by: str = "--scores") -> ColumnOptions:
        """Leave columns of scores, or of weights, out of the comparison."""
        listed = {"label": (self.label,), "row_id": (self.row_id,), **self._listed(names)}
        ignored = listed.pop("ignore")
        for name, columns in listed.items():
            both = [column for column in scores if column in columns]
            if both:
                other = option_name(name)
                raise SchemaError(f"Column '{both[0]}' is named by {named_by} and by {other}. Name it in one of them.")
        return replace(self, ignore=[*ignored, *(name for name in scores if name not in ignored)])

    def without_settings(self, settings: AuditSettings, names: ColumnNames) -> ColumnOptions:
        """Leave the columns of weights and clusters out of the comparison; those of clusters unless they are named."""
        weights = [] if settings.sample_weight is None else [settings.sample_weight]
        named = {self.label, self.row_id, *(column for one in self._listed(names).values() for column in one)}
        clusters = [] if settings.cluster is None or settings.cluster in named else [settings.cluster]
        return self.without(weights, names, "--weight").without(clusters, names, "--cluster")

    def without_ignored(self, names: Collection[str]) -> ColumnOptions:
        """Do not ask for columns that are not in the table to be left out."""
        return replace(self, ignore=[name for name in self.ignore or () if name not in names]) if names else self

    def _listed(self, names: ColumnNames) -> dict[str, Any]:
        options = ("sensitive", "discrete", "continuous", "must_match", "ignore")
        return {one: names.find_all(option_name(one), getattr(self, one)) for one in options}

    def roles(self, frame: pa.Table, file: str) -> Roles:
        """Return the roles of all columns; those not named are inferred."""
        from likewise.schema import Roles

        names = ColumnNames(tuple(frame.column_names), file)
        listed = self._listed(names)
        sensitive = listed.pop("sensitive")
        named: dict[str, Any] = {
            **{"matched": listed.pop("must_match"), "ignored": listed.pop("ignore"), **listed},
            "ordinal": _read_orders(names.values("--ordinal", self.ordinal, commas=True), frame),
            "bins": _read_bins(names.values("--bins", self.bins, commas=True)),
            "row_id": None if self.row_id is None else names.find("--row-id", self.row_id),
        }
        if not sensitive and (self.rule_file is None or self._read_rule(self.rule_file).sensitive_differs != "none"):
            raise RuleError(
                "No sensitive column is named. Add --sensitive with one or more columns, such as --sensitive race,sex."
            )
        missing = names.values("--missing", self.missing)
        roles = Roles.infer(
            frame,
            label=None if self.label is None else names.find("--label", self.label),
            sensitive=sensitive,
            text=[one.name for one in frame.schema if one.metadata == AS_TEXT],
            missing=missing.by_column or missing.for_all,  # type: ignore[arg-type]  # it checks the words
            **{role: columns for role, columns in named.items() if columns},
        )
        if missing.by_column and missing.for_all is not None:
            others = dict.fromkeys((*roles.continuous, *roles.ordinal), missing.for_all)
            roles = replace(roles, missing=others | missing.by_column)  # type: ignore[arg-type]  # it checks the words
        _refuse_missing(frame, roles)
        return roles

    def named(self, *numbers: str) -> NamedColumns:
        """The columns that are named, with more ``numbers``, as far as is known before the file is read."""
        binned, ordered = ([text.partition("=")[0] for text in given or []] for given in (self.bins, self.ordinal))
        single = [name for name in (self.label, self.row_id) if name is not None]
        return NamedColumns(
            _read_names(*(self.continuous or []), *numbers, *binned),
            _read_names(*(self.sensitive or []), *(self.discrete or []), *(self.must_match or [])),
            _read_names(*(self.ignore or []), *single, *ordered),
        )

    def rule(self, frame: pa.Table, file: str) -> Comparability:
        """Return the rule."""
        from likewise.comparable import Comparability

        if self.rule_file is not None:
            return self._read_rule(self.rule_file)
        in_units = ColumnNames(tuple(frame.column_names), file).values("--limits", self.limits, commas=True)
        if in_units.for_all is not None:
            raise SchemaError(f"--limits is '{in_units.for_all}', which names no column. Write it as COLUMN=LIMIT.")
        return Comparability(
            max_discrete_changes=self.max_discrete_changes,
            max_continuous_shift=self.max_continuous_shift,
            limits=in_units.by_column,
        )

    def _read_rule(self, file: Path) -> Comparability:
        """Read the rule from a file, which has all of it."""
        from likewise.comparable import Comparability

        for one in fields(ColumnOptions):
            is_of_rule = panel_of(one) == RULE and one.name != "rule_file"
            if is_of_rule and getattr(self, one.name) != default_of(one):
                raise RuleError(f"--rule and {option_name(one.name)} exclude each other: the file has all of the rule.")
        return Comparability.from_toml(file)


def describe_roles(roles: Roles, scores: Collection[str] = (), settings: AuditSettings | None = None) -> list[str]:
    """List the role of each column and its reason; those of scores, weights and clusters have roles of these names."""
    apart: dict[str | None, str] = dict.fromkeys(scores, "scores")
    if settings is not None:
        apart |= {settings.sample_weight: "weights", settings.cluster: "clusters"}
    rows = [
        (apart.get(name, title) if role == "ignored" else title, name, roles.reasons.get(name, "given"))
        for role, title in ROLE_TITLES.items()
        for name in roles.names(role)
    ]
    return line_up(rows).splitlines()


class NamedColumns(NamedTuple):
    """Columns that options name as numbers, as categories, and as something else."""

    numbers: frozenset[str] = frozenset()
    categories: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()


def _read_names(*given: str) -> frozenset[str]:
    return frozenset(name.strip() for text in given for name in (text, *text.split(",")))


@dataclass(frozen=True, slots=True)
class ColumnValues:
    """The value an option has for all columns, and for single ones; the last one given counts."""

    for_all: str | None
    by_column: dict[str, str]


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """The columns of a file, by which option values such as ``race,sex`` or ``age=0.05`` are read."""

    known: tuple[str, ...]
    file: str

    def find(self, option: str, name: str) -> str:
        """Return a column's name; refuse one that the file does not have, with the nearest that it has."""
        if name in self.known:
            return name
        same_letters = [one for one in self.known if one.strip().casefold() == name.strip().casefold()]
        either = " or ".join(f"'{one}'" for one in same_letters)
        hint = f" Did you mean {either}?" if either else suggest(name, self.known)
        raise SchemaError(
            f"{option} names column '{name}', which '{self.file}' does not have.{hint or self._list_columns()}"
        )

    def find_all(self, option: str, given: Iterable[str] | None) -> tuple[str, ...]:
        """Read names that were repeated, or joined by commas; a name with a comma in it stands alone."""
        names: list[str] = []
        for text in given or ():
            if text not in self.known:  # a column may be called ","
                _refuse_empty(option, text)
            pieces = [text] if text in self.known else [piece.strip() for piece in text.split(",")]
            names += [self.find(option, piece) for piece in pieces if piece]
        return tuple(dict.fromkeys(names))

    def values(self, option: str, given: Iterable[str] | None, *, commas: bool = False) -> ColumnValues:
        """Read ``value`` and ``column=value``, repeated or joined by commas; the values may have ``commas`` too."""
        for_all: str | None = None
        by_column: dict[str, str] = {}
        for text in given or ():
            _refuse_empty(option, text)
            entries = self._split(text, commas)
            if sum(name is None for name, _ in entries) > 1:
                raise SchemaError(
                    f"{option} is '{text}', with two values for all columns. Give one, with a decimal point, or write "
                    "COLUMN=VALUE."
                )
            for name, value in entries:
                if name is None:
                    for_all = value
                else:
                    by_column[self.find(option, name)] = value
        return ColumnValues(for_all, by_column)

    def _split(self, text: str, commas: bool) -> list[tuple[str | None, str]]:
        entries: list[tuple[str | None, str]] = []
        rest = text
        while rest:
            name = self._name_before_equals(rest)
            value = rest if name is None else rest[len(name) + 1 :]
            # a value with commas runs to the one before the next 'name='
            ends = [
                i
                for i, letter in enumerate(value)
                if letter == "," and (not commas or self._name_before_equals(value[i + 1 :].lstrip()))
            ]
            end = ends[0] if ends else len(value)
            entries.append((None if name is None else name.strip(), value[:end].strip()))
            rest = value[end + 1 :].lstrip()
        return entries

    def _name_before_equals(self, text: str) -> str | None:
        """Return a known column followed by '=', or else the text before the first '=' of the first piece."""
        for name in sorted(self.known, key=len, reverse=True):
            if text.startswith(f"{name}="):
                return name
        piece = text.split(",", 1)[0]
        return piece.split("=", 1)[0] if "=" in piece else None

    def _list_columns(self, most: int = 12) -> str:
        shown = ", ".join(f"'{name}'" for name in self.known[:most])
        return f" Its columns are {shown}{', …' if len(self.known) > most else ''}."


def _refuse_empty(option: str, text: str) -> None:
    """Refuse an empty value: a variable of the shell may not be set."""
    if not text.strip(" ,"):
        raise SchemaError(f"{option} is '{text}', which is empty. Give a value, or leave it out.")


def read_bins(option: str, column: str, text: str) -> int | tuple[float, ...]:
    """Read ``4`` as a number of groups, and ``25,45,65`` or ``40,`` as cut points."""
    pieces = [piece.strip() for piece in text.split(",")]
    try:
        if len(pieces) == 1:
            return int(pieces[0])
        return tuple(float(piece) for piece in pieces if piece)
    except ValueError:
        raise SchemaError(
            f"{option} {column}={text} is neither a whole number of groups, as in {column}=4, nor cut points, "
            f"as in {column}=25,45,65."
        ) from None


def read_order(option: str, column: str, text: str) -> Sequence[str]:
    """Read ``S<M<L``, lowest first."""
    order = tuple(piece.strip() for piece in text.split("<"))
    if len(order) < 2 or not all(order) or len(set(order)) < len(order):
        raise SchemaError(
            f"{option} {column}={text} gives no order. List each category once, lowest first: {column}=low<middle<high."
        )
    return order


def _read_bins(values: ColumnValues) -> dict[str, int | tuple[float, ...]]:
    if values.for_all is not None:
        raise SchemaError(f"--bins is '{values.for_all}', which names no column. Write it as COLUMN=VALUE.")
    return {column: read_bins("--bins", column, text) for column, text in values.by_column.items()}


def _read_orders(values: ColumnValues, frame: pa.Table) -> dict[str, Sequence[Any]]:
    """Read orders with the type of their column: '1<2<3' of a column of integers means integers."""
    import pyarrow as pa

    if values.for_all is not None:
        raise SchemaError(
            f"--ordinal is '{values.for_all}', which names no column. Write it as 'size=S<M<L', in quotes."
        )
    orders: dict[str, Sequence[Any]] = {}
    for column, text in values.by_column.items():
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


def _refuse_missing(frame: pa.Table, roles: Roles) -> None:
    """Refuse missing numbers with the options that allow them, before the schema refuses them."""
    import pyarrow.compute as pc

    names = [name for name in (*roles.continuous, *roles.ordinal) if roles.missing_in(name) == "refuse"]
    counts = {name: pc.sum(pc.is_null(frame.column(name), nan_is_null=True)).as_py() for name in names}
    where = ", ".join(f"'{name}' ({n:,})" for name, n in counts.items() if n)
    if where:
        raise SchemaError(
            f"Numbers are missing in {where}. Add --missing median to fill them in, --missing apart to compare them "
            "only with each other, or --ignore these columns."
        )
