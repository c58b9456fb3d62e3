"""The card of a notebook and the section of a model card say the record's numbers, and keep foreign text as text."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

from markdown_it import MarkdownIt
from tests.records import put_labels

from likewise.report import to_card, to_model_card

HOSTILE = "<img src=x onerror=alert(1)>|`*_[a](b)\n# h\u202e\x00\ud800" + "z" * 10_000
PARSER = MarkdownIt("commonmark").enable(["table"])


class Tags(HTMLParser):
    """The elements of a page and its words."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.keys: set[str] = set()
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.keys |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def make_hostile(record: dict[str, Any]) -> dict[str, Any]:
    put_labels(record, ["no", HOSTILE])
    record["positive"] = HOSTILE
    record["distributions"]["slices"][2]["label"] = HOSTILE
    record["directions"][0] |= {"origin": [HOSTILE], "target": [HOSTILE]}
    record["roles"]["sensitive"] = [HOSTILE]
    record["data"] |= {"file": HOSTILE, "scores": HOSTILE}
    record |= {"rule_in_words": HOSTILE, "notes": [HOSTILE]}
    return record


def test_a_card_says_the_headline_numbers(record: dict[str, Any]) -> None:
    words = Tags(to_card(record)).words
    for number in ("31.60 pp", "(28.44 to 34.76)", "21.00 pp", "30.00 pp", "233", "193"):
        assert number in words
    assert "Half of the pairs were measured." in words
    assert any("193 of 1,000 people (19.30%)" in one for one in words)


def test_a_card_needs_no_script_and_styles_nothing_but_itself(record: dict[str, Any]) -> None:
    card = to_card(record)
    found = Tags(card)
    assert "script" not in found.names
    assert found.names.count("svg") >= 1
    styles = re.sub(r"/\*.*?\*/", "", card[card.index("<style>") + 7 : card.index("</style>")], flags=re.DOTALL)
    heads = [head.strip() for head in re.findall(r"([^{}]+)\{", styles) if not head.strip().startswith("@")]
    for selector in (one.strip() for head in heads for one in head.split(",")):
        assert ".lw-" in selector
    assert "http:" not in card.replace("http://www.w3.org/2000/svg", "")
    assert "url(" not in styles
    assert card == to_card(record)


def test_a_card_keeps_foreign_text_as_text(record: dict[str, Any]) -> None:
    plain, hostile = Tags(to_card(record)), Tags(to_card(make_hostile(record)))
    assert hostile.names == plain.names
    assert hostile.keys == plain.keys


def test_a_card_of_no_pairs_has_no_chart(record: dict[str, Any]) -> None:
    for one in record["distributions"]["slices"]:
        one["n"] = 0
    assert "svg" not in Tags(to_card(record)).names


def test_a_model_card_has_its_parts_in_order_and_the_numbers_of_the_record(judged: dict[str, Any]) -> None:
    card = to_model_card(judged)
    heads = re.findall(r"^#+ (.*)$", card, flags=re.MULTILINE)
    assert heads == [
        "Individual fairness: how comparable people are scored",
        *("The question", "Data and rule", "Gaps between comparable people", "Significant differences between groups"),
        *("Model performance", "Caveats", "How to reproduce"),
    ]
    for words in (
        "who differ in sex",
        "Verdict of the policy: Fail: 1 of 3 limits not met",
        "1,000 rows of people.csv",
        "ab12",
        "| Label yes (positive) | 193 | 31.60 pp (28.44 to 34.76) |",
        "From m to f: adjusted gap -3.00 pp (-4.00 to -2.00) over 90 pairs, p (Holm) 0.001.",
        "193 of 1,000 people (19.30%) are matched",
        "| ROC AUC | 0.840 (0.756 to 0.924) | 1,000 |",
        "- Half of the pairs were measured.",
        "`likewise verify audit.json DATA`",
        "seed 7",
    ):
        assert words in card, words
    assert card == to_model_card(judged)


def test_a_model_card_claims_no_compliance(judged: dict[str, Any]) -> None:
    card = to_model_card(judged).lower()
    assert not re.search(r"\b(compl(y|ies|iant|iance)|lawful|certif\w+|is fair|bias-free|unbiased)\b", card)
    assert "not a legal opinion" in card


def test_a_model_card_says_so_where_no_direction_stands_out(record: dict[str, Any]) -> None:
    record["directions"][0]["p_adjusted"] = None
    assert "No transition between sensitive values" in to_model_card(record)


def test_a_model_card_keeps_foreign_text_as_text(record: dict[str, Any]) -> None:
    plain = PARSER.render(to_model_card(record))
    hostile = PARSER.render(to_model_card(make_hostile(record)))
    assert re.findall(r"</?[a-z0-9]+", hostile) == re.findall(r"</?[a-z0-9]+", plain)
