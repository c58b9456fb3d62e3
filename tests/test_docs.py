"""The site tells of everything that is public, and its check of links finds what leads nowhere."""

from __future__ import annotations

import importlib
import re
import runpy
from pathlib import Path

import pytest

from likewise.cli._main import COMMANDS, load_command

ROOT = Path(__file__).parents[1]
REFERENCE = (ROOT / "docs/api/index.md").read_text(encoding="utf-8")
FOLDERS = sorted({path.parent.name for path in (ROOT / "src/likewise").glob("*/__init__.py")} - {"cli"})
DOCUMENTED = re.findall(r"^   ([\w.]+)$", REFERENCE, re.MULTILINE)


@pytest.mark.parametrize("folder", [*FOLDERS, "exceptions"])
def test_what_a_folder_exports_is_in_the_reference(folder: str) -> None:
    names = set(getattr(importlib.import_module(f"likewise.{folder}"), "__all__", ()))
    inside = {name.rpartition(".")[2] for name in DOCUMENTED if name.startswith(f"{folder}.") or "." not in name}
    assert sorted(names - inside) == []


def test_names_in_the_reference_are_there() -> None:
    for name in DOCUMENTED:
        folder, _, last = name.rpartition(".")
        assert last in importlib.import_module(f"likewise.{folder}".rstrip(".")).__all__, name


def test_every_page_is_in_the_navigation() -> None:
    files = [page for folder in (".", "api", "coming_from") for page in (ROOT / "docs" / folder).glob("*.md")]
    pages = {page: page.read_text(encoding="utf-8") for page in files}
    listed = {
        (page.parent / entry).resolve().with_suffix(".md")
        for page, text in pages.items()
        for block in re.findall(r"(?ms)^```\{toctree\}$(.*?)^```$", text)
        for entry in re.findall(r"(?m)^(?:.* <)?([\w/.]+)>?$", block)
    }
    assert sorted(page.name for page in set(pages) - listed) == ["index.md"]


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<a href="b.html#there">.</a><a href="b.html#gone">.</a><a href="c.html">.</a>')
    (tmp_path / "b.html").write_text('<p id="there"></p><script src="https://example.org/x.js"></script>')
    find_broken = runpy.run_path(str(ROOT / "docs/_extensions/links.py"))["find_broken"]
    assert sorted(find_broken(tmp_path)) == [
        "a.html: b.html#gone leads to no place in it",
        "a.html: c.html leads to no file",
        "b.html: https://example.org/x.js is fetched from elsewhere",
    ]


def test_the_page_of_the_command_line_has_every_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs/_extensions")
    text = importlib.import_module("commands").write_commands()
    parts = dict(part.split("\n", 1) for part in text.split("## likewise ")[1:])
    assert list(parts) == list(COMMANDS)
    for name, told in parts.items():
        for one in load_command(name).params:
            heads = [f"`{option}`" for option in one.opts] if one.param_type_name == "option" else [f"`{one.metavar}`"]
            assert [head for head in heads if head not in told] == [], name
            assert one.help


def test_what_the_page_of_the_paper_names_is_where_it_says() -> None:
    rows = re.findall(r"^\|.*\| `([\w/]+\.py)` \| (.*) \|$", (ROOT / "docs/paper_code.md").read_text("utf-8"), re.M)
    assert len(rows) > 15
    for file, told in rows:
        code = (ROOT / "src/likewise" / file).read_text("utf-8")
        for name in re.findall(r"`([A-Za-z]\w+)(?:\.\w+|\([^`]*\))?`", told):
            if name not in ("audit", "AntidoteLoss"):  # named beside: of another file
                assert re.search(rf"^(class|def) {name}\b", code, re.M), f"{file} has no {name}"
