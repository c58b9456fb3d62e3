"""Pairs in which nobody occurs twice."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sizes import sized

from likewise.auditing.pairs._kernels import match_apart

SETTINGS = settings(max_examples=sized(15, 60))
PAIRS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda pair: pair[0] != pair[1]), max_size=25)


def choose(pairs: list[tuple[int, int]], order: list[int] | None = None) -> list[bool]:
    """Say of each pair, as they were given, whether it is chosen."""
    both, n = np.array(pairs, np.int32).reshape(-1, 2), len(pairs)
    chosen = match_apart(both[:, 0].copy(), both[:, 1].copy(), np.array(order or range(n), np.int64), 10)
    return [place in chosen.tolist() for place in range(n)]


@SETTINGS
@given(PAIRS)
def test_pairs_are_taken_as_they_come(pairs: list[tuple[int, int]]) -> None:
    taken: set[int] = set()
    expected = []
    for pair in pairs:
        expected.append(taken.isdisjoint(pair))
        if expected[-1]:
            taken.update(pair)
    assert choose(pairs) == expected


@SETTINGS
@given(PAIRS.flatmap(lambda pairs: st.tuples(st.just(pairs), st.permutations(range(len(pairs))))))
def test_an_order_is_that_of_pairs_in_this_order(drawn: tuple[list[tuple[int, int]], list[int]]) -> None:
    pairs, order = drawn
    is_chosen = choose(pairs, order)
    assert [is_chosen[place] for place in order] == choose([pairs[place] for place in order])
