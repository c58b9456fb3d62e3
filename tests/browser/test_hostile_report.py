"""Hostile data in a report stays text: nothing runs, nothing becomes markup, the layout holds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page
from tests.browser import hostile
from tests.browser.conftest import WIDTHS, Look, Open
from tests.browser.looking import find_faults, print_text, scrolls_sideways, spread_out, squeeze
from tests.records import to_html_of_both
from tests.sizes import sized

from likewise import attribute_gaps, audit, name_people
from likewise.auditing import Audit
from likewise.report import to_html

# words of our own in a record, by which pages are laid out; a record with others is refused or shows them as text
OUR_WORDS = {
    "format",
    "note_kinds",
    "measured",
    "when_too_many",
    "task",
    "role",
    "sense",
    "outcome",
    "of",
    "name",
    "missing",
    "model",
    "sensitive_differs",
    "dependence",
}


@pytest.fixture(scope="session")
def attacked() -> Audit:
    people = hostile.make_people()
    how: dict[str, Any] = {"roles": hostile.ROLES, "rule": hostile.RULE, "positive": hostile.LABELS[1]}
    return audit(hostile.make_scores(people), people, n_resamples=60, **how)


@pytest.fixture(scope="session")
def explained() -> dict[str, Any]:
    """The parts of a record that say which columns a gap comes from, and who is worse off beyond chance."""
    people = hostile.make_people(n_each=30)  # each has four like themselves, of whom chance is known
    how: dict[str, Any] = {"roles": hostile.ROLES, "rule": hostile.RULE, "positive": hostile.LABELS[1]}
    found = audit(hostile.score, people, n_resamples=0, n_worst=30, **how)
    split = attribute_gaps(found, hostile.score)
    record = name_people(split.audit, false_discovery_rate=0.99).audit.to_dict()
    assert record["named"]["people"]
    kept = {"attribution": record["attribution"], "named": record["named"]}
    kept["named"]["people"] = kept["named"]["people"][:20]
    return json.loads(json.dumps(kept))  # type: ignore[no-any-return]  # a record is a mapping


@pytest.fixture(scope="session")
def record(attacked: Audit, explained: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(attacked.to_dict() | explained))
    found["data"]["file"] = "<img class=hacked src=x onerror=window.hacked=1>.csv"
    found["data"]["scores"] = "column '</title><script>window.hacked=2</script>'"
    attack = "'\"><script>window.hacked=3</script>"
    found["command"] = {
        **dict.fromkeys(("encoding", "delimiter", "decimal", "label"), attack),
        **{"scores": [attack], "features": [attack], "positive": attack, "threshold": None, "scale": None},
        **{"memory_limit": None, "schema": None},
    }
    return found


@pytest.fixture(scope="session")
def report(record: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reports") / "<img src=x onerror=window.hacked=1> '\"&#.html"
    path.write_text(to_html_of_both(record), encoding="utf-8")
    return path


def use_everything(page: Page) -> None:
    """Hover, focus, press and open whatever there is; where a page has hundreds of a kind, forty of them."""
    spread_out(page)
    page.evaluate(
        """() => {
            const most = (selector) => [...document.querySelectorAll(selector)].slice(0, 40);
            for (const one of most("[data-tip], [title], td, th, input, textarea, summary, a")) {
                for (const kind of ["pointerover", "mouseover", "mouseenter", "pointerdown", "focusin"])
                    one.dispatchEvent(new Event(kind, { bubbles: true }));
                if (one.focus) one.focus();
            }
            for (const one of most("thead button, .lw-key"))
                one.dispatchEvent(new MouseEvent("click", { bubbles: true }));
        }"""
    )


def find_damage(page: Page, allowed_scripts: int = 1) -> list[str]:
    """Say what of the data was taken for more than text."""
    damage: list[str] = page.evaluate(
        """(scripts) => {
            const found = [];
            if (window.hacked !== undefined) found.push(`ran: ${window.hacked}`);
            for (const one of document.querySelectorAll(".hacked, body img, iframe, object, base, b.hacked"))
                found.push(`markup: ${one.outerHTML.slice(0, 100)}`);
            if (document.scripts.length !== scripts) found.push(`${document.scripts.length} scripts`);
            for (const one of document.querySelectorAll("*:not([role=tooltip])"))
                for (const { name, value } of one.attributes)
                    if (name.startsWith("on") || name === "style")
                        found.push(`attribute: ${one.tagName} ${name}=${value.slice(0, 60)}`);
            for (const link of document.links)
                if (!link.getAttribute("href").startsWith("#")) found.push(`link: ${link.href}`);
            return found;
        }""",
        allowed_scripts,
    )
    return damage


def test_nothing_of_the_data_runs_or_becomes_markup(open_page: Open, report: Path) -> None:
    page = open_page(report)
    use_everything(page)
    assert find_damage(page) == []


def test_attacks_can_be_read_as_what_they_are(look_at: Look, report: Path) -> None:
    page = look_at(report)
    spread_out(page)
    text = squeeze(page.locator("main").inner_text())
    shown = [one for one in hostile.ATTACKS if one.isprintable() and one.strip() and len(one) < 80]
    assert len(shown) > 15
    pairs = squeeze(page.locator("#pairs").inner_text())
    assert sum(squeeze(one) in pairs for one in shown) > len(shown) / 2
    for name in (hostile.SENSITIVE, hostile.DISCRETE, hostile.ORDINAL, hostile.CONTINUOUS):
        assert name in text
    assert hostile.SENSITIVE in page.locator("#attribution").inner_text()
    assert page.locator("#named tbody tr").count() > 1
    assert "49" not in [cell for cell in page.locator("td, th").all_inner_texts() if "7*7" in cell]


def test_what_cannot_be_seen_is_named_and_turns_nothing_around(look_at: Look, report: Path) -> None:
    page = look_at(report)
    spread_out(page)
    content = page.locator("body").evaluate("one => one.textContent")
    content = content.replace("\U0001f469\u200d\U0001f467", "")  # one picture, which the joiner makes of two
    hidden = {letter for letter in content if not letter.isprintable() and letter not in " \n\t\u00a0\u2068\u2069"}
    assert hidden == set()
    assert "U+202E" in content
    assert "U+0000" in content
    assert "\x00" not in report.read_text(encoding="utf-8")


def test_values_of_ten_thousand_letters_are_cut_and_keep_both_ends(look_at: Look, report: Path) -> None:
    page = look_at(report)
    cells = page.locator("td, th").evaluate_all("all => all.map(one => one.textContent.length)")
    assert max(cells) < 2_500
    assert len(report.read_bytes()) < 1_500_000
    text = page.locator("main").evaluate("one => one.textContent")
    assert "end-of-it" in text


@pytest.mark.long(2)
@pytest.mark.parametrize("width", WIDTHS.values())
def test_the_layout_holds(open_page: Open, report: Path, width: int) -> None:
    page = open_page(report, width=width)
    spread_out(page)
    assert not scrolls_sideways(page)
    tall = page.locator("table:not(.known) tbody tr").evaluate_all(
        "all => all.filter(one => one.getBoundingClientRect().height > 700).map(one => one.textContent.slice(0, 200))"
    )
    assert tall == []
    outside = page.locator("h1, h2, h3, main p, main dd, main li, figure, .scroll").evaluate_all(
        "all => all.filter(one => one.getClientRects().length && !one.closest('.unseen') && ("
        "one.getBoundingClientRect().right > innerWidth + 1 || one.getBoundingClientRect().left < -1))"
        ".map(one => one.outerHTML.slice(0, 120))"
    )
    assert outside == []


def test_columns_of_a_pair_stay_in_their_order(look_at: Look, report: Path) -> None:
    page = look_at(report)
    spread_out(page)
    places = page.locator("details.pair tbody tr").evaluate_all(
        "all => all.map(row => [...row.cells].map(cell => cell.getBoundingClientRect().left))"
    )
    assert all(row == sorted(row) for row in places)


@pytest.fixture(scope="session")
def short_report(record: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few lines of each list: axe-core looks at every letter, and so does what reads a print back."""
    short = record | {"worst_pairs": record["worst_pairs"][:2], "directions": record["directions"][:2]}
    short["person_gaps"] = record["person_gaps"] | {"worst": record["person_gaps"]["worst"][:2]}
    short["named"] = record["named"] | {"people": record["named"]["people"][:2]}
    parts = {name: record["attribution"][name][:2] for name in ("transitions", "worst")}
    short["attribution"] = record["attribution"] | parts
    path = tmp_path_factory.mktemp("reports") / "short.html"
    path.write_text(to_html(short), encoding="utf-8")
    return path


