"""What the texts around the code say is so."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import likewise
import likewise.explore
from likewise.cli import main

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text("utf-8")


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Keep small networks on one thread: on several of a busy machine they wait for each other."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(n_threads)


def test_the_two_commands_are_the_first_thing_from_a_clone() -> None:
    lines = README.split("## From a clone")[1].splitlines()
    first = [line for line in lines if line and not line.startswith("```")]
    assert first[0].startswith("make demo ")
    assert first[1].startswith("make test ")


def blocks_of(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


@pytest.fixture
def lender(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> likewise.Dataset:
    """The table that the README audits, in the file that it reads."""
    monkeypatch.chdir(tmp_path)
    data = likewise.load_dataset("planted", n_rows=20_000)
    people = data.train.X.drop(columns=["gender"]).assign(repaid=data.train.y)
    people["p"] = data.scores(data.train.X).round(4)
    people.to_csv("people.csv", index=False)
    return data


def test_the_audit_of_the_readme_prints_what_stands_below_it(
    lender: likewise.Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(compile(blocks_of("python")[0], "README.md", "exec"), {})
    assert capsys.readouterr().out == blocks_of("text")[0]


def test_the_pair_of_the_readme_is_one_of_the_audit(lender: likewise.Dataset) -> None:
    people = pd.read_csv("people.csv")
    one, other = re.findall(r"^\| (?:one|other) \|(.*)\|$", README, re.MULTILINE)
    for told in (one, other):
        score, group, *_ = (cell.strip(" *") for cell in told.split("|"))
        found = people[(people.p.round(3) == float(score)) & (people.group == group) & (people.income == 80_000)]
        assert "63.0" in found.age.astype(str).to_list()


def test_the_repair_of_the_readme_runs_and_was_measured() -> None:
    data = likewise.load_dataset("planted")
    words, numbers = make_column_selector(dtype_exclude="number"), make_column_selector(dtype_include="number")
    columns = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), words), (StandardScaler(), numbers))
    names: dict[str, Any] = {
        "model": make_pipeline(columns, LogisticRegression()),
        "X": data.train.X.rename(columns={"group": "marital-status"}),
        "y": data.train.y,
    }
    exec(compile(blocks_of("python")[1], "README.md", "exec"), names)
    assert names["repaired"].after.record.pairs.n > 0
    assert blocks_of("text")[1] == (ROOT / "examples/repair_adult.txt").read_text("utf-8")


def test_the_commands_of_the_readme_work(
    lender: likewise.Dataset, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("policy.toml").write_text("max_gap_mean = 0.2\nmin_roc_auc = 0.7\n", "utf-8")
    commands = [line for block in blocks_of("sh") for line in block.splitlines() if line.startswith("likewise ")]
    assert [command.split()[1] for command in commands] == ["audit", "audit", "explore"]
    served: list[likewise.explore.Explorer] = []

    def serve(server: Any, explorer: likewise.explore.Explorer, **how: Any) -> None:
        served.append(explorer)

    monkeypatch.setattr("likewise.explore._internal.PageServer.run", serve)  # until Ctrl-C
    for command in commands:
        with pytest.raises(SystemExit) as stop:
            main(shlex.split(command, comments=True)[1:])
        assert stop.value.code == 0, capsys.readouterr()
    assert {"audit.json", "audit.md", "junit.xml"} <= {path.name for path in Path("audit").iterdir()}
    assert len(served) == 1


def test_the_numbers_of_the_readme_are_those_of_the_results() -> None:
    results = (ROOT / "benchmarks/results/remedies.md").read_text("utf-8").split("## adult")[1].split("\n## ")[0]
    measured = [re.findall(r"(?<![±\d.] )-?\d+\.\d+", line) for line in results.splitlines() if "XGBoost" in line]
    table = README.split("## What it does to a model")[1].split("\n- ")[0]
    rows = [re.findall(r"\d+\.\d+", line) for line in table.splitlines() if line.startswith("| ") and "." in line]
    assert len(rows) == 5
    for row in rows:
        assert any(set(row) <= set(line) for line in measured), row


def test_links_lead_somewhere() -> None:
    for text in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        links = re.findall(r"\]\(([^)#]+)\)", (ROOT / text).read_text("utf-8"))
        assert [link for link in links if "://" not in link and not (ROOT / link).exists()] == []


def test_the_citation_names_this_version() -> None:
    assert f"version: {likewise.__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


def test_every_dependency_is_pinned() -> None:
    pins = [line for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines() if not line.startswith("#")]
    pinned = {plain(pin.partition("==")[0]) for pin in pins}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [
        *project["dependencies"],
        *(need for extra in project["optional-dependencies"].values() for need in extra),
    ]
    assert all("==" in pin for pin in pins)
    assert {plain(re.split(r"[\[<>=~ ]", need)[0]) for need in wanted} - {"likewise"} <= pinned
    assert "torch==2.13.0" in pins


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
