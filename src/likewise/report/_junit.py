"""A verdict as JUnit XML, the format in which build servers read test results."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from typing import Any

from likewise._format import tame
from likewise.record import AuditRecord
from likewise.record._internal import Check
from likewise.report._summary import show_sense, title_of_check
from likewise.report._text import as_text, clean

SUITE = "likewise audit"


def to_junit(record: AuditRecord | Mapping[str, Any]) -> str:
    """Render the checks of a policy as JUnit XML.

    Every limit is a test case: failed where the limit is not met, skipped where it is inconclusive. An audit without
    a policy is one test case that passes.

    Parameters
    ----------
    record : AuditRecord or mapping
        What ``Audit.to_record`` or ``Audit.to_dict`` returns.

    Returns
    -------
    str
        XML, to be written in UTF-8.

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
    record = AuditRecord.of(record)
    cases = _cases(record)
    counts = {
        "tests": str(len(cases)),
        "failures": str(sum(case.find("failure") is not None for case in cases)),
        "errors": "0",
        "skipped": str(sum(case.find("skipped") is not None for case in cases)),
        "time": "0",
    }
    root = ET.Element("testsuites", {"name": SUITE, **counts})
    made_at = {"timestamp": _plain(record.made_at.removesuffix("Z"))} if record.made_at else {}
    suite = ET.SubElement(root, "testsuite", {"name": SUITE, **counts, **made_at})
    properties = ET.SubElement(suite, "properties")
    for name, value in _properties(record).items():
        ET.SubElement(properties, "property", {"name": name, "value": _plain(as_text(value))})
    suite.extend(cases)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _plain(text: str) -> str:
    return tame(clean(text))


def _properties(record: AuditRecord) -> dict[str, Any]:
    data = record.data
    known = {
        "likewise": record.likewise,
        "data.file": data.file,
        "data.sha256": data.sha256,
        "data.table_checksum": data.table_checksum,
        "data.scores_checksum": data.scores_checksum,
        "seed": record.settings.seed,
        "n_people": data.n_rows,
        "n_pairs": record.pairs.n,
        "outcome": None if record.verdict is None else record.verdict.outcome,
    }
    return {name: value for name, value in known.items() if value is not None}


def _cases(record: AuditRecord) -> list[ET.Element]:
    verdict = record.verdict
    if verdict is None:
        return [_case("likewise.audit", "audit")]
    if not verdict.checks:
        case = _case("likewise.policy", "policy")
        ET.SubElement(case, "skipped", {"message": verdict.headline})
        return [case]
    return [_check(check, record.in_points) for check in verdict.checks]


def _check(check: Check, points: bool) -> ET.Element:
    case = _case("likewise.policy", check.full_name)
    reason = _plain(check.reason)
    details = f"{_plain(as_text(title_of_check(check)))}, {show_sense(check, points=points)}: {reason}"
    if check.outcome == "fail":
        ET.SubElement(case, "failure", {"message": reason, "type": "LimitNotMet"}).text = details
    elif check.outcome == "inconclusive":
        ET.SubElement(case, "skipped", {"message": f"Inconclusive: {reason}"})
    else:
        ET.SubElement(case, "system-out").text = details
    return case


def _case(group: str, name: str) -> ET.Element:
    return ET.Element("testcase", {"classname": group, "name": _plain(name), "time": "0"})
