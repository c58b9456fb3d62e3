"""The measures of an audit: what each is called, counts and allows, and how its numbers are written."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Final, Literal

from likewise._checks import suggest
from likewise._format import POINTS

Family = Literal["pairs", "excess", "direction", "people", "group", "column", "explained", "certified", "series"]
Unit = Literal["gap", "share", "number"]
Sense = Literal["max", "min"]

MIRROR: Final = "mirror"  # the part of the pairs whose target, and not the control, is no better
EXCESS_OF: Final = {"gap_mean": "excess", "rank_gap_mean": "excess_rank_gap", "flip_rate": "excess_flips"}
SAME_GROUP_OF: Final = {name: f"same_group_{name}" for name in EXCESS_OF}  # the baseline of these
PROPER: Final = ("ROC", "F1", "R²", "Brier")  # titles that begin so keep their capital
SMALLEST: Final = 0.001  # a plain number below it would show as 0.000


@dataclass(frozen=True, slots=True)
class MeasureKind:
    """A measure of audits, whatever part of the people or pairs it is of.

    A name says what is measured, then how it is summed up: ``gap_mean``. Same-group pairs are the baseline of pairs:
    ``same_group_gap_mean``. The excess over it is of people, and always their mean: ``excess``, ``excess_flips``. Of
    target and control the name says who fares better: ``control_only_rate`` is the share of pairs in which only the
    control is approved. Performance has scikit-learn's names. A label, group, transition or column is a second
    dimension, and no part of a name: ``audit["gap_mean", 1]``, in text ``gap_mean[1]``.

    Parameters
    ----------
    name : str
        As in ``audit["gap_mean"]`` and, after ``max_`` or ``min_``, in a policy.
    title : str
        As tables call it.
    words : str
        What it is.
    unit : {"gap", "share", "number"}
        A gap between scores, in percentage points between probabilities; a share, in percent; or a plain number.
    family : str
        What it is measured of: "pairs" and "excess" (also by label: ``audit["gap_mean", 1]``); "direction" (target and
        control; also by transition, and the mirror image); "people"; "group", by group only; "column", by column, and
        "explained", where gaps are split over columns; "certified", where people are certified; "series", over time.
    better : {"low", "high"}, optional
        Which side is better; neither for signed measures and ratios.
    least, most : float, optional
        The values it can have; by default at most 1 if it is a share.
    is_fact : bool
        Whether it is a fact about the pairs or people at hand, which has no interval.

    Examples
    --------
    >>> from likewise.auditing import MEASURES
    >>> MEASURES["gap_mean"].words
    'mean gap between the two scores of a pair'
    >>> [name for name, kind in MEASURES.items() if kind.family == "excess"]
    ['excess', 'excess_equal', 'excess_rank_gap', 'excess_flips']
    """

    name: str
    title: str
    words: str
    unit: Unit = "number"
    family: Family = "people"
    better: Literal["low", "high"] | None = None
    least: float = 0.0
    most: float | None = None
    is_fact: bool = False

    @property
    def range(self) -> tuple[float, float]:
        """The least and the largest value that it can have."""
        return self.least, (1.0 if self.unit == "share" else math.inf) if self.most is None else self.most

    @property
    def counted_in(self) -> Literal["pairs", "people"]:
        """What its ``n`` counts."""
        return "pairs" if self.family in ("pairs", "direction", "column", "explained", "series") else "people"

    @property
    def sense(self) -> Sense | None:
        """On which side a policy limits it; None for both."""
        return None if self.better is None else "max" if self.better == "low" else "min"

    @property
    def is_by_label(self) -> bool:
        """Whether it is measured for each label, too."""
        return self.family in ("pairs", "excess")

    @property
    def is_of_whole(self) -> bool:
        """Whether it is measured of the whole audit, and not of groups or columns only."""
        return self.family not in ("group", "column", "series")


_of_pairs = partial(MeasureKind, family="pairs", better="low")
_of_excess = partial(MeasureKind, family="excess", better="low", least=-math.inf)
_of_direction = partial(MeasureKind, family="direction")
_of_group = partial(MeasureKind, family="group")
_MEASURES = [
    _of_pairs("gap_mean", "Mean gap", "mean gap between the two scores of a pair", "gap"),
    _of_pairs("gap_median", "Median gap", "median gap", "gap"),
    _of_pairs("gap_q3", "Upper quartile (Q3)", "upper quartile of the gaps", "gap"),
    _of_pairs("gap_q95", "95th percentile", "95th percentile of the gaps", "gap"),
    _of_pairs("gap_max", "Largest gap", "largest gap", "gap", is_fact=True),
    _of_pairs(
        "gap_share_above", "Share with a gap above the limit", "share of pairs with a gap above the limit", "share"
    ),
    _of_pairs("flip_rate", "Share with different decisions", "share of pairs with different decisions", "share"),
    _of_pairs("rank_gap_mean", "Mean rank gap", "mean gap between the ranks of a pair among all people", "share"),
    _of_pairs("same_group_gap_mean", "Mean gap, same-group pairs", "mean gap of same-group pairs (baseline)", "gap"),
    _of_pairs(
        "same_group_flip_rate",
        "Share with different decisions, same-group pairs",
        "share of same-group pairs (baseline) with different decisions",
        "share",
    ),
    _of_pairs(
        "same_group_rank_gap_mean",
        "Mean rank gap, same-group pairs",
        "mean rank gap of same-group pairs (baseline)",
        "share",
    ),
    _of_excess(
        "excess",
        "Excess",
        "a person's mean gap to other groups less that to the own group, averaged over people",
        "gap",
    ),
    _of_excess(
        "excess_equal",
        "Excess, discrete columns equal",
        "excess of the pairs that are equal in all discrete columns",
        "gap",
    ),
    _of_excess("excess_rank_gap", "Excess of rank gaps", "excess of rank gaps, by person", "share", least=-1.0),
    _of_excess(
        "excess_flips",
        "Excess of different decisions",
        "excess of different decisions, by person",
        "share",
        least=-1.0,
    ),
    _of_direction(
        "signed_gap",
        "Signed gap",
        "mean of target less control: negative where the target is worse off",
        "gap",
        least=-math.inf,
    ),
    _of_direction(
        "adjusted_gap",
        "Adjusted gap",
        "signed gap of people alike in every compared column, by a regression over the pairs",
        "gap",
        least=-math.inf,
    ),
    _of_direction(
        "control_only_rate",
        "Only the control approved",
        "share of pairs in which only the control is approved",
        "share",
        better="low",
    ),
    _of_direction(
        "target_only_rate",
        "Only the target approved",
        "share of pairs in which only the target is approved",
        "share",
    ),
    _of_direction(
        "control_better_rate",
        "Control scored better",
        "share of pairs in which the control has the better score",
        "share",
    ),
    _of_direction(
        "target_better_rate",
        "Target scored better",
        "share of pairs in which the target has the better score",
        "share",
    ),
    MeasureKind(
        "approval_gap",
        "Approval gap",
        "share of pairs with only the target approved less that with only the control approved",
        "gap",
        "series",
        least=-1.0,
        most=1.0,
    ),
    MeasureKind(
        "part",
        "Part of the mean gap",
        "part of the mean gap that a column makes (Shapley value)",
        "gap",
        "column",
        least=-math.inf,
    ),
    MeasureKind(
        "part_share",
        "Share of the mean gap",
        "share of the mean gap that a column makes",
        "share",
        "column",
        least=-math.inf,
        most=math.inf,
    ),
    MeasureKind(
        "sensitive_part",
        "Part of the mean gap, sensitive columns",
        "part of the mean gap that the sensitive columns make together",
        "gap",
        "explained",
        least=-math.inf,
    ),
    MeasureKind(
        "sensitive_part_share",
        "Share of the mean gap, sensitive columns",
        "share of the mean gap that the sensitive columns make together",
        "share",
        "explained",
        least=-math.inf,
        most=math.inf,
    ),
    MeasureKind(
        "certified_share",
        "People within the gap limit of everybody comparable",
        "share of people certified to be within the gap limit of everybody comparable",
        "share",
        "certified",
        "high",
    ),
    MeasureKind(
        "certified_mean",
        "Mean worst possible gap",
        "mean over people of the certified worst gap to anybody comparable",
        "gap",
        "certified",
        "low",
    ),
    MeasureKind(
        "certified_max",
        "Largest worst possible gap",
        "largest certified worst gap of a person",
        "gap",
        "certified",
        "low",
        is_fact=True,
    ),
    MeasureKind("roc_auc", "ROC AUC", "area under the ROC curve", better="high", most=1.0),
    MeasureKind("average_precision", "Average precision", "average precision", better="high", most=1.0),
    MeasureKind("accuracy", "Accuracy", "share of correct decisions", "share", better="high"),
    MeasureKind(
        "balanced_accuracy",
        "Balanced accuracy",
        "share of correct decisions, averaged over labels",
        "share",
        better="high",
    ),
    MeasureKind(
        "f1",
        "F1",
        "F1 of the positive label (macro average where there are more than two labels)",
        better="high",
        most=1.0,
    ),
    MeasureKind("log_loss", "Log loss", "log loss", better="low"),
    MeasureKind("brier", "Brier score", "Brier score", better="low", most=1.0),
    MeasureKind(
        "calibration_error",
        "Expected calibration error",
        "expected calibration error, over ten bins of people",
        "share",
        better="low",
    ),
    MeasureKind(
        "score_spread", "Standard deviation of scores", "standard deviation of the scores", "share", most=math.inf
    ),
    MeasureKind("r2", "R²", "coefficient of determination", better="high", least=-math.inf, most=1.0),
    MeasureKind("mean_absolute_error", "Mean absolute error", "mean absolute error", better="low"),
    MeasureKind("root_mean_squared_error", "Root mean squared error", "root mean squared error", better="low"),
    MeasureKind(
        "matched_share",
        "Matched people",
        "share of people with at least one comparable pair",
        "share",
        better="high",
        most=1.0,
        is_fact=True,
    ),
    MeasureKind(
        "impact_ratio",
        "Adverse impact ratio (four-fifths rule)",
        "lowest selection rate of a group of at least 30 people over the highest, or over the control's",
    ),
    _of_group("selection_rate", "Selection rate", "share of a group that is approved", "share"),
    _of_group(
        "true_positive_rate",
        "True positive rate",
        "share approved of a group's people with the favourable label",
        "share",
    ),
    _of_group(
        "false_positive_rate",
        "False positive rate",
        "share approved of a group's people with the other label",
        "share",
    ),
    _of_group("scoring_rate", "Scoring rate", "share of a group on the favourable side of the median score", "share"),
    _of_group("mean_score", "Mean score", "mean score of a group", least=-math.inf),
]
OF_SCORES: Final = frozenset(  # which decisions alone do not have: all gaps are 0 or 1
    (
        *("gap_mean", "gap_median", "gap_q3", "gap_q95", "gap_max", "gap_share_above", "rank_gap_mean"),
        *("same_group_gap_mean", "same_group_rank_gap_mean", "excess", "excess_rank_gap"),
        *("roc_auc", "average_precision", "log_loss", "brier", "calibration_error", "score_spread", "mean_score"),
    )
)
MEASURES: Final[Mapping[str, MeasureKind]] = MappingProxyType({kind.name: kind for kind in _MEASURES})


def name_part(part: Any) -> str:
    """Return a label, or another part that a measure is of, as names have it: ``1``."""
    return f"{part:.15g}" if isinstance(part, float) else str(part)


def key_of(name: str, part: Any = None) -> str:
    """Return the name of a measure with the part that it is of: ``gap_mean[1]``."""
    return name if part is None else f"{name}[{name_part(part)}]"


def split_key(key: str) -> tuple[str, str | None]:
    """Split ``gap_mean[1]`` into the name and the part; no part for ``gap_mean``."""
    name, bracket, rest = key.partition("[")
    return (name, rest.removesuffix("]")) if bracket and key.endswith("]") else (key, None)


def kind_of(key: str) -> MeasureKind:
    """Return the measure of a name, with or without its part."""
    return MEASURES[split_key(key)[0]]


def with_part(key: str, name: str) -> str:
    """Return another measure of the part that a name is of."""
    return key_of(name, split_key(key)[1])


def title_of(key: str) -> str:
    """Return the title of a measure with its part."""
    name, part = split_key(key)
    kind = MEASURES[name]
    if part is None:
        return kind.title
    of_what = "mirror image" if part == MIRROR else f"label {part}" if kind.is_by_label else part
    return f"{kind.title}, {of_what}"


def in_words(key: str) -> str:
    """Return the title of a measure within a sentence: ``mean gap, label 1``."""
    title = title_of(key)
    return title if title.startswith(PROPER) else f"{title[0].lower()}{title[1:]}"


def phrase_of(key: str) -> str:
    """Return a measure as the subject of a sentence: ``the mean gap, label 1,``."""
    words = f"{in_words(key)}{',' if split_key(key)[1] else ''}"
    return words if words.startswith(PROPER) else f"the {words}"


def is_reducible(key: Any) -> bool:
    """Whether a name is that of a measure of pairs, or of their excess, which is better the smaller it is."""
    kind = MEASURES.get(split_key(key)[0]) if isinstance(key, str) else None
    return kind is not None and kind.is_by_label


def reducible_measures() -> list[str]:
    """List the measures that a search can reduce and a scorer return."""
    return [name for name, kind in MEASURES.items() if kind.is_by_label]


def advise_measure(name: str, known: Iterable[str]) -> str:
    """End of an error message: the measure that was probably meant, or where all of them are listed."""
    return suggest(name, known) or " likewise.auditing.MEASURES has all names."


def show_value(key: str, value: float | None, decimals: int | None = None, *, points: bool = False) -> str:
    """Format the value of a measure: 31.60%, or 0.842 where it is not a share; with ``points``, a gap is 3.67 pp."""
    if value is None or not math.isfinite(value):
        return "not measured" if value is None else str(value)
    if kind_of(key).unit != "number":
        return f"{100 * value:z.{2 if decimals is None else decimals}f}{_unit(key, points)}"
    if decimals is None and 0 < abs(value) < SMALLEST:
        return f"{value:.3g}"
    return f"{value:z,.{3 if decimals is None else decimals}f}"


def show_limit(key: str, limit: float, *, points: bool = False) -> str:
    """Format a limit as a user would set it: 20%, 0.8."""
    is_plain = kind_of(key).unit == "number"
    return f"{limit:,.10g}" if is_plain else f"{100 * limit:,.10g}{_unit(key, points)}"


def show_interval(
    key: str, low: float | None, high: float | None, decimals: int | None = None, *, points: bool = False
) -> str:
    """Format a confidence interval: 28.00% to 35.00%; "at most" or "at least" where one end is open, "" if both are."""
    if low is None and high is None:
        return ""
    ends = show_value(key, low, decimals, points=points), show_value(key, high, decimals, points=points)
    if low is not None and high is not None:  # beside a value, which has the unit
        ends = ends[0].removesuffix(POINTS), ends[1].removesuffix(POINTS)
    return f"at most {ends[1]}" if low is None else f"at least {ends[0]}" if high is None else f"{ends[0]} to {ends[1]}"


def _unit(key: str, points: bool) -> str:
    """Return the unit of a measure in hundredths: of a gap between probabilities, percentage points."""
    return POINTS if points and kind_of(key).unit == "gap" else "%"
