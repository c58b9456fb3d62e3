"""What a reader has to know before trusting a number, each a plain sentence with a kind."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import numpy as np

from likewise._format import count_of, describe_direction
from likewise._warnings import has_collapsed
from likewise.auditing._settings import AuditSettings
from likewise.auditing.evidence._cases import choose_ids
from likewise.auditing.inference._intervals import FEWEST_PEOPLE
from likewise.auditing.pairs._gather import Gathered
from likewise.auditing.pairs._quantiles import SKETCH_ERROR
from likewise.auditing.people._bounds import FEWEST_CARRYING, FEWEST_OF_LABEL, OF_RAREST, count_carrying
from likewise.auditing.question._noticed import note_columns
from likewise.auditing.question._question import Question
from likewise.auditing.question._task import reads_as_bad
from likewise.auditing.question._weights import mean_of, spread_between
from likewise.comparable import explain_few_pairs, explain_wide_limits
from likewise.record._internal import FEW_PAIRS, Measure, Note, NoteKind, WeightsRecord, key_of

FEWEST_EXPLAINED: Final = 200  # people: fewer have few pairs by any rule
SQUEEZED_BELOW: Final = 0.9  # of the standard deviation before
MUCH_OF_ONE: Final = 0.2  # share of pairs with one and the same person
CHANCE: Final = 0.5  # of ROC AUC: what scores without any order have


def is_collapsed(question: Question) -> bool:
    """Return whether people are scored nearly alike, compared with how much their outcomes differ."""
    return has_collapsed(question.scores.spread, _spread_of_outcomes(question))


def write_notes(
    question: Question,
    gathered: Gathered,
    within: Gathered | None,
    measures: Mapping[str, Measure],
    settings: AuditSettings,
    weights: WeightsRecord | None = None,
) -> tuple[Note, ...]:
    """Return what limits this audit; a collapse of the scores comes first."""
    notes = [
        _note_collapse(question),
        _note_weights(weights, gathered),
        _note_coverage(gathered, measures["matched_share"]),
        None if question.scored_by is None else Note("smoothed", question.scored_by),
        _note_decisions(question),
        *_note_labels(question),
        _note_direction(question, settings),
        _note_decided(question),
        *note_columns(question, settings.confirmed),
        _note_auc(question, measures),
        *_note_few(question, gathered, measures),
        *_note_wide(question),
        *_note_few_people(question, measures, settings),
        *_note_few_labelled(question, measures, settings),
        _note_outweighed(question, measures, settings),
        _note_clusters(question),
        _note_measured(gathered, "comparable pairs"),
        None if within is None else _note_measured(within, "pairs that are equal in the sensitive columns"),
        _note_missing_baseline(question, within, settings),
        *_note_one_person(question, gathered),
        _note_approval(question, settings),
    ]
    return tuple(note for note in notes if note is not None)


def find_note(notes: Iterable[Note], kind: NoteKind) -> Note | None:
    """Return the first note of a kind."""
    return next((note for note in notes if note.kind == kind), None)


def _spread_of_outcomes(question: Question) -> float:
    weights = question.scores.weights
    if question.outcomes is not None:
        return spread_between(question.outcomes, question.scores.weighing) / question.scores.scale
    counts = np.bincount(question.table.labels, weights)
    shares = counts / (len(question.table) if weights is None else counts.sum())
    spread = float(np.sqrt((shares * (1 - shares)).sum() / 2))
    return spread or 0.5  # all of one label: as much as labels can spread


def _note_collapse(question: Question) -> Note | None:
    if not is_collapsed(question):
        return None
    spread = question.scores.spread
    alike = "exactly alike" if spread == 0 else f"nearly alike (standard deviation {spread:.2g})"
    return Note(
        "collapsed",
        f"The scores have collapsed: everybody is scored {alike}. Small gaps mean nothing here; a model that says the "
        "same of everybody treats similar people alike and is of no use.",
    )


def _note_weights(weights: WeightsRecord | None, gathered: Gathered) -> Note | None:
    if weights is None:
        return None
    people, pairs = count_of(weights.n_people, "person", "people"), count_of(gathered.n_measured, "pair")
    left_out = f" {count_of(weights.n_zero, 'person', 'people')} of weight 0 left out." if weights.n_zero else ""
    return Note(
        "weighted",
        f"Weighted by {weights.origin}; a pair counts as the product of its two weights. Effective sample size (Kish): "
        f"{weights.n_effective:,.1f} for {people}, {weights.n_effective_pairs:,.1f} for {pairs}.{left_out}",
    )


def _note_clusters(question: Question) -> Note | None:
    """Say that clusters count in place of people, and that a few of them show little."""
    units = question.scores.units
    if units.numbers is None:
        return None
    text = (
        f"Intervals and tests are of {units.n:,} clusters, whose people may be alike in what is not seen, in place of "
        "people; in the excess, partners of the own cluster do not count."
    )
    if units.n < 2 * FEWEST_PEOPLE:
        text += f" So few show little: nothing is concluded from fewer than {FEWEST_PEOPLE:g} on a side of the pairs."
    return Note("clustered", text)


def _note_coverage(gathered: Gathered, coverage: Measure) -> Note:
    n, n_people, share = int(gathered.has_partner.sum()), coverage.n, 100 * (coverage.value or 0.0)
    if gathered.probed is not None:
        return Note(
            "coverage",
            f"Of {n_people:,} people drawn at random, {n:,} ({share:.1f}%) have a comparable partner: "
            "this audit covers about that share of all people. Unmatched people are not covered.",
        )
    return Note(
        "coverage",
        f"This audit covers the {n:,} of {n_people:,} people ({share:.1f}%) who have a comparable "
        "partner. Unmatched people are not covered.",
    )


def _note_labels(question: Question) -> Iterator[Note]:
    labels = question.table.classes.tolist()
    if not question.scores.is_labelled:
        yield Note(
            "no_labels",
            "There are no labels: people are compared whatever their outcome, which may explain a gap, and model "
            "performance is not measured.",
        )
    if not question.scores.has_labels:
        return
    if len(labels) == 1:
        yield Note(
            "one_label", f"Every row has the label {labels[0]!r}: what needs both, such as ROC AUC, is not measured."
        )
    if question.scores.task == "binary" and not question.is_positive_named:
        yield Note(
            "positive_assumed",
            f"The scores are taken for the probability of {labels[-1]!r}, the last of the labels in order. If they "
            "are of the other, say which one is positive.",
        )


def _note_direction(question: Question, settings: AuditSettings) -> Note | None:
    """Warn of an outcome that reads as bad for people, where high scores count as favourable and nobody said so."""
    scores, labels = question.scores, question.table.classes.tolist()
    if settings.favourable is not None or scores.values.ndim > 1 or not scores.is_labelled:
        return None
    positive = None if scores.positive is None or scores.positive >= len(labels) else labels[scores.positive]
    bad = next((one for one in (question.label_name, positive) if reads_as_bad(one)), None)
    if bad is None:
        return None
    sides = ("low", "high") if scores.task == "regression" else tuple(labels)
    return Note(
        "favourable_assumed",
        f"The label {bad!r} reads as bad for people, but high scores are taken for favourable. "
        f"{describe_direction(scores.threshold, scores.favours_low)}: which group is worse off depends on it, and no "
        "limit on impact ratios or directions passes until the favourable outcome is named: "
        f"{' or '.join(f'favourable={one!r}' for one in sides)}.",
    )


def _note_decided(question: Question) -> Note | None:
    """Warn of a label that the scores determine: people whom they part are never compared."""
    scores = question.scores
    counting = slice(None) if scores.weights is None else scores.counting
    labels, values = question.table.labels[counting], scores.values[counting]
    occurring = np.flatnonzero(np.bincount(labels))
    if not scores.has_labels or len(occurring) < 2:
        return None
    if scores.task == "multiclass":
        decisions = np.asarray(scores.decisions, np.int64)[counting]
        both = decisions * len(question.table.classes) + labels
        is_decided = len(np.unique(both)) == len(np.unique(decisions))  # every decision goes with one label
    else:
        first, second = (values[labels == label] for label in occurring)
        is_decided = bool(first.max() < second.min() or second.max() < first.min())
    if not is_decided:
        return None
    return Note(
        "label_is_decision",
        "The label follows from the scores, without exception: it is the decision itself, or the model is never wrong. "
        "Both people of a pair have the same label, so people who are decided on differently are not compared, and "
        "small gaps mean nothing here. If the label is the decision, audit without labels.",
    )


def _note_auc(question: Question, measures: Mapping[str, Measure]) -> Note | None:
    """Warn of scores that rank people with the positive label lower than the others."""
    found = measures.get("roc_auc")
    if found is None or found.value is None or found.value >= CHANCE:
        return None
    auc = f"ROC AUC is {found.show('roc_auc')}, below 0.5"
    what = "people are scored lower for their own label than the others. Check the order of the columns of scores"
    if question.scores.task == "binary":
        what = (
            "people with the positive label are scored lower than the others. If the scores are the probability of the "
            "other label, name that one as positive"
        )
    chance = " The interval reaches 0.5, so this may be chance." if found.high is None or found.high >= CHANCE else ""
    return Note("auc_below_half", f"{auc}: {what}; otherwise the model ranks people worse than chance.{chance}")


def _note_few(question: Question, gathered: Gathered, measures: Mapping[str, Measure]) -> list[Note]:
    """Warn of too few pairs; the last such note names the column that costs most of them, if one does."""
    if question.scores.task == "binary" and question.scores.has_labels:
        by_label = {label: measures[key_of("gap_mean", label)].n for label in question.table.classes.tolist()}
        texts = [
            f"{'No pair has' if n == 0 else f'Only {n:,} pair has' if n == 1 else f'Only {n:,} pairs have'} the label "
            f"{label!r}: too few to conclude anything about it."
            for label, n in by_label.items()
            if n < FEW_PAIRS
        ]
    else:
        n = measures["gap_mean"].n
        few = f"There {'is' if n == 1 else 'are'} only {count_of(n, 'pair')}: too few to conclude anything."
        texts = [few] if n < FEW_PAIRS else []
    # pairs of a label that nobody has are lost to no column; and where not everybody is at hand, columns are lacking
    n_people = question.scores.n_people
    n_scarce = n_people if len(question.table.classes) > 1 else FEW_PAIRS
    is_worth_it = n_people >= FEWEST_EXPLAINED and gathered.n_total < n_scarce
    if texts and is_worth_it and question.shown is None and not question.rule.asks_more:
        explained = explain_few_pairs(question.rule, question.counted, gathered.n_total)
        texts[-1] += f" {explained}" if explained else ""
    return [Note("few_pairs", text) for text in texts]


def _note_wide(question: Question) -> list[Note]:
    """Warn of limits that exclude hardly anybody, where everybody's values are at hand."""
    if question.shown is not None:
        return []
    return [Note("wide_limit", text) for text in explain_wide_limits(question.rule, question.counted)]


