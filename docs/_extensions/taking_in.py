"""``{take}`` takes in a Markdown file of the project, with its links to other files and pictures set right.

``:from:`` and ``:to:`` are headings: from the one on, up to the other. ``:lower: 1`` makes headings one level smaller.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

LINK = re.compile(r"(!?\[[^\]]*\]\()([^)#:\s]+)([^)]*\))")


class Take(SphinxDirective):
    """Take in a file."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {
        "from": directives.unchanged,
        "to": directives.unchanged,
        "lower": directives.nonnegative_int,
    }

    def run(self) -> list[nodes.Node]:
        """Read the part that is wanted, and let the page's own parser go on."""
        here = Path(self.env.srcdir)
        file = (here / self.arguments[0]).resolve()
        self.env.note_dependency(str(file))
        text = self._cut(file.read_text(encoding="utf-8"), file)
        text = LINK.sub(lambda match: self._point(match, file, here), text)
        text = re.sub(r"^(#+ )", "#" * self.options.get("lower", 0) + r"\1", text, flags=re.MULTILINE)
        node = nodes.Element()
        self.state.nested_parse(StringList(text.splitlines(), source=str(file)), 0, node, match_titles=True)
        return node.children

    def _cut(self, text: str, file: Path) -> str:
        for option in ("from", "to"):
            heading = self.options.get(option)
            if heading is None:
                continue
            found = re.search(rf"^#+ {re.escape(heading)}$", text, re.MULTILINE)
            if found is None:
                raise self.severe(f"{file.name} has no heading '{heading}'.")
            text = text[found.start() :] if option == "from" else text[: found.start()]
        return text

    def _point(self, match: re.Match[str], file: Path, here: Path) -> str:
        """Point pictures at the file itself; other files of the project are not part of the site, so only name them."""
        before, target, after = match.groups()
        path = (file.parent / target).resolve()
        if before.startswith("!"):
            return f"{before}/{Path('..') / path.relative_to(here.parent)}{after}"
        return before[1:-2]


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive."""
    app.add_directive("take", Take)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
