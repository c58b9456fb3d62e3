"""What is to be kept, what is to be made small, and how much may be lost for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._checks import check_number, suggest
from likewise.auditing import Audit, Measure, known_measures
from likewise.exceptions import ScoreError

# 1 where more is better, -1 where less is
DIRECTIONS: Final[Mapping[str, int]] = {
    "average_precision": 1,
    "roc_auc": 1,
    "accuracy": 1,
    "balanced_accuracy": 1,
    "f1": 1,
    "log_loss": -1,
    "brier": -1,
    "calibration_error": -1,
}
BOTH_LABELS: Final = ("positive_gap_mean", "negative_gap_mean")
PAYS_FOR_SQUEEZING: Final = ("log_loss", "brier")  # utilities of probabilities, and not of their order alone
BUDGET_TOLERANCE: Final = 1e-9  # 0.4 - 0.3 > 0.1 in floats; a loss on the limit is within it


@dataclass(frozen=True, slots=True)
class Criteria:
    """By what models are judged."""

    utility: str
    unfairness: tuple[str, ...] | None  # None: the mean gap of each label
    max_loss: float
    cautious: bool

    @classmethod
    def check(cls, utility: Any, unfairness: Any, max_loss: Any, cautious: bool) -> Criteria:
        """Refuse names that no audit has, and impossible budgets."""
        if utility not in DIRECTIONS:
            hint = suggest(str(utility), DIRECTIONS)
            raise ValueError(f"utility is {utility!r}; choose one of {', '.join(map(repr, DIRECTIONS))}.{hint}")
        check_number("max_loss", max_loss, least=0.0)
        if max_loss >= 1 and utility != "log_loss":
            raise ValueError(
                f"max_loss is {max_loss:g}, but {utility} lies between 0 and 1, so everything would be allowed. For "
                f"{max_loss:g} points of a hundred give {max_loss / 100:g}."
            )
        return cls(utility, _check_names(unfairness), float(max_loss), cautious)

    @property
    def rewards_squeezing(self) -> bool:
        """Whether scores that move together look less unfair at no loss: gaps shrink, the order stays."""
        names = BOTH_LABELS if self.unfairness is None else self.unfairness
        is_about_scores = any("gap" in name and "rank" not in name and "over_spread" not in name for name in names)
        return is_about_scores and self.utility not in PAYS_FOR_SQUEEZING

    def loss_of(self, base: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
        """Say how much worse the other utility is."""
        return DIRECTIONS[self.utility] * (base - other)

    def allows(self, loss: Measure) -> bool:
        """Say whether a loss is within the budget: its value, or to be cautious the upper end of its interval."""
        bound = loss.high if self.cautious else loss.value
        return bound is not None and bound <= self.max_loss + BUDGET_TOLERANCE

    def utility_in(self, audit: Audit) -> Measure:
        """Look up the utility."""
        return _known(self.utility, audit[self.utility])

    def unfairness_in(self, audit: Audit) -> dict[str, Measure]:
        """Look up the measures whose mean is the unfairness; of the labels, those that have pairs."""
        if self.unfairness is not None:
            return {name: _known(name, _look_up(name, audit)) for name in self.unfairness}
        if audit.question.scores.task == "binary":
            found = {name: audit[name] for name in BOTH_LABELS}
        else:
            found = {f"gap_mean of {label!r}": measures["gap_mean"] for label, measures in audit.by_label.items()}
        return {name: measure for name, measure in found.items() if measure.value is not None}


def average(measures: Sequence[Measure]) -> Measure:
    """Take the mean of measures, and of the ends of their intervals, as if they went up and down together."""
    low, high = _mean([one.low for one in measures]), _mean([one.high for one in measures])
    n = min((one.n for one in measures), default=0)
    return Measure(_mean([one.value for one in measures]), low, high, n)


def _mean(numbers: Sequence[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    return float(np.mean(known)) if known and len(known) == len(numbers) else None


def _check_names(unfairness: Any) -> tuple[str, ...] | None:
    if unfairness is None:
        return None
    names = tuple(unfairness) if isinstance(unfairness, list | tuple | set | frozenset) else (unfairness,)
    known = [name for name in known_measures() if "gap" in name or name.endswith("flip_rate")]
    for name in names:
        if name not in known:
            raise ValueError(
                f"unfairness names {name!r}, which is no measure of pairs.{suggest(str(name), known)} Choose names "
                "such as 'gap_mean', 'positive_gap_q95' or 'flip_rate'; likewise.auditing.known_measures() lists all."
            )
    if not names:
        raise ValueError("unfairness names no measure. Give a name, several, or None for the mean gap of each label.")
    return names


def _look_up(name: str, audit: Audit) -> Measure:
    if name not in audit.measures:
        reason = "has measures of one label only for two labels" if "tive_" in name else "does not have it"
        raise ScoreError(f"unfairness names {name!r}, but this audit {reason}. Choose another, such as 'gap_mean'.")
    return audit[name]


def _known(name: str, measure: Measure) -> Measure:
    if measure.value is None:
        raise ScoreError(
            f"{name} cannot be measured on the held-out rows. Choose another measure, or hold out more rows with a "
            "larger validation_fraction."
        )
    return measure
