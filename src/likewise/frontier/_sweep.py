"""One search from end to end: fit every candidate, audit it on the held-out rows, choose, refit."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from likewise._estimators import seed_unset, weight_name
from likewise._random import draw_seed
from likewise.auditing import Audit, Measure, compare_audits
from likewise.auditing._internal import AuditSettings, run_audit
from likewise.exceptions import NoComparablePairs, ScoresCollapsed
from likewise.frontier._candidates import (
    Candidate,
    Rows,
    SharedGenerators,
    build_model,
    plan_candidate,
    uncache_generator,
)
from likewise.frontier._criteria import Criteria, PairedLoss, average
from likewise.frontier._log import SearchLog, describe
from likewise.frontier._points import (
    FEW_PAIRS,
    NO_BETTER_THAN_NONE,
    FrontierPoint,
    SelectionIntervals,
    choose_point,
    correct_choice,
    mark_efficient,
)
from likewise.frontier._proposals import Proposals
from likewise.frontier._summary import describe_choice, warn_of_choice
from likewise.schema import Schema

UNLOGGED: Final = ("params", "is_efficient", "seconds", "error")  # told elsewhere, or at the end
NO_ROLES: Final = "The roles of the columns are unknown. Pass roles, or an estimator with a generator."


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """A fitted candidate's scores of the held-out rows, one column per label, or its error."""

    scores: NDArray[np.float64] | None = None
    model: Any = None  # None if not kept
    seconds: float = 0.0
    error: Exception | None = None


class KnownFailure(Exception):  # it is the line that a log has of any error
    """A failure that an earlier run has on record."""


def fit_model(model: Any, people: Rows) -> Any:
    """Fit a model, with sample weights if there are any."""
    if people.weights is None:
        return model.fit(people.X, people.y)
    name = weight_name(model)
    if not name:
        raise TypeError(f"{type(model).__name__} takes no sample_weight. Omit the weights, or use another model.")
    return model.fit(people.X, people.y, **{name: people.weights})


def try_model(model: Any, train: Rows, held_out: Rows, *, is_kept: bool) -> Trial:
    """Fit a model and score the held-out rows."""
    start = time.perf_counter()
    fitted = fit_model(model, train)
    seconds = time.perf_counter() - start
    return Trial(_score(fitted, held_out.X, np.unique(train.y)), fitted if is_kept else None, seconds)


def try_all(
    candidates: Sequence[Candidate], train: Rows, held_out: Rows, *, n_jobs: int | None, is_kept: bool
) -> Iterator[Trial]:
    """Try the candidates in order, one by one or in parallel processes."""
    if n_jobs in (None, 1):
        yield from (_try(candidate, train, held_out, is_kept) for candidate in candidates)
        return
    work = (delayed(_try)(candidate, train, held_out, is_kept) for candidate in candidates)
    yield from Parallel(n_jobs=n_jobs, return_as="generator")(work)


def _try(candidate: Candidate, train: Rows, held_out: Rows, is_kept: bool) -> Trial:
    if candidate.known is not None:
        known: Trial = candidate.known
        return known
    if candidate.error is not None:
        return Trial(error=candidate.error)
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ScoresCollapsed)  # shown at its point, which is never chosen
            return try_model(candidate.model, train, held_out, is_kept=is_kept)
    except Exception as error:  # the other candidates go on, and the summary shows it
        return Trial(seconds=time.perf_counter() - start, error=error)


