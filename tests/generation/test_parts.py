"""What generating part by part promises: the same antidotes, and a folder that is whole or not there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from likewise import Roles, UniformGenerator
from likewise._folders import read_parts
from likewise.exceptions import FewAntidotes, GenerationError, SavedModelError, TableFileError
from likewise.generation import generate_parts, iter_antidotes, load_generator
from likewise.generation._internal import BaseGenerator

if TYPE_CHECKING:
    from tests.generation.conftest import Make

KILLED = """
import os, signal, sys
from likewise.generation import generate_parts, load_generator

def stop(done):
    if done["n_rows"] >= 80:
        os.kill(os.getpid(), signal.SIGKILL)

generate_parts(load_generator(sys.argv[1]), sys.argv[2], sys.argv[3], rounds=2, rows_at_a_time=40, progress=stop)
"""


@pytest.fixture(scope="module")
def generator(make: Make, people: pa.Table) -> BaseGenerator:
    return make("UniformGenerator").fit(people)


@pytest.fixture(scope="module")
def files(people: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("people")
    pyarrow.parquet.write_table(people.slice(0, 90), folder / "a.parquet", row_group_size=25)
    pyarrow.parquet.write_table(people.slice(90), folder / "b.parquet")
    (folder / "_SUCCESS").touch()
    return folder


def read(folder: Path) -> pa.Table:
    return pa.concat_tables(part.replace_schema_metadata(None) for part in read_parts(folder, "antidotes"))


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.long(6)
@pytest.mark.parametrize("rows_at_a_time", [7, 60, 150, None])
@pytest.mark.parametrize("amount", [{"rounds": 2}, {"ratio": 0.4}])
def test_parts_hold_what_generate_makes_of_the_whole(
    generator: BaseGenerator,
    people: pa.Table,
    files: Path,
    tmp_path: Path,
    rows_at_a_time: int | None,
    amount: dict[str, Any],
) -> None:
    made = generate_parts(generator, files, tmp_path / "made", rows_at_a_time=rows_at_a_time, **amount)
    expected = generator.generate(people, row_ids=np.arange(150), **amount)
    written = read(tmp_path / "made")
    assert written.select(people.column_names).to_pylist() == expected.frame.to_pylist()
    assert written.column("source_row").to_pylist() == expected.source.tolist()
    assert written.column("antidote_round").to_pylist() == expected.round.tolist()
    assert set(written.column("is_antidote").to_pylist()) == {True}
    summary = expected.summary()
    assert made["changed"] == pytest.approx(summary.pop("changed"))
    assert {name: made[name] for name in summary} == pytest.approx(summary)
    assert sum(one["n_antidotes"] for one in made["by_transition"]) == len(expected)


@pytest.mark.long(3)
def test_networks_make_the_same_in_parts(fitted: BaseGenerator, people: pa.Table, tmp_path: Path) -> None:
    tables = [people.slice(start, 35) for start in range(0, 150, 35)]
    generate_parts(fitted, iter(tables), tmp_path / "made", rows_at_a_time=50)
    expected = fitted.generate(people, row_ids=np.arange(150)).frame
    assert read(tmp_path / "made").select(people.column_names).to_pylist() == expected.to_pylist()


def test_ids_of_a_column_make_the_order_of_the_files_all_one(
    generator: BaseGenerator, people: pa.Table, tmp_path: Path
) -> None:
    named = people.append_column("id", pa.array([f"p{number}" for number in range(150)]))
    for name, order in (("one", range(150)), ("other", range(149, -1, -1))):
        generate_parts(generator, [named.take(list(order))], tmp_path / name, row_id="id", rows_at_a_time=40)
    one, other = (read(tmp_path / name).drop(["source_row"]).to_pylist() for name in ("one", "other"))
    assert sorted(map(repr, one)) == sorted(map(repr, other))


def test_a_killed_run_goes_on_and_ends_with_the_same_bytes(
    generator: BaseGenerator, files: Path, tmp_path: Path
) -> None:
    generator.save(tmp_path / "generator")
    paths = [str(path) for path in (tmp_path / "generator", files, tmp_path / "killed")]
    done = subprocess.run([sys.executable, "-c", KILLED, *paths], check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / "killed").exists()
    left = tmp_path / ".killed.partial" / "new"
    before = {path.name: path.stat().st_mtime_ns for path in left.glob("*.parquet")}
    assert len(before) == 2
    (left / ".part-00002.parquet").write_bytes(b"half of it")
    generate_parts(generator, files, tmp_path / "killed", rounds=2, rows_at_a_time=40)
    generate_parts(generator, files, tmp_path / "whole", rounds=2, rows_at_a_time=40)
    assert content(tmp_path / "killed") == content(tmp_path / "whole")
    after = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "killed").glob("*.parquet")}
    assert before.items() <= after.items()  # what was there was not made again
    assert sorted(path.name for path in tmp_path.iterdir()) == ["generator", "killed", "whole"]


def test_a_run_that_goes_on_in_another_file_keeps_the_types_of_the_first(
    generator: BaseGenerator, people: pa.Table, tmp_path: Path
) -> None:
    place = people.column_names.index("years")
    wide = people.set_column(place, "years", people.column("years").cast(pa.int32()))
    for name, table in (("0", wide.slice(0, 0)), ("a", wide.slice(0, 60)), ("b", people.slice(60))):
        pyarrow.parquet.write_table(table, tmp_path / f"{name}.parquet")

    def stop(done: dict[str, Any]) -> None:
        if done["n_rows"] == 60:
            raise KeyboardInterrupt

    source = str(tmp_path / "*.parquet")
    with pytest.raises(KeyboardInterrupt):
        generate_parts(generator, source, tmp_path / "stopped", rows_at_a_time=30, progress=stop)
    for name in ("stopped", "whole"):
        generate_parts(generator, source, tmp_path / name, rows_at_a_time=30)
    assert content(tmp_path / "stopped") == content(tmp_path / "whole")


def test_an_unfinished_run_of_another_request_is_made_anew(
    generator: BaseGenerator, files: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def stop(done: dict[str, Any]) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate_parts(generator, files, tmp_path / "made", rows_at_a_time=40, progress=stop)
    generate_parts(generator, files, tmp_path / "made", rows_at_a_time=40, random_state=5)
    generate_parts(generator, files, tmp_path / "fresh", rows_at_a_time=40, random_state=5)
    assert content(tmp_path / "made") == content(tmp_path / "fresh")
    assert "starts over" in caplog.text


def test_a_whole_folder_is_left_as_it_is(generator: BaseGenerator, files: Path, tmp_path: Path) -> None:
    made = generate_parts(generator, files, tmp_path / "made", rounds=1)
    before = content(tmp_path / "made")
    assert generate_parts(generator, files, tmp_path / "made", rounds=1) == made
    assert content(tmp_path / "made") == before
    with pytest.raises(TableFileError, match="exists already and was made from other input"):
        generate_parts(generator, files, tmp_path / "made", rounds=2)


def test_tables_that_nobody_named_are_not_gone_on_with(
    generator: BaseGenerator, people: pa.Table, tmp_path: Path
) -> None:
    for n_calls, name in ((3, None), (2, "people of May")):
        seen: list[int] = []

        def stop(done: dict[str, Any], seen: list[int] = seen) -> None:
            seen.append(done["n_rows"])
            if len(seen) == 1:
                raise KeyboardInterrupt

        folder = tmp_path / str(name)
        how: dict[str, Any] = {"rows_at_a_time": 75, "source_name": name, "progress": stop}
        with pytest.raises(KeyboardInterrupt):
            generate_parts(generator, [people], folder, **how)
        generate_parts(generator, [people], folder, **how)
        assert len(seen) == n_calls


def test_parts_have_one_form_whatever_is_in_them(generator: BaseGenerator, people: pa.Table, tmp_path: Path) -> None:
    index = people.append_column("__index_level_0__", pa.array(np.arange(150)))
    generate_parts(generator, [index], tmp_path / "made", ratio=0.05, rows_at_a_time=10)
    schemas = [part.schema.remove_metadata() for part in read_parts(tmp_path / "made", "antidotes")]
    assert all(schema == schemas[0] for schema in schemas)
    assert schemas[0].names == [*people.column_names, "is_antidote", "source_row", "antidote_round"]
    assert schemas[0].field("job").type == pa.string()
    assert schemas[0].field("years").type == pa.int16()


def test_a_type_that_is_too_narrow_is_said(generator: BaseGenerator, people: pa.Table) -> None:
    narrow = people.set_column(8, "years", people.column("years").cast(pa.bool_()))
    with pytest.raises((GenerationError, ValueError), match="years"):
        list(iter_antidotes(generator, [narrow]))


def test_progress_says_how_far_it_is(generator: BaseGenerator, files: Path, tmp_path: Path) -> None:
    seen: list[dict[str, Any]] = []
    generate_parts(generator, files, tmp_path / "made", per_row=1, rows_at_a_time=100, progress=seen.append)
    assert seen == [
        {"n_rows": 100, "n_antidotes": 100, "n_rows_total": 150},
        {"n_rows": 150, "n_antidotes": 150, "n_rows_total": 150},
    ]


def test_fewer_than_asked_is_said_once(people: pa.Table, tmp_path: Path) -> None:
    two = people.select(["sex", "hired"])
    strict = UniformGenerator(Roles(sensitive="sex", label="hired"), random_state=0).fit(two)
    with pytest.warns(
        FewAntidotes, match="Only 150 distinct antidotes could be generated for 150 rows, not 300"
    ) as seen:
        generate_parts(strict, [two], tmp_path / "made", ratio=2, rows_at_a_time=50)
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nowhere.parquet", "There is no file 'nowhere.parquet'"),
        ("nowhere/*.parquet", "There is no file"),
        (".", "has no .parquet files"),
        ("text.parquet", "cannot be read as Parquet"),
    ],
)
def test_what_is_no_table_is_refused(
    generator: BaseGenerator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if source == "text.parquet":
        Path(source).write_text("people")
    with pytest.raises(TableFileError, match=message):
        generate_parts(generator, source, tmp_path / "made")
    assert not (tmp_path / "made").exists()


def test_tables_of_two_forms_are_refused(generator: BaseGenerator, people: pa.Table, tmp_path: Path) -> None:
    with pytest.raises(TableFileError, match="The tables do not have the same columns"):
        generate_parts(generator, [people, people.drop(["job"])], tmp_path / "made")
    with pytest.raises(TypeError, match="The source yields a str; give Parquet files, or Arrow tables"):
        generate_parts(generator, iter(["people"]), tmp_path / "made")
    with pytest.raises(TypeError, match="The source is a int"):
        generate_parts(generator, 3, tmp_path / "made")
    with pytest.raises(ValueError, match="rows_at_a_time is 0"):
        generate_parts(generator, [people], tmp_path / "made", rows_at_a_time=0)


def test_what_is_no_generator_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SavedModelError, match="Cannot load from"):
        load_generator(tmp_path / "nowhere")
    for text, message in (("people", "not valid JSON"), ('{"kind": "LCIFR 1", "record": {}}', "not a generator")):
        (tmp_path / "likewise.json").write_text(text)
        with pytest.raises(SavedModelError, match=message):
            load_generator(tmp_path)


def test_nothing_is_left_open_on_the_way(generator: BaseGenerator, files: Path, tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").is_dir() else 0
    generate_parts(generator, files, tmp_path / "made", rows_at_a_time=40)
    assert not before or len(os.listdir("/proc/self/fd")) <= before + 1
