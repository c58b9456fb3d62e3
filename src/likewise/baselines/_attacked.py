"""What SenSR and SenSeI share: a sensitive subspace, attacks while fitting, and words for attacks that went wrong."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise._checks import check_choice, check_number
from likewise._random import draw_seed
from likewise.baselines._penalty import LEAST, MOST, Penalty
from likewise.baselines._sensitive import subspace_of
from likewise.baselines._sensitive_classifier import SensitiveNetworkClassifier
from likewise.baselines._subspace import Subspace
from likewise.baselines._telling import METHODS
from likewise.exceptions import AttackFailed, PenaltyAtLimit

if TYPE_CHECKING:
    import torch

    from likewise.baselines._attacks import SubspaceMetric
    from likewise.nets import People


class AttackedClassifier(SensitiveNetworkClassifier):
    """Fit a network to rows that are moved against it, where moves inside the sensitive subspace do not count."""

    epsilon: float
    lambda_start: float
    start_noise: float | None
    subspace_method: str
    include_indicators: bool
    subspace_: Subspace

    def _learn(self, people: People) -> Any:
        self.subspace_ = subspace_of(
            people.frame,
            self.roles_,
            people.coding,
            method=self.subspace_method,
            include_indicators=self.include_indicators,
        )
        network = self._new_network(people)
        objective = self._objective(network, people)
        self.n_iter_ = self._descend(network, objective, people)
        self._warn_of_attacks(*objective.watch.find_odd())
        return network

    def _objective(self, network: Any, people: People) -> Any:
        """Say what each step makes smaller; what it is also watches the attacks."""
        raise NotImplementedError

    def _metric(self, like: torch.Tensor) -> SubspaceMetric:
        from likewise.baselines._attacks import SubspaceMetric

        return SubspaceMetric(self.subspace_.basis, like)

    def _penalty(self, step: float | None, like: torch.Tensor) -> Penalty:
        return Penalty(self.lambda_start, self.epsilon, step, like)

    def _noise(self, metric: SubspaceMetric, device: torch.device) -> Any:
        """Draw from random numbers of its own, so that attacks do not change what else is drawn."""
        from likewise.baselines._attacks import UniformNoise

        width = self.start_noise
        if width is None:  # so wide that rows start at the mean distance that they may go
            width = float(np.sqrt(3 * self.epsilon / max(metric.n_counted, 1)))
        return UniformNoise(width, draw_seed(self.seed_, "attacks"), device)

    def _refuse_odd_parameters(self) -> None:
        super()._refuse_odd_parameters()
        check_choice("subspace_method", self.subspace_method, METHODS)
        check_number("epsilon", self.epsilon, above=0.0)
        check_number("lambda_start", self.lambda_start, least=LEAST, below=MOST)
        if self.start_noise is not None:
            check_number("start_noise", self.start_noise, above=0.0)
        if not isinstance(self.include_indicators, bool | np.bool_):
            raise TypeError(f"include_indicators is {self.include_indicators!r}; give True or False.")

    def _warn_of_attacks(self, is_least: bool, is_most: bool, is_idle: bool) -> None:
        epsilon, which = f"epsilon ({self.epsilon:g})", f"In the last whole epoch of this {type(self).__name__}"
        found: list[tuple[bool, str, type[Warning]]] = [
            (
                is_least,
                f"the weight of the distance stood at its lower limit, {LEAST:g}: attacks never went as far as "
                f"{epsilon} lets them. Lower epsilon, or {self._reach_advice('raise')}.",
                PenaltyAtLimit,
            ),
            (
                is_most,
                f"the weight of the distance stood at its upper limit, {MOST:g}: attacks still went further than "
                f"{epsilon} lets them. Raise epsilon, or {self._reach_advice('lower')}.",
                PenaltyAtLimit,
            ),
            (
                is_idle,
                f"attacks found nothing worse than where they started, in any batch. Raise {epsilon}, or "
                f"{self._reach_advice('change')}.",
                AttackFailed,
            ),
        ]
        for is_so, words, kind in found:
            if is_so:
                warnings.warn(f"{which}, {words}", kind, stacklevel=4)

    def _reach_advice(self, verb: str) -> str:
        """Name the settings that say how far an attack can go."""
        raise NotImplementedError
