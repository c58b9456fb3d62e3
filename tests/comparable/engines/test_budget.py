"""A search keeps within the memory it is allowed, takes longer with less, and says so when it cannot."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.sizes import sized

from likewise.comparable import Comparability, count_pairs, group_pairs, iter_pairs, mine_pairs, sample_pairs
from likewise.comparable.engines._problem import state_problem
from likewise.comparable.engines.memory import _parts, _queries
from likewise.comparable.engines.memory._engine import MemoryEngine
from likewise.exceptions import TooManyPairs
from likewise.schema import CodedTable

RULE = Comparability(max_discrete_changes=1, max_continuous_shift=0.01)
# The kernel counts what the whole process has; compiled code is loaded before, by the same questions to few people.
MEASURED = """
import ctypes, json, sys
from pathlib import Path
import numpy as np
from likewise.comparable import Comparability, count_pairs, iter_pairs, sample_pairs
from likewise.schema import CodedTable

random = np.random.default_rng(0)
n_rows = int(sys.argv[2])
people = CodedTable(
    sensitive=random.integers(0, 4, (n_rows, 1)),
    discrete=random.choice(4, (n_rows, 7), p=[0.4, 0.3, 0.2, 0.1]),
    continuous=random.random((n_rows, 2)),
)
rule = Comparability(max_discrete_changes=1, max_continuous_shift=0.1)
def ask(people, how):
    return {
        "count": lambda: count_pairs(people, rule, **how).total,
        "stream": lambda: sum(map(len, iter_pairs(people, rule, **how))),
        "sample": lambda: sample_pairs(people, rule, n=1_000, **how).n_total,
        "estimate": lambda: len(sample_pairs(people, rule, n=1_000, total="estimate", **how)),
    }
def read(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith(field)))
how = {"memory_limit": int(sys.argv[1])}
found = {}
for name, question in ask(people, how).items():
    ask(people[:4_000], how)[name]()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    before = read("VmRSS")
    n = question()
    found[name] = [n, read("VmHWM") - before]
