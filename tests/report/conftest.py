"""A record of an audit, without and with a verdict."""

from __future__ import annotations

from typing import Any

import pytest
from tests.records import make_record

from likewise.auditing import Measure, Policy
from likewise.auditing.policy._verdict import judge


@pytest.fixture
def record() -> dict[str, Any]:
    return make_record()


@pytest.fixture
def judged(record: dict[str, Any]) -> dict[str, Any]:
    """The record with a verdict in which each outcome occurs once."""
    policy = Policy(min_roc_auc=0.7, max_flip_rate=0.3, labels={"yes": {"max_gap_mean": 0.2}})
    found = {name: Measure(**one) for name, one in record["measures"].items() if not name.endswith("_over_spread")}
    verdict = judge(found, policy)
    assert [check.outcome for check in verdict.checks] == ["pass", "inconclusive", "fail"]
    return record | {"verdict": verdict.to_dict()}
