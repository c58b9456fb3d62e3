"""Intervals: a simulation says whether they cover the truth; the rest is what a bootstrap over people promises."""

from __future__ import annotations

from functools import partial
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sizes import sized

from likewise import CodedTable, Comparability, _threads, audit, load_dataset, mine_pairs
from likewise.auditing import Measure, Scores
from likewise.auditing._internal import AuditSettings, Units, Weights
from likewise.auditing.inference._intervals import (
    Influence,
    PairGraph,
    bound_change,
    bound_share,
    interval_of_mean,
    interval_of_share,
)
from likewise.auditing.inference._pair_measures import measure_pairs
from likewise.auditing.inference._quantile_intervals import quantile_intervals
from likewise.auditing.inference._rank_intervals import contribute_to_ranks
from likewise.auditing.pairs._gaps import quantile_of_sorted, rank_scores
from likewise.auditing.pairs._meter import ScoredPairs

TRUTH = ("gap_mean", "gap_median", "gap_q3", "gap_share_above", "flip_rate", "rank_gap_mean")


def measure_all(table: CodedTable, scores: np.ndarray[Any, Any], *, seed: int = 0, n: int = 200) -> dict[str, Measure]:
    model = Scores(scores, "binary", (scores >= 0.5).astype(np.int64), 0.5)
    scored = ScoredPairs(mine_pairs(table, Comparability()), model)
    settings = AuditSettings(n_resamples=n, seed=seed)
    return measure_pairs(scored, None, settings)[None]


def bound_quantile(graph: PairGraph, values: Any, share: float) -> Any:
    def around(low: float, high: float) -> tuple[float, float]:
        return quantile_of_sorted(ordered, low), quantile_of_sorted(ordered, high)

    ordered = np.sort(values)
    find = partial(quantile_of_sorted, ordered)
    return quantile_intervals(graph, values, find, [share], confidence=0.95, most=1.0, around=around)[0]


def draw_people(random: np.random.Generator, n_people: int, n_cases: int) -> tuple[CodedTable, Any]:
    """Draw people of two groups; those of one case are comparable, and share partners if cases are few."""
    case, group = random.integers(n_cases, size=n_people), random.integers(2, size=n_people)
    merit = np.sin(case) + random.normal(0, 0.6, n_people) - 0.5 * group
    table = CodedTable(sensitive=group[:, None], matched=case[:, None])
    return table, 1 / (1 + np.exp(-merit))


@pytest.mark.long(4)
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


@pytest.mark.long(6)
@pytest.mark.parametrize(
    ("n_few", "n_people", "merit"),
    [(11, 100, 0.0), (12, 100, 1.2), (20, 100, 0.0), (18, 300, 0.8)],
    ids=["11 of 100", "12 of 100, most approved", "20 of 100", "18 of 300"],
)
def test_few_people_of_one_group_do_not_pass_by_chance(n_few: int, n_people: int, merit: float) -> None:
    # hundreds of pairs, but few people: the simulation in benchmarks has more populations and all measures
    names = (*TRUTH, "gap_q95")
    random = np.random.default_rng(n_few)

    def draw(few: int, many: int) -> tuple[CodedTable, Any]:
        group = np.repeat([1, 0], [few, many])
        scores = 1 / (1 + np.exp(-(merit + random.normal(size=few + many) - 0.5 * group)))
        return CodedTable(sensitive=group[:, None], discrete=np.zeros((few + many, 1), int)), scores

    large = measure_all(*draw(20 * n_few, 20 * (n_people - n_few)), n=0)
    truth = {name: float(large[name].value or 0) for name in names}
    n_runs = sized(40, 400)
    missed, passed = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    for _ in range(n_runs):
        found = measure_all(*draw(n_few, n_people - n_few))
        for name in names:
            low, high = float(found[name].low or 0), float(found[name].high or 0)
            missed[name] += not low <= truth[name] <= high
            passed[name] += high < truth[name]
    # the truth is that of a larger draw: it strays by a fifth of a standard error
    assert {name: n / n_runs for name, n in missed.items() if n / n_runs > sized(0.15, 0.08)} == {}
    assert {name: n / n_runs for name, n in passed.items() if n / n_runs > sized(0.125, 0.045)} == {}


@given(st.floats(0, 1), st.lists(st.floats(-1, 1), min_size=1, max_size=9), st.floats(10, 1e4), st.floats(0.5, 0.99))
def test_an_interval_has_the_value_in_it_and_keeps_to_what_is_possible(
    value: float, moves: list[float], n: float, confidence: float
) -> None:
    found = Influence(np.array(moves), n)
    for bounds in (
        interval_of_mean(value, found, confidence, 0.0, 1.0),
        interval_of_mean(value, found, confidence, -1.0, 1.0),
        bound_share(value, found, confidence),
    ):
        assert bounds is not None
        assert -1 <= bounds[0] <= value + 1e-12
        assert value - 1e-12 <= bounds[1] <= 1
    assert interval_of_mean(value, found, confidence, 0.0, 1.0)[0] >= 0  # type: ignore[index]  # it is there


