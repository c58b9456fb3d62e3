"""The report, opened from disk in a real browser: it says what the record says, to everybody, and asks for nothing."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect
from tests.browser.conftest import WIDTHS, Look, Open
from tests.browser.looking import find_faults, print_sheets, scrolls_sideways, spread_out, squeeze
from tests.sizes import sized

from likewise import Policy, attribute_gaps, audit, name_people
from likewise.auditing import Audit, Verdict, compare_audits
from likewise.report import to_html

SECTIONS = (
    "Verdict",
    "Before and after",
    "Selection rates by group",
    "Differences between groups",
    "What was compared",
    "Gaps by label",
    "Same-group pairs (baseline)",
    "Worst pairs, side by side",
    "Largest gap per person",
    "Model performance and calibration",
    "Coverage by group",
    "How to reproduce",
    "What this does not show",
)
EVERY_OUTCOME = Policy(max_gap_q3=0.027, labels={1: {"max_gap_mean": 0.2}, 0: {"max_gap_mean": 0.001}})
WHERE = """() => {
    const at = document.activeElement, near = at.closest("section");
    const shown = getComputedStyle(at.querySelector(":scope > .lw-area") || at);
    return [near && near.id, at.tagName.toLowerCase(), `${shown.outlineStyle} ${shown.boxShadow} ${shown.stroke}`];
}"""
LOOKS = [("desk", "light"), ("desk", "dark"), ("phone", "light")]
LISTED = 20  # pairs on the page; the record has more


@pytest.fixture(scope="session")
def report(found: Audit, verdict: Verdict, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reports") / "report.html"
    path.write_text(found.to_html(verdict=verdict), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def two_audits(found: Audit, mended: Audit, mended_verdict: Verdict, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reports") / "before & after #1.html"
    path.write_text(mended.to_html(verdict=mended_verdict, before=found), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def short_report(found: Audit, mended: Audit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both audits with a few lines of each list, and a verdict of each kind: axe-core looks at every letter."""
    before, after = found.to_dict(), mended.to_dict(mended.judge(EVERY_OUTCOME))
    assert {check["outcome"] for check in after["verdict"]["checks"]} == {"pass", "fail", "inconclusive"}
    for one in (before, after):
        one |= {"worst_pairs": one["worst_pairs"][:2], "directions": one["directions"][:4]}
        one["person_gaps"]["worst"] = one["person_gaps"]["worst"][:4]
    comparison = compare_audits(found, mended)
    path = tmp_path_factory.mktemp("reports") / "short.html"
    path.write_text(to_html(after, before=before, comparison=comparison), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def explained(loans: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A report that says which columns gaps come from, and who is worse off beyond chance; and its record."""
    each = np.repeat(np.arange(150), 5)  # with four like themselves, of whom chance is known
    people, labels = loans.train.X.iloc[each].reset_index(drop=True), np.asarray(loans.train.y)[each]
    found = audit(loans.scores, people, labels, roles=loans.roles, rule=loans.rule, n_resamples=0, n_worst=2)
    named = name_people(attribute_gaps(found, loans.scores).audit, false_discovery_rate=0.5)
    record = named.audit.to_dict()
    record |= {"directions": record["directions"][:2], "column_directions": record["column_directions"][:1]}
    record["person_gaps"]["worst"] = record["person_gaps"]["worst"][:2]
    record["named"]["people"] = record["named"]["people"][:3]
    assert record["named"]["people"]
    path = tmp_path_factory.mktemp("reports") / "explained.html"
    path.write_text(to_html(record), encoding="utf-8")
    return path, record


def points(gap: float) -> str:
    return f"{100 * gap:.2f} pp"


def heads(page: Page) -> list[str]:
    return [squeeze(head) for head in page.locator("main h2").all_inner_texts()]


def column(table: Locator, place: int) -> list[str]:
    return [squeeze(cell) for cell in table.locator(f"tbody tr > :nth-child({place})").all_inner_texts()]


def test_gaps_by_column_and_people_named_are_those_of_the_record_and_axe_finds_nothing_to_mend(
    open_page: Open, explained: tuple[Path, dict[str, Any]]
) -> None:
    path, record = explained
    page = open_page(path, width=WIDTHS["phone"])
    spread_out(page)
    order = ["Gaps by label", "Gaps by column", "People worse off beyond chance", "Largest gap per person"]
    assert [one for one in heads(page) if one in order] == order
    for table, part in (("attribution", "attribution"), ("named", "named")):
        assert page.locator(f"nav a[href='#{table}']").count() == 1
        assert record[part]
    columns = page.locator("#attribution table.sortable").first
    assert column(columns, 1) == [one["column"] for one in record["attribution"]["columns"]]
    parts = [one["mean_part"] for one in record["attribution"]["columns"]]
    assert [float(cell.split(" pp")[0].replace("\N{MINUS SIGN}", "-")) for cell in column(columns, 3)] == pytest.approx(
        [100 * part for part in parts], abs=0.0051
    )
    assert [int(cell) for cell in column(page.locator("#named table"), 1)] == [
        one["row"] for one in record["named"]["people"]
    ]
    for place, listed in enumerate(record["attribution"]["worst"]):
        shown = squeeze(page.locator("details.pair").nth(place).inner_text()).partition("Parts of the gap: ")[2]
        assert listed
        assert all(f"{one['column']} " in shown for one in listed)
    assert page.locator("#attribution svg.lw-chart [data-tip]").count() >= len(parts)
    assert not scrolls_sideways(page)
    assert find_faults(page, sized("#attribution, #named", None)) == []  # of the rest: below


def test_a_click_on_a_head_sorts_and_another_turns_the_order(open_page: Open, report: Path) -> None:
    page = open_page(report)
    spread_out(page)
    table = page.locator("#people table.sortable")
    heads_of = [squeeze(head) for head in table.locator("thead th").all_inner_texts()]
    place = next(i for i, head in enumerate(heads_of) if "gap" in head.lower())
    head = table.locator("thead th").nth(place)
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    numbers = [float(cell.split(" pp")[0]) for cell in column(table, place + 1)]
    assert numbers == sorted(numbers)
    assert len(set(numbers)) > 5
    head.get_by_role("button").press("Enter")
    expect(head).to_have_attribute("aria-sort", "descending")
    assert [float(cell.split(" pp")[0]) for cell in column(table, place + 1)] == sorted(numbers, reverse=True)
    assert table.locator("th[aria-sort=ascending], th[aria-sort=descending]").count() == 1


def test_sorting_moves_whole_rows(open_page: Open, report: Path) -> None:
    page = open_page(report)
    spread_out(page)
    for table in page.locator("table.sortable").all()[: sized(2, None)]:
        before = table.locator("tbody tr").all_inner_texts()
        for head in table.locator("thead th button").all():
            head.click()
        assert sorted(table.locator("tbody tr").all_inner_texts()) == sorted(before)


def test_a_click_on_the_legend_hides_a_series_and_shows_it_again(look_at: Look, report: Path) -> None:
    page = look_at(report)
    chart = page.locator("#gaps svg.lw-chart").first
    keys = chart.get_by_role("button")
    assert keys.count() == 2  # comparable pairs, and the baseline
    for place in range(2):
        key, series = keys.nth(place), chart.locator(f"g.lw-series[data-series='{place}']").first
        expect(series).to_be_visible()
        key.click()
        expect(key).to_have_attribute("aria-pressed", "false")
        expect(series).to_be_hidden()
        key.focus()
        page.keyboard.press("Enter")
        expect(key).to_have_attribute("aria-pressed", "true")
        expect(series).to_be_visible()


def test_words_on_marks_show_on_hover_and_by_keyboard_and_go_with_escape(look_at: Look, report: Path) -> None:
    page = look_at(report)
    tip = page.get_by_role("tooltip")
    expect(tip).to_be_hidden()
    chart = page.locator("#gaps svg.lw-chart").first
    marks = chart.locator("[data-tip]")
    marks.nth(1).scroll_into_view_if_needed()
    marks.nth(1).hover()
    expect(tip).to_have_text(marks.nth(1).get_attribute("data-tip") or "nothing")
    chart.get_by_role("button").last.focus()
    page.keyboard.press("Tab")
    first = page.evaluate("() => document.activeElement.getAttribute('data-tip')")
    expect(tip).to_have_text(first)
    page.keyboard.press("ArrowRight")
    second = page.evaluate("() => document.activeElement.getAttribute('data-tip')")
    assert second != first
    expect(tip).to_have_text(second)
    box = tip.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= WIDTHS["desk"]
    page.keyboard.press("Escape")
    expect(tip).to_be_hidden()


def test_pairs_open_and_close_by_keyboard_and_all_at_once(open_page: Open, report: Path) -> None:
    page = open_page(report)
    pairs = page.locator("details.pair")
    is_open = "all => all.map(one => one.open)"
    assert pairs.evaluate_all(is_open) == [True] * 3 + [False] * (LISTED - 3)
    pairs.nth(5).locator("summary").focus()
    page.keyboard.press("Enter")
    expect(pairs.nth(5).locator("table")).to_be_visible()
    page.keyboard.press("Space")
    expect(pairs.nth(5).locator("table")).to_be_hidden()
    page.get_by_role("button", name="Expand all").first.click()
    assert all(pairs.evaluate_all(is_open))
    page.get_by_role("button", name="Collapse all").first.click()
    assert not any(pairs.evaluate_all(is_open))


def test_on_a_phone_the_verdict_is_on_the_first_screen_and_what_goes_on_has_a_cue(
    open_page: Open, report: Path
) -> None:
    page = open_page(report, width=390)
    expect(page.locator("#verdict .sentence")).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    wide = page.locator(".scroll, .contents ol").evaluate_all(
        "all => all.filter(one => one.scrollWidth > one.clientWidth + 1).map(one => getComputedStyle(one))"
        ".map(one => [one.overflowX, one.backgroundImage, one.backgroundAttachment])"
    )
    assert wide
    assert all(overflow == "auto" and "gradient" in image and "local" in moves for overflow, image, moves in wide)


def test_a_link_of_the_contents_leads_to_its_section(look_at: Look, report: Path) -> None:
    page = look_at(report)
    links = page.locator("nav a")
    assert links.count() == len(SECTIONS) - 1
    for link in links.all():
        target = link.get_attribute("href") or ""
        assert page.locator(target).count() == 1
    links.last.click()
    expect(page.locator("#caveats h2")).to_be_in_viewport()


@pytest.mark.parametrize("fragment", ["%E0%A4%A", "'\"><b>", "pairs", "%", "no-such-place"][: sized(1, None)])
def test_any_fragment_in_the_address_is_taken_calmly(open_page: Open, report: Path, fragment: str) -> None:
    assert heads(open_page(f"{report.as_uri()}#{fragment}"))[0] == "Verdict"


@pytest.mark.parametrize(("where", "scheme"), sized([("desk", "dark")], LOOKS))
def test_axe_finds_nothing_to_mend(open_page: Open, short_report: Path, where: str, scheme: str) -> None:
    page = open_page(short_report, width=WIDTHS[where], scheme=scheme)
    spread_out(page)
    assert find_faults(page) == []


def test_dark_and_light_follow_the_reader(open_page: Open, report: Path) -> None:
    shades = {}
    for scheme in ("light", "dark"):
        page = open_page(report, scheme=scheme)
        colours = page.evaluate(
            "() => [getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
        )
        shades[scheme] = [brightness(colour) for colour in colours]
    assert shades["light"][0] > 200 > 100 > shades["light"][1]
    assert shades["dark"][0] < 60 < 150 < shades["dark"][1]


def colour_of(page: Page, name: str, element: str = "body") -> str:
    return str(page.locator(element).evaluate("(one, name) => getComputedStyle(one)[name]", name))


def brightness(colour: str) -> float:
    numbers = [float(one) for one in colour.partition("(")[2].rstrip(")").split(",")[:3]]
    return sum(numbers) / 3


@pytest.mark.parametrize("width", sized([320], [320, WIDTHS["phone"], 768, WIDTHS["desk"], 2560]))
def test_the_page_never_scrolls_sideways(open_page: Open, two_audits: Path, width: int) -> None:
    page = open_page(two_audits, width=width)
    spread_out(page)
    assert not scrolls_sideways(page)


def test_letters_are_large_enough_on_a_phone(open_page: Open, report: Path) -> None:
    page = open_page(report, width=WIDTHS["phone"])
    spread_out(page)
    small = page.evaluate(
        "() => [...document.querySelectorAll('main *')].filter(one => [...one.childNodes].some("
        "part => part.nodeType === 3 && part.data.trim()) && parseFloat(getComputedStyle(one).fontSize) < 11)"
        ".map(one => one.outerHTML.slice(0, 120))"
    )
    assert small == []


@pytest.mark.parametrize("script", sized([False], [False, True]), ids={False: "no script", True: "script"}.get)
def test_print_holds_every_section_and_every_listed_pair_and_tears_none_apart(
    open_page: Open, two_audits: Path, mended: Audit, script: bool
) -> None:
    sheets = print_sheets(open_page(two_audits, script=script))
    text = unicodedata.normalize("NFKC", squeeze(" ".join(sheets)))  # a font may draw ff as one letter
    assert [one for one in SECTIONS if one not in text] == []
    for place, case in enumerate(mended.worst[:LISTED], start=1):
        assert f"Pair {place}: factor by factor" in text
        assert points(case.gap) in text
    assert points(mended.to_dict()["measures"]["gap_mean[0]"]["value"]) in text  # of a folded table
    assert "Expand all" not in text
    pairs = [re.findall(r"Pair (\d+): factor", sheet) for sheet in sheets]
    assert 0 < len([sheet for sheet in pairs if sheet]) <= LISTED / 2


def test_print_is_black_on_white_also_for_readers_of_dark_pages(open_page: Open, report: Path) -> None:
    page = open_page(report, scheme="dark")
    page.emulate_media(media="print")
    colours = [colour_of(page, "backgroundColor", one) for one in ("html", "body")]
    assert [one for one in colours if one not in ("rgb(255, 255, 255)", "rgba(0, 0, 0, 0)")] == []
    assert brightness(colour_of(page, "color")) < 60


def test_printing_leaves_the_closed_pairs_closed(open_page: Open, report: Path) -> None:
    page = open_page(report)
    page.pdf()
    assert page.locator("details.pair").evaluate_all("all => all.filter(one => one.open).length") == 3


def test_without_a_script_everything_can_be_read(open_page: Open, report: Path, record: dict[str, Any]) -> None:
    page = open_page(report, script=False)
    assert heads(page)[0] == "Verdict"
    expect(page.locator("#gaps svg").first).to_be_visible()
    pair = page.locator("details.pair").nth(9)
    expect(pair.locator("table")).to_be_hidden()
    pair.locator("summary").click()
    expect(pair.locator("table")).to_be_visible()
    assert page.get_by_role("button").count() == 0  # no button that does nothing
    for folded in page.locator("#gaps details.fold > summary").all():
        folded.click()
    assert points(record["measures"]["gap_mean[0]"]["value"]) in squeeze(page.locator("#gaps").inner_text())


def test_the_whole_page_can_be_walked_through_with_tab_and_shows_where_one_is(open_page: Open, report: Path) -> None:
    page = open_page(report)
    page.keyboard.press("Tab")
    expect(page.locator("a.skip")).to_be_focused()
    page.keyboard.press("Enter")
    seen = set()
    for _ in range(150):
        page.keyboard.press("Tab")
        section, name, mark = page.evaluate(WHERE)
        if name == "body":
            break
        seen.add(section)
        assert mark != "none none none", (section, name)
    assert {"gaps", "directions", "pairs", "people", "reproduce"} <= seen
