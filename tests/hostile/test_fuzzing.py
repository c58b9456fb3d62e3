"""Whatever a file or a request says, its reader returns something or refuses it in one line of ours.

Here each reader gets the first cases of ``make fuzz`` and those that once failed; hypothesis looks for tables in
tests/cli/test_tables.py.
"""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from tests.hostile.fuzzing import KEPT, READERS, Reader, read_case
from tests.sizes import sized

from likewise.exceptions import LikewiseError

FAILED = {name: [*map(int, kept["failed"])] for name, kept in json.loads(KEPT.read_text()).items()}
SLOW = ("generators", "records", "sheets")


@pytest.fixture(scope="module", params=READERS)
def reader(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Reader]:
    return request.param, READERS[request.param](tmp_path_factory.mktemp(request.param))


def test_every_case_is_read_or_refused_in_one_line(
    reader: tuple[str, Reader], caplog: pytest.LogCaptureFixture
) -> None:
    name, read = reader
    caplog.set_level(logging.CRITICAL)
    n_cases = sized(10, 1_000) if name in SLOW else sized(40, 5_000)
    faults = {number: read_case(read, name, number) for number in [*range(n_cases), *FAILED.get(name, [])]}
    assert {number: fault for number, fault in faults.items() if fault is not None} == {}


def test_an_error_of_python_and_a_refusal_in_two_lines_are_faults() -> None:
    def refuse(_: Any) -> None:
        raise LikewiseError("one\ntwo")

    def refuse_well(_: Any) -> None:
        raise LikewiseError("one")

    assert read_case(lambda _: json.loads("["), "records", 0) == "JSONDecodeError in outside"
    assert read_case(refuse, "records", 0) == "not one line: LikewiseError in outside"
    assert read_case(refuse_well, "records", 0) is None
