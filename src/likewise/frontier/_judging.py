"""From scores of the held-out rows to a point of the frontier."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.auditing import Audit, Measure, compare_audits
from likewise.auditing._internal import AuditSettings, run_audit
from likewise.exceptions import NoComparablePairs, ScoresCollapsed
from likewise.frontier._criteria import Criteria, average
from likewise.frontier._loss import PairedLoss
from likewise.frontier._point import FrontierPoint
from likewise.frontier._rows import Rows
from likewise.frontier._trying import Trial
from likewise.schema import Schema

SQUEEZED: Final = "squeezed together"  # in the words of compare_audits


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Bench:
    """Where all models are judged alike: the same people, the same rule, the same replicates."""

    criteria: Criteria
    held_out: Rows
    schema: Schema
    rule: Any
    settings: AuditSettings

    def audit(self, scores: NDArray[np.float64]) -> Audit:
        """Audit scores of the held-out rows."""
        try:
            rows = self.held_out
            return run_audit(scores, rows.frame, rows.y, self.settings, roles=self.schema, rule=self.rule)
        except NoComparablePairs as error:
            raise NoComparablePairs(
                f"{error} These are the rows held out to judge by; a larger validation_fraction holds out more."
            ) from None

    def judge_base(self, trial: Trial) -> FrontierPoint:
        """Say what the base is like; it has to work."""
        assert trial.scores is not None
        found = self.audit(trial.scores)
        parts = self.criteria.unfairness_in(found)
        nothing = (
            Measure(0.0, 0.0, 0.0, len(self.held_out))
            if self.settings.n_resamples
            else Measure(0.0, n=len(self.held_out))
        )
        return FrontierPoint(
            is_base=True,
            utility=self.criteria.utility_in(found),
            unfairness=average(list(parts.values())),
            parts=parts,
            loss=nothing,
            gain=nothing,
            is_within_budget=True,
            is_collapsed=found.is_collapsed,
            seconds=trial.seconds,
            audit=found,
        )

    def start_losses(self, base: FrontierPoint) -> PairedLoss:
        """Get ready to measure losses against the base."""
        assert base.audit is not None
        return PairedLoss(base.audit, self.criteria, self.settings)

    def judge(self, params: Mapping[str, Any], trial: Trial, base: FrontierPoint, losses: PairedLoss) -> FrontierPoint:
        """Say what a candidate is like, held against the base; where it failed, its error is raised."""
        if trial.scores is None:
            raise trial.error or RuntimeError("The model gave no scores.")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ScoresCollapsed)  # the point says so, and it is not chosen
            found = self.audit(trial.scores)
        return self._hold_against(base, found, params, trial, losses)

    def _hold_against(
        self, base: FrontierPoint, found: Audit, params: Mapping[str, Any], trial: Trial, losses: PairedLoss
    ) -> FrontierPoint:
        assert base.audit is not None
        parts = self.criteria.unfairness_in(found)
        comparison = compare_audits(base.audit, found)
        loss = losses.measure(found)
        # of few pairs there are few for every candidate: what a search says of them, it says once
        squeezed = tuple(note for note in comparison.notes if SQUEEZED in note)
        gains = [
            _turned(comparison[name].difference) if name in comparison.changes else _subtract(base.parts[name], part)
            for name, part in parts.items()
        ]
        return FrontierPoint(
            params=params,
            utility=self.criteria.utility_in(found),
            unfairness=average(list(parts.values())),
            parts=parts,
            loss=loss,
            gain=average(gains),
            is_within_budget=self.criteria.allows(loss),
            is_collapsed=found.is_collapsed,
            is_squeezed=bool(squeezed),
            seconds=trial.seconds,
            notes=squeezed,
            audit=found,
        )


def show_failure(params: Mapping[str, Any], trial: Trial, error: Exception) -> FrontierPoint:
    """Make a point of a candidate that came to nothing, with the reason on one line."""
    lines = str(error).strip().splitlines()
    reason = f"{type(error).__name__}{': ' + lines[0][:300] if lines else ''}"
    return FrontierPoint(params=params, seconds=trial.seconds, error=reason)


def _turned(difference: Measure) -> Measure:
    """Make of what was added what was taken away."""
    value, low, high = (
        None if number is None else -number for number in (difference.value, difference.high, difference.low)
    )
    return Measure(value, low, high, difference.n)


def _subtract(one: Measure, other: Measure) -> Measure:
    known = one.value is not None and other.value is not None
    return Measure(one.value - other.value if known else None, n=other.n)  # type: ignore[operator]  # both are known
