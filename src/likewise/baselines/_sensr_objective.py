"""The loss of SenSR: that of rows moved to where it is largest."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from likewise.baselines._attacks import LossGain
from likewise.baselines._priced_attacks import PricedAttacks
from likewise.nets import People, loss_of


class AttackedLoss:
    """Make the log loss of attacked rows smaller; the rows as they are play no part.

    Parameters
    ----------
    network : torch module
    people : People
    attacks : PricedAttacks
    """

    def __init__(self, network: nn.Module, people: People, attacks: PricedAttacks) -> None:
        self._network, self._people, self.attacks = network, people, attacks

    def start_epoch(self, epoch: int) -> None:
        """Watch another epoch."""
        self.attacks.start_epoch()

    def loss(self, rows: torch.Tensor) -> torch.Tensor:
        """Attack a batch, and give its mean log loss where it went."""
        inputs, labels, weights = self._people.batch(rows)
        points = self.attacks.move(inputs, weights, lambda: LossGain(labels))
        return (weights * loss_of(self._network(points), labels)).mean()

    def report(self) -> dict[str, Any]:
        """Tell how attacks went."""
        return self.attacks.report()
