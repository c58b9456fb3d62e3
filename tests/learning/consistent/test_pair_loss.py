"""The loss of pairs: what it is, its slopes, and that drawing and grouping change nothing but the work."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, softmax
from tests.sizes import sized

from likewise import CodedTable, Comparability, group_pairs, mine_pairs
from likewise.exceptions import NoComparablePairs, TooManyPairs
from likewise.learning.consistent import _pair_graph
from likewise.learning.consistent._boosting import Objective
from likewise.learning.consistent._network import PairedLoss
from likewise.learning.consistent._pair_graph import DRAWS_A_POOL, ROUNDS_A_DRAW, PairGraph, PairSettings, find_groups
from likewise.learning.consistent._pair_loss import SMOOTH, Measured, PairLoss, measure_margins

RULE = Comparability(max_discrete_changes=1, max_continuous_shift=0.3)
N_DRAWS = sized(25, 300)


def make_table(seed: int, n_rows: int = 14, n_labels: int = 2) -> CodedTable:
    """Make rows of few values, so that many are equal and most have partners."""
    random = np.random.default_rng(seed)
    return CodedTable(
        sensitive=random.integers(2, size=(n_rows, 1)),
        discrete=random.integers(2, size=(n_rows, 2)),
        continuous=random.integers(3, size=(n_rows, 1)) / 2,
        labels=random.integers(n_labels, size=n_rows),
    )


def make_graph(table: CodedTable, weights: Any = None, **settings: Any) -> PairGraph:
    mass = np.ones(len(table)) if weights is None else np.asarray(weights, np.float64)
    return find_graph(table, PairSettings(RULE, **settings), mass)


def find_graph(table: CodedTable, settings: PairSettings, mass: Any) -> PairGraph:
    groups = find_groups(table, settings, 0)
    groups.refuse_none(settings.rule, table)
    return PairGraph.weigh(groups, mass, settings)


def by_definition(table: CodedTable, scores: Any, kind: str, *, labels: bool, people: bool) -> float:
    """Go over all pairs of rows."""
    pairs = mine_pairs(table, RULE)
    degree = np.bincount(np.concatenate([pairs.left, pairs.right]), minlength=len(table))
    weight = 1 / np.maximum(degree[pairs.left], degree[pairs.right]) if people else np.ones(len(pairs))
    gaps = scores[pairs.left] - scores[pairs.right]
    sizes = gaps**2 if kind == "squared" else np.sqrt(gaps**2 + SMOOTH**2) - SMOOTH
    if not labels:
        return float((weight * sizes).sum() / weight.sum())
    means = [np.average(sizes[pairs.label == one], weights=weight[pairs.label == one]) for one in set(pairs.label)]
    return float(np.mean(means))


def objective_of(
    table: CodedTable, graph: PairGraph, kind: Any, gap: Any, n_classes: int, weights: Any = None
) -> Objective:
    target = outcomes_of(table, n_classes)
    return Objective(PairLoss(graph, kind, 0), 3.0, gap=gap, target=target, n_classes=n_classes, weights=weights)


def outcomes_of(table: CodedTable, n_classes: int) -> Any:
    return table.labels if n_classes > 1 else np.random.default_rng(1).normal(size=len(table))


@pytest.mark.parametrize("kind", ["squared", "absolute"])
@pytest.mark.parametrize("labels", [True, False])
@pytest.mark.parametrize("people", [True, False])
def test_the_loss_is_the_weighted_mean_over_all_pairs(kind: Any, labels: bool, people: bool) -> None:
    table = make_table(3, n_rows=40)
    graph, scores = make_graph(table, balance_labels=labels, balance_people=people), np.random.default_rng(0).random(40)
    assert len(graph.left) < len(mine_pairs(table, RULE))  # rows of equal columns have unequal scores
    found = PairLoss(graph, kind, 0).measure(scores[graph.rows, None])
    assert found.value == pytest.approx(by_definition(table, scores, kind, labels=labels, people=people))


@given(
    seed=st.integers(0, 10_000),
    kind=st.sampled_from(["squared", "absolute"]),
    gap=st.sampled_from(["probability", "logit"]),
    n_classes=st.integers(1, 3),
    is_weighted=st.booleans(),
)
@settings(max_examples=N_DRAWS, deadline=None)
def test_slopes_are_those_of_the_loss(seed: int, kind: Any, gap: Any, n_classes: int, is_weighted: bool) -> None:
    table, random = make_table(seed, n_labels=max(n_classes, 1)), np.random.default_rng(seed)
    weights = random.uniform(0.1, 3.0, len(table)) if is_weighted else None
    try:
        graph = make_graph(table, weights)
    except NoComparablePairs:
        return
    gap = "outcome" if n_classes == 1 else gap
    objective = objective_of(table, graph, kind, gap, n_classes, weights)
    target, amounts = outcomes_of(table, n_classes), np.ones(len(table)) if weights is None else weights
    unit = 1.0 if n_classes > 1 else np.sqrt(np.cov(target, aweights=amounts, ddof=0))
    factor = 3.0 * amounts.sum() * (1.0 if n_classes > 1 else unit**2 / 2)

    def value(margins: Any) -> float:
        of_pairs = measure_margins(PairLoss(graph, kind, 0), margins[graph.rows] / unit, gap).value
        return float(amounts @ objective.losses(target, margins) + factor * of_pairs)

    margins = random.normal(size=(len(table), n_classes if n_classes > 2 else 1))
    slope, curvature = objective(None, margins)
    for row, column in np.ndindex(margins.shape):
        step = np.zeros_like(margins)
        step[row, column] = 1e-5
        numeric = (value(margins + step) - value(margins - step)) / 2e-5
        assert slope[row, column] == pytest.approx(numeric, rel=1e-5, abs=1e-6)
    assert (curvature > 0).all()


@given(seed=st.integers(0, 10_000), is_weighted=st.booleans())
@settings(max_examples=N_DRAWS, deadline=None)
def test_the_compiled_round_is_the_plain_one(seed: int, is_weighted: bool) -> None:
    table, random = make_table(seed, n_rows=30), np.random.default_rng(seed)
    weights = random.uniform(0.1, 3.0, len(table)) if is_weighted else np.ones(len(table))
    graph = make_graph(table, weights)
    plain = objective_of(table, graph, "squared", "probability", 2, weights)
    margins = random.normal(size=len(table))
    slope, curvature = plain(None, margins)
    factor = 3.0 * weights.sum()
    narrow = table.labels.astype(np.float32), weights.astype(np.float32)
    quick = PairLoss(graph, "squared", 0).add_to_log_loss(margins, *narrow, factor)
    assert np.allclose(quick[0], slope, rtol=1e-5, atol=1e-5)
    assert np.allclose(quick[1], curvature, rtol=1e-5, atol=1e-5)


def test_a_newton_step_by_the_curvature_never_raises_the_loss_of_pairs() -> None:
    table = make_table(8, n_rows=60)
    graph = make_graph(table, balance_people=False)
    loss, random = PairLoss(graph, "squared", 0), np.random.default_rng(0)
    for _ in range(20):
        scores = random.normal(size=(len(graph.rows), 1))
        found = loss.measure(scores)
        assert loss.measure(scores - found.slope / found.curvature).value < found.value


def test_nobody_weighs_more_than_one_pair() -> None:
    star = CodedTable(sensitive=[[0]] + [[1]] * 50 + [[0], [1]], discrete=[[0]] * 51 + [[1]] * 2)
    groups = find_groups(star, PairSettings(Comparability(max_discrete_changes=0)), 0)
    for balance, share in ((True, 0.5), (False, 50 / 51)):  # of the person in the middle, against the other pair
        setting = PairSettings(Comparability(max_discrete_changes=0), balance_people=balance)
        graph = PairGraph.weigh(groups, np.ones(53), setting)
        n_people = graph.mass[graph.left] * graph.mass[graph.right]
        of_group = np.bincount(graph.left, graph.weight * n_people, len(graph.mass))
        of_group += np.bincount(graph.right, graph.weight * n_people, len(graph.mass))
        assert of_group[graph.group_of[0]] == pytest.approx(share)


def test_a_row_of_weight_two_counts_as_two_rows() -> None:
    table, random = make_table(5, n_rows=30), np.random.default_rng(0)
    times = random.integers(1, 4, len(table))
    scores = random.random(len(table))
    weighted = make_graph(table, times)
    again = np.repeat(np.arange(len(table)), times)
    repeated = make_graph(table[again])
    one = PairLoss(weighted, "squared", 0).measure(scores[weighted.rows, None]).value
    two = PairLoss(repeated, "squared", 0).measure(scores[again][repeated.rows, None]).value
    assert one == pytest.approx(two)


def test_rows_of_weight_zero_have_no_pairs() -> None:
    table = make_table(6, n_rows=30)
    weights = (np.arange(30) % 2).astype(float)
    half = np.flatnonzero(weights)
    scores = np.random.default_rng(0).random(30)
    graph, alone = make_graph(table, weights), make_graph(table[half])
    one = PairLoss(graph, "squared", 0).measure(scores[graph.rows, None]).value
    two = PairLoss(alone, "squared", 0).measure(scores[half][alone.rows, None]).value
    assert one == pytest.approx(two)


@pytest.mark.parametrize("kind", ["squared", "absolute"])
def test_a_network_minimises_the_same_mean(kind: Any) -> None:
    table, scores = make_table(3, n_rows=40), np.random.default_rng(0).random(40)
    graph = make_graph(table)
    margins = torch.from_numpy(scores)[:, None]
    people = SimpleNamespace(inputs=SimpleNamespace(dense=lambda rows: margins[rows]), device="cpu")
    plain = SimpleNamespace(loss=lambda: 0.0, draw=lambda rows: (), is_steady=True, generators=())
    random: Any = np.random.default_rng(0)
    how: dict[str, Any] = {"kind": kind, "gap": "logit", "weight": 1.0, "n_pairs": 20_000, "random": random}
    network = PairedLoss(plain, torch.nn.Identity(), people, graph, **how)  # type: ignore[arg-type]
    found = float(network.loss(*network.draw(torch.arange(0))))
    assert found == pytest.approx(PairLoss(graph, kind, 0).measure(scores[graph.rows, None]).value, rel=0.02)


def measure_rounds(graph: PairGraph, scores: Any, n_rounds: int, kind: Any = "squared") -> list[Measured]:
    loss, rounds = PairLoss(graph, kind, 0), []
    for _ in range(n_rounds):
        loss.start_round()
        rounds.append(loss.measure(scores))
    return rounds


def test_drawn_pairs_are_as_many_as_asked_and_right_on_average(monkeypatch: pytest.MonkeyPatch) -> None:
    table = make_table(7, n_rows=300)
    table = CodedTable(
        sensitive=table.sensitive, continuous=np.random.default_rng(0).random((300, 1)), labels=table.labels
    )
    graph = make_graph(table)
    scores = np.random.default_rng(1).random((len(graph.rows), 1))
    whole = PairLoss(graph, "squared", 0).measure(scores)
    monkeypatch.setattr(_pair_graph, "PAIRS_A_ROUND", 300)
    assert len(graph.left) > 3_000
    assert graph.is_drawn
    rounds = measure_rounds(graph, scores, 200)
    assert {len(graph.draw(np.random.default_rng(seed)).left) for seed in range(5)} == {300}
    assert np.mean([one.value for one in rounds]) == pytest.approx(whole.value, rel=0.02)
    slopes = np.mean([one.slope for one in rounds], axis=0)
    assert np.corrcoef(slopes.ravel(), whole.slope.ravel())[0, 1] > 0.98
    assert len({one.value for one in rounds}) == 200 // ROUNDS_A_DRAW + 1  # others every few rounds
    assert [one.value for one in measure_rounds(graph, scores, 7)] == [one.value for one in rounds[:7]]


def test_absolute_gaps_of_many_rows_alike_are_drawn_and_right_on_average(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, scores = make_graph(make_table(7, n_rows=300)), np.random.default_rng(1).random((300, 1))
    whole = PairLoss(graph, "absolute", 0).measure(scores[graph.rows])
    monkeypatch.setattr(_pair_graph, "PAIRS_A_ROUND", 900)
    assert not graph.is_drawn
    rounds = measure_rounds(graph, scores[graph.rows], 200, "absolute")
    assert np.mean([one.value for one in rounds]) == pytest.approx(whole.value, rel=0.01)
    slopes = np.mean([one.slope for one in rounds], axis=0)
    assert np.corrcoef(slopes.ravel(), whole.slope.ravel())[0, 1] > 0.98


def test_every_pair_of_the_exact_set_is_drawn_sooner_or_later(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    labels = np.repeat([0, 0, 0, 0, 1], 12)
    graph = make_graph(CodedTable(sensitive=np.arange(60)[:, None] % 7, discrete=np.arange(60)[:, None], labels=labels))
    monkeypatch.setattr(_pair_graph, "PAIRS_A_ROUND", 100)
    counts: Counter[tuple[int, int]] = Counter()
    for _ in range(400):
        left, right, weight = graph.draw(random)
        n_people = graph.mass[left] * graph.mass[right]
        assert (weight * n_people).sum() == pytest.approx(1.0, rel=0.1)  # the weights of those not drawn are theirs
        counts.update(zip(left.tolist(), right.tolist(), strict=True))
    assert set(counts) == set(zip(graph.left.tolist(), graph.right.tolist(), strict=True))
    of_label = {label: [n for (left, _), n in counts.items() if graph.label[left] == label] for label in (0, 1)}
    assert all(max(n) < 2.5 * np.mean(n) for n in of_label.values())
    assert sum(of_label[1]) == 400 * 50  # half of each draw, though there are many fewer pairs of this label


@pytest.mark.long(2)
@pytest.mark.parametrize("why", ["do not fit into memory", "are among many people"])
def test_pairs_that_are_too_many_are_those_among_some_people_and_later_among_others(
    why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def group_few(people: CodedTable, *args: Any, **params: Any) -> Any:
        if len(people) > 110:
            raise TooManyPairs("too many")
        return group_pairs(people, *args, **params)

    random = np.random.default_rng(0)
    table = CodedTable(sensitive=random.integers(3, size=(400, 1)), continuous=random.random((400, 1)))
    whole, scores = make_graph(table, balance_people=False), random.random((400, 1))
    wanted = PairLoss(whole, "squared", 0).measure(scores[whole.rows]).value
    if why == "are among many people":
        monkeypatch.setattr(_pair_graph, "MOST_PEOPLE", 399)
        monkeypatch.setattr(_pair_graph, "SOME_PEOPLE", 100)
    else:
        monkeypatch.setattr(_pair_graph, "FEWEST_PEOPLE", 2)
        monkeypatch.setattr(_pair_graph, "group_pairs", group_few)
    monkeypatch.setattr(_pair_graph, "PAIRS_A_ROUND", 50)
    some = make_graph(table, balance_people=False)
    assert len(some.rows) <= 100
    assert 50 < len(some.left) < len(whole.left) / 10
    assert some.n_pairs == pytest.approx(whole.n_pairs, rel=0.25)  # of all pairs there are
    loss, parts, values, seen = PairLoss(some, "squared", 0), set(), [], set()
    for _ in range(900):
        loss.start_round()
        parts.add(loss.graph.rows.tobytes())
        seen |= {*loss.graph.rows.tolist()}
        values.append(loss.measure(scores[loss.graph.rows]).value)
    assert len(parts) == 900 // (ROUNDS_A_DRAW * DRAWS_A_POOL) + 1
    assert len(seen) == 400
    assert np.mean(values) == pytest.approx(wanted, rel=0.05)


def test_a_million_people_with_few_pairs_keep_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    table = CodedTable(sensitive=np.arange(400)[:, None] % 2, discrete=np.arange(400)[:, None] // 2)
    monkeypatch.setattr(_pair_graph, "MOST_PEOPLE", 399)
    monkeypatch.setattr(_pair_graph, "SOME_PEOPLE", 100)
    settings = PairSettings(Comparability(max_discrete_changes=0))
    graph = find_graph(table, settings, np.ones(400))
    assert len(graph.left) == 200
    assert graph.draw_again is None


def test_two_labels_are_several_labels() -> None:
    table, random = make_table(9, n_rows=30), np.random.default_rng(0)
    graph = make_graph(table)
    margins = random.normal(size=(30, 1))
    halves = np.hstack([-margins / 2, margins / 2])
    assert np.allclose(softmax(halves, axis=1)[:, 1:], expit(margins))
    for kind, gap in [(kind, gap) for kind in ("squared", "absolute") for gap in ("probability", "logit")]:
        if kind == "absolute" and gap == "logit":
            continue  # smoothed at another size of gaps
        pair = PairLoss(graph, kind, 0)  # type: ignore[arg-type]
        one, two = (measure_margins(pair, m[graph.rows], gap).value for m in (margins, halves))  # type: ignore[arg-type]
        assert one == pytest.approx(two)


def test_no_pairs_are_refused_with_what_to_change() -> None:
    with pytest.raises(NoComparablePairs, match=r"No comparable pairs among 2 training rows\. No two people"):
        make_graph(CodedTable(sensitive=[[0], [0]]))
    with pytest.raises(NoComparablePairs, match="sample weight above 0"):
        make_graph(CodedTable(sensitive=[[0], [1]]), [1.0, 0.0])
