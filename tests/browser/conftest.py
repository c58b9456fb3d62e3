"""A real browser for the tests of this folder, which notes whatever a page should not do; without one they skip."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import numpy as np
import pytest
from playwright.sync_api import Browser, Dialog, Page, Request, expect, sync_playwright
from tests.explore.asking import Served, start_page
from tests.needs import do_without

from likewise import Policy, audit, load_dataset
from likewise.auditing import Audit, Verdict
from likewise.explore import Explorer

Open = Callable[..., Page]
Look = Callable[[Path | str], Page]

PATIENCE = 20_000  # milliseconds; whole test runs share the machine
expect.set_options(timeout=PATIENCE)

HERE = Path(__file__).parent
WIDTHS = {"desk": 1280, "phone": 390}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == HERE:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    # the shell without windows needs half the processor time
    chromium = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if chromium is None:
        do_without("Chromium is not on this machine")
    with sync_playwright() as playwright:
        # a container's root has no sandbox, and a small /dev/shm
        started = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
        )
        yield started
        started.close()


@pytest.fixture(scope="session")
def hidden_loops() -> list[asyncio.AbstractEventLoop]:
    return []


@pytest.fixture(autouse=True)
def own_loop(browser: Browser, hidden_loops: list[asyncio.AbstractEventLoop]) -> Iterator[None]:
    """Hide the browser's event loop between tests: other tests of the same process run loops of their own."""
    if hidden_loops:
        asyncio._set_running_loop(hidden_loops.pop())
    yield
    hidden_loops.append(asyncio.get_running_loop())
    asyncio._set_running_loop(None)


@pytest.fixture
def errors() -> list[str]:
    """Everything that a page complained of, ran into, or asked of the world outside it."""
    return []


@pytest.fixture
def open_page(browser: Browser, errors: list[str], own_loop: None) -> Iterator[Open]:
    """Open an address in a fresh window; when the test is over, nothing stands in ``errors``."""
    contexts = []

    def start(
        address: str | Path,
        *,
        width: int = WIDTHS["desk"],
        scheme: Literal["light", "dark"] = "light",
        script: bool = True,
    ) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            java_script_enabled=script,
            accept_downloads=True,
            reduced_motion="reduce",
        )
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        url = address.as_uri() if isinstance(address, Path) else address
        watch(page, url, errors)
        page.goto(url)
        return page

    yield start
    for context in contexts:
        context.close()
    assert errors == []


@pytest.fixture(scope="session")
def kept_pages() -> dict[Path | str, tuple[Page, list[str]]]:
    return {}


@pytest.fixture
def look_at(browser: Browser, kept_pages: dict[Path | str, tuple[Page, list[str]]], own_loop: None) -> Iterator[Look]:
    """Show a file or an address in a window that is opened once, for all tests that leave everything as it is.

    What can be closed on the page of a file is open.
    """

    def look(address: Path | str) -> Page:
        if address not in kept_pages:
            page = browser.new_page(viewport={"width": WIDTHS["desk"], "height": 900}, reduced_motion="reduce")
            url, complaints = address.as_uri() if isinstance(address, Path) else address, list[str]()
            page.set_default_timeout(PATIENCE)
            watch(page, url, complaints)
            page.goto(url)
            if isinstance(address, Path):
                page.evaluate("() => document.querySelectorAll('details').forEach(one => { one.open = true })")
            kept_pages[address] = page, complaints
        return kept_pages[address][0]

    yield look
    assert [one for _, complaints in kept_pages.values() for one in complaints] == []


def watch(page: Page, url: str, errors: list[str]) -> None:
    """Write down what the page should not do; a page is at home at its own address only."""
    home = urlsplit(url)

    def see_request(request: Request) -> None:
        to = urlsplit(request.url)
        inside = to.scheme in ("data", "blob", "about")
        same = request.url.partition("#")[0] == url.partition("#")[0] if home.scheme == "file" else to[:2] == home[:2]
        if not (inside or same):
            errors.append(f"request: {request.url}")

    def see_dialog(dialog: Dialog) -> None:
        errors.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def see_console(message: Any) -> None:
        if message.type in ("error", "warning"):
            errors.append(f"console: {message.text}")

    page.on("request", see_request)
    page.on("dialog", see_dialog)
    page.on("console", see_console)
    page.on("pageerror", lambda error: errors.append(f"script: {error}"))
    page.on("popup", lambda other: errors.append(f"window: {other.url}"))


@pytest.fixture(scope="session")
def loans() -> Any:
    return load_dataset("planted", n_rows=600)


@pytest.fixture(scope="session")
def found(loans: Any) -> Audit:
    """Audit a lender who is hard on one group, and guesses a little, so that no two gaps are the same."""
    return audit_lender(loans, gap=0.1)


@pytest.fixture(scope="session")
def mended(loans: Any) -> Audit:
    return audit_lender(loans, gap=0.02)


@pytest.fixture(scope="session")
def verdict(found: Audit) -> Verdict:
    return found.judge(Policy(labels={1: {"max_gap_mean": 0.01}}, min_matched_share=0.1))


@pytest.fixture(scope="session")
def mended_verdict(mended: Audit) -> Verdict:
    return mended.judge(Policy(labels={1: {"max_gap_mean": 0.2}}))


@pytest.fixture(scope="session")
def record(found: Audit, verdict: Verdict) -> dict[str, Any]:
    return found.to_dict(verdict)


def audit_lender(loans: Any, gap: float) -> Audit:
    people = loans.train
    random = np.random.default_rng(0)
    scores = loans.scores(people.X, gap=gap) + random.uniform(-0.02, 0.02, len(people))
    schema = loans.roles.learn(people.X)
    how: dict[str, Any] = {"n_resamples": 60, "n_worst": 25}
    return audit(np.clip(scores, 0, 1), people.X, people.y, roles=schema, rule=loans.rule, **how)


@pytest.fixture(scope="session")
def serve_explorer() -> Callable[[Explorer], Served]:
    """Serve explorers on free ports, each from a thread of its own."""
    return start_page
