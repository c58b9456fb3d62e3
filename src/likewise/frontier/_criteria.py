"""How models are judged: performance to keep, unfairness to reduce, the loss that is allowed, and the noise of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from likewise._checks import check_number, suggest
from likewise.auditing import MEASURES, Audit, Measure
from likewise.auditing._internal import is_reducible, reducible_measures
from likewise.exceptions import ParameterError, ScoreError
from likewise.record._internal import in_words, show_limit

PERFORMANCE: Final = [
    name for name, kind in MEASURES.items() if kind.family == "people" and kind.better and not kind.is_fact
]
EXCESS_FIRST: Final = ("excess", "gap_mean")
BUDGET_TOLERANCE: Final = 1e-9  # 0.4 - 0.3 > 0.1 in floats; a loss at the limit is allowed


@dataclass(frozen=True, slots=True)
class Criteria:
    """The measures and the budget that models are judged by."""

    utility: str
    unfairness: tuple[str, ...]  # the first decides; the next among those that it does not tell apart
    max_loss: float
    cautious: bool
    z: float  # how many standard errors an interval reaches

    @classmethod
    def check(cls, search: Any, default_utility: str) -> Criteria:
        """Refuse names that no audit has, and impossible budgets."""
        from scipy.special import ndtri

        utility, max_loss = search.utility or default_utility, search.max_loss
        if utility not in PERFORMANCE:
            hint = suggest(str(utility), PERFORMANCE)
            raise ParameterError(f"is {utility!r}; choose one of {', '.join(map(repr, PERFORMANCE))}.{hint}", "utility")
        check_number("max_loss", max_loss, least=0.0)
        kind = MEASURES[utility]
        if max_loss >= 1 and (kind.most is not None or kind.unit == "share"):
            raise ParameterError(
                f"is {max_loss:g}, but {utility} is at most 1, so any loss would be allowed. For {max_loss:g} "
                f"percentage points use {max_loss / 100:g}.",
                "max_loss",
            )
        unfairness = EXCESS_FIRST if search.unfairness is None else _check_names(search.unfairness)
        return cls(utility, unfairness, float(max_loss), search.cautious, float(ndtri((1 + search.confidence) / 2)))

    def error_of(self, difference: Measure) -> float:
        """Return the standard error of a difference; 0 where it is unknown."""
        if difference.low is None or difference.high is None:
            return 0.0
        return (difference.high - difference.low) / 2 / self.z

    def allows(self, loss: Measure) -> bool:
        """Whether a loss is within the budget, or no more than its standard error; if cautious, with that added."""
        if loss.value is None:
            return False
        error, budget = self.error_of(loss), self.max_loss + BUDGET_TOLERANCE
        return loss.value + error <= budget if self.cautious else loss.value <= max(budget, error)

    def measured_in(self, audit: Audit) -> dict[str, Measure]:
        """Return the performance and the unfairness of an audit; the excess may be unknown where it is no demand."""
        names = (self.utility, *self.unfairness)
        found = {name: audit.measures[name] for name in names if name in audit.measures}
        for name in names:
            is_known = name in found and found[name].value is not None
            if not is_known and not (self.unfairness == EXCESS_FIRST and name == EXCESS_FIRST[0]):
                labels = f" The labels are {', '.join(map(repr, audit.record.labels))}." if audit.record.labels else ""
                raise ScoreError(
                    f"{name} cannot be measured of these people and this task.{labels} Choose another measure, such as "
                    "'gap_mean', or search among more rows."
                )
        return {name: measure for name, measure in found.items() if measure.value is not None}

    @property
    def gains_by_more(self) -> bool:
        """Whether more of the performance measure is better."""
        return MEASURES[self.utility].better == "high"

    @property
    def budget(self) -> str:
        """The budget in words."""
        return f"{show_limit(self.utility, self.max_loss)} of {in_words(self.utility)}"


def turned(difference: Measure) -> Measure:
    """Turn an increase into a reduction."""
    value, low, high = (
        None if number is None else -number for number in (difference.value, difference.high, difference.low)
    )
    return Measure(value, low, high, difference.n)


def _check_names(unfairness: str | Sequence[str]) -> tuple[str, ...]:
    names = (unfairness,) if isinstance(unfairness, str) else tuple(unfairness)
    for name in names:
        if not is_reducible(name):
            raise ParameterError(
                f"names {name!r}, which is not a measure of pairs.{suggest(str(name), reducible_measures())} Choose "
                "names such as 'gap_mean', 'gap_q95[1]' or 'flip_rate'; likewise.auditing.MEASURES has all.",
                "unfairness",
            )
    if not names:
        raise ParameterError("names no measure. Use a name, several, or None for the excess.", "unfairness")
    return names