def _score(model: Any, X: Any, classes: NDArray[Any]) -> NDArray[np.float64]:
    """Return one column per label, in order; predicted labels count as certain."""
    if not hasattr(model, "predict_proba"):
        said = np.asarray(model.predict(X))
        return np.column_stack([said == label for label in classes.tolist()]).astype(np.float64)
    scores = np.asarray(model.predict_proba(X), np.float64)
    known = np.asarray(getattr(model, "classes_", classes)).tolist()
    wanted = classes.tolist()
    order = [known.index(label) for label in wanted] if sorted(known) == sorted(wanted) else slice(None)
    ordered: NDArray[np.float64] = scores[:, order]
    return ordered


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Bench:
    """The held-out people, rule and bootstrap resamples that all models are judged with."""

    criteria: Criteria
    held_out: Rows
    schema: Schema
    rule: Any
    settings: AuditSettings
    min_pairs: int

    def audit(self, scores: NDArray[np.float64]) -> Audit:
        """Audit scores of the held-out rows."""
        try:
            rows = self.held_out
            return run_audit(scores, rows.frame, rows.y, self.settings, roles=self.schema, rule=self.rule)
        except NoComparablePairs as error:
            raise NoComparablePairs(
                f"{error} These are the held-out rows; a larger validation_fraction holds out more."
            ) from None

    def judge_base(self, trial: Trial) -> FrontierPoint:
        """Return the point of the base, which must not fail."""
        assert trial.scores is not None
        found = self.audit(trial.scores)
        parts = self.criteria.unfairness_in(found)
        bound = 0.0 if self.settings.n_resamples else None
        nothing = Measure(0.0, bound, bound, len(self.held_out))
        return FrontierPoint(
            is_base=True,
            utility=self.criteria.utility_in(found),
            unfairness=average(list(parts.values())),
            parts=parts,
            loss=nothing,
            gain=nothing,
            is_within_budget=True,
            is_collapsed=found.is_collapsed,
            seconds=trial.seconds,
            audit=found,
        )

    def start_losses(self, base: FrontierPoint) -> PairedLoss:
        """Prepare the losses against the base."""
        assert base.audit is not None
        return PairedLoss(base.audit, self.criteria, self.settings)

    def judge(self, params: Mapping[str, Any], trial: Trial, base: FrontierPoint, losses: PairedLoss) -> FrontierPoint:
        """Return the point of a candidate, compared with the base; raise its error if it failed."""
        if trial.scores is None:
            raise trial.error or RuntimeError("The model returned no scores.")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ScoresCollapsed)  # shown at its point, which is never chosen
            found = self.audit(trial.scores)
        return self._compare(base, found, params, trial, losses)

    def _compare(
        self, base: FrontierPoint, found: Audit, params: Mapping[str, Any], trial: Trial, losses: PairedLoss
    ) -> FrontierPoint:
        assert base.audit is not None
        parts = self.criteria.unfairness_in(found)
        comparison = compare_audits(base.audit, found)
        loss = losses.measure(found)
        # other notes, such as few pairs, hold for every candidate alike
        squeezed = tuple(str(note) for note in comparison.notes if note.kind == "squeezed")
        gains = [
            _turned(comparison[name].difference) if name in comparison.changes else _subtract(base.parts[name], part)
            for name, part in parts.items()
        ]
        gain = average(gains)
        return FrontierPoint(
            params=params,
            utility=self.criteria.utility_in(found),
            unfairness=average(list(parts.values())),
            parts=parts,
            loss=loss,
            gain=gain,
            refused=_why_refused(found, parts, gain, self.min_pairs),
            is_within_budget=self.criteria.allows(loss),
            is_collapsed=found.is_collapsed,
            is_squeezed=bool(squeezed),
            seconds=trial.seconds,
            notes=squeezed,
            audit=found,
        )


def _why_refused(found: Audit, parts: Mapping[str, Measure], gain: Measure, min_pairs: int) -> str | None:
    """Return why a model must not be chosen: what it gains is unclear on few pairs, or it knows nothing."""
    log_loss = found["log_loss"].value
    shares = np.bincount(found.question.table.labels) / len(found.question.table)
    shares = shares[shares > 0]
    is_certain = np.isin(found.question.scores.values, (0.0, 1.0)).all()  # it says labels, not probabilities
    if log_loss is not None and not is_certain and log_loss > -float((shares * np.log(shares)).sum()):
        return NO_BETTER_THAN_NONE
    is_clear = gain.low is not None and gain.low > 0
    is_few = min((part.n for part in parts.values()), default=0) < min_pairs
    return FEW_PAIRS if is_few and not is_clear else None


def show_failure(params: Mapping[str, Any], trial: Trial, error: Exception) -> FrontierPoint:
    """Return the point of a failed candidate, with the reason on one line."""
    if isinstance(error, KnownFailure):
        return FrontierPoint(params=params, seconds=trial.seconds, error=str(error))
    lines = str(error).strip().splitlines()
    reason = f"{type(error).__name__}{': ' + lines[0][:300] if lines else ''}"
    return FrontierPoint(params=params, seconds=trial.seconds, error=reason)


def _turned(difference: Measure) -> Measure:
    """Turn an increase into a reduction."""
    value, low, high = (
        None if number is None else -number for number in (difference.value, difference.high, difference.low)
    )
    return Measure(value, low, high, difference.n)


