"""The worst pairs, side by side."""

from __future__ import annotations

import datetime
import io
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from likewise import Comparability, Roles, mine_pairs
from likewise.auditing._internal import AuditSettings
from likewise.auditing.evidence._cases import describe_pairs
from likewise.auditing.evidence._tables import cases_table
from likewise.auditing.pairs._meter import ScoredPeople
from likewise.auditing.question._question import Question, make_question
from likewise.exceptions import ScoreError
from likewise.record._internal import Factor, PairCase

PEOPLE = {
    "name": ["Ann", "Ben", "Cem", "Dee"],
    "sex": ["f", "m", "f", None],
    "age": [30, 39, 31, 65],  # sensitive, in two bins
    "job": ["cook", "cook", "smith", "cook"],
    "size": ["S", "M", "M", "M"],
    "town": ["here", "here", "here", "here"],
    "income": [1000.0, 1100.0, 1050.0, 2000.0],
    "hired": datetime.date(2020, 1, 1),
    "paid": ["yes", "yes", "yes", "no"],
}
ROLES = Roles(
    sensitive=["sex", "age"],
    discrete=["job", "hired"],
    ordinal={"size": ["S", "M", "L"]},
    matched="town",
    continuous="income",
    label="paid",
    row_id="name",
    bins={"age": [40, 60]},
)
RULE = Comparability(max_discrete_changes=1, max_continuous_shift=0.2, max_ordinal_shift=1, must_match=("hired",))
KINDS = ("pandas", "polars", "pyarrow")
SCORES = [0.25, 0.75, 0.5, 0.5]


def people(kind: str = "pyarrow", **changed: Any) -> Any:
    columns = {name: value if isinstance(value, list) else [value] * 4 for name, value in (PEOPLE | changed).items()}
    table = pa.table(columns)
    return {"pandas": table.to_pandas, "polars": lambda: pl.from_arrow(table), "pyarrow": lambda: table}[kind]()


def ask(frame: Any, scores: Any, roles: Roles = ROLES, rule: Comparability = RULE, **settings: Any) -> Question:
    y = settings.pop("y", None)
    return make_question(scores, frame, y, roles=roles, rule=rule, settings=AuditSettings(**settings))


def describe(frame: Any, scores: Any, **settings: Any) -> tuple[PairCase, ...]:
    """Describe all pairs, those with the largest gaps first."""
    question = ask(frame, scores, **settings)
    pairs = mine_pairs(question.table, question.rule)
    found = ScoredPeople.of(question.table, question.scores).measure(pairs.left, pairs.right)
    order = np.argsort(-np.round(found.gaps, 9), kind="stable")
    return describe_pairs(found.left[order], found.right[order], found.gaps[order], found.rank_gaps[order], question)


def three_labels(labels: list[str]) -> tuple[PairCase, ...]:
    scores = [[0.2, 0.3, 0.5], [0.5, 0.3, 0.2], [0.2, 0.3, 0.5], [0.2, 0.3, 0.5]]
    return describe(people(paid=labels), scores, positive=None)


@pytest.mark.parametrize("kind", KINDS)
def test_two_people_stand_side_by_side_as_in_the_table(kind: str) -> None:
    worst = describe(people(kind), SCORES)[0]
    assert (worst.left_row, worst.right_row, worst.left_id, worst.right_id, worst.label) == (0, 1, "Ann", "Ben", "yes")
    assert (worst.left_score, worst.right_score, worst.gap, worst.is_flip) == (0.25, 0.75, 0.5, True)
    assert (worst.left_decision, worst.right_decision) == ("denied", "approved")
    assert worst.rank_gap == 0.75
    assert worst.differing == ("sex", "size", "income")
    assert [(one.column, one.role, one.left, one.right, one.differs) for one in worst.factors] == [
        ("sex", "sensitive", "f", "m", True),
        ("age", "sensitive", 30, 39, False),  # one bin
        ("job", "discrete", "cook", "cook", False),
        ("hired", "discrete", datetime.date(2020, 1, 1), datetime.date(2020, 1, 1), False),
        ("size", "ordinal", "S", "M", True),
        ("town", "matched", "here", "here", False),
        ("income", "continuous", 1000.0, 1100.0, True),
    ]


def test_shifts_stand_next_to_what_the_rule_allows() -> None:
    factors = {factor.column: factor for factor in describe(people(), SCORES)[0].factors}
    assert factors["income"].shift == pytest.approx(0.1)
    assert factors["income"].tolerance == 0.2
    assert (factors["size"].shift, factors["size"].tolerance) == (1.0, 1.0)
    assert all(factors[name].shift is None and factors[name].tolerance is None for name in ("sex", "job", "town"))


