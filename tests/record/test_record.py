"""A record is read back as it was written, and what is wrong with one is named by its place."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.records import make_record

from likewise.record import AuditRecord


@pytest.fixture
def record() -> dict[str, Any]:
    return make_record()


def whole(record: dict[str, Any]) -> dict[str, Any]:
    """Fill in the keys that may be left out."""
    return AuditRecord.from_dict(record).to_dict()


def test_a_record_is_read_back_byte_for_byte(record: dict[str, Any]) -> None:
    first = whole(record)
    assert json.dumps(whole(first)) == json.dumps(first)
    assert next(iter(first)) == "format"


def test_values_stay_as_they_are(record: dict[str, Any]) -> None:
    def holds(new: Any, old: Any) -> bool:
        if isinstance(old, dict):
            return all(holds(new[name], value) for name, value in old.items())
        return json.dumps(new) == json.dumps(old) if not isinstance(old, list) else all(map(holds, new, old))

    assert holds(whole(record), record)


def test_reading_changes_nothing(record: dict[str, Any]) -> None:
    before = copy.deepcopy(record)
    AuditRecord.of(record)
    assert record == before


def test_files_and_command_are_kept_where_the_command_line_wrote_them(record: dict[str, Any]) -> None:
    assert "command" not in whole(record)
    assert "files" not in whole(record)["data"]
    record["data"] |= {"files": [{"file": "a.csv", "sha256": None}], "model": None}
    record["command"] = {
        **{"encoding": "utf-8", "delimiter": None, "decimal": ".", "label": "paid", "scores": ["p"], "features": []},
        **{"positive": "yes", "threshold": 0.5, "scale": None, "memory_limit": None},
    }
    assert whole(record)["data"]["files"] == [{"file": "a.csv", "sha256": None}]
    assert whole(record)["data"]["model"] is None
    assert list(whole(record))[-1] == "command"


def test_infinity_is_a_number_in_python_and_text_in_json(record: dict[str, Any]) -> None:
    record["measures"]["log_loss"] = {"value": "inf", "low": 0.5, "high": None, "n": 10}
    assert AuditRecord.from_dict(record).measures["log_loss"].value == float("inf")
    assert whole(record)["measures"]["log_loss"]["value"] == "inf"


def test_notes_have_kinds(record: dict[str, Any]) -> None:
    assert AuditRecord.from_dict(record).collapse is None
    record |= {"notes": ["Few.", "Collapsed."], "note_kinds": ["few_pairs", "collapsed"]}
    found = AuditRecord.from_dict(record)
    assert str(found.collapse) == "Collapsed."
    assert found.to_dict()["note_kinds"] == record["note_kinds"]


DAMAGE: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "no parts": (
        lambda r: [r.pop(name) for name in list(r) if name != "format"],
        "the record lacks likewise, made_at, data",
    ),
    "another format": (lambda r: r.update(format="other"), "its format is 'other', not 'likewise audit 2'"),
    "text for a number": (lambda r: r["measures"]["gap_mean"].update(value="0.1"), "measures.gap_mean.value is '0.1'"),
    "true for a number": (lambda r: r["measures"]["gap_mean"].update(low=True), "measures.gap_mean.low is True"),
    "a name of two lines": (lambda r: r["versions"].update({"a\nb": 3}), r"versions.'a\nb' is 3; expected text"),
    "NaN": (lambda r: r["measures"]["gap_mean"].update(low=float("nan")), "measures.gap_mean.low is nan"),
    "a huge number": (lambda r: r["measures"]["gap_mean"].update(n=10**400), "measures.gap_mean.n is 1000"),
    "a number too long to write": (lambda r: r["pairs"].update(n=10**5000), "pairs.n is a number too large"),
    "a count below 0": (lambda r: r["pairs"].update(n=-1), "pairs.n is -1; expected a whole number, 0 or more"),
    "half a pair": (lambda r: r["pairs"].update(n=0.5), "pairs.n is 0.5"),
    "a list of measures": (lambda r: r.update(measures=[]), "measures is []; expected values by name"),
    "a measure without n": (lambda r: r["measures"]["gap_mean"].pop("value"), "measures.gap_mean lacks value"),
    "a direction without counts": (lambda r: r.update(directions=[{"origin": []}]), "directions[0] lacks target"),
    "a role that is a number": (lambda r: r["worst_pairs"][2]["factors"][0].update(role=3), "factors[0].role is 3"),
    "notes that are a number": (lambda r: r.update(notes=7), "notes is 7; expected a list"),
    "an unknown kind of note": (lambda r: r.update(note_kinds=["joy"]), "notes[0].kind is 'joy'; expected 'collapsed'"),
    "more kinds than notes": (lambda r: r.update(note_kinds=["sampled"] * 2), "note_kinds has 2 entries for 1 notes"),
    "fewer kinds than notes": (lambda r: r.pop("note_kinds"), "note_kinds has 0 entries for 1 notes"),
    "no people": (lambda r: r.update(person_gaps=None), "person_gaps is null"),
    "an unknown task": (lambda r: r.update(task="guess"), "task is 'guess'; expected 'binary' or"),
    "settings that are a list": (lambda r: r.update(settings=[]), "settings is []; expected values by name"),
    "no seed": (lambda r: r["settings"].pop("seed"), "settings lacks seed"),
    "a long value": (lambda r: r["data"].update(n_rows="9" * 10_000), "data.n_rows is '999"),
    "an odd check": (
        lambda r: r.update(verdict={"outcome": "pass", "checks": [{"name": 3}], "policy": {}}),
        "verdict.checks[0] lacks",
    ),
    "an odd outcome": (
        lambda r: r.update(verdict={"outcome": "good", "checks": [], "policy": {}}),
        "verdict.outcome is 'good'",
    ),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_what_is_wrong_is_named_by_its_place(record: dict[str, Any], case: str) -> None:
    damage, words = DAMAGE[case]
    damage(record)
    with pytest.raises(ValueError, match="This is not the record of an audit") as error:
        AuditRecord.from_dict(record)
    assert words in str(error.value)
    assert len(str(error.value)) < 500
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("other", [None, [], "audit", 7])
def test_anything_else_is_refused(other: Any) -> None:
    with pytest.raises(ValueError, match="This is not the record of an audit"):
        AuditRecord.of(other)


MISFITS: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "an infinite edge": (lambda r: r["person_gaps"].update(edges=[0.0, "inf"]), "person_gaps.edges are not"),
    "an infinite direction": (lambda r: r["directions"][0].update(mean_gap="-inf"), "directions has an infinite"),
    "an edge too few": (lambda r: r["distributions"]["edges"].pop(), "distributions does not have one count"),
    "no edges": (lambda r: r["person_gaps"].update(edges=[]), "person_gaps.edges are not ascending"),
    "equal edges": (lambda r: r["score_distribution"].update(edges=[0, 0, 0]), "score_distribution.edges are not"),
    "a value too many": (lambda r: r["coverage"][1]["values"].append("x"), "coverage does not have one value"),
    "an empty bin": (lambda r: r["calibration"][0].update(n=0), "calibration has a bin without people"),
    "a list as a value": (lambda r: r["directions"][0].update(origin=[["a"]]), "directions has a sensitive value"),
    "an odd rule": (lambda r: r["rule"].update(max_discrete_changes="1"), "rule.max_discrete_changes is '1'"),
    "odd columns": (lambda r: r["roles"].update(sensitive=[3]), "roles.sensitive[0] is 3"),
}


@pytest.mark.parametrize("case", MISFITS)
def test_parts_that_do_not_fit_are_not_shown(record: dict[str, Any], case: str) -> None:
    damage, words = MISFITS[case]
    damage(record)
    AuditRecord.from_dict(record)  # ``likewise verify`` says which values differ
    with pytest.raises(ValueError, match="This is not the record of an audit") as error:
        AuditRecord.of(record)
    assert words in str(error.value)