def _note_few_people(question: Question, measures: Mapping[str, Measure], settings: AuditSettings) -> Iterator[Note]:
    """Warn of many pairs of very few people, which have no intervals."""
    if not settings.n_resamples:
        return
    is_binary = question.scores.task == "binary" and question.scores.has_labels
    who = "people" if question.scores.units.numbers is None else "clusters"
    slices = {one: f" with the label {one!r}" for one in question.table.classes.tolist()} if is_binary else {None: ""}
    for label, where in slices.items():
        found = measures[key_of("gap_mean", label)]
        if found.n >= FEW_PAIRS and found.value is not None and found.low is None and found.high is None:
            yield Note(
                "few_people",
                f"The {found.n:,} pairs{where} come down to fewer than {FEWEST_PEOPLE:g} {who} on one side: they have "
                f"no confidence intervals, and no limit on them is judged. It takes at least {FEWEST_PEOPLE:g}.",
            )


def _note_few_labelled(question: Question, measures: Mapping[str, Measure], settings: AuditSettings) -> Iterator[Note]:
    """Warn of labels of so few people that what is averaged over labels has no interval."""
    if not settings.n_resamples or not question.scores.has_labels or len(question.table.classes) < 2:
        return
    labels = question.table.labels[question.scores.counting]
    counts = np.bincount(labels, minlength=len(question.table.classes))
    bounded = any(measures[name].low is not None for name in OF_RAREST if name in measures)
    for label, n in zip(question.table.classes.tolist(), counts.tolist(), strict=True):
        if 0 < n < FEWEST_OF_LABEL and not bounded:
            yield Note(
                "few_people",
                f"Only {count_of(n, 'person', 'people')} {'has' if n == 1 else 'have'} the label {label!r}: ROC AUC, "
                "average precision, balanced accuracy and F1 have no confidence intervals, and no limit on them is "
                f"judged. It takes at least {FEWEST_OF_LABEL}.",
            )


