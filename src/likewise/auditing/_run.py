"""The audit: people, rule and scores in, numbers and evidence out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from likewise._checks import parameter
from likewise._format import count_of
from likewise._memory import bytes_allowed
from likewise._progress import follow
from likewise._threads import begin
from likewise.auditing._settings import AuditSettings, TaskName, TooMany
from likewise.auditing.pairs._gather import (
    Gathered,
    Progress,
    can_tally,
    draw_pairs,
    find_among,
    gather_pairs,
    leave_out_pairs,
    leave_out_people,
    tally_pairs,
)
from likewise.auditing.pairs._meter import ScoredPeople
from likewise.auditing.question._question import Question, make_question
from likewise.auditing.result._audit import Audit
from likewise.auditing.result._conclusion import conclude_audit, find_checksums, step_reporter
from likewise.comparable import (
    Comparability,
    ComparablePairs,
    count_pairs,
    explain_no_pairs,
    iter_pairs,
    read_pairs,
)
from likewise.exceptions import NoComparablePairs, ParameterError, RuleError, TooManyPairs
from likewise.record._internal import Note
from likewise.schema import Roles, Schema
from likewise.schema._internal import as_frame, join_columns, named_beside


def audit(
    scores: Any,
    X: Any,
    y: Any = None,
    *,
    roles: Roles | Schema | None = None,
    sensitive: str | Sequence[str] | None = None,
    sensitive_features: Any = None,
    rule: Comparability | None = None,
    task: TaskName = "auto",
    positive: Any = None,
    favourable: Any = None,
    reference: Any = None,
    sample_weight: Any = None,
    cluster: Any = None,
    threshold: float | None = None,
    approval_rate: float | None = None,
    scale: float | None = None,
    gap_limit: float = 0.1,
    baseline: bool = True,
    n_worst: int = 100,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    random_state: int = 0,
    max_pairs: int = 5_000_000,
    when_too_many: TooMany = "stream",
    confirmed: str | Sequence[str] = (),
    pairs: str | Path | None = None,
    memory_limit: int | str | None = None,
    progress: Progress | bool | None = None,
) -> Audit:
    """Measure how differently comparable people are scored.

    Parameters
    ----------
    scores : array, str, model or function
        The scores of the rows of ``X``: an array, the name of a column of ``X``, anything with ``predict_proba`` or
        ``predict`` (called with the columns it was fitted on), or a function from a frame to scores. In a binary task
        the probability of the positive label; with more labels, one column per class. Decisions alone are enough: 0
        and 1, or two words of which one is ``favourable``.
    X : pandas, polars or pyarrow table
        The people.
    y : array, optional
        Labels or true numbers; the label column of ``X`` by default. Without either, as for applicants who were denied
        or a model in production, people are compared whatever their outcome, and performance is not measured. Rows of
        ``X``, ``y`` and scores are matched by position; an index is ignored.
    roles : Roles or Schema, optional
        The roles of the columns. A schema learned from the training rows scales continuous columns by their ranges
        there; with roles alone, the ranges are those of ``X``.
    sensitive : str or sequence of str, optional
        Instead of roles: the sensitive columns. The roles of the others are inferred, and a note says what they are;
        without an array of labels, ``y`` may be the name of their column.
    sensitive_features : table, series or array, optional
        Columns beside ``X`` that a model is not shown; rows are matched by position. Without ``roles``, all of them are
        sensitive.
    rule : Comparability, optional
        When two people are comparable; ``Comparability()`` by default.
    task : {"auto", "binary", "multiclass", "regression"}
        "auto" decides by the labels. In regression people are comparable whatever their outcome.
    positive : optional
        In a binary task, the label that the scores are the probability of; by default the last in order (1 of 0 and
        1, "yes" of "no" and "yes").
    favourable : optional
        The outcome that is good for people: a label, or "low" or "high" for that side of the scores; of decisions in
        words, the favourable one. By default the positive label, or high scores. Where the positive label is a default
        and ``favourable`` the other, people are approved below the threshold, and lower scores favour them.
    reference : optional
        The control value of each sensitive column: ``"white"``, or ``{"race": "white", "sex": ["m"]}``; and of a
        combination of columns, where one is named: ``{"race, sex": "white, m"}``. Of two people of whom one has it, the
        other is the target, in each column by itself: directions are then stated from the target's side, the adverse
        impact ratio is that of the target's rate to the control's, and ``signed_gap``, ``control_only_rate`` and
        ``target_only_rate`` are measured, with several controls as ``signed_gap[race]``; a rule with ``no_better``
        needs one. By default directions are stated from the side that is worse off, and rates are compared with the
        highest.
    sample_weight : array or str, optional
        How much each person counts, such as a survey or exposure weight: one number of 0 or more per row of ``X``, or
        the name of a column of ``X``. A pair counts as the product of the weights of its two people, and every
        measure, interval and test is weighted. A weight of 0 leaves a person out of all of them; with roles alone, the
        ranges of columns are still those of all rows. Only ratios between weights matter. By default all count alike.
    cluster : array or str, optional
        Who may be alike in what is not seen, such as people of one branch, officer or household: one value per row of
        ``X``, or the name of a column. Intervals and tests are then of clusters in place of people, and in the excess,
        partners of the own cluster do not count. It takes ten clusters on either side. By default people are taken as
        independent, which is wrong where scores of a branch go up and down together.
    threshold : float, optional
        Approve at or above this score; 0.5 by default, none in regression. With more than two labels, the decision is
        the likeliest label.
    approval_rate : float, optional
        Instead of a threshold: the share of people to approve, by their weights.
    scale : float, optional
        In regression, the unit of gaps; by default the standard deviation of the outcomes.
    gap_limit : float
        Also measure the share of pairs with a gap above it.
    baseline : bool
        Also measure same-group pairs, equal in the sensitive columns: how much people of one group already differ.
    n_worst : int
        How many pairs to keep as evidence: everybody who is worse off at most once, those with the largest gaps first,
        each beside their closest match. Of decisions, where there are more, people are drawn at random.
    n_resamples : int
        Draws of chance, for the interval of the calibration error, 40 or more at a confidence of 0.95; 0 for no
        intervals at all, without which no policy passes.
    confidence : float
        Of the intervals, two-sided.
    random_state : int
        The same seed gives the same numbers.
    max_pairs : int
        How many pairs to keep. Up to this number, everything is computed from the pairs themselves.
    when_too_many : {"stream", "sample"}
        What to do with more pairs. "stream" reads all pairs once: counts, shares, means, maxima, directions, worst
        pairs and coverage are those of all pairs, quantiles are within 0.1 %, and intervals and tests are computed from
        a uniform sample of ``max_pairs``, which makes intervals a little wider, never narrower. "sample" neither lists
        nor counts all pairs, so that its time grows with people and ``max_pairs``, even with 10^10 pairs: everything is
        measured on ``max_pairs`` sampled pairs, with intervals that allow for it, and coverage on sampled people. The
        notes say what was done.
    confirmed : str or sequence of str, optional
        Columns that you have looked at. An audit notes columns that people are matched on and that follow from scores,
        decision or label as if made from them, and columns of categories with values that are written alike, and no
        limit on pairs passes until such a column is left out, mended or named here.
    pairs : str or Path, optional
        A folder that :func:`likewise.comparable.write_pairs` wrote of the same people and rule, so that pairs are
        searched for once for many models: of ``schema.encode(X, y)``, in regression with one label for all,
        ``[0] * len(X)``. Same-group pairs are still searched for, unless there is no baseline.
    memory_limit : int or str, optional
        Memory to use besides the table, such as "2 GB": 250 bytes per person are set aside, fewer than ``max_pairs``
        pairs are kept where they would take more than half of the rest at 200 bytes each, and the search gets what is
        left. By default ``max_pairs`` are kept, and the search has its own limit.
    progress : function or False, optional
        Called with the name of a step and the share of it that is done. By default, a progress bar appears after two
        seconds on a terminal or in a notebook; False for none.

    Returns
    -------
    Audit

    Examples
    --------
    >>> from likewise import audit, load_dataset
    >>> data = load_dataset("planted")  # its lender scores the group "green" lower by 0.1
    >>> found = audit(data.scores, data.test.X, data.test.y, roles=data.roles.learn(data.train.X), rule=data.rule)
    >>> round(found["gap_max"].value, 3), found["same_group_gap_mean"].value
    (0.1, 0.0)
    """
    seen, beside = X, None if sensitive_features is None else named_beside(sensitive_features)
    X = X if beside is None else join_columns(X, beside)
    is_inferred = roles is None
    if is_inferred:
        roles, y = infer_roles(X, y, sensitive, beside, apart=(scores, sample_weight, cluster))
    elif sensitive is not None:
        raise ParameterError(f"excludes {parameter('roles')}, which name the sensitive columns. Give one.", "sensitive")
    beside_X = {"sample_weight": sample_weight, "cluster": cluster}
    columns = {name: one if isinstance(one, str) else None for name, one in beside_X.items()}
    settings = AuditSettings.of_arguments(locals() | columns)
    found = run_audit(
        scores,
        X,
        y,
        settings,
        roles=roles,  # type: ignore[arg-type]  # inferred, where there were none
        rule=rule,
        sample_weight=None if isinstance(sample_weight, str) else sample_weight,
        cluster=None if isinstance(cluster, str) else cluster,
        pairs=pairs,
        memory_limit=memory_limit,
        progress=progress,
        seen=seen,
    )
    if not is_inferred:
        return found
    return replace(found, record=replace(found.record, notes=(*found.notes, _tell_roles(found.question.schema.roles))))


def infer_roles(X: Any, y: Any, sensitive: Any, beside: Any, apart: Sequence[Any] = ()) -> tuple[Roles, Any]:
    """Infer the roles of all columns from the sensitive ones; return also the labels that are in no column."""
    names = () if sensitive is None else (sensitive,) if isinstance(sensitive, str) else tuple(sensitive)
    if beside is not None:
        names = (*names, *as_frame(beside).names)
    if not names:
        raise ParameterError(
            "names no column. Write sensitive='sex', pass sensitive_features, or roles=Roles.infer(X, "
            "sensitive=['sex']), which are to be looked at.",
            "sensitive",
        )
    ignored = tuple(dict.fromkeys(name for name in apart if isinstance(name, str)))
    is_column = isinstance(y, str)
    roles = Roles.infer(X, sensitive=names, ignored=ignored, label=y if is_column else None)
    return roles, None if is_column else y


def _tell_roles(roles: Roles) -> Note:
    """Say which roles were inferred."""
    kinds = {kind: roles.names(kind) for kind in ("sensitive", "discrete", "ordinal", "continuous", "ignored")}
    told = "; ".join(f"{kind} {', '.join(names)}" for kind, names in kinds.items() if names)
    return Note("roles_inferred", f"The roles of columns were inferred: {told}. Give {parameter('roles')} for others.")


def run_audit(
    scores: Any,
    X: Any,
    y: Any,
    settings: AuditSettings,
    *,
    roles: Roles | Schema,
    rule: Comparability | None = None,
    sample_weight: Any = None,
    cluster: Any = None,
    pairs: str | Path | None = None,
    memory_limit: int | str | None = None,
    progress: Progress | bool | None = None,
    seen: Any = None,
) -> Audit:
    """Audit with settings that were checked before; :func:`audit` explains the others. A model is shown ``seen``."""
    rule = Comparability() if rule is None else rule
    if pairs is not None and settings.when_too_many == "sample":
        raise ParameterError(f"excludes {parameter('when_too_many', 'sample')}: all pairs are in the folder.", "pairs")
    of_people: dict[str, Any] = {"sample_weight": sample_weight, "cluster": cluster, "seen": seen}
    question = make_question(scores, X, y, roles=roles, rule=rule, settings=settings, **of_people)
    refuse_unanswerable(rule, question)
    settings.check_limit(question.scores.task)
    shared, for_search = settings.share_memory(memory_limit, len(question.table))
    search = _Search(question, shared, for_search)
    with follow("Audit", 1.0, progress) as show:
        report = progress if callable(progress) else lambda step, share: show(share, step)
        try:
            return _measure(search, rule, pairs, report)
        except TooManyPairs as error:
            if memory_limit is None or error.needed is None:
                raise
            needed = error.needed + settings.bytes_beside_search(len(question.table))
            raise _too_little(needed, memory_limit, len(question.table)) from error


def _too_little(needed: int, memory_limit: int | str, n_people: int) -> TooManyPairs:
    """Say what an audit takes, of which the search that was refused has a part only."""
    return TooManyPairs(
        f"An audit of {count_of(n_people, 'row')} in memory takes {needed / 1e9:,.2g} GB or more, beyond the "
        f"{bytes_allowed(memory_limit) / 1e9:,.2g} GB allowed. Raise {parameter('memory_limit')}.",
        needed,
    )


def _measure(search: _Search, rule: Comparability, pairs: str | Path | None, progress: Progress) -> Audit:
    """Find the pairs and measure them."""
    question, settings, start = search.question, search.settings, step_reporter(progress)
    # while the search is prepared, not all cores are at work
    checksums = begin(partial(find_checksums, question), len(question.table))
    gathered = search.gather(rule, start("Finding comparable pairs"), pairs)
    if not len(gathered.pairs):
        explained = _explain_none(rule, question)
        rows = count_of(question.scores.n_people, "row")
        weighted = " with a weight above 0" if question.scores.n_people < len(question.table) else ""
        raise NoComparablePairs(f"No comparable pairs among {rows}{weighted}. {explained}")
    within = None
    if settings.baseline and rule.sensitive_differs != "none":
        within = search.gather_equal(rule, start)
    mirrored = None
    if rule.no_better:
        mirrored = search.gather(rule, start("Finding the mirror image"), pairs, is_mirrored=True)
    return conclude_audit(question, gathered, within, settings, progress, checksums, mirrored=mirrored)


def _explain_none(rule: Comparability, question: Question) -> str:
    n_either = count_pairs(question.counted, rule).total if rule.asks_more else 0
    if n_either:
        return f"Without {' and '.join(map(parameter, rule.asks_more))} there would be {count_of(n_either, 'pair')}."
    return explain_no_pairs(rule, question.counted, question.schema.roles.label)


def refuse_unanswerable(rule: Comparability, question: Question) -> None:
    """Refuse a rule about target and control, or about scores, where it is not said who or there is no threshold."""
    if rule.no_better and question.scores.values.ndim > 1:
        raise RuleError(
            f"{parameter('no_better')} is about who of target and control is better off, but there is a score for each "
            f"of {question.scores.values.shape[1]} labels. Leave it out."
        )
    if rule.no_better and len(question.reference.values) != 1:
        named = " and ".join(f"one of '{name}'" for name in question.reference.values)
        raise RuleError(
            f"{parameter('no_better')} is about a control who is no better than the target, and "
            f"{parameter('reference')} names {named or 'none'}. Name the control value of one sensitive column."
        )
    if rule.score_band is not None and (question.scores.values.ndim > 1 or question.scores.threshold is None):
        raise RuleError(
            f"{parameter('score_band')} is about scores near the threshold, and there is none here. Give "
            f"{parameter('threshold')} where scores are numbers, or leave it out."
        )


@dataclass(frozen=True, slots=True)
class _Search:
    """Find the pairs of a question by any rule."""

    question: Question
    settings: AuditSettings
    memory_limit: int | str | None

    def gather(
        self,
        rule: Comparability,
        report: Callable[[float], None],
        folder: str | Path | None = None,
        *,
        is_mirrored: bool = False,
    ) -> Gathered:
        table, settings, counting = self.question.table, self.settings, self.question.scores.counting
        people = ScoredPeople.of(table, self.question.scores)
        shape, memory_limit = people.shape(settings), self.memory_limit
        if settings.when_too_many == "sample":
            return draw_pairs(self.question, rule, people, shape, memory_limit=memory_limit, is_mirrored=is_mirrored)
        if folder is None and not rule.asks_more and can_tally(people):
            return tally_pairs(table, rule, people, shape, report, memory_limit=memory_limit)
        chunks: Iterable[ComparablePairs] = (
            find_among(counting, table, lambda some: iter_pairs(some, rule, memory_limit=memory_limit))
            if folder is None
            else leave_out_people(read_pairs(folder, table, rule), counting)
        )
        chunks = leave_out_pairs(chunks, self.question, rule, is_mirrored=is_mirrored)
        return gather_pairs(chunks, table, people, shape, report)

    def gather_equal(self, rule: Comparability, start: Callable[[str], Callable[[float], None]]) -> Gathered:
        """Gather the same-group pairs, equal in the sensitive columns."""
        equal = Comparability.from_dict(rule.to_dict() | {"sensitive_differs": "none"})
        return self.gather(equal, start("Finding pairs equal in the sensitive columns"))
