"""A search keeps within the memory it is allowed, takes longer with less, and says so when it cannot."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.sizes import sized

from likewise.comparable import Comparability, count_pairs, group_pairs, iter_pairs, mine_pairs, sample_pairs
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


def test_with_less_memory_the_answers_are_the_same() -> None:
    people = make_people(3_000)
    with_much = mine_pairs(people, RULE, memory_limit="2 GB")
    streamed = list(iter_pairs(people, RULE, memory_limit="2 MB"))
    assert np.concatenate([pairs.left for pairs in streamed]).tolist() == with_much.left.tolist()
    assert np.concatenate([pairs.right for pairs in streamed]).tolist() == with_much.right.tolist()
    assert count_pairs(people, RULE, memory_limit="2 MB").total == len(with_much)
    sample = sample_pairs(people, RULE, n=20, memory_limit="2 MB")
    assert sample.left.tolist() == sample_pairs(people, RULE, n=20).left.tolist()


def test_a_refusal_names_what_would_do() -> None:
    people = make_people(600_000)
    words = r"600,000 rows in memory takes 0\.\d+ GB, beyond the 0\.064 GB allowed\. Raise memory_limit to '0\.\d\d GB'"
    for question in (mine_pairs, iter_pairs, count_pairs, group_pairs):
        with pytest.raises(TooManyPairs, match=words):
            question(people, RULE, memory_limit="64 MB")
    with pytest.raises(TooManyPairs, match=words) as refused:
        sample_pairs(people, RULE, n=10, total="estimate", memory_limit="64 MB")
    enough = str(refused.value).split("'")[1]
    assert len(sample_pairs(people, RULE, n=10, total="estimate", memory_limit=enough)) == 10


LEFT_OPEN = """
from tests.comparable.engines.test_budget import RULE, make_people
from likewise import iter_pairs
pairs = iter_pairs(make_people(30_000), RULE)
next(pairs)
"""


def test_a_program_ends_that_leaves_a_search_unfinished() -> None:
    for _ in range(sized(1, 3)):  # what the threads are at then is chance
        subprocess.run([sys.executable, "-c", LEFT_OPEN], check=True, timeout=60)
