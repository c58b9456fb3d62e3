"""One search from end to end: fit, audit, choose, and fit again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from likewise._meta import seed_unset
from likewise._random import draw_seed
from likewise.auditing._internal import AuditSettings
from likewise.frontier._candidates import (
    Candidate,
    SharedGenerators,
    build_model,
    give_back_generator,
    plan_candidates,
)
from likewise.frontier._choosing import choose_point, mark_efficient
from likewise.frontier._criteria import Criteria
from likewise.frontier._judging import Bench, show_failure
from likewise.frontier._point import FrontierPoint
from likewise.frontier._rows import Rows
from likewise.frontier._telling import warn_of_choice
from likewise.frontier._trying import fit_model, try_all, try_model
from likewise.schema import Schema

if TYPE_CHECKING:
    from likewise.frontier._search import FrontierSearch

NO_ROLES: Final = "There is no generator that knows what the columns are. Give one to the estimator, or give roles."


class Sweep:
    """Try the base and all candidates on the same rows."""

    def __init__(
        self, search: FrontierSearch, criteria: Criteria, people: Rows, held_out: NDArray[np.int64], seed: int
    ) -> None:
        self._search, self._criteria, self._people, self._seed = search, criteria, people, seed
        self._train, self._held_out = people.split(held_out)
        self._model_seed = draw_seed(seed, "models")
        self._generators = SharedGenerators(search.estimator, self._train, self._model_seed)
        self._models: list[Any] = []  # as they were judged, in the order of the points; None where not to be kept

    def run(self, base: Any, listed: Sequence[Mapping[str, Any]]) -> tuple[list[FrontierPoint], FrontierPoint]:
        """Judge all models; give the points, the base first, and the chosen one."""
        self._generators.refuse_several(listed, roles=self._search.roles, rule=self._search.rule)
        candidates = plan_candidates(self._search.estimator, listed, self._generators, self._model_seed)
        points = mark_efficient(self._judge_all(base, candidates))
        self._generators.forget()
        best = choose_point(points)
        warn_of_choice(best, points, self._criteria)
        return points, best

    def finish(self, base: Any, best: FrontierPoint, place: int) -> tuple[Any, Any]:
        """Give the base and the chosen model: fitted to all rows, or as they were judged."""
        if not self._search.refit:
            return self._models[0], give_back_generator(self._models[place])
        fitted = fit_model(seed_unset(clone(base), self._model_seed), self._people)
        if best.is_base:
            return fitted, fitted
        generator, is_ready = self._generators.find(best.params)
        shared = generator if is_ready else None  # any other learns again, from all rows
        model = build_model(self._search.estimator, best.params, shared, self._model_seed)
        return fitted, fit_model(model, self._people)

    def _judge_all(self, base: Any, candidates: Sequence[Candidate]) -> list[FrontierPoint]:
        bench = self._bench(candidates)
        is_kept = not self._search.refit
        first = try_model(seed_unset(base, self._model_seed), self._train, self._held_out, is_kept=is_kept)
        points, errors = [bench.judge_base(first)], []
        self._models = [first.model]
        self._search._tell(points[0])
        losses = bench.start_losses(points[0])
        trials = try_all(candidates, self._train, self._held_out, n_jobs=self._search.n_jobs, is_kept=is_kept)
        for candidate, trial in zip(candidates, trials, strict=True):
            try:
                point = bench.judge(candidate.params, trial, points[0], losses)
            except Exception as error:  # whatever it is, the others go on, and it is shown
                errors.append(error)
                point = show_failure(candidate.params, trial, error)
            points.append(point)
            self._models.append(trial.model)
            self._search._tell(point)
        if len(errors) == len(candidates):
            raise errors[0]
        return points

    def _bench(self, candidates: Sequence[Candidate]) -> Bench:
        """Find what the columns are and who is comparable: as told, or as a generator was told."""
        roles, rule, generator = self._search.roles, self._search.rule, self._generators.first
        if roles is None and generator is None:
            failed = [candidate.error for candidate in candidates if candidate.error is not None]
            raise failed[0] if failed else ValueError(NO_ROLES)
        if roles is None:
            roles = generator.schema_.roles
        if rule is None:
            rule = getattr(generator, "comparability", None)
        return Bench(
            criteria=self._criteria,
            held_out=self._held_out,
            schema=roles if isinstance(roles, Schema) else roles.learn(self._train.frame, self._train.y),
            rule=rule,
            settings=AuditSettings(
                positive=self._search.positive,
                n_resamples=self._search.n_resamples,
                confidence=self._search.confidence,
                seed=draw_seed(self._seed, "audits"),
            ),
        )
