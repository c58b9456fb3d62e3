"""Certificates of the people of an audit, in its record: how far anybody comparable can be from each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._checks import parameter
from likewise.auditing import Audit
from likewise.auditing._internal import (
    Units,
    Weights,
    choose_ids,
    influence_of_people,
    interval_of_mean,
    place_in_bins,
    round_edges,
)
from likewise.certifying import Certificates, CertifiedShare, certify
from likewise.exceptions import ParameterError, ScoreError
from likewise.generation import GibbsGenerator
from likewise.generation._internal import fingerprint
from likewise.record._internal import (
    CertificateRecord,
    CertifiedLimit,
    CertifiedPerson,
    ChangedValue,
    Measure,
    PlausibilityRecord,
)
from likewise.schema._internal import open_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
SAME: Final = 1e-6  # a model that gives a person another score than the audit has is another model
LIMITS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)  # of gaps, for the table of shares
TIE: Final = 1e-9  # a gap on a limit is within it
IMPLAUSIBLE: Final = 0.05  # of people fit each other no better


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class CertifiedAudit:
    """Certificates of the people of an audit: the summary, and those of everybody.

    :func:`certify_audit` makes it.

    Parameters
    ----------
    audit : Audit
        The audit with the summary in its record and three more measures, so that reports show them and policies limit
        them: ``certified_share`` (of people within the audit's ``gap_limit`` of everybody comparable),
        ``certified_mean`` and ``certified_max``.
    certificates : Certificates
        Of everybody, in units of the model's scores.

    Attributes
    ----------
    summary : CertificateRecord
        Shares of people within limits, the distribution of worst gaps, and the worst people.

    Examples
    --------
    >>> from sklearn.compose import make_column_selector, make_column_transformer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import OneHotEncoder, StandardScaler
    >>> from likewise import audit, certify_audit, load_dataset
    >>> data = load_dataset("planted")
    >>> numbers = make_column_selector(dtype_include="number")
    >>> coding = make_column_transformer((StandardScaler(), numbers), remainder=OneHotEncoder())
    >>> model = make_pipeline(coding, LogisticRegression()).fit(data.train.X, data.train.y)
    >>> found = audit(model, data.test.X, data.test.y, roles=data.roles, rule=data.rule)
    >>> certified = certify_audit(found, model)
    >>> certified.audit["certified_share"].n, len(certified.summary.people)
    (500, 100)
    """

    audit: Audit
    certificates: Certificates

    @property
    def summary(self) -> CertificateRecord:  # described with the class
        found = self.audit.record.certificates
        assert found is not None
        return found

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the distribution of the worst possible gaps, on a new figure unless axes are given."""
        from likewise.report import plot_chart

        return plot_chart(self.audit.to_dict(), "certificates", ax)

    def __repr__(self) -> str:
        return f"<{str(self.certificates).partition('. ')[0]}>"

    def __str__(self) -> str:
        return str(self.certificates)


def certify_audit(
    audit: Audit,
    model: Any,
    *,
    within_range: bool = True,
    max_splits: int = 20_000,
    generator: GibbsGenerator | None = None,
    min_plausibility: float = 0.0,
    n_jobs: int | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> CertifiedAudit:
    """Certify how far anybody comparable can be from each person of an audit, and put it into the audit's record.

    People, schema, rule and favourable side are those of the audit; :func:`certify` does the rest, and works without an
    audit as well. Labels play no part: a certificate holds for comparable people of any label.

    Parameters
    ----------
    audit : Audit
        Made in memory with this model's scores.
    model : fitted estimator
        What was audited; it is looked into, as :func:`certify` says.
    within_range, max_splits, generator, min_plausibility, n_jobs, progress
        As for :func:`certify`.

    Returns
    -------
    CertifiedAudit

    Examples
    --------
    >>> from sklearn.compose import make_column_selector, make_column_transformer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import OneHotEncoder, StandardScaler
    >>> from likewise import Policy, audit, certify_audit, load_dataset
    >>> data = load_dataset("planted")
    >>> numbers = make_column_selector(dtype_include="number")
    >>> coding = make_column_transformer((StandardScaler(), numbers), remainder=OneHotEncoder())
    >>> model = make_pipeline(coding, LogisticRegression()).fit(data.train.X, data.train.y)
    >>> found = audit(model, data.test.X, data.test.y, roles=data.roles, rule=data.rule)
    >>> certify_audit(found, model).audit.judge(Policy(max_certified_max=0.01)).outcome
    'fail'
    """
    _refuse_others(audit)
    question = audit.question
    other_label = _is_of_other_label(audit, model)
    found = certify(
        model,
        question.frame,
        roles=question.schema,
        rule=question.rule,
        within_range=within_range,
        max_splits=max_splits,
        generator=generator,
        min_plausibility=min_plausibility,
        n_jobs=n_jobs,
        progress=progress,
    )
    _refuse_other_model(audit, found, other_label)
    seen = _Summary(audit, found, other_label)
    record = CertificateRecord(
        method=found.method,
        n_people=len(found),
        n_exact=int(found.is_exact.sum()),
        n_alone=int((~found.is_possible).sum()),
        within_range=within_range,
        max_splits=max_splits,
        confidence=audit.settings.confidence,
        limits=tuple(seen.within(limit) for limit in sorted({*LIMITS, audit.settings.gap_limit})),
        **seen.distribution(),
        people=seen.worst(audit.settings.n_worst),
        fixed_columns=found.fixed_columns,
        refused_categories=dict(found.refused_categories),
        plausibility=_describe_plausibility(found, generator),
    )
    measures = {**audit.record.measures, **seen.measures()}
    return CertifiedAudit(
        audit=replace(audit, record=replace(audit.record, measures=measures, certificates=record)), certificates=found
    )


def _refuse_others(audit: Any) -> None:
    if not isinstance(audit, Audit):
        raise ParameterError(f"is a {type(audit).__name__}; give what likewise.audit returns.", "audit")
    question = audit.question
    if question.shown is not None or question.frame is None:
        raise ScoreError("The people of this audit stayed in Spark. Audit a sample of them in memory.")
    if question.scores.weights is not None:
        raise ScoreError(
            "The people of this audit are weighted, which shares of certified people do not allow for. Certify an "
            f"audit without {parameter('sample_weight')}."
        )
    if question.scores.values.ndim > 1:
        raise ScoreError("A certificate is about one score per person, and this audit has one for each label.")


def _is_of_other_label(audit: Audit, model: Any) -> bool:
    """Whether the audit has the probability of the first of two labels, and a certificate that of the last."""
    classes = list(getattr(model, "classes_", ()))
    positive = audit.record.positive
    return len(classes) == 2 and positive is not None and positive == classes[0]


def _refuse_other_model(audit: Audit, found: Certificates, other_label: bool) -> None:
    known = audit.question.scores.values
    given = 1 - found.scores if other_label else found.scores
    apart = np.abs(known - given) / audit.question.scores.scale
    row = int(apart.argmax())
    if not apart[row] <= SAME:
        raise ScoreError(
            f"The model scores row {row:,} (counted from 0) with {given[row]:.6g}; in the audit it has "
            f"{known[row]:.6g}. Give the model that was audited."
        )


def _describe_plausibility(found: Certificates, generator: GibbsGenerator | None) -> PlausibilityRecord | None:
    ranks = found.plausibility
    if ranks is None or generator is None:
        return None
    return PlausibilityRecord(
        generator=fingerprint(generator),
        least=found.min_plausibility,
        n_without=int((found.is_possible & np.isnan(ranks)).sum()),
        n_implausible=int((ranks < IMPLAUSIBLE).sum()),
    )


class _Summary:
    """Sums up certificates in units of an audit's gaps."""

    def __init__(self, audit: Audit, found: Certificates, other_label: bool) -> None:
        self._audit, self._found, self._other_label = audit, found, other_label
        scale = audit.question.scores.scale
        self._gaps, self._reached = found.gaps / scale, found.reached / scale
        self._confidence = audit.settings.confidence

    def within(self, limit: float) -> CertifiedLimit:
        """Count the people within a limit, with an interval for the population."""
        found = CertifiedShare.of(limit, self._gaps, self._reached, self._confidence, TIE)
        return CertifiedLimit(found.limit, found.n_within, found.n_beyond, found.low, found.high)

    def measures(self) -> dict[str, Measure]:
        """Return the share within the audit's limit, the mean and the largest of the bounds.

        Where bounds are not exact, the interval reaches from what is known to be reached to what is known not to be
        exceeded. The largest is a fact about these people, without an interval where it is exact.
        """
        n, limit = len(self._gaps), self.within(self._audit.settings.gap_limit)
        mean, low, who = float(self._gaps.mean()), float(self._reached.mean()), (Weights.of(None, n), Units(n))
        ends = [
            interval_of_mean(
                float(one.mean()),
                influence_of_people(one, *who),
                self._confidence,
                0.0,
                np.inf,
                1.0,
            )
            for one in (self._reached, self._gaps)
        ]
        least = None if ends[0] is None else min(ends[0][0], low)
        most = None if ends[1] is None else ends[1][1]
        worst = Measure(float(self._gaps.max()), n=n)
        if not self._found.is_exact[self._gaps.argmax()]:
            worst = replace(worst, low=float(self._reached.max()), high=worst.value)
        return {
            "certified_share": Measure(limit.n_within / n, limit.low, limit.high, n),
            "certified_mean": Measure(mean, least, most, n),
            "certified_max": worst,
        }

    def distribution(self) -> dict[str, Any]:
        """Count the bounds in bins; with their median and 95th percentile."""
        edges = round_edges(float(self._gaps.max()))
        counts = np.bincount(place_in_bins(self._gaps, edges), minlength=len(edges) - 1)
        middle, high = np.quantile(self._gaps, (0.5, 0.95))
        return {
            "edges": tuple(edges.tolist()),
            "counts": tuple(counts.tolist()),
            "median": float(middle),
            "q95": float(high),
        }

    def worst(self, n: int) -> tuple[CertifiedPerson, ...]:
        """Describe the people of whom the largest gaps were reached."""
        found, question = self._found, self._audit.question
        rows = np.lexsort([-self._gaps, -self._reached])[:n]
        rows = rows[self._reached[rows] > 0]
        people, others = open_frame(question.frame), open_frame(found.rows)
        names = [name for name in people.names if name in others.names]
        sides = {name: (people.cells(name, rows), others.cells(name, rows)) for name in names}
        scores, theirs = (1 - one if self._other_label else one for one in (found.scores, found.row_scores))
        ids, ranks = choose_ids(question, rows), found.plausibility
        return tuple(
            CertifiedPerson(
                row=int(row),
                id=ids[place],
                score=float(scores[row]),
                comparable_score=float(theirs[row]),
                gap=float(self._gaps[row]),
                reached=float(self._reached[row]),
                is_exact=bool(found.is_exact[row]),
                plausibility=None if ranks is None or np.isnan(ranks[row]) else float(ranks[row]),
                changes=tuple(
                    ChangedValue(name, one[place], other[place])
                    for name, (one, other) in sides.items()
                    if one[place] != other[place]
                ),
            )
            for place, row in enumerate(rows.tolist())
        )
