"""What is acceptable: limits on the measures of an audit, written in Python or in TOML."""

from __future__ import annotations

import math
import reprlib
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, cast

import numpy as np

from likewise._checks import check_plain_data, suggest
from likewise._files import refuse_pipe
from likewise.exceptions import PolicyError
from likewise.record._internal import MEASURES, MeasureKind, Sense, name_part

MIN_PAIRS: Final = 30
N_LISTED: Final = 10  # measures in a message
MOST_RATIO: Final = 5.0  # a limit beyond was meant in percent
TOOL_TABLE: Final = ("tool", "likewise", "policy")  # where a policy lives in pyproject.toml
# The limits on a part of the audit each stand in a table of their own: which parts there are, an example of limits on
# one, and whether a measure can be limited there.
TABLES: Final[Mapping[str, tuple[str, str, Callable[[MeasureKind], bool]]]] = {
    "labels": ("label", "max_gap_mean = 0.2", lambda kind: kind.is_by_label),
    "transitions": ("transition", "min_adjusted_gap = -0.05", lambda kind: kind.family == "direction"),
    "columns": ("column", "max_part_share = 0.2", lambda kind: kind.family == "column"),
}
Limits = Mapping[str, float]


class Policy:
    """Limits on the measures of an audit.

    Each limit is ``max_`` or ``min_`` and the name of a measure: at most for gaps, at least for performance, either for
    signed measures and ratios. Limits are in the unit of the measure: a gap of 20 percentage points is 0.2. A limit
    counts as met only when the measure's whole confidence interval meets it.

    Parameters
    ----------
    min_pairs : int
        A measure of fewer pairs is not judged: its check is inconclusive.
    labels : mapping of label to limits, optional
        Limits on the pairs with one label, such as ``{1: {"max_gap_mean": 0.2}}``: on gaps and their excess.
    transitions : mapping of transition to limits, optional
        Limits on single transitions between sensitive values, such as
        ``{"sex: Male → Female": {"min_adjusted_gap": -0.05}}``. ``→`` may be written ``->``; where there are several
        sensitive columns, name all: ``"sex, race: m, white → f, black"``. The first group is the control, the second
        the target. The measures are ``adjusted_gap`` (of people alike in every compared column; negative where the
        target is worse off), ``signed_gap`` (the mean as it is), ``target_better_rate`` (share of pairs in which the
        target has the better score), ``target_only_rate`` (in which only the target is approved) and the same of the
        control.
    columns : mapping of column to limits, optional
        Limits on what single columns make of the mean gap, such as ``{"postcode": {"max_part_share": 0.2}}``, for
        audits that :func:`likewise.attribute_gaps` went on with. The measures are ``part``, in units of the gap, and
        ``part_share``.
    **limits : float
        Such as ``max_excess=0.02``, ``max_flip_rate=0.05``, ``min_roc_auc=0.8``, ``min_matched_share=0.5``.
        A policy without limits is allowed in Python, and every verdict by it is inconclusive; a file needs one.

    Examples
    --------
    >>> from likewise.auditing import Policy
    >>> Policy(max_gap_mean=0.2, max_flip_rate=0.05)
    Policy(max_gap_mean=0.2, max_flip_rate=0.05, min_pairs=30)
    >>> Policy.from_toml_text("labels.1.max_gap_mean = 0.2") == Policy(labels={1: {"max_gap_mean": 0.2}})
    True
    >>> list(Policy(transitions={"sex: Male -> Female": {"min_adjusted_gap": -0.05}}).transitions)
    ['sex: Male → Female']
    >>> Policy(min_certified_share=0.95, columns={"postcode": {"max_part_share": 0.2}})
    Policy(min_certified_share=0.95, columns={'postcode': {'max_part_share': 0.2}}, min_pairs=30)
    """

    __slots__ = ("_limits", "_min_pairs", "_tables")

    def __init__(
        self,
        *,
        min_pairs: int = MIN_PAIRS,
        labels: Mapping[Any, Limits] | None = None,
        transitions: Mapping[str, Limits] | None = None,
        columns: Mapping[str, Limits] | None = None,
        **limits: float,
    ) -> None:
        if isinstance(min_pairs, bool) or not isinstance(min_pairs, int | np.integer) or min_pairs < 0:
            raise PolicyError(f"min_pairs is {min_pairs!r}; give a whole number, 0 or more.")
        self._min_pairs = int(min_pairs)
        self._limits = _check_limits(limits, [name for name, kind in MEASURES.items() if kind.is_of_whole])
        tables = {"labels": labels, "transitions": transitions, "columns": columns}
        self._tables = {name: _check_table(name, {} if table is None else table) for name, table in tables.items()}

    @property
    def limits(self) -> Limits:
        """The limits by name, in the order given."""
        return MappingProxyType(self._limits)

    @property
    def labels(self) -> Mapping[str, Limits]:
        """The limits on the pairs with one label, in the order given."""
        return MappingProxyType(self._tables["labels"])

    @property
    def transitions(self) -> Mapping[str, Limits]:
        """The limits on single transitions, in the order given."""
        return MappingProxyType(self._tables["transitions"])

    @property
    def columns(self) -> Mapping[str, Limits]:
        """The limits on what single columns make of the mean gap, in the order given."""
        return MappingProxyType(self._tables["columns"])

    @property
    def has_limits(self) -> bool:
        """Whether there is any limit."""
        return bool(self._limits or any(self._tables.values()))

    @property
    def min_pairs(self) -> int:
        """How many pairs a measure of pairs needs to be judged."""
        return self._min_pairs

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Policy):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    def __repr__(self) -> str:
        return f"Policy({', '.join(f'{name}={value!r}' for name, value in self.to_dict().items())})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that :meth:`from_dict` takes; it is JSON."""
        tables = {
            name: {part: dict(limits) for part, limits in table.items()}
            for name, table in self._tables.items()
            if table
        }
        return {**self._limits, **tables, "min_pairs": self._min_pairs}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Policy:
        """Make a policy of plain data: limits by name, ``labels``, ``transitions``, ``columns``, and ``min_pairs``."""
        check_plain_data(data, "A policy", PolicyError, "limits by name")
        return cls(**data)

    @classmethod
    def from_toml(cls, path: str | Path) -> Policy:
        """Read a policy from a TOML file.

        The limits stand at the top of the file or under ``[policy]``; in a file called ``pyproject.toml``, under
        ``[tool.likewise.policy]``. Those on the pairs with one label stand in a table of their own, such as
        ``[labels.1]`` or ``[policy.labels.1]``; those on a transition in ``[transitions."sex: Male → Female"]``; those
        on what a column makes of the gap, in ``[columns.postcode]``.
        """
        file = Path(path)
        refuse_pipe(file)
        try:
            text = file.read_bytes().decode("utf-8-sig")
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise PolicyError(f"The policy file '{file}' cannot be read: {reason}.") from error
        except UnicodeDecodeError as error:
            raise PolicyError(f"The policy file '{file}' is not text in UTF-8 (byte {error.start:,}).") from error
        return _from_toml(text, str(file), in_project=file.name == "pyproject.toml")

    @classmethod
    def from_toml_text(cls, text: str) -> Policy:
        """Read a policy from TOML: limits at the top, or under ``[policy]``."""
        return _from_toml(text, "The policy", in_project=False)


