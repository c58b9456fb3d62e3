"""The gallery: short scripts, a question each, that use what is public. Building the site runs them."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = sorted((ROOT / "examples" / "gallery").glob("*.py"))
TUTORIAL = sorted((ROOT / "examples" / "tutorial").glob("*.py"))
MAX_LINES = 60
PROMISES = re.compile(r"\b(fair model|unbiased|debias\w*|bias-free)\b", re.IGNORECASE)


def what_is_wrong(source: str) -> list[str]:
    """Say what about a script breaks a promise of the gallery."""
    tree = ast.parse(source)
    title, underline, *_ = [*(ast.get_docstring(tree) or "").splitlines(), "", ""]
    found = []
    if len(source.splitlines()) >= MAX_LINES:
        found.append(f"it has {len(source.splitlines())} lines")
    if not title.endswith("?") or underline != "=" * len(title):
        found.append("its title is no underlined question")
    if "plt.show()" not in source:
        found.append("it shows no picture")
    if PROMISES.search(source):
        found.append("it promises what nobody can")
    return found + [f"{name} is not public" for name in private_names(tree)]


def private_names(tree: ast.AST) -> list[str]:
    """List what is imported from likewise and not in an ``__all__``."""
    imported = [
        (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    ]
    imported += [(alias.name, "") for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    return [
        f"{module}.{name}"
        for module, name in imported
        if module.split(".")[0] == "likewise" and not is_public(module, name)
    ]


def is_public(module: str, name: str) -> bool:
    if any(part.startswith("_") for part in module.split(".")):
        return False
    return not name or name in importlib.import_module(module).__all__


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_answers_one_question_in_a_few_lines(script: Path) -> None:
    source = script.read_text("utf-8")
    compile(source, script.name, "exec")
    assert what_is_wrong(source) == []


@pytest.mark.parametrize("script", TUTORIAL, ids=lambda script: script.stem)
def test_a_page_of_the_tutorial_promises_nothing_and_uses_what_is_public(script: Path) -> None:
    source = script.read_text("utf-8")
    assert PROMISES.search(source) is None
    assert private_names(ast.parse(source)) == []


def test_there_are_scripts_and_their_numbers_sort_as_their_names_do() -> None:
    numbers = [int(script.stem.split("_")[1]) for script in SCRIPTS]
    assert numbers == list(range(1, len(SCRIPTS) + 1))
    assert len(numbers) >= 6


def test_no_two_scripts_ask_the_same() -> None:
    titles = [(ast.get_docstring(ast.parse(script.read_text("utf-8"))) or "").splitlines()[0] for script in SCRIPTS]
    assert len(set(titles)) == len(titles)


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ('"""\nHow?\n====\n"""\nplt.show()\n' + "x = 1\n" * 56, "it has 61 lines"),
        ('"""\nHow so\n======\n"""\nplt.show()', "its title is no underlined question"),
        ('"""\nHow?\n==\n"""\nplt.show()', "its title is no underlined question"),
        ("plt.show()", "its title is no underlined question"),
        ('"""\nHow?\n====\n"""', "it shows no picture"),
        ('"""\nHow?\n====\n\nA debiased model.\n"""\nplt.show()', "it promises what nobody can"),
        (
            '"""\nHow?\n====\n"""\nfrom likewise.auditing._gaps import rank_gaps\nplt.show()',
            "likewise.auditing._gaps.rank_gaps is not public",
        ),
        ('"""\nHow?\n====\n"""\nfrom likewise import np\nplt.show()', "likewise.np is not public"),
    ],
)
def test_the_check_of_scripts_can_fail(source: str, complaint: str) -> None:
    assert what_is_wrong(source) == [complaint]
