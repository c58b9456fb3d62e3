"""Who gets an answer from the explorer: its own page, with the token, on this machine; and hostile data stays text."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.browser import hostile
from tests.browser.conftest import WIDTHS, Open
from tests.browser.looking import find_faults, scrolls_sideways
from tests.explore.asking import Served

from likewise.explore import Explorer
from likewise.report._text import isolate, tidy


@pytest.fixture(scope="session")
def served(serve_explorer: Callable[[Explorer], Served]) -> Served:
    title = "<img class=hacked src=x onerror=window.hacked='title'>\u202e"
    how: dict[str, Any] = {"roles": hostile.ROLES, "rule": hostile.RULE, "positive": hostile.LABELS[1]}
    return serve_explorer(Explorer(hostile.score, hostile.make_people(), title=title, **how))


@pytest.fixture
def stranger(served: Served) -> Iterator[str]:
    """Serve another page of this machine, which knows the token and tries to use it."""
    page = f"""<!DOCTYPE html><html lang=en><title>stranger</title><body><script>
        const told = []; window.told = told;
        const at = "{served.address}";
        const tries = [
            fetch(at).then(answer => answer.text()),
            fetch(at + "api/about", {{method: "POST", body: "{{}}", headers: {{
                "content-type": "application/json", "x-likewise-token": "{served.token}"}}}}).then(one => one.text()),
            fetch(at + "api/about", {{method: "POST", body: "{{}}", mode: "no-cors"}}).then(one => one.text()),
            fetch(at, {{mode: "no-cors"}}).then(one => one.text()),
            new Promise((done, fail) => {{ const one = document.createElement("script"); one.src = at + "explore.js";
                one.onload = () => done("a script ran"); one.onerror = fail; document.body.append(one) }}),
        ];
        Promise.allSettled(tries).then(all => {{ window.told = all.map(one => one.value || "") }});
        </script><iframe src="{served.address}" title="framed"></iframe></body></html>""".encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


def test_another_page_in_the_same_browser_gets_nothing_even_with_the_token(
    open_page: Open, stranger: str, errors: list[str]
) -> None:
    page = open_page(stranger)
    page.wait_for_function("() => window.told.length === 5")
    assert page.evaluate("() => window.told") == [""] * 5
    frame = page.frames[-1]
    assert frame.locator("#figures").count() == 0
    errors.clear()  # it is the stranger who complains


def start(open_page: Open, served: Served, **how: Any) -> Page:
    page = open_page(served.address, **how)
    expect(page.locator("#pairs tr").first).to_be_attached()
    return page


def find_damage(page: Page) -> list[str]:
    damage: list[str] = page.evaluate(
        """() => [
            ...(window.hacked === undefined ? [] : [`ran: ${window.hacked}`]),
            ...[...document.querySelectorAll(".hacked, img, iframe, object, base, style")].map(one => one.outerHTML),
            ...[...document.querySelectorAll("*")].flatMap(one => [...one.attributes]
                .filter(({ name }) => name.startsWith("on") || name === "style")
                .map(({ name, value }) => `${one.tagName} ${name}=${value}`)),
            ...(document.scripts.length === 1 ? [] : [`${document.scripts.length} scripts`]),
        ]"""
    )
    return damage


def test_hostile_data_stays_text_in_every_part_of_the_page(open_page: Open, served: Served) -> None:
    page = start(open_page, served)
    page.evaluate("() => document.querySelectorAll('details').forEach(one => { one.open = true })")
    if page.locator("#all-directions").is_visible():
        page.locator("#all-directions").click()
    page.locator("#next").click()
    expect(page.locator("#page")).to_contain_text("Page 2")
    assert hostile.SENSITIVE in page.locator("#source").inner_text()
    page.locator("#split").click()
    expect(page.locator("#split-parts")).to_contain_text(hostile.SENSITIVE)
    for place in (0, 7):
        page.locator("#pairs tr").nth(place).get_by_role("button").click()
        expect(page.locator("#pair-parts")).to_contain_text(hostile.SENSITIVE)
        assert hostile.CONTINUOUS in page.locator("#side").inner_text()
        for column in page.locator("#column option").evaluate_all("all => all.map(one => one.value)"):
            page.locator("#column").select_option(column)
        page.locator("#column").select_option(hostile.SENSITIVE)
        page.locator("#choice").select_option(index=5)
        expect(page.locator("#answer")).to_contain_text("Score")
        page.keyboard.press("Escape")
    page.locator("#label").select_option("1")
    page.locator("#transition").select_option(index=3)
    expect(page.locator("#clear")).to_be_enabled()
    assert find_damage(page) == []


@pytest.mark.long(2)
@pytest.mark.parametrize("width", WIDTHS.values())
def test_hostile_data_leaves_the_layout_as_it_is(open_page: Open, served: Served, width: int) -> None:
    page = start(open_page, served, width=width)
    page.locator("#split").click()
    expect(page.locator("#split-parts .sum")).to_be_visible()
    assert not scrolls_sideways(page)
    tall = (
        "all => all.filter(one => one.getBoundingClientRect().height > 700).map(one => one.textContent.slice(0, 150))"
    )
    assert page.locator("tr, p, h1, h2, li, dl > div").evaluate_all(tall) == []
    page.locator("#pairs tr").first.get_by_role("button").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    box = dialog.bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= width
    close = page.locator("#close").bounding_box()
    assert close is not None
    assert close["height"] < 60  # its word is in one line
    expect(page.locator("#pair-parts .sum")).to_be_visible()
    assert page.locator("#side tr, #pair-parts tr").evaluate_all(tall) == []
    assert not scrolls_sideways(page)


def test_marks_that_turn_the_reading_direction_stay_in_their_own_cell(open_page: Open, served: Served) -> None:
    page = start(open_page, served)
    page.locator("#split").click()
    expect(page.locator("#split-parts .sum")).to_be_visible()
    page.locator("#pairs tr").first.get_by_role("button").click()
    expect(page.locator("#pair-parts .sum")).to_be_visible()
    loose = page.evaluate(
        """() => {
            const found = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
            while (walk.nextNode()) {
                const one = walk.currentNode;
                if (/[\\u202a-\\u202e\\u2066-\\u2069]/.test(one.data) && !one.parentElement.closest("bdi, option"))
                    found.push(`${one.parentElement.tagName}#${one.parentElement.id}: ${one.data.slice(0, 80)}`);
            }
            return found;
        }"""
    )
    assert loose == []


def test_text_that_cannot_be_seen_is_shown_as_in_a_report(open_page: Open, served: Served) -> None:
    page = start(open_page, served)
    page.locator("#pairs tr").first.get_by_role("button").click()
    page.locator("#column").select_option(hostile.DISCRETE)
    shown = page.locator("#choice option").evaluate_all("all => all.map(one => one.textContent)")
    wanted = {isolate(tidy(value or "(empty)", 90)) for value in hostile.ATTACKS}
    assert {one.removesuffix(" (now)") for one in shown} == wanted


@pytest.mark.long  # the small draw: axe on the explorer of ordinary people
def test_axe_finds_nothing_to_mend_in_hostile_data_either(open_page: Open, served: Served) -> None:
    page = start(open_page, served, width=WIDTHS["phone"])
    page.locator("#least").fill("0.3")
    expect(page.locator("#selected")).to_contain_text(" of ")
    page.locator("#split").click()
    expect(page.locator("#split-parts .sum")).to_be_visible()
    assert find_faults(page) == []
