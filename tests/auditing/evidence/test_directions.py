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
from likewise.auditing.inference._signed_gaps import adjust_p_values
from likewise.auditing.question._scores import Scores
from likewise.exceptions import ScoreError
from likewise.record import AuditRecord
from likewise.record._internal import Direction
from likewise.report import to_markdown


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
        return measure_directions(self.pairs, self.table, self.scores, **{"confidence": None, **settings})

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
    there = {(one.origin, one.target, one.n_lower, one.mean_gap) for one in asked.answer() if one.mean_gap}
    back = asked.answer_of(1 - asked.scores.values)
    assert {(one.target, one.origin, one.n_lower, one.mean_gap) for one in back if one.mean_gap} == there


@settings(max_examples=sized(7, 30), deadline=None)
@given(questions(), st.sampled_from([0.5, 4.0]))
def test_gaps_are_told_in_the_unit_of_the_scores(asked: Asked, scale: float) -> None:
    scaled = replace(asked, scores=Scores(asked.scores.values, "regression", scale=scale))
    for one, other in zip(scaled.answer(), asked.answer(), strict=True):
        assert one.mean_gap == pytest.approx(other.mean_gap / scale)
        assert one.n_flips_down is None


@settings(max_examples=sized(7, 30), deadline=None)
@given(questions())
def test_a_constant_model_has_no_direction(asked: Asked) -> None:
    for direction in asked.answer_of(np.full(len(asked.table), 0.7)):
        assert (direction.mean_gap, direction.n_equal) == (0.0, direction.n_pairs)
        assert direction.p_value in (None, 1.0)


@settings(max_examples=sized(7, 30), deadline=None)
@given(questions(), st.integers(0, 2**32 - 1))
def test_rounding_is_no_direction(asked: Asked, seed: int) -> None:
    noise = np.random.default_rng(seed).normal(0, 1e-15, len(asked.table))
    for direction in asked.answer_of(0.7 + noise):
        assert (direction.mean_gap, direction.n_equal) == (0.0, direction.n_pairs)
        assert direction.p_value in (None, 1.0)


@settings(max_examples=sized(7, 30), deadline=None)
@given(questions(), st.integers(0, 3))
def test_only_the_largest_transitions_are_tested(asked: Asked, most: int) -> None:
    found = asked.answer(most=most, confidence=0.9)
    assert [direction.adjusted_gap is not None for direction in found] == [i < most for i in range(len(found))]
    assert all(direction.low is None and direction.p_value is None for direction in found[most:])


def test_the_planted_unfairness_is_found_and_nothing_else() -> None:
    data = load_dataset("planted", n_rows=8000)
    table = data.roles.learn(data.train.X).encode(data.train.X, data.train.y)
    scores = data.scores(data.train.X)
    found = measure_directions(mine_pairs(table, data.rule), table, scores_of(scores))
    assert len(found) > 10
    for direction in found:
        harmed = ["green" in side for side in (direction.origin, direction.target)]
        if harmed == [False, True]:
            assert direction.n_lower == direction.n_pairs
            assert direction.mean_gap == pytest.approx(-0.1)
            assert direction.adjusted_gap == pytest.approx(-0.1)
            assert direction.p_value is not None
            assert direction.p_value < 0.01
        else:
            assert (direction.n_equal, direction.mean_gap, direction.p_value) == (direction.n_pairs, 0.0, 1.0)
    assert any(direction.p_adjusted is not None and direction.p_adjusted < 0.01 for direction in found)


def people_with_skill(seed: int, n: int = 250, effect: float = 0.0, decided: bool = False) -> Asked:
    """Two groups, one standard deviation apart in a compared column, whose scores follow that column and noise."""
    random = np.random.default_rng(seed)
    group = (random.random(n) < 0.4).astype(int)
    skill = random.normal(size=n) + group
    scores = 1 / (1 + np.exp(-(1.5 * skill - 0.75 - effect * group + 0.5 * random.normal(size=n))))
    table = CodedTable(
        sensitive=group[:, None],
        continuous=((skill - skill.min()) / np.ptp(skill))[:, None],
        discrete=random.integers(0, 3, (n, 1)),
    )
    pairs = mine_pairs(table, Comparability(max_continuous_shift=0.1, max_discrete_changes=1))
    return Asked(table, Listed(pairs.left, pairs.right), scores_of((scores >= 0.5) * 1.0 if decided else scores))


@pytest.mark.parametrize("decided", [False, True])
def test_groups_that_differ_in_a_compared_column_are_not_taken_for_treated(decided: bool) -> None:
    means, p_values = [], []
    for seed in range(sized(60, 300)):
        (found,) = people_with_skill(seed, decided=decided).answer()
        means.append(found.mean_gap if found.target == (1,) else -found.mean_gap)
        p_values.append(found.p_value)
        assert found.p_value is not None
    assert np.mean(means) > 5 * np.std(means) / np.sqrt(len(means))  # what is not adjusted is off
    assert np.mean(np.array(p_values) < 0.05) <= 0.08


