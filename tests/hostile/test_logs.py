"""No name or value of the data becomes a command to the service that runs a job and reads its log."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.cli.conftest import Run, run
from tests.sizes import sized

__all__ = ["run"]

COMMAND = re.compile(r"^\s*::|##\w*\[")  # GitHub reads the first where a line begins, services the second anywhere
PIECES = (
    *("::error file=a::b", "::stop-commands::x", "##[error]", "##vso[task.setvariable variable=a]", "##teamcity["),
    *("\n", "\r", "\r\n", "\u2028", " ", "\t", "long " * 9, "\x1b[31m", "\ufe0f", "a", ":", "#", "'", ","),
)
NAMES = st.lists(st.sampled_from(PIECES), min_size=1, max_size=7).map("".join)
ROLES = ("race", "city", "age", "name", "hired", "p")


def write_people(path: Path, names: list[str], values: list[str]) -> None:
    """Write people under hostile names, with hostile groups and cities."""
    random = np.random.default_rng(0)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for number in range(80):
            race, city, age, hired = random.integers([2, 2, 30, 2])
            row = [values[race], values[2 + city], 30 + age, f"n{number}", ("no", "yes")[hired], random.random()]
            writer.writerow(row)


def commands_in(text: str) -> list[str]:
    return [line for line in re.split("[\r\n]", text) if COMMAND.search(line)]


@settings(
    max_examples=sized(8, 300),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=[Phase.generate],
)
@given(st.tuples(*[NAMES] * 6), st.tuples(*[NAMES] * 4), NAMES, st.sampled_from([30, 60, 80, 200]))
def test_no_line_of_any_output_is_a_command_from_the_data(
    run: Run,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    names: tuple[str, ...],
    values: tuple[str, ...],
    file: str,
    width: int,
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("COLUMNS", str(width))
    folder = tmp_path_factory.mktemp("people")
    columns = dict(zip(ROLES, (f"{name}{place}" for place, name in enumerate(names)), strict=True))
    path = folder / f"{file}.csv"
    write_people(path, list(columns.values()), [f"{value}{place}" for place, value in enumerate(values)])
    (folder / "policy.toml").write_text("min_pairs = 1\nmax_gap_mean = 0.01\n")
    named = {"label": "hired", "sensitive": "race", "ignore": "name"}
    roles = [f"--{role}={columns[name]}" for role, name in named.items()]
    out, rule = folder / "out", ("--max-continuous-shift", "0.9", "--resamples", "40", "--scores", columns["p"])
    said = [
        run("audit", path, *roles, *rule, "--policy", folder / "policy.toml", "--out", out),
        run("audit", path, *roles, *rule, "--json"),
        run("pairs", path, *roles, "--ignore", columns["p"], "--max-continuous-shift", "0.9"),
        run("audit", path, *roles, *rule, "--continuous", columns["city"]),
        run("audit", path, *roles[:2], *rule, "--discrete", f"{columns['age']}x"),
        run("audit", f"{path}x", *roles, *rule),
    ]
    assert [one.code for one in said] == [1, 0, 0, 2, 2, 2], [one.stderr for one in said]
    path.write_text(path.read_text().replace("3", "4"))
    said.append(run("verify", out / "audit.json", path))
    assert said[-1].code in (1, 2)
    assert all(one.stderr.splitlines()[-1].startswith("likewise: ") for one in said[3:6])
    written = [(out / name).read_text() for name in ("audit.md", "junit.xml")]
    assert commands_in("\n".join([*(one.stdout + one.stderr for one in said), *written])) == []
