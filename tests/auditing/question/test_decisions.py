"""Decisions have decision measures only, and are called what the user calls them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from likewise import Audit, Roles, audit, compare_audits
from likewise.auditing import review_table
from likewise.report import to_html, to_markdown

OF_SCORES = ("gap_", "rank", "same_group_gap", "excess_rank", "roc", "average", "log", "brier", "calibration", "score_")


def audited(decisions: Any, **how: Any) -> Audit:
    random = np.random.default_rng(0)
    people = pd.DataFrame({"sex": random.choice(["f", "m"], 300), "age": random.integers(20, 40, 300)})
    y = random.integers(0, 2, 300) if how.pop("is_labelled", False) else None
    return audit(decisions, people, y, roles=Roles(sensitive="sex", continuous="age"), reference="m", **how)


APPROVED = np.random.default_rng(1).integers(0, 2, 300)


@pytest.mark.parametrize("is_labelled", [False, True])
def test_decisions_have_no_quantiles_ranks_or_curves(is_labelled: bool) -> None:
    found = audited(APPROVED, is_labelled=is_labelled)
    assert not [name for name in found.measures if name.startswith(OF_SCORES)]
    assert {"flip_rate", "excess_flips", "control_only_rate", "target_only_rate", "impact_ratio"} <= {*found.measures}
    assert ("accuracy" in found.measures) == is_labelled
    scores = audited(APPROVED.astype(float), is_labelled=is_labelled)  # as of a tree that is sure of everybody
    assert scores["flip_rate"] == found["flip_rate"]
    assert "gap_mean" in scores.measures
    assert f"Excess: {found['excess_flips'].show('excess_flips')}" in " ".join(str(found).split())
    for page in (to_html(found.record), to_markdown(found.record)):
        assert "Median gap" not in page
    assert compare_audits(found, audited(1 - APPROVED, is_labelled=is_labelled))["flip_rate"].difference.value == 0


@pytest.mark.parametrize(
    ("words", "how"),
    [(("grant", "refuse"), {"favourable": "grant"}), (("approved", "denied"), {})],
)
def test_decisions_are_called_by_their_words(words: tuple[str, str], how: dict[str, Any]) -> None:
    found = audited([words[0] if one else words[1] for one in APPROVED] if how else APPROVED, **how)
    assert found.worst
    assert {(case.left_decision, case.right_decision) for case in found.worst} == {words[::-1]}
    assert {row["person_decision"] for row in review_table(found.record).to_pylist()} == {words[1]}
    assert words[1] in to_markdown(found.record, rows=True)
