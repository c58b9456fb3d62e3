"""One number of an audit, the names that numbers have everywhere, and the distributions behind them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from likewise._checks import suggest
from likewise._format import PLAIN, POINTS, count_of, show_found, show_interval, show_points, show_value

SLICES: Final = ("", "positive_", "negative_")  # all pairs, pairs with the positive label, pairs with the negative

# Measured for each slice of pairs; with ``within_``, for the same-group pairs (baseline).
PAIR_MEASURES: Final = {
    "gap_mean": "mean gap between the two scores of a pair",
    "gap_median": "median gap",
    "gap_q3": "upper quartile of the gaps",
    "gap_q95": "95th percentile of the gaps",
    "gap_max": "largest gap",
    "gap_share_above": "share of pairs with a gap above the limit",
    "gap_over_spread": "mean gap divided by the standard deviation of all scores",
    "rank_gap_mean": "mean gap between the two ranks of a pair among all scored people",
    "rank_gap_median": "median rank gap",
    "rank_gap_q3": "upper quartile of the rank gaps",
    "rank_gap_q95": "95th percentile of the rank gaps",
    "rank_gap_max": "largest rank gap",
    "flip_rate": "share of pairs with different decisions",
}
EXCESS_MEASURES: Final = {
    "excess_gap_mean": "excess, by person: mean gap to other groups less mean gap to the own group",
    "excess_equal_gap_mean": "excess, by person, of the pairs that are equal in all discrete columns",
    "excess_rank_gap_mean": "excess of rank gaps, by person",
    "excess_flip_rate": "excess of different decisions, by person",
}
MIRROR: Final = "mirror_"
OF_TARGETS: Final = {  # of the pairs of a target and a control, where a reference is named
    "target_gap_mean": "signed mean gap between target and control: negative where the target is worse off",
    "control_only_rate": "share of target-control pairs in which only the control is approved",
    "target_only_rate": "share of target-control pairs in which only the target is approved",
}
TARGET_MEASURES: Final = OF_TARGETS | {  # where the rule asks that the control is no better
    f"{MIRROR}{name}": f"{words}, where the target is no better" for name, words in OF_TARGETS.items()
}
TRANSITION_MEASURES: Final = {  # of the pairs of one transition between sensitive values, "sex: Male → Female"
    "signed_gap_mean": "signed mean gap of a transition: negative where its second group is worse off",
    "adjusted_gap": "the same of people who are alike in every compared column, by a regression over the pairs",
    "favoured_share": "share of the pairs of a transition in which the second group's person has the better score",
    "only_approved_share": "share of the pairs of a transition in which only the second group's person is approved",
}
PART_MEASURES: Final = {  # of a column, where gaps are split over columns
    "part": "part of the mean gap that a column makes (Shapley value)",
    "part_share": "share of the mean gap that a column makes",
}
SENSITIVE_MEASURES: Final = {  # where gaps are split over columns
    "sensitive_part": "part of the mean gap that the sensitive columns make together (Shapley values)",
    "sensitive_part_share": "share of the mean gap that the sensitive columns make together",
}
CERTIFIED_MEASURES: Final = {  # of people, where they are certified
    "certified_share": "share of people certified to be within the gap limit of everybody comparable",
    "certified_mean": "mean over people of the certified worst gap to anybody comparable",
    "certified_max": "largest certified worst gap of a person",
}
PEOPLE_MEASURES: Final = {
    "roc_auc": "area under the ROC curve",
    "average_precision": "average precision",
    "accuracy": "share of correct decisions",
    "balanced_accuracy": "share of correct decisions, averaged over labels",
    "f1": "F1 of the positive label (macro average where there are more than two labels)",
    "log_loss": "log loss",
    "brier": "Brier score",
    "calibration_error": "expected calibration error, over ten bins of people",
    "score_spread": "standard deviation of the scores",
    "r2": "coefficient of determination",
    "mean_absolute_error": "mean absolute error",
    "root_mean_squared_error": "root mean squared error",
    "coverage": "share of people with at least one comparable pair",
    "impact_ratio": "adverse impact ratio: lowest selection rate of a group of at least 30 people over the highest",
}


CONCLUDED: Final = {  # of two audits: what is said in a sentence
    "excess_gap_mean": "the excess",
    "gap_mean": "the mean gap",
    "positive_gap_mean": "the mean gap, positive label,",
    "negative_gap_mean": "the mean gap, negative label,",
    "rank_gap_mean": "the mean rank gap",
    "flip_rate": "the share of pairs with different decisions",
    "roc_auc": "ROC AUC",
    "r2": "R²",
}

MEANT: Final = {  # the side on which a limit means something; the rest, such as signed measures, have two
    "max": {
        *(*PAIR_MEASURES, *EXCESS_MEASURES, "control_only_rate", "certified_mean", "certified_max", "log_loss"),
        *("brier", "calibration_error", "mean_absolute_error", "root_mean_squared_error"),
    },
    "min": {
        *("roc_auc", "average_precision", "accuracy", "balanced_accuracy", "f1", "r2", "coverage", "certified_share"),
    },
}

FEW_PAIRS: Final = 30  # fewer say nothing


@dataclass(frozen=True, slots=True)
class Measure:
    """A number with its confidence interval and the number of pairs or people behind it.

    Parameters
    ----------
    value : float or None
        None where it cannot be measured, for example without pairs of that label.
    low, high : float or None
        The ends of the confidence interval; both None where there is none, as for a maximum or a count, and one of
        them None where the interval is open on that side.
    n : int
        The number of pairs or people.

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


