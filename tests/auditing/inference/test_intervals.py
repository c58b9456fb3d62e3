"""Intervals: a simulation says whether they cover the truth; the rest is what a bootstrap over people promises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sizes import sized

from likewise import CodedTable, Comparability, load_dataset, mine_pairs
from likewise.auditing import Measure, Scores, score_gaps
from likewise.auditing._internal import AuditSettings
from likewise.auditing.inference import _bootstrap
from likewise.auditing.inference._bootstrap import LANES, add_lanes, draw_weights, resample_pairs, trace_lanes
from likewise.auditing.inference._intervals import (
    count_apart,
    interval_of,
    interval_of_share,
    quantile_interval,
    shared_variance,
    widen,
)
from likewise.auditing.inference._pair_measures import measure_excess, measure_pairs
from likewise.auditing.pairs import _kernels
from likewise.auditing.pairs._meter import score_pairs
from likewise.auditing.people._sums import curve, group_sums

SETTINGS = AuditSettings(n_resamples=100)
TRUTH = ("gap_mean", "gap_median", "gap_q3", "gap_share_above", "flip_rate", "rank_gap_mean")


def measure_all(table: CodedTable, scores: np.ndarray[Any, Any], *, seed: int = 0, n: int = 200) -> dict[str, Measure]:
    model = Scores(scores, "binary", (scores >= 0.5).astype(np.int64), 0.5)
    scored = score_pairs(mine_pairs(table, Comparability()), model)
    settings = AuditSettings(n_resamples=n, seed=seed)
    return measure_pairs(scored, None, model.spread, np.empty(0), settings)[None].measures


def draw_people(random: np.random.Generator, n_people: int, n_cases: int) -> tuple[CodedTable, Any]:
    """Draw people of two groups; those of one case are comparable, and share partners if cases are few."""
    case, group = random.integers(n_cases, size=n_people), random.integers(2, size=n_people)
    merit = np.sin(case) + random.normal(0, 0.6, n_people) - 0.5 * group
    table = CodedTable(sensitive=group[:, None], matched=case[:, None])
    return table, 1 / (1 + np.exp(-merit))


@pytest.mark.parametrize(("n_people", "n_cases"), [(400, 400), (200, 20), (100, 4)])
def test_intervals_cover_the_truth_whether_pairs_share_few_people_or_many(n_people: int, n_cases: int) -> None:
    random = np.random.default_rng(n_people)
    truths = [measure_all(*draw_people(random, 6_000, n_cases), n=0) for _ in range(sized(1, 3))]
    truth = {name: np.mean([one[name].value for one in truths]) for name in TRUTH}
    hits = dict.fromkeys(TRUTH, 0)
    n_runs = sized(50, 250)
    for run in range(n_runs):
        found = measure_all(*draw_people(random, n_people, n_cases), seed=run)
        for name in TRUTH:
            low, high = found[name].low, found[name].high
            assert low is not None
            assert high is not None
            hits[name] += bool(low <= truth[name] <= high)
    # nominal 0.95; a run of 250 strays by 0.014 (one standard error)
    assert {
        name: n / n_runs for name, n in hits.items() if not sized(0.8, 0.9) <= n / n_runs <= sized(1.0, 0.995)
    } == {}


def test_rank_gaps_of_few_different_scores_are_covered_though_they_repeat() -> None:
    # a gap between two ranks is a share of people: with few scores, all that is uncertain about it
    names = ("rank_gap_median", "rank_gap_q3", "rank_gap_q95")
    random = np.random.default_rng(5)

    def draw(n: int) -> tuple[CodedTable, Any]:
        table, scores = draw_people(random, n, 20)
        return table, np.round(4 * scores) / 4

    truths = [measure_all(*draw(6_000), n=0) for _ in range(3)]
    truth = {name: float(np.mean([one[name].value for one in truths])) for name in names}
    hits = dict.fromkeys(names, 0)
    n_runs = sized(40, 150)
    for run in range(n_runs):
        found = measure_all(*draw(250), seed=run, n=40)
        for name in names:
            hits[name] += bool(found[name].low <= truth[name] <= found[name].high)  # type: ignore[operator]  # both are known
    assert {name: n / n_runs for name, n in hits.items() if n / n_runs < sized(0.8, 0.9)} == {}


def test_an_excess_of_flips_is_not_certain_because_few_pairs_have_none() -> None:
    table = CodedTable(sensitive=[[0], [1]] * 20, matched=np.repeat(np.arange(10), 4)[:, None])
    scores = Scores(np.full(40, 0.25), "binary", np.zeros(40, np.int64), 0.5)
    between, within = (
        measure_pairs(score_pairs(mine_pairs(table, rule), scores), None, 0.1, np.empty(0), SETTINGS)[None]
        for rule in (Comparability(), Comparability(sensitive_differs="none"))
    )
    excess = measure_excess(between, within, SETTINGS.confidence)["excess_flip_rate"]
    assert excess.value == 0
    assert excess.low == pytest.approx(-within.measures["flip_rate"].high)  # type: ignore[operator]  # it is known
    assert excess.high == pytest.approx(between.measures["flip_rate"].high)


@given(st.floats(0, 1), st.lists(st.floats(-1, 1), min_size=1, max_size=9), st.floats(0.5, 0.99))
def test_an_interval_has_the_value_in_it_and_keeps_to_what_is_possible(
    value: float, deviations: list[float], confidence: float
) -> None:
    interval = interval_of(value, np.array(deviations), confidence, 0.0, 1.0)
    assert interval is not None
    assert 0 <= interval[0] <= value <= interval[1] <= 1


def test_intervals_cover_the_truth_on_planted_data() -> None:
    large = load_dataset("planted", n_rows=sized(50_000, 200_000), frame="pyarrow")
    truth = float(score_gaps(large.train.pairs, large.scores(large.train.X)).mean())
    n_runs, hits = sized(40, 120), 0
    for seed in range(n_runs):
        data = load_dataset("planted", n_rows=400, split_seed=seed, frame="pyarrow")
        table = data.roles.learn(data.train.X).encode(data.train.X, data.train.y)
        model = Scores(data.scores(data.train.X), "binary")
        scored = score_pairs(mine_pairs(table, data.rule), model)
        chosen = AuditSettings(n_resamples=200, seed=seed)
        mean = measure_pairs(scored, None, model.spread, np.empty(0), chosen)[None].measures["gap_mean"]
        hits += float(mean.low or 0) <= truth <= float(mean.high or 0)
    assert sized(0.8, 0.88) <= hits / n_runs <= sized(1.0, 0.995)


def test_naive_intervals_that_take_pairs_for_independent_would_not_cover() -> None:
    # what the bootstrap over people is for: with shared partners the naive interval is far too narrow
    table, scores = draw_people(np.random.default_rng(1), 300, 4)
    mean = measure_all(table, scores)["gap_mean"]
    gaps = score_pairs(mine_pairs(table, Comparability()), Scores(scores, "binary")).gaps
    naive = 2 * 1.96 * gaps.std() / np.sqrt(len(gaps))
    assert mean.low is not None
    assert mean.high is not None
    assert mean.high - mean.low > 3 * naive


def test_where_nobody_is_shared_the_variance_is_that_of_independent_pairs() -> None:
    residuals = np.random.default_rng(0).normal(size=50)
    left, right = np.arange(0, 100, 2), np.arange(1, 100, 2)
    variance, kept = shared_variance(left, right, residuals, 100)
    assert variance == pytest.approx(residuals @ residuals)
    assert kept == pytest.approx(3**-0.5)  # a product of two Poisson numbers of mean 1 has variance 3


def test_weights_are_poisson_and_depend_on_seed_replicate_and_person_alone() -> None:
    weights = draw_weights(40_000, first=0, seed=7)
    assert weights.mean() == pytest.approx(1, abs=0.01)
    assert weights.var() == pytest.approx(1, abs=0.02)
    correlations = np.asarray(np.corrcoef(weights.T))
    assert abs(correlations[~np.eye(LANES, dtype=bool)]).max() < 0.03
    assert (draw_weights(100, first=0, seed=7) == weights[:100]).all()
    assert (draw_weights(100, first=LANES, seed=7) != weights[:100]).any()
    assert (draw_weights(100, first=0, seed=8) != weights[:100]).any()
    for shift in (1, 2, 5):  # seeds next to each other, or replicates, are no shifted copies
        moved = draw_weights(40_000, first=0, seed=8)[:-shift, 0]
        assert abs(np.asarray(np.corrcoef(weights[shift:, 0], moved))[0, 1]) < 0.03


@settings(max_examples=25)
@given(st.integers(1, 40), st.integers(0, 10_000), st.integers(1, 3))
def test_resampling_counts_a_pair_as_often_as_its_two_people_allow(n_resamples: int, seed: int, n_groups: int) -> None:
    random = np.random.default_rng(seed)
    left, right = random.integers(9, size=(2, 30))
    groups, values = random.integers(n_groups, size=30), random.random((30, 2))
    totals, sums = resample_pairs(
        left, right, groups, values, n_people=9, n_groups=n_groups, n_resamples=n_resamples, seed=seed
    )
    for replicate in range(n_resamples):
        first = replicate // LANES * LANES
        times = draw_weights(9, first=first, seed=seed)[:, replicate - first].astype(int)
        for group in range(n_groups):
            weight = (times[left] * times[right])[groups == group]
            assert totals[replicate, group] == weight.sum()
            assert sums[replicate, group] == pytest.approx(weight @ values[groups == group])


@given(st.floats(0, 1), st.floats(1, 1e6), st.floats(0.5, 0.999))
def test_the_interval_of_a_share_has_it_inside_and_stays_a_share(share: float, n: float, confidence: float) -> None:
    low, high = interval_of_share(share, n, confidence)
    assert 0 <= low <= share + 1e-12
    assert share - 1e-12 <= high <= 1


def test_pairs_are_counted_by_how_many_people_stand_behind_them() -> None:
    assert count_apart(np.arange(0, 20, 2), np.arange(1, 20, 2), 20) == 10  # nobody twice
    assert count_apart(np.zeros(99, int), np.arange(1, 100), 100) == pytest.approx(2, abs=0.03)  # one person in all
    assert count_apart(np.empty(0, int), np.empty(0, int), 5) == 0


def test_nothing_seen_in_few_pairs_leaves_much_possible() -> None:
    assert interval_of_share(0.0, 30, 0.95)[1] > 0.1
    assert interval_of_share(0.0, 10_000, 0.95)[1] < 0.001
    assert widen(5, 0.95) > widen(50, 0.95) > widen(5_000, 0.95) > 1


def test_a_high_quantile_of_few_pairs_has_no_upper_end_but_the_largest_gap_possible() -> None:
    values = np.linspace(0.1, 0.2, 20)
    left, right = np.arange(0, 40, 2), np.arange(1, 40, 2)
    how: dict[str, Any] = {"n_people": 40, "n_apart": 20.0, "confidence": 0.95, "most": 1.0}
    assert quantile_interval(left, right, values, values, 0.95, **how)[1] == 1.0
    assert quantile_interval(left, right, values, values, 0.5, **how)[1] < 0.2


def test_of_one_pair_no_quantile_is_known() -> None:
    how: dict[str, Any] = {"n_people": 2, "n_apart": 1.0, "confidence": 0.95, "most": 1.0}
    one = np.array([0.7])
    assert quantile_interval(np.array([0]), np.array([1]), one, one, 0.5, **how) == (0.0, 1.0)


def test_equal_gaps_have_equal_quantiles() -> None:
    values = np.full(200, 0.25)
    left, right = np.arange(0, 400, 2), np.arange(1, 400, 2)
    how: dict[str, Any] = {"n_people": 400, "n_apart": 200.0, "confidence": 0.95, "most": 1.0}
    assert quantile_interval(left, right, values, values, 0.5, **how) == (0.25, 0.25)


def test_small_problems_are_resampled_in_numpy_to_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    def resample(seed: int) -> list[bytes]:
        random = np.random.default_rng(seed)
        n_people, n_pairs, n_groups = (int(random.integers(low, high)) for low, high in ((1, 60), (0, 200), (1, 4)))
        left, right = random.integers(n_people, size=(2, n_pairs))
        groups, values = random.integers(n_groups, size=n_pairs), random.normal(size=(n_pairs, seed % 3))
        weights = draw_weights(n_people, first=seed * LANES, seed=seed << 40)
        found = resample_pairs(
            left, right, groups, values, n_people=n_people, n_groups=n_groups, n_resamples=70, seed=seed
        )
        amounts = group_sums([random.normal(size=n_people)], random.integers(n_groups, size=n_people), n_groups)
        ranked = curve(random.random(n_people) < 0.4, random.integers(7, size=n_people) / 7)
        arrays = (weights, *found, add_lanes(amounts, weights), trace_lanes(ranked, weights))
        return [np.ascontiguousarray(array).tobytes() for array in arrays]

    in_numpy = [resample(seed) for seed in range(30)]
    monkeypatch.setattr(_bootstrap, "MOST_INTERPRETED", -1)
    assert [resample(seed) for seed in range(30)] == in_numpy


def test_few_pairs_are_matched_apart_in_python_as_many_are(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    left, right = random.integers(40, size=(2, 100))
    few = _kernels.match_apart(left, right, 40)
    monkeypatch.setattr(_kernels, "MOST_INTERPRETED", -1)
    assert (_kernels.match_apart(left, right, 40) == few).all()
