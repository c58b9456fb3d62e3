"""One number of an audit, and the names that all numbers go by: in Python, policies, files and reports alike."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from likewise._checks import suggest

SLICES: Final = ("", "positive_", "negative_")  # all pairs, those with the positive label, those with the negative

# What can be said of the gaps of a slice of pairs; with ``within_``, of pairs that are equal in the sensitive columns.
PAIR_MEASURES: Final = {
    "gap_mean": "mean gap between the two scores of a pair",
    "gap_median": "median gap",
    "gap_q3": "upper quartile of the gaps",
    "gap_q95": "95th percentile of the gaps",
    "gap_max": "largest gap",
    "gap_share_above": "share of pairs whose gap is above the limit",
    "gap_over_spread": "mean gap divided by the standard deviation of all scores",
    "rank_gap_mean": "mean gap between the two ranks of a pair among all scored people",
    "rank_gap_median": "median rank gap",
    "rank_gap_q3": "upper quartile of the rank gaps",
    "rank_gap_q95": "95th percentile of the rank gaps",
    "rank_gap_max": "largest rank gap",
    "flip_rate": "share of pairs with two different decisions",
}
EXCESS_MEASURES: Final = {
    "excess_gap_mean": "mean gap beyond that of pairs equal in the sensitive columns",
    "excess_rank_gap_mean": "mean rank gap beyond that of pairs equal in the sensitive columns",
    "excess_flip_rate": "flip rate beyond that of pairs equal in the sensitive columns",
}
PEOPLE_MEASURES: Final = {
    "roc_auc": "area under the ROC curve",
    "average_precision": "average precision",
    "accuracy": "share of right decisions",
    "balanced_accuracy": "mean share of right decisions by label",
    "f1": "F1 of the positive label (of all labels, averaged, where there are more than two)",
    "log_loss": "log loss",
    "brier": "Brier score",
    "calibration_error": "mean distance between scores and what came true, over tenths of the people",
    "score_spread": "standard deviation of the scores",
    "r2": "share of the outcome's variance explained",
    "mean_absolute_error": "mean absolute error",
    "root_mean_squared_error": "root of the mean squared error",
    "coverage": "share of people who have a comparable partner",
    "impact_ratio": "lowest selection rate of a sensitive value that 30 people have, divided by the highest",
}


@dataclass(frozen=True, slots=True)
class Measure:
    """Hold a number with its confidence interval and what it rests on.

    Parameters
    ----------
    value : float or None
        None where it cannot be measured, as with no pairs of that label.
    low, high : float or None
        The ends of the confidence interval; both None where there is none, as for a maximum or a mere count, and one
        of them where the interval has no end on that side.
    n : int
        How many pairs, or people, it rests on.

    Examples
    --------
    >>> from likewise.auditing import Measure
    >>> Measure(0.316, low=0.28, high=0.35, n=193)
    Measure(value=0.316, low=0.28, high=0.35, n=193)
    >>> print(Measure(0.316, low=0.28, high=0.35, n=193))
    0.316 (0.28 to 0.35)
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0

    def __str__(self) -> str:
        shown, low, high = ("?" if one is None else f"{one:.3g}" for one in (self.value, self.low, self.high))
        if self.value is None:
            return "not measured"
        return shown if self.low is None and self.high is None else f"{shown} ({low} to {high})"


def describe_measure(name: str) -> str | None:
    """Say in words what a measure is.

    Parameters
    ----------
    name : str

    Returns
    -------
    str or None
        None if there is no measure of that name.

    Examples
    --------
    >>> from likewise.auditing import describe_measure
    >>> describe_measure("positive_within_gap_q3")
    'upper quartile of the gaps, pairs equal in the sensitive columns, positive label'
    """
    where, rest = _split(name)
    within = rest.startswith("within_") and rest.removeprefix("within_") in PAIR_MEASURES
    words = PAIR_MEASURES.get(rest.removeprefix("within_")) if within else (PAIR_MEASURES | EXCESS_MEASURES).get(rest)
    if words is None:
        return PEOPLE_MEASURES.get(name)
    return f"{words}{', pairs equal in the sensitive columns' if within else ''}{where}"


def rests_on(name: str) -> Literal["pairs", "people"]:
    """Say what the ``n`` of a measure counts."""
    return "people" if name in PEOPLE_MEASURES else "pairs"


def slice_of(name: str) -> str:
    """Give the prefix that says which pairs a measure is about; "" for all of them, or for a measure of people."""
    return next((where for where in SLICES[1:] if name.startswith(where)), "")


def _split(name: str) -> tuple[str, str]:
    """Part the slice from the rest, and put it into words."""
    where = slice_of(name)
    return (f", {where.removesuffix('_')} label" if where else ""), name.removeprefix(where)


def known_measures() -> list[str]:
    """List every name a measure can have.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from likewise.auditing import known_measures
    >>> "positive_excess_gap_mean" in known_measures()
    True
    """
    of_pairs = [*PAIR_MEASURES, *EXCESS_MEASURES, *(f"within_{name}" for name in PAIR_MEASURES)]
    return [*(f"{where}{name}" for where in SLICES for name in of_pairs), *PEOPLE_MEASURES]


def advise_measure(name: str, known: Iterable[str]) -> str:
    """Say, as the end of an error, which measure may have been meant, or where all of them are listed."""
    return suggest(name, known) or " likewise.auditing.known_measures() lists the names."
