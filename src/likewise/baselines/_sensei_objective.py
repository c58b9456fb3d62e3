"""The loss of SenSeI: that of the rows as they are, and how far their outputs go when the rows are moved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torch
from torch import nn

from likewise.baselines._attacks import Gain, LogitGain, ShareGain, attacking, is_plain_stack
from likewise.baselines._priced_attacks import PricedAttacks
from likewise.baselines._watching import Watch
from likewise.nets import People, loss_of

GAINS: Final[dict[str, Callable[[torch.Tensor], Gain]]] = {"logits": LogitGain, "probabilities": ShareGain}


class InvarianceLoss:
    """Make the log loss smaller, and the distance of outputs from those of attacked rows.

    Parameters
    ----------
    network : torch module
    people : People
    attacks : PricedAttacks
        They have to start elsewhere than where the rows are: there, no direction leads away from their outputs faster
        than any other.
    rho : float
        The weight of the distance of outputs.
    output_distance : {"logits", "probabilities"}
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
        self._watch = Watch()

    def start_epoch(self, epoch: int) -> None:
        """Watch another epoch."""
        self.attacks.start_epoch()

    def loss(self, rows: torch.Tensor) -> torch.Tensor:
        """Attack a batch, and give its mean log loss and what the attack found; gradients go through both outputs."""
        inputs, labels, weights = self._people.batch(rows)
        points = self.attacks.move(inputs, weights, lambda: self._gain(self._network(inputs)))  # once, for all steps
        outputs = self._network(inputs)
        loss = (weights * loss_of(outputs, labels)).mean()
        if not self._rho:  # nothing at all differs from plain fitting
            return loss
        distance = (weights * self._apart(inputs, outputs, points)).mean()
        self._watch.note({"output_distance": distance / weights.mean().clamp(min=1e-12)})
        return loss + self._rho * distance

    def report(self) -> dict[str, Any]:
        """Tell how attacks went."""
        return self.attacks.report() | self._watch.report()

    def _apart(self, inputs: torch.Tensor, outputs: torch.Tensor, points: torch.Tensor) -> torch.Tensor:
        """Measure on the network as it will be used, as the attack does: dropout would be a distance of its own."""
        if is_plain_stack(self._network):  # as it will be used already
            return self._gain(outputs).of(self._network(points))
        with attacking(self._network), torch.enable_grad():
            here, there = self._network(torch.cat([inputs, points])).chunk(2)
        return self._gain(here).of(there)
