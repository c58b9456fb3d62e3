"""The regression stands beside the pairs on every page, which say where the two disagree."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from likewise import Policy, Roles, audit
from likewise.record import AuditRecord
from likewise.report import to_html, to_markdown


def audited(**how: Any) -> AuditRecord:
    random = np.random.default_rng(0)
    people = pd.DataFrame({"sex": random.choice(["f", "m"], 400), "age": random.integers(20, 60, 400)})
    scores = np.clip(0.5 - 0.2 * (people.sex == "f") + random.normal(0, 0.05, 400), 0, 1)
    return audit(
        np.asarray(scores), people, roles=Roles(sensitive="sex", continuous="age"), reference="m", **how
    ).to_record()


def test_pages_show_the_effect_beside_the_adjusted_gap() -> None:
    record = audited()
    (effect,) = record.regression
    assert (effect.column, effect.group, effect.reference) == ("sex", "f", "m")
    for page in (to_html(record), to_markdown(record)):
        assert "Adjusted gap of the pairs" in page
        assert f"{100 * (effect.effect or 0):.2f} pp" in page
        assert "disagree" not in page
    assert AuditRecord.from_dict(record.to_dict()).regression == record.regression


def test_pages_say_where_pairs_and_regression_disagree() -> None:
    record = audited()
    (effect,) = record.regression
    other = replace(record, regression=(replace(effect, effect=0.1, low=0.05, high=0.15),))
    for page in (to_html(other), to_markdown(other)):
        assert "Of sex f compared with m, the two disagree: their intervals have no number in common" in page


def test_a_limit_on_target_and_control_is_on_each_column_that_has_a_control() -> None:
    random = np.random.default_rng(1)
    people = pd.DataFrame({name: random.choice(["a", "b"], 400) for name in ("sex", "race")})
    approved = (random.random(400) < 0.5 - 0.3 * (people.sex == "a")).astype(int)
    how: dict[str, Any] = {"roles": Roles(sensitive=["sex", "race"]), "reference": {"sex": "b", "race": "b"}}
    verdict = audit(np.asarray(approved), people, **how).judge(Policy(max_control_only_rate=0.3))
    assert {check.part: check.outcome for check in verdict.checks} == {"sex": "fail", "race": "pass"}
