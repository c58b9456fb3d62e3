"""Cells of tables and text from foreign data, safe to show in a page, in Markdown and in XML."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from likewise._format import POINTS, show_p
from likewise.record._internal import Measure, show_interval, show_value, title_of

LONGEST: Final = 80  # a value may be a whole document
LONGEST_JOINED: Final = 200
LONGEST_WHOLE: Final = 300  # a shortened value can be read whole up to here
MAX_ROWS: Final = 50

# An underscore inside a word is not markup; most other marks are markup only at the start of a line.
MARKUP: Final = re.compile(r"[\\`*\[\]|~$#!]|(?<![^\W_])_|_(?![^\W_])|:(?=//|:)|(?<=www)\.", re.IGNORECASE)
LINE_START: Final = re.compile(r"^(\d*)([-+.)])(?=[\s-]|$)")

# Invisible characters that shape visible ones: they join emoji, and letters of Arabic and Indic scripts.
EMOJI: Final = "[\u00a9\u00ae\u203c\u2049\u2122-\u27bf\u2934-\u2bff\u3030-\u3299\U0001f000-\U0001faff]"
JOINING: Final = "[\u0620-\u0dff]"
SHAPING: Final = re.compile(
    f"(?<={EMOJI})(?:\ufe0f?\u200d(?={EMOJI})|\ufe0f)|(?<=[#*0-9])\ufe0f(?=\u20e3)"
    f"|(?<={JOINING})[\u200c\u200d](?={JOINING})"
)
# Printable according to Python, but invisible.
UNSEEN: Final = re.compile("[\u034f\u115f\u1160\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0]")

FROM_RIGHT: Final = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001eeff"
READ_FROM_RIGHT: Final = re.compile(f"[{FROM_RIGHT}]+(?:[ '\"\u200c\u200d-]+[{FROM_RIGHT}]+)*")


def clean(text: str) -> str:
    """Put text on one line, with names for what cannot be seen: control characters, direction marks, surrogates."""
    if text.isascii() and text.isprintable():  # as most text is
        return text
    shaping = {i for found in SHAPING.finditer(text) for i in range(*found.span())}
    return "".join(letter if i in shaping else _see(letter) for i, letter in enumerate(text))


def _see(letter: str) -> str:
    if letter.isprintable() and not UNSEEN.match(letter):
        return letter
    return " " if letter.isspace() else f"⟨U+{ord(letter):04X}⟩"


def isolate(text: str) -> str:
    """Isolate right-to-left words, so that a number after a label stays after it."""
    return text if text.isascii() else READ_FROM_RIGHT.sub("\u2068\\g<0>\u2069", text)


def shorten(text: str, longest: int = LONGEST) -> str:
    """Shorten long text in its middle: long values often differ at their ends."""
    n_kept = (longest - 1) // 2
    return text if len(text) <= longest else f"{text[:n_kept]}…{text[-n_kept:]}"


def tidy(text: str, longest: int = LONGEST) -> str:
    """Clean and shorten text, in that order only for the part that is kept."""
    return shorten(clean(shorten(text, 2 * longest)), longest)


def escape(text: str) -> str:
    """Escape text for Markdown."""
    safe = clean(text).strip().replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return LINE_START.sub(r"\1\\\2", MARKUP.sub(r"\\\g<0>", safe))


def as_text(value: Any) -> str:
    """Format any value of the data: text as it is, whole numbers as such, 0.3 for 0.30000000000000004."""
    if value is None:
        return "(missing)"
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:.10g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(as_text, value))
    return str(value) if str(value).strip() else "(empty)"


def escape_value(value: Any) -> str:
    """Format any value of the data for Markdown."""
    return escape(tidy(as_text(value)))


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]], *, text_columns: int = 1) -> list[str]:
    """Lay out escaped cells; columns after the first ``text_columns`` are numbers."""
    rule = ["---" if i < text_columns else "---:" for i in range(len(head))]
    return [f"| {' | '.join(cells)} |" for cells in (head, rule, *rows)] + [""]


@dataclass(frozen=True, slots=True)
class Value:
    """A value of the data, short enough for a table; ``whole`` where it was shortened."""

    shown: str
    whole: str | None = None

    def __str__(self) -> str:
        return self.shown


@dataclass(frozen=True, slots=True)
class Number:
    """A number with its confidence interval as text, and the value to sort by."""

    shown: str
    sort: float | None = None
    interval: str = ""
    is_bold: bool = False

    def __str__(self) -> str:
        return f"{self.shown} ({self.interval})" if self.interval else self.shown


Cell = str | Value | Number
NOTHING: Final = "-"
UNKNOWN: Final = Number(NOTHING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of cells; columns after the first ``n_text`` are numbers."""

    caption: str
    head: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]
    n_text: int = 1
    more: str = ""
    is_sortable: bool = False
    is_folded: bool = False  # long, and closed at first


def show(value: Any) -> Value:
    """Format any value of the data for a table, shortened where it is long."""
    whole = tidy(as_text(value), LONGEST_WHOLE)
    shown = shorten(whole)
    return Value(shown, None if shown == whole else whole)


def join(values: Iterable[Value], between: str = ", ") -> Value:
    """Join several values into one."""
    parts = tuple(values)
    shown = shorten(between.join(part.shown for part in parts), LONGEST_JOINED)
    whole = between.join(part.whole or part.shown for part in parts)
    return Value(shown, None if whole == shown else shorten(whole, LONGEST_WHOLE))


def count_left_out(n: int, n_shown: int, what: str) -> str:
    """Sentence that counts what the record holds beyond what is shown; "" if nothing."""
    return f"{n - n_shown:,} more {what} in the record (audit.json)." if n > n_shown else ""


def measured(measures: Mapping[str, Measure], name: str, *, points: bool = False) -> Number:
    """Format a measure with its interval; a dash where it was not measured; with ``points``, gaps are in pp."""
    found = measures.get(name)
    if found is None or found.value is None:
        return UNKNOWN
    interval = show_interval(name, found.low, found.high, points=points)
    return Number(show_value(name, found.value, points=points), found.value, interval)


def title(key: str) -> str:
    """Return the title of a measure, whose part may be any text of the data."""
    return tidy(title_of(key))


def count(n: int) -> Number:
    """Format a count."""
    return Number(f"{n:,}", n)


def percent(share: float | None) -> str:
    """Format a share."""
    return NOTHING if share is None else show_value("matched_share", share)


def gap(value: float | None, *, points: bool) -> str:
    """Format a gap: in percentage points, or in percent of a scale."""
    return NOTHING if value is None else show_value("gap_mean", value, points=points)


def signed_gap(value: float | None, *, points: bool) -> str:
    """Format a signed gap, with a plus sign where it is positive."""
    shown = gap(value, points=points)
    return shown if not value or value < 0 or shown == gap(0.0, points=points) else f"+{shown}"


def signed_number(value: float | None, low: float | None, high: float | None, *, points: bool) -> Number:
    """Format a signed gap with its interval."""
    ends = [signed_gap(end, points=points).removesuffix(POINTS) for end in (low, high)]
    interval = "" if low is None or high is None else " to ".join(ends)
    return Number(signed_gap(value, points=points), value, interval)


def p_value(p: float | None) -> str:
    """Format a p-value, where there is one."""
    return NOTHING if p is None else show_p(p)


def show_score(score: float | tuple[float, ...] | None) -> str:
    """Format a score, or the scores of all labels."""
    if isinstance(score, tuple):
        return ", ".join(map(show_score, score))
    if score is None:
        return NOTHING
    return f"{score:.4f}" if abs(score) <= 1 else f"{score:,.6g}"
