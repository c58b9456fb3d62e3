"""Gaps split exactly over the columns in which two comparable people differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._checks import check_count
from likewise._format import count_of, line_up
from likewise.auditing import Audit
from likewise.auditing._internal import link_people, mean_of, measure_parts, number_combinations
from likewise.exceptions import ParameterError
from likewise.explain._splitting import (
    MAX_COLUMNS,
    N_ORDERS,
    SplitPairs,
    open_mixer,
    roles_of,
    split_pairs,
    sum_parts,
)
from likewise.record._internal import (
    Attribution,
    Measure,
    Part,
    TransitionParts,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
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
        Parts by column and by transition, and the parts of the worst pairs.

    Examples
    --------
    >>> from likewise import attribute_gaps, audit, load_dataset
    >>> data = load_dataset("planted")
    >>> def lender(people):  # scores the group "green" lower by 0.1, and every year of a loan by 0.04
    ...     return 0.8 - 0.1 * (people["group"] == "green") - 0.04 * people["duration"] / 12
    >>> found = audit(lender, data.test.X, data.test.y, roles=data.roles, rule=data.rule)
    >>> print(attribute_gaps(found, lender))
    Attribution: mean gap 5.96 pp of 134 pairs, split over columns
              part of the mean gap  pairs that differ
    group     +5.90 pp              114
    duration  +0.07 pp              73
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
        return "\n".join([self._headline, line_up(rows)])

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
    max_columns: int = MAX_COLUMNS,
    n_orders: int = N_ORDERS,
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
    [('group', 0.059), ('duration', 0.0007)]
    """
    check_count("max_columns", max_columns, or_none=False, least=1)
    check_count("n_orders", n_orders, or_none=False, least=1)
    check_count("random_state", random_state, or_none=False)
    _refuse_others(audit, max_columns)
    left, right = (np.asarray(rows, np.int64) for rows in (audit.pairs.left, audit.pairs.right))
    mixer = open_mixer(audit.question, audit.settings, model, np.unique(np.concatenate([left, right])))
    how = {"max_columns": max_columns, "n_orders": n_orders, "random_state": random_state}
    split = split_pairs(mixer, audit.question, left, right, **how)
    weights, gaps = audit.question.scores.weigh_pairs(left, right), np.asarray(audit.gaps)
    made = GapAttribution(
        audit=audit, names=tuple(mixer.names), starts=split.starts, columns=split.columns, parts=split.parts
    )
    bounded = _bound_parts(made, split, gaps)
    parts = [(one, bounded([one.column])) for one in sum_parts(split, mixer, audit.question, gaps, weights)]
    summary = Attribution(
        n_pairs=len(left),
        n_sampled=int((split.n_columns > max_columns).sum()),
        max_columns=max_columns,
        n_orders=n_orders,
        n_scored=mixer.n_scored,
        mean_gap=mean_of(gaps, weights),
        columns=tuple(replace(one, part=part, part_share=share) for one, (part, share) in parts),
        transitions=_split_transitions(made, split, weights),
        worst=_split_worst(made),
        seen=made.names,
    )
    of_sensitive = bounded([name for name, role in roles_of(audit.question).items() if role == "sensitive"])
    measures = {
        **audit.record.measures,
        **dict(zip(("sensitive_part", "sensitive_part_share"), of_sensitive, strict=True)),
    }
    return replace(made, audit=replace(audit, record=replace(audit.record, measures=measures, attribution=summary)))


def _bound_parts(
    made: GapAttribution, split: SplitPairs, gaps: Floats
) -> Callable[[Sequence[str]], tuple[Measure, Measure]]:
    """Return what measures the part that some columns make of the mean gap, and its share, with intervals."""
    audit, towards = made.audit, split.towards(gaps)
    graph = link_people(audit.pairs.left, audit.pairs.right, audit.question.table, audit.question.scores)
    confidence = audit.settings.confidence if audit.settings.n_resamples else None

    def measure(columns: Sequence[str]) -> tuple[Measure, Measure]:
        mine = np.isin(split.columns, [place for place, name in enumerate(made.names) if name in columns])
        parts = np.bincount(split.pairs[mine], towards[mine], len(gaps)).astype(np.float64)
        # where no part is seen, others may still be as large as a gap: a model flat here may be steep elsewhere
        return measure_parts(parts, gaps, graph, confidence, float(gaps.max(initial=0.0)))

    return measure


def _refuse_others(audit: Any, max_columns: int) -> None:
    if not isinstance(audit, Audit):
        raise ParameterError(f"is a {type(audit).__name__}; give what likewise.audit returns.", "audit")
    if max_columns > MOST_ENUMERATED:
        raise ParameterError(
            f"is {max_columns:,}: {2.0**max_columns:,.0f} mixtures for a pair. Give {MOST_ENUMERATED} or less.",
            "max_columns",
        )


def _split_transitions(made: GapAttribution, split: SplitPairs, weights: Floats | None) -> tuple[TransitionParts, ...]:
    """Split the signed mean gap of every direction of the record, from its origin to its target."""
    audit, scores = made.audit, made.audit.question.scores
    if scores.values.ndim > 1:
        return ()
    numbers, combinations = number_combinations(audit.question.table)
    number_of = {values: number for number, values in enumerate(combinations)}
    ends = numbers[np.asarray(audit.pairs.left)], numbers[np.asarray(audit.pairs.right)]
    of_parts = split.pairs
    found = []
    for one in sorted(audit.directions, key=lambda one: -one.n_pairs)[:TRANSITIONS]:
        origin, target = (number_of.get(values) for values in (one.origin, one.target))
        sign = np.where((ends[0] == origin) & (ends[1] == target), scores.sign, 0)
        sign = np.where((ends[1] == origin) & (ends[0] == target), -scores.sign, sign)
        n_pairs = int(np.count_nonzero(sign))
        if n_pairs:
            signed = sign if weights is None else sign * weights
            parts = np.bincount(made.columns, signed[of_parts] * made.parts, len(made.names)) / np.abs(signed).sum()
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
