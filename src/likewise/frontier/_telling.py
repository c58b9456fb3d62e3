"""What a search has to say of its choice, before somebody believes in it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from likewise._format import count_of, show_found, show_limit
from likewise._warnings import warn
from likewise.exceptions import GainUncertain, NothingWithinBudget, ScoresSqueezed
from likewise.frontier._criteria import Criteria
from likewise.frontier._point import FrontierPoint
from likewise.frontier._summary import count_pairs, measure_of


def warn_of_choice(best: FrontierPoint, points: Sequence[FrontierPoint], criteria: Criteria) -> None:
    """Warn where there was no choice, where the gain may be chance, and where it comes from squeezed scores."""
    if best.is_base:
        warn(_why_base(points, criteria), NothingWithinBudget)
        return
    if best.gain.low is not None and best.gain.low <= 0:
        warn(_why_uncertain(best), GainUncertain)
    if best.is_squeezed and criteria.rewards_squeezing:
        warn(_why_squeezed(best, criteria), ScoresSqueezed)


def _why_uncertain(best: FrontierPoint) -> str:
    gain = best.gain
    found = show_found(measure_of(best), gain.value, gain.low, gain.high)
    return (
        f"{best.name} is less unfair than the base by {found}, on {count_of(count_pairs(best), 'pair')}: the gain may "
        "be none. Give more rows, or hold out a larger validation_fraction; until then base_estimator_ may do as well."
    )


def _why_squeezed(best: FrontierPoint, criteria: Criteria) -> str:
    return (
        f"{best.name} is the least unfair within the budget, but part of that is no fairness. {' '.join(best.notes)} "
        f"Squeezing costs hardly any {criteria.utility}. Search with "
        'utility="log_loss", which it does cost, or with unfairness="rank_gap_mean", which it does not make smaller.'
    )


def _why_base(points: Sequence[FrontierPoint], criteria: Criteria) -> str:
    """Say why no candidate was chosen, and what to do."""
    budget = f"{show_limit(criteria.utility, criteria.max_loss)} of {criteria.utility}"
    usable = [point for point in points if not point.is_base and point.is_measured and not point.is_collapsed]
    if any(point.is_within_budget for point in usable):
        return (
            f"No candidate that loses at most {budget} is less unfair than the base, so the base was chosen. Search "
            "other values, or allow a larger max_loss."
        )
    if not usable:
        return (
            "Every candidate failed or scores everybody nearly alike, so the base was chosen. Search milder values; "
            "frontier_ says what became of each."
        )
    nearest = min(usable, key=lambda point: np.inf if point.loss.value is None else point.loss.value)
    surely = " surely" if criteria.cautious else ""
    return (
        f"No candidate{surely} loses at most {budget}, so the base was chosen. The nearest, {nearest.name}, loses "
        f"{nearest.loss.value:.4g}. Allow a larger max_loss, or search milder values."
    )
