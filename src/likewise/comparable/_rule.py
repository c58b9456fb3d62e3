"""When two people are comparable: the definition, written once."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from likewise._checks import check_plain_data, parameter, suggest
from likewise._files import refuse_pipe
from likewise.comparable._limits import (
    OF_RANGE,
    SHIFT_TOLERANCE,
    Differences,
    FieldLimit,
    Nearness,
    NoBetter,
    by_difference,
    by_limit,
    show_shift,
    tie_of,
)
from likewise.exceptions import RuleError
from likewise.schema import CodedTable, Roles, Schema
from likewise.schema._internal import MISSING_RANK, MISSING_VALUE

SensitiveDiffers = Literal["any", "all", "none"]
Rows = NDArray[np.integer[Any]]
Limit = float | Mapping[str, float] | Sequence[float]


@dataclass(frozen=True, slots=True)
class Comparability:
    """Decide when two rows describe the same case (Definition 2.1).

    Two rows are comparable when their labels are equal, few discrete columns differ, no continuous or ordinal
    column is far apart, the columns that must match do, and the sensitive columns differ as asked.

    Parameters
    ----------
    max_discrete_changes : int
        How many discrete columns may differ (T_d).
    max_continuous_shift : float, or one for each column by name or in order
        How far apart a continuous column may be, as a share of its training range, from 0 to 1 (T_c). Ties count as
        near, as far as the numbers of the column are precise; at 0, values have to be equal.
    max_ordinal_shift : float, or one for each column by name or in order
        How many ranks apart an ordinal column may be.
    sensitive_differs : {"any", "all", "none"}
        Whether at least one, every, or no sensitive column differs (the paper's or, and, not).
    must_match : sequence of str
        Discrete, ordinal or continuous columns in which the two rows have to be equal.
    limits : mapping of column name to str or number
        How far apart single continuous or ordinal columns may be, in units of the column; the others keep
        ``max_continuous_shift`` and ``max_ordinal_shift``. A number, or ``"5000"``, is in the column's own units, and
        so is ``"2 points"``, of a column in percent; ``"10 %"`` is of the larger of the two values in magnitude, which
        have to be of one sign; ``"0.05 of range"`` is a share of the training range, and ``"5 % of middle range"`` of
        that between the 1st and the 99th percentile, which no outlier stretches; ``"30 days"`` is for dates and times,
        ``"1 rank"`` for ordinal columns. Ties are near; 0 is equality. Needs tables encoded by a schema.
    no_better : sequence of str
        Continuous or ordinal columns in which the control must be no better than the target: ``"income:higher"`` where
        a higher value is better, ``"dti:lower"``, or just ``"dti"``, where a lower one is. Who is the control is said
        by the ``reference`` of an audit: pairs are found without it, and an audit leaves out those of which nobody is
        the control and those whose control is better, whatever the scores. Beside them it measures the mirror image,
        the pairs whose target is no better. A same-group pair stays if one of its two people is no better.
    score_band : float, optional
        Audit only pairs whose control is scored within so much of the decision threshold (the marginal group); where
        nobody is the control, either of the two. It depends on the scores: pairs are found without it.

    Examples
    --------
    >>> from likewise import CodedTable, Comparability
    >>> table = CodedTable(sensitive=[[0], [1]], continuous=[[0.3], [0.4]], labels=[1, 1])
    >>> Comparability(max_continuous_shift=0.1).holds(table[[0]], table[[1]])
    array([ True])

    In units of the columns:

    >>> import pyarrow as pa
    >>> from likewise import Roles
    >>> people = pa.table({"sex": ["f", "m"], "income": [52_000, 56_000], "age": [40, 45]})
    >>> schema = Roles(sensitive="sex", continuous=["income", "age"]).learn(people)
    >>> table = schema.encode(people, [1, 1])
    >>> Comparability(limits={"income": "5000", "age": "12 %"}).holds(table[[0]], table[[1]])
    array([ True])
    >>> Comparability(limits={"income": "5000", "age": "10 %"}).holds(table[[0]], table[[1]])
    array([False])
    """

    max_discrete_changes: int = 1
    max_continuous_shift: Limit = 0.025
    max_ordinal_shift: Limit = 1
    sensitive_differs: SensitiveDiffers = "any"
    must_match: tuple[str, ...] = ()
    limits: Mapping[str, str | float] = field(default_factory=dict, hash=False)
    no_better: tuple[str, ...] = ()
    score_band: float | None = None

    def __post_init__(self) -> None:
        changes = self.max_discrete_changes
        if isinstance(changes, bool) or not isinstance(changes, int | np.integer) or changes < 0:
            raise RuleError(f"{parameter('max_discrete_changes')} is {changes!r}; give a whole number, 0 or more.")
        # kept as plain numbers and copies, so that a rule is JSON and nobody can change it from outside
        object.__setattr__(self, "max_discrete_changes", int(changes))
        for name in ("max_continuous_shift", "max_ordinal_shift"):
            object.__setattr__(self, name, _plain_limit(name, getattr(self, name)))
        if not isinstance(self.sensitive_differs, str) or self.sensitive_differs not in get_args(SensitiveDiffers):
            raise RuleError(
                f"{parameter('sensitive_differs')} is {self.sensitive_differs!r}; choose 'any', 'all' or 'none'."
            )
        for name in ("must_match", "no_better"):
            given = getattr(self, name)
            if isinstance(given, str) or not isinstance(given, Iterable) or getattr(given, "ndim", 1) != 1:
                what = f"the text {given!r}" if isinstance(given, str) else repr(given)
                raise RuleError(f"{parameter(name)} is {what}; give a sequence of column names.")
            object.__setattr__(self, name, tuple(given))
        if not isinstance(self.limits, Mapping):
            raise RuleError(
                f"{parameter('limits')} is {self.limits!r}; map columns to limits, such as {{'income': '5000'}}."
            )
        object.__setattr__(self, "limits", {name: str(FieldLimit.read(name, one)) for name, one in self.limits.items()})
        band = self.score_band.item() if isinstance(self.score_band, np.generic) else self.score_band
        if band is not None and (isinstance(band, bool) or not isinstance(band, int | float) or not 0 <= band < np.inf):
            raise RuleError(f"{parameter('score_band')} is {band!r}; give a finite number, 0 or more.")
        object.__setattr__(self, "score_band", band)
        one_sided = [NoBetter.read(one) for one in self.no_better]
        object.__setattr__(self, "no_better", tuple(map(str, one_sided)))
        self._refuse_contradictions([one.column for one in one_sided])

    def _refuse_contradictions(self, one_sided: list[str]) -> None:
        """Refuse two limits on one column."""
        for name in self.limits:
            if name in self.must_match:
                raise RuleError(
                    f"Column '{name}' has a limit of '{self.limits[name]}' and has to match. Take it out of "
                    f"{parameter('limits')} or of {parameter('must_match')}."
                )
            for other in ("max_continuous_shift", "max_ordinal_shift"):
                given = getattr(self, other)
                if isinstance(given, Mapping) and name in given:
                    raise RuleError(
                        f"Column '{name}' has two limits: '{self.limits[name]}' in {parameter('limits')} and "
                        f"{given[name]:g} in {parameter(other)}. Keep one."
                    )
        for name in one_sided:
            if one_sided.count(name) > 1:
                raise RuleError(f"{parameter('no_better')} names column '{name}' twice. Name it once.")
            if name in self.must_match:
                raise RuleError(
                    f"Column '{name}' has to match, so nobody is better in it. Take it out of {parameter('no_better')} "
                    f"or of {parameter('must_match')}."
                )

    def holds(self, left: CodedTable, right: CodedTable) -> NDArray[np.bool_]:
        """Compare ``left[i]`` with ``right[i]`` for every ``i``."""
        self.check(left)
        if len(left) != len(right):
            raise RuleError(f"{len(left):,} rows on the left and {len(right):,} on the right; give as many of each.")
        right = right.aligned_to(left)
        may_change = self.may_change(left)
        differs = left.discrete != right.discrete
        sensitive_differs = left.sensitive != right.sensitive
        compare = {"any": sensitive_differs.any, "all": sensitive_differs.all, "none": (~sensitive_differs).all}
        near_continuous = np.ones(left.continuous.shape, np.bool_)
        for i, test in enumerate(self.nearness(left)):
            one, other = left.continuous[:, i], right.continuous[:, i]
            near_continuous[:, i] = test.holds(test.values(one), test.values(other))
            if test.is_ratio:
                near_continuous[:, i] &= test.signs(one) == test.signs(other)
        # ranks as floats: the difference of two int32 may overflow
        near_ordinal = np.abs(left.ordinal.astype(np.float64) - right.ordinal) <= self.ordinal_limits(left)
        # missing is comparable with missing only, however far a shift may go
        near_continuous &= (left.continuous == MISSING_VALUE) == (right.continuous == MISSING_VALUE)
        near_ordinal &= (left.ordinal == MISSING_RANK) == (right.ordinal == MISSING_RANK)
        holds: NDArray[np.bool_] = (
            (left.labels == right.labels)
            & (left.matched == right.matched).all(axis=1)
            & ~differs[:, ~may_change].any(axis=1)
            & (differs[:, may_change].sum(axis=1) <= self.max_discrete_changes)
            & near_continuous.all(axis=1)
            & near_ordinal.all(axis=1)
            & compare[self.sensitive_differs](axis=1)
        )
        return holds

    def holds_for(self, control: CodedTable, target: CodedTable) -> NDArray[np.bool_]:
        """Whether ``control[i]`` is no better than ``target[i]`` in the columns of ``no_better``, for every ``i``.

        A person is better by more than a tie; missing values are neither better nor worse. That the two are comparable
        is for :meth:`holds` to say.

        Examples
        --------
        >>> from likewise import CodedTable, Comparability
        >>> rule = Comparability(no_better=["income:higher"])
        >>> table = CodedTable(continuous=[[0.3], [0.4]], names={"continuous": ["income"]})
        >>> rule.holds_for(table[[0, 1]], table[[1, 0]])
        array([ True, False])
        """
        self._check_named(control, "no_better")
        target = target.aligned_to(control)
        better = np.zeros(len(control), np.bool_)
        for one in map(NoBetter.read, self.no_better):
            ahead = one.merits(control) - one.merits(target)
            better |= ahead > tie_of(one.column, control)  # never where one is missing, which is NaN
        return ~better

    @property
    def asks_more(self) -> tuple[str, ...]:
        """The parameters by which pairs are left out for what mining does not know: the control, and scores."""
        return ("no_better",) * bool(self.no_better) + ("score_band",) * (self.score_band is not None)

    def may_change(self, table: CodedTable) -> NDArray[np.bool_]:
        """Return which discrete columns count towards ``max_discrete_changes``; the others have to be equal."""
        return np.array([name not in self.must_match for name in table.names["discrete"]], dtype=np.bool_)

    def nearness(self, table: CodedTable) -> tuple[Nearness, ...]:
        """Return the test of each continuous column."""
        shifts = self.continuous_shifts(table)
        return tuple(
            by_limit(FieldLimit.read(name, self.limits[name]), name, table)
            if name in self.limits
            else by_difference(float(shift), name, table)
            for name, shift in zip(table.names["continuous"], shifts, strict=True)
        )

    def differences(self, name: str, table: CodedTable, left: Rows, right: Rows) -> Differences | None:
        """Return how far apart pairs are in a continuous column, in its units; None unless its limit is in units."""
        limit = FieldLimit.read(name, self.limits[name]) if name in self.limits else None
        if limit is None or limit.measure in OF_RANGE or name in self.must_match:
            return None
        return limit.differences(table.units[name], *(_codes(table, name)[rows] for rows in (left, right)))

    def continuous_limits(self, table: CodedTable) -> NDArray[np.float64]:
        """Distance of codes that is near wherever it lies, for each continuous column, with what makes ties near.

        0 where equality counts, and for a limit relative to the value, which allows no distance everywhere.
        """
        return np.array([0.0 if one.is_ratio else one.limit for one in self.nearness(table)], np.float64)

    def ordinal_limits(self, table: CodedTable) -> NDArray[np.float64]:
        """Largest comparable distance of each ordinal column, with what makes ties near; 0 where equality counts."""
        shifts = self.ordinal_shifts(table)
        return np.where(shifts > 0, shifts + SHIFT_TOLERANCE, 0.0)

    def continuous_shifts(self, table: CodedTable) -> NDArray[np.float64]:
        """How far apart the codes of each continuous column may be; NaN where that is relative to the value."""
        in_units = {
            name: FieldLimit.read(name, self.limits[name]).shift(name, table)
            for name in table.names["continuous"]
            if name in self.limits
        }
        return self._shifts("max_continuous_shift", table.names["continuous"], in_units)

    def ordinal_shifts(self, table: CodedTable) -> NDArray[np.float64]:
        """How far apart each ordinal column may be, as asked."""
        in_ranks = {
            name: FieldLimit.read(name, self.limits[name]).ranks(name)
            for name in table.names["ordinal"]
            if name in self.limits
        }
        return self._shifts("max_ordinal_shift", table.names["ordinal"], in_ranks)

    def _shifts(self, parameter: str, names: tuple[str, ...], own: Mapping[str, float]) -> NDArray[np.float64]:
        limit = getattr(self, parameter)
        if isinstance(limit, Mapping):
            missing = [name for name in names if name not in (*limit, *own, *self.must_match)]
            unknown = [name for name in limit if name not in names]
            if unknown:
                raise RuleError(f"{parameter} names unknown columns {unknown}; the columns are {list(names)}.")
            if missing:
                raise RuleError(f"{parameter} gives no limit for {missing}. Give one for each column.")
            limits = [limit.get(name, 0.0) for name in names]
        elif isinstance(limit, Sequence):
            if own:
                raise RuleError(
                    f"{parameter} has a limit for each column in order, and limits gives {list(own)} another. Give "
                    f"{parameter} as one number, or by name."
                )
            if len(limit) != len(names):
                raise RuleError(
                    f"{parameter} has {len(limit)} limits for the columns {list(names)}; give one for each."
                )
            limits = list(limit)
        else:
            limits = [limit] * len(names)
        of_all = zip(names, limits, strict=True)
        allowed = [0.0 if name in self.must_match else own.get(name, one) for name, one in of_all]
        return np.array(allowed, dtype=np.float64)

    def check(self, table: CodedTable) -> None:
        """Raise RuleError for a table that lacks columns the rule needs."""
        can_match = [name for kind in ("discrete", "ordinal", "continuous") for name in table.names[kind]]
        unknown = [name for name in self.must_match if name not in can_match]
        if unknown:
            raise RuleError(
                f"{parameter('must_match')} names {unknown}, which are not among the compared columns {can_match}."
            )
        self._check_named(table, "limits", "no_better")
        if self.sensitive_differs != "none" and not table.names["sensitive"]:
            raise RuleError(
                f"The rule asks that {self.sensitive_differs} sensitive columns differ, but the table has none. "
                f"Name a sensitive column, or use {parameter('sensitive_differs', 'none')}."
            )
        self.continuous_limits(table)
        self.ordinal_limits(table)

    def _check_named(self, table: CodedTable, *parameters: str) -> None:
        """Refuse limits on columns that have no distance."""
        near = [*table.names["continuous"], *table.names["ordinal"]]
        named = {"limits": list(self.limits), "no_better": [NoBetter.read(one).column for one in self.no_better]}
        for name in parameters:
            for column in named[name]:
                if column in near:
                    continue
                role = next((kind for kind, names in table.names.items() if column in names), None)
                why = f"which is {role}" if role else "which the table does not have or ignores"
                hint = suggest(column, near) if role is None else ""
                raise RuleError(
                    f"{parameter(name)} names column '{column}', {why}; it takes continuous and ordinal columns, here "
                    f"{near}.{hint}"
                )

    def describe(self, roles: Roles | Schema, *, same_label: bool = True) -> str:
        """Describe in one sentence when two people of a table with these roles are comparable.

        Parameters
        ----------
        roles : Roles or Schema
            With a schema, shares of a range are also given in units of the column.
        same_label : bool
            Whether there are labels, which the two then share; predicted amounts have none.

        Examples
        --------
        >>> from likewise import Comparability, Roles
        >>> roles = Roles(sensitive="sex", discrete=["job", "town"], continuous="age", label="hired")
        >>> Comparability().describe(roles)
        'Comparable people have the same hired; different sex; at most 1 of 2 discrete columns changed; \
continuous columns at most 0.025 of their range apart.'
        """
        schema, roles = (roles, roles.roles) if isinstance(roles, Schema) else (None, roles)
        parts = [f"the same {roles.label or 'label'}"] if same_label else []
        if self.sensitive_differs == "none":
            parts += [f"the same {name}" for name in roles.sensitive]
        else:
            joined = (" or " if self.sensitive_differs == "any" else " and ").join(roles.sensitive)
            parts.append(f"different {joined}")
        parts += [f"the same {name}" for name in (*roles.matched, *self.must_match)]
        n_discrete = sum(name not in self.must_match for name in roles.discrete)
        if self.max_discrete_changes < n_discrete:
            columns = "column" if n_discrete == 1 else "columns"
            parts.append(f"at most {self.max_discrete_changes:,} of {n_discrete:,} discrete {columns} changed")
        parts += _limits_in_words(self, roles, schema)
        words = "; ".join(parts)
        if self.no_better:
            worse = [f"no {one.better} {one.column}" for one in map(NoBetter.read, self.no_better)]
            words += f"; and the control has {' and '.join(worse)} than the target"
        if self.score_band is not None:
            words += f"; the control, or either without one, is scored within {self.score_band:g} of the threshold"
        return f"Comparable people have {words}."

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that :meth:`from_dict` takes; it is JSON."""
        plain = asdict(self) | {name: list(getattr(self, name)) for name in ("must_match", "no_better")}
        # what is not used is left out, so that older records and folders of pairs are still of the same rule
        unused: dict[str, Any] = {"limits": {}, "no_better": [], "score_band": None}
        return {name: one for name, one in plain.items() if name not in unused or one != unused[name]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Comparability:
        """Make a rule of plain data."""
        check_plain_data(data, "A rule", RuleError)
        unknown = sorted(set(data) - set(cls.__slots__))
        if unknown:
            hint = suggest(unknown[0], cls.__slots__)
            raise RuleError(f"A rule has no {unknown}; it has {list(cls.__slots__)}.{hint}")
        return cls(**data)

    @classmethod
    def from_toml(cls, path: str | Path) -> Comparability:
        r"""Read a rule from a TOML file: its parameters under ``[rule]``, limits in units under ``[rule.limits]``.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from likewise import Comparability
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder, "tolerances.toml")
        ...     _ = file.write_text('[rule]\nno_better = ["dti"]\n[rule.limits]\nincome = 5000\nage = "10 %"\n')
        ...     Comparability.from_toml(file).limits
        {'income': '5000', 'age': '10 %'}
        """
        file = Path(path)
        refuse_pipe(file)
        try:
            data = tomllib.loads(file.read_bytes().decode("utf-8-sig"))
        except OSError as error:
            raise RuleError(f"The rule file '{file}' cannot be read: {error.strerror}.") from error
        except (ValueError, RecursionError) as error:  # neither UTF-8 nor TOML
            raise RuleError(f"The rule file '{file}' is not TOML: {' '.join(str(error).split())}.") from error
        try:
            return cls.from_dict(_rule_table(data, in_project=file.name == "pyproject.toml"))
        except RuleError as error:
            raise RuleError(f"{file}: {error}") from error


def _codes(table: CodedTable, name: str) -> NDArray[np.float64]:
    codes: NDArray[np.float64] = table.continuous[:, table.names["continuous"].index(name)]
    return codes


def _rule_table(data: Mapping[str, Any], *, in_project: bool) -> Mapping[str, Any]:
    """Find the table of a rule in a TOML file: the top, or ``[rule]``, of which a policy may stand beside it."""
    found: Any = data
    for key in ("tool", "likewise", "rule") if in_project else ("rule",) if "rule" in data else ():
        found = found.get(key) if isinstance(found, Mapping) else None
    beside = [key for key in data if key not in ("rule", "policy")] if "rule" in data and not in_project else []
    if beside:
        raise RuleError(f"{beside[0]!r} stands beside the table [rule], where it has no effect. Move it there.")
    if not isinstance(found, Mapping):
        raise RuleError(f"There is no table [{'tool.likewise.rule' if in_project else 'rule'}]. Add it.")
    return found


def _limits_in_words(rule: Comparability, roles: Roles, schema: Schema | None) -> list[str]:
    """Say how far apart each column may be, in its own units where a schema knows them."""
    parts = []
    for name, one in rule.limits.items():
        limit = FieldLimit.read(name, one)
        limit = replace(limit, measure="ranks") if name in roles.ordinal else limit
        known = ""
        if limit.measure in OF_RANGE and schema is not None:
            known = f" ({show_shift(limit.share(name, schema.units[name]), schema.units[name])})"
        parts.append(f"{name} within {limit.describe()}{known}" if limit.amount else f"the same {name}")
    for kind, shift, unit in (
        ("ordinal", rule.max_ordinal_shift, "apart in rank"),
        ("continuous", rule.max_continuous_shift, "of their range apart"),
    ):
        names = [name for name in roles.names(kind) if name not in (*rule.limits, *rule.must_match)]
        if names:
            which = "other " if len(names) < len(roles.names(kind)) else ""
            known = _in_units(rule, schema, names) if kind == "continuous" and schema is not None else ""
            parts.append(f"{which}{kind} columns at most {show_limit(shift)} {unit}{known}")
    return parts


def _in_units(rule: Comparability, schema: Schema, names: Sequence[str]) -> str:
    """Write the limits of columns in their own units."""
    own = dict.fromkeys((name for name in schema.roles.continuous if name in rule.limits), 0.0)
    shifts = rule._shifts("max_continuous_shift", schema.roles.continuous, own)
    units, by_name = schema.units, dict(zip(schema.roles.continuous, shifts.tolist(), strict=True))
    return f" ({', '.join(f'{name} {show_shift(by_name[name], units[name])}' for name in names)})"


def _plain_limit(name: str, limit: Any) -> Limit:
    """Check a limit, and make NumPy's numbers and arrays of them plain ones."""
    if isinstance(limit, np.ndarray | np.generic):
        limit = limit.tolist()
    if isinstance(limit, Mapping):
        return {column: _plain_number(name, one) for column, one in limit.items()}
    if isinstance(limit, Sequence) and not isinstance(limit, str):
        return tuple(_plain_number(name, one) for one in limit)
    return _plain_number(name, limit)


def _plain_number(name: str, value: Any) -> float:
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, bool) or not isinstance(plain, int | float) or not 0 <= plain <= sys.float_info.max:
        raise RuleError(
            f"{parameter(name)} is given as {value!r}; give a finite number, 0 or more, or one for each column, in "
            "order or by name."
        )
    # a little more comes of limits that are moved in proportion
    if name == "max_continuous_shift" and plain > 1 + SHIFT_TOLERANCE:
        raise RuleError(
            f"{parameter(name)} is given as {value!r}, but it is a share of a column's range: give 0.05 for 5%. 1 lets "
            "any two values in the range be comparable."
        )
    return plain


def show_limit(limit: Limit) -> str:
    """Write a limit as a person would: 0.025, or age=0.1, hours=0.2."""
    if isinstance(limit, Mapping):
        return ", ".join(f"{name}={one:g}" for name, one in limit.items())
    return ", ".join(f"{one:g}" for one in limit) if isinstance(limit, Sequence) else f"{limit:g}"


def check_rule(rule: object) -> Comparability:
    """Refuse what is no rule."""
    if not isinstance(rule, Comparability):
        raise RuleError(f"The rule is {rule!r}; give a Comparability, such as Comparability(max_discrete_changes=1).")
    return rule
