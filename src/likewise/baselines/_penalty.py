"""The price of distance in an attack, and how it finds its level."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import torch

LEAST, MOST = 1e-5, 1e3  # beyond, the price needs tens of thousands of steps to come back
MOST_HASTE: Final = 10.0
FLOOR: Final = 1e-12  # of what is divided by


class Penalty:
    """Weigh the distance (the papers' lambda) so that attacks go as far as they may, on average.

    Parameters
    ----------
    start : float
    epsilon : float
        The mean squared distance that attacks may go.
    step : float or None
        How fast the weight changes; with 0 it stays. If None, as fast as distance and epsilon are out of proportion,
        ten times as fast at most.
    like : tensor
        Of the type and on the device to compute with.
    """

    def __init__(self, start: float, epsilon: float, step: float | None, like: torch.Tensor) -> None:
        self.value = like.new_full((), start)  # reading it out would be waiting
        self._epsilon, self._step = epsilon, step

    def update(self, distance: torch.Tensor) -> None:
        """Raise the weight if attacks went further than they may, and lower it if they did not.

        A distance that is not a number, that of no rows, changes nothing.
        """
        updated = (self.value + self._haste(distance) * (distance - self._epsilon)).clamp(LEAST, MOST)
        self.value = updated.where(distance.isfinite(), self.value)

    def _haste(self, distance: torch.Tensor) -> torch.Tensor | float:
        if self._step is not None:
            return self._step
        ratio = distance.clamp(min=FLOOR) / max(self._epsilon, FLOOR)
        return ratio.maximum(1 / ratio).clamp(max=MOST_HASTE)
