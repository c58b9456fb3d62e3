"""Mixtures of the people of an audit, and differences of scores split over columns by what a model answers to them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._format import show_cell
from likewise.auditing._internal import (
    AuditSettings,
    Question,
    ask_scores,
    check_scores,
    read_decisions,
    resolve_task,
)
from likewise.exceptions import ScoreError
from likewise.record._internal import ColumnPart
from likewise.schema._internal import KINDS, mix_rows, open_frame

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Flags = NDArray[np.bool_]
AT_ONCE: Final = 1 << 18  # mixtures
SAME: Final = 1e-6  # of the scale: a model that gives a person another score than the audit has is another model
MAX_COLUMNS: Final = 10
N_ORDERS: Final = 64
NOT_COMPARED: Final = "not compared"


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """Which mixtures of two people are scored, and how their scores add up to the part of each column.

    Row by row: the columns that come from the right person (none in the first row, all in the last), and the weight
    of the score in each column's part.
    """

    members: Flags  # (n_mixtures, n_columns)
    weights: Floats  # of the same shape


def enumerate_design(n_columns: int) -> Design:
    """Return all mixtures, with the weights of Shapley values."""
    numbers = np.arange(2**n_columns)
    members = (numbers[:, None] >> np.arange(n_columns)) & 1 == 1
    sizes = members.sum(axis=1)
    by_size = [1 / (n_columns * math.comb(n_columns - 1, n)) for n in range(n_columns)]
    with_it = np.array([0.0, *by_size])[sizes]  # a column joined the size - 1 others
    without = np.array([*by_size, 0.0])[sizes]
    return Design(members, np.where(members, with_it[:, None], -without[:, None]))


def draw_design(n_columns: int, n_orders: int, random: np.random.Generator) -> Design:
    """Return the mixtures on the way from one person to the other in random orders of the columns, and back."""
    orders = [random.permutation(n_columns) for _ in range(-(-n_orders // 2))]
    orders = [one for order in orders for one in (order, order[::-1])][:n_orders]
    n_between = n_columns - 1
    members = np.zeros((2 + n_orders * n_between, n_columns), np.bool_)
    weights = np.zeros(members.shape)
    members[-1] = True
    for number, order in enumerate(orders):
        way = np.concatenate([[0], 1 + number * n_between + np.arange(n_between), [len(members) - 1]])
        for step, column in enumerate(order):
            if step < n_between:
                members[way[step + 1], order[: step + 1]] = True
            weights[way[step + 1], column] += 1 / n_orders
            weights[way[step], column] -= 1 / n_orders
    return Design(members, weights)


@dataclass(frozen=True, slots=True, eq=False)
class PartsOfPairs:
    """The parts of some pairs that differ in as many columns."""

    places: Rows  # of the pairs
    columns: Rows  # (n_pairs, n_columns)
    parts: Floats  # of the same shape


class Mixer:
    """Everybody's values in the columns that a model sees; scores mixtures of two people, equal ones once.

    ``known`` are the scores of the people themselves, and ``score`` asks the model for those of a frame.
    """

    def __init__(self, frame: Any, names: list[str], known: Floats, score: Callable[[Any], Floats]) -> None:
        self.frame, self.names, self.known, self.score = frame, names, known, score
        self.n_scored = 0
        opened = open_frame(frame)
        self.codes = np.column_stack([_number(opened.column(name).array) for name in names])
        n_values = int(self.codes.max(initial=0)) + 1
        self._keys = np.random.default_rng(0).integers(2**64, size=(2, len(names), n_values), dtype=np.uint64)
        columns = np.arange(len(names))
        self._hashes = [keys[columns, self.codes].sum(axis=1, dtype=np.uint64) for keys in self._keys]

    def count_differences(self, left: Rows, right: Rows) -> Rows:
        """Return in how many columns the two people of each pair differ."""
        found: Rows = (self.codes[left] != self.codes[right]).sum(axis=1)
        return found

    def split(
        self, left: Rows, right: Rows, project: Callable[[Floats, Rows], Floats], plan: Callable[[int], Design]
    ) -> Iterator[PartsOfPairs]:
        """Split the difference of each pair over the columns in which the two people differ.

        ``project`` makes one number of each score of the pairs at certain places, where there is one per label.
        """
        differs = self.codes[left] != self.codes[right]
        n_differing = differs.sum(axis=1)
        for n_columns in np.unique(n_differing[n_differing > 0]).tolist():
            design = plan(n_columns)
            together = max(1, AT_ONCE // len(design.members))
            alike = np.flatnonzero(n_differing == n_columns)
            for start in range(0, len(alike), together):
                places = alike[start : start + together]
                one, other = left[places], right[places]
                columns = np.nonzero(differs[places])[1].reshape(len(places), n_columns)
                between = self._score(one, other, columns, design.members[1:-1])
                scores = np.concatenate([self.known[one][:, None], between, self.known[other][:, None]], axis=1)
                yield PartsOfPairs(places, columns, project(scores, places) @ design.weights)

    def _score(self, left: Rows, right: Rows, columns: Rows, members: Flags) -> Floats:
        """Return the scores of all mixtures of each pair, asking the model once for mixtures that are alike."""
        if not len(members):
            return np.empty((len(left), 0, *self.known.shape[1:]))
        hashes, rows = [], np.arange(len(left))[:, None]
        for keys, of_person in zip(self._keys, self._hashes, strict=True):
            change = keys[columns, self.codes[right][rows, columns]] - keys[columns, self.codes[left][rows, columns]]
            hashes.append((of_person[left][:, None] + change @ members.T.astype(np.uint64)).ravel())
        _, found, places = np.unique(hashes[0], return_index=True, return_inverse=True)
        if (hashes[1][found][places] != hashes[1]).any():  # two mixtures share the first: ask for every one
            found = places = np.arange(len(hashes[0]))
        pair, mixture = np.divmod(found, len(members))
        chosen = {}
        for column in np.unique(columns).tolist():
            from_right = ((columns[pair] == column) & members[mixture]).any(axis=1)
            chosen[self.names[column]] = np.where(from_right, right[pair], left[pair])
        scores = self.score(mix_rows(self.frame, left[pair], chosen))
        self.n_scored += len(found)
        return scores[places].reshape(len(left), len(members), *scores.shape[1:])


def _number(array: Any) -> NDArray[np.int32]:
    """Number the values of a column; a missing one is 0."""
    encoded = array if hasattr(array, "dictionary") else array.dictionary_encode()
    numbers: NDArray[np.int32] = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
    return numbers + np.int32(1)


@dataclass(frozen=True, slots=True, eq=False)
class SplitPairs:
    """The parts of pairs: those of one pair lie next to each other, in the order of the pairs."""

    starts: Rows  # of each pair; and the end of all
    columns: Rows  # the position of each part's column
    parts: Floats  # of the signed gap, right person minus left

    @property
    def n_columns(self) -> Rows:
        """In how many columns the people of each pair differ."""
        return np.diff(self.starts)

    @property
    def pairs(self) -> Rows:
        """The position of each part's pair."""
        return np.repeat(np.arange(len(self.starts) - 1), self.n_columns)

    def towards(self, gaps: Floats) -> Floats:
        """Return the parts as they add to gaps without their sign; those of a gap of nothing are nothing."""
        signs = np.sign(np.where(gaps > 0, np.bincount(self.pairs, self.parts, len(gaps)), 0.0))
        found: Floats = signs[self.pairs] * self.parts
        return found

    def mean_by_column(self, parts: Floats, n_columns: int, weights: Floats | None = None) -> Floats:
        """Return the mean over all pairs of what each column has of ``parts``, by the weights of the pairs."""
        weighed = parts if weights is None else parts * weights[self.pairs]
        total = len(self.starts) - 1 if weights is None else float(weights.sum())
        found: Floats = np.bincount(self.columns, weighed, n_columns) / max(total, np.finfo(np.float64).tiny)
        return found


