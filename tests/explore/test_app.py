"""The page answers its own script on this machine, with the token, and nobody else; data stay data."""

from __future__ import annotations

import json
import socket
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.explore.asking import Answer, Served, start_page

from likewise.explore import Explorer
from likewise.schema import Roles

AT = {"changes": 1, "shift": 0.1}
ASSETS = Path(__file__).parents[2] / "src" / "likewise" / "explore" / "assets"
PAGES = ("", "explore.css", "explore.js")
QUESTIONS = ("api/about", "api/look", "api/pair", "api/what-if", "api/pairs.csv", "api/policy.toml")


@pytest.fixture(scope="module")
def client(explorer: Explorer) -> Served:
    return start_page(explorer)


def ask(client: Served, what: str, question: Any = AT, token: str | None = None, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    given = {"x-likewise-token": client.token if token is None else token}
    return client.post(f"/{client.token}/{what}", question, given | named)


def test_the_page_and_its_assets_are_served_as_they_are(client: Served) -> None:
    names = {"": "index.html", "explore.css": "explore.css", "explore.js": "explore.js"}
    kinds = {"": "text/html", "explore.css": "text/css", "explore.js": "text/javascript"}
    for path, name in names.items():
        response = client.get(f"/{client.token}/{path}")
        assert response.status_code == 200
        assert response.content == (ASSETS / name).read_bytes()
        assert response.headers["content-type"].startswith(kinds[path])


def test_answers_are_those_of_the_explorer(client: Served, explorer: Explorer) -> None:
    assert ask(client, "api/about", {}).json() == json.loads(json.dumps(explorer.about()))
    assert ask(client, "api/look").json() == json.loads(json.dumps(explorer.look(AT)))
    pair = explorer.look(AT)["pairs"][0]
    rows = {"left": pair["left_row"], "right": pair["right_row"]}
    assert ask(client, "api/pair", {**rows, **AT}).json() == json.loads(json.dumps(explorer.pair(**rows, **AT)))  # type: ignore[arg-type]
    asked = {**rows, "side": "left", "changed": {"age": 30}}
    assert ask(client, "api/what-if", asked).json() == explorer.what_if(**asked)
    problem = ask(client, "api/what-if", {**asked, "changed": {"age": 30.5}})
    assert (problem.status_code, list(problem.json())) == (200, ["problem"])
    assert ask(client, "api/pairs.csv").content == explorer.to_csv(AT)
    assert ask(client, "api/policy.toml").text == explorer.to_toml(AT)


@pytest.mark.parametrize("path", [*PAGES, *QUESTIONS])
def test_without_the_token_in_the_address_there_is_no_answer(client: Served, path: str) -> None:
    known = client.token
    for token in ("", "x" * len(known), known[:-1], known + "0", known.swapcase(), "%C3%A9" * 8):
        for method in ("GET", "POST"):
            response = client.request(method, f"/{token}/{path}", headers={"x-likewise-token": known})
            assert response.status_code == 403
            assert known not in response.text


@pytest.mark.parametrize("what", QUESTIONS)
def test_questions_need_the_token_as_a_header_too(client: Served, what: str) -> None:
    assert client.post(f"/{client.token}/{what}", AT, {}).status_code == 403
    assert ask(client, what, token="wrong").status_code == 403
    assert ask(client, what, token="").status_code == 403
    cookie = client.post(f"/{client.token}/{what}", AT, {"cookie": f"x-likewise-token={client.token}"})
    assert cookie.status_code == 403


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "0.0.0.0:{port}", "[::1]:{port}", ""]
)
def test_a_foreign_name_for_this_machine_is_refused(client: Served, host: str) -> None:
    host = host.format(port=client.port)
    assert client.get(f"/{client.token}/", host=host).status_code == 403
    assert ask(client, "api/about", {}, host=host).status_code == 403


