"""Reviews of the worst pairs: where each pair stands, how far reviewers agree, and the log."""

from __future__ import annotations

from typing import Final

from likewise.record import AuditRecord
from likewise.record._internal import STANDINGS
from likewise.report._text import (
    MAX_ROWS,
    NOTHING,
    Cell,
    Number,
    Table,
    Value,
    count,
    count_left_out,
    percent,
    show,
    tidy,
)

ABOUT_REVIEWS: Final = (
    "What reviewers found of the worst pairs, in their words. Of several reviews by one reviewer, the latest counts."
)
MAX_REVIEWS: Final = 500
LONGEST_REASON: Final = 2000


def standing_table(record: AuditRecord) -> Table | None:
    """How many pairs are resolved, explained and unresolved; None without reviews."""
    found = record.review_summary
    if not record.reviews:
        return None
    rows: list[tuple[Cell, ...]] = [
        (one, meaning, count(n)) for one, meaning in STANDINGS.items() if (n := found.count(one)) or one != "disputed"
    ]
    rows.append(("not reviewed", "", count(found.n_pairs - len(found.standings))))
    return Table(caption="Pairs by standing", head=("Standing", "Meaning", "Pairs"), rows=tuple(rows), n_text=2)


def agreement_table(record: AuditRecord) -> Table | None:
    """How far two reviewers of the same pairs agree; None where no pair has two."""
    found = record.review_summary.agreements
    rows = tuple(
        (
            show(" and ".join(one.reviewers)),
            count(one.n_pairs),
            Number(percent(one.share), one.share),
            Number("undefined" if one.kappa is None else f"{one.kappa:.2f}", one.kappa),
        )
        for one in found[:MAX_ROWS]
    )
    head = ("Reviewers", "Pairs both reviewed (N)", "Same disposition", "Cohen's kappa")
    more = count_left_out(len(found), MAX_ROWS, "agreements")
    return Table(caption="Agreement between reviewers", head=head, rows=rows, more=more) if rows else None


def review_log(record: AuditRecord) -> Table | None:
    """Who reviewed which pair, when, to what disposition and why; None without reviews."""
    rows = tuple(
        (
            Value(f"{one.pair:,}"),
            show(one.reviewer),
            show(one.date),
            one.disposition,
            Value(tidy(one.reason, LONGEST_REASON)) if one.reason else NOTHING,
        )
        for one in record.reviews[:MAX_REVIEWS]
    )
    head = ("Pair", "Reviewer", "Date", "Disposition", "Reason")
    more = count_left_out(len(record.reviews), MAX_REVIEWS, "reviews")
    return Table(caption="Log of reviews", head=head, rows=rows, n_text=5, more=more) if rows else None
