"""Before and after: what changed, and whether gaps fell because scores were squeezed together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from likewise import Audit, Comparability, Roles, audit, compare_audits
from likewise.auditing import Change, Comparison, Measure
from likewise.datasets import PlantedDataset
from likewise.exceptions import ScoreError
from likewise.report import to_html


@pytest.fixture(scope="module")
def fairer(planted: PlantedDataset, how: dict[str, Any]) -> Audit:
    return audit(planted.scores(planted.test.X, gap=0.02), **how)


def test_a_real_improvement_is_told_without_a_warning(found: Audit, fairer: Audit) -> None:
    comparison = compare_audits(found, fairer)
    change = comparison["gap_mean"]
    assert change.difference.value == pytest.approx(fairer["gap_mean"].value - found["gap_mean"].value)  # type: ignore[operator]  # both are known
    assert change.difference.low is not None
    assert change.difference.high is not None
    assert change.difference.low < change.difference.value < change.difference.high < 0  # type: ignore[operator]
    assert comparison.notes == ()


def test_squeezed_scores_are_called_so(planted: PlantedDataset, how: dict[str, Any], found: Audit) -> None:
    squeezed = audit(0.4 + 0.2 * planted.scores(planted.test.X), **how)
    comparison = compare_audits(found, squeezed)
    assert comparison["gap_mean"].difference.value < 0  # type: ignore[operator]  # it is known
    assert comparison["rank_gap_mean"].difference.value == pytest.approx(0, abs=1e-3)
    assert comparison.notes[0].kind == "squeezed"
    assert "squeezed together" in comparison.notes[0].text
    assert "in ranks, they are as before" in comparison.notes[0].text


def test_a_model_made_constant_is_called_squeezed(planted: PlantedDataset, how: dict[str, Any], found: Audit) -> None:
    with pytest.warns(match="collapsed"):
        constant = audit(np.full(len(planted.test), 0.5), **how)
    note = compare_audits(found, constant).notes[0].text
    assert "fell by 100%" in note
    assert "no spread left" in note


def test_the_paired_difference_is_known_better_than_the_two_means(
    planted: PlantedDataset, how: dict[str, Any], found: Audit
) -> None:
    lower = audit(np.clip(planted.scores(planted.test.X) * 0.999, 0, 1), **how)
    difference = compare_audits(found, lower)["gap_mean"].difference
    assert difference.high - difference.low < 0.1 * (found["gap_mean"].high - found["gap_mean"].low)  # type: ignore[operator]  # all are known


def test_audits_of_other_people_or_rules_are_not_compared(
    planted: PlantedDataset, how: dict[str, Any], found: Audit
) -> None:
    some = {**how, "X": planted.test.X[:300], "y": planted.test.y[:300]}
    with pytest.raises(ScoreError, match="different people"):
        compare_audits(found, audit(planted.scores, **some))
    with pytest.raises(ScoreError, match="differ in their rule"):
        compare_audits(found, audit(planted.scores, **{**how, "rule": Comparability(max_discrete_changes=2)}))


@pytest.mark.parametrize(
    ("which", "options"), [("positive", {"positive": 0}), ("gap limit", {"gap_limit": 0.3})], ids=["positive", "limit"]
)
def test_numbers_of_other_things_are_not_compared(
    which: str, options: dict[str, Any], planted: PlantedDataset, how: dict[str, Any], found: Audit
) -> None:
    with pytest.raises(ScoreError, match=f"differ in their {which}"):
        compare_audits(found, audit(planted.scores, **how, **options))


def test_predicted_amounts_are_compared_in_one_unit_with_decisions_or_without(
    planted: PlantedDataset, how: dict[str, Any]
) -> None:
    income = planted.test.X["income"]
    amounts = {**how, "scores": income * (0.5 + planted.scores(planted.test.X)), "y": income, "task": "regression"}
    one, decided, scaled = (audit(**amounts, **more) for more in ({}, {"threshold": income.median()}, {"scale": 9}))
    for before, after in ((one, decided), (decided, one)):
        comparison = compare_audits(before, after)
        assert comparison["gap_mean"].difference.high == 0
        assert comparison["flip_rate"].difference.value is None
    with pytest.raises(ScoreError, match="differ in their scale"):
        compare_audits(one, scaled)


def test_what_scores_are_worth_changes_within_an_interval_of_the_same_people(found: Audit, fairer: Audit) -> None:
    comparison = compare_audits(found, fairer)
    for name in ("roc_auc", "average_precision", "accuracy", "f1", "log_loss", "brier", "score_spread"):
        before, difference = comparison[name].before, comparison[name].difference
        assert difference.low <= difference.value <= difference.high  # type: ignore[operator]  # all are known
        assert difference.high - difference.low < 0.8 * (before.high - before.low)  # type: ignore[operator]
    assert comparison["score_spread"].difference.low > 0  # type: ignore[operator]  # the planted gap blurs the scores
    assert comparison["calibration_error"].difference.low is None
    same = compare_audits(found, found)["log_loss"].difference
    assert (same.low, same.value, same.high) == (0, 0, 0)


def test_a_perfect_score_leaves_the_difference_uncertain(planted: PlantedDataset, how: dict[str, Any]) -> None:
    perfect, better = (audit(np.where(planted.test.y == 1, score, 0.1), **how) for score in (0.8, 0.9))
    difference = compare_audits(perfect, better)["roc_auc"].difference
    assert difference.value == 0
    assert difference.low < 0 < difference.high  # type: ignore[operator]  # both are known


def test_without_replicates_no_difference_has_an_interval(planted: PlantedDataset, how: dict[str, Any]) -> None:
    quick = audit(planted.scores, **{**how, "n_resamples": 0})
    assert all(change.difference.low is None for change in compare_audits(quick, quick).changes.values())


def test_a_comparison_fits_the_page_and_says_what_it_rests_on(found: Audit, fairer: Audit) -> None:
    lines = str(compare_audits(found, fairer)).splitlines()
    assert lines[0] == f"{len(found.pairs)} pairs of 500 people"
    assert max(map(len, lines)) <= 100


def test_a_comparison_states_its_conclusions(found: Audit, fairer: Audit) -> None:
    better, worse, same = (compare_audits(*both) for both in ((found, fairer), (fairer, found), (found, found)))
    change = better["excess"].difference
    ends = f"{-100 * change.high:.2f} to {-100 * change.low:.2f}"  # type: ignore[operator]  # both are known
    size = f"{-100 * change.value:.2f} pp ({ends})"  # type: ignore[operator]
    assert str(better.conclusions[0]) == f"Better: the excess fell by {size}."
    assert str(worse.conclusions[0]) == f"Worse: the excess rose by {size}."
    assert {one.outcome for one in same.conclusions} == {"unclear"}
    assert str(same.conclusions[0]) == "No clear change: the excess is the same."
    assert [str(one) for one in worse.conclusions] == str(worse).splitlines()[1 : 1 + len(worse.conclusions)]
    page = found.to_html(before=fairer)
    assert f"Worse: the excess rose by {size}." in page


@pytest.mark.parametrize(
    ("name", "difference", "said"),
    [
        ("roc_auc", Measure(-0.03, -0.05, -0.01), "Worse: ROC AUC fell by 0.030 (0.010 to 0.050)."),
        ("roc_auc", Measure(0.03, 0.01, 0.05), "Better: ROC AUC rose by 0.030 (0.010 to 0.050)."),
        ("gap_mean", Measure(-0.01, -0.03, 0.01), "No clear change: the mean gap fell by 1.00 pp (-1.00 to 3.00)."),
        ("gap_mean", Measure(0.062), "No clear change: the mean gap rose by 6.20 pp, without an interval"),
        ("flip_rate", Measure(0.05, 0.02, 0.08), "Worse: the share with different decisions rose by 5.00 pp"),
    ],
)
def test_a_conclusion_goes_by_the_interval(name: str, difference: Measure, said: str) -> None:
    for n in (30, 29):
        comparison = Comparison({name: Change(Measure(0.5, n=99), Measure(0.5, n=n), difference)}, ())
        told = str(comparison.conclusions[0])
        if n == 30 or name == "roc_auc" or difference.low is None:
            assert told.startswith(said)
        else:
            assert told.startswith("No clear change")


def test_too_few_pairs_are_told_of_in_a_comparison(planted: PlantedDataset, how: dict[str, Any]) -> None:
    few = {**how, "X": planted.test.X[:60], "y": planted.test.y[:60]}
    one, other = (audit(planted.scores(few["X"], gap=gap), **few) for gap in (0.1, 0.02))
    found = compare_audits(one, other)
    assert [note for note in one.notes if note.kind == "few_pairs"] == list(found.notes)
    assert len(found.notes) == 2
    page = to_html(other.record, before=one.record, comparison=found)
    for text in (page, str(found)):
        assert "too few to conclude anything" in text
        assert "Better: the mean gap" not in text
        assert "Worse: the mean gap" not in text
    table = page.partition("Measures before and after")[2].partition("</table>")[0]
    assert ("<strong>" in table) == ("Bold: the interval excludes zero" in page)


def test_other_thresholds_are_told_unless_both_approve_the_same_share(
    planted: PlantedDataset, how: dict[str, Any], found: Audit
) -> None:
    stricter = audit(planted.scores, **how, threshold=0.7)
    assert [note.kind for note in compare_audits(found, stricter).notes] == ["unlike"]
    by_rate = [audit(planted.scores(planted.test.X) * factor, **how, approval_rate=0.3) for factor in (1.0, 0.99)]
    assert compare_audits(*by_rate).notes == ()


def test_what_is_no_audit_is_not_compared(found: Audit) -> None:
    with pytest.raises(ScoreError, match="after is a NoneType"):
        compare_audits(found, None)  # type: ignore[arg-type]


def test_models_that_flip_no_decision_may_still_differ(planted: PlantedDataset, how: dict[str, Any]) -> None:
    one, other = (audit(0.6 + factor * planted.scores(planted.test.X), **how) for factor in (0.3, 0.2))
    difference = compare_audits(one, other)["flip_rate"].difference
    assert difference.value == 0
    assert difference.low < -0.01  # type: ignore[operator]  # both are known
    assert difference.high > 0.01  # type: ignore[operator]


def test_the_excess_stands_below_each_mean_gap() -> None:
    group = np.tile([0, 1], 50)
    people = pd.DataFrame({"group": group, "repaid": np.repeat([0, 1], 50)})
    noise = np.random.default_rng(0).random(100) / 4
    one, other = (
        audit(noise + gap * group, people, roles=Roles(sensitive="group", label="repaid"), n_resamples=0)
        for gap in (0.5, 0.2)
    )
    shown = str(compare_audits(one, other)).splitlines()
    first = next(place for place, line in enumerate(shown) if line.startswith("gap_mean"))
    lines = [line.split()[0] for line in shown[first - 3 : first + 3]]
    assert lines == [f"{name}{label}" for name in ("excess", "gap_mean") for label in ("", "[0]", "[1]")]
    assert ["found", "baseline", "excess"] in [line.split() for line in str(one).splitlines()]


def test_nothing_is_called_worse_where_there_are_too_few_pairs_to_conclude() -> None:
    few, risen = Measure(0.1, 0.05, 0.15, n=12), Measure(0.3, 0.2, 0.4, n=12)
    for n in (12, 60):  # people with partners of both kinds
        change = Change(Measure(0.1, n=n), Measure(0.4, n=n), Measure(0.3, 0.2, 0.4, n=n))
        comparison = Comparison({"excess": change, "gap_mean": Change(few, risen, risen)}, ())
        told = [str(one) for one in comparison.conclusions]
        assert len(told) == 2
        assert all(one.startswith("No clear change: ") and "only 12 pairs, too few" in one for one in told)
