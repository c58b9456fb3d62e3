"""Text from foreign data, made safe to stand in a page, in Markdown and in XML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from likewise.report._words import say

LONGEST: Final = 80  # a value may be a whole document

# An underscore inside a word is no markup; neither are most other marks, where no line begins.
MARKUP: Final = re.compile(r"[\\`*\[\]|~$#!]|(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?<=www)\.", re.IGNORECASE)
LINE_START: Final = re.compile(r"^(\d*)([-+.)])(?=[\s-]|$)")

# What has no ink of its own still shapes what is seen: it joins emoji, and letters of Arabic and Indic scripts.
EMOJI: Final = "[\u00a9\u00ae\u203c\u2049\u2122-\u27bf\u2934-\u2bff\u3030-\u3299\U0001f000-\U0001faff]"
JOINING: Final = "[\u0620-\u0dff]"
SHAPING: Final = re.compile(
    f"(?<={EMOJI})(?:\ufe0f?\u200d(?={EMOJI})|\ufe0f)|(?<=[#*0-9])\ufe0f(?=\u20e3)"
    f"|(?<={JOINING})[\u200c\u200d](?={JOINING})"
)
# Python calls these printable; nobody sees them.
UNSEEN: Final = re.compile("[\u034f\u115f\u1160\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0]")

FROM_RIGHT: Final = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001eeff"
READ_FROM_RIGHT: Final = re.compile(f"[{FROM_RIGHT}]+(?:[ '\"\u200c\u200d-]+[{FROM_RIGHT}]+)*")


def clean(text: str) -> str:
    """Keep text on one line, and show what cannot be seen: control characters, right-to-left marks, half characters."""
    if text.isascii() and text.isprintable():  # as most text is
        return text
    shaping = {i for found in SHAPING.finditer(text) for i in range(*found.span())}
    return "".join(letter if i in shaping else _see(letter) for i, letter in enumerate(text))


def _see(letter: str) -> str:
    if letter.isprintable() and not UNSEEN.match(letter):
        return letter
    return " " if letter.isspace() else f"⟨U+{ord(letter):04X}⟩"


def isolate(text: str) -> str:
    """Let words that are read from the right turn nothing around them: a number behind a label stays behind it."""
    return text if text.isascii() else READ_FROM_RIGHT.sub("\u2068\\g<0>\u2069", text)


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
