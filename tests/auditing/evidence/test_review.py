"""The review sheet holds every factor of every pair, with the tolerance it was held against and room to write."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest

from likewise import Audit, Comparability, Roles, audit
from likewise.auditing import Factor, PairCase, review_table
from likewise.auditing._internal import defuse_formulas
from likewise.exceptions import ScoreError

COLUMNS = (
    *("pair", "gap", "rank_gap", "outcome", "decisions_differ"),
    *("person_row", "person_id", "person_score", "person_decision"),
    *("comparator_row", "comparator_id", "comparator_score", "comparator_decision"),
    *("factor", "role", "person_value", "comparator_value"),
    *("differs", "difference", "tolerance", "within_tolerance", "disposition", "explanation"),
)


def make_case(**changes: Any) -> PairCase:
    sex = Factor(column="sex", role="sensitive", left="f", right="m", differs=True)
    age = Factor(column="age", role="continuous", left=30, right=31.5, differs=True, shift=0.02, tolerance=0.025)
    known: dict[str, Any] = {
        **{"left_row": 3, "right_row": 8, "left_id": "a", "right_id": "b", "label": "yes", "left_score": 0.25},
        **{"right_score": 0.75, "gap": 0.5, "rank_gap": 0.4, "is_flip": True, "factors": (sex, age)},
    }
    return PairCase(**known | changes)


def test_every_factor_of_every_worst_pair_is_a_line(found: Audit) -> None:
    sheet = review_table(found.worst)
    assert tuple(sheet.column_names) == COLUMNS
    lines = sheet.to_pylist()
    expected = [(pair, case, factor) for pair, case in enumerate(found.worst, 1) for factor in case.factors]
    assert len(lines) == len(expected) == 100 * len(found.worst[0].factors)
    for line, (pair, case, factor) in zip(lines, expected, strict=True):
        assert (line["pair"], line["gap"], line["rank_gap"]) == (pair, case.gap, case.rank_gap)
        assert (line["outcome"], line["decisions_differ"]) == (case.label, case.is_flip)
        assert (line["person_row"], line["comparator_row"]) == (case.left_row, case.right_row)
        assert (line["person_id"], line["comparator_id"]) == (case.left_id, case.right_id)
        assert (line["person_score"], line["comparator_score"]) == (case.left_score, case.right_score)
        assert (line["person_decision"], line["comparator_decision"]) == (case.left_decision, case.right_decision)
        assert (line["factor"], line["role"], line["differs"]) == (factor.column, factor.role, factor.differs)
        assert (line["person_value"], line["comparator_value"]) == (str(factor.left), str(factor.right))
        assert (line["difference"], line["tolerance"]) == (factor.shift, factor.tolerance)
        assert line["within_tolerance"] in ((True,) if factor.shift is not None else (None, True))
        assert line["disposition"] is None
        assert line["explanation"] is None


def test_a_difference_at_its_tolerance_is_within_and_one_beyond_is_told() -> None:
    age = make_case().factors[1]
    shifts = {0.025: True, 0.025 + 1e-12: True, 0.1: False, None: None, float("nan"): None}
    factors = tuple(replace(age, shift=shift, tie=1e-9) for shift in shifts)
    matched = [Factor(column="town", role="matched", left=1, right=1 + n, differs=bool(n)) for n in (0, 1)]
    sheet = review_table([make_case(factors=(*factors, *matched))])
    assert sheet["within_tolerance"].to_pylist() == [*shifts.values(), True, False]
    assert sheet["difference"].to_pylist()[3:] == [None] * 4


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_tie_of_coarse_numbers_is_within_its_tolerance_as_it_is_within_the_rule(dtype: str) -> None:
    years = pd.Series(np.arange(41) * 0.025 + 1000, dtype=dtype)  # a grid that float32 holds to 6e-5
    frame = pd.DataFrame({"sex": ["f", "m"] * 20 + ["f"], "years": years})
    roles = Roles(sensitive=["sex"], continuous=["years"])
    found = audit(
        np.linspace(0, 1, 41), frame, [0] * 20 + [1] * 21, roles=roles, rule=Comparability(max_continuous_shift=0.025)
    )
    shifts = [factor.shift for case in found.worst for factor in case.factors if factor.shift is not None]
    assert (max(shifts) > 0.025 + 1e-9) == (dtype == "float32")
    sheet = review_table(found.worst)
    assert set(sheet["within_tolerance"].to_pylist()) == {None, True}  # None for sex, which has no tolerance


def test_no_pairs_make_an_empty_sheet_of_the_same_columns() -> None:
    sheet = review_table(())
    assert (tuple(sheet.column_names), sheet.num_rows) == (COLUMNS, 0)
    assert review_table([make_case(factors=())]).num_rows == 0


def test_values_of_any_type_are_text_and_missing_ones_are_empty() -> None:
    values = ["text", 3, -2.5, True, None, float("nan"), "half \ud800", ("a", 1)]
    factors = tuple(
        Factor(column=f"c{n}", role="discrete", left=v, right=v, differs=False) for n, v in enumerate(values)
    )
    sheet = review_table([make_case(factors=factors)])
    expected = ["text", "3", "-2.5", "True", None, None, "half ?", "('a', 1)"]
    assert sheet["person_value"].to_pylist() == sheet["comparator_value"].to_pylist() == expected


def test_ids_and_outcomes_of_several_types_are_text() -> None:
    sheet = review_table([make_case(left_id=1, label=1), make_case(label="no")])
    assert sheet["person_id"].to_pylist() == ["1", "1", "a", "a"]
    assert sheet["outcome"].to_pylist() == ["1", "1", "no", "no"]


def test_scores_of_several_labels_have_a_column_each() -> None:
    case = make_case(left_score=(0.5, 0.25, 0.25), right_score=(0.0, 0.5, 0.5))
    sheet = review_table([case], labels=["a", "b", "c"])
    assert [name for name in sheet.column_names if "score" in name] == [
        *("person_score_a", "person_score_b", "person_score_c"),
        *("comparator_score_a", "comparator_score_b", "comparator_score_c"),
    ]
    assert sheet["comparator_score_b"].to_pylist() == [0.5, 0.5]
    with pytest.raises(ScoreError, match="2 labels for 3 scores"):
        review_table([case], labels=["a", "b"])


def test_hostile_text_is_harmless_in_the_csv_and_exact_in_the_table() -> None:
    hostile = ['=HYPERLINK("x")', "+1+1", "@SUM(1)", "-x", "\t=1", "a;=1"]
    people = pd.DataFrame(
        {"id": hostile, "=sex": ["f", "m"] * 3, "job": ["=cook"] * 6, "y": ["+no", "+no", "-yes", "-yes", "+no", "+no"]}
    )
    roles = Roles(sensitive="=sex", discrete="job", row_id="id", label="y")
    scores = np.linspace(0, 1, 6)
    found = audit(scores, people, roles=roles, rule=Comparability(), positive="-yes", n_resamples=0)
    sheet = review_table(found.worst)
    assert set(sheet["person_id"].to_pylist()) <= set(hostile)
    assert set(sheet["factor"].to_pylist()) == {"=sex", "job"}
    file = io.BytesIO()
    pyarrow.csv.write_csv(defuse_formulas(sheet), file)
    lines = list(csv.reader(io.StringIO(file.getvalue().decode(), newline="")))
    assert len(lines) == 1 + sheet.num_rows
    cells = [cell for line in lines for cell in line]
    assert not any(cell[:1] in ("=", "+", "-", "@", "\t") for cell in cells)
    assert {"'=sex", "'=cook", "'+no"} <= set(cells)


def test_the_sheet_is_the_same_again(found: Audit) -> None:
    assert isinstance(review_table(found.worst), pa.Table)
    assert review_table(found.worst).equals(review_table(found.worst))
