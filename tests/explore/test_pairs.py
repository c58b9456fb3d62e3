"""Filters leave what they say, pages follow each other without loss, and strange wishes are refused in words."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.explore.conftest import ROLES, RULE, make_people, score_people
from tests.sizes import sized

from likewise.explore import Explorer
from likewise.explore import _pairs as selection

AT = {"changes": 2, "shift": 0.2}


@cache
def explorer() -> Explorer:
    return Explorer(score_people, make_people(), roles=ROLES, rule=RULE)


def walk(wish: dict[str, Any]) -> list[dict[str, Any]]:
    first = explorer().look({**AT, "size": 50, **wish})
    found = list(first["pairs"])
    for page in range(1, -(-first["selection"]["n"] // 50)):
        found += explorer().look({**AT, "size": 50, **wish, "page": page})["pairs"]
    assert len(found) == first["selection"]["n"]
    return found


@cache
def everything() -> list[dict[str, Any]]:
    return walk({"sort": "row", "is_rising": True})


@given(
    label=st.none() | st.integers(0, 2),
    transition=st.none() | st.integers(0, 20),
    least_gap=st.sampled_from([0.0, 0.05, 0.2, 5.0]),
    sort=st.sampled_from(["gap", "rank_gap", "row"]),
    is_rising=st.booleans(),
)
@settings(max_examples=sized(10, 40))
def test_pages_hold_exactly_what_passes_the_filters_in_order(
    label: int | None, transition: int | None, least_gap: float, sort: str, is_rising: bool
) -> None:
    wish = {"label": label, "transition": transition, "least_gap": least_gap, "sort": sort, "is_rising": is_rising}
    found = walk(wish)
    names = explorer()._held.names

    def passes(pair: dict[str, Any]) -> bool:
        sides = {tuple(pair["left_is"]), tuple(pair["right_is"])}
        known = transition is not None and transition < len(names)
        wanted = (
            {explorer()._held.combinations[one] for one in names[transition]}
            if known and transition is not None
            else None
        )
        return (
            (label is None or pair["label"] == label)
            and (transition is None or sides == wanted)
            and pair["gap"] >= least_gap - 1e-9
        )

    rows = [(pair["left_row"], pair["right_row"]) for pair in found]
    assert sorted(rows) == [(pair["left_row"], pair["right_row"]) for pair in everything() if passes(pair)]
    values = rows if sort == "row" else [round(pair[sort], 12) for pair in found]
    assert values == sorted(values, reverse=not is_rising)


def test_the_counts_of_a_selection_are_those_of_its_pairs() -> None:
    answer = explorer().look({**AT, "label": 1, "least_gap": 0.1})
    assert sum(answer["selection"]["counts"]) == answer["selection"]["n"] < answer["n_pairs"]
    assert answer["selection"]["gap_mean"] >= 0.1


def test_a_page_beyond_the_last_is_the_last() -> None:
    answer = explorer().look({**AT, "page": 10**9})
    assert answer["page"] == (answer["n_pairs"] - 1) // 25
    assert answer["pairs"]


def test_the_walk_crosses_the_steps_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = walk({"least_gap": 0.1})
    monkeypatch.setattr(selection, "SCANNED_AT_ONCE", 7)
    assert walk({"least_gap": 0.1}) == whole


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ({"shift": 0.1}, "changes is missing"),
        ({**AT, "changes": 1.5}, "changes is 1.5"),
        ({**AT, "changes": "1"}, "changes is '1'"),
        ({**AT, "changes": True}, "changes is True"),
        ({**AT, "shift": float("nan")}, "shift is nan"),
        ({**AT, "shift": -1}, "shift is -1"),
        ({**AT, "shift": [1]}, "shift is"),
        ({**AT, "sort": "name"}, "sort is 'name'"),
        ({**AT, "size": 10**6}, "at most 200"),
        ({**AT, "page": -1}, "page is -1"),
        ({**AT, "file": "/etc/passwd"}, "'file' is unknown"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(wish: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        explorer().look(wish)
