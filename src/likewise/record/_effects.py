"""What a regression beside the pairs makes of a sensitive group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from likewise._format import count_of
from likewise.record._measures import Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupEffect:
    """How differently a group is decided about, or scored, than the reference group, by a regression.

    Parameters
    ----------
    column : str
        The sensitive column.
    group, reference : object
        The values that are compared: the control's value, or that of the largest group.
    model : {"logit", "fractional logit", "linear"}
        Of decisions, of scores between 0 and 1, and of amounts.
    effect : float or None
        The average marginal effect: by how much more, on average over all people, somebody of the group is approved or
        scored than somebody of the reference with the same values in the rule's columns. In the unit of gaps, and
        negative where it is unfavourable. None where it cannot be told, and ``why_not`` says why.
    low, high : float or None
        Its confidence interval.
    n_people, n_reference : int
        How many people of the group and of the reference the regression is about.
    why_not : str or None
        Why there is no effect, or no interval.

    Examples
    --------
    >>> from likewise.auditing import GroupEffect
    >>> print(GroupEffect(column="sex", group="f", reference="m", model="logit", effect=-0.04, low=-0.06, high=-0.02,
    ...                   n_people=800, n_reference=900))
    sex f compared with m, by regression (logit): -0.04 (-0.06 to -0.02); 800 and 900 people
    """

    column: str
    group: Any
    reference: Any
    model: Literal["logit", "fractional logit", "linear"]
    effect: float | None = None
    low: float | None = None
    high: float | None = None
    n_people: int
    n_reference: int
    why_not: str | None = None

    @property
    def measure(self) -> Measure:
        """The effect with its interval."""
        return Measure(self.effect, self.low, self.high, self.n_people)

    def disagrees(self, low: float | None, high: float | None) -> bool:
        """Return whether its interval and another have no number in common."""
        if self.low is None or self.high is None or low is None or high is None:
            return False
        return self.high < low or high < self.low

    def __str__(self) -> str:
        why = "" if self.why_not is None else f"; {self.why_not}"
        people = f"{self.n_people:,} and {count_of(self.n_reference, 'person', 'people')}"
        return (
            f"{self.column} {self.group} compared with {self.reference}, by regression ({self.model}): {self.measure}; "
            f"{people}{why}"
        )
