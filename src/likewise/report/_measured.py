"""The numbers of an audit: gaps and rank gaps with their baseline, and what is measured of people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from likewise._format import count_of, show_limit
from likewise.report._parts import Table, show
from likewise.report._words import GAP_TITLES, NOTHING, PEOPLE_TITLES, RANK_TITLES, Record, found_in

MOST_LABELS: Final = 12

Measures = Mapping[str, Any]

ABOUT_GAPS: Final = (
    "A gap is the distance between the scores of the two people of a pair. The mean and the upper quartile are the "
    "numbers of the published method."
)
ABOUT_BASELINE: Final = (
    "The baseline is the same for pairs that are equal in the sensitive columns: how much people differ anyway. "
    "A difference is telling only as far as it goes beyond that, which is measured of means and decisions."
)
ABOUT_RANKS: Final = (
    "A model that squeezes its scores together gets small gaps for free. These numbers stay as they are then: the "
    "rank gap is the share of all scored people who stand between the two of a pair."
)
ABOUT_PEOPLE: Final = "Small gaps mean little where these numbers are poor, or where the scores hardly spread."
EXCESS_TITLES: Final = {
    "excess_gap_mean": "Mean gap",
    "excess_rank_gap_mean": "Mean rank gap",
    "excess_flip_rate": "Different decisions",
}


@dataclass(frozen=True, slots=True)
class Slice:
    """Some of the pairs, and what was measured of them; no table where nothing could be."""

    title: str
    counted: str
    table: Table | None
    label: Any
    is_all: bool


def say_intervals(record: Record) -> str:
    """Say what stands in brackets."""
    settings = record["settings"]
    if not settings["n_resamples"]:
        return "Intervals were not asked for."
    return (
        f"In brackets are {100 * settings['confidence']:g}% confidence intervals from {settings['n_resamples']:,} "
        "resamples of the people; a largest gap has none, and where pairs are few one end may be left open."
    )


def has_baseline(record: Record) -> bool:
    """Say whether pairs that are equal in the sensitive columns were measured."""
    return found_in(record["measures"], "within_gap_mean") != NOTHING


def list_gaps(record: Record, *, beyond: bool = True) -> list[Slice]:
    """Say how far apart the scores of comparable people are, label by label, and how far ``beyond`` the baseline."""
    given = record["settings"]["gap_limit"]
    limit = show_limit("gap_mean", given) if given is not None else ""
    titles = GAP_TITLES | {"gap_share_above": f"Pairs with a gap above {limit}"}
    return _list_slices(record, "Gaps", titles, beyond)


def list_ranks(record: Record, *, beyond: bool = True) -> list[Slice]:
    """Give what does not get smaller when a model squeezes its scores together."""
    return _list_slices(record, "Rank gaps", RANK_TITLES, beyond)


def list_people(record: Record) -> Table:
    """Say how good, how calibrated and how spread out the scores are."""
    measures = record["measures"]
    rows = tuple(
        (title, found_in(measures, name), f"{measures[name]['n']:,}")
        for name, title in PEOPLE_TITLES.items()
        if name in measures
    )
    return Table(caption="How good the scores are", head=("Measure", "Found", "People"), rows=rows)


def list_excess(record: Record) -> Table | None:
    """Say of each label how far the numbers go beyond the baseline; None where there is none."""
    slices = [(title, measures) for title, _, measures in _slices(record)]
    names = [name for name in EXCESS_TITLES if any(found_in(one, name) != NOTHING for _, one in slices)]
    if not names:
        return None
    rows = ((title, *(found_in(measures, name) for name in names)) for title, measures in slices)
    return Table(
        caption="How far beyond the baseline",
        head=("Pairs", *(EXCESS_TITLES[name] for name in names)),
        rows=tuple(row for row in rows if set(row[1:]) != {NOTHING}),
    )


def say_more_labels(record: Record) -> str:
    """Say how many labels have no table here."""
    n_labels = len(record["by_label"])
    if n_labels <= MOST_LABELS or record["task"] == "regression":
        return ""
    return f"{n_labels - MOST_LABELS:,} more labels are in the record."


def _list_slices(record: Record, what: str, titles: Mapping[str, str], beyond: bool) -> list[Slice]:
    beside = has_baseline(record)
    head = ("Measure", "Pairs", "Baseline", "Beyond the baseline")[: 4 if beside and beyond else 3 if beside else 2]
    found = []
    for title, label, measures in _slices(record):
        n, n_within = _count(measures, "gap_mean"), _count(measures, "within_gap_mean")
        counted = count_of(n, "pair") + (f", baseline {count_of(n_within, 'pair')}" if beside else "")
        cells = [
            (words, *(found_in(measures, f"{prefix}{name}") for prefix in ("", "within_", "excess_")))
            for name, words in titles.items()
        ]
        rows = tuple(row[: len(head)] for row in cells if set(row[1:]) != {NOTHING})
        table = Table(caption=f"{what}, {title[0].lower()}{title[1:]}", head=head, rows=rows) if rows else None
        found.append(Slice(title, counted, table, label, measures is record["measures"]))
    return found


def _slices(record: Record) -> Iterator[tuple[str, Any, Measures]]:
    """Give the pairs of each label, the positive one first, and all pairs."""
    if record["task"] != "regression":  # where no two people need the same outcome
        positive = record["positive"]
        ordered = sorted(record["by_label"], key=lambda entry: positive is None or entry["label"] != positive)
        for entry in ordered[:MOST_LABELS]:
            is_positive = positive is not None and entry["label"] == positive
            title = f"Label {show(entry['label'])}{' (positive)' if is_positive else ''}"
            yield title, entry["label"], entry["measures"]
    yield "All pairs", None, record["measures"]


def _count(measures: Measures, name: str) -> int:
    return int(measures[name]["n"]) if name in measures else 0
