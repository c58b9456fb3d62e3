"""Copies of a file that differ in form give the same rows and the same checksum; other rows do not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.sizes import sized

from likewise.datasets import Dataset
from likewise.datasets._catalogue import RECIPES
from likewise.datasets._files import find_files, hash_rows, parse_files, read_canonical, write_canonical

ADULT = RECIPES["adult"]
LAW = RECIPES["law_school"]

PERSON = (
    "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, Cuba, "
)
NAMES = (
    "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,"
    "capital-gain,capital-loss,hours-per-week,native-country,income-per-year\n"
)
TRAIN = f"{PERSON}<=50K\n{PERSON}>50K\n"
TEST = f"{PERSON}>50K\n"

FORMS: dict[str, tuple[str, str]] = {
    "comment line, dot after the label": (TRAIN, f"|1x3 Cross validator\n{TEST.replace('50K', '50K.')}\n"),
    "line of names, no spaces": (NAMES + TRAIN.replace(" ", ""), NAMES + TEST.replace(" ", "")),
    "line ends of Windows": (TRAIN.replace("\n", "\r\n"), TEST.replace("\n", "\r\n")),
    "byte order mark": ("\ufeff" + TRAIN, TEST),
    "blank lines, no last line end": (f"\n{TRAIN}\n\n", TEST.rstrip()),
    "a row with a missing value": (TRAIN + PERSON.replace("Cuba", "?") + "<=50K\n", TEST),
}


def checksum(train: str, test: str) -> str:
    return hash_rows(write_canonical(parse_files(ADULT, [train.encode(), test.encode()])))


@pytest.mark.parametrize("form", list(FORMS))
def test_the_form_of_a_copy_does_not_matter(form: str) -> None:
    assert checksum(*FORMS[form]) == checksum(TRAIN, TEST)


def test_other_rows_another_order_or_another_value_give_another_checksum() -> None:
    others = [(TRAIN, TEST + TEST), (TEST + TRAIN, TEST), (TRAIN.replace("13", "12"), TEST), (TRAIN, "")]
    assert len({checksum(*files) for files in [*others, (TRAIN, TEST)]}) == 5


def test_a_whole_number_may_be_written_with_a_point() -> None:
    header = ",".join((*LAW.columns, LAW.label))
    columns = parse_files(LAW, [f"{header}\n10.0,9,44.5,3.5,1.33,-1.8,1.0,5,0.0,4.0,White,1.0\n".encode()])
    assert columns["tier"] == [4]
    assert columns["decile3"] == [9.0]
    assert columns["pass_bar"] == [1]


CHARGED = {
    "sex": "Male",
    "age": "30",
    "age_cat": "25 - 45",
    "race": "Asian",
    "juv_fel_count": "0",
    "juv_misd_count": "0",
    "juv_other_count": "0",
    "priors_count": "7",
    "c_charge_degree": "F",
    "c_charge_desc": "Theft",
    "days_b_screening_arrest": "-30",
    "is_recid": "1",
    "score_text": "Low",
    "two_year_recid": "0",
}


@pytest.mark.parametrize(
    ("changes", "n_kept"),
    [
        ({}, 1),
        ({"days_b_screening_arrest": "30.0"}, 1),
        ({"days_b_screening_arrest": "31"}, 0),
        ({"days_b_screening_arrest": ""}, 0),
        ({"is_recid": "-1"}, 0),
        ({"c_charge_degree": "O"}, 0),
        ({"score_text": "N/A"}, 0),
        ({"c_charge_desc": ""}, 0),
    ],
)
def test_compas_keeps_the_rows_that_propublica_kept(changes: dict[str, str], n_kept: int) -> None:
    # the file repeats a name; the first column counts
    text = f"{','.join(CHARGED)},priors_count\n{','.join((CHARGED | changes).values())},99\n"
    columns = parse_files(RECIPES["compas"], [text.encode()])
    assert columns["no_recidivism"] == [1] * n_kept
    assert columns["priors_count"] == [7] * n_kept


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "no column 'decile1b'"),
        (b"\xff\xfe\x00", "law_school.csv cannot be read"),
        (b"decile1b,decile3\n1,2\n", "no column 'lsat'"),
        (",".join((*LAW.columns, LAW.label)).encode() + b"\n1,2,3\n", "row 1 has 3 cells, but 12 columns"),
        (",".join((*LAW.columns, LAW.label)).encode() + b"\n1,2,3,4,5,6,1,1,1,1,White,7\n", "'7', which is not"),
        (",".join((*LAW.columns, LAW.label)).encode() + b"\n1,2,3,4,5,6,1,1,1,x,White,1\n", "column 'tier' holds"),
        (
            ",".join((*LAW.columns, LAW.label)).encode() + b"\n1,2,3,4,5,6,1,1,1,1.5,White,1\n",
            "'1.5' is not an integer",
        ),
    ],
)
def test_a_file_of_something_else_is_refused_with_a_reason(content: bytes, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        parse_files(LAW, [content])


words = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8)
rows = st.lists(st.tuples(st.floats(allow_nan=False), st.integers(0, 9), words, st.integers(0, 1)), max_size=5)


@settings(max_examples=sized(12, 50))
@given(rows)
@example([(0.0, 0, "\r", 0)])
def test_the_canonical_form_loses_nothing(people: list[tuple[float, int, str, int]]) -> None:
    names = ("lsat", "tier", "race", "pass_bar")
    columns = {name: [person[i] for person in people] for i, name in enumerate(names)}
    assert read_canonical(LAW, write_canonical(columns)) == columns


@pytest.mark.long(4)
@pytest.mark.parametrize("name", RECIPES)
def test_the_files_on_this_machine_survive_the_canonical_form(public: Callable[[str], Dataset], name: str) -> None:
    recipe = RECIPES[name]
    paths = find_files(recipe)
    if paths is None:
        public(name)  # skips, unless it is cached
        return
    columns = parse_files(recipe, [path.read_bytes() for path in paths])
    canonical = write_canonical(columns)
    assert hash_rows(canonical) == recipe.checksum
    assert read_canonical(recipe, canonical) == columns
    assert len(columns[recipe.label]) == recipe.n_rows
