"""One model of a search: what it costs, and what it is worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from likewise._json import plain
from likewise.auditing import Audit, Measure

UNKNOWN: Final = Measure(None)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class FrontierPoint:
    """Hold what one model of a search is like on the held-out rows.

    Parameters
    ----------
    params : mapping of str to value
        What was set; nothing for the base.
    is_base : bool
        Whether this is the model that the others are held against.
    utility : Measure
    unfairness : Measure
        The number that is made small. Where it is a mean of several measures, the ends of its interval are the means
        of theirs, as if all of them went up and down together: it is rather too wide.
    parts : mapping of str to Measure
        The measures that the unfairness is made of, by name.
    loss : Measure
        How much utility is lost against the base, below 0 where some is gained; with the interval of the difference
        on the same people.
    gain : Measure
        By how much it is less unfair than the base; with an interval where :func:`likewise.compare_audits` gives one.
        Where the lower end is not above 0, the gain may be chance.
    is_within_budget : bool
        Whether the loss is no more than allowed.
    is_efficient : bool
        Whether no other model is at least as good in both and better in one. It is known when all models are.
    is_collapsed : bool
        Whether everybody is scored nearly alike; such a model is not efficient and is never chosen.
    is_squeezed : bool
        Whether gaps fell while all scores moved together: part of the gain is then no fairness; the notes say how much.
    seconds : float
        What fitting took, with the making of antidotes where no candidate before had asked for the same ones.
    notes : tuple of str
        What the numbers alone do not say: whether gaps fell because scores were squeezed together.
    error : str, optional
        Why there are no numbers, where fitting or scoring failed.
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
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    error: str | None = None
    audit: Audit | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """What tells it from the others: "base", or the parameters."""
        if self.is_base:
            return "base"
        return ", ".join(f"{name}={_show(value)}" for name, value in self.params.items()) or "as given"

    @property
    def is_measured(self) -> bool:
        """Whether there are numbers."""
        return self.error is None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data without the audit; it is JSON."""
        kept = {
            "name": self.name,
            "params": self.params,
            "is_base": self.is_base,
            "utility": asdict(self.utility),
            "unfairness": asdict(self.unfairness),
            "parts": {name: asdict(measure) for name, measure in self.parts.items()},
            "loss": asdict(self.loss),
            "gain": asdict(self.gain),
            "is_within_budget": self.is_within_budget,
            "is_efficient": self.is_efficient,
            "is_collapsed": self.is_collapsed,
            "is_squeezed": self.is_squeezed,
            "seconds": self.seconds,
            "notes": self.notes,
            "error": self.error,
        }
        record: dict[str, Any] = plain(kept)
        return record


def _show(value: Any) -> str:
    """Write a parameter's value: an estimator by its class, a number as somebody would."""
    if hasattr(value, "get_params"):
        return type(value).__name__
    return f"{value:g}" if isinstance(value, float) else str(value)
