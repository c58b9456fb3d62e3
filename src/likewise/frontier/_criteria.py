"""How models are judged: performance to keep, unfairness to reduce, and the loss that is allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._checks import check_number, suggest
from likewise._random import stream
from likewise.auditing import Audit, Measure
from likewise.auditing._internal import AuditSettings, is_reducible, measure_utility, reducible_measures
from likewise.exceptions import ParameterError, ScoreError
from likewise.record._internal import key_of, kind_of

# 1 where higher is better, -1 where lower is
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
PAYS_FOR_SQUEEZING: Final = ("log_loss", "brier")  # measures of probabilities, not only of their order
BUDGET_TOLERANCE: Final = 1e-9  # 0.4 - 0.3 > 0.1 in floats; a loss at the limit is allowed


@dataclass(frozen=True, slots=True)
class Criteria:
    """The measures and the budget that models are judged by."""

    utility: str
    unfairness: tuple[str, ...] | None  # None: the mean gap of each label
    max_loss: float
    cautious: bool

    @classmethod
    def check(cls, utility: Any, unfairness: Any, max_loss: Any, cautious: bool) -> Criteria:
        """Refuse names that no audit has, and impossible budgets."""
        if utility not in DIRECTIONS:
            hint = suggest(str(utility), DIRECTIONS)
            raise ParameterError(f"is {utility!r}; choose one of {', '.join(map(repr, DIRECTIONS))}.{hint}", "utility")
        check_number("max_loss", max_loss, least=0.0)
        if max_loss >= 1 and utility != "log_loss":
            raise ParameterError(
                f"is {max_loss:g}, but {utility} is between 0 and 1, so any loss would be allowed. For "
                f"{max_loss:g} percentage points use {max_loss / 100:g}.",
                "max_loss",
            )
        return cls(utility, _check_names(unfairness), float(max_loss), cautious)

    @property
    def rewards_squeezing(self) -> bool:
        """Whether compressed scores look fairer at no loss: gaps shrink, the order stays."""
        names = ("gap_mean",) if self.unfairness is None else self.unfairness
        is_about_scores = any(kind_of(name).unit == "gap" for name in names)
        return is_about_scores and self.utility not in PAYS_FOR_SQUEEZING

    def loss_of(self, base: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how much worse the other model performs."""
        return DIRECTIONS[self.utility] * (base - other)

    def allows(self, loss: Measure) -> bool:
        """Whether a loss, or the upper end of its interval if cautious, is within the budget."""
        bound = loss.high if self.cautious else loss.value
        return bound is not None and bound <= self.max_loss + BUDGET_TOLERANCE

    def utility_in(self, audit: Audit) -> Measure:
        """Return the performance measure of an audit."""
        return _known(self.utility, audit[self.utility])

    def unfairness_in(self, audit: Audit) -> dict[str, Measure]:
        """Return the measures whose mean is the unfairness; by label, those with pairs."""
        if self.unfairness is not None:
            return {name: _known(name, _look_up(name, audit)) for name in self.unfairness}
        found = {key_of("gap_mean", label): audit["gap_mean", label] for label in audit.record.labels}
        return {name: measure for name, measure in found.items() if measure.value is not None}


def average(measures: Sequence[Measure]) -> Measure:
    """Return the mean of measures and of their interval ends, as if perfectly correlated."""
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
    for name in names:
        if not is_reducible(name):
            raise ParameterError(
                f"names {name!r}, which is not a measure of pairs.{suggest(str(name), reducible_measures())} Choose "
                "names such as 'gap_mean', 'gap_q95[1]' or 'flip_rate'; likewise.auditing.MEASURES has all.",
                "unfairness",
            )
    if not names:
        raise ParameterError(
            "names no measure. Use a name, several, or None for the mean gap of each label.", "unfairness"
        )
    return names


def _look_up(name: str, audit: Audit) -> Measure:
    if name not in audit.measures:
        has_labels = f" The labels are {', '.join(map(repr, audit.record.labels))}." if audit.record.labels else ""
        raise ScoreError(
            f"unfairness names {name!r}, but this audit does not have it.{has_labels} Choose another, such as "
            "'gap_mean'."
        )
    return audit[name]


def _known(name: str, measure: Measure) -> Measure:
    if measure.value is None:
        raise ScoreError(
            f"{name} cannot be measured on the held-out rows. Choose another measure, or hold out more rows with a "
            "larger validation_fraction."
        )
    return measure


class PairedLoss:
    """Losses against one base, in bootstrap resamples shared by all models."""

    def __init__(self, base: Audit, criteria: Criteria, settings: AuditSettings) -> None:
        self._criteria, self._settings = criteria, settings
        self.last: NDArray[np.float64] = np.empty(0)  # the loss in each resample, of the model measured last
        self._of_base = self._measure_utility(base)

    def measure(self, other: Audit) -> Measure:
        """Return the loss, with an interval if enough resamples are defined."""
        losses = self._criteria.loss_of(self._of_base, self._measure_utility(other))
        value, n = float(losses[0]), len(other.question.table)
        self.last = losses[1:]
        deviations = losses[1:] - value
        known = deviations[np.isfinite(deviations)]  # a resample may contain a single label
        if not len(known) or 2 * len(known) < len(deviations):
            return Measure(value, n=n)
        tail = (1 - self._settings.confidence) / 2
        low, high = np.quantile(known, [tail, 1 - tail])
        return Measure(value, value + min(float(low), 0.0), value + max(float(high), 0.0), n)

    def _measure_utility(self, audit: Audit) -> NDArray[np.float64]:
        """Return the performance, then that of each resample with Poisson bootstrap weights."""
        scores, labels = audit.question.scores, audit.question.table.labels
        if scores.task == "binary":
            labels = (labels == scores.positive).astype(np.int64)
        threshold = 0.5 if scores.threshold is None else scores.threshold
        found = np.full(1 + self._settings.n_resamples, np.nan)
        found[0] = self._criteria.utility_in(audit).value
        for number in range(1, len(found)):
            weights = stream(self._settings.seed, "people", number).poisson(1.0, len(labels)).astype(np.float64)
            measured = measure_utility(labels, scores.values, threshold=threshold, weights=weights)
            found[number] = np.nan if (value := measured[self._criteria.utility]) is None else value
        return found
