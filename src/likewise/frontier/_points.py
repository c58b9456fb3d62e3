"""One model of a search, the efficient ones among several, and the choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise._json import plain
from likewise.auditing import Audit, Measure, compare_audits
from likewise.frontier._candidates import name_of
from likewise.frontier._criteria import Criteria, turned

UNKNOWN: Final = Measure(None)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class FrontierPoint:
    """One model of a search, measured on rows that were scored out of fold.

    Parameters
    ----------
    params : mapping of str to value
        The parameters that were set; empty for the base.
    is_base : bool
        Whether this is the model that the others are compared with.
    measures : mapping of str to Measure
        The performance measure of the search, and its measures of unfairness.
    loss : Measure
        Performance lost against the base, negative for a gain, with the interval of the paired difference.
    gains : mapping of str to Measure
        The reduction of each measure of unfairness against the base, with an interval where
        :func:`likewise.compare_audits` returns one. If its lower end is not above 0, it may be due to chance.
    is_within_budget : bool
        Whether the loss is within the budget.
    is_efficient : bool
        Whether no other model is at least as good in both and better in one; known once all models are measured.
    is_collapsed : bool
        Whether all scores are nearly equal; such a model is not efficient and is never chosen.
    seconds : float
        Fitting time of all folds.
    notes : tuple of str
        Whether gaps fell because scores moved closer together, and by how much.
    error : str, optional
        The reason, if fitting or scoring failed.
    audit : Audit, optional
        The whole audit of the rows.

    Examples
    --------
    >>> from likewise.auditing import Measure
    >>> from likewise.frontier import FrontierPoint
    >>> point = FrontierPoint(params={"ratio": 0.3}, loss=Measure(0.002, -0.001, 0.005), is_within_budget=True)
    >>> point.name, point.to_dict()["loss"]["value"]
    ('ratio=0.3', 0.002)
    """

    params: Mapping[str, Any] = field(default_factory=dict)
    is_base: bool = False
    measures: Mapping[str, Measure] = field(default_factory=dict)
    loss: Measure = UNKNOWN
    gains: Mapping[str, Measure] = field(default_factory=dict)
    is_within_budget: bool = False
    is_efficient: bool = False
    is_collapsed: bool = False
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    error: str | None = None
    audit: Audit | None = field(default=None, repr=False)

    @classmethod
    def judge(
        cls, params: Mapping[str, Any], audit: Audit, base: FrontierPoint | None, criteria: Criteria, seconds: float
    ) -> FrontierPoint:
        """Measure a model and compare it with the base; without one, it is the base."""
        measures = criteria.measured_in(audit)
        nothing = Measure(0.0, 0.0, 0.0, len(audit.question.table))
        loss, gains, notes = nothing, dict.fromkeys(measures, nothing), tuple[str, ...]()
        if base is not None and base.audit is not None:
            comparison = compare_audits(base.audit, audit)
            gains = {name: turned(comparison[name].difference) for name in measures if name in comparison.changes}
            loss = gains[criteria.utility] if criteria.gains_by_more else turned(gains[criteria.utility])
            notes = tuple(str(note) for note in comparison.notes if note.kind == "squeezed")
        return cls(
            params=params,
            is_base=base is None,
            measures=measures,
            loss=loss,
            gains={name: gain for name, gain in gains.items() if name != criteria.utility},
            is_within_budget=base is None or criteria.allows(loss),
            is_collapsed=audit.is_collapsed,
            seconds=seconds,
            notes=notes,
            audit=audit,
        )

    @property
    def name(self) -> str:
        """The name in tables: "base", or what was done."""
        return "base" if self.is_base else name_of(self.params)

    @property
    def unfairness(self) -> Measure:
        """The first measure of unfairness that is known: the excess, by default."""
        return next((self.measures[name] for name in self.gains), UNKNOWN)

    @property
    def gain(self) -> Measure:
        """The reduction of the first measure of unfairness."""
        return next(iter(self.gains.values()), UNKNOWN)

    @property
    def may_be_chosen(self) -> bool:
        """Whether it was measured, is within the budget, and does not score everybody alike."""
        return self.is_base or (self.error is None and self.is_within_budget and not self.is_collapsed)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready data, without the audit."""
        kept: dict[str, Any] = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "audit"}
        for name in ("measures", "gains"):
            kept[name] = {key: asdict(measure) for key, measure in kept[name].items()}
        record: dict[str, Any] = plain({"name": self.name} | kept | {"loss": asdict(self.loss)})
        return record


def find_efficient(loss: ArrayLike, unfairness: ArrayLike) -> NDArray[np.bool_]:
    """Whether each model is undominated: no other is at least as good in both and better in one."""
    both = np.column_stack([np.asarray(loss, np.float64), np.asarray(unfairness, np.float64)])
    as_good = (both[:, None] <= both[None, :]).all(axis=-1)
    better = (both[:, None] < both[None, :]).any(axis=-1)
    return np.logical_not((as_good & better).any(axis=0))


def mark_efficient(points: Sequence[FrontierPoint]) -> list[FrontierPoint]:
    """Mark the efficient points; failed and collapsed models do not compete."""
    places = [place for place, one in enumerate(points) if one.error is None and not one.is_collapsed]
    marked = list(points)
    values = [[getattr(points[at], name).value for at in places] for name in ("loss", "unfairness")]
    for place, is_efficient in zip(places, find_efficient(*values).tolist(), strict=True):
        marked[place] = replace(points[place], is_efficient=is_efficient)
    return marked


def choose_point(points: Sequence[FrontierPoint], criteria: Criteria) -> FrontierPoint:
    """Return the point within the budget with the least unfairness, the base among them.

    By each measure of unfairness in turn those stay that are within one standard error of the best, of their paired
    difference; of those that stay to the end, the one that loses least.
    """
    able = [point for point in points if point.may_be_chosen]
    for name in points[0].gains:
        lead = min(able, key=lambda point: (max(point.measures[name].value or 0.0, 0.0), point.loss.value or 0.0))
        able = [point for point in able if not _is_worse(point, lead, name, criteria)]
    return min(able, key=lambda point: point.loss.value or 0.0)


def _is_worse(point: FrontierPoint, lead: FrontierPoint, name: str, criteria: Criteria) -> bool:
    """Whether a measure is above that of the lead by more than one standard error; none is less than 0."""
    if point is lead or lead.audit is None or point.audit is None:
        return False
    low, high = (max(one.measures[name].value or 0.0, 0.0) for one in (lead, point))
    return high > low and high - low > criteria.error_of(compare_audits(lead.audit, point.audit)[name].difference)
