"""The pytest plugin: a limit is a test, reports are written where asked for, and unused it costs nothing."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from likewise import Audit, audit, load_dataset

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parents[2]
PLUGIN = "likewise.pytest._plugin"
POLICY = "max_gap_mean = 0.01\nmax_gap_max = 0.5\nmin_roc_auc = 0.5\nlabels.0.max_gap_mean = 0.062\n"
TESTS = """
import pytest
from likewise import assert_passes, load_dataset

@pytest.fixture(scope="session")
def lender(likewise_audit):
    data = load_dataset("planted")
    return likewise_audit(data.scores, data.test.X, data.test.y, roles=data.roles, rule=data.rule, name="lender")

@pytest.mark.likewise_policy("policy.toml")
def test_policy(likewise_limit, lender):
    assert_passes(lender, likewise_limit)
"""


AGAIN = """
def test_again(likewise_audit, lender):
    asked = lender.question
    likewise_audit(asked.scores.values, asked.frame, [0, 1] * 250, roles=asked.schema, name="lender")
"""


@pytest.fixture(scope="module")
def lender() -> Audit:
    """Audit here what the tests inside audit, so that all is imported: runs in this process forget what they import."""
    data = load_dataset("planted")
    found = audit(data.scores, data.test.X, data.test.y, roles=data.roles, rule=data.rule)
    assert found.to_html()
    return found


@pytest.fixture
def ran(lender: Audit, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Return a folder with tests, where pytest loads this plugin and no other."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", f"-p {PLUGIN} --strict-markers -p no:cacheprovider")
    pytester.makefile(".toml", policy=POLICY)
    return pytester


def test_each_limit_is_a_test_of_its_own(ran: pytest.Pytester) -> None:
    ran.makepyfile(TESTS)
    found = ran.runpytest_inprocess("-v")
    found.assert_outcomes(passed=2, failed=2)
    found.stdout.fnmatch_lines(
        [
            "*::test_policy?max_gap_mean? FAILED*",
            "*::test_policy?max_gap_max? PASSED*",
            "*::test_policy?min_roc_auc? PASSED*",
            "*::test_policy?max_gap_mean?0?? FAILED*",
            "*fail: max_gap_mean: 5.90 pp (*) is above the highest allowed, 1 pp.",
            "*inconclusive: max_gap_mean?0?: *the interval reaches to both sides.*",
        ]
    )


def test_a_limit_on_a_transition_is_one_too(ran: pytest.Pytester) -> None:
    table = '[transitions."group, gender: blue, male -> green, male"]'
    ran.makefile(".toml", policy=f"max_gap_max = 0.5\nmin_pairs = 5\n{table}\nmin_signed_gap = -0.01\n")
    ran.makepyfile(TESTS)
    found = ran.runpytest_inprocess("-v")
    found.assert_outcomes(passed=1, failed=1)
    found.stdout.fnmatch_lines(["*min_signed_gap?*blue, male*green, male?? FAILED*"])


def test_limits_on_columns_and_certificates_fail_where_an_audit_has_neither(
    ran: pytest.Pytester,
) -> None:
    ran.makefile(".toml", policy="min_certified_share = 0.9\n[columns.duration]\nmax_part = 0.1\n")
    ran.makepyfile(TESTS)
    found = ran.runpytest_inprocess("-v")
    found.assert_outcomes(failed=2)
    found.stdout.fnmatch_lines(
        ["*?min_certified_share? FAILED*", "*?max_part?duration?? FAILED*", "*nobody is certified*"]
    )


def test_reports_are_written_where_asked_for(ran: pytest.Pytester) -> None:
    ran.makepyfile(TESTS + AGAIN)
    ran.runpytest_inprocess("--likewise-reports", "made/reports", "-k", "roc_auc or again").assert_outcomes(passed=2)
    ran.runpytest_inprocess("--likewise-reports", "made/reports", "-k", "roc_auc or again").assert_outcomes(passed=2)
    folder = ran.path / "made" / "reports"
    assert {path.name for path in folder.iterdir()} == {"lender", "lender-2"}
    assert json.loads((folder / "lender" / "audit.json").read_text("utf-8"))["pairs"]["n"] == 134
    assert (folder / "lender" / "report.html").read_text("utf-8").startswith("<!DOCTYPE html>")


def test_the_policy_may_lie_in_the_root_folder(ran: pytest.Pytester) -> None:
    below = ran.mkdir("below")
    (below / "test_below.py").write_text(TESTS)
    ran.runpytest_inprocess("-k", "roc_auc", str(below)).assert_outcomes(passed=1, deselected=3)


@pytest.mark.long(2)
@pytest.mark.parametrize(
    ("source", "policy", "message"),
    [
        (TESTS, "max_gap_meen = 0.1\n", "*has no limit 'max_gap_meen'*Did you mean 'max_gap_mean'*"),
        (TESTS.replace("policy.toml", "polizy.toml"), POLICY, "*polizy.toml' cannot be read: No such file*"),
        (TESTS.replace('("policy.toml")', ""), POLICY, "The marker likewise_policy takes one argument*"),
        (TESTS.replace("likewise_limit, ", ""), POLICY, "test_policy has the marker * not the argument*Add it."),
        (TESTS.replace('@pytest.mark.likewise_policy("policy.toml")', ""), POLICY, "*likewise_limit needs a policy.*"),
    ],
)
def test_a_mistake_is_one_line_without_a_traceback(
    ran: pytest.Pytester, source: str, policy: str, message: str
) -> None:
    ran.makepyfile(source)
    ran.makefile(".toml", policy=policy)
    found = ran.runpytest_inprocess()
    assert found.ret != 0
    found.stdout.fnmatch_lines([message])
    assert "Traceback" not in found.stdout.str() + found.stderr.str()


def test_a_folder_that_cannot_be_written_is_named(ran: pytest.Pytester) -> None:
    ran.makepyfile(TESTS)
    found = ran.runpytest_inprocess("--likewise-reports", "policy.toml", "-k", "roc_auc")
    found.stdout.fnmatch_lines(["--likewise-reports: *policy.toml' is a file. Name another folder."])


def test_the_entry_point_leads_to_the_plugin_and_unused_it_imports_nothing_heavy() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"likewise": PLUGIN}
    assert callable(importlib.import_module(PLUGIN).pytest_generate_tests)
    program = (
        f"import pytest, sys, time; before = set(sys.modules); start = time.process_time(); import {PLUGIN}; "
        "print(time.process_time() - start, *sorted({name.partition('.')[0] for name in set(sys.modules) - before}))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT / "src"
    )
    seconds, *loaded = ended.stdout.split()
    assert loaded == ["likewise"]
    assert float(seconds) < 0.1
