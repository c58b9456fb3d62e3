"""Who of two comparable people is scored lower, and whether that could be chance."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.sizes import sized

from likewise import CodedTable, Comparability, Policy, Roles, audit, load_dataset, mine_pairs
from likewise.auditing.evidence._directions import measure_directions
from likewise.auditing.inference._sign_flips import sign_flip_test
from likewise.auditing.question._scores import Scores
from likewise.exceptions import ScoreError
from likewise.record import AuditRecord
from likewise.record._internal import Direction
from likewise.report import to_markdown

NO_CHANCE: dict[str, Any] = {"n_apart": None, "p_value": None, "p_adjusted": None}  # what depends on the order of rows


@dataclass(frozen=True)
class Listed:
    """Pairs written down by hand."""

    left: NDArray[np.int32]
    right: NDArray[np.int32]


@dataclass(frozen=True)
class Asked:
    """People, pairs of them, and scores that are exact in binary."""

    table: CodedTable
    pairs: Listed
    scores: Scores

    def answer(self, **settings: Any) -> tuple[Direction, ...]:
        return measure_directions(
            self.pairs, self.table, self.scores, **{"n_resamples": 0, "n_permutations": 9, **settings}
        )

    def answer_of(self, values: NDArray[np.float64]) -> tuple[Direction, ...]:
        return replace(self, scores=scores_of(values)).answer()


def scores_of(values: NDArray[np.float64]) -> Scores:
    return Scores(values, "binary", decisions=(values >= 0.5).astype(np.int64), threshold=0.5)


def test_pairs_that_the_scores_do_not_fit_are_refused() -> None:
    table = CodedTable(sensitive=[[0], [1], [1]])
    one, far = np.array([0], np.int32), np.array([9], np.int32)
    with pytest.raises(ScoreError, match="There are 3 scores, but the pairs point at 10 rows"):
        Asked(table, Listed(one, far), scores_of(np.array([0.1, 0.5, 0.9]))).answer()
    too_far = Scores(np.array([-1.7e308, 1.7e308, 0.0]), "regression")
    with np.errstate(over="ignore"), pytest.raises(ScoreError, match="The signed gaps are NaN or infinite in 1 places"):
        Asked(table, Listed(one, one + 1), too_far).answer()


@st.composite
def questions(draw: st.DrawFn) -> Asked:
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_people, n_columns = draw(st.integers(0, 16)), draw(st.integers(0, 2))
    codes = random.integers(0, draw(st.integers(1, 3)), (n_people, n_columns))
    left, right = np.triu_indices(n_people, 1)
    kept = random.random(len(left)) < draw(st.sampled_from([0.1, 0.5, 1.0]))
    pairs = Listed(left[kept].astype(np.int32), right[kept].astype(np.int32))
    scores = random.integers(0, draw(st.sampled_from([1, 3, 9])), n_people) / 8
    return Asked(CodedTable(sensitive=codes), pairs, scores_of(scores))


def untested(direction: Direction) -> Direction:
    return replace(direction, **NO_CHANCE)


def star(n_spokes: int, n_others: int) -> tuple[CodedTable, Listed]:
    """One person of a group with many partners in the other, and further pairs of two."""
    groups = [0, *[1] * n_spokes, *[0, 1] * n_others]
    others = 1 + n_spokes + 2 * np.arange(n_others)
    left = np.concatenate([np.zeros(n_spokes, np.int64), others])
    right = np.concatenate([np.arange(1, 1 + n_spokes), others + 1])
    return CodedTable(sensitive=np.array(groups)[:, None]), Listed(left.astype(np.int32), right.astype(np.int32))


@settings(max_examples=sized(20, 80), deadline=None)
@given(questions())
def test_every_pair_counts_once_on_the_side_it_leans_to(asked: Asked) -> None:
    told: dict[Any, list[tuple[float, int]]] = defaultdict(list)
    values, decisions = asked.scores.values, asked.scores.decisions
    assert decisions is not None
    for one, other in zip(asked.pairs.left.tolist(), asked.pairs.right.tolist(), strict=True):
        for origin, target in ((one, other), (other, one)):
            combinations = tuple(tuple(asked.table.sensitive[row].tolist()) for row in (origin, target))
            told[combinations].append((values[target] - values[origin], decisions[target] - decisions[origin]))
    found = asked.answer()
    unequal = {frozenset(combinations) for combinations in told if len(set(combinations)) == 2}
    assert {frozenset((direction.origin, direction.target)) for direction in found} == unequal
    assert len(found) == len(unequal)
    for direction in found:
        gaps, changes = (np.array(numbers) for numbers in zip(*told[direction.origin, direction.target], strict=True))
        assert direction.mean_gap == pytest.approx(gaps.mean())
        assert direction.n_pairs == len(gaps)
        counted = (direction.n_lower, direction.n_equal, direction.n_higher)
        assert counted == ((gaps < 0).sum(), (gaps == 0).sum(), (gaps > 0).sum())
        assert (direction.n_flips_down, direction.n_flips_up) == ((changes < 0).sum(), (changes > 0).sum())


@settings(max_examples=sized(15, 60), deadline=None)
@given(questions())
def test_scores_turned_round_tell_the_same_from_the_other_side(asked: Asked) -> None:
    def numbers_of(direction: Direction) -> Direction:
        return replace(direction, n_flips_down=None, n_flips_up=None)  # the threshold has a side of its own

    there = {numbers_of(direction) for direction in asked.answer() if direction.mean_gap}
    back = {numbers_of(one.reversed()) for one in asked.answer_of(1 - asked.scores.values) if one.mean_gap}
    turned = {replace(one, mean_gap=-one.mean_gap, n_lower=one.n_higher, n_higher=one.n_lower) for one in back}
    assert turned == there


@settings(max_examples=sized(7, 30), deadline=None)
@given(questions(), st.sampled_from([0.5, 4.0]))
def test_gaps_are_told_in_the_unit_of_the_scores(asked: Asked, scale: float) -> None:
    scaled = replace(asked, scores=Scores(asked.scores.values, "regression", scale=scale))
    for one, other in zip(scaled.answer(n_resamples=20), asked.answer(n_resamples=20), strict=True):
        assert one.mean_gap == pytest.approx(other.mean_gap / scale)
        assert one.n_flips_down is None


@settings(max_examples=sized(7, 30), deadline=None)
@given(questions())
def test_a_constant_model_has_no_direction(asked: Asked) -> None:
    for direction in asked.answer_of(np.full(len(asked.table), 0.7)):
        assert (direction.mean_gap, direction.n_equal, direction.p_value) == (0.0, direction.n_pairs, 1.0)


@settings(max_examples=sized(7, 30), deadline=None)
@given(questions(), st.integers(0, 2**32 - 1))
def test_rounding_is_no_direction(asked: Asked, seed: int) -> None:
    noise = np.random.default_rng(seed).normal(0, 1e-15, len(asked.table))
    for direction in asked.answer_of(0.7 + noise):
        assert (direction.mean_gap, direction.n_equal, direction.p_value) == (0.0, direction.n_pairs, 1.0)


@settings(max_examples=sized(7, 30), deadline=None)
@given(questions(), st.integers(0, 3))
def test_only_the_largest_transitions_are_tested(asked: Asked, most: int) -> None:
    found = asked.answer(most=most, n_resamples=20)
    assert [direction.p_value is not None for direction in found] == [i < most for i in range(len(found))]
    assert all(direction.low is None and direction.n_apart is None for direction in found[most:])
    assert [untested(one) for one in found[most:]] == [untested(one) for one in asked.answer()[most:]]


def test_the_planted_unfairness_is_found_and_nothing_else() -> None:
    data = load_dataset("planted", n_rows=8000)
    table = data.roles.learn(data.train.X).encode(data.train.X, data.train.y)
    scores = data.scores(data.train.X)
    found = measure_directions(mine_pairs(table, data.rule), table, scores_of(scores), n_resamples=100)
    assert len(found) > 10
    for direction in found:
        harmed = ["green" in side for side in (direction.origin, direction.target)]
        if harmed == [False, True]:
            assert direction.n_lower == direction.n_pairs
            assert direction.mean_gap == pytest.approx(-0.1)
            assert direction.p_value is not None
            assert direction.p_value < 0.01 or (direction.n_apart or 0) < 10
        else:
            assert (direction.n_equal, direction.mean_gap, direction.p_value) == (direction.n_pairs, 0.0, 1.0)
    assert any(direction.p_adjusted is not None and direction.p_adjusted < 0.01 for direction in found)


def test_many_transitions_can_still_be_told_from_chance() -> None:
    n_groups, n_each = 16, 20  # 120 transitions
    one, other = (np.repeat(side, n_each) for side in np.triu_indices(n_groups, 1))
    table = CodedTable(sensitive=np.concatenate([one, other])[:, None])
    rows = np.arange(len(one), dtype=np.int32)
    scores = np.concatenate([np.full(len(one), 0.75), np.full(len(one), 0.5)])
    pairs = Listed(rows, rows + np.int32(len(one)))
    found = measure_directions(pairs, table, scores_of(scores), n_resamples=0)
    assert len(found) == 120
    assert all(direction.p_adjusted is not None and direction.p_adjusted < 0.05 for direction in found)


@pytest.mark.long(2)
@pytest.mark.parametrize(("n_spokes", "n_others"), [(0, 30), (60, 20)])
def test_the_test_is_right_about_chance_also_where_one_person_is_in_most_pairs(n_spokes: int, n_others: int) -> None:
    table, pairs = star(n_spokes, n_others)
    random = np.random.default_rng(7)
    p_values, naive = [], []
    for seed in range(sized(150, 400)):
        values = random.random(len(table))
        (found,) = measure_directions(pairs, table, scores_of(values), n_resamples=0, n_permutations=199, seed=seed)
        assert found.p_value is not None
        assert found.n_apart == n_others + (n_spokes > 0)
        p_values.append(found.p_value)
        naive.append(sign_flip_test(values[pairs.right] - values[pairs.left], n_permutations=199, random_state=seed))
    assert sized(0.01, 0.02) <= np.mean(np.array(p_values) <= 0.05) <= sized(0.1, 0.08)
    assert 0.4 <= np.mean(np.array(p_values) <= 0.5) <= 0.6
    # flipping pairs one by one takes one person's luck for a pattern
    assert bool(np.mean(np.array(naive) <= 0.05) > 0.3) is (n_spokes > 0)


@pytest.mark.long(2)
@pytest.mark.parametrize("n_people", [50, 160])  # about 25 pairs, and 250
def test_intervals_cover_the_true_mean(n_people: int) -> None:
    random = np.random.default_rng(3)
    n_covered, n_simulated = 0, sized(100, 300)
    for seed in range(n_simulated):
        groups = random.integers(0, 2, n_people)
        left, right = np.triu_indices(n_people, 1)
        kept = (random.random(len(left)) < (0.04 if n_people == 50 else 0.02)) & (groups[left] != groups[right])
        pairs = Listed(left[kept].astype(np.int32), right[kept].astype(np.int32))
        values = 0.3 + 0.4 * random.random(n_people) - 0.1 * groups
        (found,) = measure_directions(
            pairs,
            CodedTable(sensitive=groups[:, None]),
            scores_of(values),
            n_resamples=199,
            n_permutations=9,
            seed=seed,
        )
        low, high = (found.low, found.high) if found.origin == (0,) else (found.reversed().low, found.reversed().high)
        assert low is not None
        assert high is not None
        n_covered += low <= -0.1 <= high
    assert sized(0.87, 0.90) <= n_covered / n_simulated <= sized(1.0, 0.99)


@pytest.mark.parametrize(("n_spokes", "n_others"), [(1, 0), (5, 0)])
def test_pairs_that_all_share_a_person_get_no_interval(n_spokes: int, n_others: int) -> None:
    table, pairs = star(n_spokes, n_others)
    values = np.random.default_rng(0).random(len(table))
    (found,) = measure_directions(pairs, table, scores_of(values), n_resamples=50)
    assert (found.low, found.high, found.n_apart, found.p_value) == (None, None, 1, 1.0)


@settings(max_examples=sized(6, 20), deadline=None)
@given(questions())
def test_intervals_lie_around_the_mean_and_within_what_gaps_can_be(asked: Asked) -> None:
    for direction in asked.answer(n_resamples=40):
        assert (direction.low is None) is (direction.high is None)
        if direction.low is not None and direction.high is not None:
            assert -1 <= direction.low <= direction.high <= 1
            assert direction.n_apart is not None
            assert direction.n_apart >= 2


@pytest.mark.long(2)
@pytest.mark.parametrize("weighted", [False, True])
def test_by_one_column_pairs_count_whatever_the_others_do(weighted: bool) -> None:
    random = np.random.default_rng(5)
    columns = {"sex": random.choice(["f", "m"], 120), "race": random.choice(["a", "b", "c"], 120)}
    frame = pa.table({**columns, "job": random.choice(["cook", "smith"], 120)})
    scores = np.round(random.random(120), 2) * 0.8 + 0.2 * (columns["sex"] == "m")
    weights = random.exponential(size=120) if weighted else None
    roles = Roles(sensitive=["sex", "race"], discrete=["job"])
    how: dict[str, Any] = {"roles": roles, "rule": Comparability(max_discrete_changes=1), "sample_weight": weights}
    found = audit(scores, frame, reference={"sex": "m"}, n_resamples=40, **how)
    assert [part.column for part in found.column_directions] == ["sex", "race"]
    times = np.ones(120) if weights is None else weights
    for part in found.column_directions:
        assert len(part.directions) == (1 if part.column == "sex" else 3)
        for one in part.directions:
            left, right = (columns[part.column][rows] for rows in (found.pairs.left, found.pairs.right))
            ahead = (left == one.origin[0]) & (right == one.target[0])
            behind = (right == one.origin[0]) & (left == one.target[0])
            gaps = (scores[found.pairs.right] - scores[found.pairs.left]) * np.where(ahead, 1, -1)
            of_pairs = (times[found.pairs.left] * times[found.pairs.right])[ahead | behind]
            gaps = gaps[ahead | behind]
            assert (one.n_pairs, one.n_lower) == (len(gaps), int((gaps < -1e-9).sum()))
            assert one.mean_gap == pytest.approx(np.average(gaps, weights=of_pairs))
            assert one.low <= one.mean_gap <= one.high  # type: ignore[operator]
            assert one.p_adjusted is not None
    (sexes,) = found.column_directions[0].directions
    assert (sexes.origin, sexes.target) == (("m",), ("f",))
    streamed = audit(scores, frame, reference={"sex": "m"}, n_resamples=40, max_pairs=200, **how)
    for part, other in zip(found.column_directions, streamed.column_directions, strict=True):
        for one, two in zip(part.directions, other.directions, strict=True):
            assert (two.origin, two.target, two.n_pairs) == (one.origin, one.target, one.n_pairs)
            assert two.mean_gap == pytest.approx(one.mean_gap, abs=1e-12)
            for name in ("lower", "higher", "flips_down", "flips_up"):
                assert two.share_of(name) == pytest.approx(one.share_of(name))
    assert AuditRecord.from_dict(found.to_dict()).column_directions == found.column_directions
    policy = Policy(transitions={"sex: m -> f": {"max_signed_gap_mean": -0.01}})
    assert found.judge(policy).checks[0].measure.value == sexes.mean_gap
    assert "By one sensitive column" in found.to_html()
    assert "by each sensitive column alone" in to_markdown(found.record)


def test_with_one_sensitive_column_there_is_nothing_more_to_say_by_column() -> None:
    frame = pa.table({"sex": ["f", "m"] * 10, "job": ["cook"] * 20})
    found = audit(np.arange(20) / 20, frame, roles=Roles(sensitive="sex", discrete="job"), n_resamples=0)
    assert found.column_directions == ()
    assert "column_directions" not in found.to_dict()
    assert "By one sensitive column" not in found.to_html()


def test_scores_of_several_labels_have_no_direction() -> None:
    table, pairs = star(3, 3)
    scores = Scores(np.full((len(table), 3), 1 / 3), "multiclass")
    assert measure_directions(pairs, table, scores) == ()


@pytest.mark.parametrize("setting", ["n_resamples", "seed", "most", "n_permutations"])
def test_bad_settings_are_refused(setting: str) -> None:
    table, pairs = star(3, 3)
    bad: dict[str, Any] = {setting: -1}
    with pytest.raises(ValueError, match=f"^{setting} is -1"):
        measure_directions(pairs, table, scores_of(np.zeros(len(table))), **bad)


def test_columns_that_are_not_sensitive_are_refused() -> None:
    table, pairs = star(3, 3)
    with pytest.raises(ValueError, match="columns names 'job'; the sensitive columns are"):
        measure_directions(pairs, table, scores_of(np.zeros(len(table))), columns=["job"])


@settings(max_examples=sized(7, 30), deadline=None)
@given(questions())
def test_pairs_equal_in_the_sensitive_columns_have_no_part(asked: Asked) -> None:
    combinations = asked.table.sensitive
    unequal = (combinations[asked.pairs.left] != combinations[asked.pairs.right]).any(axis=1)
    assume(not unequal.all())
    fewer = replace(asked, pairs=Listed(asked.pairs.left[unequal], asked.pairs.right[unequal]))
    assert fewer.answer() == asked.answer()


@settings(max_examples=sized(15, 60), deadline=None)
@given(questions())
def test_the_target_is_scored_lower_and_large_transitions_come_first(asked: Asked) -> None:
    found = asked.answer()
    assert all(direction.mean_gap <= 0 for direction in found)
    assert all(direction.origin < direction.target for direction in found if direction.mean_gap == 0)
    sizes = [direction.n_pairs for direction in found]
    assert sizes == sorted(sizes, reverse=True)
