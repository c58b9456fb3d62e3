"""The files for CI services do what they say: their own commands are run here, as the services would."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml  # type: ignore[import-untyped]  # it ships no types
from pre_commit.main import main as pre_commit  # type: ignore[import-untyped]  # it ships no types

from likewise import load_dataset

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
SHELLS = {
    "bash": ["bash", "--noprofile", "--norc", "-eo", "pipefail"],
    "python": ["python"],
}  # as the service runs them
(HOOK,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
ROLES = ["--label", "repaid", "--sensitive", "group,gender", "--scores", "p"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a folder with a scored table, two policies, and the files that a service provides."""
    data = load_dataset("planted")
    people = data.test.X.assign(repaid=data.test.y, p=data.scores(data.test.X))
    people.to_csv(tmp_path / "the people.csv", index=False)
    (tmp_path / "policy.toml").write_text("max_gap_mean = 0.01\n")
    (tmp_path / "loose.toml").write_text("max_gap_max = 0.9\n")
    return tmp_path


def run(command: list[str], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    places = [str(folder / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
    settings = os.environ | {"PATH": os.pathsep.join(places), "PYTHONPATH": str(ROOT / "src")} | variables
    return subprocess.run(command, cwd=folder, env=settings, capture_output=True, text=True)


def carry_out(step: str, folder: Path, inputs: dict[str, str], **outputs: str) -> subprocess.CompletedProcess[str]:
    """Run a step of the action with its own variables, as the service fills them in."""
    known = {name: str(one.get("default", "")) for name, one in ACTION["inputs"].items()} | inputs
    values = {f"inputs.{name}": value for name, value in known.items()}
    values |= {f"steps.audit.outputs.{name.replace('_', '-')}": value for name, value in outputs.items()}
    variables = {
        name: values[text.removeprefix("${{ ").removesuffix(" }}")] for name, text in STEPS[step].get("env", {}).items()
    }
    places = {name: str(folder / name.lower()) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    script = folder / "script"
    script.write_text(STEPS[step]["run"])
    return run([*SHELLS[STEPS[step]["shell"]], str(script)], folder, **variables, **places)


def test_the_action_audits_attaches_and_fails_by_the_policy(folder: Path) -> None:
    inputs = {"data": "the people.csv", "options": f"{shlex.join(ROLES)} --favourable '1' --resamples 40 --quiet"}
    ended = carry_out("Audit", folder, inputs)
    assert ended.returncode == 0, ended.stderr
    assert (folder / "github_output").read_text().split() == ["exit-code=1", "written=true"]
    assert "Fail" in (folder / "github_step_summary").read_text("utf-8")
    attached = folder / ACTION["inputs"]["out"]["default"]
    assert STEPS["Attach report and JUnit file"]["with"]["path"] == "${{ inputs.out }}"
    assert (attached / "report.html").is_file()
    assert [case.get("name") for case in ElementTree.parse(attached / "junit.xml").iter("testcase")] == ["max_gap_mean"]


@pytest.mark.parametrize(
    ("code", "inconclusive", "wanted"), [(0, "fail", 0), (1, "pass", 1), (2, "pass", 2), (3, "fail", 3), (3, "pass", 0)]
)
def test_the_action_ends_with_the_verdict(tmp_path: Path, code: int, inconclusive: str, wanted: int) -> None:
    ended = carry_out("Verdict", tmp_path, {"inconclusive": inconclusive}, exit_code=str(code))
    assert ended.returncode == wanted


def test_no_input_becomes_a_command() -> None:
    assert [step["name"] for step in STEPS.values() if "${{" in step.get("run", "")] == []


@pytest.mark.parametrize(
    "options", ["--sensitiv '$(touch made)'", f"{shlex.join(ROLES)} --rule-id it's $(touch made)", "'", '"', "\\"]
)
def test_options_that_cannot_be_taken_end_the_action_and_show_no_earlier_summary(folder: Path, options: str) -> None:
    (folder / "likewise-audit").mkdir()
    (folder / "likewise-audit" / "audit.md").write_text("Pass")
    inputs = {"data": "the people.csv", "options": options, "policy": "loose.toml"}
    assert carry_out("Audit", folder, inputs).returncode == 0
    assert (folder / "github_output").read_text().split() == ["exit-code=2", "written=false"]
    assert not (folder / "made").exists()
    assert not (folder / "github_step_summary").exists()
    assert "steps.audit.outputs.written == 'true'" in STEPS["Attach report and JUnit file"]["if"]


def test_options_reach_the_command_as_a_shell_would_give_them(folder: Path) -> None:
    stand_in = folder / "bin" / "likewise"
    stand_in.parent.mkdir()
    stand_in.write_text(f"#!{sys.executable}\nimport json, sys\nprint(json.dumps(sys.argv[1:]))\n")
    stand_in.chmod(0o755)
    given = ["--label", "it's", '"', "", "$HOME `x` \\", "two\nlines", "*"]
    ended = carry_out("Audit", folder, {"data": "a b.csv", "options": shlex.join(given)})
    assert json.loads(ended.stdout) == [
        "audit",
        "a b.csv",
        *given,
        "--policy",
        "policy.toml",
        "--out",
        "likewise-audit",
    ]


def test_the_hook_is_one_that_pre_commit_takes_and_passes_by_the_policy(folder: Path) -> None:
    assert pre_commit(["validate-manifest", str(ROOT / ".pre-commit-hooks.yaml")]) == 0
    assert HOOK["pass_filenames"] is False
    arguments: list[Any] = ["the people.csv", *ROLES, "--policy", "loose.toml", "--out", "made", "--resamples", "40"]
    ended = run([*shlex.split(HOOK["entry"]), *arguments], folder)
    assert ended.returncode == 0, ended.stderr
    assert (folder / "made" / "junit.xml").is_file()
