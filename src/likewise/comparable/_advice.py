"""What to change where a rule gives no pairs or few, and where a limit is so wide that it excludes nobody."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np

from likewise._checks import parameter
from likewise.comparable._limits import FieldLimit, show_number, show_shift
from likewise.comparable._mining import count_pairs
from likewise.comparable._rule import Comparability, show_limit
from likewise.schema import CodedTable
from likewise.schema._internal import MISSING_VALUE

MOST_ROWS_EXPLAINED: Final = 20_000  # pairs are counted once for each column, which has to stay quick
N_DRAWN: Final = 100_000  # pairs of anybody, to find the narrowest limit
ENOUGH: Final = 100  # pairs: a proposed rule gives as many
STEPS: Final = (1, 2, 3, 5, 8)  # more discrete columns that may differ, or columns ignored
SHIFTS: Final = (0.05, 0.1, 0.2, 0.3, 0.5)
MIDDLE: Final = (0.05, 0.95)  # between these quantiles lie typical values; an outlier does not move them
KINDS: Final = ("discrete", "ordinal", "matched", "continuous")


def explain_no_pairs(
    rule: Comparability, table: CodedTable, label: str | None = None, *, sample: CodedTable | None = None
) -> str:
    """Return what to change when there are no comparable pairs, or that no limit would help.

    Parameters
    ----------
    rule : Comparability
    table : CodedTable
        In which no two rows meet the rule.
    label : str, optional
        What the labels are called.
    sample : CodedTable, optional
        The rows to find the column in that excludes most pairs; by default those of the table, of more than 20,000 a
        random 20,000.

    Returns
    -------
    str
        A few sentences, in the names of the rule's parameters.

    Examples
    --------
    >>> from likewise import CodedTable, Comparability
    >>> from likewise.comparable import explain_no_pairs
    >>> explain_no_pairs(Comparability(), CodedTable(sensitive=[[0], [0]], names={"sensitive": ["sex"]}))
    'No two people with the same label differ in sex, so there are none by any limits.'
    """
    if len(np.unique(table.labels)) == len(table):
        return f"No two people have the same {label or 'label'}, so there are none by any limits."
    names = table.names
    if rule.sensitive_differs != "none":
        settled = [
            name
            for position, name in enumerate(names["sensitive"])
            if _is_settled(table.sensitive[:, position], table.labels)
        ]
        if len(settled) == len(names["sensitive"]) or (settled and rule.sensitive_differs == "all"):
            where = " or ".join(settled) or "a sensitive column"
            return f"No two people with the same {label or 'label'} differ in {where}, so there are none by any limits."
    costly = _explain_costly(rule, table, len(table)) if sample is None else _explain_costly(rule, sample, None)
    return f"{costly}To allow more, {', or '.join(_remedies(rule, table))}.{_propose(rule, sample or table, 0)}"


def _explain_costly(rule: Comparability, table: CodedTable, n_rows: int | None) -> str:
    table = _take_some(table)
    name, n_without = _find_costliest(rule, table, 0)
    if name is None:
        return _explain_narrowest(rule, table)
    among = "" if len(table) == n_rows else f" among {len(table):,} of the rows"
    return f"Most are lost to {_with_limit(rule, table, name)}: without it there would be {_count(n_without)}{among}. "


def _take_some(table: CodedTable) -> CodedTable:
    if len(table) <= MOST_ROWS_EXPLAINED:
        return table
    return table[np.sort(np.random.default_rng(0).choice(len(table), MOST_ROWS_EXPLAINED, replace=False))]


def _propose(rule: Comparability, table: CodedTable, n_pairs: int) -> str:
    """Say of a few looser rules how many pairs they give: of each kind, the least loose that gives enough."""
    some, enough = _take_some(table), max(ENOUGH, 2 * n_pairs)
    n_free, shift = int(rule.may_change(some).sum()), rule.max_continuous_shift
    has_free = set(some.names["continuous"]) - {*rule.limits, *rule.must_match}
    now = shift if has_free and isinstance(shift, int | float) else 1.0
    changes = [{"max_discrete_changes": n} for n in (rule.max_discrete_changes + k for k in STEPS) if n <= n_free]
    shifts = [{"max_continuous_shift": one} for one in SHIFTS if one > now]
    columns = [(name, kind, getattr(some, kind)[:, k]) for kind in KINDS for k, name in enumerate(some.names[kind])]
    finest = [name for name, *_ in sorted(columns, key=lambda one: -len(np.unique(one[2])))]
    ignored = [{"ignored": finest[:n]} for n in STEPS if n < len(finest)]

    def count(looser: dict[str, Any]) -> int:
        here, settings = some, dict(looser)
        for name in settings.pop("ignored", ()):
            here = _without(here, name)
        return count_pairs(here, replace(rule, **settings)).total

    told: list[str] = []
    both = [one | other for one, other in zip(changes, shifts, strict=False)]
    for ladder in (changes, shifts, both, ignored):
        counts = ((n, step) for step in ladder if (n := count(step)))
        n, step = next((one for one in counts if one[0] >= enough), (0, {}))
        if n and not (ladder is both and told):  # a step in one direction is enough
            told.append(f"{' with '.join(parameter(*one) for one in step.items())} gives {_count(n)}")
    among = "" if some is table else f" among {len(some):,} of the rows"
    return f" For example, {'; '.join(told)}{among}." if told else ""


def _without(table: CodedTable, name: str) -> CodedTable:
    """Return a table in which all are equal in a column, which then parts nobody, by any rule."""
    kind = next(kind for kind in KINDS if name in table.names[kind])
    alike = getattr(table, kind).copy(order="K")
    alike[:, table.names[kind].index(name)] = 0
    return replace(table, **{kind: alike})


def _explain_narrowest(rule: Comparability, table: CodedTable) -> str:
    """Name the column that the fewest of all pairs meet, where no single column makes the difference."""
    random = np.random.default_rng(0)
    left, right = random.integers(0, len(table), (2, N_DRAWN))
    left, right = left[left != right], right[left != right]
    near = {
        name: test.holds(test.values(codes[left]), test.values(codes[right]))
        for name, test, codes in zip(table.names["continuous"], rule.nearness(table), table.continuous.T, strict=True)
    }
    ranks = zip(table.names["ordinal"], rule.ordinal_limits(table), table.ordinal.T.astype(np.float64), strict=True)
    near |= {name: np.abs(codes[left] - codes[right]) <= limit for name, limit, codes in ranks}
    equal = [*zip(table.names["matched"], table.matched.T, strict=True)]
    equal += [
        (name, codes)
        for name, codes in zip(table.names["discrete"], table.discrete.T, strict=True)
        if name in rule.must_match or not rule.max_discrete_changes
    ]
    near |= {name: codes[left] == codes[right] for name, codes in equal}
    if len(near) < 2:
        return ""
    name = min(near, key=lambda one: int(near[one].sum()))
    return (
        f"No column alone excludes all; the narrowest is {_with_limit(rule, table, name)}, which "
        f"{100 * near[name].mean():.2g} % of all pairs of people meet. "
    )


def _remedies(rule: Comparability, table: CodedTable) -> list[str]:
    """List what could be loosened."""
    names, raised = table.names, []
    free = {kind: [name for name in names[kind] if name not in rule.limits] for kind in ("continuous", "ordinal")}
    if rule.limits:
        raised.append(f"{parameter('limits')} (now {', '.join(f'{name}: {one}' for name, one in rule.limits.items())})")
    if free["continuous"]:
        raised.append(f"{parameter('max_continuous_shift')} (now {show_limit(rule.max_continuous_shift)})")
    if rule.max_discrete_changes < len(names["discrete"]):
        raised.append(f"{parameter('max_discrete_changes')} (now {rule.max_discrete_changes:,})")
    if free["ordinal"]:
        raised.append(f"{parameter('max_ordinal_shift')} (now {show_limit(rule.max_ordinal_shift)})")
    remedies = [f"raise {' or '.join(raised)}"] if raised else []
    if rule.sensitive_differs == "all" and len(names["sensitive"]) > 1:
        remedies.append(f"use {parameter('sensitive_differs', 'any')}")
    return [*remedies, "ignore columns that do not matter"]


def explain_few_pairs(rule: Comparability, table: CodedTable, n_pairs: int) -> str | None:
    """Return which single column excludes the most comparable pairs.

    Pairs are counted again without each compared column in turn; sensitive columns and the label stay.

    Parameters
    ----------
    rule : Comparability
    table : CodedTable
        The people who were compared.
    n_pairs : int
        How many pairs of them meet the rule.

    Returns
    -------
    str or None
        One sentence; None if no column alone would give at least twice as many pairs, or if the table has more than
        20,000 rows, where counting takes long.

    Examples
    --------
    >>> from likewise import CodedTable, Comparability
    >>> from likewise.comparable import explain_few_pairs
    >>> days = {"sensitive": [[0], [1], [1]], "continuous": [[0.0], [0.5], [1.0]], "names": {"continuous": ["applied"]}}
    >>> explain_few_pairs(Comparability(), CodedTable(**days), 0)
    'Most are lost to applied: without it there would be 2 pairs instead of none.'
    """
    if len(table) > MOST_ROWS_EXPLAINED:
        return None
    name, n_without = _find_costliest(rule, table, n_pairs)
    if name is None:
        return None
    now = f"{n_pairs:,}" if n_pairs else "none"
    return (
        f"Most are lost to {_with_limit(rule, table, name)}: without it there would be {_count(n_without)} instead of "
        f"{now}.{_propose(rule, table, n_pairs)}"
    )


def explain_wide_limits(rule: Comparability, table: CodedTable) -> list[str]:
    """Return, for each limit that excludes hardly anybody, how wide it is and why.

    A share of a column's range is a wide limit where an outlier stretches the range: it is compared with the distance
    between the 5 % and 95 % quantiles, between which lie typical values. Columns in which these are equal are left out,
    and so are limits of the whole range, which are meant to exclude nobody.

    Parameters
    ----------
    rule : Comparability
    table : CodedTable
        The people to compare, encoded by a schema, which knows the units.

    Returns
    -------
    list of str
        One sentence or two for each such column.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from likewise import Comparability, Roles
    >>> from likewise.comparable import explain_wide_limits
    >>> people = pa.table({"pressure": [*range(110, 150), 16_020]})
    >>> table = Roles(continuous="pressure").learn(people).encode(people, [1] * 41)
    >>> print(explain_wide_limits(Comparability(sensitive_differs="none"), table)[0])
    The limit of pressure is 398 (0.025 of its range, 110 to 16,020), but 90 % of people lie between 112 and 148: it \
