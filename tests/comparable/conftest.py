"""Random tables and rules, small enough to compare every two rows, odd enough to find what an engine forgot."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.typing import NDArray

from likewise import CodedTable, Comparability

STEPS = 40  # continuous values are k/40, so that shifts of 1/40 are ties
SHIFTS = (0.0, 1 / STEPS, 0.1, 0.3, 1.0)
POOL = ("a", "b", "c", "d", "e", "f")
CODED = ("sensitive", "discrete", "ordinal", "matched")


@dataclass(frozen=True)
class Case:
    """A rule and what it is asked about; ``right`` is None for the pairs within one table."""

    left: CodedTable
    right: CodedTable | None
    rule: Comparability

    @property
    def tables(self) -> tuple[CodedTable, ...]:
        return (self.left,) if self.right is None else (self.left, self.right)

    @property
    def question(self) -> tuple[Any, ...]:
        """What to hand to ``mine_pairs`` and its like."""
        return (*self.tables, self.rule)

    @cached_property
    def expected(self) -> NDArray[np.int64]:
        """All comparable pairs in order, by the definition."""
        if self.right is None:
            left, right = np.triu_indices(len(self.left), 1)
        else:
            left, right = (index.ravel() for index in np.indices((len(self.left), len(self.right))))
        near = self.rule.holds(self.left[left], self.tables[-1][right])
        return np.column_stack([left[near], right[near]])

    @cached_property
    def expected_counts(self) -> Counter[tuple[Any, tuple[Any, ...], tuple[Any, ...]]]:
        """The same pairs, tallied by label and sensitive values."""
        tally: Counter[tuple[Any, tuple[Any, ...], tuple[Any, ...]]] = Counter()
        for left, right in self.expected.tolist():
            label = self.left.classes[self.left.labels[left]].item()
            first, second = self.left.sensitive[left].tolist(), self.tables[-1].sensitive[right].tolist()
            if self.right is None:
                first, second = min(first, second), max(first, second)
            tally[label, values_of(self.left, first), values_of(self.tables[-1], second)] += 1
        return tally


def values_of(table: CodedTable, codes: list[int]) -> tuple[Any, ...]:
    known = [table.categories.get(name) for name in table.names["sensitive"]]
    return tuple(code if values is None else values[code] for values, code in zip(known, codes, strict=True))


@st.composite
def random_cases(draw: st.DrawFn, max_rows: int = 24) -> Case:
    """Draw the shape of a table and its rule piece by piece, and fill it at random."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    differs = draw(st.sampled_from(["any", "all", "none"]))
    widths = {
        "sensitive": draw(st.integers(0 if differs == "none" else 1, 3)),
        "discrete": draw(st.integers(0, 6)),
        "ordinal": draw(st.integers(0, 2)),
        "matched": draw(st.integers(0, 2)),
        "continuous": draw(st.integers(0, 3)),
    }
    n_codes = draw(st.integers(1, 4))
    n_steps = draw(st.sampled_from([0, 2, STEPS]))
    n_labels = draw(st.integers(1, 3))
    n_rows = [draw(st.integers(0, 2) | st.integers(3, max_rows)) for _ in range(draw(st.integers(1, 2)))]
    tables = [_fill(random, n, widths, n_codes, n_steps, n_labels) for n in n_rows]
    if draw(st.booleans()):
        tables = [_with_categories(random, table) for table in tables]
    return Case(tables[0], tables[1] if len(tables) > 1 else None, draw(_rules(widths, tables[0], differs)))


@st.composite
def _rules(draw: st.DrawFn, widths: dict[str, int], table: CodedTable, differs: Any) -> Comparability:
    shift = st.sampled_from(SHIFTS)
    ranks = st.sampled_from([0, 1, 1.5, 2])
    names = [*table.names["discrete"], *table.names["ordinal"], *table.names["continuous"]]
    must_match = st.lists(st.sampled_from(names), unique=True, max_size=2).map(tuple) if names else st.just(())
    n_continuous = widths["continuous"]
    return Comparability(
        max_discrete_changes=draw(st.integers(0, widths["discrete"] + 1)),
        max_continuous_shift=draw(
            shift
            | st.lists(shift, min_size=n_continuous, max_size=n_continuous)
            | st.fixed_dictionaries(dict.fromkeys(table.names["continuous"], shift))
        ),
        max_ordinal_shift=draw(ranks | st.fixed_dictionaries(dict.fromkeys(table.names["ordinal"], ranks))),
        sensitive_differs=differs,
        must_match=draw(must_match),
    )


def _fill(
    random: np.random.Generator, n_rows: int, widths: dict[str, int], n_codes: int, n_steps: int, n_labels: int
) -> CodedTable:
    codes: dict[str, Any] = {
        kind: random.integers(0, n_codes, (n_rows, widths[kind]), dtype=np.int32) for kind in CODED
    }
    continuous = random.integers(0, n_steps + 1, (n_rows, widths["continuous"])) / STEPS
    continuous[random.random(continuous.shape) < 0.05] = -1e9  # what a missing value is coded as
    continuous[(continuous == 0) & (random.random(continuous.shape) < 0.5)] = -0.0
    return CodedTable(**codes, continuous=continuous, labels=random.integers(0, n_labels, n_rows))


def _with_categories(random: np.random.Generator, table: CodedTable) -> CodedTable:
    """Let codes stand for values, in an order of the table's own: equal codes of two tables then differ."""
    names = [name for kind in ("sensitive", "discrete", "matched") for name in table.names[kind]]
    categories = {name: tuple(random.permutation(POOL).tolist()) for name in names}
    return replace(table, categories=categories, classes=random.permutation(["no", "perhaps", "yes"]))


@pytest.fixture(scope="session")
def cases() -> st.SearchStrategy[Case]:
    return random_cases()
