"""The loss of SenSR: that of rows moved to where it is largest."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from likewise.baselines._attacks import Attack, LossGain, Noise, Steps, SubspaceMetric, attacking
from likewise.baselines._attacks import attack_in_one_stage as in_one_stage
from likewise.baselines._attacks import attack_in_two_stages as in_two_stages
from likewise.baselines._penalty import Penalty
from likewise.baselines._watching import AttackWatch
from likewise.nets import People, loss_of


class AttackedLoss:
    """Make the log loss of attacked rows smaller; the rows as they are play no part.

    Parameters
    ----------
    network : torch module
    people : People
    metric : SubspaceMetric
    penalty : Penalty
    everywhere : Steps
        In all directions.
    inside : Steps, optional
        Inside the subspace, before those in all directions.
    noise : Noise, optional
        Where to start, if there are no steps inside the subspace.
    """

    def __init__(
        self,
        network: nn.Module,
        people: People,
        metric: SubspaceMetric,
        penalty: Penalty,
        everywhere: Steps,
        inside: Steps | None = None,
        noise: Noise | None = None,
    ) -> None:
        self._network, self._people = network, people
        self._metric, self._penalty = metric, penalty
        self._everywhere, self._inside, self._noise = everywhere, inside, noise
        self.watch = AttackWatch(penalty)

    def start_epoch(self, epoch: int) -> None:
        """Look at another epoch."""
        self.watch.start_epoch()

    def loss(self, rows: torch.Tensor) -> torch.Tensor:
        """Attack a batch, and give its mean log loss where it went."""
        inputs, labels, weights = self._people.batch(rows)
        with attacking(self._network):
            attack = self._attack(inputs, labels)
        share = weights / weights.sum().clamp(min=1e-12)
        distance = share @ attack.distances
        if self._everywhere.n:
            self._penalty.update(distance)
        self.watch.note(share @ attack.gains, mean_distance=distance)
        return (weights * loss_of(self._network(attack.points), labels)).mean()

    def report(self) -> dict[str, Any]:
        """Tell how attacks went."""
        return self.watch.report()

    def _attack(self, inputs: torch.Tensor, labels: torch.Tensor) -> Attack:
        network, gain, metric, penalty = self._network, LossGain(labels), self._metric, self._penalty.value
        if self._noise is not None:
            return in_one_stage(network, inputs, self._noise(inputs), gain, metric, penalty, self._everywhere)
        inside = self._inside or Steps(0, 0.0)
        return in_two_stages(network, inputs, gain, metric, penalty, inside, self._everywhere)