def open_mixer(question: Question, settings: AuditSettings, model: Any, people: Rows) -> Mixer:
    """Return a mixer of the people of a question, once the model has shown that the scores of these are its own."""
    if question.shown is not None or question.frame is None:
        raise ScoreError("The people of this audit stayed in Spark. Audit a sample of them in memory.")
    if getattr(model, "_scored_by", None) is not None:
        raise ScoreError(
            f"{type(model).__name__} scores people together, so a mixture of two has no score of its own. "
            "Attribute the gaps of the model whose scores it smooths."
        )

    def score(frame: Any) -> Floats:
        return _ask(model, frame, question, settings)

    known, found = question.scores.values, score(question.frame)
    apart = np.abs(found - known).reshape(len(known), -1).max(axis=1)[people] / question.scores.scale
    if apart.max(initial=0.0) > SAME:
        row = int(people[apart.argmax()])
        raise ScoreError(
            f"{type(model).__name__} scores row {row:,} (counted from 0) with {_show(found[row])}; in the audit it has "
            f"{_show(known[row])}. Give the model that was audited."
        )
    return Mixer(question.frame, _columns_seen(model, question), known, score)


def split_pairs(
    mixer: Mixer,
    question: Question,
    left: Rows,
    right: Rows,
    *,
    max_columns: int = MAX_COLUMNS,
    n_orders: int = N_ORDERS,
    random_state: int = 0,
) -> SplitPairs:
    """Split the signed gap of each pair, in units of gaps, over the columns in which the two people differ."""
    random, scale = np.random.default_rng([random_state, 0]), question.scores.scale

    def plan(n_columns: int) -> Design:
        return enumerate_design(n_columns) if n_columns <= max_columns else draw_design(n_columns, n_orders, random)

    starts = np.concatenate([[0], np.cumsum(mixer.count_differences(left, right))])
    columns, parts = np.zeros(starts[-1], np.int64), np.zeros(starts[-1])
    for some in mixer.split(left, right, _projection(question, left, right), plan):
        into = starts[some.places][:, None] + np.arange(some.columns.shape[1])
        columns[into], parts[into] = some.columns, some.parts / scale
    return SplitPairs(starts, columns, parts)


