"""What SenSR and SenSeI share: a sensitive subspace, attacks while fitting, and words for attacks that went wrong."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise._checks import check_choice, check_number
from likewise._random import draw_seed
from likewise._warnings import has_collapsed, warn
from likewise.baselines._penalty import LEAST, MOST
from likewise.baselines._sensitive import subspace_of
from likewise.baselines._sensitive_classifier import SensitiveNetworkClassifier
from likewise.baselines._subspace import Subspace
from likewise.baselines._telling import METHODS
from likewise.exceptions import AttackFailed, PenaltyAtLimit

if TYPE_CHECKING:
    import torch

    from likewise.baselines._attacks import SubspaceMetric, UniformNoise
    from likewise.baselines._penalty import Penalty
    from likewise.nets import People


class AttackedClassifier(SensitiveNetworkClassifier):
    """Fit a network to rows that are moved against it, where moves inside the sensitive subspace do not count."""

    start_noise: float | None
    subspace_method: str
    include_indicators: bool
    subspace_: Subspace

    def _learn(self, people: People) -> Any:
        amounts = np.zeros(len(people.y))  # rows held out teach nothing
        amounts[people.train] = people.weights.cpu().numpy()[people.train]
        self.subspace_ = subspace_of(
            people.frame,
            self.roles_,
            people.coding,
            method=self.subspace_method,
            include_indicators=self.include_indicators,
            amounts=amounts,
        )
        network = self._new_network(people)
        objective = self._objective(network, people)
        self.n_iter_ = self._descend(network, objective, people)
        odd = objective.attacks.find_odd()
        if "is_idle" in odd:
            self._warn_of_idleness()
        if odd - {"is_idle"} and not has_collapsed(*self._spreads(network, people)):  # of which one is told anyway
            self._warn_of_limits(is_least="at_least" in odd)
        return network

    @abstractmethod
    def _objective(self, network: Any, people: People) -> Any:
        """Say what each step makes smaller; what it is also has the attacks."""

    @abstractmethod
    def _allowed_distance(self) -> float:
        """Give the mean squared distance that attacks may go."""

    @abstractmethod
    def _weight_to_start_with(self) -> float:
        """Give the weight of that distance to start with."""

    @abstractmethod
    def _reach_advice(self, verb: str) -> str:
        """Name the settings that say how far an attack can go."""

    def _metric(self, like: torch.Tensor) -> SubspaceMetric:
        from likewise.baselines._attacks import SubspaceMetric

        return SubspaceMetric(self.subspace_.basis, like)

    def _penalty(self, step: float | None, like: torch.Tensor) -> Penalty:
        from likewise.baselines._penalty import Penalty

        return Penalty(self._weight_to_start_with(), self._allowed_distance(), step, like)

    def _noise(self, device: torch.device) -> UniformNoise:
        """Draw from random numbers of its own, so that attacks do not change what else is drawn."""
        from likewise.baselines._attacks import UniformNoise

        width = self.start_noise
        if width is None:  # so wide that rows start at the mean distance that they may go
            width = float(np.sqrt(3 * self._allowed_distance() / max(self.subspace_.n_counted, 1)))
        return UniformNoise(width, draw_seed(self.seed_, "attacks"), device)

    def _refuse_odd_parameters(self) -> None:
        super()._refuse_odd_parameters()
        check_choice("subspace_method", self.subspace_method, METHODS)
        check_number("lambda_start", self._weight_to_start_with(), least=LEAST, below=MOST)
        if self.start_noise is not None:
            check_number("start_noise", self.start_noise, above=0.0)
        if not isinstance(self.include_indicators, bool | np.bool_):
            raise TypeError(f"include_indicators is {self.include_indicators!r}; give True or False.")

    def _warn_of_idleness(self) -> None:
        warn(
            f"For a whole epoch, the attacks of this {type(self).__name__} found nothing worse than where they "
            f"started. Raise epsilon ({self._allowed_distance():g}), or {self._reach_advice('change')}.",
            AttackFailed,
        )

    def _warn_of_limits(self, *, is_least: bool) -> None:
        if not self.subspace_.n_counted:
            warn(
                f"In this {type(self).__name__} no distance counts: every input lies in the sensitive subspace, so "
                "attacks may go anywhere. Give columns that are not sensitive.",
                PenaltyAtLimit,
            )
            return
        epsilon = f"epsilon ({self._allowed_distance():g})"
        found = (
            f"lower limit, {LEAST:g}: attacks did not go as far as {epsilon} lets them. Lower epsilon, or "
            f"{self._reach_advice('raise')}."
            if is_least
            else f"upper limit, {MOST:g}: attacks still went further than {epsilon} lets them. Raise epsilon, or "
            f"{self._reach_advice('lower')}."
        )
        warn(
            f"For a whole epoch, the weight of the distance in this {type(self).__name__} stood at its {found}",
            PenaltyAtLimit,
        )
