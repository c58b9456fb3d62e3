"""What happens while a network is fitted: means for the history, and what was odd for a whole epoch."""

from __future__ import annotations

from typing import Final

import torch

FEWEST_BATCHES: Final = 20  # an epoch of fewer is judged together with the next: of small data it may be one batch


class Watch:
    """Keep sums where they are computed: they are read out only when somebody asks."""

    def __init__(self) -> None:
        self._sums: dict[str, torch.Tensor] = {}
        self._n_noted = 0
        self._n_batches = 0  # of this epoch, so far
        self._always: dict[str, torch.Tensor] = {}  # in all of them
        self._found: dict[str, torch.Tensor] | None = None  # in an epoch before, if there was one

    def start_epoch(self) -> None:
        """Begin another round through all rows; the last one was a whole one."""
        if self._n_batches >= FEWEST_BATCHES:
            self._found = self._judge()
            self._n_batches, self._always = 0, {}

    def note(self, means: dict[str, torch.Tensor], **is_odd: torch.Tensor) -> None:
        """Keep the means of a batch, and whether something was odd about it."""
        self._n_noted += 1
        self._n_batches += 1
        for name, mean in means.items():
            self._sums[name] = self._sums.get(name, 0.0) + mean.detach()
        for name, odd in is_odd.items():
            self._always[name] = odd & self._always[name] if name in self._always else odd

    def report(self) -> dict[str, float]:
        """Give the means since this was asked last."""
        means = {name: float(total) / self._n_noted for name, total in self._sums.items()}
        self._sums, self._n_noted = {}, 0
        return means

    def find_odd(self) -> set[str]:
        """Name what was odd in every batch of some epoch: of a whole one, or of the only one."""
        found = self._judge() if self._found is None else self._found
        return {name for name, is_odd in found.items() if is_odd}

    def _judge(self) -> dict[str, torch.Tensor]:
        before = self._found or {}
        return {name: odd | before[name] if name in before else odd for name, odd in self._always.items()}
