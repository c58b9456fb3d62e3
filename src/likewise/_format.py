"""Numbers, intervals and verdicts as text: the same in verdicts, reports and on the terminal."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

POINTS: Final = " pp"
TOO_FEW: Final = "too few people to conclude"
WIDTH: Final = 100  # letters in a line of text
# of GitHub, where a line begins, and of Azure and TeamCity, anywhere: ##[error], ##vso[...]
COMMAND: Final = re.compile(r"((?:^|(?<=[\r\n]))[^\w\r\n]*?)(?=::)|(?<=#)(?=#\w*\[)")


@dataclass(frozen=True, slots=True)
class OutcomeSummary:
    """The outcome of a policy and the sentence that follows it; ``str`` is both."""

    outcome: str
    text: str

    def __str__(self) -> str:
        return f"{self.outcome}: {self.text}"


def show_points(value: float) -> str:
    """Format a gap between two probabilities in percentage points: 3.67 pp."""
    return f"{100 * value:z.2f}{POINTS}"


def show_p(p: float) -> str:
    """Format a p-value."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def count_of(n: int, one: str, many: str | None = None) -> str:
    """Format a count: 1 pair, 1,204 pairs."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def one_line(text: str) -> str:
    """Put a message on one line, without the control characters that data may contain."""
    return "".join(
        letter if letter.isprintable() else " " if letter.isspace() else "\N{REPLACEMENT CHARACTER}" for letter in text
    )


def tame(text: str) -> str:
    """Put a backslash into what a service that runs jobs would take for a command in its log, such as ``::error::``."""
    return COMMAND.sub(r"\g<0>\\", text)


def line_up(rows: Sequence[Sequence[str]]) -> str:
    """Format rows of cells in columns as wide as their widest cell, two blanks apart."""
    rows = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return tame("\n".join(line.rstrip() for line in lines))


def sum_up(outcomes: Sequence[str], min_pairs: int = 0, n_of_pairs: int = 0) -> OutcomeSummary:
    """Sum up the outcomes of a policy's limits, ``n_of_pairs`` of which are on measures of pairs."""
    n, n_failed, n_unknown = len(outcomes), outcomes.count("fail"), outcomes.count("inconclusive")
    if not n:
        return OutcomeSummary("Inconclusive", "the policy sets no limit, so there is nothing to judge.")
    if n_failed:
        unknown = f", {n_unknown:,} cannot be judged" if n_unknown else ""
        failed = "the limit is not met" if n == 1 else f"{n_failed:,} of {n:,} limits not met"
        return OutcomeSummary("Fail", f"{failed}{unknown}.")
    if n_unknown:
        unknown = "the limit" if n == 1 else f"{n_unknown:,} of {n:,} limits"
        return OutcomeSummary("Inconclusive", f"{unknown} cannot be judged{'; the others are met' * (n > n_unknown)}.")
    least = f" (minimum {count_of(min_pairs, 'pair')})" if n_of_pairs and min_pairs else ""
    return OutcomeSummary("Pass", f"{'the limit is met' if n == 1 else f'all {n:,} limits met'}{least}.")


def show_cell(value: Any) -> str:
    """Return a value of the data, or several, as plain text."""
    if isinstance(value, tuple):
        return " ".join(map(show_cell, value))
    return f"{value:.6g}" if isinstance(value, float) else "(missing)" if value is None else str(value)


def list_lines(items: Iterable[Any]) -> list[str]:
    """Return each item, such as a note, as the lines of an item of a list."""
    return [line for one in items for line in wrap(str(one), first="- ", later="  ")]


def wrap(text: str, first: str = "", later: str = "") -> list[str]:
    """Break a sentence into lines."""
    return [tame(line) for line in textwrap.wrap(one_line(text), WIDTH, initial_indent=first, subsequent_indent=later)]


def describe_direction(threshold: float | None, favours_low: bool) -> str:
    """Return who is approved, or, where nobody is decided on, which scores are better."""
    if threshold is None:
        return f"{'Lower' if favours_low else 'Higher'} scores are better"
    return f"Decision threshold: approve {'below' if favours_low else 'at or above'} {threshold:.6g}"
