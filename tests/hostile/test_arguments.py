"""Whatever is given for an argument in Python: an answer, or one line of ours that says what to give instead."""

from __future__ import annotations

import inspect
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.sizes import sized

from likewise import (
    Comparability,
    Policy,
    Roles,
    audit,
    compare_audits,
    count_pairs,
    iter_pairs,
    mine_pairs,
    sample_pairs,
)
from likewise.comparable import group_pairs, read_pairs, write_pairs
from likewise.exceptions import LikewiseError

N_CASES = 240
RANDOM = np.random.default_rng(0)
PEOPLE = pa.table(
    {
        "race": RANDOM.choice(["blue", "green"], 40),
        "job": RANDOM.choice(["cook", "smith"], 40),
        "age": RANDOM.integers(20, 30, 40),
    }
)
LABELS, SCORES = RANDOM.integers(2, size=40), RANDOM.integers(1, 99, 40) / 100
ROLES, RULE = Roles(sensitive="race", discrete="job", continuous="age"), Comparability(max_continuous_shift=0.3)
TABLE = ROLES.learn(PEOPLE).encode(PEOPLE, LABELS)
ODD: tuple[Any, ...] = (
    *(None, True, -1, 0, 3, 2**70, 10**400, 0.5, -0.5, 1e308, float("nan"), float("inf"), 1j),
    *("", "x", "age", "\ud800", "a\nb", b"x", [], [None], [1, "x"], ["age", "age"], [[1, 2], [3]], {}, {"age": None}),
    *({1: 2}, {"age": "x"}, object(), object, len, np.array(3), np.zeros((2, 3)), np.ma.masked_equal([1, 2], 1)),
    *(np.array(["x"]), np.datetime64("NaT"), pa.table({}), Path("nowhere"), Policy(max_gap_mean=0.1), range(3)),
)


def _known() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return audit(SCORES, PEOPLE, LABELS, roles=ROLES, rule=RULE, n_resamples=40)


def _write(table: Any, rule: Any, folder: Any, memory_limit: Any = None, pairs_per_part: Any = 10) -> None:
    write_pairs(table, rule, folder, memory_limit=memory_limit, pairs_per_part=pairs_per_part)


AUDIT = _known()
CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "audit": (
        audit,
        {"scores": SCORES, "X": PEOPLE, "y": LABELS, "roles": ROLES, "rule": RULE, "n_resamples": 40, "n_worst": 2},
    ),
    "compare_audits": (compare_audits, {"before": AUDIT, "after": AUDIT}),
    **{one.__name__: (one, {"left": TABLE, "rule": RULE}) for one in (mine_pairs, count_pairs)},
    "group_pairs": (group_pairs, {"table": TABLE, "rule": RULE}),
    "sample_pairs": (sample_pairs, {"left": TABLE, "rule": RULE, "n": 5}),
    "iter_pairs": (iter_pairs, {"left": TABLE, "rule": RULE}),
    "write_pairs": (_write, {"table": TABLE, "rule": RULE, "folder": "pairs"}),
    "read_pairs": (read_pairs, {"folder": "pairs", "left": TABLE, "rule": RULE}),
    "Roles": (Roles, {"sensitive": "race"}),
    "Comparability": (Comparability, {}),
}


CASES = [
    (call, name, place)
    for call in CALLS
    for name in inspect.signature(CALLS[call][0]).parameters
    for place in range(len(ODD))
]
DRAWN = np.random.default_rng(1).permutation(len(CASES)).tolist()


def is_ours(error: Exception) -> bool:
    """Whether code of likewise raised an error on purpose, in one line."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    is_raised = "/src/likewise/" in last.filename and (last.line or "").startswith("raise ")
    return is_raised and isinstance(error, TypeError) and "\n" not in str(error)


def answer(call: str, others: dict[str, Any]) -> None:
    """Call a function, and take all that it yields."""
    made, given = CALLS[call]
    found = made(**given | others)
    if inspect.isgenerator(found):
        list(found)


@pytest.mark.parametrize("call", CALLS)
def test_without_a_fault_it_answers(call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_pairs(TABLE, RULE, "pairs", pairs_per_part=10)
    answer(call, {})


def test_an_odd_argument_is_answered_or_refused_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_pairs(TABLE, RULE, "pairs", pairs_per_part=10)
    faults = []
    for call, name, place in (CASES[number] for number in DRAWN[: sized(N_CASES, len(DRAWN))]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                answer(call, {name: ODD[place]})
            except LikewiseError as error:
                if "\n" in str(error) or not str(error):
                    faults.append(f"{call}({name}={ODD[place]!r:.40}): not one line")
            except Exception as error:
                if is_ours(error) or (name == "progress" and callable(ODD[place])):  # which is the caller's code
                    continue
                faults.append(f"{call}({name}={ODD[place]!r:.40}): {type(error).__name__}: {error!s:.80}")
    assert faults == []
