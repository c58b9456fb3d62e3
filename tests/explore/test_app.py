"""The page answers its own script on this machine, with the token, and nobody else; data stay data."""

from __future__ import annotations

import asyncio
import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.explore.asgi import Answer, Client

from likewise.explore import Explorer, build_app
from likewise.schema import Roles

TOKEN = "abcdefghijklmnop-_0123456789"
PORT = 8123
AT = {"changes": 1, "shift": 0.1}
ASSETS = Path(__file__).parents[2] / "src" / "likewise" / "explore" / "assets"
PAGES = ("", "explore.css", "explore.js")
QUESTIONS = ("api/about", "api/look", "api/pair", "api/what-if", "api/pairs.csv", "api/policy.toml")


@pytest.fixture(scope="module")
def client(explorer: Explorer) -> Client:
    return Client(build_app(explorer, token=TOKEN, port=PORT), f"127.0.0.1:{PORT}")


def ask(client: Client, what: str, question: Any = AT, token: str = TOKEN, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return client.post(f"/{TOKEN}/{what}", question, {"x-likewise-token": token, **named})


def test_the_page_and_its_assets_are_served_as_they_are(client: Client) -> None:
    names = {"": "index.html", "explore.css": "explore.css", "explore.js": "explore.js"}
    kinds = {"": "text/html", "explore.css": "text/css", "explore.js": "text/javascript"}
    for path, name in names.items():
        response = client.get(f"/{TOKEN}/{path}")
        assert response.status_code == 200
        assert response.content == (ASSETS / name).read_bytes()
        assert response.headers["content-type"].startswith(kinds[path])


def test_answers_are_those_of_the_explorer(client: Client, explorer: Explorer) -> None:
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
@pytest.mark.parametrize("token", ["", "x" * len(TOKEN), TOKEN[:-1], TOKEN + "0", TOKEN.upper(), "\u00e9" * 8])
def test_without_the_token_in_the_address_there_is_no_answer(client: Client, path: str, token: str) -> None:
    for method in ("GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD"):
        response = client.request(method, f"/{token}/{path}", headers={"x-likewise-token": TOKEN})
        assert response.status_code == 403
        assert TOKEN not in response.text


@pytest.mark.parametrize("what", QUESTIONS)
def test_questions_need_the_token_as_a_header_too(client: Client, what: str) -> None:
    assert client.post(f"/{TOKEN}/{what}", AT, {}).status_code == 403
    assert ask(client, what, token="wrong").status_code == 403
    assert ask(client, what, token="").status_code == 403
    cookie = client.post(f"/{TOKEN}/{what}", AT, {"cookie": f"x-likewise-token={TOKEN}"})
    assert cookie.status_code == 403


@pytest.mark.parametrize(
    "host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:1", f"0.0.0.0:{PORT}", ""]
)
def test_a_foreign_name_for_this_machine_is_refused(client: Client, host: str) -> None:
    assert client.get(f"/{TOKEN}/", host=host).status_code == 403
    assert ask(client, "api/about", {}, host=host).status_code == 403


def test_both_names_of_this_machine_are_known(client: Client) -> None:
    for host in (f"127.0.0.1:{PORT}", f"localhost:{PORT}"):
        origin = f"http://{host}"
        assert ask(client, "api/about", {}, host=host, origin=origin).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": f"https://127.0.0.1:{PORT}"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": f"http://localhost:{PORT}"},  # not the name that was asked
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_another_page_is_refused_even_with_the_token(client: Client, headers: dict[str, str]) -> None:
    assert ask(client, "api/about", {}, **headers).status_code == 403
    assert client.request("GET", f"/{TOKEN}/", headers=headers).status_code == 403


def test_no_answer_invites_another_page(client: Client) -> None:
    for response in (client.request("OPTIONS", f"/{TOKEN}/api/look"), ask(client, "api/about", {})):
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
        "explore.js%00.css",
        "api/../api/look",
        "api",
        "_server.py",
        "favicon.ico",
    ],
)
def test_nothing_but_fixed_names_is_served(client: Client, path: str) -> None:
    response = client.get(f"/{TOKEN}/{path}")
    assert response.status_code in (403, 404)
    assert "root:" not in response.text