@pytest.mark.long  # the small draw: axe on the report of ordinary people
def test_axe_finds_nothing_to_mend_in_hostile_data_either(open_page: Open, short_report: Path) -> None:
    page = open_page(short_report, width=WIDTHS["phone"])
    spread_out(page)
    assert find_faults(page) == []


@pytest.mark.long  # the small draw: the print of ordinary people
def test_hostile_data_prints(open_page: Open, short_report: Path) -> None:
    text = print_text(open_page(short_report))
    assert "What this does not show" in text
    assert "Pair 2: factor by factor" in text


@pytest.mark.parametrize("turn", range(sized(1, 4)))
def test_a_record_by_a_stranger_is_shown_as_text(
    open_page: Open, record: dict[str, Any], tmp_path: Path, turn: int
) -> None:
    attacks = [one for one in hostile.ATTACKS if 1 < len(one) < 200]
    attacks = attacks[turn * len(attacks) // 4 :] + attacks[: turn * len(attacks) // 4]
    poisoned = poison(record | {"worst_pairs": record["worst_pairs"][:9]}, cycle(attacks))
    path = tmp_path / "report.html"
    path.write_text(to_html_of_both(poisoned), encoding="utf-8")
    page = open_page(path)
    use_everything(page)
    assert find_damage(page) == []
    assert page.title() == "How differently similar people are scored"


def poison(value: Any, attacks: Iterator[str], key: str = "") -> Any:
    """Put one attack after the other into the texts of a record that are not words of our own."""
    if isinstance(value, Mapping):
        return {name: poison(one, attacks, name) for name, one in value.items()}
    if isinstance(value, list):
        return [poison(one, attacks, key) for one in value]
    return f"{next(attacks)}{value[:5]}" if isinstance(value, str) and key not in OUR_WORDS else value


def test_the_card_of_a_notebook_stays_text_and_changes_nothing_around_it(
    open_page: Open, attacked: Audit, found: Audit, tmp_path: Path
) -> None:
    path = tmp_path / "notebook.html"
    theirs = "<!DOCTYPE html><html lang=en><title>x</title><body><table><tr><th>1</th><td>2</td></table><p>words</p>"
    path.write_text(theirs, encoding="utf-8")
    before = looks(open_page(path, width=WIDTHS["phone"]))
    path.write_text(theirs + attacked._repr_html_() + found._repr_html_(), encoding="utf-8")
    page = open_page(path, width=WIDTHS["phone"])
    use_everything(page)
    assert find_damage(page, allowed_scripts=0) == []
    assert looks(page) == before
    assert not scrolls_sideways(page)


def looks(page: Page) -> list[str]:
    found: list[str] = page.locator("body > table, body > table td, body > table th, body > p").evaluate_all(
        "all => all.map(one => JSON.stringify(getComputedStyle(one)))"
    )
    return found
