"""Examples that are run while the site is built, with what they print below them.

``{run}`` runs Python, all blocks of a page one after the other in one namespace; ``{shell}`` runs a command in a
folder that the page has for itself. One that fails ends the build. ``:hide:`` runs without showing, ``:quiet:`` leaves
out what is printed, ``:exit: 1`` expects that exit code of a command, ``:needs: java`` runs only where there is one.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

WIDTH = "92"  # columns of a terminal that fit the page


class _Page:
    """What the examples of a page share: names, and a folder."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.folder = tempfile.TemporaryDirectory()


class _Running(SphinxDirective):
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        "hide": directives.flag,
        "quiet": directives.flag,
        "exit": directives.nonnegative_int,
        "needs": directives.unchanged,
    }
    language = ""

    @property
    def page(self) -> _Page:
        pages: dict[str, _Page] = self.env.temp_data.setdefault("running", {})
        return pages.setdefault(self.env.docname, _Page())

    def run(self) -> list[nodes.Node]:
        """Run the example, and show it with what it printed."""
        code = "\n".join(self.content)
        is_possible = shutil.which(self.options.get("needs", sys.executable)) is not None
        printed = self.carry_out(code) if is_possible else ""
        if "hide" in self.options:
            return []
        shown: list[nodes.Node] = [self.block(code, self.language, "example")]
        if printed.strip() and "quiet" not in self.options:
            shown.append(self.block(printed.rstrip("\n"), "text", "printed"))
        return shown

    def carry_out(self, code: str) -> str:
        """Run the code and give what it prints."""
        raise NotImplementedError

    def block(self, text: str, language: str, kind: str) -> nodes.Node:
        """Make a block of text."""
        block = nodes.literal_block(text, text, language=language, classes=[kind])
        self.set_source_info(block)
        return block


@contextlib.contextmanager
def _quiet_programs() -> Iterator[None]:
    """Drop what programs that an example starts print as errors, such as Java's banners; Python's warnings stay."""
    with contextlib.ExitStack() as stack:
        screen = stack.enter_context(open(os.dup(2), "w", buffering=1))
        nowhere = stack.enter_context(open(os.devnull, "w"))
        stack.enter_context(contextlib.redirect_stderr(screen))
        stack.callback(os.dup2, screen.fileno(), 2)
        os.dup2(nowhere.fileno(), 2)
        yield


class Run(_Running):
    """Run Python."""

    language = "python"

    def carry_out(self, code: str) -> str:
        """Run it in the names and the folder of the page."""
        printed = io.StringIO()
        source, line = self.get_source_info()
        before = Path.cwd()
        os.chdir(self.page.folder.name)
        try:
            with _quiet_programs(), contextlib.redirect_stdout(printed):
                exec(compile("\n" * line + code, source, "exec"), self.page.names)
        except BaseException as error:
            raise self.severe(
                f"The example in {source}, line {line}, fails: {type(error).__name__}: {error}"
            ) from error
        finally:
            os.chdir(before)
        return printed.getvalue()


class Shell(_Running):
    """Run a command."""

    language = "sh"

    def carry_out(self, code: str) -> str:
        """Run it in the folder of the page, with the commands of the environment that builds the site."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        settings = os.environ | {"PATH": path, "COLUMNS": WIDTH, "NO_COLOR": "1", "TERM": "dumb"}
        ended = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", code],
            cwd=self.page.folder.name,
            env=settings,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if ended.returncode != self.options.get("exit", 0):
            raise self.severe(f"The command {code!r} ended with {ended.returncode}:\n{ended.stdout}")
        return re.sub(r"[ \t]+$", "", ended.stdout, flags=re.MULTILINE)


def setup(app: Sphinx) -> dict[str, Any]:
    """Add both directives."""
    app.add_directive("run", Run)
    app.add_directive("shell", Shell)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
