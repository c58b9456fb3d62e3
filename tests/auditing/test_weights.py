"""Weighted audits: whole-number weights repeat people, a scale changes nothing, equal weights are none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from likewise import Audit, Comparability, Policy, Roles, audit, compare_audits
from likewise.auditing import compare_series
from likewise.auditing._internal import Units, Weights, influence_of_people
from likewise.auditing.inference._intervals import PairGraph
from likewise.exceptions import LikewiseError, NoComparablePairs, ParameterError

N = 150
ROLES = Roles(sensitive=["group"], discrete=["case"], continuous=["age"])
RULE = Comparability(max_discrete_changes=0, max_continuous_shift=0.3)
OF_COPIES = ("same_group_", "excess")  # copies of a person are same-group pairs, with a gap of 0
OF_PLACES = ("_median", "_q3", "_q95")  # interpolated between values where all count alike


class People:
    """People with scores, labels and whole-number weights, some of them 0."""

    def __init__(self, seed: int, task: str = "binary", n: int = N) -> None:
        random = np.random.default_rng([seed, len(task)])
        self.n, self.task = n, task
        columns = {"group": random.integers(3, size=n).astype(str), "case": random.integers(3, size=n).astype(str)}
        self.frame = pa.table({**columns, "age": random.integers(20, 70, n).astype(np.float64)})
        self.schema = ROLES.learn(self.frame)
        self.y: Any = random.integers(3 if task == "multiclass" else 2, size=n)
        self.scores: Any = np.round(random.random(n), 2)
        self.weights = random.integers(0, 4, n)
        if task == "multiclass":
            self.scores = random.dirichlet([1, 1, 1], n)
        if task == "regression":
            self.y = random.normal(size=n)

    def audit(self, rows: Any = None, weights: Any = None, **how: Any) -> Audit:
        """Audit some rows, or all."""
        rows = np.arange(self.n) if rows is None else rows
        usual: dict[str, Any] = {"roles": self.schema, "rule": RULE, "n_resamples": 0, "task": self.task}
        how = usual | {"gap_limit": 0.2} | how
        how |= {"reference": "0", "scale": 1.0} if self.task == "regression" else {}
        return audit(self.scores[rows], self.frame.take(rows), self.y[rows], sample_weight=weights, **how)


def rates(found: Audit) -> dict[Any, Any]:
    """Return directions, groups and coverage as shares, by what they are of."""
    shares: dict[Any, Any] = {}
    for one in (one if one.origin < one.target else one.reversed() for one in found.directions):
        weighed = one.lower_share, one.higher_share
        counted = one.n_lower / one.n_pairs, one.n_higher / one.n_pairs
        shares[one.origin, one.target] = (*(counted if None in weighed else weighed), one.mean_gap)
        if one.n_flips_down is not None:
            down = one.n_flips_down / one.n_pairs if one.flips_down_share is None else one.flips_down_share
            shares["flips", one.origin, one.target] = (down,)
    for group in found.groups:
        known = group.selection_rate, group.true_positive_rate, group.false_positive_rate, group.mean_score
        shares[group.columns, group.values] = tuple(-1.0 if rate is None else rate for rate in known)
    return shares | {("coverage", one.label, one.values): (one.share,) for one in found.coverage}


@pytest.mark.long(3)
@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
@pytest.mark.parametrize("seed", range(3))
def test_whole_number_weights_repeat_people(task: str, seed: int) -> None:
    people = People(seed, task)
    how = {"approval_rate": 0.3} if task == "binary" else {}
    repeated = people.audit(np.repeat(np.arange(N), people.weights), **how)
    weighted = people.audit(weights=people.weights, **how)
    for name, one in repeated.measures.items():
        if any(part in name for part in (*OF_COPIES, *OF_PLACES)) or name == "impact_ratio":  # of 30 people or more
            continue
        value = weighted[name].value
        assert (value is None) == (one.value is None), name
        assert value is None or value == pytest.approx(one.value, abs=1e-12), name
    expected, found = rates(repeated), rates(weighted)
    assert expected.keys() == found.keys()
    for of, shares in expected.items():
        assert found[of] == pytest.approx(shares, abs=1e-12), of
    assert weighted.fairlearn == pytest.approx(repeated.fairlearn)
    for old, new in zip(repeated.record.distributions.slices, weighted.record.distributions.slices, strict=True):
        assert np.array(new.counts) / max(new.n, 1) == pytest.approx(np.array(old.counts) / max(old.n, 1))
        assert sum(new.counts) == pytest.approx(new.n)
    assert weighted.record.person_gaps.mean == pytest.approx(repeated.record.person_gaps.mean)
    for bins in zip(repeated.record.calibration, weighted.record.calibration, strict=True):
        assert bins[1].mean_score == pytest.approx(bins[0].mean_score)
        assert bins[1].observed == pytest.approx(bins[0].observed)


@pytest.mark.parametrize("seed", range(2))
def test_quantiles_are_those_that_numpy_has_for_weights(seed: int) -> None:
    people = People(seed)
    weights = np.random.default_rng(seed).exponential(size=N)
    found = people.audit(weights=weights)
    of_pairs = weights[found.pairs.left] * weights[found.pairs.right]
    for name, share in (("gap_median", 0.5), ("gap_q3", 0.75), ("gap_q95", 0.95)):
        assert found[name].value == np.quantile(found.gaps, share, method="inverted_cdf", weights=of_pairs)
    gaps = found.person_gaps
    matched = ~np.isnan(gaps)
    worst = np.quantile(gaps[matched], 0.95, method="inverted_cdf", weights=weights[matched])
    assert found.record.person_gaps.q95 == worst


def leaves(value: Any, path: str = "") -> dict[str, Any]:
    """List everything in a record by its place."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if parts is None:
        return {path: value}
    return {where: one for name, part in parts for where, one in leaves(part, f"{path}.{name}").items()}


