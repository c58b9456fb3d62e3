"""Intervals of the chosen model that allow for the choice.

The least unfair of many candidates was also lucky, and an interval that would do for a model named in advance misses
the truth more often than it says. These intervals hold for all candidates of the search together, so whichever is
chosen, by whatever rule: estimates move with people, so those of candidates are about jointly normal, with the
covariance of what each person contributes to them. In place of the quantile of one normal number comes that of the
largest of them, in absolute value and in units of their standard errors. Candidates that err alike, as neighbouring
weights of one model do, cost little; those that err independently cost most (Sidak's bound, which is used where a
measure is no mean over pairs).

It is made for candidates that were named in advance. A search that goes on by its results, as a refined range or a
study of Optuna does, chooses among more candidates than it tries; benchmarks/results/selection.md measures both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._random import stream
from likewise.auditing import Audit, Measure
from likewise.auditing._internal import PairGraph
from likewise.frontier._point import UNKNOWN, FrontierPoint

Floats = NDArray[np.float64]
N_DRAWS: Final = 20_000  # of the largest of some normal numbers: its quantile is known to about one part in a hundred
LEAST: Final = 1e-12  # a standard error that rounding leaves of none


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionIntervals:
    """What is known of the chosen model, with intervals that allow for its choice among several.

    Parameters
    ----------
    n_candidates : int
        How many models were measured and could have been chosen, the base left out.
    unfairness, gain, loss : Measure
        Those of the chosen point, with wider intervals: with the confidence of the search they hold for all
        candidates together.
    stretched : mapping of str to float
        How much wider each interval is than that of a model named in advance.

    Examples
    --------
    >>> from likewise.auditing import Measure
    >>> from likewise.frontier import SelectionIntervals
    >>> gain = Measure(0.02, 0.005, 0.035, 800)
    >>> SelectionIntervals(n_candidates=7, gain=gain).gain.low
    0.005
    """

    n_candidates: int
    unfairness: Measure = UNKNOWN
    gain: Measure = UNKNOWN
    loss: Measure = UNKNOWN
    stretched: Mapping[str, float] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return asdict(self)


def correct_choice(
    best: FrontierPoint, points: Sequence[FrontierPoint], losses: Mapping[int, Floats], *, confidence: float, seed: int
) -> SelectionIntervals:
    """Widen the intervals of the chosen point; ``losses`` are the losses of points in shared resamples, by place."""
    places = [place for place, one in enumerate(points) if not one.is_base and one.is_measured]
    together = [_contributions(points[place]) for place in (0, *places)]
    levels = None if any(one is None for one in together) else np.column_stack(together)  # type: ignore[arg-type]  # known
    moved = [losses[place] for place in places if place in losses]
    n = max(len(places), 1)

    def factor(errors: Floats | None, purpose: str) -> float:
        return stretch_by(errors, n, confidence, stream(seed, "selection", purpose))

    stretched = {
        "unfairness": factor(levels, "unfairness"),
        "gain": factor(None if levels is None else levels[:, :1] - levels[:, 1:], "gain"),
        "loss": factor(_deviations(moved) if len(moved) == len(places) else None, "loss"),
    }
    if best.is_base:
        stretched |= {"gain": 1.0, "loss": 1.0}  # nothing, whatever was chosen
    return SelectionIntervals(
        n_candidates=len(places),
        unfairness=_stretch(best.unfairness, stretched["unfairness"], least=0.0),
        gain=_stretch(best.gain, stretched["gain"]),
        loss=_stretch(best.loss, stretched["loss"]),
        stretched=stretched,
    )


def stretch_by(errors: Floats | None, n: int, confidence: float, random: np.random.Generator) -> float:
    """Return the quantile of the largest of several standardised errors over that of one.

    ``errors`` has a column per candidate and a row per person or resample; without them, the bound for ``n``
    independent candidates.
    """
    from scipy.special import ndtri

    one = float(ndtri((1 + confidence) / 2))
    if errors is None:
        return float(ndtri((1 + confidence ** (1 / n)) / 2)) / one
    lengths = np.linalg.norm(errors, axis=0)
    kept = errors[:, lengths > LEAST] / lengths[lengths > LEAST]
    if kept.shape[1] < 2:
        return 1.0
    values, vectors = np.linalg.eigh(kept.T @ kept)
    drawn = random.standard_normal((N_DRAWS, len(values))) * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
    largest = np.quantile(np.abs(drawn).max(axis=1), confidence)
    return max(float(largest) / one, 1.0)


def _deviations(moved: Sequence[Floats]) -> Floats | None:
    """Return losses in resamples around their means; None where some are unknown."""
    if not moved:
        return None
    columns = np.column_stack(moved)
    columns = columns[np.isfinite(columns).all(axis=1)]
    return columns - columns.mean(axis=0) if len(columns) > 2 * columns.shape[1] else None


def _stretch(found: Measure, factor: float, least: float = -np.inf) -> Measure:
    if factor == 1.0 or found.value is None or found.low is None or found.high is None:
        return found
    low, high = (found.value + factor * (end - found.value) for end in (found.low, found.high))
    return Measure(found.value, max(low, least), high, found.n)


def _contributions(point: FrontierPoint) -> Floats | None:
    """Return what each held-out person contributes to the unfairness; None if it is no mean over pairs."""
    if point.audit is None or not point.parts:
        return None
    parts = [_part(point.audit, name) for name in point.parts]
    known = [one for one in parts if one is not None]
    return np.mean(known, axis=0) if len(known) == len(parts) else None


def _part(audit: Audit, name: str) -> Floats | None:
    scored, label = audit.scored, None
    name, _, of = name.partition(" of ")
    if of:
        label = [repr(one) for one in np.asarray(audit.question.table.classes).tolist()].index(of)
    elif name.startswith(("positive_", "negative_")):
        positive = int(audit.question.scores.positive or 0)
        side, _, name = name.partition("_")
        label = positive if side == "positive" else 1 - positive
    values = {"gap_mean": scored.gaps, "rank_gap_mean": scored.rank_gaps, "flip_rate": scored.flips}.get(name)
    if values is None or audit.summary is not None:
        return None
    chosen = slice(None) if label is None else np.flatnonzero(scored.labels == label)
    graph = PairGraph.of(scored.pairs.left[chosen], scored.pairs.right[chosen], len(scored.ranks))
    return graph.contribute(values[chosen].astype(np.float64)).by_person
