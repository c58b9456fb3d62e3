"""The explorer's page with other tasks and tables: it counts neither on two labels nor on every kind of column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import Open
from tests.browser.looking import scrolls_sideways
from tests.explore.asking import Served

from likewise import Comparability, Roles
from likewise.explore import Explorer

RANDOM = np.random.default_rng(0)
N = 120
PEOPLE = pa.table(
    {
        "sex": ["f", "m"] * (N // 2),
        "job": RANDOM.choice(["baker", "cook"], N),
        "size": RANDOM.choice(["S", "M", "L"], N),
        "age": RANDOM.integers(20, 30, N).astype(float),
        "grade": RANDOM.choice(["a", "b", "c"], N),
        "pay": RANDOM.normal(50_000, 10_000, N),
        "hired": RANDOM.integers(0, 2, N),
    }
)
MANY = {f"column {i}": RANDOM.choice(["no", "yes"], N) for i in range(300)}
ORDINAL = {"size": ("S", "M", "L")}


@pytest.fixture
def explore(open_page: Open, serve_explorer: Callable[[Explorer], Served]) -> Callable[..., Page]:
    """Open the page of some people, as scored by chance."""

    def start(people: pa.Table, scores: Any = None, rule: Comparability | None = None, **roles: Any) -> Page:
        given = np.random.default_rng(1).uniform(0, 1, len(people)) if scores is None else scores
        named = {name for one in roles.values() for name in ([one] if isinstance(one, str) else one)}
        chosen = people.select(["sex", *sorted(named)])
        explorer = Explorer(given, chosen, roles=Roles(sensitive="sex", **roles), rule=rule)
        page = open_page(serve_explorer(explorer).address)
        expect(page.locator("#pairs tr").first).to_be_attached()
        return page

    return start


def open_pair(page: Page) -> str:
    page.locator("#pairs tr").first.get_by_role("button").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    return page.get_by_role("dialog").inner_text()


def test_gaps_of_a_regression_have_a_unit(explore: Callable[..., Page]) -> None:
    page = explore(PEOPLE, RANDOM.normal(50_000, 9_000, N), label="pay", discrete="job", continuous="age")
    spread = float(np.std(PEOPLE["pay"].to_numpy()))
    expect(page.locator("#source")).to_contain_text(f"A gap of 100% is a difference of {spread:,.2f}"[:-3])
    expect(page.locator("#label-field")).to_be_hidden()
    assert "label" not in open_pair(page)


def test_three_labels_have_a_line_each_and_no_direction(explore: Callable[..., Page]) -> None:
    page = explore(PEOPLE, RANDOM.dirichlet([1, 1, 1], N), label="grade", discrete="job", continuous="age")
    assert page.locator("#slices th").all_inner_texts() == ["All pairs", "a", "b", "c"]
    expect(page.locator("#directions")).to_contain_text("single score per person")
    assert "Both have label" in open_pair(page)


@pytest.mark.long(6)
@pytest.mark.parametrize(
    ("roles", "disabled"),
    [
        ({"discrete": "job"}, ["shift"]),
        ({"continuous": "age"}, ["changes"]),
        ({}, ["changes", "shift"]),
        ({"ordinal": ORDINAL, "matched": "job"}, ["changes", "shift"]),
    ],
    ids=["no continuous", "no discrete", "only sensitive", "ordinal and matched"],
)
def test_a_threshold_without_columns_stands_still(
    explore: Callable[..., Page], roles: dict[str, Any], disabled: list[str]
) -> None:
    page = explore(PEOPLE, label="hired", **roles)
    for name in ("changes", "shift"):
        assert page.locator(f"#{name}").is_disabled() == (name in disabled)
    assert "The gap is" in open_pair(page)


def test_a_rule_without_pairs_says_what_to_do(explore: Callable[..., Page]) -> None:
    two = pa.table({"sex": ["f", "m"], "age": [20.0, 30.0], "hired": [1, 1]})
    page = explore(two, label="hired", continuous="age")
    expect(page.locator("#pairs")).to_contain_text("Raise one of them")
    page.locator("#shift-number").fill("1")
    expect(page.locator("#selected")).to_have_text("1 pair.")
    assert "The gap is" in open_pair(page)


def test_three_hundred_columns_fit_the_page(explore: Callable[..., Page]) -> None:
    people = pa.table({"sex": PEOPLE["sex"], "hired": PEOPLE["hired"], **MANY})
    page = explore(people, rule=Comparability(max_discrete_changes=150), label="hired", discrete=list(MANY))
    assert not scrolls_sideways(page)
    open_pair(page)
    assert page.locator("#side tr").count() == 303  # with the score and the decision
    assert not scrolls_sideways(page)
