"""The bench of a search: all models are fitted, scored out of fold, and audited alike."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from likewise._progress import tell
from likewise._random import draw_seed
from likewise.auditing import Audit
from likewise.auditing._internal import AuditSettings, run_audit
from likewise.comparable import Comparability
from likewise.exceptions import SchemaError, ScoresCollapsed
from likewise.frontier._candidates import Fold, Params, Rows, Scored
from likewise.frontier._criteria import Criteria
from likewise.frontier._log import SearchLog, describe
from likewise.frontier._points import FrontierPoint, mark_efficient
from likewise.frontier._proposals import Proposals
from likewise.schema import Schema

logger = logging.getLogger(__name__)
MOST_PAIRS: Final = 300_000  # that each audit keeps: of more, all are counted and a sample gives the errors
UNLOGGED: Final = ("params", "is_efficient", "seconds", "error")  # told elsewhere, or at the end


@dataclass(slots=True, eq=False)
class Bench:
    """Where all models of a search are fitted, scored out of fold, and audited alike."""

    search: Any  # the estimator, for its parameters
    criteria: Criteria
    searched: Any
    base: Any
    rows: Rows
    schema: Schema
    rule: Comparability | None
    fold_of: NDArray[np.int64]
    seed: int
    log: SearchLog | None
    model_seed: int = field(init=False)
    _frame: Any = field(init=False)
    _folds: list[Fold] = field(init=False)

    def __post_init__(self) -> None:
        self.model_seed, self._frame = draw_seed(self.seed, "models"), self.rows.frame
        parts = [self.fold_of == k for k in np.unique(self.fold_of)]
        self._folds = [
            Fold(self.rows.take(np.flatnonzero(~part)), self.rows.take(np.flatnonzero(part)), self.model_seed)
            for part in parts
        ]

    def judge_all(self, proposals: Proposals, show: Callable[[float, str], None]) -> list[FrontierPoint]:
        """Judge the base and all candidates, in the order they are proposed."""
        points: list[FrontierPoint] = []
        base = self._known(0, {}) or next(self._score([{}], is_base=True))
        if base.error is not None:
            raise base.error
        self._add(points, {}, base, show)
        while batch := proposals.propose(points):
            for params, scored in self._take_scores(batch, first=len(points)):
                self._add(points, params, scored, show)
            failed = [point.error for point in points if point.error is not None]
            if len(failed) == len(points) - 1 and len(failed) >= proposals.n_first:
                raise scored.error or SchemaError(str(failed[0]))
        return mark_efficient(points)

    def _take_scores(self, batch: Sequence[Params], first: int) -> Iterator[tuple[Params, Scored]]:
        """Yield the scores of a batch: those of an earlier run, then new ones."""
        known = [self._known(number, params) for number, params in enumerate(batch, first)]
        new = self._score([params for params, one in zip(batch, known, strict=True) if one is None])
        for params, one in zip(batch, known, strict=True):
            yield params, next(new) if one is None else one

    def _score(self, batch: Sequence[Params], *, is_base: bool = False) -> Iterator[Scored]:
        """Yield the out-of-fold scores of candidates, each as soon as it is scored in all folds."""
        estimator, n_jobs = self.base if is_base else self.searched, self.search.n_jobs
        if n_jobs in (None, 1) or not batch:
            parts: list[Any] = [fold.score_all(estimator, batch) for fold in self._folds]
        else:
            parts = Parallel(n_jobs)(delayed(_score_fold)(fold, estimator, batch) for fold in self._folds)
        for folds in zip(*parts, strict=True):
            error = next((one.error for one in folds if one.error is not None), None)
            seconds = sum(one.seconds for one in folds)
            yield Scored(None if error else self._gather([one.scores for one in folds]), seconds, error)

    def _gather(self, parts: Sequence[Any]) -> NDArray[np.float64]:
        scores = np.empty((len(self.rows), *parts[0].shape[1:]))
        for k, part in enumerate(parts):
            scores[self.fold_of == k] = part
        return scores

    def _known(self, number: int, params: Params) -> Scored | None:
        """Return the result of an earlier run, from the log."""
        logged = None if self.log is None else self.log.find(number, describe(params))
        if logged is None:
            return None
        return Scored(logged.scores, logged.seconds, None if logged.error is None else KnownFailure(logged.error))

    def _add(
        self, points: list[FrontierPoint], params: Params, scored: Scored, show: Callable[[float, str], None]
    ) -> None:
        base, criteria = points[0] if points else None, self.criteria
        try:
            if scored.scores is None:
                raise scored.error or RuntimeError("The model returned no scores.")
            point = FrontierPoint.judge(params, self._audit(scored.scores), base, criteria, scored.seconds)
        except Exception as error:  # the other candidates go on, and the summary shows it
            if base is None:
                raise
            point = FrontierPoint(params=params, seconds=scored.seconds, error=_in_one_line(error))
        points.append(point)
        if self.log is not None:
            result = {name: one for name, one in point.to_dict().items() if name not in UNLOGGED}
            self.log.add(describe(params), result, scored.scores, scored.seconds, point.error)
        logger.info("%s: loss %s, unfairness %s", point.name, point.loss.value, point.unfairness.value)
        tell(self.search.progress, point)
        show(len(points), point.name)

    def _audit(self, scores: NDArray[np.float64]) -> Audit:
        search, rows = self.search, self.rows
        settings = AuditSettings(
            task="regression" if search._is_regression else "auto",
            positive=search.positive,
            n_resamples=search.n_resamples,
            confidence=search.confidence,
            seed=draw_seed(self.seed, "audits"),
            max_pairs=MOST_PAIRS,
        )
        given: dict[str, Any] = {"roles": self.schema, "rule": self.rule, "sample_weight": rows.weights}
        return run_audit(scores, self._frame, rows.y, settings, progress=False, **given)


class KnownFailure(Exception):  # it is the line that a log has of any error
    """A failure that an earlier run has on record."""


def _score_fold(fold: Fold, estimator: Any, batch: Sequence[Params]) -> list[Scored]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScoresCollapsed)
        return list(fold.score_all(estimator, batch))


def _in_one_line(error: Exception) -> str:
    if isinstance(error, KnownFailure):
        return str(error)
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}{': ' + lines[0][:300] if lines else ''}"
