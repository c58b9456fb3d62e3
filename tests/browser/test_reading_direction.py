"""Words read from the right stand where the sentence says, and letters that cannot be seen are told apart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import Open
from tests.browser.looking import spread_out
from tests.explore.asking import Served

from likewise import Comparability, Policy, Roles, audit
from likewise.explore import Explorer

SEX, JOB, AGE, HOURS, PAID = "מין", "عمل", "גיל", "ساعات", "תוצאה"
ROLES = Roles(sensitive=SEX, discrete=JOB, continuous=[AGE, HOURS], label=PAID)
RULE = Comparability(max_continuous_shift={AGE: 0.1, HOURS: 0.2})

# Two words that follow each other in a line stand in this order, unless both are read from the right.
FIND_TURNED = """() => {
    const found = [], fromRight = /[\\u0590-\\u08ff]/, range = document.createRange();
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
        const text = walk.currentNode;
        if (!fromRight.test(text.data) || text.parentElement.closest("bdi, option, title, desc")) continue;
        let before = null;
        for (const word of text.data.matchAll(/\\S+/g)) {
            range.setStart(text, word.index);
            range.setEnd(text, word.index + word[0].length);
            const place = range.getClientRects()[0];
            if (!place) continue;
            const isTurned = fromRight.test(word[0]);
            const isSameLine = before && Math.abs(before.top - place.top) < 4;
            if (isSameLine && place.left < before.left && !(isTurned && before.isTurned))
                found.push(text.data.slice(Math.max(0, word.index - 40), word.index + 20));
            before = { left: place.left, top: place.top, isTurned };
        }
    }
    return found;
}"""


@pytest.fixture(scope="session")
def people() -> pa.Table:
    random = np.random.default_rng(0)
    n = 120
    return pa.table(
        {
            SEX: [("זכר", "נקבה")[i % 2] for i in range(n)],
            JOB: random.choice(["خباز", "طباخ"], n),
            AGE: random.integers(20, 30, n).astype(float),
            HOURS: random.integers(1, 9, n) / 2,
            PAID: random.choice(["כן", "לא"], n),
        }
    )


@pytest.fixture(scope="session")
def scores(people: pa.Table) -> Any:
    return np.random.default_rng(1).uniform(0, 1, len(people))


def find_turned(page: Page) -> list[str]:
    found: list[str] = page.evaluate(FIND_TURNED)
    return found


def test_sentences_of_a_report_are_read_in_their_order(
    open_page: Open, people: pa.Table, scores: Any, tmp_path: Path
) -> None:
    found = audit(scores, people, roles=ROLES, rule=RULE, n_resamples=60)
    path = tmp_path / "report.html"
    path.write_text(found.to_html(verdict=found.judge(Policy(max_gap_mean=0.1)), before=found), encoding="utf-8")
    page = open_page(path)
    spread_out(page)
    assert PAID in page.locator("#compared").inner_text()
    assert find_turned(page) == []


def test_sentences_of_the_explorer_are_read_in_their_order(
    open_page: Open, people: pa.Table, scores: Any, serve_explorer: Callable[[Explorer], Served]
) -> None:
    served = serve_explorer(Explorer(scores, people, roles=ROLES, rule=RULE))
    page = open_page(served.address)
    page.locator("#pairs tr").first.get_by_role("button").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    spread_out(page)
    assert PAID in page.locator("#rule-words").inner_text()
    assert find_turned(page) == []


TWINS = ("cook", "cook\u200b")  # the second ends with a space that has no width


@pytest.fixture(scope="session")
def twins() -> pa.Table:
    """Two people, many times: all that differs, besides the sex, cannot be seen."""
    return pa.table(
        {
            "sex": ["f", "m"] * 40,
            "job": list(TWINS) * 40,
            "age": [float(i // 2) for i in range(80)],
            "paid": [i // 2 % 2 for i in range(80)],
        }
    )


TWIN_ROLES = Roles(sensitive="sex", discrete="job", continuous="age", label="paid")
TWIN_SCORES = np.tile([0.2, 0.7], 40)


def test_a_report_tells_values_apart_that_differ_in_what_cannot_be_seen(
    open_page: Open, twins: pa.Table, tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    found = audit(TWIN_SCORES, twins, roles=TWIN_ROLES, n_resamples=60)
    path.write_text(found.to_html(), encoding="utf-8")
    pair = open_page(path).locator("details.pair").first
    left, right = pair.locator("tr", has_text="job").locator("td").all_inner_texts()[:2]
    assert without_hidden(left) != without_hidden(right)


def test_the_explorer_tells_values_apart_that_differ_in_what_cannot_be_seen(
    open_page: Open, twins: pa.Table, serve_explorer: Callable[[Explorer], Served]
) -> None:
    page = open_page(serve_explorer(Explorer(TWIN_SCORES, twins, roles=TWIN_ROLES)).address)
    page.locator("#pairs tr").first.get_by_role("button").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    left, right = page.locator("#side tr", has_text="job").locator("td").all_inner_texts()[:2]
    assert without_hidden(left) != without_hidden(right)


def test_the_explorer_tells_long_values_apart_that_differ_at_their_ends(
    open_page: Open, serve_explorer: Callable[[Explorer], Served]
) -> None:
    jobs = [f"{'x' * 5_000}{end}" for end in ("cook", "baker")]
    people = pa.table({"sex": ["f", "m"] * 4, "job": jobs * 4, "paid": [0] * 4 + [1] * 4})
    roles = Roles(sensitive="sex", discrete="job", label="paid")
    page = open_page(serve_explorer(Explorer(np.tile([0.2, 0.7], 4), people, roles=roles)).address, width=390)
    page.locator("#pairs tr").first.get_by_role("button").click()
    values = page.locator("#side tr", has_text="job").locator("td bdi")
    expect(values).to_have_count(2)
    assert [one[-4:] for one in values.all_inner_texts()] == ["cook", "aker"]
    cropped = "all => all.map(one => one.scrollHeight > one.clientHeight + 1)"
    assert values.evaluate_all(cropped) == [False, False]


def without_hidden(text: str) -> str:
    """Give what a person sees of a text."""
    return "".join(letter for letter in text if letter.isprintable())