excludes hardly anybody. Give it in units of the column (limits), such as '0.9'.
    """
    names, shifts = table.names["continuous"], rule.continuous_shifts(table).tolist()

    def explain(position: int) -> str | None:
        name, shift = names[position], shifts[position]
        codes = table.continuous[:, position]
        present = codes[codes != MISSING_VALUE]
        is_meant = shift >= 1 and name not in rule.limits
        if name not in table.units or not shift > 0 or is_meant or not len(present):  # NaN where relative to the value
            return None
        low, high = np.quantile(present, MIDDLE).tolist()
        return _explain_wide(rule, table, name, shift, (low, high)) if 0 < high - low <= shift else None

    return [sentences for sentences in map(explain, range(len(names))) if sentences is not None]


def _explain_wide(rule: Comparability, table: CodedTable, name: str, shift: float, middle: tuple[float, float]) -> str:
    unit = table.units[name]
    numbers = unit.numbers(np.array([0.0, 1.0, *middle]))
    numbers = numbers if unit.decimals is None else np.round(numbers, unit.decimals)
    low, high, least, most = (show_number(one, unit) for one in numbers.tolist())
    given = FieldLimit.read(name, rule.limits[name]) if name in rule.limits else None
    is_share = given is None or given.measure == "of range"
    of = f" ({shift:g} of its range, {low} to {high})" if is_share else ""
    advice = "Give a narrower one"
    if is_share:
        robust = FieldLimit(
            float(f"{shift * (middle[1] - middle[0]) * unit.width / (unit.day or 1.0):.2g}"),
            "units" if unit.day is None else "days",
        )
        advice = f"Give it in units of the column (limits), such as '{robust}'"
        low_end, high_end = unit.middle or (0.0, 0.0)
        if 0 < shift * (high_end - low_end) / unit.width < middle[1] - middle[0]:
            advice += f", or as '{shift:g} of middle range'"
    return (
        f"The limit of {name} is {show_shift(shift, unit)}{of}, but 90 % of people lie between {least} and {most}: it "
        f"excludes hardly anybody. {advice}."
    )


def _find_costliest(rule: Comparability, table: CodedTable, n_pairs: int) -> tuple[str | None, int]:
    """Find the column without which there are the most pairs, at least twice as many, and how many."""
    most, name = max(2 * n_pairs, 1) - 1, None
    for kind in KINDS:
        for column in table.names[kind]:
            n_without = count_pairs(_without(table, column), rule).total
            if n_without > most:
                most, name = n_without, column
    return name, most


def _with_limit(rule: Comparability, table: CodedTable, name: str) -> str:
    """Name a column with its limit in units, where it has one that is known."""
    if name in rule.limits:
        limit = FieldLimit.read(name, rule.limits[name])
        return f"{name} (within {limit.describe()})" if limit.amount else f"{name} (equal)"
    if name not in table.units or name in rule.must_match:
        return name
    shift = float(rule.continuous_shifts(table)[table.names["continuous"].index(name)])
    return f"{name} (within {show_shift(shift, table.units[name])})" if shift else f"{name} (equal)"


def _count(n_pairs: int) -> str:
    return "1 pair" if n_pairs == 1 else f"{n_pairs:,} pairs"


def _is_settled(codes: Any, labels: Any) -> bool:
    """Whether a column has one value for each label."""
    both = labels.astype(np.int64) * (int(codes.max(initial=0)) + 1) + codes
    return len(np.unique(both)) == len(np.unique(labels))
