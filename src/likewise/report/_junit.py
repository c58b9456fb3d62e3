"""A verdict in the form in which build servers read test results."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

from likewise._format import sum_up
from likewise.report._escaping import clean
from likewise.report._words import Record, check_record, limit_of, say, title_of_limit

SUITE = "likewise audit"


def to_junit(record: Record) -> str:
    """Write the checks of an audit's policy as JUnit XML.

    Every limit is a test case: failed where the limit is broken, skipped where that cannot be told. An audit that
    was held against no policy is one test case that passes.

    Parameters
    ----------
    record : mapping
        What ``Audit.to_dict`` gives.

    Returns
    -------
    str
        XML; to be written in UTF-8.

    Examples
    --------
    >>> from likewise import Policy, audit, load_dataset
    >>> from likewise.report import to_junit
    >>> data = load_dataset("planted")
    >>> found = audit(data.scores, data.test.X, data.test.y, roles=data.roles, rule=data.rule)
    >>> verdict = found.judge(Policy(max_gap_mean=0.01))
    >>> 'tests="1" failures="1"' in to_junit(found.to_dict(verdict))
    True
    """
    check_record(record)
    cases = _cases(record)
    counts = {
        "tests": str(len(cases)),
        "failures": str(sum(case.find("failure") is not None for case in cases)),
        "errors": "0",
        "skipped": str(sum(case.find("skipped") is not None for case in cases)),
        "time": "0",
    }
    root = ET.Element("testsuites", {"name": SUITE, **counts})
    made_at = {"timestamp": clean(str(record["made_at"]).removesuffix("Z"))} if record["made_at"] else {}
    suite = ET.SubElement(root, "testsuite", {"name": SUITE, **counts, **made_at})
    properties = ET.SubElement(suite, "properties")
    for name, value in _properties(record).items():
        ET.SubElement(properties, "property", {"name": name, "value": clean(say(value))})
    suite.extend(cases)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _properties(record: Record) -> dict[str, Any]:
    data = record["data"]
    known = {
        "likewise": record["likewise"],
        "data.file": data["file"],
        "data.sha256": data["sha256"],
        "data.table_checksum": data["table_checksum"],
        "data.scores_checksum": data["scores_checksum"],
        "seed": record["settings"]["seed"],
        "n_people": data["n_rows"],
        "n_pairs": record["pairs"]["n"],
        "outcome": record["verdict"] and record["verdict"]["outcome"],
    }
    return {name: value for name, value in known.items() if value is not None}


def _cases(record: Record) -> list[ET.Element]:
    verdict = record["verdict"]
    if verdict is None:
        return [_case("likewise.audit", "audit")]
    if not verdict["checks"]:
        case = _case("likewise.policy", "policy")
        ET.SubElement(case, "skipped", {"message": sum_up([])})
        return [case]
    return [_check(check) for check in verdict["checks"]]


def _check(check: dict[str, Any]) -> ET.Element:
    case = _case("likewise.policy", check["name"])
    reason = clean(check["reason"])
    told = f"{clean(title_of_limit(check['name']))}, {limit_of(check)}: {reason}"
    if check["outcome"] == "fail":
        ET.SubElement(case, "failure", {"message": reason, "type": "LimitNotMet"}).text = told
    elif check["outcome"] == "inconclusive":
        ET.SubElement(case, "skipped", {"message": f"Inconclusive: {reason}"})
    else:
        ET.SubElement(case, "system-out").text = told
    return case


def _case(group: str, name: str) -> ET.Element:
    return ET.Element("testcase", {"classname": group, "name": clean(name), "time": "0"})
