"""The explorer's page in a browser: how tests open it, move its thresholds, and read what it shows."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page, expect
from tests.browser.conftest import Look, Open
from tests.browser.looking import squeeze
from tests.explore.asking import Served

COUNT_QUESTIONS = """() => {
    if (window.underWay !== undefined) return;
    const real = window.fetch;
    window.underWay = 0;
    window.fetch = async (...given) => {
        window.underWay += 1;
        const done = () => setTimeout(() => { window.underWay -= 1 }, 30);
        try {
            const answer = await real(...given);
            answer.clone().arrayBuffer().finally(done);
            return answer;
        } catch (error) { done(); throw error }
    };
}"""


def percent(share: float, digits: int = 2) -> str:
    return f"{100 * share:.{digits}f}%"


def points(gap: float) -> str:
    return f"{100 * gap:.2f} pp"


def signed(gap: float) -> str:
    return ("+" if gap > 0 else "\N{MINUS SIGN}" if gap < 0 else "") + points(abs(gap))


def start(open_page: Open, served: Served, fragment: str = "", **how: Any) -> Page:
    """Open the explorer, and count the questions that are under way from then on."""
    page = open_page(f"{served.address}{fragment}", **how)
    expect(page.locator("#pairs tr").first).to_be_attached()
    page.evaluate(COUNT_QUESTIONS)
    return page


FORGET = """() => new Promise(done => {
    addEventListener("hashchange", () => setTimeout(done, 0), { once: true });
    location.hash = `again=${performance.now()}`;
})"""


def start_again(look_at: Look, served: Served) -> Page:
    """Return the explorer in the window that tests share, as it is when it is opened."""
    page = look_at(served.address)
    expect(page.locator("#pairs tr").first).to_be_attached()
    page.evaluate(COUNT_QUESTIONS)
    page.evaluate(FORGET)
    settle(page)
    return page


def move(page: Page, *, changes: int | None = None, shift: float | None = None) -> None:
    """Set the thresholds by their exact fields."""
    for name, value in (("changes", changes), ("shift", shift)):
        if value is not None:
            page.locator(f"#{name}-number").fill(f"{value:g}")
    settle(page)


def settle(page: Page) -> None:
    """Wait until everything that was asked is answered and drawn."""
    page.wait_for_function("() => window.underWay === 0")


def figures(page: Page) -> dict[str, str]:
    names, values = (page.locator(f"#figures {one}").all_inner_texts() for one in ("dt", "dd b"))
    return dict(zip(map(squeeze, names), map(squeeze, values), strict=True))


def slices(page: Page) -> list[list[str]]:
    return read_rows(page, "#slices")


def rows(page: Page) -> list[list[str]]:
    return read_rows(page, "#pairs")


def read_rows(page: Page, body: str) -> list[list[str]]:
    """Read a table in one go: asking for each cell takes a second."""
    script = "all => all.map(row => [...row.cells].map(cell => cell.innerText))"
    return [[squeeze(cell) for cell in row] for row in page.locator(f"{body} tr").evaluate_all(script)]


def gaps_of(page: Page) -> list[float]:
    return [float(row[0].split(" ")[0]) for row in rows(page)]
