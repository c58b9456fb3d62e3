"""Reviews come back as they were written, whatever a spreadsheet did to the sheet; tampering is named, a line each."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow.csv
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.records import make_record
from tests.sizes import sized

from likewise.auditing import Review, merge_reviews, review_table
from likewise.auditing._internal import defuse_formulas
from likewise.exceptions import ReviewError, TableFileError
from likewise.record import AuditRecord

Rows = list[dict[str, str]]
FILLED = {"reviewer": "A. Lee", "date": "2026-11-17", "disposition": "explained", "reason": "second income"}
WORDS = ("resolved", "explained", "unresolved")


def make_reviewed(**changes: Any) -> AuditRecord:
    """Give a record whose pairs have text that looks like a formula, and numbers of many digits."""
    record = make_record() | changes
    for number, pair in enumerate(record["worst_pairs"]):
        pair |= {"gap": 0.5 - number / 97, "left_score": 1e-5 / 7 + number / 3e7}
        pair["factors"][1] |= {"left": "=cook", "right": "Köchin; öfter"}
        pair["factors"][2] |= {"left": 12345678.125, "right": 0}
        pair["factors"][3] |= {"left": 52341.123456789, "right": "2024-03-05"}
    return AuditRecord.of(record)


RECORD = make_reviewed()


def rows_of(record: AuditRecord) -> Rows:
    file = io.BytesIO()
    pyarrow.csv.write_csv(defuse_formulas(review_table(record)), file)
    return list(csv.DictReader(io.StringIO(file.getvalue().decode(), newline="")))


def save(rows: Rows, path: Path, *, separator: str = ",", encoding: str = "utf-8") -> Path:
    with path.open("w", encoding=encoding, newline="", errors="replace") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=separator)
        writer.writeheader()
        writer.writerows(rows)
    return path


def faults_of(rows: Rows, path: Path, record: AuditRecord = RECORD, **how: Any) -> tuple[str, ...]:
    with pytest.raises(ReviewError) as caught:
        merge_reviews(record, save(rows, path, **how))
    assert str(caught.value) == " ".join(caught.value.faults)
    return caught.value.faults


said = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=12)
review = st.fixed_dictionaries(
    {"reviewer": said, "date": st.dates(date(1990, 1, 1)), "disposition": st.sampled_from(WORDS), "reason": said}
)


@settings(
    max_examples=sized(8, 300),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    database=None,
)
@given(
    reviews=st.dictionaries(st.integers(0, len(RECORD.worst_pairs) - 1), review),
    rows_in=st.randoms(use_true_random=False),
    separator=st.sampled_from(",;\t|"),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_any_valid_review_comes_back(
    reviews: dict[int, dict[str, Any]], rows_in: Any, separator: str, encoding: str, tmp_path: Path
) -> None:
    rows = rows_of(RECORD)
    for place, filled in reviews.items():
        rows[place] |= {name: str(value) for name, value in filled.items()}
    names = list(rows[0])
    rows_in.shuffle(rows)
    rows_in.shuffle(names)
    shuffled = [{name: row[name] for name in names} for row in rows]
    merged = merge_reviews(RECORD, save(shuffled, tmp_path / "a.csv", separator=separator, encoding=encoding))
    assert merged.reviews == tuple(
        Review(
            pair=place + 1,
            key=RECORD.pair_keys[place],
            **{**filled, "date": filled["date"].isoformat()},
        )
        for place, filled in sorted(reviews.items())
    )
    assert AuditRecord.from_dict(merged.to_dict()) == merged
    assert {**merged.to_dict(), "reviews": None} == {**RECORD.to_dict(), "reviews": None}


def test_what_a_spreadsheet_does_by_itself_is_understood(tmp_path: Path) -> None:
    rows = rows_of(RECORD)
    for row in rows:  # what is there to be looked at is not read
        row |= {"gap": row["gap"].replace(".", ","), "person_job": "=cook", "comparator_age": "05.03.2024"}
    rows[0] |= FILLED | {"date": "17.11.2026", "disposition": " Explained ", "reason": 'second;\r\n"old" income'}
    rows = [{**row, "": "", "notes": "look"} for row in [*rows, dict.fromkeys(rows[0], "")]]
    rows[-1] |= {"notes": ""}
    path = save(rows, tmp_path / "a.csv", separator=";", encoding="cp1252")
    path.write_bytes(b"sep=;\r\n" + path.read_bytes())
    (one,) = merge_reviews(RECORD, path).reviews
    assert (one.pair, one.date, one.disposition) == (1, "2026-11-17", "explained")
    assert one.reason == 'second;\n"old" income'


def lose(rows: Rows) -> None:
    del rows[2]


def double(rows: Rows) -> None:
    rows.append(dict(rows[1]))


def add(rows: Rows) -> None:
    rows.append(rows[1] | {"key": "k000000000000"})


def change(place: int, **cells: str) -> Callable[[Rows], None]:
    return lambda rows: rows[place].update(cells)


def every(change_row: Callable[[dict[str, str]], Any]) -> Callable[[Rows], None]:
    def tamper(rows: Rows) -> None:
        for row in rows:
            change_row(row)

    return tamper


@pytest.mark.parametrize(
    ("tamper", "fault"),
    [
        (lose, f"a.csv lacks pair 3 (key '{RECORD.pair_keys[2]}')"),
        (double, f"has the pair with key '{RECORD.pair_keys[1]}' 2 times, in rows 3, 14"),
        (add, "row 14 has the key 'k000000000000', which is no pair of this record"),
        (change(0, **{**FILLED, "disposition": "explaned"}), "Did you mean 'explained'?"),
        (change(0, **{**FILLED, "disposition": "fine"}), "write one of resolved, explained, unresolved."),
        (change(0, **{**FILLED, "date": "yesterday"}), "date is 'yesterday', which is not a date"),
        (change(0, **{**FILLED, "date": "2026-02-30"}), "date is '2026-02-30', which is not a date"),
        (change(0, **{**FILLED, "date": "03/04/2026"}), "which may be either of two days"),
        (change(0, **{**FILLED, "date": ""}), "there is a disposition but no date"),
        (change(0, **{**FILLED, "reviewer": ""}), "there is a disposition but no reviewer"),
        (change(0, **{**FILLED, "reason": ""}), "the pair is 'explained' without a reason"),
        (change(0, reason="see file"), "there is a reason but no disposition"),
        (every(lambda row: row.update(key=f"k{row['pair']}")), "is the sheet of another audit"),
    ],
)
def test_tampering_is_named_in_one_line(tamper: Callable[[Rows], None], fault: str, tmp_path: Path) -> None:
    rows = rows_of(RECORD)
    tamper(rows)
    (found,) = faults_of(rows, tmp_path / "a.csv")
    assert fault in found
    assert found.startswith("a.csv")


def test_every_fault_is_named(tmp_path: Path) -> None:
    rows = rows_of(RECORD)
    rows[0] |= FILLED | {"date": "soon", "reviewer": ""}
    lose(rows)
    assert len(faults_of(rows, tmp_path / "a.csv")) == 3


def test_dates_between_slashes_are_read_in_the_order_that_fits_all_of_a_sheet(tmp_path: Path) -> None:
    rows = rows_of(RECORD)
    rows[0] |= FILLED | {"date": "3/4/2026"}
    rows[1] |= FILLED | {"date": "3/25/2026"}
    merged = merge_reviews(RECORD, save(rows, tmp_path / "a.csv"))
    assert [one.date for one in merged.reviews] == ["2026-03-04", "2026-03-25"]


def test_a_file_that_is_no_sheet_is_refused(tmp_path: Path) -> None:
    twice = b"key,key,reviewer,date,disposition,reason\n"
    for content in (b"", b"a,b\n1,2\n", b"key,disposition\n", twice, b"PK\x03\x04...", b"\x00\xff\xfe\x00"):
        (tmp_path / "a.csv").write_bytes(content)
        with pytest.raises(TableFileError):
            merge_reviews(RECORD, tmp_path / "a.csv")
    whole = save(filled_by("A. Lee", "r"), tmp_path / "a.csv").read_bytes()
    (tmp_path / "a.csv").write_bytes(whole.replace(b"second", b"\x81\x8d"))  # no letters of any encoding tried
    with pytest.raises(TableFileError, match="unknown encoding"):
        merge_reviews(RECORD, tmp_path / "a.csv")
    with pytest.raises(TableFileError, match="cannot be read"):
        merge_reviews(RECORD, tmp_path / "none.csv")


def filled_by(name: str, words: str, day: str = "2026-11-17") -> Rows:
    """Fill in the first letters of dispositions, pair by pair; a blank leaves a pair open."""
    full = {word[0]: word for word in WORDS}
    rows = rows_of(RECORD)
    for row, letter in zip(rows, words, strict=False):
        if letter != " ":
            row |= FILLED | {"reviewer": name, "disposition": full[letter], "date": day}
    return rows


def test_two_reviewers_are_compared(tmp_path: Path) -> None:
    one = save(filled_by("A. Lee", "rruu e"), tmp_path / "a.csv")
    other = save(filled_by("B. Okafor", "rurue"), tmp_path / "b.csv")
    found = merge_reviews(RECORD, one, other).review_summary
    assert dict(found.standings) == {
        **{1: "resolved", 2: "disputed", 3: "disputed", 4: "unresolved"},
        **{5: "explained", 6: "explained"},
    }
    (agreement,) = found.agreements
    assert (agreement.reviewers, agreement.n_pairs, agreement.n_agree) == (("A. Lee", "B. Okafor"), 4, 2)
    assert agreement.kappa == pytest.approx(0.0)  # half agreed on, half expected by chance
    assert "agree on 2 of 4 pairs (50%); Cohen's kappa 0.00, N = 4." in str(agreement)


def test_kappa_is_that_of_the_table_and_undefined_where_chance_explains_all(tmp_path: Path) -> None:
    from sklearn.metrics import cohen_kappa_score

    left, right = "rrueeurure", "reuueurrre"
    sheets = [save(filled_by(name, words), tmp_path / name) for name, words in (("a", left), ("b", right))]
    (agreement,) = merge_reviews(RECORD, *sheets).review_summary.agreements
    assert agreement.kappa == pytest.approx(cohen_kappa_score(list(left), list(right)))
    sheets = [save(filled_by(name, "rrr"), tmp_path / name) for name in ("a", "b")]
    (agreement,) = merge_reviews(RECORD, *sheets).review_summary.agreements
    assert agreement.kappa is None
    assert "undefined" in str(agreement)


def test_merging_again_loses_and_doubles_nothing(tmp_path: Path) -> None:
    first = save(filled_by("A. Lee", "ue"), tmp_path / "a.csv")
    later = save(filled_by("a.  lee", "r", "2026-12-01"), tmp_path / "b.csv")
    once = merge_reviews(RECORD, first)
    assert merge_reviews(once, first, first).reviews == once.reviews
    merged = merge_reviews(once, later)
    assert [(one.pair, one.date, one.disposition) for one in merged.reviews] == [
        *((1, "2026-11-17", "unresolved"), (1, "2026-12-01", "resolved")),
        (2, "2026-11-17", "explained"),
    ]
    assert dict(merged.review_summary.standings) == {1: "resolved", 2: "explained"}
    assert merged.review_summary.agreements == ()
    assert merged.pair_keys == RECORD.pair_keys


def test_two_different_reviews_of_one_day_contradict_each_other(tmp_path: Path) -> None:
    once = merge_reviews(RECORD, save(filled_by("A. Lee", "u"), tmp_path / "a.csv"))
    (fault,) = faults_of(filled_by("A. Lee", "e"), tmp_path / "b.csv", once)
    assert "A. Lee has two different reviews of pair 1 on 2026-11-17, 'unresolved' and 'explained'" in fault


def test_a_reviewed_pair_that_was_changed_is_named(tmp_path: Path) -> None:
    plain = merge_reviews(RECORD, save(filled_by("A. Lee", "u"), tmp_path / "a.csv")).to_dict()
    plain["worst_pairs"][0]["gap"] = 0.01
    changed = AuditRecord.of(plain)
    (fault,) = faults_of(rows_of(changed), tmp_path / "b.csv", changed)
    assert "a review of pair 1 whose key" in fault
