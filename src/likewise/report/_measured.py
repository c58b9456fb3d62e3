"""The tables of numbers: gaps and rank gaps with their baseline, and what is measured of people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from likewise._wording import count_of, show_limit
from likewise.report._escaping import escape_value, table
from likewise.report._words import GAP_TITLES, NOTHING, PEOPLE_TITLES, RANK_TITLES, Record, found_in

MOST_LABELS: Final = 12

Measures = Mapping[str, Any]


def write_gaps(record: Record) -> list[str]:
    """Write how far apart the scores of comparable people are, label by label."""
    lines = [
        "## Gaps",
        "",
        "A gap is the distance between the scores of the two people of a pair. The mean and the upper quartile are the "
        f"numbers of the published method. {_say_intervals(record)}",
        "",
    ]
    if _has_baseline(record):
        lines += [
            "The baseline is the same for pairs that are equal in the sensitive columns: so much equal people differ. "
            "A difference is telling only as far as it goes beyond that, which is measured of means and decisions.",
            "",
        ]
    limit = (
        show_limit("gap_mean", record["settings"]["gap_limit"]) if record["settings"]["gap_limit"] is not None else ""
    )
    titles = GAP_TITLES | {"gap_share_above": f"Pairs with a gap above {limit}"}
    return lines + _write_slices(record, titles)


def write_ranks(record: Record) -> list[str]:
    """Write what does not get smaller when a model squeezes its scores together."""
    return [
        "## Rank gaps",
        "",
        "A model that squeezes its scores together gets small gaps for free. These numbers stay as they are then: the "
        "rank gap is the share of all scored people who stand between the two of a pair.",
        "",
        *_write_slices(record, RANK_TITLES),
    ]


def write_people(record: Record) -> list[str]:
    """Write how good, how calibrated and how spread out the scores are."""
    measures = record["measures"]
    rows = [
        (title, found_in(measures, name), f"{measures[name]['n']:,}")
        for name, title in PEOPLE_TITLES.items()
        if name in measures
    ]
    return [
        "## Utility, calibration and spread",
        "",
        "Small gaps mean little where these numbers are poor, or where the scores hardly spread.",
        "",
        *table(("Measure", "Found", "People"), rows),
    ]


def _write_slices(record: Record, titles: Mapping[str, str]) -> list[str]:
    has_baseline = _has_baseline(record)
    head = ("Measure", "Pairs", "Baseline", "Beyond the baseline") if has_baseline else ("Measure", "Pairs")
    lines: list[str] = []
    for name, measures in _slices(record):
        n, n_within = _count(measures, "gap_mean"), _count(measures, "within_gap_mean")
        beside = f", baseline {count_of(n_within, 'pair')}" if has_baseline else ""
        lines += [f"### {name}: {count_of(n, 'pair')}{beside}", ""]
        cells = [
            (title, *(found_in(measures, f"{prefix}{key}") for prefix in ("", "within_", "excess_")))
            for key, title in titles.items()
        ]
        rows = [row[: len(head)] for row in cells if set(row[1:]) != {NOTHING}]
        lines += table(head, rows) if rows else ["Nothing can be measured.", ""]
    n_labels = len(record["by_label"])
    if n_labels > MOST_LABELS and record["task"] != "regression":
        lines += [f"{n_labels - MOST_LABELS:,} more labels are in the record.", ""]
    return lines


def _slices(record: Record) -> Iterator[tuple[str, Measures]]:
    """Give the pairs of each label, the positive one first, and all pairs."""
    if record["task"] != "regression":  # where no two people need the same outcome
        positive = record["positive"]
        ordered = sorted(record["by_label"], key=lambda entry: positive is None or entry["label"] != positive)
        for entry in ordered[:MOST_LABELS]:
            is_positive = positive is not None and entry["label"] == positive
            yield f"Label {escape_value(entry['label'])}{' (positive)' if is_positive else ''}", entry["measures"]
    yield "All pairs", record["measures"]


def _has_baseline(record: Record) -> bool:
    return record["measures"].get("within_gap_mean") is not None


def _count(measures: Measures, name: str) -> int:
    return int(measures[name]["n"]) if name in measures else 0


def _say_intervals(record: Record) -> str:
    settings = record["settings"]
    if not settings["n_resamples"]:
        return "Intervals were not asked for."
    return (
        f"In brackets are {100 * settings['confidence']:g}% confidence intervals from {settings['n_resamples']:,} "
        "resamples of the people; a largest gap has none, and where pairs are few one end may be left open."
    )
