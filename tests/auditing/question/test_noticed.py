"""Columns made from scores, decision or label are noticed, and values written alike; nothing passes until confirmed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.sizes import sized

from likewise import Comparability, Policy, Roles, audit
from likewise.auditing import Audit
from likewise.exceptions import ParameterError

RULE = Comparability(max_discrete_changes=3, max_continuous_shift=1.0)
LOOSE = Policy(max_gap_mean=1.0, min_pairs=1)
NOTICED = ("derived_column", "alike_groups", "alike_values", "confirmed")
DERIVED: dict[str, Callable[[Any, Any], Any]] = {
    "decision": lambda p, y: (p >= 0.5).astype(int),
    "decision in words": lambda p, y: np.where(p >= 0.5, "denied", "approved"),
    "band": lambda p, y: np.array(list("CADBE"))[np.digitize(p, [0.2, 0.4, 0.6, 0.8])],
    "copy": lambda p, y: p,
    "falling points": lambda p, y: np.round(850 - 500 * p),
    "rounded": lambda p, y: np.round(p, 2),
    "log-odds": lambda p, y: np.log(p / (1 - p)).astype(np.float32),
    "label": lambda p, y: y,
    "label in words": lambda p, y: np.where(y == 1, "no", "yes"),
}


def make_people(seed: int, n: int = 300) -> tuple[dict[str, Any], Any, Any]:
    """Return people of random columns, scores by some of them, and labels by the scores."""
    random = np.random.default_rng(seed)
    people = {
        "sex": random.choice(["f", "m"], n),
        "job": random.choice([f"job {i}" for i in range(random.integers(2, 60))], n),
        "city": random.choice(["a", "b", "c"], n, p=[0.9, 0.09, 0.01]),
        "owner": random.integers(0, 2, n),
        "children": random.poisson(1, n),
        "income": random.lognormal(3, 1, n),
        "gain": np.where(random.random(n) < 0.05, random.lognormal(3, 1, n), 0.0),
    }
    effect = 0.3 * np.log(people["income"]) + 0.8 * people["owner"] - 0.3 * people["children"]
    p = 1 / (1 + np.exp(-(effect - effect.mean() + random.normal(0, 0.5, n))))
    return people, p, (random.random(n) < p).astype(int)


def audit_people(people: dict[str, Any], p: Any, y: Any, **settings: Any) -> Audit:
    frame = pa.table(people)
    roles = Roles.infer(frame, sensitive="sex")
    return audit(p, frame, y, roles=roles, rule=RULE, n_resamples=100, **settings)


@pytest.mark.parametrize("kind", DERIVED)
def test_a_column_made_from_what_is_audited_blocks_a_pass_until_it_is_confirmed(kind: str) -> None:
    people, p, y = make_people(1)
    people["made"] = DERIVED[kind](p, y)
    found = audit_people(people, p, y)
    [note] = [one for one in found.notes if one.kind in NOTICED]
    assert note.kind == "derived_column"
    assert "'made'" in note.text
    verdict = found.judge(LOOSE)
    assert verdict.outcome == "inconclusive"
    assert "confirmed='made'" in verdict.checks[0].reason
    confirmed = audit_people(people, p, y, confirmed="made")
    assert confirmed.judge(LOOSE).outcome == "pass"
    assert [one.kind for one in confirmed.notes if one.kind in NOTICED] == ["confirmed"]
    assert list(confirmed.record.settings.confirmed) == ["made"]


def test_columns_that_are_made_from_nothing_are_not_noticed() -> None:
    noticed = []
    for seed in range(sized(20, 200)):
        people, p, y = make_people(seed)
        people["nearly"] = np.where(np.random.default_rng(seed).random(len(p)) < 0.1, 1 - y, y)
        noticed += [one.text for one in audit_people(people, p, y).notes if one.kind in NOTICED]
    assert noticed == []


def test_a_model_of_one_column_is_noticed_and_the_reason_says_how_that_can_be() -> None:
    people, _, y = make_people(2)
    p = people["income"] / (people["income"] + 20)
    [note] = [one for one in audit_people(people, p, y).notes if one.kind in NOTICED]
    assert "'income'" in note.text
    assert "a model uses little else" in note.text


@pytest.mark.parametrize("other", ["red ", "RED", "\u00a0red", "r\u0435d", "\uff52ed", "re\u200bd"])
@pytest.mark.parametrize("column", ["sex", "job"])
def test_values_that_are_written_alike_block_a_pass_until_they_are_confirmed(column: str, other: str) -> None:
    people, p, y = make_people(3)
    people[column] = np.random.default_rng(3).choice(["red", other, "blue"], len(p))
    found = audit_people(people, p, y)
    [note] = [one for one in found.notes if one.kind in NOTICED]
    assert f"'{column}'" in note.text
    both = Policy(max_gap_mean=1.0, min_impact_ratio=0.01, min_pairs=1)
    outcomes = [check.outcome for check in found.judge(both).checks]
    assert outcomes == (["inconclusive"] * 2 if column == "sex" else ["inconclusive", "pass"])
    assert audit_people(people, p, y, confirmed=[column]).judge(both).outcome == "pass"


def test_a_column_that_nobody_has_cannot_be_confirmed() -> None:
    people, p, y = make_people(4)
    with pytest.raises(ParameterError, match=r"confirmed names column 'incone'.*Did you mean 'income'"):
        audit_people(people, p, y, confirmed="incone")
