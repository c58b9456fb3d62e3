"""How well the values of a row fit each other, beside those of people who exist; and the worst row that fits enough."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise._checks import is_number
from likewise.certifying._neighbourhood import (
    DOWN,
    OTHER_VALUE,
    OWN_VALUE,
    UP,
    Codes,
    ExtremeRows,
    Neighbourhood,
    Numbers,
    boxes_of,
)
from likewise.exceptions import ParameterError
from likewise.generation import GibbsGenerator

TIE: Final = 1e-9  # of a log likelihood: rows this near fit alike
MOST_SENSITIVE: Final = 4  # columns that are put back one by one; more are put back together
MOST_VALUES: Final = 12  # of a sensitive column that are tried, the most frequent among worst rows


@dataclass(frozen=True, slots=True, eq=False)
class Plausibility:
    """Ranks rows among the certified people, by the conditionals of a fitted generator."""

    generator: GibbsGenerator
    fits: Numbers  # of the people themselves, ascending

    @classmethod
    def of(cls, generator: Any, around: Neighbourhood) -> Plausibility:
        """Rank by a generator; refuse one that is not fitted, or that does not know what may change."""
        if not isinstance(generator, GibbsGenerator):
            raise ParameterError(
                f"is a {type(generator).__name__}; give a GibbsGenerator that is fitted to the training rows.",
                "generator",
            )
        if not hasattr(generator, "schema_"):
            raise ParameterError("is not fitted. Call its fit with the training rows first.", "generator")
        known = set(generator.feature_names_in_)
        unknown = [one.name for one in around.coded if one.kind != "matched" and one.name not in known]
        if unknown:
            raise ParameterError(
                f"does not know column '{unknown[0]}', which comparable people may have otherwise. Fit it with these "
                "roles.",
                "generator",
            )
        return cls(generator, np.sort(generator.score_samples(around.frame)))

    def rank(self, frame: Any) -> Numbers:
        """Return for each row the share of the people whose own values fit each other no better."""
        found = self.generator.score_samples(frame)
        ranks: Numbers = np.searchsorted(self.fits, found + TIE, side="right") / len(self.fits)
        return ranks


def check_plausibility(generator: Any, least: Any) -> None:
    """Refuse a share that is none, and one without a generator to rank by."""
    if not is_number(least) or not 0 <= least < 1:
        raise ParameterError(
            f"is {least!r}; give a share of people from 0 to below 1, such as 0.05.", "min_plausibility"
        )
    if least and generator is None:
        raise ParameterError(
            "needs a generator to rank rows by; give a fitted GibbsGenerator as well.", "min_plausibility"
        )


@dataclass(slots=True, eq=False)
class ChosenRows:
    """One row per person, with its gap and score; where there is none, the person's own."""

    codes: dict[str, Codes]
    numbers: dict[str, Numbers]
    gaps: Numbers
    scores: Numbers
    has_row: NDArray[np.bool_]

    @classmethod
    def start(cls, around: Neighbourhood, scores: Numbers) -> ChosenRows:
        """Begin with everybody's own row."""
        return cls(
            {one.name: one.own.copy() for one in around.coded},
            {one.name: one.own.copy() for one in around.numbers},
            np.zeros(len(around)),
            scores.copy(),
            np.zeros(len(around), np.bool_),
        )

    def some(self, places: NDArray[Any]) -> ChosenRows:
        """Return the rows at some places."""
        codes, numbers = ({name: one[places] for name, one in part.items()} for part in (self.codes, self.numbers))
        return ChosenRows(codes, numbers, self.gaps[places], self.scores[places], self.has_row[places])

    def take(self, people: Codes, row: ChosenRows) -> None:
        """Put rows in place of those of some people."""
        for mine, theirs in ((self.codes, row.codes), (self.numbers, row.numbers)):
            for name, values in theirs.items():
                mine[name][people] = values
        self.gaps[people], self.scores[people] = row.gaps, row.scores
        self.has_row[people] = True


class _Attempt(NamedTuple):
    """Which changes of a row to keep, and a sensitive value to put into it instead of its own."""

    kept: frozenset[str]
    instead: tuple[str, int] | None = None


