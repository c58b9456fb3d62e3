"""What ``likewise antidote`` promises: the antidotes of the library, in words, as JSON and as a file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from likewise import Comparability, Roles
from likewise.cli.commands import _generators
from likewise.generation import Antidotes, UniformGenerator

if TYPE_CHECKING:
    from tests.cli.conftest import Run

ASKED = ("--label", "hired", "--sensitive", "race,sex", "--generator", "uniform")
PROVENANCE = ["is_antidote", "source_row", "antidote_round"]


@pytest.fixture(scope="module")
def roles(people: pa.Table) -> Roles:
    return Roles.infer(people, label="hired", sensitive=("race", "sex"))


@pytest.fixture(scope="module")
def antidotes(people: pa.Table, roles: Roles) -> Antidotes:
    return UniformGenerator(roles, Comparability(), random_state=0).fit(people).generate(people, ratio=0.5)


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Keep a small network on one thread: on a busy machine several wait for each other, ten times as long."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def read_json(run: Run, *args: object) -> dict[str, Any]:
    outcome = run("antidote", *args, "--json")
    assert outcome.code == 0, outcome.stderr
    record = json.loads(outcome.stdout)
    assert isinstance(record, dict)
    return record


def test_the_file_has_the_rows_and_then_the_antidotes_of_the_library(
    run: Run, csv: Path, people: pa.Table, antidotes: Antidotes, tmp_path: Path
) -> None:
    out = tmp_path / "augmented.parquet"
    outcome = run("antidote", csv, *ASKED, "--ratio", 0.5, "--out", out)
    assert outcome.code == 0, outcome.stderr
    assert f"The rows and their antidotes are in {out}." in outcome.stderr
    written = pyarrow.parquet.read_table(out)
    assert written.column_names == [*people.column_names, *PROVENANCE]
    assert written.slice(0, 300).select(people.column_names).equals(people)
    assert written.slice(300).select(people.column_names).equals(antidotes.frame)
    assert written.column("is_antidote").to_pylist() == [False] * 300 + [True] * 150
    assert written.column("source_row").to_pylist() == [None] * 300 + antidotes.source.tolist()
    assert written.column("antidote_round").to_pylist() == [None] * 300 + antidotes.round.tolist()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["augmented.parquet", "people.csv"]


def test_the_antidotes_alone_and_as_csv(run: Run, csv: Path, antidotes: Antidotes, tmp_path: Path) -> None:
    out = tmp_path / "antidotes.csv"
    outcome = run("antidote", csv, *ASKED, "--ratio", 0.5, "--only", "--out", out)
    assert outcome.code == 0, outcome.stderr
    written = pyarrow.csv.read_csv(out)
    assert written.num_rows == 150
    assert written.column("is_antidote").to_pylist() == [True] * 150
    assert written.select(antidotes.frame.column_names).equals(antidotes.frame)


def test_a_parquet_file_says_how_it_was_made(run: Run, csv: Path, roles: Roles, tmp_path: Path) -> None:
    out = tmp_path / "augmented.parquet"
    record = read_json(run, csv, *ASKED, "--rounds", 2, "--seed", 4, "--out", out)
    about = json.loads(pyarrow.parquet.read_schema(out).metadata[b"likewise"])
    assert about == {key: record[key] for key in about}
    assert about["generator"] == "uniform"
    assert (about["rounds"], about["ratio"], about["seed"]) == (2, None, 4)
    assert Roles.from_dict(about["roles"]) == roles


def test_the_same_seed_writes_the_same_file(run: Run, csv: Path, tmp_path: Path) -> None:
    for name, seed in (("one", 1), ("two", 1), ("three", 2)):
        assert run("antidote", csv, *ASKED, "--seed", seed, "--out", tmp_path / f"{name}.csv").code == 0
    one, two, three = ((tmp_path / f"{name}.csv").read_bytes() for name in ("one", "two", "three"))
    assert one == two != three


def test_json_says_what_the_library_makes(run: Run, csv: Path, people: pa.Table, antidotes: Antidotes) -> None:
    record = read_json(run, csv, *ASKED, "--ratio", 0.5)
    assert record["n_rows"] == 300
    assert record["n_antidotes"] == 150
    assert record["antidotes_per_row"] == record["ratio"] == 0.5
    assert record["coverage"] == pytest.approx(antidotes.coverage)
    assert record["n_with_antidote"] == len(set(antidotes.source.tolist()))
    assert record["changed"] == pytest.approx(antidotes.summary()["changed"])
    assert sum(one["n_antidotes"] for one in record["by_transition"]) == 150
    assert all(one["source"] != one["antidote"] for one in record["by_transition"])
    assert len(record["examples"]) == 3
    made = list(zip(antidotes.source.tolist(), antidotes.frame.to_pylist(), strict=True))
    for example in record["examples"]:
        row = people.slice(example["source_row"], 1).to_pylist()[0]
        assert {"race", "sex"} & set(example["differs"])
        assert all(row[name] == values[0] for name, values in example["differs"].items())
        antidote = row | {name: values[1] for name, values in example["differs"].items()}
        assert (example["source_row"], antidote) in made


def test_people_read_the_same_numbers(run: Run, csv: Path, antidotes: Antidotes) -> None:
    outcome = run("antidote", csv, *ASKED, "--ratio", 0.5)
    assert outcome.code == 0
    assert "150 antidotes for the 300 rows of" in outcome.stdout
    assert f"{len(set(antidotes.source.tolist()))} people have at least one" in outcome.stdout
    assert "race, sex of the person" in outcome.stdout
    assert "other columns changed most often" in outcome.stdout
    assert "* differs" in outcome.stdout
    assert "race (sensitive)" in outcome.stdout
    assert "Comparable people have the same hired" in outcome.stderr


def test_quiet_leaves_stderr_empty(run: Run, csv: Path, tmp_path: Path) -> None:
    assert run("antidote", csv, *ASKED, "--quiet", "--out", tmp_path / "a.csv").stderr == ""


def test_groups_of_numbers_are_numbers_in_the_file(run: Run, csv: Path, people: pa.Table, tmp_path: Path) -> None:
    out = tmp_path / "a.parquet"
    asked = ("--label", "hired", "--sensitive", "age", "--bins", "age=30,", "--generator", "uniform", "--only")
    assert run("antidote", csv, *asked, "--out", out).code == 0
    written = pyarrow.parquet.read_table(out)
    own = people.column("age").to_numpy()[written.column("source_row").to_numpy()]
    assert ((own < 30) != (written.column("age").to_numpy() < 30)).all()


def test_columns_called_like_ours_stay(run: Run, people: pa.Table, tmp_path: Path) -> None:
    data, out = tmp_path / "a.parquet", tmp_path / "b.parquet"
    pyarrow.parquet.write_table(people.append_column("source_row", pa.array(np.arange(300) % 7)), data)
    assert run("antidote", data, *ASKED, "--out", out).code == 0
    written = pyarrow.parquet.read_table(out)
    assert written.column_names[-4:] == ["source_row", "is_antidote", "source_row_", "antidote_round"]


def test_dictionaries_are_written_as_text(run: Run, people: pa.Table, tmp_path: Path) -> None:
    data, out = tmp_path / "a.parquet", tmp_path / "b.csv"
    jobs = people.column("job").dictionary_encode()
    pyarrow.parquet.write_table(people.set_column(3, "job", jobs), data)
    assert run("antidote", data, *ASKED, "--out", out).code == 0
    assert set(pyarrow.csv.read_csv(out).column("job").to_pylist()) == {"baker", "cook", "smith"}


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--ratio", 1, "--rounds", 1), "--ratio and --rounds: they exclude each other"),
        (("--ratio", 0), "it is 0; give a number above 0"),
        (("--ratio", "nan"), "it is nan; give a number above 0"),
        (("--rounds", 0), "--rounds"),
        (("--generator", "gan"), "'gan' is not one of 'gibbs', 'uniform', 'adversarial'"),
        (("--device", "cpu"), "it is for networks, and uniform has none"),
        (("--iterations", "9"), "it is for networks, and uniform has none"),
        (("--rule", "twins.toml"), "does not allow that. Use sensitive_differs = 'any' in the file of --rule"),
        (("--sensitive", "jb"), "jb"),
        (("--out", "people.xlsx"), "Name a file that ends in .parquet or .csv"),
        (("--out", "nowhere/people.csv"), "There is no folder 'nowhere'"),
    ],
)
def test_faults_are_one_line_and_code_two(
    run: Run, csv: Path, monkeypatch: pytest.MonkeyPatch, args: tuple[object, ...], message: str
) -> None:
    monkeypatch.chdir(csv.parent)
    Path("twins.toml").write_text('[rule]\nsensitive_differs = "none"\n')
    outcome = run("antidote", csv, *ASKED, "--quiet", *args)
    assert outcome.code == 2
    assert outcome.stdout == ""
    assert outcome.stderr.count("\n") == 1
    assert message in outcome.stderr


def test_the_file_that_is_read_is_not_overwritten(run: Run, csv: Path) -> None:
    before = csv.read_bytes()
    outcome = run("antidote", csv, *ASKED, "--quiet", "--out", csv)
    assert outcome.code == 2
    assert "is the input" in outcome.stderr
    assert csv.read_bytes() == before


def test_one_sensitive_value_only_is_refused(run: Run, people: pa.Table, tmp_path: Path) -> None:
    data = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(people.filter(pa.compute.equal(people.column("sex"), "f")), data)
    outcome = run("antidote", data, "--label", "hired", "--sensitive", "sex", "--generator", "uniform", "-q")
    assert outcome.code == 2
    assert "Column 'sex' has one value only, 'f'" in outcome.stderr


@pytest.mark.skipif(find_spec("torch") is None, reason="needs torch")
def test_no_pairs_to_learn_from_names_the_generators_that_help(run: Run, people: pa.Table, tmp_path: Path) -> None:
    data = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(people.append_column("same", people.column("sex")), data)
    outcome = run("antidote", data, "--label", "same", "--sensitive", "sex", "--generator", "adversarial", "--quiet")
    assert outcome.code == 2
    assert "The Gibbs and uniform generators need no pairs." in outcome.stderr


def test_fewer_than_asked_is_said(run: Run, csv: Path) -> None:
    strict = ("--max-discrete-changes", 0, "--max-continuous-shift", 0)
    outcome = run("antidote", csv, *ASKED, *strict, "--ratio", 9, "--quiet")
    assert outcome.code == 0
    assert "1,500 antidotes for the 300 rows" in outcome.stdout
    assert "Only 1,500 distinct antidotes could be generated for 300 rows, not 2,700" in outcome.stderr


def test_a_ratio_of_less_than_one_row_is_none(run: Run, csv: Path) -> None:
    assert "0 antidotes for the 300 rows" in run("antidote", csv, *ASKED, "--ratio", 0.001, "--quiet").stdout


def test_an_interrupt_leaves_no_file(run: Run, csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("likewise._files.os.link", interrupt)
    outcome = run("antidote", csv, *ASKED, "--quiet", "--out", tmp_path / "a.parquet")
    assert outcome.code == 130
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


def test_without_torch_another_generator_is_named(run: Run, csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_generators, "find_spec", lambda name: None)
    outcome = run("antidote", csv, "--label", "hired", "--sensitive", "race")
    assert outcome.code == 2
    assert "'.[torch]'" in outcome.stderr
    assert "--generator uniform" in outcome.stderr


@pytest.mark.skipif(find_spec("torch") is None, reason="needs torch")
def test_an_odd_device_is_refused(run: Run, csv: Path) -> None:
    outcome = run("antidote", csv, *ASKED[:4], "--generator", "gibbs", "--device", "banana", "--quiet")
    assert outcome.code == 2
    assert "--device is 'banana', which torch does not know" in outcome.stderr


@pytest.mark.long(2)
@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("generator", ["gibbs", "adversarial"])
def test_networks_make_antidotes_on_the_command_line(run: Run, csv: Path, tmp_path: Path, generator: str) -> None:
    out = tmp_path / "a.parquet"
    how = ("--generator", generator, "--iterations", 20, "--device", "cpu")
    record = read_json(run, csv, *ASKED[:4], "--ratio", 0.5, *how, "--out", out)
    assert (record["generator"], record["iterations"]) == (generator, 20)
    assert pyarrow.parquet.read_table(out).num_rows == 300 + record["n_antidotes"]
    assert record["n_antidotes"] > 0