def test_both_names_of_this_machine_are_known(client: Served) -> None:
    for host in (f"127.0.0.1:{client.port}", f"localhost:{client.port}"):
        origin = f"http://{host}"
        assert ask(client, "api/about", {}, host=host, origin=origin).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "file://"},
        {"origin": "https://127.0.0.1:{port}"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "http://localhost:{port}"},  # not the name that was asked
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "document"},
    ],
)
def test_another_page_is_refused_even_with_the_token(client: Served, headers: dict[str, str]) -> None:
    headers = {name: value.format(port=client.port) for name, value in headers.items()}
    assert ask(client, "api/about", {}, **headers).status_code == 403
    assert client.request("GET", f"/{client.token}/", headers=headers).status_code == 403


def test_only_the_page_itself_can_be_opened_from_elsewhere(client: Served) -> None:
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    found = {path: client.request("GET", f"/{client.token}/{path}", headers=headers).status_code for path in PAGES}
    assert found == {"": 200, "explore.css": 403, "explore.js": 403}
    assert client.request("GET", f"/{client.token[:-1]}/", headers=headers).status_code == 403
    named = {name.replace("-", "_"): value for name, value in headers.items()}
    assert {ask(client, what, **named).status_code for what in QUESTIONS} == {403}


def test_no_answer_invites_another_page(client: Served) -> None:
    for response in (client.request("OPTIONS", f"/{client.token}/api/look"), ask(client, "api/about", {})):
        assert not [name for name in response.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    "path",
    [
        "../explore.py",
        "..%2f..%2f..%2fetc%2fpasswd",
        "%2e%2e/%2e%2e/etc/passwd",
        "/etc/passwd",
        "assets/index.html",
        "index.html",
        "explore.js/..",
        "....//etc/passwd",
        "..\\..\\_server.py",
        "%00",
        "index.html/",
        "file:///etc/passwd",
        "~root/.bashrc",
        "explore.js%00.css",
        "api/../api/look",
        "api",
        "_server.py",
        "favicon.ico",
    ],
)
def test_nothing_but_fixed_names_is_served(client: Served, path: str) -> None:
    response = client.get(f"/{client.token}/{path}")
    assert response.status_code in (403, 404)
    assert "root:" not in response.text


