"""When two people are comparable: the definition, written once."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from likewise._parameters import parameter
from likewise.exceptions import RuleError
from likewise.schema import CodedTable, Roles
from likewise.schema._internal import MISSING_RANK, MISSING_VALUE

SHIFT_TOLERANCE: Final = 1e-9  # 0.4 - 0.3 > 0.1 in floats; every engine adds this, or more for coarser numbers

SensitiveDiffers = Literal["any", "all", "none"]
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

    Examples
    --------
    >>> from likewise import CodedTable, Comparability
    >>> table = CodedTable(sensitive=[[0], [1]], continuous=[[0.3], [0.4]], labels=[1, 1])
    >>> Comparability(max_continuous_shift=0.1).holds(table[[0]], table[[1]])
    array([ True])
    """

    max_discrete_changes: int = 1
    max_continuous_shift: Limit = 0.025
    max_ordinal_shift: Limit = 1
    sensitive_differs: SensitiveDiffers = "any"
    must_match: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        changes = self.max_discrete_changes
        if isinstance(changes, bool) or not isinstance(changes, int | np.integer) or changes < 0:
            raise RuleError(f"{parameter('max_discrete_changes')} is {changes!r}; give a whole number, 0 or more.")
        # kept as plain numbers and copies, so that a rule is JSON and nobody can change it from outside
        object.__setattr__(self, "max_discrete_changes", int(changes))
        for name in ("max_continuous_shift", "max_ordinal_shift"):
            object.__setattr__(self, name, _plain_limit(name, getattr(self, name)))
        if self.sensitive_differs not in get_args(SensitiveDiffers):
            raise RuleError(
                f"{parameter('sensitive_differs')} is {self.sensitive_differs!r}; choose 'any', 'all' or 'none'."
            )
        if isinstance(self.must_match, str):
            raise RuleError(
                f"{parameter('must_match')} is the text {self.must_match!r}; give a sequence of column names."
            )
        object.__setattr__(self, "must_match", tuple(self.must_match))

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
        with np.errstate(over="ignore"):  # an infinite difference is rightly a far one
            near_continuous = np.abs(left.continuous - right.continuous) <= self.continuous_limits(left)
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

    def may_change(self, table: CodedTable) -> NDArray[np.bool_]:
        """Return which discrete columns count towards ``max_discrete_changes``; the others have to be equal."""
        return np.array([name not in self.must_match for name in table.names["discrete"]], dtype=np.bool_)

    def continuous_limits(self, table: CodedTable) -> NDArray[np.float64]:
        """Largest comparable distance of each continuous column, with what makes ties near; 0 where equality counts."""
        shifts = self.continuous_shifts(table)
        ties = [max(SHIFT_TOLERANCE, table.precision.get(name, 0.0)) for name in table.names["continuous"]]
        return np.where(shifts > 0, shifts + np.array(ties, np.float64), 0.0)

    def ordinal_limits(self, table: CodedTable) -> NDArray[np.float64]:
        """Largest comparable distance of each ordinal column, with what makes ties near; 0 where equality counts."""
        shifts = self.ordinal_shifts(table)
        return np.where(shifts > 0, shifts + SHIFT_TOLERANCE, 0.0)

    def continuous_shifts(self, table: CodedTable) -> NDArray[np.float64]:
        """How far apart each continuous column may be, as asked."""
        return self._shifts("max_continuous_shift", table.names["continuous"])

    def ordinal_shifts(self, table: CodedTable) -> NDArray[np.float64]:
        """How far apart each ordinal column may be, as asked."""
        return self._shifts("max_ordinal_shift", table.names["ordinal"])

    def _shifts(self, parameter: str, names: tuple[str, ...]) -> NDArray[np.float64]:
        limit = getattr(self, parameter)
        if isinstance(limit, Mapping):
            missing = [name for name in names if name not in limit and name not in self.must_match]
            unknown = [name for name in limit if name not in names]
            if unknown:
                raise RuleError(f"{parameter} names unknown columns {unknown}; the columns are {list(names)}.")
            if missing:
                raise RuleError(f"{parameter} gives no limit for {missing}. Give one for each column.")
            limits = [limit.get(name, 0.0) for name in names]
        elif isinstance(limit, Sequence):
            if len(limit) != len(names):
                raise RuleError(
                    f"{parameter} has {len(limit)} limits for the columns {list(names)}; give one for each."
                )
            limits = list(limit)
        else:
            limits = [limit] * len(names)
        allowed = [0.0 if name in self.must_match else one for name, one in zip(names, limits, strict=True)]
        return np.array(allowed, dtype=np.float64)

    def check(self, table: CodedTable) -> None:
        """Raise RuleError for a table that lacks columns the rule needs."""
        can_match = [name for kind in ("discrete", "ordinal", "continuous") for name in table.names[kind]]
        unknown = [name for name in self.must_match if name not in can_match]
        if unknown:
            raise RuleError(
                f"{parameter('must_match')} names {unknown}, which are not among the compared columns {can_match}."
            )
        if self.sensitive_differs != "none" and not table.names["sensitive"]:
            raise RuleError(
                f"The rule asks that {self.sensitive_differs} sensitive columns differ, but the table has none. "
                f"Name a sensitive column, or use {parameter('sensitive_differs', 'none')}."
            )
        self.continuous_limits(table)
        self.ordinal_limits(table)

    def describe(self, roles: Roles, *, same_label: bool = True) -> str:
        """Describe in one sentence when two people of a table with these roles are comparable.

        Parameters
        ----------
        roles : Roles
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
        if roles.ordinal:
            parts.append(f"ordinal columns at most {show_limit(self.max_ordinal_shift)} apart in rank")
        if roles.continuous:
            parts.append(f"continuous columns at most {show_limit(self.max_continuous_shift)} of their range apart")
        return f"Comparable people have {'; '.join(parts)}."

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that :meth:`from_dict` takes; it is JSON."""
        return asdict(self) | {"must_match": list(self.must_match)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Comparability:
        """Make a rule of plain data."""
        unknown = sorted(set(data) - set(cls.__slots__))
        if unknown:
            raise RuleError(f"A rule has no {unknown}; it has {list(cls.__slots__)}.")
        return cls(**data)


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
