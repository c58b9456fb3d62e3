"""Charts of rows: who is scored lower by how much, and what changed from one audit to another."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any, Final

from likewise._format import count_of, show_found, show_value
from likewise.report._charts_parts import Dot, DotPlot, as_percent, make_axis
from likewise.report._directions import STANDS_OUT, choose_directions, stands_out
from likewise.report._escaping import clean, shorten
from likewise.report._words import Record, probability, say, signed_found, signed_percent

MOST_DIRECTIONS: Final = 12  # all of them are in the table
LONGEST_LINE: Final = 32  # letters beside the number, on a phone
LONGEST_TIP: Final = 80
CHANGED: Final = {
    "positive_gap_mean": "Mean gap, positive label",
    "negative_gap_mean": "Mean gap, negative label",
    "gap_mean": "Mean gap, all pairs",
    "positive_gap_q3": "Q3, positive label",
    "negative_gap_q3": "Q3, negative label",
    "gap_q3": "Q3, all pairs",
    "rank_gap_mean": "Mean rank gap",
    "flip_rate": "Two different decisions",
    "score_spread": "Spread of the scores",
}

Entry = Mapping[str, Any]


def direction_chart(record: Record) -> DotPlot | None:
    """Describe the mean signed gap of each transition; those that stand out are chosen first."""
    directions = record["directions"]
    if not directions:
        return None
    chosen = choose_directions(directions, MOST_DIRECTIONS)
    dots = tuple(_direction(one) for one in sorted(chosen, key=lambda one: one["mean_gap"]))
    reach = [end for dot in dots for end in (dot.value, dot.low, dot.high) if end is not None]
    span = max(max(reach), -min(reach)) or 0.01
    n_out = sum(map(stands_out, directions))
    left_out = f" The chart shows {len(dots):,} of {len(directions):,}." if len(dots) < len(directions) else ""
    return DotPlot(
        "Both directions",
        f"Mean signed gap of {count_of(len(directions), 'transition')} between sensitive values: the second score less "
        f"the first. Of them {n_out:,} stand out (adjusted p below {STANDS_OUT:g}).{left_out}",
        # some room on the other side of zero, so that a reader sees where nobody stands
        make_axis("Mean signed gap", min(*reach, -0.25 * span), max(*reach, 0.25 * span), as_percent, is_grown=True),
        dots,
        f"Stands out (adjusted p < {STANDS_OUT:g})",
        "Does not stand out",
        ("← second is lower", "second is higher →"),
    )


def _direction(one: Entry) -> Dot:
    origin, target = clean(say(one["origin"])), clean(say(one["target"]))
    found = signed_found(one["mean_gap"], one["low"], one["high"])
    chance = "" if one["p_adjusted"] is None else f", adjusted p {probability(one['p_adjusted'])}"
    return Dot(
        _lines(origin, target),
        signed_percent(one["mean_gap"]),
        f"From {shorten(origin, LONGEST_TIP)} to {shorten(target, LONGEST_TIP)}: {found}{chance}. Of "
        f"{count_of(one['n_pairs'], 'pair')}, the second is scored lower in {one['n_lower']:,}, "
        f"higher in {one['n_higher']:,}, equal in {one['n_equal']:,}",
        one["mean_gap"],
        one["low"],
        one["high"],
        is_filled=stands_out(one),
    )


def _lines(origin: str, target: str) -> tuple[str, ...]:
    """Put a transition on one line, or on two where it is long or would be read from right to left."""
    together = f"{origin} → {target}"
    is_mixed = any(unicodedata.bidirectional(letter) in ("R", "AL") for letter in together)
    if len(together) <= LONGEST_LINE and not is_mixed:
        return (together,)
    return shorten(origin, LONGEST_LINE), f"→ {shorten(target, LONGEST_LINE - 2)}"


def change_chart(comparison: Mapping[str, Any]) -> DotPlot | None:
    """Describe where the numbers of pairs stood before and where they stand after."""
    changes = comparison["changes"]
    known = [
        (name, changes[name])
        for name in CHANGED
        if name in changes
        and changes[name]["before"]["value"] is not None
        and changes[name]["after"]["value"] is not None
    ]
    if not known:
        return None
    dots = tuple(_change(name, one) for name, one in known)
    highest = max(end for dot in dots for end in (dot.value, dot.start, dot.high) if end is not None)
    return DotPlot(
        "Before and after",
        " ".join(f"{dot.lines[0]}: {dot.text}." for dot in dots),
        make_axis("Before and after", 0.0, highest, as_percent, is_grown=True),
        dots,
        "After, with its interval",
        "Before",
    )


def _change(name: str, change: Entry) -> Dot:
    before, after, difference = change["before"], change["after"], change["difference"]
    by = (
        ""
        if difference["value"] is None
        else f"; difference {signed_found(*(difference[end] for end in ('value', 'low', 'high')))}"
    )
    return Dot(
        (CHANGED[name],),
        f"{show_short(before['value'])} → {show_short(after['value'])}",
        f"{CHANGED[name]}: before {show_gap(before)}, after {show_gap(after)}{by}",
        after["value"],
        after["low"],
        after["high"],
        start=before["value"],
    )


def show_short(value: float) -> str:
    """Write a gap beside a mark."""
    return show_value("gap_mean", value, 1)


def show_gap(measure: Entry) -> str:
    """Write a gap with its interval."""
    return show_found("gap_mean", measure["value"], measure["low"], measure["high"])