def read_policy(given: Policy | str | Path) -> Policy:
    """Return a policy, or read it from a TOML file."""
    if isinstance(given, Policy):
        return given
    if isinstance(given, str | Path):
        return Policy.from_toml(given)
    raise PolicyError(f"A policy is a Policy or the path of a TOML file, not {type(given).__name__}.")


def split_limit(name: str) -> tuple[Sense, str]:
    """Split the name of a limit into its sense and the measure."""
    return cast(Sense, name[:3]), name[4:]


def hint_percent(limit: float) -> str:
    """Return how to write a limit that was probably meant in percent."""
    return f" Give {limit / 100:g} for {limit:g}%." if 1 < abs(limit) <= 100 else ""


def plain_transition(name: str) -> str:
    """Return the name of a transition with single blanks and one kind of arrow."""
    return " ".join(name.replace("->", " → ").replace("→", " → ").split())


def _check_table(table: str, given: Any) -> dict[str, Limits]:
    """Refuse what is no mapping of labels, transitions or columns to limits on their measures."""
    what, example, is_limited = TABLES[table]
    if not isinstance(given, Mapping):
        raise PolicyError(f"{table} is {reprlib.repr(given)}; map each {what} to its limits, such as {example}.")
    allowed = [name for name, kind in MEASURES.items() if is_limited(kind)]
    checked: dict[str, Limits] = {}
    for part, limits in given.items():
        name = _name_part(table, part)
        if not isinstance(limits, Mapping) or not limits:
            raise PolicyError(f"{what.capitalize()} '{name}' has no limits. Give some, such as {example}.")
        if name in checked:
            raise PolicyError(f"{what.capitalize()} '{name}' is given twice. Put its limits together.")
        try:
            checked[name] = MappingProxyType(_check_limits(limits, allowed))
        except PolicyError as error:
            raise PolicyError(f"{what.capitalize()} '{name}': {error}") from error
    return checked