def _note_outweighed(question: Question, measures: Mapping[str, Measure], settings: AuditSettings) -> Note | None:
    """Warn of amounts of which a few make up nearly all of the squares, and estimate how many people it takes."""
    if not settings.n_resamples or question.scores.task != "regression":
        return None
    predicted, outcomes, weights = question.scores.values, question.outcomes, question.scores.weights
    times: Any = 1.0 if weights is None else weights
    squares = {"score_spread": times * np.square(predicted - mean_of(predicted, weights))}
    if outcomes is not None:
        errors = times * np.square(outcomes - predicted)
        varied = times * np.square(outcomes - mean_of(outcomes, weights))
        squares |= {"root_mean_squared_error": errors, "r2": min(errors, varied, key=count_carrying)}
    n_people = question.scores.n_people
    few = {
        name: count_carrying(one)
        for name, one in squares.items()
        if n_people > 1 and measures[name].value is not None and measures[name].low is None
    }
    if not few:
        return None
    fewest = min(few.values())
    needed = math.ceil(n_people * FEWEST_CARRYING / fewest)
    step = 10 ** max(len(str(needed)) - 2, 0)  # no more than two digits of it are known
    return Note(
        "few_people",
        f"A few amounts outweigh all others: by their squares, {n_people:,} people count as {fewest:.1f}. There is no "
        f"confidence interval, and no limit is judged, of {' and '.join(few)}. It takes {FEWEST_CARRYING:g}, "
        f"or about {math.ceil(needed / step) * step:,} people like these.",
    )


