"""Pairs tallied in compiled code: what the meter measures of every pair and the summary adds up, from any threads."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.sizes import sized

from likewise import CodedTable, Comparability, audit, load_dataset, mine_pairs
from likewise.auditing import Scores
from likewise.auditing._internal import AuditSettings, PairSummary, ScoredPeople
from likewise.auditing.pairs import _gather, _tally
from likewise.auditing.pairs._gather import can_tally, tally_pairs
from likewise.auditing.pairs._tally import PairTally
from likewise.comparable._internal import Bunch
from likewise.comparable.engines import _asking, _exhaustive

EXACT = (
    *("n", "weight", "n_flips", "n_above", "most", "gap_buckets", "rank_gap_buckets", "gap_bins"),
    *("n_pairs_of", "weight_of", "worst_gap_of", "partner_of"),
)
RULE = Comparability(max_continuous_shift=0.2, max_discrete_changes=1)


@pytest.fixture(autouse=True)
def _compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search by the compiled kernels, however small the table."""
    monkeypatch.setattr(_exhaustive, "MOST_COMPARISONS", -1)


def make_people(seed: int, n_rows: int = 300) -> tuple[CodedTable, Scores]:
    """Draw people of whom some are alike, and scores that repeat; in regression of another unit, low ones favoured."""
    random = np.random.default_rng(seed)
    n_values = 2 if seed % 3 == 2 else 50  # every third table has many equal rows
    table = CodedTable(
        sensitive=random.integers(0, 3, (n_rows, 2)),
        discrete=random.integers(0, 2, (n_rows, 3)),
        continuous=random.integers(0, n_values, (n_rows, 2)) / n_values,
        labels=random.integers(0, 2, n_rows),
    )
    values = np.round(random.random(n_rows), 1 + seed % 4)
    if seed % 2:
        return table, Scores(37.5 * values, "regression", scale=7.25, favours_low=True)
    return table, Scores(values, "binary", (values >= 0.5).astype(np.int64), threshold=0.5, positive=1)


def settings_of(seed: int) -> AuditSettings:
    return AuditSettings(max_pairs=50, seed=seed, gap_limit=0.1)


def sum_up(table: CodedTable, scores: Scores, rule: Comparability, seed: int) -> PairSummary:
    """Measure the list of all pairs by the meter."""
    pairs, people = mine_pairs(table, rule), ScoredPeople.of(table, scores)
    summary = PairSummary(people.shape(settings_of(seed)))
    summary.add(people.measure(pairs.left, pairs.right))
    return summary


def tally(table: CodedTable, scores: Scores, rule: Comparability, seed: int, **how: Any) -> PairSummary:
    people = ScoredPeople.of(table, scores)
    found = tally_pairs(table, rule, people, people.shape(settings_of(seed)), lambda share: None, **how)
    found.sums.kept.add(found.pairs.left, found.pairs.right)  # the sample, which was taken out
    return found.sums


def assert_equal(one: PairSummary, other: PairSummary, rel: float = 0.0) -> None:
    for name in EXACT:
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    columns, same = one.kept.to_columns(), other.kept.to_columns()
    assert all(np.array_equal(columns[name], same[name]) for name in columns)
    assert np.array_equal(one.transitions.keys, other.transitions.keys)
    assert np.array_equal(one.transitions.counts, other.transitions.counts)
    for sums, same_sums in ((one.totals, other.totals), (one.transitions.sums, other.transitions.sums)):
        assert sums == pytest.approx(same_sums, rel=rel, abs=1e3 * rel)


@pytest.mark.parametrize("seed", range(sized(6, 60)))
def test_a_tally_is_what_the_meter_measures_of_every_pair(seed: int) -> None:
    table, scores = make_people(seed)
    rule = replace(RULE, sensitive_differs=("any", "all", "none")[seed // 2 % 3])
    assert_equal(tally(table, scores, rule, seed), sum_up(table, scores, rule, seed), rel=1e-14)


@pytest.mark.long(3)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_number_of_threads_and_no_cut_into_batches_changes_a_digit(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, scores = make_people(seed)
    expected = tally(table, scores, RULE, seed)
    for n_cores, n_queries in ((1, 7), (3, 1), (5, 64)):
        monkeypatch.setattr(_asking, "n_cores", lambda n=n_cores: n)
        monkeypatch.setattr(_asking, "PART", n_queries)
        assert_equal(tally(table, scores, RULE, seed), expected)


def test_wide_stretches_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    table, scores = make_people(0)
    expected = tally(table, scores, RULE, 0)
    monkeypatch.setattr(_asking, "n_cores", lambda: 4)
    monkeypatch.setattr(_asking, "PART", 8)
    names = "MOST_WIDE", "AT_ONCE", "MOST_ROOM"
    for most in ((1, 1, 0), (100, 7, 5), (300, 1 << 16, 1 << 18)):
        for name, value in zip(names, most, strict=True):
            monkeypatch.setattr(_tally, name, value)
        assert_equal(tally(table, scores, RULE, 0), expected)


def test_sums_are_right_to_the_last_digit() -> None:
    table, scores = make_people(0)
    scores = replace(scores, values=np.random.default_rng(0).random(len(table)))
    pairs, found = mine_pairs(table, RULE), tally(table, scores, RULE, 0)
    gaps = np.abs(scores.values[pairs.right] - scores.values[pairs.left])
    for label in (0, 1):
        exact = sum(map(Fraction, gaps[table.labels[pairs.left] == label].tolist()))
        assert math.isclose(found.totals[0, label], exact, rel_tol=2**-52)


def test_a_trillion_pairs_do_not_run_over() -> None:
    table, scores = make_people(1)
    pairs, people = mine_pairs(table, RULE), ScoredPeople.of(table, scores)
    starts = np.flatnonzero(np.diff(pairs.left, prepend=-1))
    bunch = Bunch(pairs.left[starts], np.diff(starts, append=len(pairs)), pairs.right, pairs.left[:0])
    tallies = [PairTally(people, people.shape(settings_of(1))) for _ in range(2)]
    for one in tallies:
        one.start(None)(bunch)
    (sums,) = tallies[1]._all
    n_doublings = math.ceil(math.log2(1e12 / len(pairs)))
    for _ in range(n_doublings):  # as if the same pairs had come again
        sums.by_label *= 2
        sums.transitions *= 2
        sums.carry()
    once, often = (one.finish() for one in tallies)
    assert np.array_equal(often.totals, once.totals * 2**n_doublings)
    assert np.array_equal(often.transitions.sums, once.transitions.sums * 2**n_doublings)


def test_an_audit_of_tallied_pairs_is_that_of_listed_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    data = load_dataset("planted")
    how: dict[str, Any] = {"roles": data.roles.learn(data.train.X), "rule": data.rule, "n_resamples": 0}
    listed = audit(data.scores, data.test.X, data.test.y, **how)
    monkeypatch.setattr(_gather, "LARGE", 0)
    tallied = audit(data.scores, data.test.X, data.test.y, **how)
    assert tallied.worst == listed.worst
    for name, measure in listed.measures.items():
        assert tallied[name].value == pytest.approx(measure.value, rel=1e-12)
    people = ScoredPeople.of(*make_people(0))
    assert can_tally(people)
    weighted = replace(people, weights=np.ones(len(people.labels)))
    assert not can_tally(weighted)