def _name_part(table: str, part: Any) -> str:
    """Return the name of a label, transition or column as checks have it."""
    if table == "labels":
        return name_part(part)
    if not isinstance(part, str):
        raise PolicyError(f"{part!r} is no name of a {TABLES[table][0]}. Names are text.")
    if table == "transitions" and " → " not in plain_transition(part):
        raise PolicyError(f"{part!r} is no transition. Write it as 'sex: Male → Female', or with '->'.")
    return plain_transition(part) if table == "transitions" else part


def _check_limits(limits: Mapping[str, Any], known: list[str]) -> dict[str, float]:
    """Refuse limits on unknown measures, those that are never reached, and two that nothing meets."""
    checked = {name: _check_limit(name, limit, known) for name, limit in limits.items()}
    for name, least in checked.items():
        most = checked.get(f"max_{name.removeprefix('min_')}", math.inf)
        if name.startswith("min_") and least > most:
            raise PolicyError(
                f"{name} is {least:g} and max_{name.removeprefix('min_')} is {most:g}: nothing meets both. "
                "Lower the first or raise the second."
            )
    return checked


def _check_limit(name: str, limit: Any, known: list[str]) -> float:
    measure = split_limit(name)[1]
    if name not in (f"max_{measure}", f"min_{measure}") or measure not in known:
        raise PolicyError(f"A policy has no limit {name!r}.{_advise(name, known)}")
    kind = MEASURES[measure]
    if kind.sense not in (None, name[:3]):
        few = "large" if name.startswith("min") else "small"
        raise PolicyError(
            f"{name} passes only where {measure} is {few}, which is the worse side. Write {kind.sense}_{measure}."
        )
    plain = limit.item() if isinstance(limit, np.generic) else limit
    if isinstance(plain, bool) or not isinstance(plain, int | float) or not -1e300 < plain < 1e300:
        raise PolicyError(f"{name} is {reprlib.repr(limit)}; give a finite number, such as 0.1.")
    if measure == "impact_ratio" and plain > MOST_RATIO:
        raise PolicyError(f"{name} is {plain:g}, but a ratio of two rates is near 1.{hint_percent(plain)}")
    least, most = kind.range
    if not least <= plain <= most:
        ends = {"at least": least, "at most": most}
        bounds = " and ".join(f"{words} {end:g}" for words, end in ends.items() if math.isfinite(end))
        hint = hint_percent(plain) if most == 1 else ""
        raise PolicyError(f"{name} is {plain:g}, but {measure} is always {bounds}.{hint}")
    return float(plain)


def _advise(name: str, known: list[str]) -> str:
    if name in known:
        return f" Write {' or '.join(f'{sense}_{name}' for sense in _senses(name))}."
    if len(known) < N_LISTED:
        return f" Here, max_ or min_ and {', '.join(known[:-1])} or {known[-1]} can be limited."
    measure = name[4:] if name.startswith(("max_", "min_")) else name  # that start makes all limits look alike
    can_be = [
        *("min_pairs", *TABLES),
        *(f"{sense}_{measure}" for measure in known for sense in _senses(measure)),
    ]
    alike = [limit for limit in can_be if suggest(measure, [limit[4:]])]
    return suggest(name, alike) or (
        " Limits are max_ or min_ and a measure, such as max_gap_mean; likewise.auditing.MEASURES has their names."
    )


def _senses(measure: str) -> tuple[str, ...]:
    sense = MEASURES[measure].sense
    return ("max", "min") if sense is None else (sense,)


def _from_toml(text: str, origin: str, *, in_project: bool) -> Policy:
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        reason = "it nests too deeply" if isinstance(error, RecursionError) else " ".join(str(error).split())
        raise PolicyError(f"{origin} is not TOML: {reason}.") from error
    try:
        policy = Policy.from_dict(_project_table(data) if in_project else _policy_table(data))
    except PolicyError as error:
        raise PolicyError(f"{origin}: {error}") from error
    if not policy.has_limits:
        raise PolicyError(f"{origin} sets no limit. Add one, such as max_gap_mean = 0.1.")
    return policy


def _project_table(data: Any) -> Any:
    for key in TOOL_TABLE:
        data = data.get(key) if isinstance(data, Mapping) else None
    if data is None:
        raise PolicyError(f"There is no table [{'.'.join(TOOL_TABLE)}]. Add it, or name another file.")
    return data


def _policy_table(data: Mapping[str, Any]) -> Any:
    if "policy" not in data:
        return data
    beside = [key for key in data if key not in ("policy", "rule")]  # the rule is read by Comparability.from_toml
    if beside:
        raise PolicyError(f"{beside[0]!r} stands beside the table [policy], where it has no effect. Move it there.")
    return data["policy"]
