"""What is taken away is the selection, safe to open in a spreadsheet, and a policy that an audit accepts."""

from __future__ import annotations

import csv
import io
import tomllib
from pathlib import Path

import pyarrow as pa
import pytest
from tests.explore.conftest import ROLES, RULE, RULES, controls, make_people, score_people

from likewise.auditing import Policy, audit
from likewise.comparable import Comparability
from likewise.explore import Explorer
from likewise.explore import _explorer as module
from likewise.schema import Roles

AT = {"changes": 1, "shift": 0.1}
NASTY = 'x"\n[evil]\nmax_gap_mean = 0\x7f\U0001f600'
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
            NASTY: ["a"] * 2 * n,
            "y": ["=yes"] * 2 * n,
            "p": [0.25] * n + [0.75] * n,
        }
    )
    roles = Roles(sensitive="sex", discrete=["=name\n[x]", NASTY], continuous="age", label="y", ignored="p")
    rule = Comparability(max_continuous_shift={"age": 0.1}, must_match=(NASTY,))
    return Explorer("p", people, roles=roles, rule=rule, task="binary", positive="=yes")


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
    suggested = "\n".join(line[2:] for line in text.splitlines() if line.startswith(("# max_", "# labels.")))
    assert suggested.count("=") == 12
    policy = Policy.from_toml_text(suggested)
    assert len(policy.limits) + sum(map(len, policy.labels.values())) == 12


@pytest.mark.parametrize("name", RULES)
def test_the_rule_is_read_back_as_it_is(name: str, tmp_path: Path) -> None:
    explorer = Explorer(score_people, make_people(), roles=ROLES, rule=RULES[name], **controls(name))
    point = (explorer.reach.end.changes, 0.2)
    path = tmp_path / "rule.toml"
    path.write_text(explorer.to_toml({"changes": point[0], "shift": point[1]}), encoding="utf-8")
    assert Comparability.from_toml(path) == explorer.rule(*point)
    assert Policy.from_toml(path).min_pairs == 30


def test_hostile_names_stay_inside_their_quotes() -> None:
    text = hostile_explorer().to_toml({"changes": 1, "shift": 1.0})
    found = tomllib.loads(text)
    assert (set(found), set(found["policy"])) == ({"rule", "policy"}, {"min_pairs", "min_matched_share"})
    assert found["rule"]["max_continuous_shift"] == {"age": 1.0}
    assert found["rule"]["must_match"] == [NASTY]
    assert list(Policy.from_toml_text(text).limits) == ["min_matched_share"]
