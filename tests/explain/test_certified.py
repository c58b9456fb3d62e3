"""Certificates of the people of an audit: in its record, its pages, and as limits of a policy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from likewise import Audit, CertifiedAudit, Comparability, GibbsGenerator, Policy, Roles, audit, certify, certify_audit
from likewise.exceptions import LikewiseError
from likewise.record import AuditRecord
from likewise.report import plot_chart, to_html, to_junit, to_markdown, to_model_card

WORDS = ["group", "job", "town"]
ROLES = Roles(sensitive="group", discrete=["job", "town"], continuous=["age", "debt"], row_id="who")
RULE = Comparability(1, 0.15)
EXACT = 1e-9


def people(n: int, seed: int) -> tuple[pd.DataFrame, Any]:
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "who": [f"p<{i}>" for i in range(n)],
            "group": random.choice(["a", "b"], n),
            "job": random.choice(["cook", "<b>smith</b>", "clerk"], n),
            "town": random.choice(["x", "y"], n),
            "age": random.integers(20, 60, n),
            "debt": random.integers(0, 20, n) / 4,
        }
    )
    y = (frame["group"] == "a") + frame["debt"] / 3 + random.normal(size=n) > 1.5
    return frame, y.to_numpy().astype(int)


def fit(last: Any, coder: Any = None, y: Any = None) -> Any:
    frame, labels = people(300, 0)
    coding = make_column_transformer((coder or OneHotEncoder(), WORDS), ("passthrough", ["age", "debt"]))
    return make_pipeline(coding, last).fit(frame.drop(columns="who"), labels if y is None else y(frame))


@pytest.fixture(scope="module")
def model() -> Any:
    return fit(LogisticRegression(max_iter=1000))


@pytest.fixture(scope="module")
def found(model: Any) -> Audit:
    frame, y = people(150, 1)
    return audit(model, frame, y, roles=ROLES, rule=RULE, n_resamples=50, gap_limit=0.25)


@pytest.fixture(scope="module")
def certified(found: Audit, model: Any) -> CertifiedAudit:
    return certify_audit(found, model)


def test_the_record_sums_up_what_certify_finds(certified: CertifiedAudit, model: Any) -> None:
    frame, _ = people(150, 1)
    alone = certify(model, frame, roles=ROLES.learn(frame), rule=RULE)
    np.testing.assert_allclose(certified.certificates.gaps, alone.gaps, atol=EXACT)
    kept, seen = certified.summary, certified.audit
    assert kept.n_people == sum(kept.counts) == 150
    assert kept.n_exact == int(alone.is_exact.sum())
    assert seen["certified_max"].value == pytest.approx(alone.gaps.max(), abs=EXACT)
    assert seen["certified_mean"].value == pytest.approx(alone.gaps.mean(), abs=EXACT)
    limit = next(one for one in kept.limits if one.limit == 0.25)  # the audit's own is among them
    share = alone.share_within(0.25)
    assert (limit.n_within, limit.n_beyond, limit.low, limit.high) == pytest.approx(
        (share.n_within, share.n_beyond, share.low, share.high)
    )
    assert seen["certified_share"].value == share.value
    worst = kept.people[0]
    assert worst.id == frame["who"][worst.row]
    assert worst.reached == pytest.approx(abs(worst.score - worst.comparable_score), abs=EXACT)
    for change in worst.changes:
        assert change.person == frame[change.column][worst.row]
        assert change.comparable == alone.rows[change.column][worst.row]
    assert [one.reached for one in kept.people] == sorted((one.reached for one in kept.people), reverse=True)


def test_no_pair_of_the_audit_exceeds_the_certificates_of_its_people(found: Audit, certified: CertifiedAudit) -> None:
    gaps = certified.certificates.gaps
    least = np.minimum(gaps[found.pairs.left], gaps[found.pairs.right])
    assert len(found.pairs) > 20
    assert (found.gaps <= least + EXACT).all()


def test_the_record_comes_back_from_plain_data_and_every_page_has_it(found: Audit, certified: CertifiedAudit) -> None:
    plain = certified.audit.to_dict()
    assert AuditRecord.from_dict(plain).to_dict() == plain
    page = to_html(plain)
    assert "Worst possible gap per person" in page
    assert "<b>smith</b>" not in page
    assert "&lt;b&gt;smith" in page
    assert "are covered by their worst possible gap only" in page
    assert "## Worst possible gap per person" in to_markdown(plain)
    card = to_model_card(plain)
    assert "### Worst possible gaps" in card
    assert "certif" not in card.lower()  # which would read as a claim
    assert plot_chart(plain, "certificates").get_title(loc="left") == "Worst possible gap per person"
    assert "Worst possible gap" not in to_html(found.to_dict())
    broken = {**plain, "certificates": {**plain["certificates"], "counts": [1]}}
    with pytest.raises(ValueError, match="certificates does not have one count for each"):
        AuditRecord.of(broken)


def test_the_other_label_and_low_scores_change_sides_and_not_gaps(model: Any) -> None:
    frame, y = people(150, 1)
    rule = Comparability(1, 0.15)
    how: dict[str, Any] = {"roles": ROLES, "rule": rule, "n_resamples": 0}
    one = certify_audit(audit(model, frame, y, **how), model)
    other = certify_audit(audit(model, frame, y, positive=0, favourable=1, **how), model)
    assert other.audit.record.favours_low
    np.testing.assert_allclose(one.certificates.gaps, other.certificates.gaps)
    assert one.summary.people[0].score == pytest.approx(1 - other.summary.people[0].score)


def test_gaps_of_amounts_are_in_units_of_the_scale() -> None:
    amounts = fit(Ridge(), y=lambda frame: 1000 * frame["debt"] + 500 * (frame["group"] == "a"))
    frame, _ = people(150, 1)
    found = audit(amounts, frame, 900 * frame["debt"], roles=ROLES, rule=RULE, task="regression", n_resamples=0)
    certified = certify_audit(found, amounts)
    scale = found.record.scale
    assert scale is not None
    worst = certified.audit["certified_max"].value
    assert worst == pytest.approx(certified.certificates.gaps.max() / scale)
    assert worst is not None
    assert worst >= found.gaps.max() - EXACT


def test_limits_on_certificates_pass_fail_and_are_inconclusive(found: Audit, certified: CertifiedAudit) -> None:
    seen = certified.audit
    worst, share = seen["certified_max"].value, seen["certified_share"]
    assert worst is not None
    assert share.low is not None
    assert share.high is not None
    assert 0 < share.low < share.high < 1

    def outcome(audit: Audit, **limits: Any) -> str:
        return audit.judge(Policy(**limits)).outcome

    assert outcome(seen, max_certified_max=worst, min_certified_share=share.low) == "pass"
    assert outcome(seen, max_certified_max=worst - 1e-3) == "fail"
    assert outcome(seen, min_certified_share=share.high + 1e-3) == "fail"
    assert outcome(seen, min_certified_share=(share.low + share.high) / 2) == "inconclusive"
    verdict = found.judge(Policy(max_certified_mean=0.9))
    assert verdict.outcome == "inconclusive"
    assert "nobody is certified. certify_audit, or likewise audit --certify, does it" in str(verdict)
    assert 'skipped message="Inconclusive' in to_junit(found.to_dict(verdict))
    with pytest.raises(LikewiseError, match=r"min_certified_share is 95, .* Give 0.95 for 95%"):
        Policy(min_certified_share=95)
    with pytest.raises(LikewiseError, match=r"max_certified_max is 5, but gaps between probabilities"):
        seen.judge(Policy(max_certified_max=5))


def test_a_bound_that_nothing_reaches_decides_only_what_is_beyond_it() -> None:
    forest = fit(RandomForestClassifier(20, max_depth=5, random_state=0), OrdinalEncoder())
    frame, y = people(80, 1)
    found = audit(forest, frame, y, roles=ROLES, rule=RULE, n_resamples=0)
    seen = certify_audit(found, forest, max_splits=1, n_jobs=1).audit
    worst = seen["certified_max"]
    assert worst.low is not None
    assert worst.high is not None
    assert worst.low < worst.high
    assert seen.judge(Policy(max_certified_max=worst.high)).outcome == "pass"
    assert seen.judge(Policy(max_certified_max=worst.low - 1e-3)).outcome == "fail"
    verdict = seen.judge(Policy(max_certified_max=(worst.low + worst.high) / 2))
    assert verdict.outcome == "inconclusive"
    assert "Allow more splits" in str(verdict)
    assert "would decide it" not in str(verdict)
    assert "bound" in to_markdown(seen.to_dict())


def test_plausibility_is_in_the_record(found: Audit, model: Any) -> None:
    frame, y = people(300, 0)
    generator = GibbsGenerator(ROLES, RULE, n_iterations=20, width=8, random_state=0).fit(frame, y)
    every = certify_audit(found, model, generator=generator).summary
    some = certify_audit(found, model, generator=generator, min_plausibility=0.5).audit
    assert every.plausibility is not None
    assert some.record.certificates is not None
    ranks = some.record.certificates.plausibility
    assert ranks is not None
    assert ranks.generator == every.plausibility.generator
    assert ranks.least == 0.5
    assert all((one.plausibility or 0) >= 0.5 for one in some.record.certificates.people)
    assert "Plausibility is the share of the people" in to_html(some.to_dict())


def test_collapsed_scores_pass_no_limit() -> None:
    frame, y = people(150, 1)
    flat = fit(LogisticRegression(C=1e-9))
    with pytest.warns(match="alike|collapsed"):
        found = audit(flat, frame, y, roles=ROLES, rule=RULE, n_resamples=50)
    seen = certify_audit(found, flat).audit
    assert seen.judge(Policy(max_certified_max=0.5)).outcome == "inconclusive"


def test_what_cannot_be_certified_is_refused_in_a_line(found: Audit, model: Any) -> None:
    frame, y = people(150, 1)

    def refuses(words: str, *given: Any) -> None:
        with pytest.raises(LikewiseError, match=words) as error:
            certify_audit(*given)
        assert "\n" not in str(error.value)

    refuses("give what likewise.audit returns", frame, model)
    refuses("Give the model that was audited", found, fit(LogisticRegression(C=1e-3)))
    refuses("cannot be looked into", found, lambda people: np.zeros(len(people)))
    weights = np.linspace(1, 2, len(frame))
    weighted = audit(model, frame, y, roles=ROLES, rule=RULE, n_resamples=0, sample_weight=weights)
    refuses("Certify an audit without sample_weight", weighted, model)
    groups = audit(np.eye(3)[y], frame, y + (frame["job"] == "cook"), roles=ROLES, rule=RULE, n_resamples=0)
    refuses("one score per person", groups, model)