def _subtract(one: Measure, other: Measure) -> Measure:
    known = one.value is not None and other.value is not None
    return Measure(one.value - other.value if known else None, n=other.n)  # type: ignore[operator]  # both are known


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What a search found: all points, the chosen one, and its intervals that allow for the choice."""

    points: list[FrontierPoint]
    best: FrontierPoint
    selection: SelectionIntervals


@dataclass(slots=True, eq=False, kw_only=True)
class Sweep:
    """Fit and judge the base and all candidates on the same rows."""

    search: Any  # the estimator, for its parameters
    criteria: Criteria
    people: Rows
    held_out_rows: NDArray[np.int64]
    seed: int
    report: Callable[[int, FrontierPoint], None] = lambda number, point: None
    log: SearchLog | None = None
    _train: Rows = field(init=False)
    _held_out: Rows = field(init=False)
    _model_seed: int = field(init=False)
    generators: SharedGenerators = field(init=False)
    _models: list[Any] = field(init=False)  # as judged, in the order of the points; None where not kept
    _losses: dict[int, NDArray[np.float64]] = field(init=False)  # in each resample, by the place of the point

    def __post_init__(self) -> None:
        self._train, self._held_out = self.people.split(self.held_out_rows)
        self._model_seed = draw_seed(self.seed, "models")
        self.generators = SharedGenerators(self.search.estimator, self._train, self._model_seed)
        self._models, self._losses = [], {}

    def run(self, base: Any, proposals: Proposals) -> Found:
        """Judge all models and choose one; points are in the order of the proposals, the base first."""
        points = mark_efficient(self._judge_all(base, proposals))
        self.generators.clear()
        best = choose_point(points)
        selection = correct_choice(best, points, self._losses, confidence=self.search.confidence, seed=self.seed)
        warn_of_choice(best, points, self.criteria, selection)
        if self.log is not None:
            self.log.finish(describe_choice(points, best, selection, self.criteria))
        return Found(points, best, selection)

    def finish(self, base: Any, best: FrontierPoint, place: int) -> tuple[Any, Any]:
        """Return the base and the chosen model: refitted to all rows, or as judged."""
        people = self.people if self.search.refit else self._train
        fitted = self._models[0]
        if fitted is None:
            fitted = fit_model(seed_unset(clone(base), self._model_seed), people)
        if best.is_base:
            return fitted, fitted
        if self._models[place] is not None:
            return fitted, uncache_generator(self._models[place])
        generator, is_ready = self.generators.find(best.params)
        shared = generator if is_ready else None  # others are refitted to all rows
        model = build_model(self.search.estimator, best.params, shared, self._model_seed)
        return fitted, fit_model(model, people)

    def _judge_all(self, base: Any, proposals: Proposals) -> list[FrontierPoint]:
        batch = self._plan(proposals.propose([]), first=1)
        bench = self._bench(batch)
        known = self._known(0, {})
        first = known or try_model(
            seed_unset(base, self._model_seed), self._train, self._held_out, is_kept=not self.search.refit
        )
        points, errors = list[FrontierPoint](), list[Exception]()
        self._add(bench.judge_base(first), first, points)
        losses = bench.start_losses(points[0])
        while batch:
            self._judge(batch, bench, losses, points, errors)
            if len(errors) == len(points) - 1 and len(errors) >= proposals.n_first:
                raise errors[0]
            batch = self._plan(proposals.propose(points), first=len(points))
        return points

    def _plan(self, listed: Sequence[Mapping[str, Any]], first: int) -> list[Candidate]:
        """Build the models of a batch, except for those whose scores are known."""
        planned = []
        for number, params in enumerate(listed, first):
            known = self._known(number, params)
            if known is None:
                planned.append(plan_candidate(self.search.estimator, params, self.generators, self._model_seed))
            else:
                planned.append(Candidate(params, known=known))
        return planned

    def _known(self, number: int, params: Mapping[str, Any]) -> Trial | None:
        """Return the result of an earlier run, from the log."""
        found = None if self.log is None else self.log.find(number, describe(params))
        if found is None:
            return None
        error = None if found.error is None else KnownFailure(found.error)
        return Trial(found.scores, None, found.seconds, error)

    def _add(self, point: FrontierPoint, trial: Trial, points: list[FrontierPoint]) -> None:
        points.append(point)
        self._models.append(trial.model)
        if self.log is not None:
            result = {name: one for name, one in point.to_dict().items() if name not in UNLOGGED}
            self.log.add(describe(point.params), result, trial.scores, trial.seconds, point.error)
        self.report(len(points), point)

    def _judge(
        self,
        candidates: Sequence[Candidate],
        bench: Bench,
        losses: PairedLoss,
        points: list[FrontierPoint],
        errors: list[Exception],
    ) -> None:
        """Fit and judge candidates, and add their points to the others."""
        trials = try_all(
            candidates, self._train, self._held_out, n_jobs=self.search.n_jobs, is_kept=not self.search.refit
        )
        for candidate, trial in zip(candidates, trials, strict=True):
            try:
                point = bench.judge(candidate.params, trial, points[0], losses)
                self._losses[len(points)] = losses.last
            except Exception as error:  # the other candidates go on, and the summary shows it
                errors.append(error)
                point = show_failure(candidate.params, trial, error)
            self._add(point, trial, points)

    def _bench(self, candidates: Sequence[Candidate]) -> Bench:
        """Take roles and rule from the search, from an estimator with pairs, or from a generator."""
        own = self.search.estimator.get_params(deep=False)
        has_roles = "pair_weight" in own or "smoothing" in own
        roles = own.get("roles") if self.search.roles is None and has_roles else self.search.roles
        rule = own.get("rule") if self.search.rule is None and has_roles else self.search.rule
        generator = self.generators.first or self.generators.find({})[0]
        if roles is None and generator is None:
            failed = [candidate.error for candidate in candidates if candidate.error is not None]
            raise failed[0] if failed else ValueError(NO_ROLES)
        if roles is None:
            roles = generator.schema_.roles if hasattr(generator, "schema_") else generator.roles
        if rule is None:
            rule = getattr(generator, "rule", None)
        return Bench(
            criteria=self.criteria,
            held_out=self._held_out,
            schema=roles if isinstance(roles, Schema) else roles.learn(self._train.frame, self._train.y),
            rule=rule,
            min_pairs=self.search.min_pairs,
            settings=AuditSettings(
                positive=self.search.positive,
                n_resamples=self.search.n_resamples,
                confidence=self.search.confidence,
                seed=draw_seed(self.seed, "audits"),
            ),
        )
