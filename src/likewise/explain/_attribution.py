"""Gaps split over the columns in which two comparable people differ, exactly: Shapley values of mixtures of the two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._checks import check_count
from likewise._format import count_of, line_up, show_cell
from likewise._parameters import parameter
from likewise.auditing import Audit
from likewise.auditing._internal import (
    PairGraph,
    Question,
    ask_scores,
    check_scores,
    measure_parts,
    number_combinations,
    read_decisions,
    resolve_task,
)
from likewise.exceptions import ParameterError, ScoreError
from likewise.explain._mixtures import Design, Mixer, draw_design, enumerate_design
from likewise.explain._regions import scan_regions
from likewise.record._internal import (
    PART_MEASURES,
    SENSITIVE_MEASURES,
    Attribution,
    ColumnPart,
    Measure,
    Part,
    TransitionParts,
)
from likewise.schema import CodedTable
from likewise.schema._internal import KINDS, open_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
SAME: Final = 1e-6  # of the scale: a model that gives a person another score than the audit has is another model
N_ORDERS: Final = 64
MOST_ENUMERATED: Final = 16  # columns: 65,536 mixtures of a pair
SHOWN: Final = 8  # columns of the printed table
LEAST: Final = 1e-3  # of the mean gap: smaller parts are not printed
TRANSITIONS: Final = 50  # those with the most pairs


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class GapAttribution:
    """How gaps split over columns: the summary, and the parts of every pair.

    :func:`attribute_gaps` makes it. The parts describe the model's arithmetic, not causes: how much of a gap arises, on
    average over all orders, when one column after the other takes the value of the other person.

    Parameters
    ----------
    audit : Audit
        The audit with the summary in its record, so that reports show it.
    names : tuple of str
        The columns that the model sees.
    starts : array of int, shape (n_pairs + 1,)
        Where the parts of each pair begin, in the order of ``audit.pairs``.
    columns : array of int
        The column of each part, as a position in ``names``.
    parts : array of float
        What each column adds to the signed gap of its pair, right person minus left, in units of the gap.

    Attributes
    ----------
    summary : Attribution
        Parts by column and by transition, regions, and the parts of the worst pairs.

    Examples
    --------
    >>> from likewise import attribute_gaps, audit, load_dataset
    >>> data = load_dataset("planted")
    >>> def lender(people):  # scores the group "green" lower by 0.1, and every year of a loan by 0.04
    ...     return 0.8 - 0.1 * (people["group"] == "green") - 0.04 * people["duration"] / 12
    >>> found = audit(lender, data.test.X, data.test.y, roles=data.roles, rule=data.rule)
    >>> print(attribute_gaps(found, lender))
    Attribution: mean gap 6.24 pp of 151 pairs, split over columns
              part of the mean gap  pairs that differ
    group     +6.16 pp              137
    duration  +0.08 pp              85
    """

    audit: Audit
    names: tuple[str, ...]
    starts: Rows
    columns: Rows
    parts: Floats

    @property
    def summary(self) -> Attribution:  # described with the class
        found = self.audit.record.attribution
        assert found is not None
        return found

    @cached_property
    def matrix(self) -> Floats:
        """The parts as a matrix, one row per pair and one column per name; 0 where the two people are equal."""
        found = np.zeros((len(self.starts) - 1, len(self.names)))
        found[np.repeat(np.arange(len(found)), np.diff(self.starts)), self.columns] = self.parts
        return found

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the part of each column in the mean gap, on a new figure unless axes are given."""
        from likewise.report import plot_chart

        return plot_chart(self.audit.to_dict(), "attribution", ax)

    def __repr__(self) -> str:
        return f"<{self._headline}>"

    def __str__(self) -> str:
        found = self.summary
        largest = [one for one in found.columns if abs(one.mean_part) >= LEAST * found.mean_gap][:SHOWN]
        rows = [("", "part of the mean gap", "pairs that differ")]
        rows += [(one.column, self._show(one.mean_part, "+"), f"{one.n_pairs:,}") for one in largest]
        where = [one for one in found.regions if one.p_adjusted <= 0.05][:3]
        told = [f"Larger where {one}: {self._show(one.mean_gap)}, adjusted p = {one.p_adjusted:.2g}" for one in where]
        return "\n".join([self._headline, line_up(rows), *told])

    @property
    def _headline(self) -> str:
        found = self.summary
        pairs = count_of(found.n_pairs, "pair")
        return f"Attribution: mean gap {self._show(found.mean_gap)} of {pairs}, split over columns"

    def _show(self, value: float, sign: str = "") -> str:
        return f"{100 * value:{sign}z.2f}{' pp' if self.audit.record.in_points else '%'}"


