"""The parameters of an audit stand in one place, check themselves, and say which of them is wrong."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import pytest

from likewise import audit, load_dataset
from likewise.auditing._internal import AuditSettings
from likewise.auditing.inference._intervals import METHOD
from likewise.exceptions import ParameterError
from likewise.explore import Explorer
from likewise.scoring import PairScorer, gap_scorer


@pytest.mark.parametrize(
    ("settings", "parameter"),
    [
        ({"task": "ranking"}, "task"),
        ({"when_too_many": "stop"}, "when_too_many"),
        ({"n_worst": -1}, "n_worst"),
        ({"n_resamples": 1.5}, "n_resamples"),
        ({"n_resamples": 39}, "n_resamples"),
        ({"max_pairs": 0}, "max_pairs"),
        ({"seed": 2**64}, "random_state"),
        ({"seed": True}, "random_state"),
        ({"confidence": 1}, "confidence"),
        ({"confidence": float("nan")}, "confidence"),
        ({"gap_limit": -0.1}, "gap_limit"),
        ({"threshold": float("inf")}, "threshold"),
        ({"threshold": 0.5, "approval_rate": 0.5}, "threshold"),
        ({"approval_rate": 1.5}, "approval_rate"),
        ({"scale": 0}, "scale"),
    ],
)
def test_an_error_names_its_parameter(settings: dict[str, Any], parameter: str) -> None:
    with pytest.raises(ParameterError) as raised:
        AuditSettings(**settings)
    assert raised.value.parameter == parameter
    assert str(raised.value) == f"{parameter} {raised.value.problem}"
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


def test_the_record_holds_the_settings_and_gives_them_back() -> None:
    data = load_dataset("planted")
    given: dict[str, Any] = {"threshold": 0.4, "gap_limit": 0.05, "n_worst": 3, "n_resamples": 0, "max_pairs": 7}
    found = audit(data.scores, data.test.X, data.test.y, roles=data.roles, rule=data.rule, **given)
    settings = found.to_dict()["settings"]
    assert settings == found.settings.to_dict() | {"intervals": METHOD}  # how they were found
    assert AuditSettings.from_dict(settings, threshold=0.4) == found.settings


@pytest.mark.parametrize("taker", [Explorer, gap_scorer, PairScorer])
def test_signatures_list_the_settings(taker: Any) -> None:
    known = inspect.signature(audit).parameters
    taken = inspect.signature(taker).parameters
    listed = {name for name in known if name in taken}
    assert {"task", "positive", "favourable", "reference", "threshold", "approval_rate", "scale", "gap_limit"} <= listed
    assert all(taken[name].default == known[name].default for name in listed - {"max_pairs", "roles"})
    assert "settings" not in taken
