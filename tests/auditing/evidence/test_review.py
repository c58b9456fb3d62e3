"""The review sheet has a row for every pair, with every factor, the tolerance it was held against and room to write."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.csv
import pytest
from tests.records import make_record

from likewise import Audit, Comparability, Roles, audit
from likewise.auditing import review_table
from likewise.auditing._internal import defuse_formulas
from likewise.record import AuditRecord
from likewise.record._internal import RecordError

COLUMNS = [
    *("pair", "key", "reviewer", "date", "disposition", "reason"),
    *("gap", "rank_gap", "outcome", "decisions_differ", "differs", "within_tolerance"),
    *("person_row", "person_id", "person_score", "person_decision"),
    *("comparator_row", "comparator_id", "comparator_score", "comparator_decision"),
]


def test_every_worst_pair_is_a_row_with_its_factors_in_columns(found: Audit) -> None:
    sheet = review_table(found.to_record())
    assert sheet.column_names[: len(COLUMNS)] == COLUMNS
    for number, (line, case) in enumerate(zip(sheet.to_pylist(), found.worst, strict=True), 1):
        assert (line["pair"], line["gap"], line["rank_gap"]) == (number, case.gap, case.rank_gap)
        assert (line["outcome"], line["decisions_differ"]) == (str(case.label), "yes" if case.is_flip else "no")
        assert (line["person_row"], line["comparator_row"]) == (case.left_row, case.right_row)
        assert (line["person_id"], line["comparator_id"]) == (str(case.left_id), str(case.right_id))
        assert (line["person_score"], line["comparator_score"]) == (case.left_score, case.right_score)
        assert line["differs"] == ", ".join(case.differing)
        assert line["within_tolerance"] == "yes"
        for factor in case.factors:
            assert line[f"person_{factor.column}"] == str(factor.left)
            assert line[f"comparator_{factor.column}"] == str(factor.right)
            assert line.get(f"difference_{factor.column}") == factor.shift
            assert line.get(f"tolerance_{factor.column}") == factor.tolerance
        assert [line[name] for name in ("reviewer", "date", "disposition", "reason")] == [None] * 4


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
    assert set(review_table(found.to_record())["within_tolerance"].to_pylist()) == {"yes"}


def test_a_difference_beyond_its_tolerance_is_told() -> None:
    record = make_record()
    ages: list[dict[str, Any]] = [{"shift": 0.025}, {"shift": 0.024}, {"shift": 0.1}]
    ages += [{"role": "matched", "shift": None, "differs": True}]
    for pair, age in zip(record["worst_pairs"], ages, strict=False):
        pair["factors"][3] |= age
    assert review_table(record)["within_tolerance"].to_pylist()[:5] == ["yes", "yes", "no", "no", "yes"]
    for pair in record["worst_pairs"]:
        pair["factors"] = pair["factors"][:2]
    assert set(review_table(record)["within_tolerance"].to_pylist()) == {None}


def test_a_key_changes_with_anything_in_its_pair_or_audit() -> None:
    record = make_record()
    keys = AuditRecord.of(record).pair_keys
    assert len({*keys}) == len(record["worst_pairs"])
    changes: list[dict[str, Any]] = [{"gap": 0.51}, {"left_score": 0.2500001}, {"right_row": 99}, {"label": "no"}]
    pair = record["worst_pairs"][0]
    for change in [*changes, {"factors": [pair["factors"][0] | {"left": "x"}, *pair["factors"][1:]]}]:
        changed = record | {"worst_pairs": [pair | change, *record["worst_pairs"][1:]]}
        other = AuditRecord.of(changed).pair_keys
        assert (other[0] != keys[0], other[1:]) == (True, keys[1:])
    elsewhere = record | {"data": record["data"] | {"scores_checksum": "0" * 64}}
    assert {*AuditRecord.of(elsewhere).pair_keys}.isdisjoint(keys)


def test_keys_and_sheets_are_the_same_before_a_record_is_written_and_after(found: Audit) -> None:
    record = found.to_record()
    again = AuditRecord.from_dict(json.loads(json.dumps(record.to_dict())))
    assert again.pair_keys == record.pair_keys
    assert review_table(again).equals(review_table(record))


def test_no_pairs_make_an_empty_sheet() -> None:
    sheet = review_table(make_record() | {"worst_pairs": []})
    assert (sheet.column_names, sheet.num_rows) == (COLUMNS, 0)


def test_columns_named_like_those_of_the_sheet_are_told_apart() -> None:
    record = make_record()
    for pair in record["worst_pairs"]:
        pair["factors"] = [
            one | {"column": name}
            for one, name in zip(pair["factors"], ("id", "score", "row", "decision"), strict=True)
        ]
    sheet = review_table(record)
    assert {"person_id", "person_id_", "person_score_", "person_row_", "person_decision_"} <= set(sheet.column_names)
    assert len({*sheet.column_names}) == sheet.num_columns


def test_scores_of_several_labels_have_a_column_each() -> None:
    record = make_record() | {"task": "multiclass", "labels": ["a", "b", "c"]}
    for pair in record["worst_pairs"]:
        pair |= {"left_score": [0.5, 0.25, 0.25], "right_score": [0.0, 0.5, 0.5]}
    sheet = review_table(record)
    assert [name for name in sheet.column_names if "score" in name] == [
        *("person_score_a", "person_score_b", "person_score_c"),
        *("comparator_score_a", "comparator_score_b", "comparator_score_c"),
    ]
    assert {*sheet["comparator_score_b"].to_pylist()} == {0.5}


def test_pairs_of_different_factors_are_no_record() -> None:
    record = make_record()
    record["worst_pairs"][0]["factors"] = record["worst_pairs"][0]["factors"][1:]
    with pytest.raises(RecordError, match="do not all have the same factors"):
        review_table(record)


def test_hostile_text_is_harmless_in_the_csv_and_exact_in_the_table() -> None:
    hostile = ['=HYPERLINK("x")', "+1+1", "@SUM(1)", "-x", "\t=1", "a;=1"]
    people = pd.DataFrame(
        {"id": hostile, "=sex": ["f", "m"] * 3, "job": ["=cook"] * 6, "y": ["+no", "+no", "-yes", "-yes", "+no", "+no"]}
    )
    roles = Roles(sensitive="=sex", discrete="job", row_id="id", label="y")
    scores = np.linspace(0, 1, 6)
    found = audit(scores, people, roles=roles, rule=Comparability(), positive="-yes", n_resamples=0)
    sheet = review_table(found.to_record())
    assert set(sheet["person_id"].to_pylist()) <= set(hostile)
    assert {"person_=sex", "comparator_job"} <= set(sheet.column_names)
    file = io.BytesIO()
    pyarrow.csv.write_csv(defuse_formulas(sheet), file)
    lines = list(csv.reader(io.StringIO(file.getvalue().decode(), newline="")))
    assert len(lines) == 1 + sheet.num_rows
    cells = [cell for line in lines for cell in line]
    assert not any(cell[:1] in ("=", "+", "-", "@", "\t") for cell in cells)
    assert {"'=cook", "'+no"} <= set(cells)
