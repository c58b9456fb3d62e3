"""What changed of people rather than pairs: a replicate draws the same people for both models."""

from __future__ import annotations

from typing import Final

import numpy as np

from likewise.auditing._audit import Audit
from likewise.auditing._intervals import Interval, interval_of, subtract, widen
from likewise.auditing._people import ALL_OR_NOTHING, replicate_people
from likewise.auditing._tallies import Floats
from likewise.record._internal import Measure

MOST_PEOPLE: Final = 100_000  # of more, replicates for two models take longer than a comparison should
BIASED: Final = ("calibration_error",)  # chance adds to it, and not as much for one model as for the other


def people_differences(before: Audit, after: Audit) -> dict[str, Measure]:
    """Bound how the scores changed: most of what is uncertain about two models is the same for both."""
    settings, n_people = after.settings, len(after.question.table)
    if not settings.n_resamples or not 1 < n_people <= MOST_PEOPLE:
        return {}
    how = {"n_resamples": settings.n_resamples, "seed": settings.seed}
    olds, news = (
        replicate_people(one.question.scores, one.question.table, one.question.outcomes, **how)
        for one in (before, after)
    )
    found = {}
    for name in (name for name in news if name in olds and name not in BIASED):
        old, new = before.measures.get(name), after.measures.get(name)
        if old is None or new is None or old.value is None or new.value is None:
            continue
        interval = _bound(name, old, new, news[name] - olds[name], settings.confidence)
        low, high = interval or (None, None)
        found[name] = Measure(new.value - old.value, low, high, new.n)
    return found


def _bound(name: str, old: Measure, new: Measure, differences: Floats, confidence: float) -> Interval | None:
    assert old.value is not None
    assert new.value is not None
    if name in ALL_OR_NOTHING and not {old.value, new.value}.isdisjoint((0.0, 1.0)):
        # replicates of people who are all alike say nothing
        if old.low is None or old.high is None or new.low is None or new.high is None:
            return None
        return subtract(new.value, (new.low, new.high), old.value, (old.low, old.high))
    value = new.value - old.value
    deviations = (differences - value) * widen(new.n, confidence)
    return interval_of(value, deviations, confidence, -np.inf, np.inf)
