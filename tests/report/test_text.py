"""What cannot be seen is named, what shapes letters and emoji stays, and nothing turns a sentence around."""

from __future__ import annotations

import pytest

from likewise.report._text import clean, isolate

NO, YES = "\u05dc\u05d0", "\u0646\u0639\u0645"


@pytest.mark.parametrize(
    "text",
    [
        "\U0001f469\U0001f3fd\u200d\u2695\ufe0f",  # a doctor: joined, with a colour of the skin
        "\U0001f468\u200d\U0001f469\u200d\U0001f467 \u2764\ufe0f 1\ufe0f\u20e3 \U0001f1fa\U0001f1f3",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # a Persian word that needs its joiner
        "\u0915\u094d\u200d\u0937",
        "caf\u00e9, \u65e5\u672c\u8a9e",
    ],
)
def test_what_shapes_letters_and_emoji_stays(text: str) -> None:
    assert clean(text) == text


@pytest.mark.parametrize(
    "hidden", ["\u200b", "\u200d", "\u200c", "\ufe0f", "\u3164", "\u2800", "\u202e", "\ufeff", "\x07"]
)
def test_what_nobody_sees_is_named(hidden: str) -> None:
    assert clean(f"cook{hidden}") == f"cook\u27e8U+{ord(hidden):04X}\u27e9"
    assert clean(f"co{hidden}ok") != clean("cook")


def test_words_read_from_the_right_are_isolated_one_by_one() -> None:
    assert isolate("Mean gap: 28%") == "Mean gap: 28%"
    assert isolate(f"label {NO}: 28% (22%)") == f"label \u2068{NO}\u2069: 28% (22%)"
    assert isolate(f"{NO} {YES}, {NO}") == f"\u2068{NO} {YES}\u2069, \u2068{NO}\u2069"
    assert isolate("\u0645\u06cc\u200c\u062e 5") == "\u2068\u0645\u06cc\u200c\u062e\u2069 5"
