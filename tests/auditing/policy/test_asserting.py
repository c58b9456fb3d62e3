"""A test fails with the numbers and the evidence, and passes only when the policy is met."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from likewise.auditing import Measure, Policy, Verdict, assert_passes
from likewise.auditing.policy._verdict import judge
from likewise.exceptions import MissingExtra, PolicyError

POLICY = Policy(max_flip_rate=0.05)
GOOD = Measure(0.01, 0.0, 0.02, 400)
BAD = Measure(0.08, 0.06, 0.1, 400)
UNSURE = Measure(0.04, 0.02, 0.06, 400)


@dataclass
class Judged:
    flip_rate: Measure
    worst: tuple[Any, ...] = field(default=())

    def judge(self, policy: Policy) -> Verdict:
        return judge({"flip_rate": self.flip_rate}, policy)


def make_case(row: int, score: Any, **ids: Any) -> SimpleNamespace:
    factors = (
        SimpleNamespace(column="sex", left="f", right="m", differs=True),
        SimpleNamespace(column="job", left="cook", right="cook", differs=False),
    )
    return SimpleNamespace(
        **{"left_row": row, "right_row": 8, "left_id": row, "right_id": 8} | ids,
        **{"label": "yes", "left_score": score, "right_score": 0.75, "gap": 0.5, "factors": factors},
    )


def test_what_meets_the_policy_passes() -> None:
    assert_passes(Judged(GOOD), POLICY)


def test_what_does_not_fails_with_numbers_and_shows_at_most_three_pairs_where_asked() -> None:
    worst = (make_case(1234, 0.25), make_case(2, (0.25, 0.75)), make_case(3, 0.25), make_case(4, 0.25))
    told = [
        "Fail: the limit is not met.",
        "  fail: max_flip_rate: 8.00% (6.00% to 10.00%) is above the highest allowed, 5%.",
    ]
    with pytest.raises(AssertionError) as error:
        assert_passes(Judged(BAD, worst), POLICY)
    assert str(error.value).splitlines() == told
    with pytest.raises(AssertionError) as error:
        assert_passes(Judged(BAD, worst), POLICY, rows=True)
    assert str(error.value).splitlines() == [
        *told,
        "The worst pairs:",
        "  rows 1,234 and 8, label 'yes': scores 0.25 and 0.75, gap 0.5; sex 'f' / 'm'",
        "  rows 2 and 8, label 'yes': scores (0.25, 0.75) and 0.75, gap 0.5; sex 'f' / 'm'",
        "  rows 3 and 8, label 'yes': scores 0.25 and 0.75, gap 0.5; sex 'f' / 'm'",
    ]


def test_people_are_called_by_their_ids_where_they_have_any() -> None:
    with pytest.raises(AssertionError, match="  ids 10546 and B-7, label 'yes': scores"):
        assert_passes(Judged(BAD, (make_case(3, 0.25, left_id=10546, right_id="B-7"),)), POLICY, rows=True)


def test_what_cannot_be_told_fails_unless_asked_otherwise() -> None:
    with pytest.raises(AssertionError, match=r"inconclusive: max_flip_rate: 4\.00%"):
        assert_passes(Judged(UNSURE), POLICY)
    with pytest.raises(pytest.skip.Exception, match="cannot be told"):
        assert_passes(Judged(UNSURE), POLICY, inconclusive="skip")
    assert_passes(Judged(UNSURE), POLICY, inconclusive="pass")


@pytest.mark.parametrize("inconclusive", ["fail", "skip", "pass"])
def test_a_broken_limit_fails_whatever_is_said_of_others(inconclusive: Any) -> None:
    with pytest.raises(AssertionError, match="1 of 2 limits not met, 1 cannot be judged"):
        assert_passes(Judged(BAD), Policy(max_flip_rate=0.05, min_roc_auc=0.8), inconclusive=inconclusive)


def test_skipping_without_pytest_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pytest", None)
    try:
        assert_passes(Judged(UNSURE), POLICY, inconclusive="skip")
    except MissingExtra as error:
        message = str(error)
    else:
        message = ""
    assert "needs the package pytest" in message


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="inconclusive is 'ignore'; choose one of 'fail', 'skip', 'pass'"):
        assert_passes(Judged(GOOD), POLICY, inconclusive="ignore")  # type: ignore[arg-type]
    with pytest.raises(PolicyError, match="not dict"):
        assert_passes(Judged(GOOD), {"max_flip_rate": 0.05})  # type: ignore[arg-type]
