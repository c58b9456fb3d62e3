"""Who gets an answer from the explorer: its own page, with the token, on this machine; and hostile data stays text."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.browser import hostile
from tests.browser.conftest import WIDTHS, Open, Served
from tests.browser.looking import find_faults, scrolls_sideways
from tests.sizes import some_of

from likewise.explore import Explorer
from likewise.report._text import isolate, tidy

QUESTION = {"content-type": "application/json"}


@pytest.fixture(scope="session")
def served(serve_explorer: Callable[[Explorer], Served]) -> Served:
    title = "<img class=hacked src=x onerror=window.hacked='title'>\u202e"
    how: dict[str, Any] = {"roles": hostile.ROLES, "rule": hostile.RULE, "positive": hostile.LABELS[1]}
    return serve_explorer(Explorer(hostile.score, hostile.make_people(), title=title, **how))


def ask(served: Served, path: str, method: str = "GET", body: Any = None, **headers: str) -> tuple[int, str]:
    """Send a request as it is written: no client tidies its path or its names."""
    given = {"host": f"127.0.0.1:{served.port}"} | {name.replace("_", "-"): value for name, value in headers.items()}
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=10)
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        content = b"" if body is None else json.dumps(body).encode()
        for name, value in ({"content-length": str(len(content))} | given).items():
            connection.putheader(name, value)
        connection.endheaders(content)
        answer = connection.getresponse()
        return answer.status, answer.read().decode("utf-8", "replace")
    finally:
        connection.close()


def test_with_the_token_the_page_and_its_answers_are_there(served: Served) -> None:
    assert ask(served, f"/{served.token}/")[0] == 200
    status, answer = ask(served, f"/{served.token}/api/about", "POST", {}, x_likewise_token=served.token, **QUESTION)
    assert status == 200
    assert json.loads(answer)["n_rows"] == len(hostile.make_people())


WRONG: dict[str, Callable[[str], str]] = {
    "none": lambda token: "",
    "shorter": lambda token: token[:-1],
    "longer": lambda token: f"{token}x",
    "other case": lambda token: token.swapcase(),
    "another": lambda token: "x" * len(token),
    "a space before": lambda token: f"%20{token}",
    "other letters": lambda token: f"%C3%A9{token}",
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_without_the_right_token_nothing_is_answered(served: Served, change: Callable[[str], str]) -> None:
    wrong = change(served.token)
    for path in ("", "explore.js", "api/about"):
        status, answer = ask(served, f"/{wrong}/{path}")
        assert status == 403
        assert served.token not in answer
    asked = ask(served, f"/{served.token}/api/look", "POST", {}, x_likewise_token=wrong, **QUESTION)
    assert asked[0] == 403


def test_the_token_in_the_address_alone_asks_nothing(served: Served) -> None:
    path = f"/{served.token}/api/about"
    assert ask(served, path, "POST", {}, **QUESTION)[0] == 403
    assert ask(served, path)[0] == 405
    assert ask(served, path, "POST", {}, x_likewise_token=served.token, content_type="text/plain")[0] == 415


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1", "127.0.0.1.evil.example:{port}", "127.0.0.1:1", "[::1]:{port}", "0.0.0.0:{port}", ""],
)
def test_another_host_name_is_refused(served: Served, host: str) -> None:
    assert ask(served, f"/{served.token}/", host=host.format(port=served.port))[0] in (400, 403)


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "https://127.0.0.1:{port}", "http://127.0.0.1:1", "null", "file://"]
)
def test_another_origin_is_refused(served: Served, origin: str) -> None:
    given = {"origin": origin.format(port=served.port), "x_likewise_token": served.token, **QUESTION}
    assert ask(served, f"/{served.token}/api/about", "POST", {}, **given)[0] == 403


@pytest.mark.parametrize(
    "path",
    ["../../etc/passwd", "..%2f..%2fetc/passwd", "%2e%2e/%2e%2e/pyproject.toml", "....//etc/passwd", "/etc/passwd",
     "explore.js/../../_server.py", "..\\..\\_server.py", "%00", "explore.css%00.py", "api/../../_server.py",
     "index.html/", "assets/index.html", "api/pairs.csv?file=/etc/passwd", "file:///etc/passwd",
     "~root/.bashrc", ".git/config"],
)  # fmt: skip
def test_no_path_leads_to_a_file(served: Served, path: str) -> None:
    status, answer = ask(served, f"/{served.token}/{path}")
    assert status in (400, 403, 404, 405)
    assert "root:" not in answer
    assert "import" not in answer


@pytest.mark.parametrize(
    ("what", "question"),
    [
        ("look", {}),
        ("look", {"changes": "1", "shift": 0.1}),
        ("look", {"changes": 1, "shift": -1}),
        ("look", {"changes": 1, "shift": 0.1, "size": 10**9}),
        ("look", {"changes": 1, "shift": 0.1, "sort": "__class__"}),
        ("look", {"changes": 1, "shift": 0.1, "file": "/etc/passwd"}),
        ("pair", {"left": -1, "right": 0, "changes": 1, "shift": 0.1}),
        ("pair", {"left": 10**30, "right": 0, "changes": 1, "shift": 0.1}),
        ("pair", {"self": 1}),
        ("what-if", {"left": 0, "right": 1, "side": "middle", "changed": {}}),
        ("what-if", {"left": 0, "right": 1, "side": "left", "changed": {"__class__": 1}}),
    ],
)
def test_a_question_that_makes_no_sense_is_refused_in_words(
    served: Served, what: str, question: dict[str, Any]
) -> None:
    path = f"/{served.token}/api/{what}"
    status, answer = ask(served, path, "POST", question, x_likewise_token=served.token, **QUESTION)
    told = json.loads(answer)
    assert (status, set(told)) in ((400, {"error"}), (200, {"problem"}))  # trying things out is no failure
    assert all(told.values())
    assert "Traceback" not in answer


def test_it_listens_on_this_machine_only(served: Served) -> None:
    names = {one[4][0] for one in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for name in names - {"127.0.0.1"}:
        with socket.socket() as door:
            door.settimeout(2)
            assert door.connect_ex((name, served.port)) != 0


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


@pytest.mark.parametrize("width", some_of(WIDTHS.values(), 2, 1))
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