def attribute_gaps(
    audit: Audit,
    model: Any,
    *,
    max_columns: int = 10,
    n_orders: int = N_ORDERS,
    n_permutations: int = 999,
    random_state: int = 0,
) -> GapAttribution:
    """Split the gap of every pair over the columns in which the two people differ.

    Between two people lie their mixtures: rows with some columns of the one and the others of the other. The model
    scores all of them, and a column's part is what its value changes, averaged over all orders in which the columns can
    change (its Shapley value). The parts of a pair add up to its gap.

    Parameters
    ----------
    audit : Audit
        Made in memory with this model's scores. Where it kept a sample of the pairs, these are split.
    model : object
        What was audited: anything with ``predict_proba`` or ``predict``, or a function from a frame to scores.
    max_columns : int
        Pairs that differ in more columns than this get estimates from random orders instead of all mixtures; these add
        up to the gap, too.
    n_orders : int
        How many orders those are.
    n_permutations : int
        Of the test whether gaps are larger in some region of the columns than elsewhere; 0 for no search of regions.
    random_state : int
        The same seed gives the same numbers.

    Returns
    -------
    GapAttribution

    Examples
    --------
    >>> from likewise import attribute_gaps, audit, load_dataset
    >>> data = load_dataset("planted")
    >>> def lender(people):  # scores the group "green" lower by 0.1, and every year of a loan by 0.04
    ...     return 0.8 - 0.1 * (people["group"] == "green") - 0.04 * people["duration"] / 12
    >>> found = audit(lender, data.test.X, data.test.y, roles=data.roles, rule=data.rule)
    >>> split = attribute_gaps(found, lender)
    >>> [(one.column, round(one.mean_part, 4)) for one in split.summary.columns[:2]]
    [('group', 0.0616), ('duration', 0.0008)]
    """
    check_count("max_columns", max_columns, or_none=False, least=1)
    check_count("n_orders", n_orders, or_none=False, least=1)
    check_count("n_permutations", n_permutations, or_none=False)
    check_count("random_state", random_state, or_none=False)
    if max_columns > MOST_ENUMERATED:
        raise ParameterError(
            f"is {max_columns:,}: {2.0**max_columns:,.0f} mixtures for a pair. Give {MOST_ENUMERATED} or less.",
            "max_columns",
        )
    mixer = _open(audit, model)
    left, right = (np.asarray(rows, np.int64) for rows in (audit.pairs.left, audit.pairs.right))
    scale = audit.question.scores.scale
    random = np.random.default_rng([random_state, 0])

    def plan(n_columns: int) -> Design:
        return enumerate_design(n_columns) if n_columns <= max_columns else draw_design(n_columns, n_orders, random)

    ends = np.concatenate([[0], np.cumsum((mixer.codes[left] != mixer.codes[right]).sum(axis=1))])
    columns, parts = np.zeros(ends[-1], np.int64), np.zeros(ends[-1])
    for some in mixer.split(left, right, _projection(audit.question, left, right), plan):
        into = ends[some.places][:, None] + np.arange(some.columns.shape[1])
        columns[into], parts[into] = some.columns, some.parts / scale
    made = GapAttribution(audit=audit, names=tuple(mixer.names), starts=ends, columns=columns, parts=parts)
    summary, of_sensitive = _sum_up(
        made,
        Attribution(
            n_pairs=len(left),
            n_sampled=int((np.diff(ends) > max_columns).sum()),
            max_columns=max_columns,
            n_orders=n_orders,
            n_scored=mixer.n_scored,
            mean_gap=float(audit.gaps.mean()),
            columns=(),
            seen=made.names,
        ),
    )
    if n_permutations:
        frame, gaps = open_frame(audit.question.frame), np.asarray(audit.gaps)
        found = scan_regions(
            frame, audit.question.table, left, right, gaps, n_permutations=n_permutations, seed=random_state
        )
        summary = replace(summary, regions=found[0], n_regions=found[1])
    measures = {**audit.record.measures, **of_sensitive}
    return replace(made, audit=replace(audit, record=replace(audit.record, measures=measures, attribution=summary)))


