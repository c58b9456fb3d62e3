"""What if: the score is the model's own for the changed person; what the model cannot say is said plainly."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.explore.conftest import ROLES, RULE, make_people, score_people

from likewise.exceptions import ScoreError
from likewise.explore import Explorer
from likewise.schema import Roles


def first_pair(explorer: Explorer) -> tuple[int, int]:
    worst = explorer.look({"changes": 1, "shift": 0.1})["pairs"][0]
    return worst["left_row"], worst["right_row"]


def field(explorer: Explorer, column: str) -> dict[str, Any]:
    return next(one for one in explorer.about()["fields"] if one["column"] == column)


def test_a_changed_field_moves_the_score_as_the_model_says(explorer: Explorer, people: pa.Table) -> None:
    left, right = first_pair(explorer)
    options = field(explorer, "race")["options"]
    for side, row in (("left", left), ("right", right)):
        for place, race in enumerate(options):
            found = explorer.what_if(left, right, side, {"race": place})
            person = people.slice(row, 1).set_column(0, "race", pa.array([race]))
            assert found["after"] == pytest.approx(score_people(person)[0, 1])
            assert found["before"] == pytest.approx(score_people(people.slice(row, 1))[0, 1])
            other = score_people(people.slice(right if side == "left" else left, 1))[0, 1]
            assert found["gap_after"] == pytest.approx(abs(found["after"] - other))
            assert found["decision_after"] == (found["after"] >= 0.5)


def test_numbers_are_free_and_those_nobody_has_are_marked(explorer: Explorer) -> None:
    rows = first_pair(explorer)
    assert explorer.what_if(*rows, "left", {"age": 30})["outside"] == []
    found = explorer.what_if(*rows, "left", {"age": 70})
    assert found["outside"] == ["age"]
    assert explorer.what_if(*rows, "left", {"pay": 2.125})["outside"] == []


@pytest.mark.long(2)
@pytest.mark.parametrize("kind", ["pandas", "categories", "polars", "enum"])
def test_frames_of_every_kind_are_changed_in_their_own_types(people: pa.Table, kind: str) -> None:
    frame: Any = people.to_pandas()
    if kind == "categories":
        frame = frame.astype({"race": "category", "job": "category"})
    if kind in ("polars", "enum"):
        frame = pl.DataFrame(pl.from_arrow(people))
    if kind == "enum":
        frame = frame.with_columns(pl.col("race").cast(pl.Enum(["blue", "green", "red"])))
    seen: list[Any] = []

    def score(given: Any) -> Any:
        seen.append(given)
        table = (
            pa.Table.from_pandas(given.astype({"race": str})) if isinstance(given, pd.DataFrame) else given.to_arrow()
        )
        return score_people(table)[:, 1]

    explorer = Explorer(score, frame, roles=ROLES, rule=RULE)
    rows = first_pair(explorer)
    before, after = (explorer.what_if(*rows, "left", {"race": place})["after"] for place in (0, 1))
    assert before - after == pytest.approx(0.2)
    assert list(seen[-1].dtypes) == list(frame.dtypes)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"age": 30.5}, "holds integers"),
        ({"age": "30"}, "finite"),
        ({"age": None}, "finite"),
        ({"age": 1e300}, "finite"),
        ({"race": 99}, "choose one"),
        ({"race": "blue"}, "choose one"),
        ({"race": -1}, "choose one"),
        ({"hired": 1}, "no compared column 'hired'"),
    ],
)
def test_what_does_not_fit_is_told_in_plain_words(explorer: Explorer, changed: dict[str, Any], words: str) -> None:
    with pytest.raises(ScoreError, match=words):
        explorer.what_if(*first_pair(explorer), "left", changed)


def test_nonsense_about_sides_is_refused(explorer: Explorer) -> None:
    with pytest.raises(ScoreError, match="whom of the two"):
        explorer.what_if(*first_pair(explorer), "both", {"age": 30})


def test_a_model_that_fails_at_a_value_says_so_in_a_line(people: pa.Table) -> None:
    def score(frame: Any) -> Any:
        if max(frame.column("age").to_pylist()) > 60:
            raise KeyError("nobody is that old\nat all")
        return score_people(frame)

    explorer = Explorer(score, people, roles=ROLES, rule=RULE)
    with pytest.raises(ScoreError, match="The model cannot score this: KeyError"):
        explorer.what_if(*first_pair(explorer), "left", {"age": 61})


def test_a_model_that_does_not_repeat_itself_is_found_out(people: pa.Table) -> None:
    random = np.random.default_rng(0)
    explorer = Explorer(lambda frame: random.random(frame.num_rows), people, roles=ROLES, rule=RULE)
    with pytest.raises(ScoreError, match="no longer reproduces"):
        explorer.what_if(*first_pair(explorer), "left", {"age": 30})


def test_fields_that_cannot_be_typed_in_are_left_out() -> None:
    people = make_people(60)
    codes = pa.array([f"c{k}" for k in range(600)] * 1)
    many = pa.concat_tables([people] * 10).append_column("code", codes)
    roles = Roles.from_dict(ROLES.to_dict() | {"discrete": [*ROLES.discrete, "code"]})
    explorer = Explorer(score_people, many, roles=roles, rule=RULE, max_pairs=100_000)
    assert "too many" in field(explorer, "code")["why_not"]
    with pytest.raises(ScoreError, match="too many"):
        explorer.what_if(*first_pair(explorer), "left", {"code": 0})


ANSWERS: dict[str, Any] = {
    "one number": lambda n: 0.5,
    "nothing": lambda n: None,
    "a cube": lambda n: np.zeros((n, 2, 2)),
    "too few": lambda n: np.zeros(n - 1),
    "no numbers": lambda n: np.full(n, np.nan),
    "words": lambda n: ["yes"] * n,
}


@pytest.mark.long(3)
@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_an_answer_of_the_model_that_is_no_score_is_told_in_a_line(people: pa.Table, answer: Any) -> None:
    asked: list[int] = []

    def score(frame: Any) -> Any:
        asked.append(len(frame))
        return score_people(frame) if len(asked) == 1 else answer(len(frame))

    explorer = Explorer(score, people, roles=ROLES, rule=RULE)
    with pytest.raises(ScoreError, match="The model"):
        explorer.what_if(*first_pair(explorer), "left", {"age": 30})


def test_a_model_is_asked_one_question_at_a_time(people: pa.Table) -> None:
    at_once: list[int] = []
    under_way: list[None] = []

    def score(frame: Any) -> Any:
        under_way.append(None)
        at_once.append(len(under_way))
        time.sleep(0.01)
        under_way.pop()
        return score_people(frame)

    explorer = Explorer(score, people, roles=ROLES, rule=RULE)
    left, right = first_pair(explorer)
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda age: explorer.what_if(left, right, "left", {"age": age}), range(20, 36)))
    assert max(at_once) == 1
    assert [one["after"] for one in found] == sorted(one["after"] for one in found)
