"""Ask a model for mixtures of the people of an audit, and split differences of scores over columns by its answers."""

from __future__ import annotations

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
from likewise.explain._mixtures import Design, Mixer, draw_design, enumerate_design
from likewise.record._internal import ColumnPart
from likewise.schema._internal import KINDS, open_frame

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
SAME: Final = 1e-6  # of the scale: a model that gives a person another score than the audit has is another model
MAX_COLUMNS: Final = 10
N_ORDERS: Final = 64
NOT_COMPARED: Final = "not compared"


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