pairs_of_six = st.lists(
    st.tuples(st.integers(0, 2), st.integers(3, 5), st.integers(0, 4), st.sampled_from([0.5, 1.0, 2.0])),
    min_size=2,
    max_size=9,
)


@pytest.mark.long(2)
@given(pairs_of_six, st.lists(st.integers(0, 2), min_size=6, max_size=6), st.booleans(), st.booleans())
def test_influence_is_what_the_mean_loses_without_a_person_or_a_cluster(
    pairs: list[tuple[int, int, int, float]], clusters: list[int], are_clusters: bool, are_flags: bool
) -> None:
    left, right, amounts, times = map(np.array, zip(*pairs, strict=True))
    values = amounts > 1 if are_flags else amounts / 4
    units = Units.of(np.array(clusters), 6) if are_clusters else Units(6)
    graph = PairGraph.of(left, right, units, Weights.of(times, len(times)))
    found = graph.influence(values)
    mean = np.average(values, weights=times)
    for unit in range(units.n):
        touches = (units.take(left) == unit) | (units.take(right) == unit)
        if not touches.all():
            without = np.average(values[~touches], weights=times[~touches])
            assert found.by_unit[unit] == pytest.approx(mean - without, abs=1e-12)
    squares = float(np.square(times * (values - mean) / times.sum()).sum())
    assert found.of_pairs == pytest.approx(0.0 if are_clusters else squares, abs=1e-15)
    sides = [np.bincount(units.take(side), times, units.n) for side in (left, right)]
    assert graph.n == pytest.approx(min(float(one.sum() ** 2 / np.square(one).sum()) for one in sides))


def test_a_quantile_beyond_which_chance_puts_values_too_seldom_does_not_pass() -> None:
    # 5 % of pairs have a large gap: by chance, a table may have one of them only
    graph = apart(120)
    values = np.sort(np.random.default_rng(0).uniform(0, 0.1, 120))
    values[-2:] = 0.9
    assert bound_quantile(graph, values, 0.95)[1] > 0.5
    random = np.random.default_rng(1)
    n_runs, passed, failed = sized(200, 400), 0, 0
    for _ in range(n_runs):
        values = np.where(random.random(120) < 0.05, 0.5 + random.random(120) / 2, random.random(120) / 2)
        low, high = bound_quantile(graph, values, 0.95)
        passed, failed = passed + (high < 0.5), failed + (low > 0.5)
    assert passed / n_runs <= 0.035
    assert failed / n_runs <= 0.035


def test_where_nobody_is_shared_the_variance_is_that_of_independent_pairs() -> None:
    values = np.random.default_rng(0).normal(size=50)
    found = apart(50).influence(values)
    assert found.variance == pytest.approx(values.var() / 50, rel=0.1)
    assert found.n == 50


def test_clusters_of_one_person_are_people() -> None:
    random = np.random.default_rng(0)
    left, right = random.integers(0, 10, 60), random.integers(10, 30, 60)
    values = random.random(60)
    people, clusters = (
        PairGraph.of(left, right, units, Weights.of(None, 60)).influence(values)
        for units in (Units(30), Units.of(np.arange(30)[::-1], 30))
    )
    assert clusters.by_unit == pytest.approx(people.by_unit[::-1])
    assert clusters.n == people.n


