"""What the texts around the code say is so."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

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


def test_the_two_commands_are_the_first_thing_one_reads() -> None:
    first = [line for line in README.splitlines() if line and not line.startswith(("#", "```"))]
    assert first[0].startswith("make demo ")
    assert first[1].startswith("make test ")


def blocks_of(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_the_python_of_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    (code,) = blocks_of("python")
    exec(compile(code, "README.md", "exec"), names)
    change = likewise.compare_audits(names["before"], names["after"])["gap_mean"]
    assert change.difference.high is not None
    assert change.difference.high < 0
    assert "gap_mean" in capsys.readouterr().out


def test_the_commands_of_the_readme_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.toml").write_text("max_gap_mean = 0.2\nmin_roc_auc = 0.7\n", "utf-8")
    random = np.random.default_rng(0)
    n = 400
    hired = random.integers(0, 2, n)
    seen = np.where(random.random(n) < 0.02, 1 - hired, hired)  # a model that is never wrong would be no news
    people = {
        **{name: random.choice(["a", "b"], n) for name in ("sex", "ethnicity", "job")},
        **{"hours": random.integers(1, 9, n), "hired": hired, "p": 0.98 * seen + random.random(n) / 50},
    }
    table = pd.DataFrame(people)
    table.to_csv("people.csv", index=False)
    decided = table.assign(decision=np.where(table.p < 0.5, "denied", "approved")).drop(columns=["p", "hired"])
    decided.to_csv("applications.csv", index=False)
    commands = [line for block in blocks_of("sh") for line in block.splitlines() if line.startswith("likewise ")]
    assert [command.split()[1] for command in commands] == ["audit", "audit", "explore", "antidote"]
    served: list[likewise.explore.Explorer] = []

    def serve(server: Any, explorer: likewise.explore.Explorer, **how: Any) -> None:
        served.append(explorer)

    monkeypatch.setattr("likewise.explore._internal.PageServer.run", serve)  # until Ctrl-C
    for command in commands:
        with pytest.raises(SystemExit) as stop:
            main(shlex.split(command, comments=True)[1:])
        assert stop.value.code == 0, capsys.readouterr()
    assert {"audit.json", "audit.md", "junit.xml"} <= {path.name for path in (tmp_path / "audit").iterdir()}
    assert pd.read_parquet("augmented.parquet")["is_antidote"].sum() == n / 2
    assert len(served) == 1


def test_the_numbers_of_the_readme_are_those_of_the_results() -> None:
    results = (ROOT / "benchmarks/results/remedies.md").read_text("utf-8").split("## adult")[1].split("\n## ")[0]
    measured = [re.findall(r"(?<![±\d.] )-?\d+\.\d+", line) for line in results.splitlines()]
    rows = [
        re.findall(r"-?\d+\.\d+", line.replace("\N{MINUS SIGN}", "-")) for line in README.splitlines() if "| " in line
    ]
    rows = [row for row in rows if len(row) >= 4]
    published = ["87.91", "71.08", "17.46", "5.48"]
    assert len(rows) == 15
    assert published in rows
    for row in rows:
        assert row == published or any(set(row) <= set(line) for line in measured), row


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
