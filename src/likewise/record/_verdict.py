"""How the limits of a policy came out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from likewise.record._measures import Measure

Outcome = Literal["pass", "fail", "inconclusive"]
Sense = Literal["max", "min"]
PolicyData = Mapping[str, float | Mapping[str, Mapping[str, float]]]  # limits by name; those on transitions in tables


@dataclass(frozen=True, slots=True)
class Check:
    """The outcome of one limit of a policy.

    Parameters
    ----------
    name : str
        Of the limit, such as ``max_flip_rate``.
    measure : Measure
        What was measured; without a value where the audit does not have it.
    limit : float
    sense : {"max", "min"}
    outcome : {"pass", "fail", "inconclusive"}
    reason : str
        A sentence that explains it, with the numbers.
    transition : str, optional
        Which transition the limit is on, such as ``sex: Male → Female``.

    Examples
    --------
    >>> from likewise.auditing import Check, Measure
    >>> print(Check("max_flip_rate", Measure(0.02, 0.01, 0.03, n=500), 0.05, "max", "pass", "2.00% is within 5%."))
    max_flip_rate, pass: 2.00% is within 5%.
    """

    name: str
    measure: Measure
    limit: float
    sense: Sense
    outcome: Outcome
    reason: str
    transition: str | None = None

    @property
    def full_name(self) -> str:
        """The name of the limit, with that of its transition."""
        return self.name if self.transition is None else f"{self.name} ({self.transition})"

    @property
    def of(self) -> str:
        """The name of the measure that is limited."""
        return self.name.removeprefix(f"{self.sense}_")

    @staticmethod
    def from_flat(plain: Mapping[str, Any]) -> dict[str, Any]:
        """Put the parts of the measure, which plain data holds beside the limit, into one value."""
        parts = ("value", "low", "high", "n")
        others = {name: value for name, value in plain.items() if name not in parts}
        return {**others, "measure": {name: plain[name] for name in parts if name in plain}}

    def __str__(self) -> str:
        return f"{self.full_name}, {self.outcome}: {self.reason}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; it is JSON."""
        found = self.measure
        return {
            "name": self.name,
            **({} if self.transition is None else {"transition": self.transition}),
            "limit": self.limit,
            "sense": self.sense,
            "outcome": self.outcome,
            "reason": self.reason,
            **{"value": found.value, "low": found.low, "high": found.high, "n": found.n},
        }


@dataclass(frozen=True, slots=True)
class VerdictRecord:
    """The verdict of a policy, as a record holds it."""

    outcome: Outcome
    checks: tuple[Check, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; it is JSON."""
        return {"outcome": self.outcome, "checks": [check.to_dict() for check in self.checks]}
