"""The leaderboard's tables can be sorted by any column."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.browser.conftest import Open

ROOT = Path(__file__).parents[2]
ROWS = [("b", "9.5"), ("a", ""), ("c", "10.25"), ("d", "-1.2 ± 0.3")]


def test_a_click_sorts_by_value_and_another_one_backwards(tmp_path: Path, open_page: Open) -> None:
    script = (ROOT / "docs/_static/sort.js").read_text("utf-8")
    rows = "".join(f"<tr><td>{name}</td><td>{number}</td></tr>" for name, number in ROWS)
    table = f"<table><thead><tr><th>method</th><th>gap</th></tr></thead><tbody>{rows}</tbody></table>"
    section = f'<article><section id="how-to-read-it"></section>{table}</article>'
    path = tmp_path / "page.html"
    path.write_text(f'<!doctype html><meta charset="utf-8"><script>{script}</script>{section}', "utf-8")
    page = open_page(path)

    def order() -> list[str]:
        return page.locator("tbody tr td:first-child").all_text_contents()

    page.get_by_role("button", name="gap").click()
    assert order() == ["d", "b", "c", "a"]
    page.get_by_role("button", name="gap").click()
    assert order() == ["c", "b", "d", "a"]  # nothing measured stays last
    page.get_by_role("button", name="method").press("Enter")
    assert order() == ["a", "b", "c", "d"]
