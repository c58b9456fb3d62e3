"""The notes of an audit, and how the limits of a policy came out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from likewise.record._kinds import Sense, key_of
from likewise.record._measures import Measure

NoteKind = Literal[
    "collapsed",  # everybody is scored nearly alike
    "coverage",
    "weighted",  # people count by weights
    "clustered",  # people of one cluster are not independent
    "decisions_only",  # scores are 0 or 1
    "no_labels",  # people are compared whatever their outcome
    "one_label",
    "label_is_decision",  # the scores determine the label, so that no pair is decided differently
    "auc_below_half",  # people with the positive label are scored lower
    "favourable_assumed",  # the label reads as bad for people, and which outcome is favourable was not said
    "positive_assumed",  # the positive label was not named
    "few_pairs",
    "wide_limit",  # a limit that excludes hardly anybody
    "few_people",  # so few of one group that there are no intervals
    "streamed",  # all pairs measured, intervals from a sample
    "sampled",
    "no_baseline",
    "one_person",  # one person is in many of the pairs
    "that_person",  # who
    "approval_rate",
    "roles_inferred",
    "derived_column",  # a compared column that follows from scores, decision or label
    "alike_groups",  # values of a sensitive column that are written alike
    "alike_values",  # of another column
    "confirmed",  # what was noticed about a column, and confirmed
    "smoothed",  # scores depend on other people's, and on whose
    "squeezed",  # gaps fell because the scores moved closer together
    "unlike",  # two audits differ in a setting
]
Outcome = Literal["pass", "fail", "inconclusive"]
PolicyData = Mapping[
    str, float | Mapping[str, Mapping[str, float]]
]  # limits by name; those of labels, transitions and columns in tables


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence or two with a kind that code can test; ``str`` of it is the text."""

    kind: NoteKind
    text: str

    def __str__(self) -> str:
        return self.text


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
    part : str, optional
        The label, transition or column whose part of the measure is limited, such as ``1`` or ``sex: Male → Female``.

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
    part: str | None = None

    @property
    def full_name(self) -> str:
        """The name of the limit, with the part that it is on: ``max_gap_mean[1]``."""
        return key_of(self.name, self.part)

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
            **({} if self.part is None else {"part": self.part}),
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