def test_methods_are_fixed_too(client: Served) -> None:
    assert client.request("POST", f"/{client.token}/").status_code == 405
    assert ask(client, "").status_code == 405
    assert client.get(f"/{client.token}/api/look", **{"x-likewise-token": client.token}).status_code == 405
    for method in ("HEAD", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get"):
        assert client.request(method, f"/{client.token}/").status_code == 405


def test_every_answer_carries_the_same_strict_headers(client: Served) -> None:
    answers = [client.get(f"/{client.token}/{path}") for path in PAGES]
    answers += [ask(client, what) for what in QUESTIONS] + [client.get("/"), client.get(f"/{client.token}/nothing")]
    for response in answers:
        policy = response.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["cache-control"] == "no-store"
        assert response.headers["referrer-policy"] == "no-referrer"
        assert "set-cookie" not in response.headers


class Inline(HTMLParser):
    """Find what the strict headers would stop: code and styles inside the page, and addresses outside of it."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.found += [name for name in given if name.startswith("on") or name == "style"]
        self.found += ["script"] * (tag == "script" and "src" not in given) + ["style"] * (tag == "style")
        self.found += [str(given[name]) for name in ("src", "href") if ":" in (given.get(name) or "") and name in given]


def test_the_page_has_no_code_inside_and_nothing_from_outside() -> None:
    parser = Inline()
    parser.feed((ASSETS / "index.html").read_text("utf-8"))
    assert [one for one in parser.found if one != "data:,"] == []


def test_the_script_puts_data_into_the_page_as_text_only() -> None:
    script = (ASSETS / "explore.js").read_text("utf-8")
    for danger in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "srcdoc"):
        assert danger not in script
    assert "http://" not in script.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in script
    assert "localStorage" not in script
    assert "cookie" not in script


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"[]", 400),
        (b"null", 400),
        (b'{"changes": NaN, "shift": 0}', 400),
        (b'{"changes": 1, "shift": 1e999}', 400),
        (b'{"changes": 1, "shift": 1' + b"0" * 400 + b"}", 400),  # too large for a float
        (b'{"changes": 1' + b"0" * 400 + b', "shift": 1}', 400),
        (b"[" * 20_000, 400),
        (b'{"changes": "' + b"x" * 70_000 + b'"}', 413),
        (b"\xff\xfe", 400),
    ],
)
def test_bad_questions_are_answered_in_a_sentence(client: Served, body: bytes, status: int) -> None:
    headers = {"x-likewise-token": client.token, "content-type": "application/json"}
    response = client.request("POST", f"/{client.token}/api/look", headers=headers, body=body)
    assert response.status_code == status
    assert response.json()["error"].endswith(".")


def test_a_question_without_a_length_is_refused(client: Served) -> None:
    headers = {"x-likewise-token": client.token, "content-type": "application/json"}
    for more in ({}, {"transfer-encoding": "chunked"}):
        assert client.request("POST", f"/{client.token}/api/look", headers=headers | more).status_code == 413


@pytest.mark.parametrize("length", ["-1", "1e3", "99999999999999999999999", "\u00b2", ""])
def test_a_length_that_is_none_is_refused(client: Served, length: str) -> None:
    assert ask(client, "api/look", content_length=length).status_code == 413


def test_questions_are_json(client: Served) -> None:
    headers = {"x-likewise-token": client.token, "content-type": "text/plain"}
    assert client.request("POST", f"/{client.token}/api/look", headers=headers, body=b"{}").status_code == 415


@pytest.mark.parametrize(
    ("what", "question"),
    [
        ("look", {}),
        ("look", AT | {"changes": "1"}),
        ("look", AT | {"shift": -1}),
        ("look", AT | {"size": 10**9}),
        ("look", AT | {"sort": "__class__"}),
        ("look", AT | {"file": "/etc/passwd"}),
        ("pair", AT | {"left": -1, "right": 0}),
        ("pair", AT | {"left": 10**29, "right": 0}),
        ("what-if", {"left": 0, "right": 1, "side": "middle", "changed": {}}),
        ("what-if", {"left": 0, "right": 1, "side": "left", "changed": {"__class__": 1}}),
    ],
)
def test_questions_that_make_no_sense_are_refused_in_words(client: Served, what: str, question: Any) -> None:
    response = ask(client, f"api/{what}", question)
    told = response.json()
    assert (response.status_code, set(told)) in ((400, {"error"}), (200, {"problem"}))  # to try things is no failure
    assert all(told.values())


def test_it_listens_on_this_machine_only(client: Served) -> None:
    names = {one[4][0] for one in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for name in names - {"127.0.0.1"}:
        with socket.socket() as door:
            door.settimeout(2)
            assert door.connect_ex((name, client.port)) != 0


def test_a_fault_of_ours_tells_the_page_nothing_of_the_inside(
    client: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*given: Any) -> Any:
        raise RuntimeError("secret place")

    monkeypatch.setattr(Explorer, "about", fail)
    response = ask(client, "api/about", {})
    assert response.status_code == 500
    assert "secret" not in response.text
    assert "secret place" in caplog.text


def test_hostile_data_arrive_as_the_text_they_are() -> None:
    nasty = [
        "<script>alert(1)</script>",
        '"><img src=x onerror=run()>',
        "\u202e\u2066rtl",
        "x" * 10_000,
        "\U0001f600",
    ]
    people = pa.table(
        {
            "<b>sex</b>": ["<i>f", "&amp;m"] * len(nasty),
            "job": [text for text in nasty for _ in range(2)],
            "y": [1] * 2 * len(nasty),
            "p": [0.25, 0.75] * len(nasty),
        }
    )
    roles = Roles(sensitive="<b>sex</b>", discrete="job", label="y", ignored="p")
    client = start_page(Explorer("p", people, roles=roles, title="</title><script>"))
    response = ask(client, "api/look", {"changes": 0, "shift": 0})
    assert response.headers["content-type"] == "application/json"
    pair = ask(client, "api/pair", {"left": 0, "right": 1, "changes": 0, "shift": 0}).json()
    assert [one["left"] for one in pair["factors"]] == ["<i>f", nasty[0]]
    assert ask(client, "api/about", {}).json()["title"] == "</title><script>"
