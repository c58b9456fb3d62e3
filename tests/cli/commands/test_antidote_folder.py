"""What ``likewise antidote --out FOLDER`` promises: the library's antidotes by row, in parts, and runs that go on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from likewise import Comparability, Roles, UniformGenerator
from likewise._folders import PartsFolder, read_parts
from likewise.cli.commands._generators import choose_rows
from likewise.generation import Antidotes

if TYPE_CHECKING:
    from tests.cli.conftest import Run

ASKED = ("--label", "hired", "--sensitive", "race,sex", "--generator", "uniform")


@pytest.fixture
def parquet(people: pa.Table, tmp_path: Path) -> Path:
    pyarrow.parquet.write_table(people, tmp_path / "people.parquet", row_group_size=70)
    return tmp_path / "people.parquet"


@pytest.fixture(scope="module")
def antidotes(people: pa.Table) -> Antidotes:
    roles = Roles.infer(people, label="hired", sensitive=("race", "sex"))
    generator = UniformGenerator(roles, Comparability(), random_state=0).fit(people)
    return generator.generate(people, ratio=0.5, row_ids=np.arange(300))


def read(folder: Path) -> pa.Table:
    return pa.concat_tables(part.replace_schema_metadata(None) for part in read_parts(folder, "antidotes"))


def read_json(run: Run, *args: object) -> dict[str, Any]:
    outcome = run("antidote", *args, "--json")
    assert outcome.code == 0, outcome.stderr
    record = json.loads(outcome.stdout)
    assert isinstance(record, dict)
    return record


def test_a_folder_gets_the_antidotes_of_the_library(
    run: Run, parquet: Path, csv: Path, people: pa.Table, antidotes: Antidotes, tmp_path: Path
) -> None:
    for data, name in ((parquet, "one"), (csv, "other")):
        outcome = run("antidote", data, *ASKED, "--ratio", 0.5, "--out", tmp_path / name)
        assert outcome.code == 0, outcome.stderr
        assert f"The antidotes are in the folder {tmp_path / name}." in outcome.stderr
        written = read(tmp_path / name)
        assert written.column_names == [*people.column_names, "is_antidote", "source_row", "antidote_round"]
        assert written.select(people.column_names).to_pylist() == antidotes.frame.to_pylist()
        assert written.column("source_row").to_pylist() == antidotes.source.tolist()
    assert {path.name for path in tmp_path.iterdir()} == {"one", "other", "people.csv", "people.parquet"}


def test_several_files_are_one_table(run: Run, parquet: Path, people: pa.Table, tmp_path: Path) -> None:
    (tmp_path / "several").mkdir()
    for name, some in (("a", people.slice(0, 120)), ("b", people.slice(120))):
        pyarrow.parquet.write_table(some, tmp_path / "several" / f"{name}.parquet")
    sources = (parquet, tmp_path / "several", tmp_path / "several" / "*.parquet")
    for number, source in enumerate(sources):
        assert run("antidote", source, *ASKED, "--quiet", "--out", tmp_path / f"made{number}").code == 0
    written = [read(tmp_path / f"made{number}").to_pylist() for number in range(3)]
    assert written[0] == written[1] == written[2]


def test_json_says_the_same_of_parts_as_of_one_file(run: Run, parquet: Path, tmp_path: Path) -> None:
    parts = read_json(run, parquet, *ASKED, "--rounds", 1, "--out", tmp_path / "made")
    whole = read_json(run, parquet, *ASKED, "--rounds", 1)
    assert parts.keys() ^ whole.keys() == {"sha256", "source"}
    for name in ("n_rows", "n_antidotes", "n_with_antidote", "n_raw", "coverage", "kept", "roles", "rule", "generator"):
        assert parts[name] == whole[name]
    assert len(parts["examples"]) == 3
    counts = [
        {json.dumps(one["source"]): one["n_antidotes"] for one in record["by_transition"]} for record in (parts, whole)
    ]
    assert counts[0] == counts[1]


def test_a_run_that_was_stopped_goes_on(
    run: Run, parquet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from likewise.generation._parts import PartMaker

    monkeypatch.setattr(PartMaker, "rows_at_a_time", 100)
    asked = ("antidote", parquet, *ASKED, "--quiet", "--out")
    assert run(*asked, tmp_path / "whole").code == 0
    written: list[int] = []
    write = PartsFolder.write

    def stop(self: PartsFolder, number: int, table: pa.Table) -> None:
        if len(written) == 2:
            written.append(number)
            raise KeyboardInterrupt
        written.append(number)
        write(self, number, table)

    monkeypatch.setattr(PartsFolder, "write", stop)
    assert run(*asked, tmp_path / "made").code == 130
    assert not (tmp_path / "made").exists()
    assert run(*asked, tmp_path / "made").code == 0
    assert written == [0, 1, 2, 2]
    one, other = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("whole", "made"))
    assert one == other
    assert run(*asked, tmp_path / "made").code == 0  # what is whole is left as it is
    assert written == [0, 1, 2, 2]
    outcome = run(*asked, tmp_path / "made", "--seed", 9)
    assert outcome.code == 2
    assert "exists and was made from another request" in outcome.stderr


@pytest.fixture
def halved(tmp_path: Path) -> Path:
    """Write people of whom every other one has values that nobody differs from in both columns."""
    pairs = np.array([["a", "x"], ["a", "y"], ["b", "y"], ["a", "y"]])[np.arange(1000) % 4]
    table = pa.table({"one": pairs[:, 0], "two": pairs[:, 1], "pay": np.arange(1000) % 90, "hired": [0, 1] * 500})
    pyarrow.parquet.write_table(table, tmp_path / "halved.parquet")
    (tmp_path / "rule.toml").write_text('[rule]\nsensitive_differs = "all"\n')
    return tmp_path / "halved.parquet"


HALVED = ("--label", "hired", "--sensitive", "one,two", "--generator", "uniform")


def test_a_ratio_is_met_although_some_rows_give_none(run: Run, halved: Path, tmp_path: Path) -> None:
    outcome = run(
        "antidote",
        halved,
        *HALVED,
        "--rule",
        halved.with_name("rule.toml"),
        "--ratio",
        0.6,
        "--json",
        "--out",
        tmp_path / "made",
    )
    assert outcome.code == 0, outcome.stderr
    record = json.loads(outcome.stdout)
    assert record["ratio"] == 0.6
    assert record["antidotes_per_row"] == pytest.approx(0.6, abs=0.03)
    assert "Only" not in outcome.stderr
    # four antidotes in all: of the first rows, from which examples are taken, there may be none
    rare = run(
        "antidote",
        halved,
        *HALVED,
        "--rule",
        halved.with_name("rule.toml"),
        "--ratio",
        0.004,
        "--seed",
        1,
        "--quiet",
        "--out",
        tmp_path / "rare",
    )
    assert "one, two of the person" in rare.stdout


def test_nothing_made_is_no_success(run: Run, halved: Path, tmp_path: Path) -> None:
    assert (
        run(
            "antidote", halved, *HALVED, "--rule", halved.with_name("rule.toml"), "--quiet", "--save", tmp_path / "kept"
        ).code
        == 0
    )
    alike = pyarrow.parquet.read_table(halved).take([1, 3, 5])
    pyarrow.parquet.write_table(alike, tmp_path / "alike.parquet")
    for out in ("made", "made.parquet"):
        outcome = run("antidote", tmp_path / "alike.parquet", "--load", tmp_path / "kept", "--out", tmp_path / out)
        assert outcome.code == 2
        assert "No row can be given other sensitive values" in outcome.stderr


@pytest.mark.parametrize("generator", ["gibbs"])
def test_a_network_is_learned_once_saved_and_loaded(
    run: Run, parquet: Path, tmp_path: Path, generator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from likewise.generation import GibbsGenerator

    learned: list[int] = []
    learn = GibbsGenerator._learn

    def count(self: GibbsGenerator, table: Any) -> None:
        learned.append(len(table))
        learn(self, table)

    def stop(self: PartsFolder, number: int, table: pa.Table) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(GibbsGenerator, "_learn", count)
    how = ("--generator", generator, "--iterations", 5, "--train-rows", 120, "--quiet", "--save", tmp_path / "kept")
    asked = ("antidote", parquet, *ASKED[:4], *how, "--out", tmp_path / "made")
    with monkeypatch.context() as patched:
        patched.setattr(PartsFolder, "write", stop)
        assert run(*asked).code == 130
    shutil.rmtree(tmp_path / "kept")  # or it was not asked for the first time
    outcome = run(*asked)
    assert outcome.code == 0, outcome.stderr
    assert learned == [120]
    loaded = read_json(run, parquet, "--load", tmp_path / "kept", "--quiet", "--out", tmp_path / "again")
    assert (loaded["generator"], loaded["n_rows"]) == ("gibbs", 300)
    assert read(tmp_path / "again").to_pylist() == read(tmp_path / "made").to_pylist()
    assert {path.name for path in tmp_path.iterdir()} == {"again", "kept", "made", "people.parquet"}


def test_a_loaded_generator_makes_one_file_too(run: Run, parquet: Path, csv: Path, tmp_path: Path) -> None:
    saved, out = tmp_path / "kept", tmp_path / "a.csv"
    assert run("antidote", parquet, *ASKED, "--quiet", "--save", saved, "--out", out).code == 0
    assert run("antidote", csv, "--load", saved, "--quiet", "--out", tmp_path / "b.csv").code == 0
    assert out.read_bytes() == (tmp_path / "b.csv").read_bytes()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "--label: it is missing. Name the column of outcomes"),
        (("--load", "kept", "--label", "hired"), "--load: a saved generator has its columns and rule"),
        (("--load", "kept", "--iterations", 3), "--iterations: with --load nothing is fitted"),
        (("--load", "kept", "--save", "more"), "--save: with --load nothing is fitted"),
        (("--load", "nowhere"), "Cannot load from 'nowhere'"),
        ((*ASKED, "--out", "nowhere/made"), "There is no folder 'nowhere'"),
        ((*ASKED, "--out", "file"), "'file' is there already"),
        ((*ASKED, "--out", "mine"), "'mine' is not a folder of antidotes written by likewise"),
    ],
)
def test_faults_are_one_line_and_code_two(
    run: Run, parquet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: tuple[object, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    Path("mine").mkdir()
    outcome = run("antidote", parquet, "--quiet", *args)
    assert outcome.code == 2
    assert outcome.stdout == ""
    assert outcome.stderr.count("\n") == 1
    assert message in outcome.stderr


def test_the_rows_to_learn_from_are_a_fair_choice() -> None:
    chosen = choose_rows(3_000_000, 10_000, 0)
    assert len(set(chosen.tolist())) == 10_000
    assert (np.diff(chosen) > 0).all()
    assert np.histogram(chosen, bins=5, range=(0, 3_000_000))[0] == pytest.approx(np.full(5, 2000), abs=200)
    assert choose_rows(50, 100, 0).tolist() == list(range(50))
