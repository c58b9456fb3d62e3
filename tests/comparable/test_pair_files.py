"""Pairs in a folder: all of them, in order, for their own table alone; and a run that was killed goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sizes import sized

from likewise.comparable import Comparability, mine_pairs, read_pairs, write_pairs
from likewise.exceptions import RuleError, TableFileError
from likewise.schema import CodedTable
from likewise.schema._internal import hash_table

RULE = Comparability(max_discrete_changes=1, max_continuous_shift=0.2)
WRITER = """
import sys, time
import numpy as np
from likewise.comparable import Comparability, write_pairs
from likewise.schema import CodedTable

random = np.random.default_rng(0)
people = CodedTable(
    sensitive=random.integers(0, 3, (300, 1)),
    discrete=random.integers(0, 3, (300, 2)),
    continuous=random.random((300, 1)),
)
rule = Comparability(max_discrete_changes=1, max_continuous_shift=0.2)
wait = float(sys.argv[2])
write_pairs(people, rule, sys.argv[1], pairs_per_part=400, progress=lambda so_far: time.sleep(wait))
"""


def make_people(n_rows: int = 300) -> CodedTable:
    random = np.random.default_rng(0)
    return CodedTable(
        sensitive=random.integers(0, 3, (n_rows, 1)),
        discrete=random.integers(0, 3, (n_rows, 2)),
        continuous=random.random((n_rows, 1)),
    )


def rows_of(chunks: Any) -> list[list[int]]:
    return [row for pairs in chunks for row in np.column_stack([pairs.left, pairs.right]).tolist()]


def content_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_what_is_read_is_what_is_found(cases: st.SearchStrategy[Any], tmp_path_factory: pytest.TempPathFactory) -> None:
    @settings(max_examples=sized(7, 30))
    @given(cases, st.integers(1, 40))
    def check(case: Any, pairs_per_part: int) -> None:
        folder = tmp_path_factory.mktemp("written") / "pairs"
        n_pairs = write_pairs(case.left, case.right, case.rule, folder, pairs_per_part=pairs_per_part)
        assert n_pairs == len(case.expected)
        chunks = list(read_pairs(folder, case.left, case.right, case.rule))
        assert rows_of(chunks) == case.expected.tolist()
        assert {len(pairs) for pairs in chunks[:-1]} <= {pairs_per_part}

    check()


def test_parts_have_rows_and_label(tmp_path: Path) -> None:
    import pyarrow.parquet

    people = make_people()
    write_pairs(people, RULE, tmp_path / "pairs")
    written = pyarrow.parquet.read_table(tmp_path / "pairs" / "part-00000.parquet")
    found = mine_pairs(people, RULE)
    assert {name: str(written.schema.field(name).type) for name in written.column_names} == {
        "left": "int32",
        "right": "int32",
        "label": "int32",
    }
    assert written.column("label").to_pylist() == people.labels[found.left].tolist()


def test_a_folder_that_is_whole_is_not_written_again(tmp_path: Path) -> None:
    people = make_people()
    told: list[dict[str, int]] = []
    n_pairs = write_pairs(people, RULE, tmp_path / "pairs", pairs_per_part=500, progress=told.append)
    assert [so_far["n_parts"] for so_far in told] == list(range(1, -(-n_pairs // 500) + 1))
    assert told[-1]["n_pairs"] == n_pairs
    before = content_of(tmp_path / "pairs")
    told.clear()
    assert write_pairs(people, RULE, tmp_path / "pairs", pairs_per_part=500, progress=told.append) == n_pairs
    assert told == []
    assert content_of(tmp_path / "pairs") == before


def test_the_pairs_of_another_table_or_rule_are_refused(tmp_path: Path) -> None:
    people, folder = make_people(), tmp_path / "pairs"
    write_pairs(people, RULE, folder)
    for question in ((people[:-1],), (people, people), (people, Comparability())):
        with pytest.raises(TableFileError, match="holds the pairs of another"):
            read_pairs(folder, *question)
    with pytest.raises(TableFileError, match="exists already and was made from other input"):
        write_pairs(people[:-1], RULE, folder)
    with pytest.raises(TableFileError, match="not a folder of pairs"):
        read_pairs(tmp_path, people)


def test_bad_questions_are_refused_in_words(tmp_path: Path) -> None:
    people: Any = make_people(3)
    with pytest.raises(TypeError, match="name the folder to write to"):
        write_pairs(people, None, RULE, None)
    with pytest.raises(RuleError, match="The rule is None"):
        write_pairs(people, None, None, tmp_path / "x")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="pairs_per_part is 0"):
        write_pairs(people, RULE, tmp_path / "x", pairs_per_part=0)


@pytest.mark.long(3)
@pytest.mark.parametrize("n_kept", [1, 3, 100])
def test_a_run_that_broke_off_goes_on_to_the_same_bytes(tmp_path: Path, n_kept: int) -> None:
    people = make_people()
    write_pairs(people, RULE, tmp_path / "whole", pairs_per_part=400)

    class Broken(Exception):
        pass

    def give_up(so_far: dict[str, int]) -> None:
        if so_far["n_parts"] == n_kept:
            raise Broken

    told: list[dict[str, int]] = []
    try:
        write_pairs(people, RULE, tmp_path / "again", pairs_per_part=400, progress=give_up)
    except Broken:
        assert not (tmp_path / "again").exists()
    write_pairs(people, RULE, tmp_path / "again", pairs_per_part=400, progress=told.append)
    assert content_of(tmp_path / "again") == content_of(tmp_path / "whole")
    assert len(told) == max(len(content_of(tmp_path / "whole")) - 1 - n_kept, 0)


@pytest.mark.skipif(os.name != "posix", reason="signals are posix")
def test_a_run_that_was_killed_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    write_pairs(make_people(), RULE, tmp_path / "whole", pairs_per_part=400)
    for after in (1, 4):
        with subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path / "killed"), "0.1"]) as process:
            deadline = time.monotonic() + 60
            while not (tmp_path / ".killed.partial" / "new" / f"part-{after:05d}.parquet").exists():
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.005)
            process.send_signal(signal.SIGKILL)
        assert not (tmp_path / "killed").exists()
    subprocess.run([sys.executable, "-c", WRITER, str(tmp_path / "killed"), "0"], check=True)
    assert content_of(tmp_path / "killed") == content_of(tmp_path / "whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["killed", "whole"]


def test_a_table_is_named_by_its_content() -> None:
    people = make_people()
    assert hash_table(people) == hash_table(make_people())
    assert len({hash_table(people), hash_table(people[::-1]), hash_table(people[:-1])}) == 3


def tamper(folder: Path, fault: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    parts, about = sorted(folder.glob("part-*")), folder / "_about.json"
    record = json.loads(about.read_text("utf-8"))
    if fault == "foreign":
        pyarrow.parquet.write_table(pa.table({"left": [0], "right": [1], "label": [0]}), parts[0])
    elif fault == "emptied":
        pyarrow.parquet.write_table(pyarrow.parquet.read_table(parts[0]).slice(0, 0), parts[0])
    elif fault == "doubled":
        parts[1].write_bytes(parts[0].read_bytes())
    elif fault == "one more":
        (folder / f"part-{len(parts):05d}.parquet").write_bytes(parts[0].read_bytes())
    elif fault == "missing":
        parts[0].unlink()
    elif fault == "fewer parts":
        about.write_text(json.dumps(record | {"n_parts": len(parts) - 1}), "utf-8")
    elif fault == "fewer in the list":
        fewer = {"n_parts": len(parts) - 1, "parts": record["parts"][:-1]}
        about.write_text(json.dumps(record | fewer), "utf-8")
    else:
        other = json.loads(fault)
        about.write_text(json.dumps(record | other if isinstance(other, dict) else other), "utf-8")


@pytest.mark.parametrize(
    "fault",
    [
        *("foreign", "emptied", "doubled", "one more", "missing", "fewer parts", "fewer in the list"),
        *("[]", "7", '{"n_parts": "x"}', '{"parts": 3}', '{"parts": [1, 2]}', '{"found": []}', '{"found": {}}'),
        *('{"found": {"n_pairs": "many"}}', '{"parts": null}', '{"n_parts": -1}', '{"left": 3}'),
        '{"parts": [{"n_rows": "x"}], "n_parts": 1}',
    ],
)
def test_a_folder_that_is_not_as_it_was_written_is_refused_in_one_line(tmp_path: Path, fault: str) -> None:
    people, folder = make_people(), tmp_path / "pairs"
    write_pairs(people, RULE, folder, pairs_per_part=500)
    assert len(list(folder.glob("part-*"))) > 2
    tamper(folder, fault)
    with pytest.raises(TableFileError) as error:
        list(read_pairs(folder, people, RULE))
    assert "\n" not in str(error.value)