def _open(audit: Any, model: Any) -> Mixer:
    """Return a mixer of the people of an audit, once the model has shown that the scores are its own."""
    if not isinstance(audit, Audit):
        raise ParameterError(f"is a {type(audit).__name__}; give what likewise.audit returns.", "audit")
    question = audit.question
    if question.shown is not None or question.frame is None:
        raise ScoreError("The people of this audit stayed in Spark. Audit a sample of them in memory.")
    if question.scores.weights is not None:
        raise ScoreError(
            "The people of this audit are weighted, which parts of gaps do not allow for. Attribute an audit without "
            f"{parameter('sample_weight')}."
        )
    if getattr(model, "_scored_by", None) is not None:
        raise ScoreError(
            f"{type(model).__name__} scores people together, so a mixture of two has no score of its own. "
            "Attribute the gaps of the model whose scores it smooths."
        )

    def score(frame: Any) -> Floats:
        return _ask(model, frame, question, audit)

    people = np.unique(np.concatenate([audit.pairs.left, audit.pairs.right]))
    known, found = question.scores.values, score(question.frame)
    apart = np.abs(found - known).reshape(len(known), -1).max(axis=1)[people] / question.scores.scale
    if apart.max(initial=0.0) > SAME:
        row = int(people[apart.argmax()])
        raise ScoreError(
            f"{type(model).__name__} scores row {row:,} (counted from 0) with {_show(found[row])}; in the audit it has "
            f"{_show(known[row])}. Give the model that was audited."
        )
    return Mixer(question.frame, _columns_seen(model, question), known, score)


def _ask(model: Any, frame: Any, question: Question, audit: Audit) -> Floats:
    """Return the scores of a frame's rows in the form that the audit has them."""
    table, scores = question.table, question.scores
    settled = resolve_task(
        audit.settings,
        table.classes.tolist(),
        is_regression=question.outcomes is not None,
        is_labelled=scores.is_labelled,
    )
    found, subject = ask_scores(model, frame, table, settled.positive_label)
    decided = read_decisions(found, subject, audit.settings.favourable)
    values = check_scores(found if decided is None else decided, subject, len(open_frame(frame)))
    if values.ndim == 2 and scores.values.ndim == 1:
        values = values[:, -1 if scores.positive is None else scores.positive]
    return values if scores.task == "regression" else np.clip(values, 0.0, 1.0)


def _columns_seen(model: Any, question: Question) -> list[str]:
    """Return the columns that the model names, or all but identifiers and labels."""
    wanted = getattr(model, "feature_names_in_", None)
    if wanted is not None:
        return [str(name) for name in wanted]
    roles = question.schema.roles
    return [name for name in open_frame(question.frame).names if name not in (roles.row_id, roles.label)]


def _projection(question: Question, left: Rows, right: Rows) -> Any:
    """Return what makes one number of scores: of several labels, half of their sum with the signs of the gap."""
    values = question.scores.values
    if values.ndim == 1:
        return lambda scores, places: scores
    signs = np.sign(values[right] - values[left])
    return lambda scores, places: np.einsum("pml,pl->pm", scores, signs[places]) / 2


def _show(score: Any) -> str:
    return show_cell(float(score) if np.ndim(score) == 0 else tuple(score.tolist()))


