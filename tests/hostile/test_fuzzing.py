"""Whatever a file or a request says, its reader returns something or refuses it in one line of ours.

Hypothesis draws faults that keep most of the form of sound content; ``make fuzz CASES=100000`` draws more of them. What
ever failed is kept with its bytes in ``fuzzed.json``: a failing test prints its case as it is kept there.
"""

from __future__ import annotations

import json
import logging
import os
import warnings
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from tests.hostile import fuzzed_files as files
from tests.hostile import fuzzed_folders as folders
from tests.hostile import fuzzed_models as models
from tests.hostile.cases import Case, Random, Reader, load_kept
from tests.sizes import sized

from likewise.exceptions import LikewiseError

READERS: Final[dict[str, Callable[[Path], Reader]]] = {
    "tables": files.fuzz_tables,
    "records": files.fuzz_records,
    "requests": folders.fuzz_requests,
    "policies": files.fuzz_policies,
    "generators": models.fuzz_generators,
    "parts": folders.fuzz_parts,
    "plans": files.fuzz_plans,
    "schemas": files.fuzz_schemas,
    "sheets": files.fuzz_sheets,
    "models": models.fuzz_models,
    "logs": models.fuzz_logs,
}
SLOW: Final = ("generators", "records", "sheets", "models", "logs")
ASKED: Final = int(os.environ.get("FUZZ_CASES", "0"))
SLOWEST: Final = timedelta(seconds=30)  # that a case may take, the kernels that it is the first to compile included


@pytest.fixture(scope="module", params=READERS)
def reader(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Reader]:
    return request.param, READERS[request.param](tmp_path_factory.mktemp(request.param))


def read(reader: Reader, case: Case) -> None:
    """Read a case: a result, or a refusal in one line of ours; any other error is a fault."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reader.read(case)
    except LikewiseError as error:
        if not str(error):
            raise AssertionError("a refusal without a word") from error


@pytest.mark.long(2)
def test_every_case_is_read_or_refused_in_one_line(
    reader: tuple[str, Reader], caplog: pytest.LogCaptureFixture
) -> None:
    name, asked = reader
    caplog.set_level(logging.CRITICAL)
    n_cases = ASKED or (sized(10, 1_000) if name in SLOW else sized(40, 5_000))

    @settings(max_examples=n_cases, deadline=SLOWEST, suppress_health_check=list(HealthCheck))
    @given(st.randoms(use_true_random=False))
    def check(random: Random) -> None:
        case = asked.draw(random)
        note(json.dumps(case.to_dict()))
        read(asked, case)

    check()
    for case in load_kept().get(name, []):
        read(asked, case)


def test_an_error_of_python_and_a_refusal_without_a_word_are_faults() -> None:
    def refuse(case: Case) -> None:
        raise LikewiseError(case.how["message"])

    def fail(case: Case) -> None:
        raise KeyError

    none, one = (Case({}, {"message": message}) for message in ("", "one"))
    read(Reader(lambda _: one, refuse), one)
    with pytest.raises(AssertionError, match="without a word"):
        read(Reader(lambda _: none, refuse), none)
    with pytest.raises(KeyError):
        read(Reader(lambda _: one, fail), one)
    assert str(LikewiseError("one\n  two")) == "one two"  # whatever value it shows
