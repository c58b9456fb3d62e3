"""Foreign text on the page stays text; the page fetches nothing, stays small, and is the same every time."""

from __future__ import annotations

import base64
import copy
import hashlib
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.records import to_html_of_both
from tests.report.pages import Page
from tests.sizes import sized

from likewise.report import to_html

HOSTILE = (
    "</title></style></script><script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{7*7}}{% raw %}<!--"
    "&lt;b&gt; \x00\x1b[31m\u202ecba\u2066\u2028\n👩‍👩‍👧🏳️‍🌈 \ud800 javascript:alert(3) ]]>"
)
OWN = {"sex", "f", "m", "job", "cook", "age", "low", "middle", "yes", "no", "p-17", "people.csv", "school", "paid"}
UNSEEN = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066\u2067\ud800-\udfff]")


def change_everywhere(value: Any, text: str) -> Any:
    """Put foreign text wherever the data's own words stand."""
    if isinstance(value, dict):
        ends = {f"[{word}]": f"[{word}{text}]" for word in OWN}  # of measures, by label
        named = {key: next((end for end in ends if key.endswith(end)), "") for key in value}
        return {
            key.removesuffix(end) + ends.get(end, ""): change_everywhere(value[key], text) for key, end in named.items()
        }
    if isinstance(value, list):
        return [change_everywhere(one, text) for one in value]
    return value + text if isinstance(value, str) and value in OWN else value


def shape(markup: str) -> list[tuple[str, tuple[str, ...]]]:
    """Give every element with the names of its attributes; where a value was cut, a title holds more of it."""
    return [(one.tag, tuple(name for name in one.attributes if name != "title")) for one in Page(markup).elements]


def test_hostile_words_change_no_element(judged: dict[str, Any]) -> None:
    judged["notes"] = [f"Row {HOSTILE} is in many pairs."]
    judged["rule_in_words"] += HOSTILE
    plain_notes = copy.deepcopy(judged) | {"notes": ["Row 1."], "rule_in_words": "A rule."}
    markup = to_html_of_both(change_everywhere(judged, HOSTILE))
    drawn = {"svg", "g", "line", "rect", "text", "circle", "path", "title", "desc", "tspan"}
    kept = [[one for one in shape(page) if one[0] not in drawn] for page in (markup, to_html_of_both(plain_notes))]
    assert kept[0] == kept[1]
    assert not UNSEEN.search(markup)
    markup.encode("utf-8")


def test_hostile_words_can_be_read(judged: dict[str, Any]) -> None:
    page = Page(to_html(change_everywhere(judged, "<script>alert(1)</script>")))
    assert "<script>alert(1)</script>" in page.text_of("pairs")
    assert len(page.find("script")) == 1


@given(st.one_of(st.text(max_size=200), st.text("<>&\"'/=!-[]{}%# \n\u202e", max_size=60)))
@settings(max_examples=sized(4, 25), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_any_words_change_no_element(judged: dict[str, Any], text: str) -> None:
    drawn = {"svg", "g", "line", "rect", "text", "circle", "path", "title", "desc", "tspan"}
    found, usual = (
        [one for one in shape(to_html(one)) if one[0] not in drawn] for one in (change_everywhere(judged, text), judged)
    )
    assert found == usual


def test_only_our_style_and_script_may_run(judged: dict[str, Any]) -> None:
    markup = to_html_of_both(judged)
    page = Page(markup)
    policy = next(
        str(one.attributes["content"])
        for one in page.find("meta")
        if one.attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for tag, where in (("style", "style-src"), ("script", "script-src")):
        (element,) = page.find(tag)
        digest = base64.b64encode(hashlib.sha256(element.text.encode()).digest()).decode()
        assert f"{where} 'sha256-{digest}'" in policy
    assert "img-src data:" in policy
    for one in page.elements:
        assert not [name for name in one.attributes if name.startswith("on") or name == "style"]


def test_nothing_is_fetched_from_elsewhere(judged: dict[str, Any]) -> None:
    page = Page(to_html_of_both(judged))
    assert not {"link", "img", "iframe", "object", "embed", "base", "form", "a[ping]"} & {
        one.tag for one in page.elements
    }
    for one in page.elements:
        for name in ("src", "href", "action", "data", "poster", "srcset", "xlink:href"):
            assert str(one.attributes.get(name, "#")).startswith("#")
    style, script = page.find("style")[0].text, page.find("script")[0].text
    assert "url(" not in style
    assert "@import" not in style
    assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|eval|importScripts|sendBeacon)\b", script)


def test_the_same_record_gives_the_same_page_and_stays_as_it_is(judged: dict[str, Any]) -> None:
    before = copy.deepcopy(judged)
    assert to_html_of_both(judged) == to_html_of_both(copy.deepcopy(judged))
    assert judged == before


@pytest.mark.long(2)
@pytest.mark.parametrize("letter", ["&", "👩"])
def test_no_audit_makes_it_large(judged: dict[str, Any], letter: str) -> None:
    long = sized(400, 10_000) * letter
    n_columns, n_listed = sized((20, 40), (200, 500))
    pair, direction, group = judged["worst_pairs"][0], judged["directions"][0], judged["groups"][0]
    factor = pair["factors"][0]
    columns = [{**factor, "column": f"{i}{long}", "left": long, "right": f"{long}."} for i in range(n_columns)]
    judged["worst_pairs"] = [{**pair, "right_id": long, "label": long, "factors": columns}] * 100
    judged["directions"] = [{**direction, "origin": [long] * 3, "target": [f"{i}{long}"] * 3} for i in range(n_listed)]
    judged["groups"] = [{**group, "columns": [long] * 3, "values": [f"{i}{long}"] * 3} for i in range(n_listed)]
    judged["person_gaps"]["worst"] = [{**judged["person_gaps"]["worst"][0], "id": long, "label": long}] * 50
    judged["roles"] = {"sensitive": [f"{i}{long}" for i in range(60)]}
    judged |= {"notes": [long] * 10, "note_kinds": ["sampled"] * 10}
    judged["rule_in_words"] = long
    markup = to_html(judged)
    assert len(markup.encode("utf-8")) < 3_000_000
    assert "pairs in the record (audit.json)." in markup
