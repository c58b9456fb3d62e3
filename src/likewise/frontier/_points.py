"""One model of a search, the efficient ones among several, and the choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise._json import plain
from likewise._random import stream
from likewise.auditing import Audit, Measure
from likewise.auditing._internal import PairGraph, Weights
from likewise.record._internal import name_part, split_key

UNKNOWN: Final = Measure(None)
FEW_PAIRS: Final = "few pairs"
NO_BETTER_THAN_NONE: Final = "no better than none"
Floats = NDArray[np.float64]
N_DRAWS: Final = 20_000  # of the largest of some normal numbers: its quantile is known to about one part in a hundred
LEAST: Final = 1e-12  # a standard error that rounding leaves of none


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class FrontierPoint:
    """One model of a search, measured on the held-out rows.

    Parameters
    ----------
    params : mapping of str to value
        The parameters that were set; empty for the base.
    is_base : bool
        Whether this is the model that the others are compared with.
    utility : Measure
        The performance measure of the search.
    unfairness : Measure
        The measure to reduce. For a mean of several measures, the ends of its interval are the means of theirs, as if
        perfectly correlated, which makes it conservative.
    parts : mapping of str to Measure
        The measures whose mean is the unfairness, by name.
    loss : Measure
        Performance lost against the base, negative for a gain, with the interval of the paired difference.
    gain : Measure
        The reduction in unfairness against the base, with an interval where :func:`likewise.compare_audits` returns
        one. If its lower end is not above 0, the gain may be due to chance.
    is_within_budget : bool
        Whether the loss is within the budget.
    is_efficient : bool
        Whether no other model is at least as good in both and better in one; known once all models are measured.
    is_collapsed : bool
        Whether all scores are nearly equal; such a model is not efficient and is never chosen.
    is_squeezed : bool
        Whether gaps fell because all scores moved closer together, which is not fairness; the notes say how much.
    refused : str, optional
        Why it is never chosen, if so: "few pairs", if the gain is not clear on few held-out pairs of a label;
        "no better than none", if its log loss is above that of giving everybody the shares of the labels.
    seconds : float
        Fitting time, including antidotes not generated for an earlier candidate.
    notes : tuple of str
        Whether gaps fell because scores moved closer together, and by how much.
    error : str, optional
        The reason, if fitting or scoring failed.
    audit : Audit, optional
        The whole audit of the held-out rows.

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
    utility: Measure = UNKNOWN
    unfairness: Measure = UNKNOWN
    parts: Mapping[str, Measure] = field(default_factory=dict)
    loss: Measure = UNKNOWN
    gain: Measure = UNKNOWN
    is_within_budget: bool = False
    is_efficient: bool = False
    is_collapsed: bool = False
    is_squeezed: bool = False
    refused: str | None = None
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    error: str | None = None
    audit: Audit | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """The name in tables: "base", or the parameters."""
        if self.is_base:
            return "base"
        return ", ".join(f"{name}={_show(value)}" for name, value in self.params.items()) or "as given"

    @property
    def is_measured(self) -> bool:
        """Whether it was fitted and audited without an error."""
        return self.error is None

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready data, without the audit."""
        kept: dict[str, Any] = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "audit"}
        for name, value in kept.items():
            if isinstance(value, Measure):
                kept[name] = asdict(value)
        kept["parts"] = {name: asdict(measure) for name, measure in self.parts.items()}
        record: dict[str, Any] = plain({"name": self.name} | kept)
        return record


def _show(value: Any) -> str:
    """Return a parameter's value as text: an estimator by its class, a number in short form."""
    if hasattr(value, "get_params"):
        return type(value).__name__
    return f"{value:g}" if isinstance(value, float) else str(value)


def find_efficient(loss: ArrayLike, unfairness: ArrayLike) -> NDArray[np.bool_]:
    """Whether each model is undominated: no other is at least as good in both and better in one."""
    both = np.column_stack([np.asarray(loss, np.float64), np.asarray(unfairness, np.float64)])
    as_good = (both[:, None] <= both[None, :]).all(axis=-1)
    better = (both[:, None] < both[None, :]).any(axis=-1)
    return np.logical_not((as_good & better).any(axis=0))


def mark_efficient(points: Sequence[FrontierPoint]) -> list[FrontierPoint]:
    """Mark the efficient points; failed and collapsed models do not compete."""
    places = [place for place, one in enumerate(points) if one.is_measured and not one.is_collapsed]
    marked = list(points)
    found = find_efficient([_loss(points[at]) for at in places], [_unfairness(points[at]) for at in places])
    for place, is_efficient in zip(places, found.tolist(), strict=True):
        marked[place] = replace(points[place], is_efficient=is_efficient)
    return marked


def choose_point(points: Sequence[FrontierPoint]) -> FrontierPoint:
    """Return the least unfair point within the budget, by lowest loss among ties; the base if none is better."""
    base = next(one for one in points if one.is_base)
    fairer = [one for one in points if _may_be_chosen(one) and _unfairness(one) < _unfairness(base)]
    return min(fairer, key=lambda one: (_unfairness(one), _loss(one)), default=base)


def _may_be_chosen(point: FrontierPoint) -> bool:
    return point.is_measured and point.is_within_budget and not point.is_collapsed and point.refused is None


def _loss(point: FrontierPoint) -> float:
    return np.nan if point.loss.value is None else point.loss.value


def _unfairness(point: FrontierPoint) -> float:
    return np.nan if point.unfairness.value is None else point.unfairness.value


def measure_of(point: FrontierPoint) -> str:
    """Return a measure that the unfairness averages, for the format of its numbers."""
    return next(iter(point.parts), "gap_mean")


def count_pairs(point: FrontierPoint) -> int:
    """Return the number of pairs the unfairness was measured on."""
    return 0 if point.audit is None else point.audit["gap_mean"].n


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
    scored, (name, label) = audit.scored, split_key(name)
    values = {"gap_mean": scored.gaps, "rank_gap_mean": scored.rank_gaps, "flip_rate": scored.flips}.get(name)
    if values is None or audit.summary is not None:
        return None
    codes = [name_part(one) for one in audit.question.table.classes.tolist()]
    chosen = slice(None) if label is None else np.flatnonzero(scored.labels == codes.index(label))
    rows = scored.pairs.left[chosen], scored.pairs.right[chosen]
    graph = PairGraph.of(*rows, scored.scores.units, Weights.of(None, len(rows[0])))
    return graph.influence(values[chosen].astype(np.float64)).by_unit
