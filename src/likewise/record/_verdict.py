"""The notes of an audit, and how the limits of a policy came out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from likewise._format import OutcomeSummary, sum_up
from likewise.record._kinds import Sense, key_of, kind_of
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
EXIT_CODES: Final[Mapping[Outcome, int]] = {"pass": 0, "fail": 1, "inconclusive": 3}  # 2 is wrong usage
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
class Verdict:
    """Whether an audit meets a policy; ``str`` of it is a short paragraph.

    Parameters
    ----------
    outcome : {"pass", "fail", "inconclusive"}
        ``fail`` if any check fails, otherwise ``inconclusive`` if any is, or if there is none; ``pass`` if all pass.
    checks : tuple of Check
        One for each limit, in the order of the policy.
    policy : mapping
        The policy, as ``Policy.to_dict`` has it.

    Examples
    --------
    >>> from likewise import Policy, audit, load_dataset
    >>> data = load_dataset("planted")
    >>> found = audit(data.scores, data.test.X, data.test.y, roles=data.roles, rule=data.rule)
    >>> verdict = found.judge(Policy(max_gap_mean=0.01))
    >>> verdict.outcome, verdict.exit_code
    ('fail', 1)
    >>> print(verdict)
    Fail: the limit is not met. max_gap_mean: 5.90 pp (4.93 to 7.05) is above the highest allowed, 1 pp.
    """

    outcome: Outcome
    checks: tuple[Check, ...]
    policy: PolicyData

    @property
    def exit_code(self) -> int:
        """The exit code of a command: 0 for pass, 1 for fail, 3 for inconclusive."""
        return EXIT_CODES[self.outcome]

    @property
    def headline(self) -> str:
        """The outcome in one sentence."""
        return str(self.summary)

    @property
    def summary(self) -> OutcomeSummary:
        """The outcome, and how many limits are met, are not, or cannot be judged."""
        n_of_pairs = sum(kind_of(one.of).counted_in == "pairs" for one in self.checks)
        least = self.policy.get("min_pairs", 0)
        return sum_up([one.outcome for one in self.checks], int(least) if isinstance(least, int) else 0, n_of_pairs)

    def __str__(self) -> str:
        reasons = [f"{one.full_name}: {one.reason}" for one in self.select("fail") + self.select("inconclusive")]
        return " ".join([self.headline, *reasons])

    def select(self, outcome: Outcome) -> tuple[Check, ...]:
        """Return the checks with this outcome."""
        return tuple(one for one in self.checks if one.outcome == outcome)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; it is JSON."""
        checks = [check.to_dict() for check in self.checks]
        return {"outcome": self.outcome, "checks": checks, "policy": dict(self.policy)}
