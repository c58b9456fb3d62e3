"""What an audit found: numbers and evidence; it renders nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from likewise._format import count_of
from likewise._json import plain
from likewise.auditing._coverage import person_gaps
from likewise.auditing._pair_measures import ScoredPairs
from likewise.auditing._person_list import tallied_gaps
from likewise.auditing._policy import Policy
from likewise.auditing._question import Question
from likewise.auditing._settings import AuditSettings
from likewise.auditing._tally import PairTally
from likewise.auditing._telling import tell_audit
from likewise.auditing._verdict import Verdict, judge
from likewise.comparable import ComparablePairs
from likewise.record import AuditRecord
from likewise.record._internal import FORMAT, Coverage, Direction, GroupRate, Measure, PairCase, advise_measure

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Audit:
    """Hold how differently a model treats comparable people, and what that rests on.

    :func:`audit` makes it. ``audit["positive_gap_mean"]`` is one number with its interval;
    :func:`likewise.auditing.known_measures` lists the names. Printed, it gives the headline numbers and all notes.

    Parameters
    ----------
    measures : mapping of str to Measure
        Every number, by name: of pairs (all, ``positive_``, ``negative_``; ``within_`` for the baseline) and of people.
    by_label : mapping of label to mapping of str to Measure
        The numbers of pairs for each label; there may be more than two.
    directions : tuple of Direction
        For every two combinations of sensitive values, who is scored lower, and whether that could be chance.
    coverage : tuple of Coverage
        Who has a comparable partner at all: the audit speaks for these people only.
    groups : tuple of GroupRate
        Selection rates by sensitive value.
    fairlearn : mapping of str to float
        Group metrics of fairlearn, if that is installed.
    worst : tuple of PairCase
        The pairs with the largest gaps, side by side.
    notes : tuple of str
        What a reader has to know before believing a number.
    question : Question
        What was asked: people, rule, scores.
    settings : AuditSettings
        The parameters it was made with.
    scored : ScoredPairs
        The pairs, with the gap of each; a uniform sample of them, where there are more than ``max_pairs``.
    summaries : mapping
        How gaps and scores are spread out, under the names they have in the record: ``distributions``,
        ``person_gaps``, ``calibration`` and ``score_distribution``.
    about : mapping
        Settings, versions and checksums: what it takes to have the same numbers again.
    tally : PairTally, optional
        What was counted of all pairs, where ``scored`` are a sample of them.

    Examples
    --------
    >>> from likewise import audit, load_dataset
    >>> data = load_dataset("planted")
    >>> found = audit(data.scores, data.test.X, data.test.y, roles=data.roles.learn(data.train.X), rule=data.rule)
    >>> found
    <Audit: 151 pairs of 500 people; mean gap 6.08% positive, 6.20% negative>
    >>> lowest = min(found.directions, key=lambda direction: direction.mean_gap)
    >>> lowest.target[0], round(lowest.mean_gap, 3)
    ('green', -0.1)
    """

    measures: Mapping[str, Measure]
    by_label: Mapping[Any, Mapping[str, Measure]]
    directions: tuple[Direction, ...]
    coverage: tuple[Coverage, ...]
    groups: tuple[GroupRate, ...]
    fairlearn: Mapping[str, float]
    worst: tuple[PairCase, ...]
    notes: tuple[str, ...]
    question: Question
    settings: AuditSettings
    scored: ScoredPairs
    summaries: Mapping[str, Any]
    about: Mapping[str, Any]
    tally: PairTally | None = None

    def __getitem__(self, name: str) -> Measure:
        """Look up one number."""
        try:
            return self.measures[name]
        except KeyError:
            raise KeyError(f"No measure is called {name!r}.{advise_measure(name, self.measures)}") from None

    def __repr__(self) -> str:
        return f"<{self._headline}>"

    def __str__(self) -> str:
        return tell_audit(self._headline, self.measures, self.directions, self.notes)

    @property
    def _headline(self) -> str:
        slices = ("positive", "negative") if self.question.scores.task == "binary" else ("",)
        means = [(name, self.measures[f"{name}_gap_mean".lstrip("_")].value) for name in slices]
        gaps = ", ".join(f"{'none' if mean is None else f'{100 * mean:.2f}%'} {name}".strip() for name, mean in means)
        pairs, people = self.about["pairs"]["n"], len(self.question.table)
        return f"Audit: {count_of(pairs, 'pair')} of {count_of(people, 'person', 'people')}; mean gap {gaps}"

    @property
    def pairs(self) -> ComparablePairs:
        """The comparable pairs; a uniform sample of them, where there are more than ``max_pairs``."""
        return self.scored.pairs

    @property
    def gaps(self) -> NDArray[np.float64]:
        """The gap of each pair, in the order of ``pairs``."""
        return self.scored.gaps

    @cached_property
    def person_gaps(self) -> NDArray[np.float64]:
        """The worst gap each person suffers, row by row; NaN for people without a partner."""
        if self.tally is not None:
            return tallied_gaps(self.tally)
        return person_gaps(self.pairs, self.scored.gaps, len(self.question.table))

    @property
    def is_collapsed(self) -> bool:
        """Whether the model scores everybody nearly alike, so that its small gaps mean nothing."""
        return bool(self.about["is_collapsed"])

    def judge(self, policy: Policy | str | Path) -> Verdict:
        """Hold the numbers against a policy.

        Parameters
        ----------
        policy : Policy, or path of a TOML file

        Returns
        -------
        Verdict

        Examples
        --------
        >>> from likewise import Policy, audit, load_dataset
        >>> data = load_dataset("planted")
        >>> found = audit(data.scores, data.test.X, data.test.y, roles=data.roles, rule=data.rule)
        >>> found.judge(Policy(max_gap_mean=0.01)).outcome
        'fail'
        """
        return judge(self.measures, policy, is_collapsed=self.is_collapsed)

    def to_dict(self, verdict: Verdict | None = None) -> dict[str, Any]:
        """Give everything as plain data, ready for JSON, in the form that reports and ``likewise verify`` read.

        Parameters
        ----------
        verdict : Verdict, optional
            To be kept with it.

        Returns
        -------
        dict

        Examples
        --------
        >>> from likewise import audit, load_dataset
        >>> data = load_dataset("planted")
        >>> found = audit(data.scores, data.test.X, data.test.y, roles=data.roles, rule=data.rule)
        >>> found.to_dict()["pairs"]["n"] == len(found.pairs)
        True
        """
        record: dict[str, Any] = plain(
            {
                "format": FORMAT,
                **self.about,
                "measures": {name: asdict(measure) for name, measure in self.measures.items()},
                "by_label": [
                    {"label": label, "measures": {name: asdict(measure) for name, measure in measures.items()}}
                    for label, measures in self.by_label.items()
                ],
                "directions": [asdict(direction) for direction in self.directions],
                "coverage": [asdict(coverage) for coverage in self.coverage],
                "groups": [asdict(group) for group in self.groups],
                "fairlearn": dict(self.fairlearn),
                **self.summaries,
                "worst_pairs": [asdict(case) for case in self.worst],
                "notes": list(self.notes),
                "policy": None if verdict is None else verdict.policy.to_dict(),
                "verdict": None if verdict is None else verdict.to_dict(),
            }
        )
        return record

    def to_record(self, verdict: Verdict | None = None) -> AuditRecord:
        """Return the typed record: what :meth:`to_dict` returns, as reports read it."""
        return AuditRecord.from_dict(self.to_dict(verdict))

    def to_html(self, verdict: Verdict | None = None, before: Audit | None = None) -> str:
        """Write the report: one page of HTML that needs nothing else.

        Parameters
        ----------
        verdict : Verdict, optional
            To head the report.
        before : Audit, optional
            Of the same people by an earlier model, to stand beside this one.

        Returns
        -------
        str

        Examples
        --------
        >>> from likewise import audit, load_dataset
        >>> data = load_dataset("planted")
        >>> found = audit(data.scores, data.test.X, data.test.y, roles=data.roles, rule=data.rule)
        >>> found.to_html().startswith("<!DOCTYPE html>")
        True
        """
        from likewise.report import to_html

        if before is None:
            return to_html(self.to_dict(verdict))
        from likewise.auditing._comparison import compare_audits  # which knows audits itself

        changes = compare_audits(before, self).to_dict()
        return to_html(self.to_dict(verdict), before=before.to_dict(), comparison=changes)

    def _repr_html_(self) -> str:
        """Show the headline numbers in a notebook."""
        from likewise.report import to_card

        return to_card(self.to_dict())

    def plot_gaps(self, ax: Axes | None = None, *, label: Any = None) -> Axes:
        """Draw how the gaps of pairs spread, beside the baseline.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; otherwise on a new figure.
        label : any, optional
            Draw only the pairs with this label.

        Returns
        -------
        matplotlib.axes.Axes

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from likewise import audit, load_dataset
        >>> data = load_dataset("planted")
        >>> found = audit(data.scores, data.test.X, data.test.y, roles=data.roles, rule=data.rule)
        >>> found.plot_gaps(Figure().subplots(), label=1).get_title(loc="left")
        'Gaps. Label 1 (positive)'
        """
        from likewise.report import plot_chart

        return plot_chart(self.to_dict(), "gaps", ax, label=label)

    def plot_directions(self, ax: Axes | None = None) -> Axes:
        """Draw who is scored lower by how much, as :meth:`plot_gaps` does."""
        from likewise.report import plot_chart

        return plot_chart(self.to_dict(), "directions", ax)

    def plot_people(self, ax: Axes | None = None) -> Axes:
        """Draw how the worst gaps of people spread, as :meth:`plot_gaps` does."""
        from likewise.report import plot_chart

        return plot_chart(self.to_dict(), "people", ax)

    def plot_calibration(self, ax: Axes | None = None) -> Axes:
        """Draw how often the positive label occurs over the score, as :meth:`plot_gaps` does; of two labels only."""
        from likewise.report import plot_chart

        return plot_chart(self.to_dict(), "calibration", ax)
