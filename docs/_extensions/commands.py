"""``{commands}`` lists every command of the command line with its options, read from the commands themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

from likewise.cli._main import COMMANDS, load_command

if TYPE_CHECKING:
    from sphinx.application import Sphinx

CODE = r"(?<![\w-])--?[a-z][\w-]*|(?<!\w)'[^' ]+'|\b[a-zA-Z]+_\w+(?:\.\w+)?"


def write_commands() -> str:
    """Return the reference as Markdown: a heading for each command, its help, and its options by group."""
    return "\n".join(line for name in COMMANDS for line in _write_command(name))


def _write_command(name: str) -> Iterator[str]:
    command = load_command(name)
    yield from (f"## likewise {name}", "", *_write_help(str(command.help)))
    by_group: dict[str, list[Any]] = {"Arguments": []}
    for one in command.params:
        alone = "Options" if one.param_type_name == "option" else "Arguments"
        by_group.setdefault(getattr(one, "rich_help_panel", None) or alone, []).append(one)
    for group, some in by_group.items():
        if not some:
            continue
        yield from (f"**{_format(group)}**", "")
        for one in some:
            yield from _write_parameter(one)


def _write_help(text: str) -> Iterator[str]:
    """Keep paragraphs, and make blocks of the indented examples."""
    for is_example, lines in groupby(text.strip("\n").split("\n\n"), key=lambda part: part.startswith("  ")):
        parts = list(lines)
        if is_example:
            examples = [part.strip() for part in parts]
            yield from ("```sh" if examples[0].startswith("likewise") else "```text", *examples, "```", "")
        else:
            yield from (line for part in parts for line in (_format(part), ""))


def _format(text: str) -> str:
    """Set options, names with underscores and quoted words as code; elsewhere dashes and quotes would be curled."""
    plain, special = " ".join(text.split()), rf"\[/?bold\]|{CODE}"
    parts, marks = re.split(special, plain), re.findall(special, plain)
    told = _escape(parts[0])
    for mark, part in zip(marks, parts[1:], strict=True):
        told += ("**" if "bold]" in mark else f"`{mark}`") + _escape(part)
    return told


def _write_parameter(one: Any) -> Iterator[str]:
    is_option = one.param_type_name == "option"
    names = [f"`{name}`" for name in (*one.opts, *one.secondary_opts)] if is_option else []
    metavar = f" `{one.metavar}`" if one.metavar else ""
    notes = [] if not one.required else ["Required."]
    if is_option and one.default not in (None, False, "", [], ()):
        shown = ",".join(map(str, one.default)) if isinstance(one.default, list | tuple) else one.default
        notes.append(f"Default: `{shown}`.")
    yield from ((", ".join(names) + metavar).strip(), f": {' '.join([_format(one.help or ''), *notes])}", "")


def _escape(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>$~|#])", r"\\\1", text)


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive."""
    from docutils import nodes  # what builds the site is not there where the reference is only tested
    from docutils.statemachine import StringList
    from sphinx.util.docutils import SphinxDirective

    class Commands(SphinxDirective):
        """List the commands."""

        def run(self) -> list[nodes.Node]:
            """Let the page's own parser read the reference."""
            node = nodes.Element()
            lines = StringList(write_commands().splitlines(), source="commands")
            self.state.nested_parse(lines, 0, node, match_titles=True)
            return node.children

    app.add_directive("commands", Commands)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