def assert_alike(one: Audit, other: Audit, apart: tuple[str, ...], error: float) -> None:
    before, after = leaves(one.to_dict()), leaves(other.to_dict())
    for path in before | after:
        if not path.startswith(apart):
            is_number = isinstance(before.get(path), float)
            assert after.get(path) == (pytest.approx(before[path], abs=error) if is_number else before.get(path)), path


def test_a_scale_of_the_weights_changes_nothing() -> None:
    people = People(1)
    weights = np.random.default_rng(1).exponential(size=N)
    found = people.audit(weights=weights, n_resamples=40)
    assert_alike(found, people.audit(weights=weights * 1e6 / 7, n_resamples=40), (".weights.checksum",), 1e-10)
    assert_alike(found, people.audit(weights=weights * 2.0**-30, n_resamples=40), (".weights.checksum",), 0.0)


def test_equal_weights_are_none_to_the_last_digit() -> None:
    people = People(2)
    plain = people.audit(n_resamples=40)
    weighted = people.audit(weights=np.full(N, 0.3), n_resamples=40)
    assert_alike(plain, weighted, (".weights", ".note"), 0.0)
    assert weighted.record.weights is not None
    assert weighted.record.weights.n_effective == N
    assert plain.record.weights is None


def test_a_weight_of_zero_leaves_a_person_out() -> None:
    people = People(3)
    who = np.flatnonzero(people.weights)
    found = people.audit(weights=people.weights, n_resamples=40)
    without = people.audit(who, people.weights[who], n_resamples=40)
    for name in ("gap_mean", "gap_q95", "rank_gap_mean", "flip_rate", "excess", "log_loss", "matched_share"):
        assert str(found[name]) == str(without[name])
    assert found["rank_gap_mean"].n == without["rank_gap_mean"].n == len(without.pairs)
    assert found.groups == without.groups
    assert found.coverage == without.coverage
    assert np.array_equal(who[without.pairs.left], found.pairs.left)  # rows are those of the whole table
    assert people.weights[[case.left_row for case in found.worst]].all()
    assert "people of weight 0 left out" in str(found.notes[0])
    nobody = np.where(np.arange(N) < 1, 1, 0)
    with pytest.raises(NoComparablePairs, match="among 1 row with a weight above 0"):
        people.audit(weights=nobody)


