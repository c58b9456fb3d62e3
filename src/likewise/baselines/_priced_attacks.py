"""Attacks in which distance has a price, batch after batch: the price finds its level, and what happens is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from likewise.baselines._attacks import Attack, Gain, attacking
from likewise.baselines._penalty import LEAST, MOST, Penalty
from likewise.baselines._watching import Watch

HowToAttack = Callable[[nn.Module, torch.Tensor, Gain, torch.Tensor], Attack]  # network, inputs, gain, penalty


class PricedAttacks:
    """Move batches to where a network does worst.

    Parameters
    ----------
    network : torch module
    attack : callable
        Moves rows, given the network, the rows, what to gain and the weight of the distance.
    penalty : Penalty
    """

    def __init__(self, network: nn.Module, attack: HowToAttack, penalty: Penalty) -> None:
        self._network, self._attack, self._penalty = network, attack, penalty
        self._watch = Watch()

    def start_epoch(self) -> None:
        """Watch another epoch."""
        self._watch.start_epoch()

    def move(self, inputs: torch.Tensor, weights: torch.Tensor, gain_of: Callable[[], Gain]) -> torch.Tensor:
        """Give the rows where they are worst; ``gain_of`` is asked with the network as attacks see it."""
        with attacking(self._network):
            attack = self._attack(self._network, inputs, gain_of(), self._penalty.value)
        total = weights.sum()
        distance = weights @ attack.distances / total  # not a number, if no row counts
        self._penalty.update(distance)
        gain, distance = (weights @ attack.gains / total).nan_to_num(), distance.nan_to_num()
        value = self._penalty.value
        self._watch.note(
            {"attack_gain": gain, "mean_distance": distance},
            at_least=value <= LEAST,
            at_most=value >= MOST,
            is_idle=gain <= 0,
        )
        return attack.points

    def report(self) -> dict[str, Any]:
        """Give the weight of the distance now, and means since this was asked last."""
        return {"lambda": float(self._penalty.value), **self._watch.report()}

    def find_odd(self) -> set[str]:
        """Say of some epoch whether the weight stood at a limit, "at_least" or "at_most", or attacks were "is_idle"."""
        return self._watch.find_odd()
