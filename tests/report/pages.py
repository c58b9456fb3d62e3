"""Pages taken apart, for tests that read them."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "input", "br", "link", "img", "hr"}


@dataclass
class Element:
    """A tag with what is inside, as text."""

    tag: str
    attributes: dict[str, str | None]
    section: str
    text: str = ""


@dataclass
class Page(HTMLParser):
    """Every element of a page in order, with its text."""

    markup: str
    elements: list[Element] = field(default_factory=list)
    open: list[Element] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.feed(self.markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        section = next((one.attributes.get("id") or "" for one in reversed(self.open) if one.tag == "section"), "")
        element = Element(tag, dict(attrs), section)
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.text += data

    def find(self, tag: str, *, section: str | None = None, class_: str | None = None) -> list[Element]:
        """Give the elements with this tag, in order."""
        return [
            one
            for one in self.elements
            if one.tag == tag
            and (section is None or one.section == section)
            and (class_ is None or class_ in (one.attributes.get("class") or "").split())
        ]

    def text_of(self, section: str) -> str:
        """Give what a section says, with single blanks."""
        found = [one for one in self.find("section") if one.attributes.get("id") == section]
        return " ".join(found[0].text.split()) if found else ""
