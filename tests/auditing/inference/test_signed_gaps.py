"""The signed gap of people who are alike in every compared column, and Holm's correction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import t
from tests.sizes import sized

from likewise import CodedTable
from likewise.auditing import Scores, adjust_p_values, measure_directions
from likewise.exceptions import ScoreError

SHARES = st.lists(st.integers(0, 100).map(lambda k: k / 100), max_size=12)
Floats = NDArray[np.float64]


class Drawn:
    """Two groups with a number, a rank and a discrete column, pairs of them at random, weights and clusters."""

    def __init__(self, seed: int, weighted: bool, clustered: bool) -> None:
        random = np.random.default_rng(seed)
        n = int(random.integers(30, 80))
        self.group = random.integers(0, 2, n)
        self.table = CodedTable(
            sensitive=self.group[:, None],
            continuous=random.random((n, 1)),
            ordinal=random.integers(0, 5, (n, 1)),
            discrete=random.integers(0, 3, (n, 1)),
        )
        left, right = np.triu_indices(n, 1)
        kept = (random.random(len(left)) < 0.3) & (self.group[left] != self.group[right])
        self.left, self.right = left[kept].astype(np.int32), right[kept].astype(np.int32)
        self.values = random.random(n) + 0.3 * self.table.continuous[:, 0] - 0.1 * self.group
        self.weights = random.exponential(size=n) if weighted else None
        self.clusters = random.integers(0, 14, n) if clustered else None

    @property
    def scores(self) -> Scores:
        return Scores(self.values, "regression", weights=self.weights)


def adjust_by_hand(drawn: Drawn) -> tuple[float, float, float]:
    """Return the adjusted gap of group 1 over group 0, its standard error, widened, and the degrees of freedom."""
    is_first = drawn.group[drawn.left] == 0
    i, j = np.where(is_first, (drawn.left, drawn.right), (drawn.right, drawn.left))
    people = np.column_stack([drawn.table.continuous, drawn.table.ordinal, np.eye(3)[drawn.table.discrete[:, 0]]])
    x = np.column_stack([np.ones(len(i)), people[j] - people[i]])
    w = np.ones(len(i)) if drawn.weights is None else drawn.weights[i] * drawn.weights[j]
    inverse = np.linalg.pinv(x.T @ (w[:, None] * x))
    y = drawn.values[j] - drawn.values[i]
    beta = inverse @ (x.T @ (w * y))
    psi = w * (y - x @ beta) * (x @ inverse[0])
    unit = np.arange(len(drawn.table)) if drawn.clusters is None else drawn.clusters
    units = np.unique(np.concatenate([unit[i], unit[j]]))
    phi = []
    for one in units:
        touches = (unit[i] == one) | (unit[j] == one)
        phi.append(psi[touches].sum() / (1 - w[touches].sum() / w.sum()))
    squares, of_pairs = np.square(phi), float(psi @ psi) if drawn.clusters is None else 0.0
    variance = max(squares.sum() - of_pairs, of_pairs)
    sides = [np.array([w[unit[side] == one].sum() for one in units]) for side in (i, j)]
    kish = [side.sum() ** 2 / (side**2).sum() for side in sides]
    n_left = sum(kish) - np.linalg.matrix_rank(x) + 1
    n = min(*kish, n_left, 2 * squares.sum() ** 2 / (squares**2).sum())
    return float(beta[0]), 1.1 * float(np.sqrt(variance * sum(kish) / n_left)), n - 1


@settings(max_examples=sized(20, 80), deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_it_is_the_intercept_of_a_regression_of_signed_gaps(seed: int, weighted: bool, clustered: bool) -> None:
    drawn = Drawn(seed, weighted, clustered)
    value, error, freedom = adjust_by_hand(drawn)
    (found,) = measure_directions(drawn, drawn.table, drawn.scores, clusters=drawn.clusters)
    assume(found.p_value is not None)  # of ten people and more
    found = found if found.target == (1,) else found.reversed()
    reach = error * t.ppf(0.975, freedom)
    assert [found.adjusted_gap, found.adjusted_low, found.adjusted_high, found.p_value] == pytest.approx(
        [value, value - reach, value + reach, 2 * t.sf(abs(value) / error, freedom)]
    )


def test_columns_that_tell_the_groups_apart_in_every_pair_leave_nothing_to_conclude() -> None:
    group = np.repeat([0, 1], 40)
    rows = np.arange(40, dtype=np.int32)
    table = CodedTable(sensitive=group[:, None], discrete=group[:, None])
    scores = Scores(np.random.default_rng(0).random(80), "regression")

    class Matched:
        left, right = rows, rows + np.int32(40)

    (found,) = measure_directions(Matched, table, scores)
    assert (found.adjusted_gap, found.p_value, found.is_undecided) == (None, None, True)
    assert [one.changed for one in found.balance] == [1.0]


def test_where_people_of_a_cluster_are_alike_it_is_less_certain() -> None:
    random, rejected = np.random.default_rng(1), np.zeros(2)
    cluster = np.repeat(np.arange(24), 10)
    share = random.random(24)
    for _ in range(sized(60, 300)):
        group = (random.random(240) < share[cluster]).astype(int)
        values = 1.5 * random.normal(size=24)[cluster] + random.normal(size=240)
        left, right = np.nonzero(np.triu(group[:, None] != group) & (random.random((240, 240)) < 0.1))

        class Listed:
            pass

        pairs: Any = Listed()
        pairs.left, pairs.right = left.astype(np.int32), right.astype(np.int32)
        table = CodedTable(sensitive=group[:, None])
        for place, clusters in enumerate((None, cluster)):
            (found,) = measure_directions(pairs, table, Scores(values, "regression"), clusters=clusters)
            assert found.p_value is not None
            rejected[place] += found.p_value < 0.05
    alone, together = rejected / sized(60, 300)
    assert alone > 0.15
    assert together <= 0.1


@settings(max_examples=sized(15, 60))
@given(SHARES)
def test_holm_raises_each_p_value_by_how_many_are_not_smaller(p_values: list[float]) -> None:
    ordered = sorted(p_values)
    expected = [
        min(1.0, max((len(ordered) - i) * ordered[i] for i in range(ordered.index(p) + 1)) if ordered else 1.0)
        for p in p_values
    ]
    # of equal p-values the first in order is raised most, and the others with it
    assert adjust_p_values(p_values) == pytest.approx(expected)


@settings(max_examples=sized(10, 40))
@given(SHARES)
def test_adjusting_keeps_the_order_and_lowers_nothing(p_values: list[float]) -> None:
    adjusted = adjust_p_values(p_values)
    assert (adjusted >= np.array(p_values)).all()
    assert (adjusted <= 1).all()
    order = np.argsort(p_values, kind="stable")
    assert (np.diff(adjusted[order]) >= 0).all()


@pytest.mark.parametrize("p_values", [[0.5, 1.5], [-0.1], [np.nan], ["a"], [[0.5]]])
def test_what_are_no_p_values_is_refused(p_values: Any) -> None:
    with pytest.raises(ScoreError, match="p-values"):
        adjust_p_values(p_values)
