"""The base of SenSR and SenSeI: a sensitive subspace, attacks during training, and warnings about attacks."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from likewise._checks import check_choice, check_number
from likewise._random import draw_seed
from likewise._warnings import has_collapsed, warn
from likewise.baselines._sensitive_columns import SensitiveNetworkClassifier, subspace_of
from likewise.baselines._subspace import METHODS, Subspace
from likewise.exceptions import AttackFailed, PenaltyAtLimit

if TYPE_CHECKING:
    import torch

    from likewise.baselines._attacks import SubspaceMetric, UniformNoise
    from likewise.nets._internal import People


LEAST, MOST = 1e-5, 1e3  # limits of the weight: from beyond them it needs tens of thousands of steps to return
MOST_HASTE: Final = 10.0
FLOOR: Final = 1e-12  # of divisors


class Penalty:
    """Weight of the distance (the papers' lambda), adapted so that attacks go as far as epsilon on average.

    ``step`` is the rate of adaptation; 0 keeps the weight, None adapts faster the further distance and epsilon are
    apart.
    """

    def __init__(self, start: float, epsilon: float, step: float | None, like: torch.Tensor) -> None:
        self.value = like.new_full((), start)  # a tensor: reading it would wait for the device
        self._epsilon, self._step = epsilon, step

    @property
    def is_least(self) -> torch.Tensor:
        """Whether the weight is at its lower limit."""
        return self.value <= LEAST

    @property
    def is_most(self) -> torch.Tensor:
        """Whether the weight is at its upper limit."""
        return self.value >= MOST

    def update(self, distance: torch.Tensor) -> None:
        """Raise the weight if attacks went further than epsilon, else lower it; a NaN distance changes nothing."""
        updated = (self.value + self._haste(distance) * (distance - self._epsilon)).clamp(LEAST, MOST)
        self.value = updated.where(distance.isfinite(), self.value)

    def _haste(self, distance: torch.Tensor) -> torch.Tensor | float:
        if self._step is not None:
            return self._step
        ratio = distance.clamp(min=FLOOR) / max(self._epsilon, FLOOR)
        return ratio.maximum(1 / ratio).clamp(max=MOST_HASTE)


class AttackedClassifier(SensitiveNetworkClassifier):
    """Base of networks trained on attacked rows, where moves inside the sensitive subspace are free."""

    start_noise: float | None
    subspace_method: str
    include_indicators: bool
    subspace_: Subspace

    def _learn(self, people: People) -> Any:
        amounts = np.zeros(len(people.y))  # held-out rows are not learned from
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
        odd = objective.attacks.found()
        if "is_idle" in odd:
            self._warn_of_idleness()
        if odd - {"is_idle"} and not has_collapsed(*self._spreads(network, people)):  # which has its own warning
            self._warn_of_limits(is_least="at_least" in odd)
        return network

    @abstractmethod
    def _objective(self, network: Any, people: People) -> Any:
        """Return what each step minimizes, with its ``attacks``."""

    @abstractmethod
    def _allowed_distance(self) -> float:
        """Return epsilon, the mean squared distance that attacks may go."""

    @abstractmethod
    def _weight_to_start_with(self) -> float:
        """Return the initial weight of the distance."""

    @abstractmethod
    def _reach_advice(self, verb: str) -> str:
        """Name the parameters that limit how far an attack can go."""

    def _metric(self, like: torch.Tensor) -> SubspaceMetric:
        from likewise.baselines._attacks import SubspaceMetric

        return SubspaceMetric(self.subspace_.basis, like)

    def _penalty(self, step: float | None, like: torch.Tensor) -> Penalty:

        return Penalty(self._weight_to_start_with(), self._allowed_distance(), step, like)

    def _noise(self, device: torch.device) -> UniformNoise:
        """Return the initial noise, with its own random numbers so that nothing else changes."""
        from likewise.baselines._attacks import UniformNoise

        width = self.start_noise
        if width is None:  # rows then start at distance epsilon on average
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
            f"For a whole epoch, the attacks of this {type(self).__name__} gained nothing over where they started. "
            f"Raise epsilon ({self._allowed_distance():g}), or {self._reach_advice('change')}.",
            AttackFailed,
        )

    def _warn_of_limits(self, *, is_least: bool) -> None:
        if not self.subspace_.n_counted:
            warn(
                f"All inputs of this {type(self).__name__} lie in the sensitive subspace, so attacks have no limit. "
                "Give columns that are not sensitive.",
                PenaltyAtLimit,
            )
            return
        epsilon = f"epsilon ({self._allowed_distance():g})"
        found = (
            f"lower limit, {LEAST:g}: attacks did not go as far as {epsilon} allows. Lower epsilon, or "
            f"{self._reach_advice('raise')}."
            if is_least
            else f"upper limit, {MOST:g}: attacks went further than {epsilon} allows. Raise epsilon, or "
            f"{self._reach_advice('lower')}."
        )
        warn(
            f"For a whole epoch, the weight of the distance in this {type(self).__name__} was at its {found}",
            PenaltyAtLimit,
        )
