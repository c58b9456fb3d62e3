"""What happens in attacks while a network is fitted: means for the history, and what went wrong for a whole epoch."""

from __future__ import annotations

from typing import Any

import torch

from likewise.baselines._penalty import LEAST, MOST, Penalty


class AttackWatch:
    """Keep sums where they are computed: they are read out only when somebody asks."""

    def __init__(self, penalty: Penalty) -> None:
        self._penalty = penalty
        self._sums: dict[str, torch.Tensor] = {}
        self._n_noted = 0
        self._odd: list[torch.Tensor] = []
        self._odd_before: list[torch.Tensor] = []

    def start_epoch(self) -> None:
        """Begin another round through all rows; the last one was a whole one."""
        self._odd_before, self._odd = self._odd, []

    def note(self, gain: torch.Tensor, **means: torch.Tensor) -> None:
        """Keep the mean gain of a batch, and other means by name."""
        for name, mean in {"attack_gain": gain, **means}.items():
            self._sums[name] = self._sums.get(name, 0.0) + mean.detach()
        self._n_noted += 1
        value = self._penalty.value
        self._odd.append(torch.stack([value <= LEAST, value >= MOST, gain <= 0]))

    def report(self) -> dict[str, Any]:
        """Give the weight of the distance now, and the means since this was asked last."""
        means = {name: float(total) / self._n_noted for name, total in self._sums.items()}
        self._sums, self._n_noted = {}, 0
        return {"lambda": float(self._penalty.value), **means}

    def find_odd(self) -> tuple[bool, bool, bool]:
        """Tell of the last whole epoch whether the weight stood at its lower, at its upper limit, and nothing gained.

        Of a fit shorter than two epochs nothing is told.
        """
        if not self._odd_before:
            return False, False, False
        at_least, at_most, no_gain = torch.stack(self._odd_before).all(dim=0).tolist()
        return at_least, at_most, no_gain
