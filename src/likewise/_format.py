"""Numbers and outcomes of an audit in words: the same in verdicts, in reports and on the terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

__all__ = ["count_of", "line_up", "show_found", "show_limit", "show_value", "sum_up"]

# These are no share of anything; all other measures are shown in percent.
PLAIN: Final = frozenset(
    (
        *("roc_auc", "average_precision", "f1", "log_loss", "brier", "r2", "impact_ratio"),
        *("mean_absolute_error", "root_mean_squared_error"),
    )
)
SMALLEST: Final = 0.001  # a plain number below it would show as 0.000


def show_value(name: str, value: float | None, decimals: int | None = None) -> str:
    """Write the value of a measure: 31.60%, or 0.842 where it is no share."""
    if value is None or not math.isfinite(value):
        return "not measured" if value is None else str(value)
    if _in_percent(name):
        return f"{100 * value:z.{2 if decimals is None else decimals}f}%"
    if decimals is None and 0 < abs(value) < SMALLEST:
        return f"{value:.3g}"
    return f"{value:z,.{3 if decimals is None else decimals}f}"


def show_limit(name: str, limit: float) -> str:
    """Write a limit as somebody would set it: 20%, 0.8."""
    return f"{100 * limit:,.10g}%" if _in_percent(name) else f"{limit:,.10g}"


def show_found(
    name: str, value: float | None, low: float | None, high: float | None, decimals: int | None = None
) -> str:
    """Write a value with its interval: 31.60% (28.00% to 35.00%); an interval may have one end only."""
    shown = show_value(name, value, decimals)
    if value is None or (low is None and high is None):
        return shown
    ends = show_value(name, low, decimals), show_value(name, high, decimals)
    if low is None or high is None:
        return f"{shown} ({f'at most {ends[1]}' if low is None else f'at least {ends[0]}'})"
    return f"{shown} ({ends[0]} to {ends[1]})"


def count_of(n: int, one: str, many: str | None = None) -> str:
    """Write a number of things: 1 pair, 1,204 pairs."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def line_up(rows: Sequence[Sequence[str]]) -> str:
    """Write rows of cells below each other, each column as wide as its widest cell, two blanks between."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return "\n".join(line.rstrip() for line in lines)


def sum_up(outcomes: Sequence[str], min_pairs: int = 0, n_of_pairs: int = 0) -> str:
    """Say in a sentence how the checks of a policy came out, and on how many pairs those of pairs rest at least."""
    n, n_failed, n_unknown = len(outcomes), outcomes.count("fail"), outcomes.count("inconclusive")
    if not n:
        return "Inconclusive: the policy sets no limit, so there is nothing to judge."
    if n_failed:
        unknown = f", {n_unknown:,} cannot be judged" if n_unknown else ""
        return f"Fail: {_part_of(n_failed, n)} {'is' if n_failed == 1 else 'are'} not met{unknown}."
    if n_unknown:
        rest = "; the rest are met" if n > n_unknown else ""
        return f"Inconclusive: {_part_of(n_unknown, n)} cannot be judged{rest}."
    met = "the one limit is met" if n == 1 else f"all {n:,} limits are met"
    return f"Pass: {met}{_rest_on(n, n_of_pairs, min_pairs)}."


def _part_of(n: int, n_limits: int) -> str:
    return "the one limit" if n_limits == 1 else f"{n:,} of {n_limits:,} limits"


def _rest_on(n_limits: int, n_of_pairs: int, min_pairs: int) -> str:
    if not n_of_pairs or not min_pairs:
        return ""
    who = "" if n_limits == 1 else " each" if n_of_pairs == n_limits else " those of pairs"
    return f",{who} resting on at least {count_of(min_pairs, 'pair')}"


def _in_percent(name: str) -> bool:
    return name not in PLAIN and not name.endswith("gap_over_spread")
