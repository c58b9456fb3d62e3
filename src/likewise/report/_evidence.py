"""Who is treated how: directions, the worst pairs side by side, people by sensitive value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from likewise._wording import show_value
from likewise.report._escaping import escape, escape_value, table
from likewise.report._words import NOTHING, Record, percent, probability, signed_percent

MOST_ROWS: Final = 50
MOST_PAIRS: Final = 10
MOST_COLUMNS: Final = 24

Entry = Mapping[str, Any]


def write_directions(record: Record) -> list[str]:
    """Write who is scored lower when only the sensitive values change."""
    directions = record["directions"]
    if not directions:
        return []
    head = ("From", "To", "Pairs", "Lower", "Higher", "Equal", "Mean signed gap", "p", "p (Holm)")
    rows = [
        (
            escape_value(one["origin"]),
            escape_value(one["target"]),
            *(f"{one[name]:,}" for name in ("n_pairs", "n_lower", "n_higher", "n_equal")),
            _signed(one),
            probability(one["p_value"]),
            probability(one["p_adjusted"]),
        )
        for one in directions[:MOST_ROWS]
    ]
    return [
        "## Both directions",
        "",
        "Each line compares people with the values under *From* to comparable people with those under *To*. The signed "
        "gap is the second score less the first: where it is negative, those under *To* are scored lower. *Lower*, "
        "*Higher* and *Equal* count the pairs in which they are. p says how often chance alone gives a mean this far "
        "from zero (a sign-flip test on pairs in which nobody occurs twice); p (Holm) allows for the number of lines.",
        "",
        *table(head, rows, text_columns=2),
        *_say_more(directions, "directions"),
    ]


def _signed(direction: Entry) -> str:
    mean = signed_percent(direction["mean_gap"])
    if direction["low"] is None or direction["high"] is None:
        return mean
    return f"{mean} ({signed_percent(direction['low'])} to {signed_percent(direction['high'])})"


def write_worst_pairs(record: Record) -> list[str]:
    """Write the pairs with the largest gaps, the two people side by side."""
    apart = [pair for pair in record["worst_pairs"] if pair["gap"]]  # where nobody differs, no pair is the worst
    pairs = apart[:MOST_PAIRS]
    if not pairs:
        return []
    lines = ["## Worst pairs", "", "What differs is in bold. Rows are counted from 0.", ""]
    for number, pair in enumerate(pairs, start=1):
        lines += _write_pair(number, pair)
    return lines + _say_more(apart, "pairs", MOST_PAIRS)


def _write_pair(number: int, pair: Entry) -> list[str]:
    flips = {True: ", two different decisions", False: ", the same decision", None: ""}[pair["is_flip"]]
    label = "" if pair["label"] is None else f", label {escape_value(pair['label'])}"
    head = ("", *(_name(pair, side) for side in ("left", "right")), "Difference")
    scores = ("score", _score(pair["left_score"]), _score(pair["right_score"]), show_value("gap_max", pair["gap"]))
    gaps = f"gap {show_value('gap_max', pair['gap'])}, rank gap {show_value('rank_gap_max', pair['rank_gap'])}"
    factors = _choose(pair["factors"])
    n_more = len(pair["factors"]) - len(factors)
    return [
        f"### {number}. {gaps}{flips}{label}",
        "",
        *table(head, [scores, *map(_factor, factors)], text_columns=4),
        *([f"{n_more:,} more {'column is' if n_more == 1 else 'columns are'} equal.", ""] if n_more else []),
    ]


def _choose(factors: list[Entry]) -> list[Entry]:
    """Of very many columns, keep what differs or is sensitive, and the first of the others."""
    telling = [one["column"] for one in factors if one["differs"] or one["role"] == "sensitive"]
    others = [one["column"] for one in factors if one["column"] not in telling]
    kept = {*telling, *others[: max(MOST_COLUMNS - len(telling), 0)]}
    return [one for one in factors if one["column"] in kept]


def _name(pair: Entry, side: str) -> str:
    row, known_as = pair[f"{side}_row"], pair[f"{side}_id"]
    return f"Row {row:,}" if known_as is None or known_as == row else f"Row {row:,}, id {escape_value(known_as)}"


def _score(score: Any) -> str:
    if isinstance(score, list | tuple):
        return ", ".join(map(_score, score))
    if score is None:
        return NOTHING
    return f"{score:.4f}" if abs(score) <= 1 else f"{score:,.6g}"


def _factor(factor: Entry) -> tuple[str, str, str, str]:
    column = f"{escape_value(factor['column'])} ({escape(factor['role'])})"
    left, right = escape_value(factor["left"]), escape_value(factor["right"])
    if not factor["differs"]:
        return column, left, right, ""
    return column, f"**{left}**", f"**{right}**", _difference(factor)


def _difference(factor: Entry) -> str:
    if factor["shift"] is None:
        return "differs"
    unit = "in rank" if factor["role"] == "ordinal" else "of the range"
    allowed = "" if factor["tolerance"] is None else f", {factor['tolerance']:.4g} allowed"
    return f"{factor['shift']:.4g} {unit}{allowed}"


def write_groups(record: Record) -> list[str]:
    """Write, for each sensitive value, who has a partner and how the model decides."""
    coverage, groups = record["coverage"], record["groups"]
    lines = ["## People by sensitive value", ""]
    if coverage:
        rows = [
            (
                _people(one),
                f"{one['n_people']:,}",
                f"{one['n_with_partner']:,}",
                percent(one["n_with_partner"] / one["n_people"] if one["n_people"] else None),
            )
            for one in coverage[:MOST_ROWS]
        ]
        lines += table(("Who", "People", "With a partner", "Share"), rows) + _say_more(coverage, "groups")
    if groups:
        head = ("Who", "People", "Selected", "Impact ratio", "True positive rate", "False positive rate", "Mean score")
        rates = [(_people(one), f"{one['n_people']:,}", *_rates(one)) for one in groups[:MOST_ROWS]]
        lines += table(head, rates) + _say_more(groups, "groups")
    if record["fairlearn"]:
        numbers = [(escape(name), _plain(value)) for name, value in record["fairlearn"].items()]
        lines += table(("By fairlearn, over all sensitive columns", "Found"), numbers)
    return lines if len(lines) > 2 else []


def _people(entry: Entry) -> str:
    named = [f"{escape_value(c)} = {escape_value(v)}" for c, v in zip(entry["columns"], entry["values"], strict=True)]
    if entry.get("label") is not None:
        named.append(f"label {escape_value(entry['label'])}")
    return ", ".join(named) or "everybody"


def _rates(group: Entry) -> tuple[str, ...]:
    shares = {name: percent(group[name]) for name in ("selection_rate", "true_positive_rate", "false_positive_rate")}
    return (
        shares["selection_rate"],
        _plain(group["impact_ratio"]),
        shares["true_positive_rate"],
        shares["false_positive_rate"],
        _score(group["mean_score"]),
    )


def _plain(number: float | None) -> str:
    return NOTHING if number is None else show_value("impact_ratio", number)


def _say_more(entries: list[Any], what: str, shown: int = MOST_ROWS) -> list[str]:
    return [f"{len(entries) - shown:,} more {what} are in the record.", ""] if len(entries) > shown else []
