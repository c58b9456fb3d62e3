"""Every page of a benchmark follows from the figures that are stored beside it, to the last byte."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
QUESTIONS = sorted(path.stem for path in FOLDER.glob("[a-z]*.py"))


@pytest.fixture(autouse=True)
def _beside_the_scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_committed_page_is_what_the_committed_figures_give(question: str) -> None:
    pytest.importorskip("torch")
    harness, script = importlib.import_module("_harness"), importlib.import_module(question)
    name = getattr(script, "NAME", question)
    page = (FOLDER / "results" / f"{name}.md").read_text("utf-8")
    assert page == script.write_page(harness.read_figures(name)), f"python benchmarks/{question}.py --report"


def test_every_stored_figure_has_a_question() -> None:
    names = {getattr(importlib.import_module(question), "NAME", question) for question in QUESTIONS}
    assert {path.name.partition(".")[0] for path in (FOLDER / "results").glob("*.json.xz")} == names


def test_cells_are_measured_apart_stored_and_not_measured_again(tmp_path: Path) -> None:
    harness = importlib.import_module("_harness")
    script = tmp_path / "question.py"
    script.write_text(
        f"""import sys
sys.path.insert(0, {str(FOLDER)!r})
import _harness
from pathlib import Path
_harness.RESULTS = Path({str(tmp_path)!r})

def measure(number):
    assert number < 2
    return {{"double": 2 * number, **_harness.time_job(lambda: None, n_calls=1)[1]}}

def write_page(figures):
    return "".join(f"{{name}} {{cell['status']}} {{cell.get('double')}}\\n" for name, cell in figures["cells"].items())

_harness.answer("question", None, {{"one": [1], "two": [2]}}, measure, write_page)
"""
    )
    for _ in range(2):
        assert harness.subprocess.run([sys.executable, script], capture_output=True).returncode == 0
        assert (tmp_path / "question.md").read_text() == "one done 2\ntwo failed None\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["question.json.xz", "question.md", "question.py"]


def test_tables_are_drawn_audited_and_counted() -> None:
    script = importlib.import_module("conclusions")
    tables = {"few, 10": 3, "named, half": 2, "branches": 2}
    cells = {name: {"status": "done", **script.measure(name, n)} for name, n in tables.items()}
    for name, n_tables in tables.items():
        assert cells[name]["audited"] == n_tables
        for one in cells[name]["measures"].values():
            assert 0 <= one["passed"] + one["failed"] <= one["n"] <= n_tables
    found = cells["named, half"]["conclusions"]
    assert found["excess"] == found["significant"] == 1
    assert found["named"] < 0.5 < found["found"]
    page = script.write_page({"machine": "", "versions": {}, "cells": cells})
    assert all(f"| {name} | {n} |" in " ".join(page.split()) for name, n in tables.items())


def test_every_population_is_drawn_alike_from_a_seed_and_has_both_groups() -> None:
    populations, numpy = importlib.import_module("_populations").POPULATIONS, importlib.import_module("numpy")
    for name, population in populations.items():
        one, other = (population.draw(numpy.random.default_rng(3)) for _ in range(2))
        assert one.frame.equals(other.frame), name
        assert one.scores.tolist() == other.scores.tolist(), name
        assert set(one.people["group"]) == {"a", "b"}, name
