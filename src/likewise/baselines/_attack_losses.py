"""The losses of SenSR and SenSeI: attacks with a penalty on distance, and what happens during training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torch
from torch import nn

from likewise.baselines._attacked import Penalty
from likewise.baselines._attacks import Attack, Gain, LogitGain, LossGain, ShareGain, Tracker, attacking, is_plain_stack
from likewise.nets._internal import People, loss_of

HowToAttack = Callable[[nn.Module, torch.Tensor, Gain, torch.Tensor], Attack]  # network, inputs, gain, penalty


class PricedAttacks:
    """Attacks on one batch after another, with a penalty on distance that adapts."""

    def __init__(self, network: nn.Module, attack: HowToAttack, penalty: Penalty) -> None:
        self._network, self._attack, self._penalty = network, attack, penalty
        self._tracker = Tracker()

    def start_epoch(self) -> None:
        """Track another epoch."""
        self._tracker.start_epoch()

    def move(self, inputs: torch.Tensor, weights: torch.Tensor, gain_of: Callable[[], Gain]) -> torch.Tensor:
        """Return the attacked rows; ``gain_of`` is called with the network in evaluation mode."""
        with attacking(self._network):
            attack = self._attack(self._network, inputs, gain_of(), self._penalty.value)
        total = weights.sum()
        distance = weights @ attack.distances / total  # NaN if all weights are 0
        self._penalty.update(distance)
        gain, distance = (weights @ attack.gains / total).nan_to_num(), distance.nan_to_num()
        self._tracker.note(
            {"attack_gain": gain, "mean_distance": distance},
            at_least=self._penalty.is_least,
            at_most=self._penalty.is_most,
            is_idle=gain <= 0,
        )
        return attack.points

    def report(self) -> dict[str, Any]:
        """Return the penalty weight now, and means since the last report."""
        return {"lambda": float(self._penalty.value), **self._tracker.report()}

    def found(self) -> set[str]:
        """Return what held for a whole epoch: the penalty "at_least" or "at_most", attacks "is_idle"."""
        return self._tracker.found()


class AttackedLoss:
    """The log loss of attacked rows alone (SenSR)."""

    def __init__(self, network: nn.Module, people: People, attacks: PricedAttacks) -> None:
        self._network, self._people, self.attacks = network, people, attacks

    def start_epoch(self, epoch: int) -> None:
        """Track another epoch."""
        self.attacks.start_epoch()

    def loss(self, rows: torch.Tensor) -> torch.Tensor:
        """Attack a batch, and return its mean log loss there."""
        inputs, labels, weights = self._people.batch(rows)
        points = self.attacks.move(inputs, weights, lambda: LossGain(labels))
        return (weights * loss_of(self._network(points), labels)).mean()

    def report(self) -> dict[str, Any]:
        """Return how the attacks went."""
        return self.attacks.report()


GAINS: Final[dict[str, Callable[[torch.Tensor], Gain]]] = {"logits": LogitGain, "probabilities": ShareGain}


class InvarianceLoss:
    """The log loss of the rows plus rho times the distance of their outputs under attack (SenSeI).

    Attacks must not start at the rows themselves: there, the gradient of the distance is 0.
    """

    def __init__(
        self,
        network: nn.Module,
        people: People,
        attacks: PricedAttacks,
        rho: float,
        output_distance: str = "logits",
    ) -> None:
        self._network, self._people, self.attacks = network, people, attacks
        self._rho, self._gain = rho, GAINS[output_distance]
        self._tracker = Tracker()

    def start_epoch(self, epoch: int) -> None:
        """Track another epoch."""
        self.attacks.start_epoch()

    def loss(self, rows: torch.Tensor) -> torch.Tensor:
        """Attack a batch, and return its mean loss; gradients go through both outputs."""
        inputs, labels, weights = self._people.batch(rows)
        points = self.attacks.move(inputs, weights, lambda: self._gain(self._network(inputs)))  # once, for all steps
        outputs = self._network(inputs)
        loss = (weights * loss_of(outputs, labels)).mean()
        if not self._rho:  # exactly plain training
            return loss
        distance = (weights * self._apart(inputs, outputs, points)).mean()
        self._tracker.note({"output_distance": distance / weights.mean().clamp(min=1e-12)})
        return loss + self._rho * distance

    def report(self) -> dict[str, Any]:
        """Return how the attacks went."""
        return self.attacks.report() | self._tracker.report()

    def _apart(self, inputs: torch.Tensor, outputs: torch.Tensor, points: torch.Tensor) -> torch.Tensor:
        """Return distances of outputs in evaluation mode, as the attack does: dropout would add to them."""
        if is_plain_stack(self._network):  # the same in training and evaluation
            return self._gain(outputs).of(self._network(points))
        with attacking(self._network), torch.enable_grad():
            here, there = self._network(torch.cat([inputs, points])).chunk(2)
        return self._gain(here).of(there)