def sum_parts(
    split: SplitPairs, mixer: Mixer, question: Question, gaps: Floats, weights: Floats | None
) -> tuple[ColumnPart, ...]:
    """Return what each column adds to the mean gap, largest part first; columns in which nobody differs add nothing."""
    n_columns, roles = len(mixer.names), roles_of(question)
    means, sizes = (
        split.mean_by_column(parts, n_columns, weights) for parts in (split.towards(gaps), np.abs(split.parts))
    )
    differing = np.bincount(split.columns, minlength=n_columns)
    found = [
        ColumnPart(
            column=name,
            role=roles.get(name, NOT_COMPARED),
            n_pairs=int(differing[place]),
            mean_part=float(means[place]),
            mean_size=float(sizes[place]),
        )
        for place, name in enumerate(mixer.names)
        if differing[place]
    ]
    return tuple(sorted(found, key=lambda one: (-one.mean_part, one.column)))


def roles_of(question: Question) -> dict[str, str]:
    """Return the role of every compared column."""
    return {name: kind for kind in KINDS for name in question.table.names[kind]}


def _ask(model: Any, frame: Any, question: Question, settings: AuditSettings) -> Floats:
    """Return the scores of a frame's rows in the form that the audit has them."""
    table, scores = question.table, question.scores
    settled = resolve_task(
        settings,
        table.classes.tolist(),
        is_regression=question.outcomes is not None,
        is_labelled=scores.is_labelled,
    )
    found, subject = ask_scores(model, frame, table, settled.positive_label)
    decided = read_decisions(found, subject, settings.favourable)
    values = check_scores(found if decided is None else decided[0], subject, len(open_frame(frame)))
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