print(json.dumps(found))
"""


def make_people(n_rows: int) -> CodedTable:
    random = np.random.default_rng(0)
    return CodedTable(
        sensitive=random.integers(0, 2, (n_rows, 1)),
        discrete=random.integers(0, 4, (n_rows, 4)),
        continuous=random.random((n_rows, 2)),
    )


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux tells the peak of a while")
def test_the_kernel_finds_the_limit_kept() -> None:
    limit, n_rows = 64_000_000, sized(50_000, 120_000)
    told = subprocess.run(
        [sys.executable, "-c", MEASURED, str(limit), str(n_rows)], capture_output=True, text=True, check=True
    )
    found = json.loads(told.stdout)
    assert found["count"][0] == found["stream"][0] == found["sample"][0] > sized(100_000, 500_000)
    assert found["estimate"][0] == 1_000
    assert {name: n_bytes for name, (_, n_bytes) in found.items() if n_bytes > limit} == {}


@pytest.fixture
def tight(monkeypatch: pytest.MonkeyPatch) -> int:
    """Allow so little that a table of 3,000 rows just fits."""
    monkeypatch.setattr(_queries, "LEAST", 0)
    monkeypatch.setattr(_queries, "A_THREAD", 1 << 16)
    return 1_100_000


def test_with_less_memory_the_answers_are_the_same(tight: int) -> None:
    people = make_people(3_000)
    with_much = mine_pairs(people, RULE, memory_limit="2 GB")
    streamed = list(iter_pairs(people, RULE, memory_limit=tight))
    assert np.concatenate([pairs.left for pairs in streamed]).tolist() == with_much.left.tolist()
    assert np.concatenate([pairs.right for pairs in streamed]).tolist() == with_much.right.tolist()
    assert count_pairs(people, RULE, memory_limit=tight).total == len(with_much)
    sample = sample_pairs(people, RULE, n=20, memory_limit=tight)
    assert sample.left.tolist() == sample_pairs(people, RULE, n=20).left.tolist()


def test_too_little_is_refused_with_what_it_takes(tight: int) -> None:
    people = make_people(3_000)
    words = r"3,000 rows in memory takes 0\.00\d+ GB or more, beyond the 0\.0001 GB allowed\. Raise memory_limit"
    questions: list[Any] = [mine_pairs, iter_pairs, count_pairs]
    for question in questions:
        with pytest.raises(TooManyPairs, match=words):
            question(people, RULE, memory_limit=tight // 11)
    with pytest.raises(TooManyPairs, match=words):
        sample_pairs(people, RULE, n=3, memory_limit=tight // 11)
    with pytest.raises(TooManyPairs, match=words):
        group_pairs(people, RULE, memory_limit=tight // 11)


def test_the_budget_grows_with_what_is_allowed() -> None:
    engines = [MemoryEngine(state_problem(make_people(3_000), None, RULE), 10**n) for n in (8, 9, 10)]
    budgets = [engine._search.budget for engine in engines]
    for field in ("most_signatures", "chunk", "looked_up", "sliced", "listed", "kept", "group_pairs"):
        sizes = [getattr(budget, field) for budget in budgets]
        assert sizes == sorted(sizes)
    assert budgets[-1].chunk == _queries.CHUNK


@pytest.mark.parametrize("n_threads", [1, 2, 16])
def test_a_stretch_of_long_answers_does_not_shorten_all_parts_that_follow(
    n_threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_parts, "MOST", 64)
    sizes = np.ones(40_000, np.int64)
    sizes[1_000:1_200] = 30  # partners of a query
    sizes[1_100] = 1_000  # too many even for a part of its own, which is answered all the same
    asked = []

    def answer(part: slice) -> NDArray[np.int64] | None:
        asked.append(part)
        return sizes[part] if sizes[part].sum() <= 100 or part.stop - part.start == 1 else None

    found = list(_parts.answer_in_parts(answer, len(sizes), 1 << 20, n_threads, 4))
    assert [part.start for part, _ in found] == [0, *(part.stop for part, _ in found[:-1])]
    assert np.array_equal(np.concatenate([some for _, some in found]), sizes)
    assert len(asked) < 2 * len(sizes) / 64


@pytest.mark.parametrize("n_threads", [1, 16])
def test_parts_too_long_to_be_answered_are_not_tried_over_and_over(
    n_threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_parts, "MOST", 64)
    refused = []

    def answer(part: slice) -> int | None:
        is_long = part.stop - part.start > 32
        refused.extend([part] * is_long)
        return None if is_long else part.stop - part.start

    found = list(_parts.answer_in_parts(answer, 200_000, 1 << 20, n_threads, 4))
    assert sum(n for _, n in found) == 200_000
    assert len(refused) < 0.05 * len(found)


@pytest.mark.parametrize("in_order", [True, False])
def test_halves_of_parts_too_long_are_asked_side_by_side(in_order: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_parts, "MOST", 64)
    together = threading.Barrier(4)  # nobody goes on before four halves are under way

    def answer(part: slice) -> int | None:
        n_asked = part.stop - part.start
        if n_asked == 32 and part.stop <= 4 * 64:
            together.wait(timeout=30)
        return None if n_asked > 32 else n_asked

    found = list(_parts.answer_in_parts(answer, 20 * 64, 1 << 20, 4, 4, in_order=in_order))
    assert sum(n for _, n in found) == 20 * 64
    starts = [part.start for part, _ in found]
    assert starts == sorted(starts) or not in_order


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("n_steps", [1, 4])  # of each query
def test_of_queries_that_may_have_all_as_partners_few_are_under_way(
    n_steps: int, in_order: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_parts, "MOST", 64)
    lock, under_way, most = threading.Lock(), 0, 0

    def is_lone(part: slice) -> bool:
        return bool(-(-part.stop // n_steps) - -(-part.start // n_steps) <= 1)

    def answer(part: slice) -> int | None:
        nonlocal under_way, most
        if not is_lone(part):
            return None
        with lock:
            under_way += 1
            most = max(most, under_way)
        time.sleep(0.001)
        with lock:
            under_way -= 1
        return int(part.stop - part.start)

    how: dict[str, Any] = {"in_order": in_order, "grain": n_steps, "is_lone": is_lone}
    found = list(_parts.answer_in_parts(answer, 300 * n_steps, 1 << 20, 8, 2, **how))
    assert sum(n for _, n in found) == 300 * n_steps
    assert most <= 2


@pytest.mark.parametrize("in_order", [True, False])
def test_an_error_in_a_part_is_raised_and_nothing_is_asked_after_it(in_order: bool) -> None:
    asked = []

    def answer(part: slice) -> int:
        asked.append(part.start)
        if len(asked) == 3:
            raise ValueError(f"part {part.start}")
        return int(part.stop - part.start)

    with pytest.raises(ValueError, match="part"):
        list(_parts.answer_in_parts(answer, 1 << 20, 1 << 20, 2, 4, in_order=in_order))
    n_asked = len(asked)
    assert n_asked <= 3 + 2 * _parts.in_flight(2)
    time.sleep(0.01)
    assert len(asked) == n_asked


@pytest.mark.parametrize("n_threads", [1, 3])
def test_a_query_that_is_never_answered_is_reported(n_threads: int) -> None:
    with pytest.raises(AssertionError, match="was not answered"):
        list(_parts.answer_in_parts(lambda part: None, 1 << 20, 1 << 20, n_threads, 4))


def test_a_search_that_is_given_up_stops() -> None:
    at_work: set[int] = set()
    most_at_work = 0

    def answer(part: slice) -> int:
        nonlocal most_at_work
        at_work.add(part.start)
        most_at_work = max(most_at_work, len(at_work))
        time.sleep(0.002)
        at_work.remove(part.start)
        return int(part.stop)

    answers = _parts.answer_in_parts(answer, 1 << 20, 1 << 20, 3, 4)
    assert next(answers)[0].start == 0
    answers.close()  # type: ignore[attr-defined]  # it is a generator
    assert not at_work
    assert most_at_work <= 3


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_answers_do_not_pile_up_while_nobody_takes_them(n_threads: int, in_order: bool) -> None:
    n_answered = 0

    def answer(part: slice) -> int:
        nonlocal n_answered
        n_answered += 1
        return int(part.stop)

    answers = _parts.answer_in_parts(answer, 1 << 22, 1 << 20, n_threads, 4, in_order=in_order)
    taken = [next(answers)[0] for _ in range(3)]
    time.sleep(0.1)  # long enough for all 256 of them
    assert n_answered <= 3 + _parts.in_flight(n_threads) + 1
    taken += [part for part, _ in answers]
    assert sum(part.stop - part.start for part in taken) == 1 << 22


COLLECTED = """
import gc, threading
from likewise.comparable.engines.memory import _parts
gc.disable()
is_left = threading.Event()

