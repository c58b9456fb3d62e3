"""The loss of SenSeI: that of the rows as they are, and how far their outputs go when the rows are moved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torch
from torch import nn

from likewise.baselines._attacks import (
    Gain,
    LogitGain,
    Noise,
    ShareGain,
    Steps,
    SubspaceMetric,
    attack_in_one_stage,
    attacking,
)
from likewise.baselines._penalty import Penalty
from likewise.baselines._watching import AttackWatch
from likewise.nets import People, loss_of

GAINS: Final[dict[str, Callable[[torch.Tensor], Gain]]] = {"logits": LogitGain, "probabilities": ShareGain}


class InvarianceLoss:
    """Make the log loss smaller, and the distance of outputs from those of attacked rows.

    Parameters
    ----------
    network : torch module
    people : People
    metric : SubspaceMetric
    penalty : Penalty
    steps : Steps
        Of the attack.
    noise : Noise
        Where it starts: where the rows are, no direction leads away from their outputs faster than any other.
    rho : float
        The weight of the distance of outputs.
    output_distance : {"logits", "probabilities"}
    """

    def __init__(
        self,
        network: nn.Module,
        people: People,
        metric: SubspaceMetric,
        penalty: Penalty,
        steps: Steps,
        noise: Noise,
        rho: float,
        output_distance: str = "logits",
    ) -> None:
        self._network, self._people = network, people
        self._metric, self._penalty = metric, penalty
        self._steps, self._noise = steps, noise
        self._rho, self._gain = rho, GAINS[output_distance]
        self.watch = AttackWatch(penalty)

    def start_epoch(self, epoch: int) -> None:
        """Look at another epoch."""
        self.watch.start_epoch()

    def loss(self, rows: torch.Tensor) -> torch.Tensor:
        """Attack a batch, and give its mean log loss and what the attack found; gradients go through both outputs."""
        inputs, labels, weights = self._people.batch(rows)
        with attacking(self._network):
            gain = self._gain(self._network(inputs))  # once, for all steps
            noise, penalty = self._noise(inputs), self._penalty.value
            attack = attack_in_one_stage(self._network, inputs, noise, gain, self._metric, penalty, self._steps)
        share = weights / weights.sum().clamp(min=1e-12)
        distance = share @ attack.distances
        self._penalty.update(distance)
        outputs = self._network(inputs)
        loss = (weights * loss_of(outputs, labels)).mean()
        if self._rho:  # without, nothing at all differs from plain fitting
            apart = self._gain(outputs).of(self._network(attack.points))
            self.watch.note(share @ attack.gains, mean_distance=distance, output_distance=share @ apart)
            return loss + self._rho * (weights * apart).mean()
        self.watch.note(share @ attack.gains, mean_distance=distance)
        return loss

    def report(self) -> dict[str, Any]:
        """Tell how attacks went."""
        return self.watch.report()
