"""Whom an audit covers."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.sizes import sized

from likewise import CodedTable, Comparability, mine_pairs
from likewise.auditing.evidence._coverage import find_partnered, measure_coverage, person_gaps
from likewise.exceptions import ScoreError
from likewise.record._internal import Coverage


@dataclass(frozen=True)
class Listed:
    """Pairs written down by hand."""

    left: NDArray[np.int32]
    right: NDArray[np.int32]


def listed(*pairs: tuple[int, int]) -> Listed:
    both = np.array(pairs, np.int32).reshape(-1, 2)
    return Listed(both[:, 0], both[:, 1])


@st.composite
def tables(draw: st.DrawFn) -> CodedTable:
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows, n_columns = draw(st.integers(0, 20)), draw(st.integers(0, 3))
    spread = draw(st.sampled_from([1, 3, 1_000_000]))  # codes may lie far apart
    codes = random.integers(0, 3, (n_rows, n_columns)) * spread
    labels = random.integers(0, draw(st.integers(1, 3)), n_rows)
    return CodedTable(sensitive=codes, labels=labels, classes=["no", "perhaps", "yes"])


@settings(max_examples=sized(10, 60), deadline=None)
@given(tables(), st.data())
def test_it_counts_the_people_that_each_part_is_about(table: CodedTable, data: st.DataObject) -> None:
    has_partner = np.array(data.draw(st.lists(st.booleans(), min_size=len(table), max_size=len(table))), np.bool_)
    names = table.names["sensitive"]
    for part in measure_coverage(has_partner, table):
        columns = [names.index(name) for name in part.columns]
        people = (table.sensitive[:, columns] == np.array(part.values, np.int32)).all(axis=1)
        if part.label is not None:
            people &= table.classes[table.labels] == part.label
        assert part.n_people == people.sum()
        assert part.n_with_partner == (people & has_partner).sum()


def test_values_are_those_of_the_table() -> None:
    table = CodedTable(
        sensitive=[[0, 1], [1, 1], [1, 0]],
        names={"sensitive": ("sex", "race")},
        categories={"sex": ("f", "m"), "race": ("a", None)},
    )
    found = {(part.columns, part.values): part.share for part in measure_coverage([True, False, True], table)}
    assert found == {
        ((), ()): 2 / 3,
        (("sex",), ("f",)): 1.0,
        (("sex",), ("m",)): 0.5,
        (("race",), ("a",)): 1.0,
        (("race",), (None,)): 0.5,
        (("sex", "race"), ("f", None)): 1.0,
        (("sex", "race"), ("m", "a")): 1.0,
        (("sex", "race"), ("m", None)): 0.0,
    }


def test_one_label_is_no_part_of_its_own() -> None:
    assert len(measure_coverage([True], CodedTable(labels=[0]))) == 1


def test_nobody_has_no_share() -> None:
    assert measure_coverage([], CodedTable())[0].share is None


@settings(max_examples=sized(8, 40), deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 12))
def test_a_person_suffers_the_largest_gap_of_all_their_pairs(seed: int, n_people: int) -> None:
    random = np.random.default_rng(seed)
    chosen = [pair for pair in combinations(range(n_people), 2) if random.random() < 0.3]
    gaps = random.integers(0, 5, len(chosen)) / 4
    worst = person_gaps(listed(*chosen), gaps, n_people)
    has_partner = find_partnered(listed(*chosen), n_people)
    for person in range(n_people):
        own = [gap for pair, gap in zip(chosen, gaps.tolist(), strict=True) if person in pair]
        assert bool(has_partner[person]) is bool(own)
        assert worst[person] == max(own) if own else np.isnan(worst[person])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: find_partnered(listed((0, 5)), 5), "n_people is 5, but the pairs point at 6 rows"),
        (lambda: person_gaps(listed((0, 1)), [0.1, 0.2], 2), r"shape \(2,\); there are 1 pairs"),
        (lambda: measure_coverage([True], CodedTable(labels=[0, 0])), "the table has 2 rows"),
        (lambda: measure_coverage([0.5, 1.0], CodedTable(labels=[0, 0])), "float64"),
    ],
)
def test_what_does_not_fit_is_refused(call: Any, words: str) -> None:
    with pytest.raises(ScoreError, match=words):
        call()


def test_pairs_between_two_tables_have_no_one_list_of_people() -> None:
    one, other = (CodedTable(sensitive=[[code]], labels=[0]) for code in (0, 1))
    with pytest.raises(ScoreError, match="between two tables"):
        find_partnered(mine_pairs(one, other, Comparability()), 2)


def test_a_number_of_people_is_a_whole_one() -> None:
    with pytest.raises(ValueError, match="n_people"):
        find_partnered(listed(), -1)


@settings(max_examples=sized(8, 40), deadline=None)
@given(tables())
def test_every_family_of_parts_counts_everybody_once(table: CodedTable) -> None:
    parts = measure_coverage(np.zeros(len(table), np.bool_), table)
    assert parts[0] == Coverage(n_people=len(table), n_with_partner=0)
    names = table.names["sensitive"]
    families = [*((name,) for name in names), *([names] if len(names) > 1 else [])]
    for family in families:
        members = [part for part in parts if part.columns == family]
        assert sum(part.n_people for part in members) == len(table)
        assert len({part.values for part in members}) == len(members)
        assert all(part.n_people for part in members)
    by_label = [part for part in parts if part.label is not None]
    assert sum(part.n_people for part in by_label) == len(table)
    assert len(parts) == 1 + len(by_label) + sum(len(part.columns) > 0 for part in parts)
