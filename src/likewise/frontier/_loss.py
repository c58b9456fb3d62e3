"""How much utility is lost, on the same people: most of what is uncertain about two models is the same for both."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from likewise._random import stream
from likewise.auditing import Audit, Measure, measure_utility
from likewise.auditing._internal import AuditSettings
from likewise.frontier._criteria import Criteria


class PairedLoss:
    """Measure losses against one base, in replicates that draw the same people for every model."""

    def __init__(self, base: Audit, criteria: Criteria, settings: AuditSettings) -> None:
        self._criteria, self._settings = criteria, settings
        self._of_base = self._measure_utility(base)

    def measure(self, other: Audit) -> Measure:
        """Bound the difference; without an interval, where replicates say too little."""
        losses = self._criteria.loss_of(self._of_base, self._measure_utility(other))
        value, n = float(losses[0]), len(other.question.table)
        deviations = losses[1:] - value
        known = deviations[np.isfinite(deviations)]  # a replicate may have people of one label only
        if not len(known) or 2 * len(known) < len(deviations):
            return Measure(value, n=n)
        tail = (1 - self._settings.confidence) / 2
        low, high = np.quantile(known, [tail, 1 - tail])
        return Measure(value, value + min(float(low), 0.0), value + max(float(high), 0.0), n)

    def _measure_utility(self, audit: Audit) -> NDArray[np.float64]:
        """Measure the utility, and that of replicates: everybody drawn as often as a Poisson number of mean 1 says."""
        scores, labels = audit.question.scores, audit.question.table.labels
        if scores.task == "binary":
            labels = labels == scores.positive
        threshold = 0.5 if scores.threshold is None else scores.threshold
        found = np.full(1 + self._settings.n_resamples, np.nan)
        found[0] = self._criteria.utility_in(audit).value
        for number in range(1, len(found)):
            weights = stream(self._settings.seed, "people", number).poisson(1.0, len(labels)).astype(np.float64)
            measured = measure_utility(labels, scores.values, threshold=threshold, weights=weights)
            found[number] = np.nan if (value := measured[self._criteria.utility]) is None else value
        return found