def answer(part):
    assert part.start == 0 or is_left.wait(20)
    return 1

def is_lone(part):  # is asked while the threads of the search keep each other out
    if is_left.is_set() and threading.current_thread() is not threading.main_thread():
        gc.collect()
    return False

class Holder:
    pass

holder = Holder()
holder.itself = holder
holder.answers = _parts.answer_in_parts(answer, 1 << 22, 1 << 14, 2, 4, is_lone=is_lone)
next(holder.answers)
threads = [thread for thread in threading.enumerate() if thread.name.startswith("likewise-search")]
assert len(threads) == 2
del holder
is_left.set()
for thread in threads:
    thread.join(20)
    assert not thread.is_alive()
"""


def test_a_search_ends_that_one_of_its_own_threads_collects() -> None:
    subprocess.run([sys.executable, "-c", COLLECTED], check=True, timeout=60)


LEFT_OPEN = """
from tests.comparable.engines.test_budget import RULE, _parts, make_people
from likewise import iter_pairs
_parts.MOST = 16
pairs = iter_pairs(make_people(3_000), RULE)
next(pairs)
"""


def test_a_program_ends_that_leaves_a_search_unfinished() -> None:
    for _ in range(sized(1, 3)):  # what the threads are at then is chance
        subprocess.run([sys.executable, "-c", LEFT_OPEN], check=True, timeout=60)