@given(st.integers(3, 12), st.integers(0, 10_000))
def test_a_person_in_no_pair_moves_rank_gaps_by_standing_between(n_people: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    scores = random.integers(6, size=n_people) / 5
    left, right = random.integers(n_people, size=(2, 8))
    ranks = rank_scores(scores)
    weights = Weights.of(None, 8), Weights.of(None, n_people)
    found = contribute_to_ranks(left, right, ranks, *weights)
    times = np.ones(n_people)

    def mean_rank_gap() -> float:
        below = np.array([times[scores < one].sum() + times[scores == one].sum() / 2 for one in scores]) / times.sum()
        return float(np.abs(below[left] - below[right]).mean())

    before = mean_rank_gap()
    for person in range(n_people):
        times[:] = 1.0
        times[person] += 1e-6
        assert found[person] == pytest.approx((mean_rank_gap() - before) / 1e-6, abs=1e-4)
    assert found == pytest.approx(contribute_to_ranks(left, right, np.column_stack([ranks, ranks / 9]), *weights))


@given(st.floats(0, 1), st.floats(1, 1e6), st.floats(0.5, 0.999))
def test_the_interval_of_a_share_has_it_inside_and_stays_a_share(share: float, n: float, confidence: float) -> None:
    low, high = interval_of_share(share, n, confidence)
    for end in (low, high):  # Wilson's are the shares from which this one is as far as a normal variable goes
        z = NormalDist().inv_cdf((1 + confidence) / 2)
        assert (share - end) ** 2 == pytest.approx(z**2 * end * (1 - end) / n, rel=1e-6, abs=1e-12)
    assert 0 <= low <= share + 1e-12
    assert share - 1e-12 <= high <= 1


def all_between(n_few: int, n_many: int) -> PairGraph:
    left, right = np.divmod(np.arange(n_few * n_many), n_many)
    return PairGraph.of(left, right + n_few, Units(n_few + n_many), Weights.of(None, n_few * n_many))


def apart(n: int) -> PairGraph:
    return PairGraph.of(np.arange(0, 2 * n, 2), np.arange(1, 2 * n, 2), Units(2 * n), Weights.of(None, n))


def test_people_who_count_are_those_of_the_smaller_side() -> None:
    assert apart(10).n == pytest.approx(10)
    assert all_between(1, 99).n == pytest.approx(1)
    assert all_between(5, 95).n == pytest.approx(5)
    assert all_between(50, 50).n == pytest.approx(50)
    assert PairGraph.of(np.empty(0, int), np.empty(0, int), Units(5), Weights.of(None, 0)).n == 0


def test_nothing_seen_in_few_pairs_leaves_much_possible() -> None:
    assert interval_of_share(0.0, 30, 0.95)[1] > 0.1
    assert interval_of_share(0.0, 10_000, 0.95)[1] < 0.001
    reaches = [Influence(np.ones(5_000), n).reach(0.95) for n in (10, 50, 5_000)]
    assert reaches[0] > reaches[1] > reaches[2] > 1.95 * np.sqrt(5_000)
    nothing = all_between(12, 95).influence(np.zeros(12 * 95))
    assert bound_share(0.0, nothing, 0.95)[1] > 0.25  # type: ignore[index]  # it is known
    assert interval_of_mean(0.0, nothing, 0.95, 0.0, 1.0, unseen=1.0)[1] > 0.25  # type: ignore[index]


def test_nobody_who_moves_a_share_leaves_the_variance_of_its_pairs() -> None:
    alike = Influence(np.zeros(40), 12.0, of_pairs=0.01)  # everybody has as many pairs in which it holds
    low, high = bound_share(0.5, alike, 0.95)  # type: ignore[misc]  # it is known
    assert 0.2 < low < 0.35
    assert 0.65 < high < 0.8


def test_of_fewer_than_ten_people_on_a_side_there_is_no_interval() -> None:
    for n_few in (9, 10):
        graph, values = all_between(n_few, 98), np.linspace(0, 1, 98 * n_few)
        is_bounded = n_few == 10
        assert (interval_of_mean(0.5, graph.influence(values), 0.95, 0.0, 1.0) is not None) == is_bounded
        assert (bound_share(0.5, graph.influence(values > 0.5), 0.95) is not None) == is_bounded
        assert (bound_quantile(graph, values, 0.5) is not None) == is_bounded


def test_a_change_that_is_not_seen_is_not_impossible() -> None:
    never = np.zeros(12 * 95, np.bool_)
    low, high = bound_change(never, never, all_between(12, 95), 0.95)  # type: ignore[misc]  # it is known
    assert low < -0.25
    assert high > 0.25


def test_a_high_quantile_of_few_pairs_has_no_upper_end_but_the_largest_gap_possible() -> None:
    values = np.linspace(0.1, 0.2, 20)
    graph = apart(20)
    bounds = {share: bound_quantile(graph, values, share) for share in (0.5, 0.95)}
    assert bounds[0.95][1] == 1.0
    assert bounds[0.5][1] < 0.2


def test_equal_gaps_have_equal_quantiles() -> None:
    values = np.full(200, 0.25)
    graph = apart(200)
    assert bound_quantile(graph, values, 0.5) == (0.25, 0.25)


@pytest.mark.long(2)
@pytest.mark.parametrize("is_weighted", [False, True])
def test_any_number_of_threads_gives_the_same_bytes(monkeypatch: pytest.MonkeyPatch, is_weighted: bool) -> None:
    data = load_dataset("planted")
    people, y = data.test.X.head(400), np.asarray(data.test.y)[:400]
    random = np.random.default_rng(0)
    scores = np.round(random.random(400), 2)
    weights = random.integers(4, size=400) / 3 if is_weighted else None

    def measure() -> dict[str, Any]:
        return audit(scores, people, y, roles=data.roles, rule=data.rule, sample_weight=weights).to_dict()

    on_one = measure()
    monkeypatch.setattr(_threads, "n_cores", lambda: 3)
    monkeypatch.setattr(_threads, "FEWEST_ROWS", 3)  # so that each has some
    assert measure() == on_one
