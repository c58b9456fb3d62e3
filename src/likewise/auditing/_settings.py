"""The parameters of an audit, checked once, for every way to ask for one."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, fields, replace
from inspect import Parameter, signature
from typing import Any, Final, Literal, TypeVar

import numpy as np

from likewise._checks import check_choice, check_count, check_flag, check_plain_data, parameter, suggest
from likewise._memory import bytes_allowed
from likewise.exceptions import ParameterError

F = TypeVar("F", bound=Callable[..., Any])
TaskName = Literal["auto", "binary", "multiclass", "regression"]
Task = Literal["binary", "multiclass", "regression"]
TooMany = Literal["stream", "sample"]

TASKS: Final = ("binary", "multiclass", "regression")
MOST_RESAMPLES: Final = 1_000_000
MAX_SEED: Final = 2**64  # replicates are hashed from a 64-bit seed
PAGE_SETTINGS: Final = (  # those that the pairs of a page depend on; intervals and evidence have the others
    *("task", "positive", "favourable", "reference", "sample_weight"),
    *("threshold", "approval_rate", "scale", "gap_limit", "max_pairs"),
)
ELSEWHERE: Final = ("positive", "threshold", "scale")  # the record has these, as resolved, beside its settings

BYTES_PER_PAIR: Final = 200  # of a kept pair, with everything computed from it and from a baseline pair
BYTES_PER_PAIR_SEARCHING: Final = 24  # while pairs are searched for: half as many again as wanted, with their keys
BYTES_PER_PERSON: Final = 250  # codes, scores, ranks and what is computed from them
BYTES_PER_PERSON_SEARCHING: Final = 160
MIN_KEPT: Final = 1_000  # intervals from fewer pairs say little


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSettings:
    """Hold and check the parameters of an audit, those of :func:`likewise.audit`; ``seed`` is its ``random_state``."""

    task: TaskName = "auto"
    positive: Any = None
    favourable: Any = None
    reference: Any = None
    sample_weight: str | None = None  # a column; an array is no setting
    cluster: str | None = None  # likewise
    threshold: float | None = None
    approval_rate: float | None = None
    scale: float | None = None
    gap_limit: float = 0.1
    baseline: bool = True
    n_worst: int = 100
    n_resamples: int = 1000
    confidence: float = 0.95
    seed: int = 0
    max_pairs: int = 5_000_000
    when_too_many: TooMany = "stream"
    confirmed: str | Sequence[str] = ()  # columns whose notes are no doubt

    def __post_init__(self) -> None:
        """Refuse values that no audit can be made with."""
        check_choice("task", self.task, ("auto", *TASKS))
        check_choice("when_too_many", self.when_too_many, ("stream", "sample"))
        object.__setattr__(self, "confirmed", _names(self.confirmed))
        for name in ("sample_weight", "cluster"):
            if not isinstance(getattr(self, name), str | None):
                raise ParameterError("holds no column's name; give an array to audit itself.", name)
        self._check_counts()
        self._check_intervals()
        self._check_decisions()

    @property
    def columns(self) -> list[str]:
        """The columns of weights and clusters, if they are in any."""
        return [name for name in (self.sample_weight, self.cluster) if name is not None]

    @property
    def fewest_resamples(self) -> int:
        """How many replicates an interval takes: one beyond each end."""
        return math.ceil(round(2 / (1 - self.confidence), 6))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: what the record of an audit holds as its settings."""
        known = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in ELSEWHERE}
        return known | {"confirmed": list(self.confirmed)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], **others: Any) -> AuditSettings:
        """Read what :meth:`to_dict` returns; ``positive``, ``threshold`` and ``scale`` stand elsewhere in a record."""
        check_plain_data(data, "A dictionary of settings", ParameterError)
        names = {field.name for field in fields(cls)} - set(ELSEWHERE)
        return cls(**{name: value for name, value in data.items() if name in names}, **others)

    @classmethod
    def of_arguments(cls, given: Mapping[str, Any], names: Collection[str] | None = None) -> AuditSettings:
        """Take the settings out of the arguments of an audit; refuse others than ``names``, where these are given."""
        allowed = cls.arguments(names)
        if unknown := [] if names is None else [name for name in given if name not in allowed]:
            hint = suggest(unknown[0], allowed) or f" There are {', '.join(allowed)}."
            raise TypeError(f"There is no argument {unknown[0]!r}.{hint}")
        return cls(**{one.name: given[name] for name, one in allowed.items() if name in given})

    @classmethod
    def listed_by(cls, names: Collection[str] | None = None) -> Callable[[F], F]:
        """Let the signature of a function, which ``help`` and notebooks show, list what its ``**settings`` may be."""

        def decorate(function: F) -> F:
            own = signature(function)
            kept = [one for one in own.parameters.values() if one.kind is not Parameter.VAR_KEYWORD]
            listed = [
                Parameter(name, Parameter.KEYWORD_ONLY, default=known.default, annotation=known.type)
                for name, known in cls.arguments(names).items()
                if name not in own.parameters
            ]
            function.__signature__ = own.replace(parameters=[*kept, *listed])  # type: ignore[attr-defined]
            return function

        return decorate

    @classmethod
    def arguments(cls, names: Collection[str] | None = None) -> dict[str, Field[Any]]:
        """Return the settings by the names that they have as arguments of an audit."""
        known = {"random_state" if one.name == "seed" else one.name: one for one in fields(cls)}
        return {name: one for name, one in known.items() if names is None or one.name in names}

    def share_memory(self, limit: int | str | None, n_people: int) -> tuple[AuditSettings, int | None]:
        """Return settings that keep as many pairs as the limit allows, and the bytes left to search for them."""
        if limit is None:
            return self, None
        allowed = bytes_allowed(limit)
        for_pairs = max((allowed - n_people * BYTES_PER_PERSON) // 2 // BYTES_PER_PAIR, MIN_KEPT)
        settings = replace(self, max_pairs=min(self.max_pairs, for_pairs))
        return settings, max(allowed - settings.bytes_beside_search(n_people), 1)

    def bytes_beside_search(self, n_people: int) -> int:
        """Return what people and kept pairs take while pairs are searched for."""
        return n_people * BYTES_PER_PERSON_SEARCHING + self.max_pairs * BYTES_PER_PAIR_SEARCHING

    def check_limit(self, task: Task) -> None:
        """Refuse a gap limit that no gap of the task can exceed: 10 was meant in percent."""
        if self.gap_limit > 1 and task != "regression":
            raise ParameterError(
                f"is {self.gap_limit:g}, but gaps between probabilities are at most 1. For 10% give 0.1.", "gap_limit"
            )

    def _check_counts(self) -> None:
        for name in ("n_worst", "n_resamples", "max_pairs"):
            check_count(name, getattr(self, name), or_none=False)
        check_count("random_state", self.seed, or_none=False)
        if self.seed >= MAX_SEED:
            raise ParameterError("is too large; give a whole number of at most 19 digits.", "random_state")
        if self.max_pairs == 0:
            raise ParameterError("is 0; give the number of pairs to measure at most.", "max_pairs")

    def _check_intervals(self) -> None:
        if not _is_number(self.confidence) or not 0 < self.confidence < 1:
            raise ParameterError(f"is {self.confidence!r}; give a share between 0 and 1, such as 0.95.", "confidence")
        if not _is_number(self.gap_limit) or not 0 <= self.gap_limit <= sys.float_info.max:
            raise ParameterError(f"is {self.gap_limit!r}; give a number, 0 or more.", "gap_limit")
        if self.n_resamples > MOST_RESAMPLES:
            raise ParameterError(f"is too large; give {MOST_RESAMPLES:,} or less, such as 1,000.", "n_resamples")
        fewest = self.fewest_resamples
        if 0 < self.n_resamples < fewest:
            raise ParameterError(
                f"is {self.n_resamples:,}, too few to see both ends of an interval at confidence {self.confidence:g}. "
                f"Give {fewest:,} or more, or 0 for no intervals.",
                "n_resamples",
            )

    def _check_decisions(self) -> None:
        check_flag("baseline", self.baseline)
        if self.threshold is not None and self.approval_rate is not None:
            raise ParameterError(
                f"and {parameter('approval_rate')} both say who is approved; give one of them.", "threshold"
            )
        if self.threshold is not None and not (_is_number(self.threshold) and -math.inf < self.threshold < math.inf):
            raise ParameterError(f"is {self.threshold!r}; give a finite number.", "threshold")
        rate = self.approval_rate
        if rate is not None and not (_is_number(rate) and 0 <= rate <= 1):
            raise ParameterError(f"is {rate!r}; give a share from 0 to 1.", "approval_rate")
        if self.scale is not None and not (_is_number(self.scale) and 0 < self.scale < math.inf):
            raise ParameterError(f"is {self.scale!r}; give a number above 0.", "scale")


def _names(given: Any) -> tuple[str, ...]:
    """Return one name or several as a tuple."""
    is_listing = isinstance(given, Iterable) and not isinstance(given, str | Mapping)
    names = tuple(given) if is_listing else () if given is None else (given,)
    if not all(isinstance(name, str) for name in names):
        raise ParameterError(f"is {given!r}; give names of columns.", "confirmed")
    return names


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
