"""What the tests look for on any page: faults that axe-core finds, sideways scrolling, what a printer gets."""

from __future__ import annotations

import io
import re

from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Page
from pypdf import PdfReader

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]


def find_faults(page: Page, inside: str | None = None) -> list[str]:
    """Ask axe-core for what WCAG 2.1, A and AA, calls a fault, in the page or in a part of it."""
    options = {"runOnly": RULES, "resultTypes": ["violations"]}
    found = Axe().run(page, context=inside, options=options).response["violations"]
    return [f"{fault['id']}: {node['target']} {node['html'][:200]}" for fault in found for node in fault["nodes"]]


def scrolls_sideways(page: Page) -> bool:
    """Tell whether the page is wider than its window; tables and charts may scroll inside it."""
    return bool(
        page.evaluate(
            "() => Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)"
            " > document.documentElement.clientWidth"
        )
    )


def spread_out(page: Page) -> None:
    """Open everything that can be closed."""
    page.evaluate("() => document.querySelectorAll('details').forEach(one => { one.open = true })")


def print_text(page: Page) -> str:
    """Print the page to PDF and read it back, on one line: a printer breaks lines where it likes."""
    return squeeze(" ".join(print_sheets(page)))


def print_sheets(page: Page) -> list[str]:
    """Print the page to PDF and read every sheet of paper."""
    return [one.extract_text() for one in PdfReader(io.BytesIO(page.pdf(format="A4"))).pages]


def squeeze(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