def test_methods_are_fixed_too(client: Client) -> None:
    assert client.request("POST", f"/{TOKEN}/").status_code == 405
    assert client.request("GET", f"/{TOKEN}/api/look", headers={"x-likewise-token": TOKEN}).status_code == 405
    assert client.request("HEAD", f"/{TOKEN}/").status_code == 405


def test_every_answer_carries_the_same_strict_headers(client: Client) -> None:
    answers = [client.get(f"/{TOKEN}/{path}") for path in PAGES]
    answers += [ask(client, what) for what in QUESTIONS] + [client.get("/"), client.get(f"/{TOKEN}/nothing")]
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
        (b"", 400),
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
def test_bad_questions_are_answered_in_a_sentence(client: Client, body: bytes, status: int) -> None:
    headers = {"x-likewise-token": TOKEN, "content-type": "application/json"}
    response = client.request("POST", f"/{TOKEN}/api/look", headers=headers, body=[body])
    assert response.status_code == status
    assert response.json()["error"].endswith(".")


def test_a_long_question_without_a_length_is_cut_off(client: Client) -> None:
    headers = {"x-likewise-token": TOKEN, "content-type": "application/json"}
    parts = [b" " * 10_000] * 100
    assert client.request("POST", f"/{TOKEN}/api/look", headers=headers, body=parts).status_code == 413


@pytest.mark.parametrize("length", ["-1", "1e3", "99999999999999999999999", "\u00b2"])
def test_a_length_that_is_none_is_refused(client: Client, length: str) -> None:
    assert ask(client, "api/look", content_length=length).status_code == 413


def test_questions_are_json(client: Client) -> None:
    headers = {"x-likewise-token": TOKEN, "content-type": "text/plain"}
    assert client.request("POST", f"/{TOKEN}/api/look", headers=headers, body=[b"{}"]).status_code == 415


@pytest.mark.parametrize("what", ["api/pair", "api/what-if"])
@pytest.mark.parametrize("question", [{}, {"left": 0}, {"left": [], "right": {}, "changes": 1, "shift": 1, "x": 2}])
def test_questions_with_parts_missing_are_the_askers_fault(client: Client, what: str, question: Any) -> None:
    response = ask(client, what, question)
    assert response.status_code == 400
    assert "__" not in response.json()["error"]


def test_a_fault_of_ours_tells_the_page_nothing_of_the_inside(
    explorer: Explorer, monkeypatch: Any, caplog: Any
) -> None:
    app = build_app(explorer, token=TOKEN, port=PORT)

    def fail(*given: Any) -> Any:
        raise RuntimeError("secret place")

    monkeypatch.setattr(Explorer, "about", fail)
    client = Client(app, f"127.0.0.1:{PORT}")
    response = ask(client, "api/about", {})
    assert response.status_code == 500
    assert "secret" not in response.text
    assert "secret place" in caplog.text


def test_sockets_are_not_opened(client: Client) -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(client.app({"type": "websocket", "path": f"/{TOKEN}/"}, None, send))
    assert [one["type"] for one in sent] == ["websocket.close"]


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
    app = build_app(Explorer("p", people, roles=roles, title="</title><script>"), token=TOKEN, port=PORT)
    client = Client(app, f"127.0.0.1:{PORT}")
    response = ask(client, "api/look", {"changes": 0, "shift": 0})
    assert response.headers["content-type"] == "application/json"
    pair = ask(client, "api/pair", {"left": 0, "right": 1, "changes": 0, "shift": 0}).json()
    assert [one["left"] for one in pair["factors"]] == ["<i>f", nasty[0]]
    assert ask(client, "api/about", {}).json()["title"] == "</title><script>"


@pytest.mark.parametrize("token", ["", "short", "with/slash/and/more/of/it", "../../../../../etc/passwd", 5])
def test_a_weak_token_is_refused(explorer: Explorer, token: Any) -> None:
    with pytest.raises(ValueError, match="token"):
        build_app(explorer, token=token, port=PORT)
