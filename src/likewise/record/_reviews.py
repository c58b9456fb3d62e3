"""Reviews of pairs: who looked at one, when, to what disposition and why; and what all of them come to."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final, Literal

from likewise._format import count_of
from likewise._json import plain
from likewise.record._evidence import PairCase

Disposition = Literal["resolved", "explained", "unresolved"]
Standing = Literal["resolved", "explained", "unresolved", "disputed"]
DISPOSITIONS: Final[tuple[Disposition, ...]] = ("resolved", "explained", "unresolved")
STANDINGS: Final[Mapping[Standing, str]] = {
    "resolved": "the difference was an error and has been corrected",
    "explained": "a legitimate reason accounts for the difference",
    "unresolved": "neither, so far",
    "disputed": "the reviewers differ",
}
N_KEY: Final = 12  # hexadecimal digits


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """What one reviewer found of one pair.

    Parameters
    ----------
    pair : int
        The place of the pair among the worst pairs of the record, counted from 1.
    key : str
        The key of the pair, computed from its people, values and scores.
    reviewer : str
    date : str
        Such as ``2026-11-17``.
    disposition : {"resolved", "explained", "unresolved"}
        An error that has been corrected; a difference with a legitimate reason; or neither, so far.
    reason : str
        In the reviewer's words.

    Examples
    --------
    >>> from likewise.auditing import Review
    >>> print(Review(pair=1, key="k5d41402abc4b", reviewer="A. Lee", date="2026-11-17", disposition="explained",
    ...              reason="second income in the paper file"))
    Pair 1, explained by A. Lee on 2026-11-17: second income in the paper file
    """

    pair: int
    key: str
    reviewer: str
    date: str
    disposition: Disposition
    reason: str = ""

    def __str__(self) -> str:
        why = f": {self.reason}" if self.reason else ""
        return f"Pair {self.pair}, {self.disposition} by {self.reviewer} on {self.date}{why}"

    @property
    def who(self) -> str:
        """The reviewer, whatever the capitals and blanks."""
        return " ".join(self.reviewer.split()).casefold()


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How often two reviewers gave the same pair the same disposition."""

    reviewers: tuple[str, ...]
    n_pairs: int
    n_agree: int
    kappa: float | None  # Cohen's; None where both gave one and the same disposition throughout

    def __str__(self) -> str:
        kappa = "undefined: one disposition only" if self.kappa is None else f"{self.kappa:.2f}"
        agree = f"agree on {self.n_agree:,} of {count_of(self.n_pairs, 'pair')} ({self.share:.0%})"
        return f"{' and '.join(self.reviewers)} {agree}; Cohen's kappa {kappa}, N = {self.n_pairs:,}."

    @property
    def share(self) -> float:
        """The share of pairs they agree on."""
        return self.n_agree / self.n_pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewSummary:
    """What all reviews come to: every reviewed pair with its standing, and how far reviewers agree."""

    n_pairs: int
    standings: Mapping[int, Standing]  # by pair; disputed where the reviewers differ
    agreements: tuple[Agreement, ...]

    def count(self, standing: Standing) -> int:
        """Count the pairs that stand so."""
        return sum(one == standing for one in self.standings.values())

    def __str__(self) -> str:
        counts = f"{self.count('resolved'):,} resolved, {self.count('explained'):,} explained, "
        counts += f"{self.count('unresolved'):,} unresolved"
        counts += f", {self.count('disputed'):,} disputed" if self.count("disputed") else ""
        return f"Reviewed: {len(self.standings):,} of {count_of(self.n_pairs, 'pair')} ({counts})."


def sum_up_reviews(reviews: Sequence[Review], n_pairs: int) -> ReviewSummary:
    """Sum up reviews; of several by one reviewer on one pair, the latest counts."""
    latest: dict[str, dict[int, Review]] = {}
    for one in sorted(reviews, key=lambda one: one.date):
        latest.setdefault(one.who, {})[one.pair] = one
    by_pair: dict[int, set[Disposition]] = {}
    for found in latest.values():
        for pair, one in found.items():
            by_pair.setdefault(pair, set()).add(one.disposition)
    standings: dict[int, Standing] = {
        pair: next(iter(said)) if len(said) == 1 else "disputed" for pair, said in sorted(by_pair.items())
    }
    agreements = (_agreement(latest[one], latest[other]) for one, other in combinations(sorted(latest), 2))
    return ReviewSummary(
        n_pairs=n_pairs, standings=standings, agreements=tuple(one for one in agreements if one is not None)
    )


def _agreement(one: Mapping[int, Review], other: Mapping[int, Review]) -> Agreement | None:
    shared = sorted(one.keys() & other.keys())
    if not shared:
        return None
    n = len(shared)
    said = [(one[pair].disposition, other[pair].disposition) for pair in shared]
    n_agree = sum(left == right for left, right in said)
    left, right = (Counter(side) for side in zip(*said, strict=True))
    n_by_chance = sum(left[word] * right[word] for word in left)  # times n
    kappa = None if n_by_chance == n * n else (n * n_agree - n_by_chance) / (n * n - n_by_chance)
    names = one[shared[0]].reviewer, other[shared[0]].reviewer
    return Agreement(reviewers=names, n_pairs=n, n_agree=n_agree, kappa=kappa)


def pair_key(case: PairCase, *audit: Any) -> str:
    """Return a short hash of a pair: of its rows, values and scores, and of what names the ``audit``."""
    text = json.dumps(plain([*audit, case]), sort_keys=True, ensure_ascii=False)
    found = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()  # files hold no halves of letters
    return f"k{found[:N_KEY]}"  # a spreadsheet would take 12e4 for a number
