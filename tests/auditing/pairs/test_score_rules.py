"""Pairs are left out by their scores (``no_better``, ``score_band``) as the definition says, however they are found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.sizes import sized

from likewise import Comparability, Roles, audit
from likewise.auditing import Audit
from likewise.auditing._settings import AuditSettings
from likewise.auditing.pairs import _gather
from likewise.auditing.question._question import make_question
from likewise.exceptions import NoComparablePairs

ROLES = Roles(
    sensitive="sex",
    continuous=["dti", "income"],
    ordinal={"size": ["s", "m", "l"]},
    ignored="score",
    missing={"income": "apart"},
)
NO_BETTER: tuple[tuple[str, ...], ...] = ((), ("dti",), ("income:higher", "size:lower"), ("dti", "size:higher"))


@dataclass(frozen=True)
class Asked:
    """People with scores and a rule about these."""

    people: pa.Table
    rule: Comparability
    threshold: float
    favourable: str | None

    @property
    def how(self) -> dict[str, Any]:
        known = {"roles": ROLES, "rule": self.rule, "threshold": self.threshold, "favourable": self.favourable}
        return known | {"n_resamples": 0, "baseline": False}

    def expected(self) -> list[tuple[int, int]]:
        """Every two people, by the definition: comparable, near the threshold, and the favoured one no better."""
        table = ROLES.learn(self.people).encode(self.people, [0] * len(self.people))
        scores = self.people.column("score").to_numpy()
        left, right = np.triu_indices(len(table), 1)
        holds = self.rule.holds(table[left], table[right])
        ahead = (scores[left] - scores[right]) * (-1 if self.favourable == "low" else 1)
        left_best, right_best = (self.rule.holds_for(table[a], table[b]) for a, b in ((left, right), (right, left)))
        holds &= np.where(ahead > 0, left_best, np.where(ahead < 0, right_best, True))
        if self.rule.score_band is not None:
            near = np.abs(scores - self.threshold) <= self.rule.score_band + 1e-9
            holds &= near[left] & near[right]
        return list(zip(left[holds].tolist(), right[holds].tolist(), strict=True))


def draw_people(random: np.random.Generator, n: int) -> pa.Table:
    income = random.integers(0, 6, n).astype(float)
    return pa.table(
        {
            "sex": random.choice(["f", "m"], n),
            "dti": random.integers(0, 5, n) / 10,
            "income": [
                None if is_missing else one for one, is_missing in zip(income, random.random(n) < 0.1, strict=True)
            ],
            "size": random.choice(["s", "m", "l"], n),
            "score": random.integers(0, 11, n) / 10,
        }
    )


@st.composite
def questions(draw: st.DrawFn) -> Asked:
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    no_better = draw(st.sampled_from(NO_BETTER))
    band = draw(st.sampled_from([0.0, 0.1, 0.3])) if not no_better or draw(st.booleans()) else None
    rule = Comparability(limits={"dti": "0.2", "income": "40 %"}, no_better=no_better, score_band=band)
    favourable = draw(st.sampled_from([None, "low"]))
    return Asked(draw_people(random, draw(st.integers(2, 40))), rule, 0.6, favourable)


def pairs_of(found: Audit) -> list[tuple[int, int]]:
    return list(zip(found.pairs.left.tolist(), found.pairs.right.tolist(), strict=True))


def run(asked: Asked, **how: Any) -> list[tuple[int, int]]:
    try:
        return pairs_of(audit("score", asked.people, **asked.how | how))
    except NoComparablePairs:
        return []


@pytest.mark.parametrize("how", [{}, {"when_too_many": "sample"}], ids=str)
@given(asked=questions())
@settings(max_examples=sized(6, 200), deadline=None)
def test_a_list_and_a_sample_of_all_keep_the_pairs_of_the_definition(how: dict[str, Any], asked: Asked) -> None:
    assert run(asked, **how) == asked.expected()


@given(asked=questions())
@settings(max_examples=sized(6, 100), deadline=None)
def test_a_stream_sums_up_the_pairs_of_the_definition(asked: Asked) -> None:
    expected = asked.expected()
    if not expected:
        return
    scores = asked.people.column("score").to_numpy()
    found = audit("score", asked.people, **asked.how, max_pairs=1)
    assert found.record.pairs.n_total == len(expected)
    assert found["gap_mean"].value == pytest.approx(np.mean([abs(scores[i] - scores[j]) for i, j in expected]))


def gather(people: pa.Table, rule: Comparability, most: int, seed: int) -> tuple[_gather.Gathered, NDArray[np.float64]]:
    asked = make_question("score", people, None, roles=ROLES, rule=rule, settings=AuditSettings(threshold=0.6))
    drawn = _gather.draw_pairs(asked.table, rule, asked.scores, most=most, seed=seed, memory_limit=None)
    return drawn, asked.scores.values


@pytest.mark.long(3)
@pytest.mark.parametrize(
    "rule",
    [{"no_better": ("size",), "score_band": 0.4}, {"no_better": ("dti", "income:higher")}, {"score_band": 0.2}],
)
def test_a_sample_is_drawn_uniformly_from_the_pairs_that_stay(rule: dict[str, Any]) -> None:
    people = draw_people(np.random.default_rng(1), 260)
    asked = Asked(people, Comparability(limits={"dti": "0.3", "income": "60 %"}, **rule), 0.6, None)
    expected = asked.expected()
    counts, totals = dict.fromkeys(expected, 0), []
    n_drawn, n_seeds = len(expected) // 8, sized(40, 400)
    for seed in range(n_seeds):
        drawn, _ = gather(people, asked.rule, n_drawn, seed)
        assert len(drawn.pairs) <= n_drawn
        for pair in zip(drawn.pairs.left.tolist(), drawn.pairs.right.tolist(), strict=True):
            counts[pair] += 1  # a pair that is left out is none of these
        totals.append(drawn.n_total)
        partnered = {row for pair in expected for row in pair}
        probed = range(260) if drawn.probed is None else drawn.probed.tolist()
        assert drawn.has_partner.tolist() == [row in partnered for row in probed]
    mean = sum(counts.values()) / len(counts)
    assert np.var(list(counts.values())) == pytest.approx(mean * (1 - mean / n_seeds), rel=0.15)
    assert np.mean(totals) == pytest.approx(len(expected), rel=0.05)
