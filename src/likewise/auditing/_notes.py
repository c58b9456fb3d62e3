"""What a reader has to know before believing a number: each a plain sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from likewise._collapse import has_collapsed
from likewise._format import count_of
from likewise.auditing._cases import choose_ids
from likewise.auditing._gathering import Gathered
from likewise.auditing._question import Question
from likewise.auditing._settings import AuditSettings
from likewise.auditing._sketch import SKETCH_ERROR
from likewise.comparable import explain_few_pairs
from likewise.record._internal import GroupRate, Measure

FEW_PAIRS: Final = 30
TOO_FEW: Final = "too few to conclude anything"
FEWEST_EXPLAINED: Final = 200  # people: fewer have few pairs by any rule
MUCH_OF_ONE: Final = 0.2  # share of pairs with one and the same person


def is_collapsed(question: Question) -> bool:
    """Say whether people are scored nearly alike, measured by how much they really differ."""
    return has_collapsed(question.scores.spread, _spread_of_outcomes(question))


def write_notes(
    question: Question,
    gathered: Gathered,
    within: Gathered | None,
    measures: Mapping[str, Measure],
    groups: Sequence[GroupRate],
    settings: AuditSettings,
) -> tuple[str, ...]:
    """Say what limits this audit; a collapse of the scores comes first."""
    notes = [
        _note_collapse(question),
        _note_coverage(gathered),
        _note_decisions(question),
        *_note_labels(question, measures),
        *_note_few(question, gathered, measures),
        _note_measured(gathered, "comparable pairs"),
        None if within is None else _note_measured(within, "pairs that are equal in the sensitive columns"),
        _note_missing_baseline(question, within, settings),
        _note_one_person(question, gathered),
        _note_approval(question, settings),
    ]
    return tuple(note for note in notes if note)


def _spread_of_outcomes(question: Question) -> float:
    if question.outcomes is not None:
        return float(question.outcomes.std()) / question.scores.scale
    shares = np.bincount(question.table.labels) / len(question.table)
    spread = float(np.sqrt((shares * (1 - shares)).sum() / 2))
    return spread or 0.5  # all of one label: as much as labels can spread


def _note_collapse(question: Question) -> str | None:
    if not is_collapsed(question):
        return None
    spread = question.scores.spread
    alike = "exactly alike" if spread == 0 else f"nearly alike (standard deviation {spread:.2g})"
    return (
        f"The scores have collapsed: everybody is scored {alike}. Small gaps mean nothing here; a model that says the "
        "same of everybody treats similar people alike and is of no use."
    )


def _note_coverage(gathered: Gathered) -> str:
    n, n_people = int(gathered.has_partner.sum()), len(gathered.has_partner)
    if gathered.probed is not None:
        return (
            f"Of {n_people:,} people drawn at random, {n:,} ({100 * n / n_people:.1f}%) have a comparable partner: "
            "this audit speaks for about that share of all people, and of the others it says nothing."
        )
    return (
        f"This audit speaks for the {n:,} of {n_people:,} people ({100 * n / n_people:.1f}%) who have a comparable "
        "partner; of the others it says nothing."
    )


def _note_labels(question: Question, measures: Mapping[str, Measure]) -> list[str]:
    labels = question.table.classes.tolist()
    notes: list[str] = []
    if question.scores.task == "regression":
        return notes
    if len(labels) == 1:
        notes.append(f"Every row has the label {labels[0]!r}: what needs both, such as ROC AUC, is not measured.")
    if question.scores.task == "binary" and not question.is_positive_named:
        notes.append(
            f"The scores are taken for the probability of {labels[-1]!r}, the last of the labels in order. If they "
            "are of the other, say which one is positive."
        )
    return notes


def _note_few(question: Question, gathered: Gathered, measures: Mapping[str, Measure]) -> list[str]:
    """Warn of too few pairs; the last such note says which column costs most of them, if one does."""
    if question.scores.task == "binary":
        by_label = {name: measures[f"{name}_gap_mean"].n for name in ("positive", "negative")}
        notes = [
            f"{'No pair has' if n == 0 else f'Only {n:,} pair has' if n == 1 else f'Only {n:,} pairs have'} the {name} "
            f"label: {TOO_FEW} about it."
            for name, n in by_label.items()
            if n < FEW_PAIRS
        ]
    else:
        n = measures["gap_mean"].n
        notes = [f"There {'is' if n == 1 else 'are'} only {count_of(n, 'pair')}: {TOO_FEW}."] if n < FEW_PAIRS else []
    # pairs of a label that nobody has are lost to no column; and where not everybody is at hand, columns are lacking
    n_scarce = len(question.table) if len(question.table.classes) > 1 else FEW_PAIRS
    is_worth_it = len(question.table) >= FEWEST_EXPLAINED and gathered.n_total < n_scarce
    if notes and is_worth_it and question.shown is None:
        explained = explain_few_pairs(question.rule, question.table, gathered.n_total)
        notes[-1] += f" {explained}" if explained else ""
    return notes


def _note_decisions(question: Question) -> str | None:
    """Warn of scores that are no probabilities; of equal ones there is another note."""
    values = question.scores.values
    if question.scores.task != "binary" or not ((values == 0) | (values == 1)).all() or question.scores.spread == 0:
        return None
    return f"All scores ({question.origin}) are 0 or 1: decisions are compared, not probabilities, so a gap is 0 or 1."


def _note_measured(gathered: Gathered, what: str) -> str | None:
    n, n_total, error = len(gathered.pairs), gathered.n_total, gathered.n_total_error
    if gathered.pairs.is_complete:
        return None
    if gathered.tally is not None:
        return (
            f"All {n_total:,} {what} were measured, too many to keep: counts, shares, means and maxima are exact, "
            f"quantiles within {100 * SKETCH_ERROR:g}%. Intervals and tests rest on a uniform sample of {n:,} of them, "
            "and allow for that."
        )
    of_all = f"the {n_total:,}" if error is None else f"about {n_total:,} (standard error {error:,.2g})"
    return (
        f"Of {of_all} {what}, a uniform sample of {n:,} was measured, and nothing is known of the others; the "
        "intervals allow for that. Maxima, worst pairs and worst gaps of people are those of the sample."
    )


def _note_missing_baseline(question: Question, within: Gathered | None, settings: AuditSettings) -> str | None:
    if question.rule.sensitive_differs == "none":
        return "The pairs are equal in the sensitive columns: they show how much equal people differ, and no direction."
    if not settings.baseline:
        return "Pairs that are equal in the sensitive columns were not measured, so there is no baseline."
    if within is not None and not len(within.pairs):
        return "No two people are comparable and equal in the sensitive columns, so there is no baseline."
    return None


def _note_one_person(question: Question, gathered: Gathered) -> str | None:
    """Warn when one person's score decides the numbers."""
    n_pairs_of = gathered.count_by_person()
    person = int(n_pairs_of.argmax())
    share = n_pairs_of[person] / gathered.n_measured
    if share <= MUCH_OF_ONE or gathered.n_measured < FEW_PAIRS:
        return None
    name = question.table.row_ids[person] if question.shown is None else choose_ids(question, np.array([person]))[0]
    row = f"Row {name}" if question.schema.roles.row_id is None else f"{question.schema.roles.row_id} {name}"
    return f"{row} is in {100 * share:.0f}% of the pairs: much of what follows is about this one person."


def _note_approval(question: Question, settings: AuditSettings) -> str | None:
    wanted, decisions = settings.approval_rate, question.scores.decisions
    if wanted is None or decisions is None:
        return None
    got = float(decisions.mean())
    if abs(got - wanted) * len(decisions) < 1:
        return None
    return f"Asked to approve {100 * wanted:.1f}%, {100 * got:.1f}% are: people with equal scores are treated alike."
