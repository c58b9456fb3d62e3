"""Build servers can read the verdict, whatever the data is called."""

from __future__ import annotations

import copy
import xml.etree.ElementTree as ET
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.sizes import sized

from likewise.report import to_junit


def read_suite(text: str) -> ET.Element:
    root = ET.fromstring(text.encode("utf-8"))
    assert root.tag == "testsuites"
    [suite] = root
    assert suite.attrib["name"] == "likewise audit"
    assert {name: suite.attrib[name] for name in root.attrib} == root.attrib
    return suite


def test_each_check_is_a_test_case(judged: dict[str, Any]) -> None:
    suite = read_suite(to_junit(judged))
    counts = {name: suite.attrib[name] for name in ("tests", "failures", "errors", "skipped", "time")}
    assert counts == {"tests": "3", "failures": "1", "errors": "0", "skipped": "1", "time": "0"}
    assert suite.attrib["timestamp"] == "2026-03-01T12:00:00"
    cases = suite.findall("testcase")
    assert [case.attrib["name"] for case in cases] == ["min_roc_auc", "max_flip_rate", "max_gap_mean[yes]"]
    assert {case.attrib["classname"] for case in cases} == {"likewise.policy"}
    assert [[child.tag for child in case] for case in cases] == [["system-out"], ["skipped"], ["failure"]]
    failure, skipped = cases[2].find("failure"), cases[1].find("skipped")
    assert failure is not None
    assert failure.attrib["message"] == "31.60% (28.44% to 34.76%) is above the highest allowed, 20%."
    assert skipped is not None
    assert "cannot be told" in skipped.attrib["message"]


def test_version_checksums_and_seed_are_kept(judged: dict[str, Any]) -> None:
    found = {one.attrib["name"]: one.attrib["value"] for one in read_suite(to_junit(judged)).iter("property")}
    assert found["likewise"] == "0.1.0"
    assert found["data.sha256"] == "ab12"
    assert found["seed"] == "7"
    assert found["outcome"] == "fail"


def test_without_a_policy_one_case_passes(record: dict[str, Any]) -> None:
    record["made_at"] = None
    suite = read_suite(to_junit(record))
    assert "timestamp" not in suite.attrib
    assert [(case.attrib["name"], list(case)) for case in suite.findall("testcase")] == [("audit", [])]


def test_a_policy_without_limits_is_skipped(record: dict[str, Any]) -> None:
    record["verdict"] = {"outcome": "inconclusive", "checks": [], "policy": {}}
    suite = read_suite(to_junit(record))
    assert (suite.attrib["tests"], suite.attrib["skipped"]) == ("1", "1")


@given(st.text(max_size=20))
@settings(max_examples=sized(10, 60), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_gives_xml_that_can_be_read(judged: dict[str, Any], text: str) -> None:
    record = copy.deepcopy(judged)
    record["data"]["file"] = f"{text}\x00\x1b\ud800\ufffe]]>"
    record["verdict"]["checks"][0] |= {"part": text, "reason": f'{text}<"&\x0b'}
    written = to_junit(record)
    assert len(read_suite(written).findall("testcase")) == 3
    assert written == to_junit(copy.deepcopy(record))