@dataclass(frozen=True, slots=True)
class Change:
    """One number before and after.

    Parameters
    ----------
    before, after : Measure
    difference : Measure
        After minus before; for some measures with the interval of the paired difference, which is much narrower than
        the two intervals: see :func:`likewise.compare_audits`.

    Examples
    --------
    >>> from likewise.auditing import Change, Measure
    >>> Change(Measure(0.3), Measure(0.2), Measure(-0.1)).difference.value
    -0.1
    """

    before: Measure
    after: Measure
    difference: Measure

    @property
    def is_known(self) -> bool:
        """Whether there is a number before or after."""
        return self.before.value is not None or self.after.value is not None

    @property
    def n_least(self) -> int:
        """The number of pairs or people behind the smaller of the two."""
        return min(self.before.n, self.after.n)


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What a change comes to; ``str`` of it is a sentence.

    Parameters
    ----------
    outcome : {"worse", "better", "unclear"}
        ``unclear`` where the interval of the difference reaches zero, or there is none.
    text : str
        By how much the measure rose or fell, with the interval.

    Examples
    --------
    >>> from likewise.auditing import Conclusion
    >>> print(Conclusion("worse", "the mean gap rose by 6.20 pp (2.90 to 9.30)."))
    Worse: the mean gap rose by 6.20 pp (2.90 to 9.30).
    """

    outcome: Literal["worse", "better", "unclear"]
    text: str

    def __str__(self) -> str:
        heads = {"worse": "Worse", "better": "Better", "unclear": "No clear change"}
        return f"{heads[self.outcome]}: {self.text}"


def conclude_excess(measures: Mapping[str, Measure], n_people: int, *, points: bool) -> tuple[str, ...]:
    """Whether people are further from comparable people of other groups than of their own, and by how much.

    Nothing where same-group pairs were not measured.
    """
    found, equal = measures.get("excess_gap_mean"), measures.get("excess_equal_gap_mean")
    if found is None:
        return ()
    if found.value is None:
        return ("No excess can be told: nobody is comparable both to people of other groups and to people of the own.",)
    excess = show_found("gap_mean", found.value, found.low, found.high, points=points)
    told = f"Excess: {excess}, over {found.n:,} of {n_people:,} people"
    if equal is not None and equal.n:
        excess = show_found("gap_mean", equal.value, equal.low, equal.high, points=points)
        told += f"; {excess}, over {count_of(equal.n, 'person', 'people')}, where all discrete columns are equal"
    elif equal is not None:
        told += "; none of them has both kinds of partners where all discrete columns are equal"
    if found.low is None or found.high is None:
        return (f"{told}.",)
    if found.low <= 0 <= found.high:
        sentence = "Nothing beyond chance: scores differ as much between comparable people of one group as of two."
    else:
        more = "more" if found.low > 0 else "less"
        sentence = f"Scores differ {more} between comparable people of two groups than between those of one."
    return sentence, f"{told}."


def conclude_change(name: str, change: Change) -> Conclusion | None:
    """Whether a measure rose or fell, by how much, and whether that can be told from chance; None where unknown."""
    found, phrase = change.difference, CONCLUDED.get(name)
    if phrase is None or found.value is None:
        return None
    value = round(found.value, 12)  # 0.3 - 0.1 - 0.2 is no change
    moved = f"{phrase} {'rose' if value > 0 else 'fell'} by {_show_change(name, abs(value))}"
    if value == 0 and not (found.low or found.high):
        return Conclusion("unclear", f"{phrase} is the same.")
    if found.low is None or found.high is None:
        return Conclusion("unclear", f"{moved}, without an interval to tell it from chance.")
    if found.low <= 0 <= found.high:
        sign = -1 if value < 0 else 1  # of a fall, by how much it may have fallen
        interval = _show_ends(name, *sorted((sign * found.low, sign * found.high)))
        unit = "" if name in PLAIN or value else POINTS
        return Conclusion("unclear", f"{moved if value else f'{phrase} is the same'} ({interval}{unit}).")
    interval = _show_ends(name, *sorted((abs(found.low), abs(found.high))))
    if counted_in(name) == "pairs" and change.n_least < FEW_PAIRS:
        few = f"only {change.n_least:,} pairs, too few to conclude anything"
        return Conclusion("unclear", f"{moved} ({interval}), of {few}.")
    is_better = (value > 0) == (sense_of(name) == "min")
    return Conclusion("better" if is_better else "worse", f"{moved} ({interval}).")


def _show_change(name: str, value: float) -> str:
    return show_value(name, value, 3) if name in PLAIN else show_points(value)


def _show_ends(name: str, low: float, high: float) -> str:
    return show_interval(name, low, high, 3) if name in PLAIN else f"{100 * low:z.2f} to {100 * high:z.2f}"


def describe_measure(name: str) -> str | None:
    """Describe a measure in words.

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
    'upper quartile of the gaps, same-group pairs (baseline), positive label'
    """
    prefix = slice_of(name)
    rest = name.removeprefix(prefix)
    where = f", {prefix.removesuffix('_')} label" if prefix else ""
    within = rest.startswith("within_") and rest.removeprefix("within_") in PAIR_MEASURES
    words = PAIR_MEASURES.get(rest.removeprefix("within_")) if within else (PAIR_MEASURES | EXCESS_MEASURES).get(rest)
    if words is None:
        known = TARGET_MEASURES | TRANSITION_MEASURES | PART_MEASURES | SENSITIVE_MEASURES | CERTIFIED_MEASURES
        return (known | PEOPLE_MEASURES).get(name)
    return f"{words}{', same-group pairs (baseline)' if within else ''}{where}"


def counted_in(name: str) -> Literal["pairs", "people"]:
    """Whether the ``n`` of a measure counts pairs or people."""
    of_people = name in PEOPLE_MEASURES or name in CERTIFIED_MEASURES or "excess_" in name
    return "people" if of_people else "pairs"


def slice_of(name: str) -> str:
    """Return the prefix that names the slice of pairs; "" for all pairs and for measures of people."""
    return next((where for where in SLICES[1:] if name.startswith(where)), "")


def sense_of(name: str) -> Literal["max", "min"] | None:
    """Return on which side a measure is limited: gaps from above, performance from below; None for both sides."""
    known = name.removeprefix(slice_of(name)).removeprefix("within_").removeprefix(MIRROR)
    return "max" if known in MEANT["max"] else "min" if known in MEANT["min"] else None


def gap_measures() -> list[str]:
    """List the measures of pairs, the excess among them, that are better the smaller they are."""
    return [
        name
        for name in known_measures()
        if sense_of(name) == "max" and (counted_in(name) == "pairs" or "excess_" in name)
    ]


def known_measures() -> list[str]:
    """List the names of all measures.

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
    explained = [*SENSITIVE_MEASURES, *CERTIFIED_MEASURES]
    sliced = [f"{where}{name}" for where in SLICES for name in of_pairs]
    return [*sliced, *TARGET_MEASURES, *explained, *PEOPLE_MEASURES]