@pytest.mark.long(3)
@pytest.mark.parametrize("how", ["stream", "folder", "sample"])
def test_pairs_may_be_streamed_read_or_sampled(how: str, tmp_path: Any) -> None:
    from likewise.comparable import write_pairs

    people = People(4)
    whole = people.audit(weights=people.weights, n_resamples=40)
    asked: dict[str, Any] = {"n_resamples": 40, "max_pairs": 100}
    if how == "folder":
        write_pairs(people.schema.encode(people.frame, people.y), RULE, tmp_path / "pairs")
        asked["pairs"] = tmp_path / "pairs"
    if how == "sample":
        asked |= {"when_too_many": "sample", "max_pairs": len(whole.pairs) // 2}
    found = people.audit(weights=people.weights, **asked)
    for name, one in whole.measures.items():
        if how == "sample" or one.value is None:
            continue
        error = 0.0011 * abs(one.value) + 2e-9 if name.endswith(OF_PLACES) else 1e-11
        assert found[name].value == pytest.approx(one.value, abs=error), name
        assert found[name].n == one.n
    mean = found["gap_mean"]
    assert mean.low < whole["gap_mean"].value < mean.high  # type: ignore[operator]
    if how != "sample":
        shares = rates(whole)
        assert all(shares[name] == pytest.approx(one, abs=1e-11) for name, one in rates(found).items())
        assert str(found.notes[0]) == str(whole.notes[0])  # with effective sizes
        assert sum(found.record.distributions.slices[0].counts) == pytest.approx(len(whole.pairs))


def test_heavy_people_make_intervals_wider_and_count_as_fewer() -> None:
    people = People(5)
    heavy = np.where(np.arange(N) % 10 == 0, 5.0, 1.0)
    one, other = people.audit(n_resamples=40), people.audit(weights=heavy, n_resamples=40)
    for name in ("gap_mean", "gap_q95", "flip_rate", "rank_gap_mean", "roc_auc", "brier"):
        narrow, wide = one[name], other[name]
        assert wide.high - wide.low > narrow.high - narrow.low, name  # type: ignore[operator]
    rows, weights = np.arange(40), np.random.default_rng(0).exponential(size=20)
    apart, alike = (PairGraph.of(rows[:20], rows[20:], Units(40), Weights.of(times, 20)) for times in (weights, None))
    alone = influence_of_people(rows[:20].astype(np.float64), Weights.of(weights, 20), Units(20))
    assert alone.n == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    assert apart.n == pytest.approx(alone.n)
    assert alone.n < 20 == alike.n


def test_contributions_of_people_are_derivatives_of_the_weighted_mean() -> None:
    people = People(6)
    weights = np.random.default_rng(6).exponential(size=N)
    found = people.audit(weights=weights)
    left, right, gaps = found.pairs.left, found.pairs.right, found.gaps
    graph = PairGraph.of(left, right, Units(N), Weights.of(weights[left] * weights[right], len(left)))

    def mean(person: int, step: float) -> float:
        moved = weights.copy()
        moved[person] *= 1 + step
        return float(np.average(gaps, weights=moved[left] * moved[right]))

    by_person = graph.influence(gaps).by_unit * (1 - graph.shares)
    for person in range(0, N, 11):
        assert by_person[person] == pytest.approx((mean(person, 1e-6) - mean(person, -1e-6)) / 2e-6, abs=1e-8)


def test_the_approved_share_is_one_of_weights() -> None:
    people = People(7)
    weights = np.random.default_rng(7).exponential(size=N)
    decisions = people.audit(weights=weights, approval_rate=0.3).question.scores.decisions
    assert decisions is not None
    assert float(decisions @ weights / weights.sum()) == pytest.approx(0.3, abs=0.02)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([-1.0] + [1.0] * (N - 1), "below 0 in 1 of 150 rows, first in row 0"),
        ([1.0, np.nan] * (N // 2), "NaN, missing or infinite in 75 of 150 rows, first in row 1"),
        ([1.0] * (N - 1) + [np.inf], "infinite in 1 of 150 rows"),
        ([1.0] * 3, "3 weights for 150 rows"),
        ([0.0] * N, "0 in every row"),
        (["1"] * N, "not made of numbers"),
        ([1.0] * (N - 1) + [None], "missing or infinite"),
        ([[1.0, 2.0]] * N, "shape"),
        (3.0, "shape"),
        (np.ma.masked_array(np.ones(N), [True] + [False] * (N - 1)), "masked in 1"),
        ([True] * N, "not made of numbers"),
        ([1e-300, 1e300] * (N // 2), "Set such small weights to 0"),
        ("wieght", "no such column"),
        ("age", "the role of this column is continuous"),
        ("group", "the role of this column is sensitive"),
    ],
)
def test_weights_that_make_no_sense_are_refused_in_one_line(weights: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words) as raised:
        People(8).audit(weights=weights)
    assert "\n" not in str(raised.value)
    assert str(raised.value).startswith("sample_weight ")


def test_weights_may_be_a_column_which_is_not_compared() -> None:
    people = People(9)
    weights = np.random.default_rng(9).exponential(size=N)
    people.frame = people.frame.append_column("weight", pa.array(weights))
    by_name = people.audit(weights="weight", roles=ROLES)
    assert by_name["gap_mean"] == people.audit(weights=weights)["gap_mean"]
    assert by_name.record.settings.sample_weight == "weight"
    assert "column 'weight'" in str(by_name.notes[0])
    with pytest.raises(ParameterError, match="that of the scores"):
        audit("weight", people.frame, people.y, roles=ROLES, sample_weight="weight", task="regression", scale=1.0)


def test_audits_are_compared_by_the_same_weights_only() -> None:
    people = People(10)
    one, plain = people.audit(weights=people.weights, n_resamples=40), people.audit(n_resamples=40)
    people.scores = np.sqrt(people.scores)
    other = people.audit(weights=people.weights, n_resamples=40)
    found = compare_audits(one, other)
    for name in ("gap_mean", "rank_gap_mean", "flip_rate", "roc_auc", "log_loss", "accuracy", "score_spread"):
        difference = found[name].difference
        assert difference.value == pytest.approx(other[name].value - one[name].value)  # type: ignore[operator]
        assert difference.low <= difference.value <= difference.high  # type: ignore[operator]
    with pytest.raises(LikewiseError, match="differ in their sample weights"):
        compare_audits(plain, other)
    with pytest.raises(LikewiseError, match="differ in their sample weights"):
        compare_series([plain.record, other.record])
    assert compare_series([one.record, other.record]).concluded
    assert other.judge(Policy(max_gap_mean=0.9)).outcome == "pass"
    assert "Weighted by array" in other.to_html()