@settings(max_examples=sized(15, 60), deadline=None)
@given(st.integers(0, 999), st.sampled_from([0.0, 0.15, 1.0]), st.sampled_from([0.8, 0.95]), st.booleans())
def test_interval_and_p_value_never_contradict_each_other(
    seed: int, effect: float, confidence: float, decided: bool
) -> None:
    (found,) = people_with_skill(seed, 120, effect, decided).answer(confidence=confidence)
    assert found.p_value is not None
    assert found.adjusted_low is not None
    assert found.adjusted_high is not None
    assert (found.adjusted_low > 0 or found.adjusted_high < 0) is (found.p_value < 1 - confidence)


def test_a_planted_effect_is_found_with_its_size_and_balance() -> None:
    (found,) = people_with_skill(0, 400, effect=0.8).answer(confidence=0.95)
    assert found.target == (1,)
    assert found.adjusted_low is not None
    assert found.adjusted_high is not None
    assert -0.25 < found.adjusted_low < found.adjusted_high < -0.05
    assert found.p_value is not None
    assert found.p_value < 0.001
    assert abs(found.mean_gap) < abs(found.adjusted_gap or 0.0)  # as the group has more skill
    skill, job = found.balance
    assert skill.difference is not None
    assert 0 < skill.difference < 0.1
    assert (skill.changed, job.difference) == (None, None)
    assert job.changed == pytest.approx(2 / 3, abs=0.1)


def test_no_seed_changes_a_direction_and_all_that_are_shown_are_adjusted_for_together() -> None:
    data = load_dataset("planted")
    noisy = np.clip(data.scores(data.test.X) + np.random.default_rng(0).normal(0, 0.2, len(data.test.X)), 0, 1)
    one, two = (
        audit(noisy, data.test.X, data.test.y, roles=data.roles, rule=data.rule, n_resamples=40, random_state=seed)
        for seed in (1, 2)
    )
    assert one.directions == two.directions
    assert one.column_directions == two.column_directions
    shown = [*one.directions, *(each for part in one.column_directions for each in part.directions)]
    p_values = [each.p_value for each in shown if each.p_value is not None]
    assert len(p_values) > 2
    assert [each.p_adjusted for each in shown if each.p_value is not None] == adjust_p_values(p_values).tolist()


@pytest.mark.long(2)
@pytest.mark.parametrize(("n_spokes", "n_others"), [(0, 30), (60, 20)])
def test_the_test_is_right_about_chance_also_where_one_person_is_in_most_pairs(n_spokes: int, n_others: int) -> None:
    table, pairs = star(n_spokes, n_others)
    random = np.random.default_rng(7)
    p_values = []
    for _ in range(sized(150, 400)):
        (found,) = measure_directions(pairs, table, scores_of(random.random(len(table))), confidence=None)
        p_values.append(found.p_value)
    if n_spokes:  # nearly all is known of one person only
        assert p_values == [None] * len(p_values)
    else:
        assert sized(0.01, 0.02) <= np.mean(np.array(p_values) <= 0.05) <= sized(0.1, 0.08)


@pytest.mark.parametrize("n", [9, 10])
def test_of_few_decisions_nothing_is_concluded(n: int) -> None:
    table, pairs = star(0, n)
    values = np.zeros(2 * n + 1)
    values[pairs.left] = 1.0
    (found,) = measure_directions(pairs, table, scores_of(values))
    assert found.adjusted_gap == -1.0
    assert (found.p_value is None) is (found.adjusted_low is None) is found.is_undecided is (n < 10)
    assert ("too few people to conclude" in str(found)) is (n < 10)


@pytest.mark.parametrize(("n_spokes", "n_others"), [(1, 0), (5, 0)])
def test_pairs_that_all_share_a_person_get_no_interval(n_spokes: int, n_others: int) -> None:
    table, pairs = star(n_spokes, n_others)
    values = np.random.default_rng(0).random(len(table))
    (found,) = measure_directions(pairs, table, scores_of(values))
    assert (found.low, found.high, found.p_value) == (None, None, None)


@settings(max_examples=sized(6, 20), deadline=None)
@given(questions())
def test_intervals_lie_around_the_mean_and_within_what_gaps_can_be(asked: Asked) -> None:
    for direction in asked.answer(confidence=0.95):
        assert (direction.low is None) is (direction.high is None) is (direction.p_value is None)
        if direction.low is not None and direction.high is not None:
            assert -1 <= direction.low <= direction.mean_gap <= direction.high <= 1


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
            assert one.adjusted_low <= one.adjusted_gap <= one.adjusted_high  # type: ignore[operator]
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
    policy = Policy(transitions={"sex: m -> f": {"max_signed_gap": -0.01}})
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


def test_bad_settings_are_refused() -> None:
    table, pairs = star(3, 3)
    with pytest.raises(ValueError, match=r"^most is -1"):
        measure_directions(pairs, table, scores_of(np.zeros(len(table))), most=-1)


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
    assert all(direction.lean <= 0 for direction in found)
    assert all(direction.origin < direction.target for direction in found if direction.mean_gap == 0)
    sizes = [direction.n_pairs for direction in found]
    assert sizes == sorted(sizes, reverse=True)
