"""What is taken away is the selection, safe to open in a spreadsheet, and a policy that an audit accepts."""

from __future__ import annotations

import csv
import io
import shlex
import tomllib

import pyarrow as pa
import pytest
from tests.explore.conftest import ROLES, RULE, make_people, score_people

from likewise.auditing import Policy, audit
from likewise.comparable import Comparability
from likewise.explore import Explorer
from likewise.explore import _explorer as module
from likewise.schema import Roles

AT = {"changes": 1, "shift": 0.1}
HOSTILE = ["=HYPERLINK(1)", "+cmd", "-x", "@cmd", '<b>\n"quoted"', "\u202eright", "plain", "a,b"]


def test_the_csv_holds_the_selection_in_the_order_of_the_page(explorer: Explorer) -> None:
    wish = {**AT, "label": 1, "least_gap": 0.1, "sort": "rank_gap"}
    lines = list(csv.DictReader(io.StringIO(explorer.to_csv(wish).decode())))
    answer = explorer.look(wish)
    assert len(lines) == answer["selection"]["n"]
    listed = [(one["left_row"], one["right_row"]) for one in answer["pairs"]]
    assert [(int(one["left_row"]), int(one["right_row"])) for one in lines[:25]] == listed
    assert {one["label"] for one in lines} == {"yes"}
    assert lines[0]["left_race"] == make_people()["race"][listed[0][0]].as_py()


def test_the_csv_stops_at_its_limit(explorer: Explorer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_EXPORTED", 7)
    assert explorer.to_csv(AT).count(b"\n") == 8


def hostile_explorer() -> Explorer:
    n = len(HOSTILE)
    people = pa.table(
        {
            "=name\n[x]": HOSTILE * 2,
            "sex": ["=f"] * n + ["m"] * n,
            "age": list(range(n)) * 2,
            "y": ["=yes"] * 2 * n,
            "p": [0.25] * n + [0.75] * n,
        }
    )
    roles = Roles(sensitive="sex", discrete="=name\n[x]", continuous="age", label="y", ignored="p")
    rule = Comparability(max_continuous_shift={"age": 0.1})
    options = "DATA --scores 'x\n[evil]\nmax_gap_mean = 0'"
    return Explorer("p", people, roles=roles, rule=rule, task="binary", positive="=yes", options=options)


def test_nothing_in_the_csv_is_run_by_a_spreadsheet() -> None:
    text = hostile_explorer().to_csv({"changes": 1, "shift": 1.0}).decode()
    for line in csv.reader(io.StringIO(text)):
        assert not [cell for cell in line if cell[:1] in tuple("=+@\t\r") or cell[:2] == "-x"]


def test_the_policy_is_one_that_an_audit_accepts_and_meets(explorer: Explorer) -> None:
    policy = Policy.from_toml_text(explorer.to_toml(AT))
    assert policy.min_pairs == 30
    found = audit(score_people, make_people(), roles=ROLES, rule=RULE, n_resamples=0, baseline=False)
    assert found.judge(policy).outcome == "pass"


def test_every_limit_it_suggests_is_one_of_a_policy(explorer: Explorer) -> None:
    text = explorer.to_toml(AT)
    suggested = "\n".join(line[2:] for line in text.splitlines() if line.startswith("# max_"))
    assert suggested.count("=") == 12
    assert len(Policy.from_toml_text(suggested).limits) == 12


@pytest.mark.parametrize(
    "rule",
    [
        RULE,
        Comparability(max_continuous_shift={"age": 0.1, "pay": 0.2}, sensitive_differs="all"),
        Comparability(max_continuous_shift=(0.1, 0.2), must_match=("town",), max_ordinal_shift=2),
    ],
)
def test_the_rule_is_told_as_options_and_as_python(rule: Comparability) -> None:
    explorer = Explorer(score_people, make_people(), roles=ROLES, rule=rule)
    text = explorer.to_toml({"changes": 2, "shift": 0.2})
    command = next(line for line in text.splitlines() if "likewise audit" in line and "--policy" in line)
    words = shlex.split(command.removeprefix("#"))
    assert words[words.index("--max-discrete-changes") + 1] == "2"
    shifts = [words[place + 1] for place, word in enumerate(words) if word == "--max-continuous-shift"]
    assert shifts == (["0.2"] if rule is RULE else ["age=0.1", "pay=0.2"])
    python = next(line for line in text.splitlines() if line.startswith("# In Python: "))
    made = eval(python.removeprefix("# In Python: "), {"Comparability": Comparability})
    assert made == explorer.rule(2, 0.2)


def test_hostile_names_stay_inside_their_comments() -> None:
    text = hostile_explorer().to_toml({"changes": 1, "shift": 1.0})
    assert set(tomllib.loads(text)) == {"min_pairs", "min_coverage"}
    assert list(Policy.from_toml_text(text).limits) == ["min_coverage"]