def _sum_up(made: GapAttribution, summary: Attribution) -> tuple[Attribution, dict[str, Measure]]:
    """Return the summary, and what the sensitive columns make of the mean gap together."""
    audit, n_columns = made.audit, len(made.names)
    pairs = np.repeat(np.arange(summary.n_pairs), np.diff(made.starts))
    signed = np.zeros(summary.n_pairs)
    np.add.at(signed, pairs, made.parts)
    towards = np.sign(np.where(np.asarray(audit.gaps) > 0, signed, 0.0))[pairs] * made.parts
    sums = [np.bincount(made.columns, weights=one, minlength=n_columns) for one in (towards, np.abs(made.parts))]
    differing = np.bincount(made.columns, minlength=n_columns)
    roles = _roles_of(audit.question.table)
    bounded = _bound_parts(audit, pairs, made.columns, towards)
    found = [
        ColumnPart(
            column=name,
            role=roles.get(name, "not compared"),
            n_pairs=int(differing[place]),
            mean_part=float(sums[0][place] / max(summary.n_pairs, 1)),
            mean_size=float(sums[1][place] / max(summary.n_pairs, 1)),
            **dict(zip(PART_MEASURES, bounded([place]), strict=True)),
        )
        for place, name in enumerate(made.names)
        if differing[place]
    ]
    sensitive = [place for place, name in enumerate(made.names) if roles.get(name) == "sensitive"]
    whole = replace(
        summary,
        columns=tuple(sorted(found, key=lambda one: (-one.mean_part, one.column))),
        transitions=_split_transitions(made, pairs),
        worst=_split_worst(made),
    )
    return whole, dict(zip(SENSITIVE_MEASURES, bounded(sensitive), strict=True))


def _bound_parts(
    audit: Audit, pairs: Rows, columns: Rows, towards: Floats
) -> Callable[[Sequence[int]], tuple[Measure, Measure]]:
    """Return what measures the part that some columns make of the gaps, and its share, with intervals."""
    graph = PairGraph.of(audit.pairs.left, audit.pairs.right, len(audit.question.table))
    confidence = audit.settings.confidence if audit.settings.n_resamples else None
    gaps = np.asarray(audit.gaps)

    def measure(places: Sequence[int]) -> tuple[Measure, Measure]:
        mine = np.isin(columns, places)
        parts = np.bincount(pairs[mine], weights=towards[mine], minlength=len(gaps)).astype(np.float64)
        # where no part is seen, others may still be as large as a gap: a model flat here may be steep elsewhere
        return measure_parts(parts, gaps, graph, confidence, float(gaps.max(initial=0.0)))

    return measure


def _roles_of(table: CodedTable) -> dict[str, str]:
    return {name: kind for kind in KINDS for name in table.names[kind]}


def _split_transitions(made: GapAttribution, pairs: Rows) -> tuple[TransitionParts, ...]:
    """Split the signed mean gap of every direction of the record, from its origin to its target."""
    audit, scores = made.audit, made.audit.question.scores
    if scores.values.ndim > 1:
        return ()
    numbers, combinations = number_combinations(audit.question.table)
    number_of = {values: number for number, values in enumerate(combinations)}
    ends = numbers[np.asarray(audit.pairs.left)], numbers[np.asarray(audit.pairs.right)]
    found = []
    for one in sorted(audit.directions, key=lambda one: -one.n_pairs)[:TRANSITIONS]:
        origin, target = (number_of.get(values) for values in (one.origin, one.target))
        sign = np.where((ends[0] == origin) & (ends[1] == target), scores.sign, 0)
        sign = np.where((ends[1] == origin) & (ends[0] == target), -scores.sign, sign)
        n_pairs = int(np.count_nonzero(sign))
        if n_pairs:
            parts = np.bincount(made.columns, weights=sign[pairs] * made.parts, minlength=len(made.names)) / n_pairs
            listed = [
                Part(made.names[place], float(parts[place])) for place in np.argsort(-np.abs(parts)) if parts[place]
            ]
            found.append(TransitionParts(one.origin, one.target, n_pairs, float(parts.sum()), tuple(listed)))
    return tuple(found)


def _split_worst(made: GapAttribution) -> tuple[tuple[Part, ...], ...]:
    """Return the parts of the worst pairs of the record, as they add to the gap without its sign."""
    audit = made.audit
    places = {
        two: place for place, two in enumerate(zip(audit.pairs.left.tolist(), audit.pairs.right.tolist(), strict=True))
    }
    found = []
    for case in audit.record.worst_pairs:
        place = places.get((case.left_row, case.right_row), places.get((case.right_row, case.left_row)))
        parts = slice(0, 0) if place is None else slice(made.starts[place], made.starts[place + 1])
        values, columns = made.parts[parts], made.columns[parts]
        values = values * (np.sign(values.sum()) if case.gap else 1.0)
        listed = [Part(made.names[columns[at]], float(values[at])) for at in np.argsort(-np.abs(values), kind="stable")]
        found.append(tuple(listed))
    return tuple(found)
