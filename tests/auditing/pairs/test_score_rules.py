"""Pairs stay by target and control, and by the band, as the definition says, however they are found."""

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
from likewise.auditing.pairs._meter import ScoredPeople
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

    reference: str | None = None

    @property
    def how(self) -> dict[str, Any]:
        known = {"roles": ROLES, "rule": self.rule, "threshold": self.threshold, "favourable": self.favourable}
        return known | {"n_resamples": 0, "baseline": False, "reference": self.reference}

    def expected(self, *, is_mirrored: bool = False) -> list[tuple[int, int]]:
        """Every two people, one by one, by the definition."""
        table = ROLES.learn(self.people).encode(self.people, [0] * len(self.people))
        sex, scores = (self.people.column(name).to_pylist() for name in ("sex", "score"))
        kept = []
        for pair in zip(*np.triu_indices(len(table), 1), strict=True):
            left, right = map(int, pair)
            controls = [one for one in (left, right) if self.reference == sex[one] and sex[left] != sex[right]]
            fits = bool(self.rule.holds(table[[left]], table[[right]])[0])
            if self.rule.score_band is not None:
                band = self.rule.score_band + 1e-9
                fits &= any(abs(scores[one] - self.threshold) <= band for one in controls or (left, right))
            if fits and self.rule.no_better:
                control = controls[0]
                target = left + right - control
                lesser, better = (target, control) if is_mirrored else (control, target)
                fits = bool(self.rule.holds_for(table[[lesser]], table[[better]])[0])
            kept += [(left, right)] if fits else []
        return kept


def draw_people(random: np.random.Generator, n: int) -> pa.Table:
    income = random.integers(0, 6, n).astype(float)
    return pa.table(
        {
            "sex": np.where(np.arange(n) < 2, ["f", "m"] * (n // 2) + ["f"] * (n % 2), random.choice(["f", "m"], n)),
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
    no_better: tuple[str, ...] = draw(st.sampled_from(NO_BETTER))
    band = draw(st.sampled_from([0.0, 0.1, 0.3])) if not no_better or draw(st.booleans()) else None
    rule = Comparability(limits={"dti": "0.2", "income": "40 %"}, no_better=no_better, score_band=band)
    favourable = draw(st.sampled_from([None, "low"]))
    is_named = bool(no_better) or draw(st.booleans())
    return Asked(draw_people(random, draw(st.integers(2, 40))), rule, 0.6, favourable, "m" if is_named else None)


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


def lend(treated: float, n: int = 2_000) -> tuple[pa.Table, dict[str, Any]]:
    """Applicants who are approved by their income, ``f`` less often than ``m`` by so much."""
    random = np.random.default_rng(8)
    income = np.round(random.normal(50, 8, n))
    sex = random.choice(["f", "m"], n)
    chance = np.clip(0.5 + (income - 50) / 100, 0.4, 0.75) - treated * (sex == "f")
    people = pa.table({"sex": sex, "income": income, "score": chance, "approved": 1.0 * (random.random(n) < chance)})
    roles = Roles(sensitive="sex", continuous="income", ignored=["score", "approved"])
    return people, {"roles": roles, "reference": "m", "n_resamples": 0, "favourable": "high"}


ONE_SIDED = Comparability(limits={"income": "2"}, no_better=("income:higher",))


@pytest.mark.parametrize("how", [{}, {"max_pairs": 20_000}, {"when_too_many": "sample", "max_pairs": 100_000}], ids=str)
def test_a_lender_who_treats_the_target_worse_shows_it_under_the_one_sided_rule(how: dict[str, Any]) -> None:
    people, asked = lend(0.2)
    found = audit(people.column("approved").to_numpy(), people, rule=ONE_SIDED, **asked | how)
    fair, asked = lend(0.0)
    equal = audit(fair.column("approved").to_numpy(), fair, rule=ONE_SIDED, **asked | how)
    for mirror in ("", "[mirror]"):  # without the other image a little merit would look like treatment
        assert found[f"signed_gap{mirror}"].value == pytest.approx(-0.2, abs=0.05)
        only_control, only_target = (found[f"{side}_only_rate{mirror}"].value or 0 for side in ("control", "target"))
        assert only_control - only_target == pytest.approx(0.2, abs=0.05)
        assert equal[f"signed_gap{mirror}"].value == pytest.approx(0, abs=0.05)


def test_a_band_does_not_bound_the_gap() -> None:
    people, asked = lend(0.34)
    rule = Comparability(limits={"income": "2"}, score_band=0.05)
    found = audit("score", people, rule=rule, threshold=0.5, **asked)
    assert found["signed_gap"].value == pytest.approx(-0.34, abs=0.01)


@given(asked=questions())
@settings(max_examples=sized(6, 100), deadline=None)
def test_the_mirror_image_is_of_the_pairs_whose_target_is_no_better(asked: Asked) -> None:
    expected, mirrored = asked.expected(), asked.expected(is_mirrored=True)
    if not asked.rule.no_better or not expected:
        return
    found, sex = audit("score", asked.people, **asked.how), asked.people.column("sex").to_pylist()
    scores = asked.people.column("score").to_numpy() * (-1 if asked.favourable == "low" else 1)
    for part, pairs in ((None, expected), ("mirror", mirrored)):
        sides = [(a, b) if sex[b] == "m" else (b, a) for a, b in pairs]
        gap = found["signed_gap", part]
        assert gap.n == len(pairs)
        assert gap.value == (pytest.approx(np.mean([scores[a] - scores[b] for a, b in sides])) if pairs else None)


def gather(people: pa.Table, rule: Comparability, most: int, seed: int) -> tuple[_gather.Gathered, NDArray[np.float64]]:
    how = AuditSettings(threshold=0.6, reference="m")
    asked = make_question("score", people, None, roles=ROLES, rule=rule, settings=how)
    scored = ScoredPeople.of(asked.table, asked.scores)
    shape = scored.shape(AuditSettings(max_pairs=most, seed=seed))
    drawn = _gather.draw_pairs(asked, rule, scored, shape, memory_limit=None)
    return drawn, asked.scores.values


@pytest.mark.long(3)
@pytest.mark.parametrize(
    "rule",
    [{"no_better": ("size",), "score_band": 0.4}, {"no_better": ("dti", "income:higher")}, {"score_band": 0.2}],
)
def test_a_sample_is_drawn_uniformly_from_the_pairs_that_stay(rule: dict[str, Any]) -> None:
    people = draw_people(np.random.default_rng(1), 260)
    asked = Asked(people, Comparability(limits={"dti": "0.3", "income": "60 %"}, **rule), 0.6, None, "m")
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
