"""Which candidates to try next: a grid, refined where the budget ends, or a multi-objective study of Optuna."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from likewise._extras import require
from likewise._random import draw_seed
from likewise.exceptions import ParameterError
from likewise.frontier._candidates import WeightRange
from likewise.frontier._points import FrontierPoint

N_TRIALS: Final = 30
N_RANDOM: Final = 8  # trials of a study before its sampler learns from them
SEEDS: Final = 2**32
DIRECTIONS: Final = ("minimize", "minimize")  # the loss of performance, and the unfairness

Params = dict[str, Any]


class GridProposals:
    """All candidates of a list at once; then single ones between those within the budget and those beyond it."""

    def __init__(self, listed: Sequence[Params], refined: tuple[str, WeightRange] | None = None) -> None:
        self._listed, self._refined = list(listed), refined
        self._n_left = refined[1].n_refined if refined else 0
        self.n_first = len(self._listed)  # after how many candidates that all failed to give up
        self.n_most = self.n_first + self._n_left  # the largest number of candidates

    def propose(self, points: Sequence[FrontierPoint]) -> list[Params]:
        """Return the list first, then one more candidate at a time."""
        if self._listed:
            listed, self._listed = self._listed, []
            return listed
        if self._refined is None or not self._n_left:
            return []
        self._n_left -= 1
        params = _refine(*self._refined, points)
        return [] if params is None else [params]


class StepProposals:
    """The steps of a plain model, without its sensitive columns; where none is within the budget, those with them."""

    def __init__(self, steps: Sequence[Params], seeing: Sequence[Params]) -> None:
        self._batches = [list(steps), list(seeing)]
        self.n_first, self.n_most = len(steps), len(steps) + len(seeing)

    def propose(self, points: Sequence[FrontierPoint]) -> list[Params]:
        """Return the steps first, and the others only if they are needed."""
        if any(point.may_be_chosen and not point.is_base for point in points) or not self._batches:
            return []
        return self._batches.pop(0)


def _refine(name: str, weights: WeightRange, points: Sequence[FrontierPoint]) -> Params | None:
    """Return the next candidate of a range, between those within the budget and those beyond it."""
    measured = [point for point in points if not point.is_base and point.error is None]
    within = [point.params[name] for point in measured if point.is_within_budget and not point.is_collapsed]
    beyond = [point.params[name] for point in measured if not point.is_within_budget or point.is_collapsed]
    value = weights.refine(within, beyond)
    return None if value is None or value in (*within, *beyond) else {name: value}


class OptunaProposals:
    """Candidates of a study that minimises the loss of performance and the unfairness together.

    Each trial has a sampler of its own, seeded by the search and the number of the trial, and the study that is asked
    begins empty: candidates depend on nothing but the seed and the results so far, so that a search that was
    interrupted goes on from its log as if it had not been.
    """

    def __init__(self, space: Mapping[str, Any], *, n_trials: int, at_once: int, seed: int) -> None:
        optuna = self._optuna = require("optuna", "optuna", 'search="optuna"')
        self.n_most, self._at_once, self._seed = n_trials, at_once, seed
        self.n_first = min(n_trials, N_RANDOM)
        self._space = {name: _Dimension(name, values, optuna.distributions) for name, values in sorted(space.items())}
        with self._quietly():
            self._study = optuna.create_study(directions=DIRECTIONS)
        self._asked: list[Any] = []
        self._n_told = 0

    def propose(self, points: Sequence[FrontierPoint]) -> list[Params]:
        """Tell the study what was measured, and ask it for the next candidates."""
        for trial, point in zip(self._asked, points[1 + self._n_told :], strict=True):
            self._tell(trial, point)
        self._n_told += len(self._asked)
        n = min(self._at_once, self.n_most - self._n_told)
        self._asked = [self._ask(self._n_told + place) for place in range(n)]
        return [{name: one.value(trial.params[name]) for name, one in self._space.items()} for trial in self._asked]

    def _ask(self, number: int) -> Any:
        seed = draw_seed(self._seed, "optuna", number) % SEEDS
        self._study.sampler = self._optuna.samplers.TPESampler(n_startup_trials=N_RANDOM, seed=seed)
        return self._study.ask({name: one.distribution for name, one in self._space.items()})

    def _tell(self, trial: Any, point: FrontierPoint) -> None:
        values = self._values_of(point)
        with self._quietly():
            if values is None:
                self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
            else:
                self._study.tell(trial, values)

    def _values_of(self, point: FrontierPoint) -> list[float] | None:
        """Return loss and unfairness; None for a model that failed or collapsed, from which nothing is learned."""
        loss, unfairness = point.loss.value, point.unfairness.value
        if point.error is not None or point.is_collapsed or loss is None or unfairness is None:
            return None
        return [loss, unfairness]

    @contextmanager
    def _quietly(self) -> Iterator[None]:
        """Keep the study from logging: the search itself shows its progress."""
        logging = self._optuna.logging
        before = logging.get_verbosity()
        logging.set_verbosity(logging.ERROR)
        try:
            yield
        finally:
            logging.set_verbosity(before)


class _Dimension:
    """One parameter of a study: its distribution, and the value that each drawn one stands for."""

    def __init__(self, name: str, values: Any, distributions: Any) -> None:
        self._choices: list[Any] | None = None
        if isinstance(values, WeightRange):
            self.distribution = distributions.FloatDistribution(values.low, values.high, log=True)
        elif isinstance(values, distributions.BaseDistribution):
            self.distribution = values
        elif isinstance(values, Sequence | np.ndarray) and not isinstance(values, str) and len(values):
            self._choices = list(values)  # of any type, which a study cannot store
            self.distribution = distributions.CategoricalDistribution(range(len(self._choices)))
        else:
            raise ParameterError(
                f"has {values!r} for {name!r}. Give a WeightRange, a list of values or a distribution of Optuna.",
                "grid",
            )

    def value(self, drawn: Any) -> Any:
        """Return the value of a parameter."""
        if self._choices is not None:
            return self._choices[drawn]
        return float(f"{drawn:.4g}") if isinstance(drawn, float) else drawn


Proposals = (
    GridProposals | StepProposals | OptunaProposals
)  # candidates in batches, which may depend on what is known of earlier ones
