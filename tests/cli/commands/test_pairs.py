"""What ``likewise pairs`` promises: the pairs of the library, in words, as JSON and as a file."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import likewise
from likewise.comparable import Comparability, ComparablePairs, count_pairs, mine_pairs, read_pairs, sample_pairs
from likewise.schema import CodedTable, Roles

if TYPE_CHECKING:
    from tests.cli.conftest import Run

ASKED = ("--label", "hired", "--sensitive", "race,sex")
RULE = Comparability(max_discrete_changes=1, max_continuous_shift=0.025)


@pytest.fixture(scope="module")
def table(people: pa.Table) -> CodedTable:
    roles = Roles.infer(people, label="hired", sensitive=("race", "sex"))
    return roles.learn(people).encode(people)


@pytest.fixture(scope="module")
def pairs(table: CodedTable) -> ComparablePairs:
    found = mine_pairs(table, RULE)
    assert len(found) > 20
    return found


def read_json(run: Run, *args: object) -> dict[str, Any]:
    outcome = run("pairs", *args, "--json")
    assert outcome.code == 0, outcome.stderr
    assert outcome.stdout.count("\n") == 1
    record = json.loads(outcome.stdout)
    assert isinstance(record, dict)
    return record


def test_json_says_what_the_library_finds(run: Run, csv: Path, table: CodedTable, pairs: ComparablePairs) -> None:
    record = read_json(run, csv, *ASKED)
    counts = count_pairs(table, RULE)
    assert record["n_pairs"] == record["n_pairs_total"] == len(pairs)
    assert record["is_complete"] is True
    assert {one["label"]: one["n_pairs"] for one in record["by_label"]} == counts.by_label
    assert {
        (tuple(one["one"].values()), tuple(one["other"].values())): one["n_pairs"] for one in record["by_transition"]
    } == counts.by_transition
    assert record["n_with_partner"] == len({*pairs.left.tolist(), *pairs.right.tolist()})
    assert Comparability.from_dict(record["rule"]) == RULE
    assert Roles.from_dict(record["roles"]).ignored == ("name",)


def test_examples_are_pairs_and_show_what_differs(
    run: Run, csv: Path, people: pa.Table, pairs: ComparablePairs
) -> None:
    found = set(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))
    examples = read_json(run, csv, *ASKED)["examples"]
    assert len(examples) == 3
    for example in examples:
        left, right = example["left_row"], example["right_row"]
        assert (left, right) in found
        for name, values in example["differs"].items():
            assert values == [people.column(name)[left].as_py(), people.column(name)[right].as_py()]
            assert values[0] != values[1]


def test_people_read_the_same_numbers(run: Run, csv: Path, pairs: ComparablePairs) -> None:
    outcome = run("pairs", csv, *ASKED)
    assert outcome.code == 0
    assert f"{len(pairs):,} comparable pairs among the 300 rows" in outcome.stdout
    assert "race, sex of one" in outcome.stdout
    assert f"row {pairs.left[0]:,}" in outcome.stdout
    assert "race (sensitive)" in outcome.stdout
    assert "*" in outcome.stdout


@pytest.mark.parametrize("width", [40, 80, 120])
def test_output_keeps_within_the_terminal(run: Run, csv: Path, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert max(map(len, run("pairs", csv, *ASKED).stdout.splitlines())) <= width


def test_what_was_decided_goes_to_stderr_unless_quiet(run: Run, csv: Path) -> None:
    loud, quiet = run("pairs", csv, *ASKED), run("pairs", csv, *ASKED, "--quiet")
    for words in ("discrete    job", "continuous  age", "ignored     name", "text with 3 distinct values"):
        assert words in loud.stderr
    assert loud.stdout == quiet.stdout
    assert quiet.stderr == ""


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_the_file_holds_the_pairs_of_the_library(
    run: Run, csv: Path, people: pa.Table, pairs: ComparablePairs, ending: str
) -> None:
    out = csv.with_name(f"pairs.{ending}")
    record = read_json(run, csv, *ASKED, "--row-id", "name", "--out", out)
    assert record["out"] == str(out)
    written = pyarrow.csv.read_csv(out) if ending == "csv" else pyarrow.parquet.read_table(out)
    assert written.column_names == [
        *("left_row", "right_row", "left_id", "right_id", "label"),
        *("left_race", "right_race", "left_sex", "right_sex"),
    ]
    assert written.column("left_row").to_pylist() == pairs.left.tolist()
    assert written.column("right_row").to_pylist() == pairs.right.tolist()
    assert written.column("label").to_pylist() == pairs.label.tolist()
    assert written.column("right_id").to_pylist() == people.column("name").take(pairs.right).to_pylist()
    assert written.column("left_sex").to_pylist() == people.column("sex").take(pairs.left).to_pylist()
    assert sorted(path.name for path in csv.parent.iterdir()) == [out.name, csv.name]


def test_the_parquet_file_says_how_to_have_it_again(run: Run, csv: Path) -> None:
    out = csv.with_name("pairs.parquet")
    record = read_json(run, csv, *ASKED, "--max-discrete-changes", 2, "--sample", 3, "--seed", 5, "--out", out)
    about = json.loads(pyarrow.parquet.read_schema(out).metadata[b"likewise"])
    assert about["rule"]["max_discrete_changes"] == 2
    assert about["roles"]["sensitive"] == ["race", "sex"]
    assert about["sha256"] == hashlib.sha256(csv.read_bytes()).hexdigest()
    assert (about["likewise"], about["sample"], about["seed"]) == (likewise.__version__, 3, 5)
    assert about.items() <= record.items()


def test_the_same_question_writes_the_same_bytes(run: Run, csv: Path) -> None:
    files = [csv.with_name(f"{name}.parquet") for name in ("one", "two")]
    for out in files:
        read_json(run, csv, *ASKED, "--sample", 3, "--out", out)
    assert files[0].read_bytes() == files[1].read_bytes()


def test_count_lists_nothing_and_agrees(run: Run, csv: Path, pairs: ComparablePairs) -> None:
    counted, listed = read_json(run, csv, *ASKED, "--count"), read_json(run, csv, *ASKED)
    assert counted["n_pairs"] == len(pairs)
    assert counted["by_transition"] == listed["by_transition"]
    assert counted["examples"] == []
    assert counted["n_with_partner"] is None
    assert f"{len(pairs):,} comparable pairs" in run("pairs", csv, *ASKED, "--count").stdout


def test_limit_keeps_the_first_pairs_and_knows_whether_there_are_more(
    run: Run, csv: Path, pairs: ComparablePairs
) -> None:
    out = csv.with_name("pairs.csv")
    record = read_json(run, csv, *ASKED, "--limit", 5, "--out", out)
    assert (record["n_pairs"], record["n_pairs_total"], record["is_complete"]) == (5, None, False)
    assert pyarrow.csv.read_csv(out).column("left_row").to_pylist() == pairs.left[:5].tolist()
    assert "The first 5 comparable pairs" in run("pairs", csv, *ASKED, "--limit", 5).stdout
    assert read_json(run, csv, *ASKED, "--limit", len(pairs))["is_complete"] is True
    assert read_json(run, csv, *ASKED, "--limit", 0)["n_pairs"] == 0


def test_sample_draws_what_the_library_draws(run: Run, csv: Path, table: CodedTable, pairs: ComparablePairs) -> None:
    out = csv.with_name("pairs.csv")
    record = read_json(run, csv, *ASKED, "--sample", 7, "--seed", 3, "--out", out)
    drawn = sample_pairs(table, RULE, n=7, random_state=3)
    assert (record["n_pairs"], record["n_pairs_total"]) == (7, len(pairs))
    assert pyarrow.csv.read_csv(out).column("right_row").to_pylist() == drawn.right.tolist()
    assert "A random sample: 7 comparable pairs" in run("pairs", csv, *ASKED, "--sample", 7).stdout


def test_options_reach_roles_and_rule(run: Run, csv: Path) -> None:
    record = read_json(
        *(run, csv, "--label", "hired", "--sensitive", "race", "--sensitive", "age", "--bins", "age=30,50"),
        *("--ordinal", "size=S<M<L", "--must-match", "job", "--ignore", "name", "--discrete", "sex"),
        *("--max-discrete-changes", 0, "--max-continuous-shift", 0.1, "--missing", "apart"),
    )
    roles = Roles.from_dict(record["roles"])
    assert roles.sensitive == ("race", "age")
    assert roles.bins == {"age": (30.0, 50.0)}
    assert roles.ordinal == {"size": ("S", "M", "L")}
    assert (roles.matched, roles.ignored, roles.discrete, roles.missing) == (("job",), ("name",), ("sex",), "apart")
    rule = Comparability.from_dict(record["rule"])
    assert rule == Comparability(0, 0.1)


def test_missing_amounts_follow_the_policy_of_their_column(run: Run, csv: Path) -> None:
    csv.write_text("race,age,pay,y\n" + "a,30,1.5,0\nb,,1.5,0\na,31,2.5,0\nb,40,,0\n" * 8)
    asked = ("--label", "y", "--sensitive", "race", "--continuous", "age")
    apart = read_json(run, csv, *asked)
    assert apart["roles"]["missing"] == {"age": "apart", "pay": "apart"}
    refused = run("pairs", csv, *asked, "--missing", "refuse", "--quiet")
    assert refused.code == 2
    assert refused.stderr.startswith("likewise: Numbers are missing in 'age' (8), 'pay' (8). Add --missing median")
    record = read_json(run, csv, *asked, "--missing", "median", "--missing", "age=apart")
    assert record["roles"]["missing"] == {"age": "apart", "pay": "median"}


def test_no_pairs_is_an_answer_and_not_an_error(run: Run, csv: Path) -> None:
    csv.write_text("race,age,y\na,1,0\nb,99,0\na,50,0\n")
    out = csv.with_name("pairs.parquet")
    outcome = run("pairs", csv, "--label", "y", "--sensitive", "race", "--out", out)
    assert outcome.code == 0
    assert "No comparable pairs among the 3 rows" in outcome.stdout
    assert "--max-continuous-shift" in outcome.stdout
    assert pyarrow.parquet.read_table(out).num_rows == 0


NOBODY = {
    "far apart": ("a,1,u,0\nb,99,v,0\na,50,w,0\n", (), "raise --max-continuous-shift (now 0.025)"),
    "changed": ("a,1,u,0\nb,1,v,0\n", ("--max-discrete-changes", 0), "--max-discrete-changes (now 0)"),
    "alike": ("a,1,u,0\na,1,u,0\n", (), "No two people with the same y differ in race"),
    "split by label": ("a,1,u,0\nb,1,u,1\na,1,u,0\n", (), "No two people with the same y differ in race"),
    "own labels": ("a,1,u,0\nb,1,u,1\n", (), "No two people have the same y"),
    "one person": ("a,1,u,0\n", (), "among the 1 row of"),
}


@pytest.mark.parametrize("case", NOBODY)
def test_without_pairs_it_says_what_to_change(run: Run, csv: Path, case: str) -> None:
    rows, options, words = NOBODY[case]
    csv.write_text("race,age,job,y\n" + rows)
    roles = ("--continuous", "age", "--discrete", "job")
    outcome = run("pairs", csv, "--label", "y", "--sensitive", "race", *roles, *options)
    assert outcome.code == 0
    assert words in " ".join(outcome.stdout.split())


def test_the_rule_is_told_in_words(run: Run, csv: Path) -> None:
    file = csv.with_name("rule.toml")
    file.write_text('[rule]\nsensitive_differs = "all"\n')
    outcome = run("pairs", csv, *ASKED, "--rule", file, "--must-match", "job", "--ordinal", "size=S<M<L")
    assert (
        "Comparable people have the same hired; different race and sex; the same job; ordinal columns at most 1 apart "
        "in rank; continuous columns at most 0.025 of their range apart (age 0.475, hours 0.225)."
    ) in " ".join(outcome.stderr.split())
    assert max(map(len, outcome.stderr.splitlines())) <= 100
    assert "at most 1 of 2 discrete columns changed" in " ".join(run("pairs", csv, *ASKED).stderr.split())


def test_limits_in_units_come_from_options_or_a_file(run: Run, csv: Path, table: CodedTable) -> None:
    rule = Comparability(limits={"age": "10 %", "hours": "0.5"}, no_better=("hours:higher",))
    file = csv.with_name("tolerances.toml")
    file.write_text('[rule]\nno_better = ["hours:higher"]\n[rule.limits]\nage = "10 %"\nhours = 0.5\n')
    record = read_json(run, csv, *ASKED, "--rule", file)
    assert Comparability.from_dict(record["rule"]) == rule
    assert record["n_pairs"] == len(mine_pairs(table, rule))
    for options in (("--limits", "age=10 %,hours=0.5"), ("--limits", "age=10%", "--limits", "hours=0.5")):
        assert Comparability.from_dict(read_json(run, csv, *ASKED, *options)["rule"]) == replace(rule, no_better=())
    words = " ".join(run("pairs", csv, *ASKED, "--rule", file).stderr.split())
    assert "age within 10% of the larger value; hours within 0.5; and the control has no" in words
    assert "These pairs are found without no_better in the file of --rule, by which an audit" in words


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--limits", "5"), "names no column"),
        (("--limits", "age=5 apples"), "--limits gives '5 apples' for column 'age', which is no limit"),
        (("--limits", "agee=5"), "Did you mean 'age'"),
        (("--limits", "job=5"), "'job', which is discrete"),
        (("--limits", "age=5 days"), "holds numbers and not dates"),
        (("--rule", "none.toml"), "'none.toml' cannot be read"),
        (("--rule", "none.toml", "--limits", "age=5"), "--rule and --limits exclude each other"),
    ],
)
def test_bad_limits_are_refused_in_one_line(run: Run, csv: Path, options: tuple[str, ...], message: str) -> None:
    outcome = run("pairs", csv, *ASKED, *options, "-q")
    assert outcome.code == 2
    assert message in outcome.stderr
    assert outcome.stderr.count("\n") == 1


def test_a_limit_that_excludes_hardly_anybody_is_told_of(run: Run, csv: Path) -> None:
    csv.write_text("sex,pressure,y\n" + "".join(f"{'fm'[i % 2]},{100 + i},1\n" for i in range(40)) + "f,16020,1\n")
    outcome = run("pairs", csv, "--label", "y", "--sensitive", "sex")
    assert "The limit of pressure is 398 (0.025 of its range, 100 to 16,020)" in outcome.stderr


def test_missing_on_both_sides_is_no_difference(run: Run, csv: Path) -> None:
    path = csv.with_name("people.parquet")
    nan = float("nan")
    people = {"race": ["a", "b", "a"], "pay": [nan, nan, 1.5], "y": [0, 0, 0]}
    pyarrow.parquet.write_table(pa.table(people), path)
    asked = (path, "--label", "y", "--sensitive", "race", "--continuous", "pay", "--missing", "apart")
    assert read_json(run, *asked)["examples"][0]["differs"] == {"race": ["a", "b"]}
    (line,) = [line for line in run("pairs", *asked).stdout.splitlines() if line.startswith("pay")]
    assert line.split() == ["pay", "(missing)", "(missing)"]


def test_of_a_wide_table_it_says_what_is_not_shown(run: Run, csv: Path) -> None:
    names = [f"c{i}" for i in range(60)]
    csv.write_text(f"race,y,{','.join(names)}\na,0{',1' * 60}\nb,0{',2' * 30}{',1' * 30}\n")
    asked = (csv, "--label", "y", "--sensitive", "race", "--discrete", ",".join(names), "--max-discrete-changes", 30)
    assert "... and 38 more columns, 7 of which differ" in run("pairs", *asked).stdout


def test_a_sensitive_column_may_have_any_name(run: Run, csv: Path) -> None:
    csv.write_text('row,"last, first",[b]x,y\na,u,1,0\nb,v,1,0\n')
    out = csv.with_name("pairs.csv")
    record = read_json(
        *(run, csv, "--label", "y", "--sensitive", "last, first", "--sensitive", "row"),
        *("--must-match", "[b]x", "--out", out),
    )
    assert record["n_pairs"] == 1
    assert pyarrow.csv.read_csv(out).column_names == [
        *("left_row", "right_row", "label", "left_last, first", "right_last, first", "left_row_", "right_row_"),
    ]
    assert "[b]x" in run("pairs", csv, "--label", "y", "--sensitive", "row", "--must-match", "[b]x").stdout


def test_without_sensitive_columns_twins_can_be_found(run: Run, csv: Path) -> None:
    csv.write_text("job,y\na,1\na,1\nb,0\n")
    file = csv.with_name("rule.toml")
    file.write_text('[rule]\nsensitive_differs = "none"\nmax_discrete_changes = 0\n')
    args = ("--label", "y", "--rule", file)
    assert read_json(run, csv, *args)["n_pairs"] == 1
    assert "1 comparable pair among" in run("pairs", csv, *args).stdout


def test_nothing_in_a_csv_file_of_pairs_runs_in_a_spreadsheet(run: Run, csv: Path) -> None:
    csv.write_text("race;=2,id,y\n=1+1,@a,-x\nb,+b,-x\n")
    csv_out, parquet_out = csv.with_name("pairs.csv"), csv.with_name("pairs.parquet")
    for out in (csv_out, parquet_out):
        read_json(run, csv, "--label", "y", "--sensitive", "race;=2", "--row-id", "id", "--out", out)
    assert pyarrow.csv.read_csv(csv_out).to_pydict() == {
        **{"left_row": [0], "right_row": [1], "left_id": ["'@a"], "right_id": ["'+b"], "label": ["'-x"]},
        **{"left_race;'=2": ["'=1+1"], "right_race;'=2": ["b"]},
    }
    assert pyarrow.parquet.read_table(parquet_out).column("left_race;=2").to_pylist() == ["=1+1"]


def test_a_name_without_an_ending_is_a_folder_of_all_pairs(
    run: Run, csv: Path, table: CodedTable, pairs: ComparablePairs
) -> None:
    out = csv.with_name("pairs")
    to_file = read_json(run, csv, *ASKED)
    record = read_json(run, csv, *ASKED, "--out", f"{out}/", "--memory-limit", "500 MB")
    assert record.pop("out") == str(out)
    assert record == {name: value for name, value in to_file.items() if name != "out"}
    written = list(read_pairs(out, table, RULE))
    assert [row for some in written for row in some.left.tolist()] == pairs.left.tolist()
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    assert f"{len(pairs):,} comparable pairs" in run("pairs", csv, *ASKED, "--out", out).stdout  # nothing is left to do
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (("--out", "{folder}/pairs", "--sample", 3), "a folder holds all pairs"),
        (("--out", "{folder}/pairs", "--limit", 3), "a folder holds all pairs"),
        (("--out", "{folder}/pairs.txt"), "or a folder, without an ending"),
        (("--memory-limit", "much"), "'much' is not a size"),
        (("--out", "{folder}/other"), "exists already"),
        (("--out", "{folder}/file"), "is there already"),
    ],
)
def test_what_cannot_be_a_folder_is_refused_in_words(
    run: Run, csv: Path, asked: tuple[object, ...], words: str
) -> None:
    (csv.parent / "other").mkdir()
    (csv.parent / "file").touch()
    outcome = run("pairs", csv, *ASKED, *(str(one).format(folder=csv.parent) for one in asked))
    assert outcome.code == 2
    assert words in " ".join(outcome.stderr.split())
    assert (csv.parent / "pairs").exists() is False
