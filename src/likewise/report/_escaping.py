"""Text from foreign data, made safe to stand in Markdown and XML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from likewise.report._words import say

LONGEST: Final = 80  # a value may be a whole document

# An underscore inside a word is no markup; neither are most other marks, where no line begins.
MARKUP: Final = re.compile(r"[\\`*\[\]|~$#!]|(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?<=www)\.", re.IGNORECASE)
LINE_START: Final = re.compile(r"^(\d*)([-+.)])(?=[\s-]|$)")


def clean(text: str) -> str:
    """Keep text on one line, and show what cannot be seen: control characters, right-to-left marks, half characters."""
    if text.isprintable():  # as nearly all text is
        return text
    return "".join(
        letter if letter.isprintable() else " " if letter.isspace() else f"⟨U+{ord(letter):04X}⟩" for letter in text
    )


def shorten(text: str, longest: int = LONGEST) -> str:
    """Cut long text in its middle: long values often differ at their ends."""
    n_kept = (longest - 1) // 2
    return text if len(text) <= longest else f"{text[:n_kept]}…{text[-n_kept:]}"


def tidy(text: str, longest: int = LONGEST) -> str:
    """Clean and shorten text; what is cut away anyway need not be cleaned."""
    return shorten(clean(shorten(text, 2 * longest)), longest)


def escape(text: str) -> str:
    """Make text stand for itself in Markdown."""
    safe = clean(text).strip().replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return LINE_START.sub(r"\1\\\2", MARKUP.sub(r"\\\g<0>", safe))


def escape_value(value: Any) -> str:
    """Write any value of the data for Markdown."""
    return escape(tidy(say(value)))


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, text_columns: int = 1) -> list[str]:
    """Lay out cells that are safe already; columns after the first ``text_columns`` are numbers."""
    rule = ["---" if i < text_columns else "---:" for i in range(len(head))]
    return [f"| {' | '.join(cells)} |" for cells in (head, rule, *rows)] + [""]