def _note_decisions(question: Question) -> Note | None:
    """Warn of scores that are no probabilities; of equal ones there is another note."""
    if not question.scores.are_decisions:
        return None
    return Note(
        "decisions_only",
        f"All scores ({question.origin}) are 0 or 1: decisions are compared, not probabilities, so a gap is 0 or 1.",
    )


def _note_measured(gathered: Gathered, what: str) -> Note | None:
    n, n_total, error = len(gathered.pairs), gathered.n_total, gathered.n_total_error
    if gathered.pairs.is_complete:
        return None
    if gathered.summary is not None:
        return Note(
            "streamed",
            f"All {n_total:,} {what} were measured, too many to keep: counts, shares, means and maxima are exact, "
            f"quantiles within {100 * SKETCH_ERROR:g}%. Intervals and tests use a uniform sample of {n:,} of them, "
            "and allow for that.",
        )
    of_all = f"the {n_total:,}" if error is None else f"about {n_total:,} (standard error {error:,.2g})"
    return Note(
        "sampled",
        f"Of {of_all} {what}, a uniform sample of {n:,} was measured, and nothing is known of the others; the "
        "intervals allow for that. Maxima, worst pairs and worst gaps of people are those of the sample.",
    )


def _note_missing_baseline(question: Question, within: Gathered | None, settings: AuditSettings) -> Note | None:
    if question.rule.sensitive_differs == "none":
        return Note(
            "no_baseline",
            "The pairs are equal in the sensitive columns: they show how much equal people differ, and no direction.",
        )
    if not settings.baseline:
        return Note(
            "no_baseline", "Pairs that are equal in the sensitive columns were not measured, so there is no baseline."
        )
    if within is not None and not len(within.pairs):
        left_out = " once pairs are left out as the rule asks" if question.rule.asks_more else ""
        equal = f"No two people are comparable and equal in the sensitive columns{left_out}"
        return Note("no_baseline", f"{equal}, so there is no baseline.")
    return None


