"""An audit as a test: pass, or fail with the numbers and the worst pairs."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from likewise._checks import check_choice
from likewise._format import show_value
from likewise.auditing._policy import Policy, read_policy
from likewise.auditing._verdict import Verdict
from likewise.exceptions import MissingExtra
from likewise.record._internal import name_people

N_SHOWN: Final = 3


class Judged(Protocol):
    """What of an audit is needed here."""

    @property
    def worst(self) -> Sequence[Any]:
        """The pairs with the largest gaps."""

    def judge(self, policy: Policy) -> Verdict:
        """Hold the audit against a policy."""


def assert_passes(
    audit: Judged, policy: Policy | str | Path, *, inconclusive: Literal["fail", "skip", "pass"] = "fail"
) -> None:
    """Fail a test whose audit does not meet a policy.

    Parameters
    ----------
    audit : Audit
    policy : Policy, or path of a TOML file
    inconclusive : {"fail", "skip", "pass"}
        What to do when it cannot be told: fail as well, skip the test (with pytest), or let it pass.

    Raises
    ------
    AssertionError
        With every check that is not met, its numbers, and the worst pairs.

    Examples
    --------
    In a test file:

    >>> from likewise.auditing import Policy, assert_passes
    >>> def test_similar_people_are_treated_alike(audit):
    ...     assert_passes(audit, Policy(max_positive_gap_mean=0.2, max_flip_rate=0.05))
    """
    __tracebackhide__ = True  # pytest shows the line of the test, not this one
    check_choice("inconclusive", inconclusive, ("fail", "skip", "pass"))
    verdict = audit.judge(read_policy(policy))
    if verdict.outcome == "pass" or (verdict.outcome == "inconclusive" and inconclusive == "pass"):
        return
    if verdict.outcome == "inconclusive" and inconclusive == "skip":
        _skip(str(verdict))
    raise AssertionError(_message(verdict, audit.worst))


def _skip(reason: str) -> None:
    __tracebackhide__ = True
    try:
        import pytest
    except ImportError as error:
        raise MissingExtra(
            "assert_passes(..., inconclusive='skip') needs the package pytest, which cannot be imported. "
            "Install it with: pip install pytest"
        ) from error
    pytest.skip(reason)


def _message(verdict: Verdict, worst: Sequence[Any]) -> str:
    lines = [str(verdict).partition(". ")[0].removesuffix(".") + "."]
    lines += [
        f"  {check.outcome}: {check.name}: {check.reason}"
        for check in (*verdict.select("fail"), *verdict.select("inconclusive"))
    ]
    if worst:
        lines += ["The worst pairs:", *(f"  {_describe(case)}" for case in worst[:N_SHOWN])]
    return "\n".join(lines)


def _describe(case: Any) -> str:
    """Put a pair on one line: who, how far apart, and in what they differ."""
    kind, left, right = name_people(case)
    people = f"{kind}s {left} and {right}, label {reprlib.repr(case.label)}"
    scores = f"scores {_score(case.left_score)} and {_score(case.right_score)}, gap {show_value('gap_max', case.gap)}"
    differing = [
        f"{factor.column} {reprlib.repr(factor.left)} / {reprlib.repr(factor.right)}"
        for factor in case.factors
        if factor.differs
    ]
    return "; ".join([f"{people}: {scores}", *differing])


def _score(score: Any) -> str:
    return f"{score:.4g}" if isinstance(score, int | float) else f"({', '.join(f'{one:.4g}' for one in score)})"
