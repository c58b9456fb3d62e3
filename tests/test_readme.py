"""What the texts around the code say is so."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pandas as pd

import likewise

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text("utf-8")


def test_the_two_commands_are_the_first_thing_one_reads() -> None:
    first = [line for line in README.splitlines() if line and not line.startswith(("#", "```"))]
    assert first[0].startswith("make demo ")
    assert first[1].startswith("make test ")


def test_the_python_of_the_readme_runs() -> None:
    people = {"sex": ["f", "m"] * 10, "ethnicity": ["a", "a", "b", "b"] * 5, "grade": range(20), "hired": [0, 1] * 10}
    names: dict[str, Any] = {"frame": pd.DataFrame(people)}
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
        assert len(names["people"]) > 0
    assert len(names["pairs"]) == names["counts"].total > 0


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