@pytest.mark.parametrize("limit", [0.2, {"income": 0.2}, (0.2,)])
def test_a_limit_may_be_given_in_any_form(limit: Any) -> None:
    rule = Comparability(max_continuous_shift=limit, must_match=("size",), max_ordinal_shift=2)
    for case in describe(people(), SCORES, rule=rule):
        found = {factor.column: (factor.shift, factor.tolerance) for factor in case.factors}
        assert found["income"][1] == 0.2
        assert found["size"] == (0.0, 0.0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_value_is_none(kind: str) -> None:
    frame = people(kind, income=[1000.0, None, 1050.0, 2000.0])
    roles = Roles.from_dict(ROLES.to_dict() | {"missing": {"income": "median"}})
    worst = describe(frame, SCORES, roles=roles)[0]
    (income,) = [factor for factor in worst.factors if factor.column == "income"]
    assert (income.left, income.right) == (1000.0, None)
    assert income.shift == pytest.approx(0.05)  # it was compared as the median


def test_every_pair_told_of_is_comparable() -> None:
    for case in describe(people(), SCORES):
        assert all((factor.shift or 0.0) <= (factor.tolerance or 0.0) + 1e-9 for factor in case.factors)
        assert any(factor.differs for factor in case.factors if factor.role == "sensitive")


def test_without_names_people_are_called_by_their_rows() -> None:
    roles = Roles.from_dict(ROLES.to_dict() | {"row_id": None, "ignored": ["name"]})
    worst = describe(people(), SCORES, roles=roles)[0]
    assert (worst.left_id, worst.right_id) == (0, 1)


def test_people_are_called_what_the_user_calls_them() -> None:
    rows = {"left_row": 3, "right_row": 1234, "label": 1, "left_score": 0.2, "right_score": 0.3, "gap": 0.1}
    known: dict[str, Any] = {**rows, "rank_gap": 0.1, "is_flip": False, "factors": ()}
    assert str(PairCase(**known, left_id=3, right_id=1234)).lstrip().startswith("row 3  row 1,234\n")
    assert str(PairCase(**known, left_id=3, right_id="B-7")).lstrip().startswith("id 3  id B-7\n")


def test_regression_has_neither_label_nor_decision() -> None:
    worst = describe(people(paid=[1.5, 2.5, 3.5, 4.5]), [10.0, 40.0, 20.0, 20.0], scale=10.0)[0]
    assert (worst.label, worst.is_flip, worst.gap, worst.left_score) == (None, None, 3.0, 10.0)
    assert (worst.left_decision, worst.right_decision) == (None, None)


def test_no_pairs_make_no_cases() -> None:
    question = ask(people(), SCORES)
    nobody, no_gaps = np.zeros(0, np.int64), np.zeros(0)
    assert describe_pairs(nobody, nobody, no_gaps, no_gaps, question) == ()
    table = cases_table(())
    assert (len(table), table.column_names[:3], table.column_names[-1]) == (
        0,
        ["rank", "left_row", "right_row"],
        "differs",
    )


def test_a_table_has_one_row_a_pair() -> None:
    cases = describe(people(), SCORES)
    table = cases_table(cases)
    assert table.column_names == [
        *("rank", "left_row", "right_row", "left_id", "right_id", "label", "left_score", "right_score"),
        *("gap", "rank_gap", "flip", "differs", "left_sex", "right_sex", "left_age", "right_age"),
        *("left_job", "right_job", "left_hired", "right_hired", "left_size", "right_size"),
        *("left_town", "right_town", "left_income", "right_income"),
    ]
    assert len(table) == len(cases)
    first = table.slice(0, 1).to_pylist()[0]
    assert (first["rank"], first["left_id"], first["differs"], first["flip"]) == (1, "Ann", "sex, size, income", True)
    assert (table.schema.field("left_age").type, table.schema.field("right_hired").type) == (pa.int64(), pa.date32())


def test_a_side_without_values_has_the_type_of_the_other() -> None:
    (case, *_) = describe(people(), SCORES)
    factors = tuple(
        Factor(column=c, role="discrete", left=None, right=r, differs=True) for c, r in (("a", 3), ("b", None))
    )
    table = cases_table([replace(case, factors=factors)])
    assert [table.schema.field(name).type for name in ("left_a", "right_a")] == [pa.int64()] * 2
    assert table.schema.field("left_b").type == pa.string()


def test_no_column_hides_another() -> None:
    (case, *_) = describe(people(), SCORES)
    names = ["row", "row_", "gap", "id", "score", "label", "differs", "score_"]
    factors = tuple(Factor(column=name, role="discrete", left=name, right=name, differs=False) for name in names)
    table = cases_table([replace(case, factors=factors)])
    assert len(set(table.column_names)) == len(table.column_names) == 12 + 2 * len(names)
    assert [table[name][0].as_py() for name in table.column_names[12::2]] == names
    assert table["left_row"][0].as_py() == case.left_row
    assert table["left_gap"][0].as_py() == "gap"


@pytest.mark.parametrize(("labels", "names"), [(["no", "so", "yes"], ("no", "so", "yes")), (None, ("0", "1", "2"))])
def test_scores_of_several_labels_have_a_column_each(labels: list[str] | None, names: tuple[str, ...]) -> None:
    cases = three_labels(["yes", "yes", "no", "so"])
    assert cases[0].left_score == (0.2, 0.3, 0.5)
    assert cases[0].gap == pytest.approx(0.3)
    table = cases_table(cases, labels)
    for position, name in enumerate(names):
        assert table[f"left_score_{name}"].to_pylist() == [case.left_score[position] for case in cases]  # type: ignore[index]
    assert "left_score" not in table.column_names


def test_as_many_labels_as_scores_are_needed() -> None:
    with pytest.raises(ScoreError, match="2 labels for 3 scores"):
        cases_table(three_labels(["yes", "yes", "no", "so"]), ["no", "yes"])


def test_values_of_several_types_become_text() -> None:
    (case, *_) = describe(people(), SCORES)
    factors = (Factor(column="a", role="discrete", left=1, right="x", differs=True),)
    table = cases_table([replace(case, factors=factors)])
    assert (table["left_a"][0].as_py(), table["right_a"][0].as_py()) == ("1", "x")


@pytest.mark.parametrize("kind", KINDS)
def test_the_table_can_be_written_and_read(kind: str) -> None:
    for table in (cases_table(describe(people(kind), SCORES)), cases_table(())):
        parquet, text = io.BytesIO(), io.BytesIO()
        pyarrow.parquet.write_table(table, parquet)
        pyarrow.csv.write_csv(table, text)
        assert pyarrow.parquet.read_table(io.BytesIO(parquet.getvalue())).equals(table)
        again = pd.read_csv(io.BytesIO(text.getvalue()))
        assert (list(again.columns), len(again)) == (table.column_names, len(table))
