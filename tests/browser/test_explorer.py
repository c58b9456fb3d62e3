"""The explorer in a real browser: its numbers are those of an audit, wherever the thresholds are moved."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tests.browser.conftest import WIDTHS, Look, Open
from tests.browser.explorer_page import (
    COUNT_QUESTIONS,
    figures,
    gaps_of,
    move,
    percent,
    points,
    rows,
    settle,
    signed,
    slices,
    start,
    start_again,
)
from tests.browser.looking import find_faults, scrolls_sideways, squeeze
from tests.explore.asking import Served
from tests.sizes import sized

from likewise import Comparability, audit
from likewise.auditing import Audit
from likewise.explore import Explorer

UNKNOWN = "\N{EN DASH}"
WHERE = """() => {
    const at = document.activeElement, style = getComputedStyle(at);
    return [at.id || at.className || at.tagName, style.outlineStyle !== "none" || style.boxShadow !== "none"];
}"""


@pytest.fixture(scope="session")
def model(loans: Any) -> Any:
    """A model that looks at the group, among other things."""
    roles = loans.roles
    parts = make_column_transformer(
        (OneHotEncoder(), [*roles.sensitive, *roles.discrete]), (StandardScaler(), list(roles.continuous))
    )
    return make_pipeline(parts, LogisticRegression()).fit(loans.train.X, loans.train.y)


@pytest.fixture(scope="session")
def served(loans: Any, model: Any, serve_explorer: Callable[[Explorer], Served]) -> Served:
    schema = loans.roles.learn(loans.train.X)
    return serve_explorer(Explorer(model, loans.train.X, loans.train.y, roles=schema, rule=loans.rule, title="Loans"))


@pytest.fixture(scope="session")
def audit_at(loans: Any, model: Any) -> Callable[..., Audit]:
    schema = loans.roles.learn(loans.train.X)

    @cache
    def measure(changes: int, shift: float) -> Audit:
        rule = Comparability(max_discrete_changes=changes, max_continuous_shift=shift)
        how: dict[str, Any] = {"n_resamples": 0, "n_worst": 30}
        return audit(model, loans.train.X, loans.train.y, roles=schema, rule=rule, **how)

    return measure


def test_wherever_the_thresholds_stand_the_numbers_are_those_of_an_audit(
    look_at: Look, served: Served, audit_at: Callable[..., Audit]
) -> None:
    page = start_again(look_at, served)
    names = ("gap_mean", "same_group_gap_mean", "gap_median", "gap_q3", "gap_q95", "gap_max")
    shares = ("gap_share_above", "rank_gap_mean", "flip_rate")
    for changes, shift in ((1, 0.025), (0, 0.025), (2, 0.1), (1, 0.0), (4, 0.3), (1, 0.0137)):
        move(page, changes=changes, shift=shift)
        found = audit_at(changes, shift)
        shown = figures(page)
        assert shown["Comparable pairs"] == f"{len(found.pairs):,}"
        assert shown["Coverage"] == percent(found["matched_share"].value or 0, 1)
        parts = [found.record.measures_of(label) for label in (None, *found.record.labels)]
        for row, measures in zip(slices(page), parts, strict=True):
            assert row[1] == f"{measures['gap_mean'].n:,}"
            excess, rates = measures["excess"].value, [measures[name].value or 0.0 for name in shares]
            assert row.pop(4) == (UNKNOWN if excess is None else signed(excess))
            gaps = [measures[name].value for name in names]
            assert row[2:] == [*(UNKNOWN if gap is None else points(gap) for gap in gaps), *map(percent, rates)]


def test_the_slider_itself_moves_the_rule_and_its_words(look_at: Look, served: Served) -> None:
    page = start_again(look_at, served)
    before = figures(page)["Comparable pairs"], page.locator("#rule-words").inner_text()
    page.locator("#changes").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#changes-number")).to_have_value("2")
    expect(page.locator("#rule-words")).not_to_have_text(before[1])
    settle(page)
    assert number(figures(page)["Comparable pairs"]) > number(before[0])
    page.locator("#changes").press("Home")
    expect(page.locator("#changes-number")).to_have_value("0")
    settle(page)
    assert number(figures(page)["Comparable pairs"]) < number(before[0])


def opened(page: Page) -> tuple[int, int]:
    """Read from the address which pair is open."""
    expect(page).to_have_url(re.compile("pair="))
    found = re.search(r"pair=(\d+)-(\d+)", page.url)
    assert found is not None
    return int(found[1]), int(found[2])


def number(shown: str) -> int:
    return int(shown.replace(",", ""))


def test_an_empty_selection_is_told_and_cannot_be_saved(look_at: Look, served: Served) -> None:
    page = start_again(look_at, served)
    page.locator("#least").fill("5")
    expect(page.locator("#pairs")).to_contain_text("No pair passes the filters")
    expect(page.locator("#export-csv")).to_be_disabled()
    page.locator("#clear").click()
    expect(page.locator("#export-csv")).to_be_enabled()


def test_a_filter_by_label_leaves_the_pairs_of_that_label(
    look_at: Look, served: Served, audit_at: Callable[..., Audit]
) -> None:
    page = start_again(look_at, served)
    found = audit_at(1, 0.025)
    for place, label in enumerate(found.record.labels):
        measures = found.record.measures_of(label)
        page.locator("#label").select_option(str(place))
        expect(page.locator("#selected")).to_contain_text(f"{measures['gap_mean'].n:,} of {len(found.pairs):,} pairs")
        expect(page.locator("#selected")).to_contain_text(points(measures["gap_mean"].value or 0))
        assert {row[2] for row in rows(page)} == {str(label)}


def test_a_filter_by_transition_leaves_pairs_of_these_two_groups(
    look_at: Look, served: Served, audit_at: Callable[..., Audit]
) -> None:
    page = start_again(look_at, served)
    line = page.locator("#directions tr").first
    cells = [squeeze(cell) for cell in line.locator("th, td").all_inner_texts()]
    line.get_by_role("button").click()
    expect(page.locator("#selected")).to_contain_text(f"{cells[2]} of ")
    for row in rows(page):
        assert {row[3].split(" row")[0], row[4].split(" row")[0]} == set(cells[:2])
    known = {frozenset((one.origin, one.target)): one for one in audit_at(1, 0.025).directions}
    same = known[frozenset((tuple(cells[0].split(", ")), tuple(cells[1].split(", "))))]
    assert int(cells[2]) == same.n_pairs
    assert cells[4].lstrip("+\N{MINUS SIGN}") == points(abs(same.mean_gap))
    page.locator("#clear").click()
    expect(page.locator("#selected")).not_to_contain_text(" of ")


def test_heads_sort_both_ways_over_all_pages(look_at: Look, served: Served, audit_at: Callable[..., Audit]) -> None:
    page = start_again(look_at, served)
    gaps = np.sort(audit_at(1, 0.025).gaps)
    head = page.locator("th[data-sort=gap]")
    expect(head).to_have_attribute("aria-sort", "descending")
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    assert gaps_of(page) == pytest.approx(100 * gaps[:25], abs=0.006)
    page.locator("#next").click()
    expect(page.locator("#page")).to_contain_text("Page 2")
    assert gaps_of(page) == pytest.approx(100 * gaps[25:50], abs=0.006)
    page.locator("th[data-sort=row]").get_by_role("button").click()
    expect(page.locator("#page")).to_contain_text("Page 1")
    people = [int(re.findall(r"row ([\d,]+)", row[3])[0].replace(",", "")) for row in rows(page)]
    assert people == sorted(people)


def test_an_open_pair_shows_two_people_as_the_audit_does(
    look_at: Look, served: Served, audit_at: Callable[..., Audit]
) -> None:
    page = start_again(look_at, served)
    page.locator("#pairs tr").first.get_by_role("button").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    gap = audit_at(1, 0.025).worst[0]
    assert points(gap.gap) in dialog.inner_text()
    shown = {squeeze(row.locator("th bdi").inner_text()): row for row in page.locator("#side tr:not(.score)").all()}
    case = {(case.left_row, case.right_row): case for case in audit_at(1, 0.025).worst}[opened(page)]
    decided = page.locator("#side tr", has_text="Decision").locator("td").all_inner_texts()
    assert sorted(decided[:2]) == sorted([case.left_decision, case.right_decision])
    for factor in case.factors:
        cells = [squeeze(cell) for cell in shown[factor.column].locator("td").all_inner_texts()]
        assert cells[:2] == [f"{one:g}" if isinstance(one, float) else str(one) for one in (factor.left, factor.right)]
        assert ("differs" in (shown[factor.column].get_attribute("class") or "")) == factor.differs
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_what_if_refuses_nonsense_in_words(open_page: Open, served: Served, errors: list[str]) -> None:
    page = start(open_page, served)
    page.locator("#pairs tr").first.get_by_role("button").click()
    page.locator("#column").select_option("age")
    page.locator("#amount").fill("1e300")
    expect(page.locator("#answer")).to_contain_text("finite")
    page.locator("#amount").fill("9999")
    expect(page.locator("#answer")).to_contain_text("with care")
    forgive_refusals(errors)


def test_the_selection_is_saved_as_csv(
    look_at: Look, served: Served, loans: Any, audit_at: Callable[..., Audit]
) -> None:
    page = start_again(look_at, served)
    page.locator("#label").select_option("1")
    expect(page.locator("#selected")).to_contain_text(" of ")
    with page.expect_download() as saved:
        page.locator("#export-csv").click()
    assert saved.value.suggested_filename.endswith(".csv")
    lines = list(csv.DictReader(saved.value.path().read_text(encoding="utf-8").splitlines()))
    found = audit_at(1, 0.025)
    label = found.record.labels[1]
    kept = np.flatnonzero(loans.train.y.to_numpy()[found.pairs.left] == label)
    assert [float(line["gap"]) for line in lines] == pytest.approx(np.sort(found.gaps[kept])[::-1])
    pairs = {(int(line["left_row"]), int(line["right_row"])) for line in lines}
    assert pairs == set(zip(found.pairs.left[kept].tolist(), found.pairs.right[kept].tolist(), strict=True))


def test_the_address_brings_back_what_was_looked_at(open_page: Open, served: Served) -> None:
    page = start(open_page, served)
    move(page, changes=2, shift=0.05)
    page.locator("#label").select_option("0")
    expect(page.locator("#selected")).to_contain_text(" of ")
    page.locator("#pairs tr").first.get_by_role("button").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    again = start(open_page, served, page.url.removeprefix(served.address))
    expect(again.get_by_role("dialog")).to_be_visible()
    assert figures(again) == figures(page)
    assert rows(again) == rows(page)
    assert again.locator("#pair-title").inner_text() == page.locator("#pair-title").inner_text()


def test_any_fragment_in_the_address_leaves_a_page_that_works(
    open_page: Open, served: Served, errors: list[str]
) -> None:
    fragments = ("d=-1&c=-1", "d=1e9&c=1e9", "d=x&c=%", "transition=999999", "label=99", "page=99999", "pair=0-0", "__")
    page = start(open_page, served)
    for fragment in fragments[: sized(3, None)]:
        page.goto(f"{served.address}#{fragment}")
        page.reload()
        expect(page.locator("#pairs tr").first).to_be_attached()
        page.evaluate(COUNT_QUESTIONS)
        move(page, shift=0.024)
        assert number(figures(page)["Comparable pairs"]) > 0
    forgive_refusals(errors)


def forgive_refusals(errors: list[str]) -> None:
    """Leave out what the browser says of questions that were refused: the page says why, in words."""
    errors[:] = [one for one in errors if "400 (Bad Request)" not in one]


def test_everything_can_be_done_without_a_mouse(open_page: Open, served: Served) -> None:
    page = start(open_page, served)
    seen: dict[str, bool] = {}
    for _ in range(40):
        page.keyboard.press("Tab")
        name, is_marked = page.evaluate(WHERE)
        seen[name] = is_marked
    assert {"changes", "shift", "transition", "label", "least"} <= set(seen)
    assert [name for name, is_marked in seen.items() if not is_marked] == []
    button = page.locator("#pairs tr").nth(3).get_by_role("button")
    button.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    for _ in range(12):
        page.keyboard.press("Tab")
        assert page.evaluate(
            "() => document.activeElement === document.body || !!document.activeElement.closest('dialog')"
        )
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(button).to_be_focused()


@pytest.mark.parametrize(
    ("where", "scheme"), [("phone", "light"), ("desk", "light"), ("desk", "dark")][: sized(1, None)]
)
def test_axe_finds_nothing_to_mend_in_the_page_and_in_an_open_pair(
    open_page: Open, served: Served, audit_at: Callable[..., Audit], where: str, scheme: str
) -> None:
    page = start(open_page, served, few_pairs(audit_at), width=WIDTHS[where], scheme=scheme)
    page.evaluate("() => document.querySelectorAll('details').forEach(one => { one.open = true })")
    page.locator("#split").click()
    expect(page.locator("#split-parts .sum")).to_be_visible()
    assert find_faults(page) == []
    page.locator("#pairs tr").first.get_by_role("button").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    expect(page.locator("#pair-parts .sum")).to_be_visible()
    page.locator("#column").select_option("income")
    page.locator("#amount").fill("61000")
    expect(page.locator("#answer")).to_contain_text("Score")
    assert find_faults(page, "dialog") == []  # nothing else can be reached


def few_pairs(audit_at: Callable[..., Audit]) -> str:
    """Look at the three worst pairs only: axe-core looks at every letter."""
    return f"#least={audit_at(1, 0.025).worst[2].gap - 1e-6:.6f}"


@pytest.mark.parametrize("width", [320, 1400, *WIDTHS.values()][: sized(2, None)])
def test_the_page_never_scrolls_sideways(open_page: Open, served: Served, width: int) -> None:
    page = start(open_page, served, width=width)
    page.locator("#split").click()
    expect(page.locator("#split-parts .sum")).to_be_visible()
    assert page.locator("table.slices").evaluate("one => one.scrollWidth <= one.parentElement.clientWidth")
    assert not scrolls_sideways(page)
    page.locator("#pairs tr").first.get_by_role("button").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    box = dialog.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    expect(page.locator("#pair-parts .sum")).to_be_visible()
    assert page.locator("dialog .parts").evaluate("one => one.scrollWidth <= one.parentElement.clientWidth")
    assert not scrolls_sideways(page)


TYPE_QUICKLY = """(one, values) => {
    for (const value of values) { one.value = value; one.dispatchEvent(new Event("input", { bubbles: true })) }
}"""


def test_a_quick_hand_ends_at_the_numbers_of_its_last_move(
    look_at: Look, served: Served, audit_at: Callable[..., Audit]
) -> None:
    page = start_again(look_at, served)
    page.locator("#shift-number").evaluate(TYPE_QUICKLY, [f"{0.001 * (step + 1):.3f}" for step in range(40)])
    found = audit_at(1, 0.04)
    expect(page.locator("#figures dd b").first).to_have_text(f"{len(found.pairs):,}")
    settle(page)
    assert figures(page)["Comparable pairs"] == f"{len(found.pairs):,}"


def test_pages_turned_quickly_are_all_turned(open_page: Open, served: Served) -> None:
    page = start(open_page, served, "#d=4&c=0.3")
    page.locator("#next").evaluate("one => { one.click(); one.click(); one.click() }")
    expect(page.locator("#page")).to_contain_text("Page 4 of")


def test_a_model_is_asked_for_the_last_of_many_values_and_not_for_each(
    open_page: Open, served: Served, loans: Any, model: Any
) -> None:
    page = start(open_page, served)
    page.locator("#pairs tr").first.get_by_role("button").click()
    page.locator("#column").select_option("income")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "what-if" in request.url else None)
    page.locator("#amount").evaluate(TYPE_QUICKLY, [str(40_000 + 1_000 * step) for step in range(21)])
    person = loans.train.X.iloc[[opened(page)[0]]]
    after = float(model.predict_proba(person.assign(income=60_000))[0, 1])
    expect(page.locator("#answer")).to_contain_text(f"→ {after:.3f}")
    assert len(asked) == 2


def test_a_page_whose_program_has_ended_says_so_and_recovers_when_it_is_back(
    open_page: Open, served: Served, errors: list[str]
) -> None:
    page = start(open_page, served)
    page.route("**/api/look", lambda route: route.abort())
    page.locator("#shift-number").fill("0.03")
    expect(page.get_by_role("alert")).to_contain_text("is not responding")
    page.unroute("**/api/look")
    page.locator("#shift-number").fill("0.04")
    expect(page.get_by_role("alert")).to_be_hidden()
    errors[:] = [one for one in errors if "ERR_FAILED" not in one]


def test_a_page_without_its_script_says_what_it_needs(open_page: Open, served: Served) -> None:
    page = open_page(served.address, script=False)
    words = page.locator("noscript p")
    expect(words).to_be_visible()
    assert "needs JavaScript" in (words.text_content() or "")