def choose_plausible(
    rows: ExtremeRows,
    scores: Numbers,
    ask: Callable[[Any], Numbers],
    rank: Callable[[Any], Numbers],
    least: float,
) -> ChosenRows:
    """Choose for each person the worst row found that is plausible enough.

    Tried are the rows with the highest and the lowest score; for people whose worst is not plausible, also these rows
    with some of their changes taken back, in all combinations (each sensitive column, the discrete ones together, ranks
    and numbers together), and with other sensitive values. What is found shows how large the gap is at least; no other
    row is ruled out.
    """
    around, attempts = rows.around, _attempts(rows)
    chosen, left, worst = ChosenRows.start(around, scores), np.arange(len(around)), np.zeros(len(around))
    for attempt in attempts:
        for direction in (UP, DOWN):
            people = left[rows.is_possible[direction][left]]
            row = _attempt(rows, direction, people, attempt)
            people, row = people[row.has_row], row.some(row.has_row)
            if not len(people):
                continue
            frame = around.rows(people, row.codes, row.numbers)
            row.scores = ask(frame)
            row.gaps = (1.0 if direction == UP else -1.0) * (row.scores - scores[people])
            better = (row.gaps > chosen.gaps[people]) & (rank(frame) >= least)
            worst[people] = np.maximum(worst[people], row.gaps)
            chosen.take(people[better], row.some(better))
        if attempt is attempts[0]:  # where the worst of all rows is plausible, there is none to look for
            left = np.flatnonzero(chosen.gaps < worst)
    return chosen


def _attempts(rows: ExtremeRows) -> list[_Attempt]:
    """List what is tried: all changes first, then each combination of groups of them, then other sensitive values."""
    around = rows.around
    sensitive = [one.name for one in around.coded if one.kind == "sensitive"]
    apart = [(name,) for name in sensitive] if len(sensitive) <= MOST_SENSITIVE else [tuple(sensitive)]
    discrete = tuple(one.name for one in around.coded if one.kind == "discrete")
    near = (*(one.name for one in around.coded if one.kind == "ordinal"), *(one.name for one in around.numbers))
    others = [group for group in (discrete, near) if group]
    found = [_Attempt(kept) for kept in _combine([*apart, *others])[:-1]]
    if around.rule.sensitive_differs == "none":
        return found
    for name in sensitive:
        beside = [one for one in sensitive if one != name] if around.rule.sensitive_differs == "all" else []
        codes, counts = np.unique(rows.codes[name], return_counts=True)  # values that the model can score
        for code in codes[np.argsort(-counts, kind="stable")][:MOST_VALUES].tolist():
            found += [_Attempt(kept.union(beside), (name, code)) for kept in _combine(others)]
    return found


def _combine(groups: list[tuple[str, ...]]) -> list[frozenset[str]]:
    """List the unions of groups, that of all first."""
    return [
        frozenset(name for group, is_kept in zip(groups, choice, strict=True) if is_kept for name in group)
        for choice in product((True, False), repeat=len(groups))
    ]


def _attempt(rows: ExtremeRows, direction: int, people: Codes, attempt: _Attempt) -> ChosenRows:
    """Return the rows of one direction, the person's own where a change is not kept; and whether they are comparable.

    They are, if the sensitive columns differ as the rule asks: all else is nearer than in a row that was comparable.
    """
    around, kept = rows.around, attempt.kept
    codes = {c.name: (rows.codes[c.name][direction] if c.name in kept else c.own)[people] for c in around.coded}
    numbers = {c.name: (rows.numbers[c.name][direction] if c.name in kept else c.own)[people] for c in around.numbers}
    if attempt.instead is not None:
        codes[attempt.instead[0]] = np.full(len(people), attempt.instead[1])
    sensitive = [one for one in around.coded if one.kind == "sensitive"]
    differs = np.array([codes[one.name] != one.own[people] for one in sensitive], np.bool_)
    boxes, nothing = boxes_of(around.rule, len(sensitive)), np.zeros(len(people))
    fits = [differs[box == OTHER_VALUE].all(axis=0) & ~differs[box == OWN_VALUE].any(axis=0) for box in boxes]
    return ChosenRows(codes, numbers, nothing, nothing, np.any(fits, axis=0))
