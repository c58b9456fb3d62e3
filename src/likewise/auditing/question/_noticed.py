"""What is noticed about columns that people are compared by: made from scores, decision or label; values alike.

A column and a target (scores, decision, label or outcome; with several labels, those of each) are compared by the ranks
of people in both, equals sharing the mean of theirs. *Agreement* is the covariance of the two divided by the smaller of
the two variances: 1 if and only if one rises, never falls, with the other and is a function of it, whatever its scale;
-1 where it falls. Rounding, cutting into bands, and log-odds leave it at 1, or next to it. Where values have no order
(at least five people a value, on average), they are put in the order of the mean ranks of their people.

A column *follows* a target where agreement is 0.995 or more in magnitude, among people who have a value, and at least
ten people have another value than most, in both; exactly 1 where more than nine of ten have one and the same value.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._checks import parameter
from likewise._ranking import rank_numbers
from likewise.auditing.question._question import Question
from likewise.record._internal import Note, NoteKind
from likewise.schema import CodedTable
from likewise.schema._internal import MISSING_RANK, MISSING_VALUE

Levels = NDArray[np.integer[Any]]
Floats = NDArray[np.float64]

FOLLOWS: Final = 0.995  # agreement
EXACTLY: Final = 1 - 1e-9
MOSTLY_ONE: Final = 0.9  # share of people with one value, beyond which others are too few for a near agreement
FEWEST_OTHERS: Final = 10  # people with other values than most have: of fewer, agreement is chance
FEWEST_A_VALUE: Final = 5  # people, on average, where values have no order
MOST_LABELS: Final = 20
SHOWN: Final = 4
CYRILLIC: Final = str.maketrans(  # capitals
    "\u0410\u0412\u0415\u0405\u0406\u0408\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u04ae",
    "ABESIJKMHOPCTYXY",
)
GREEK: Final = str.maketrans(
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7",
    "ABEZHIKMNOPTYX",
)
LOOK_ALIKES: Final = CYRILLIC | GREEK
INVISIBLE: Final = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))


@dataclass(frozen=True, slots=True, eq=False)
class _Ranked:
    """Values of people as levels in their order, and the rank of each level: 0 in the middle, from -0.5 to 0.5."""

    levels: Levels
    counts: NDArray[np.int64]
    ranks: Floats  # of levels
    variance: float

    @classmethod
    def of(cls, levels: Levels) -> _Ranked:
        counts = np.bincount(levels)
        ranks = _mid_ranks(counts)
        return cls(levels, counts, ranks, _spread(counts, ranks))

    @property
    def n_others(self) -> int:
        """How many have another value than most."""
        return len(self.levels) - int(self.counts.max(initial=0))

    @property
    def is_mostly_one(self) -> bool:
        return self.n_others < (1 - MOSTLY_ONE) * len(self.levels)

    @property
    def of_people(self) -> Floats:
        return self.ranks[self.levels]


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """A compared column: levels, from 0, whether they are in an order of their own, and who has a value."""

    name: str
    levels: Levels
    is_ordered: bool
    has_value: NDArray[np.bool_] | None = None


def note_columns(question: Question, confirmed: Sequence[str]) -> Iterator[Note]:
    """Note columns that follow from what is audited, and values that are written alike; confirmed ones as such."""
    for name, followed in _find_followers(question):
        what = f"Column '{name}' follows the {' and the '.join(followed)}"
        if name in confirmed:
            yield Note("confirmed", f"{what}. It was confirmed that it is not made from {_them(followed)}.")
            continue
        yield Note(
            "derived_column",
            f"{what}, as if made from {_them(followed)}. People are matched on it, so those who are scored differently "
            f"are not compared. Leave it out ({parameter('ignored', name)}), or, if it was there before, as where a "
            f"model uses little else, confirm it ({parameter('confirmed', name)}).",
        )
    sensitive = question.schema.roles.sensitive
    for name, alike in _find_alike(question.table, question.schema.categories, question.schema.roles.names):
        listed = "; ".join(", ".join(map(_show, some[:SHOWN])) for some in alike[:SHOWN])
        what = f"Column '{name}' has values that are written alike, and count as different: {listed}"
        if name in confirmed:
            yield Note("confirmed", f"{what}. It was confirmed that they differ.")
            continue
        kind: NoteKind = "alike_groups" if name in sensitive else "alike_values"
        yield Note(
            kind, f"{what}. Write them the same way, or confirm that they differ ({parameter('confirmed', name)})."
        )


def _them(followed: Sequence[str]) -> str:
    return "it" if followed in (["decision"], ["label"], ["outcome"]) else "them"


def _find_followers(question: Question) -> Iterator[tuple[str, list[str]]]:
    """Return the compared columns that follow something, and what."""
    rows, table = question.examine()
    targets = [(what, one) for what, one in _targets(question, rows) if one.n_others >= FEWEST_OTHERS]
    of_people = [one.of_people for _, one in targets]
    for column in _columns(table) if targets else ():
        kept = column.has_value
        if kept is not None and np.count_nonzero(kept) < FEWEST_OTHERS:
            continue
        levels = column.levels if kept is None else _renumber(column.levels[kept])
        ranked = _Ranked.of(levels)
        if ranked.n_others < FEWEST_OTHERS:
            continue
        followed: list[str] = []
        for (what, one), ranks in zip(targets, of_people, strict=True):
            some = one if kept is None else _Ranked.of(_renumber(one.levels[kept]))
            if some.n_others >= FEWEST_OTHERS and what not in followed:
                agreement = _agree(ranked, some, ranks if kept is None else some.of_people, column.is_ordered)
                limit = EXACTLY if ranked.is_mostly_one or some.is_mostly_one else FOLLOWS
                followed += [what] if agreement >= limit else []
        if followed:
            yield column.name, followed


def _agree(column: _Ranked, target: _Ranked, ranks: Floats, is_ordered: bool) -> float:
    """Return the agreement of a column with a target, in magnitude."""
    n, by_level = len(column.levels), np.bincount(column.levels, ranks, len(column.counts))
    of_levels = column.ranks
    if not is_ordered:
        if len(column.counts) * FEWEST_A_VALUE > n:
            return 0.0
        order = np.argsort(by_level / column.counts)
        of_levels = np.empty_like(of_levels)
        of_levels[order] = _mid_ranks(column.counts[order])
    variance = min(column.variance if is_ordered else _spread(column.counts, of_levels), target.variance)
    return abs(float(of_levels @ by_level)) / n / variance


def _mid_ranks(counts: NDArray[np.int64]) -> Floats:
    return np.asarray((np.cumsum(counts) - counts / 2) / max(int(counts.sum()), 1) - 0.5, np.float64)


def _spread(counts: NDArray[np.int64], ranks: Floats) -> float:
    """Return the variance of ranks, whose mean is 0."""
    return float(np.vdot(counts, ranks * ranks)) / max(int(counts.sum()), 1)


def _renumber(levels: Levels) -> Levels:
    """Return levels without those that nobody has."""
    is_there = np.bincount(levels) > 0
    return (np.cumsum(is_there) - 1)[levels]


def _targets(question: Question, rows: NDArray[np.int64]) -> Iterator[tuple[str, _Ranked]]:
    """Return what a column may be made from, and what that is called."""
    scores = question.scores
    for column in scores.values[rows].reshape(len(rows), -1).T[:MOST_LABELS]:
        levels = rank_numbers(column)[0]
        if levels.max(initial=0) > 1:  # else they are the decision
            yield "scores", _Ranked.of(levels)
    if question.outcomes is not None:
        yield "outcome", _Ranked.of(rank_numbers(question.outcomes[rows])[0])
    coded: dict[str, Levels] = {} if scores.decisions is None else {"decision": np.asarray(scores.decisions)}
    coded |= {"label": question.table.labels} if scores.has_labels else {}
    for what, codes in coded.items():
        some = codes[rows]
        counts = np.bincount(some)
        often = np.argsort(-counts, kind="stable")[:MOST_LABELS]
        for code in often[:1] if np.count_nonzero(counts) < 3 else often:
            yield what, _Ranked.of((some == code).astype(np.int64))
        if len(counts) > 2:  # numbers of labels, such as grades
            yield what, _Ranked.of(_renumber(some))


def _columns(table: CodedTable) -> Iterator[_Column]:
    """Return the columns that people are matched on."""
    for name, numbers in zip(table.names["continuous"], table.continuous.T, strict=True):
        has_value = numbers != MISSING_VALUE
        yield _Column(name, rank_numbers(numbers)[0], True, None if has_value.all() else has_value)
    for name, ranks in zip(table.names["ordinal"], table.ordinal.T, strict=True):
        has_value = ranks != MISSING_RANK
        yield _Column(name, _renumber(np.maximum(ranks, 0)), True, None if has_value.all() else has_value)
    for kind in ("discrete", "matched"):
        for name, codes in zip(table.names[kind], getattr(table, kind).T, strict=True):
            values = table.categories.get(name, ())
            has_value = codes != values.index(None) if None in values else None
            present = [value for value in values if value is not None]
            if present and all(isinstance(value, int | float) for value in present):
                numbers = np.array([np.inf if value is None else float(value) for value in values])
                is_ordered = len(numbers) * FEWEST_A_VALUE > len(codes)  # with fewer, any order is tried
                yield _Column(name, rank_numbers(numbers[codes])[0], is_ordered, has_value)
            else:
                yield _Column(name, _renumber(codes), False, has_value)


def _find_alike(
    table: CodedTable, learned: Mapping[str, tuple[Any, ...]], names: Callable[[str], tuple[str, ...]]
) -> Iterator[tuple[str, list[list[str]]]]:
    """Return the columns of categories with values that are written alike, among those that occur."""
    for kind in ("sensitive", "discrete", "matched"):
        for position, name in enumerate(names(kind)):
            values = table.categories.get(name, learned.get(name, ()))
            groups = group_alike(values)
            if groups and name in table.names[kind]:  # on Spark, other columns are not at hand
                codes = np.flatnonzero(np.bincount(getattr(table, kind)[:, position]))
                groups = group_alike([values[code] for code in codes.tolist()])
            if groups:
                yield name, groups


def group_alike(values: Iterable[Any]) -> list[list[str]]:
    """Group texts that differ only in case, space, invisible letters, forms of letters, or in how a number is written.

    Letters of Cyrillic and Greek that look like Latin ones count as these.
    """
    groups: dict[Any, list[str]] = {}
    for value in values:
        if isinstance(value, str):
            groups.setdefault(_plain(value), []).append(value)
    return [some for some in groups.values() if len(some) > 1]


def _plain(text: str) -> Any:
    """Return what texts have in common that are written alike."""
    letters = unicodedata.normalize("NFKC", text).translate(INVISIBLE)
    words = " ".join(letters.casefold().upper().translate(LOOK_ALIKES).split())
    try:
        return float(words) if words.isascii() and words[:1] in "+-.0123456789" and words else words
    except ValueError:
        return words


def _show(text: str) -> str:
    """Return a text in quotes, with letters of other alphabets that look like Latin ones as their codes."""
    has_look_alikes = text.upper().translate(LOOK_ALIKES) != text.upper()
    return ascii(text) if has_look_alikes else repr(text)