def _note_one_person(question: Question, gathered: Gathered) -> Iterator[Note]:
    """Warn when one person's score decides the numbers; who that is, apart, as not everybody is shown it."""
    shares = gathered.share_by_person()
    person = int(shares.argmax())
    share = float(shares[person])
    if share <= MUCH_OF_ONE or gathered.n_measured < FEW_PAIRS:
        return
    yield Note("one_person", f"One person is in {100 * share:.0f}% of the pairs, which decides much of what follows.")
    name = question.table.row_ids[person] if question.shown is None else choose_ids(question, np.array([person]))[0]
    row = f"Row {name}" if question.schema.roles.row_id is None else f"{question.schema.roles.row_id} {name}"
    yield Note("that_person", f"The person in {100 * share:.0f}% of the pairs: {row}.")


def _note_approval(question: Question, settings: AuditSettings) -> Note | None:
    wanted, decisions = settings.approval_rate, question.scores.decisions
    if wanted is None or decisions is None:
        return None
    weights = question.scores.weights
    got = mean_of(decisions, weights)
    one_person = 1 / len(decisions) if weights is None else float(weights.max() / weights.sum())
    if abs(got - wanted) < one_person:
        return None
    return Note(
        "approval_rate",
        f"Asked to approve {100 * wanted:.1f}%, {100 * got:.1f}% are: people with equal scores are treated alike.",
    )


def note_squeeze(before: Mapping[str, Measure], after: Mapping[str, Measure]) -> Note | None:
    """Return a note where gaps fell together with the standard deviation of all scores."""
    old, new, old_spread, new_spread = (
        measures[name].value if name in measures else None
        for name in ("gap_mean", "score_spread")
        for measures in (before, after)
    )
    if not old or not old_spread or new is None or new_spread is None:
        return None
    if new >= old or new_spread > SQUEEZED_BELOW * old_spread:
        return None
    relative = (
        "the scores have no spread left to measure gaps by"
        if new_spread == 0
        else f"Measured by the spread, gaps {_verb(old / old_spread, new / new_spread)}"
    )
    ranks = _verb(before["rank_gap_mean"].value or 0.0, after["rank_gap_mean"].value or 0.0)
    return Note(
        "squeezed",
        f"The mean gap fell by {100 * (1 - new / old):.0f}% ({100 * old:.2f} to {100 * new:.2f}), but the scores were "
        f"squeezed together: their spread fell by {100 * (1 - new_spread / old_spread):.0f}% ({old_spread:.3g} to "
        f"{new_spread:.3g}). {relative[0].upper()}{relative[1:]}; in ranks, they {ranks}.",
    )


def _verb(old: float, new: float) -> str:
    if old == 0 or abs(new / old - 1) < 0.01:
        return "are as before"
    change = 100 * (new / old - 1)
    return f"{'grew' if change > 0 else 'fell'} by {abs(change):.0f}%"