def advise_measure(name: str, known: Iterable[str]) -> str:
    """End of an error message: the measure that was probably meant, or where all of them are listed."""
    return suggest(name, known) or " likewise.auditing.known_measures() lists the names."


@dataclass(frozen=True, slots=True, kw_only=True)
class GapSlice:
    """Gaps of some pairs, counted in bins: of all pairs, or of the pairs with one label."""

    of: Literal["all", "label"]
    label: Any = None
    is_positive: bool | None = None
    n: int
    counts: tuple[float, ...]  # by weight, where people are weighted: they still add up to n
    n_within: int | None
    within_counts: tuple[float, ...] | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; all pairs have no label."""
        named = {} if self.of == "all" else {"label": self.label, "is_positive": self.is_positive}
        counted = {name: getattr(self, name) for name in ("n", "counts", "n_within", "within_counts")}
        return {"of": self.of, **named, **counted}


@dataclass(frozen=True, slots=True)
class GapDistribution:
    """Gaps of comparable and of same-group pairs in the same bins; all pairs come first."""

    edges: tuple[float, ...]
    slices: tuple[GapSlice, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"edges": self.edges, "slices": [one.to_dict() for one in self.slices]}

    def counts(self) -> tuple[tuple[float, ...], ...]:
        """Return the counts of all slices, baselines included."""
        return tuple(counts for one in self.slices for counts in (one.counts, one.within_counts) if counts is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonGap:
    """A person with the largest gap to anybody comparable."""

    row: int
    id: Any
    label: Any
    score: float | tuple[float, ...]
    worst_gap: float
    n_partners: int
    comparator_row: int
    comparator_id: Any
    comparator_score: float | tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonGaps:
    """The largest gap of every matched person: in bins, summed up, and the people with the largest."""

    edges: tuple[float, ...]
    counts: tuple[float, ...]
    n_people: int
    mean: float | None
    median: float | None
    q95: float | None
    worst: tuple[PersonGap, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationBin:
    """People with scores from ``low`` to ``high``: their mean score, and the share with the positive label."""

    n: int
    low: float
    high: float
    mean_score: float
    observed: float


@dataclass(frozen=True, slots=True)
class ScoreSlice:
    """Scores of the people with one label, counted in bins."""

    label: Any
    counts: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ScoreDistribution:
    """Scores by label, in the same bins."""

    edges: tuple[float, ...]
    slices: tuple[ScoreSlice, ...]
