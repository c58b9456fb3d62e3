"""Random numbers for networks, from a key per row."""

from __future__ import annotations

from math import pi, prod
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from likewise._random import LAST_SHIFT, STEP, STIRS, Keys
from likewise.generation._row_keys import N_BITS, fold_word

# fixed batch size of a network, so that its sums have one order, whatever the other rows are
BITS_OF: Final = {torch.float64: N_BITS, torch.float32: 24}
ROWS_BY_ROW: Final = {"cpu": 2_048, "cuda": 16_384}


def rows_by_row(device: Any, n_cells_each: int, n_cells: int) -> int:
    """Return the batch size for drawing by row; it depends on the network alone."""
    return max(min(ROWS_BY_ROW.get(device.type, ROWS_BY_ROW["cuda"]), n_cells // n_cells_each), 1)


class RowTensors:
    """Random numbers per row from its key.

    Networks take rows in batches of one size, the last one padded, by ``fill`` and ``batch``.
    """

    def __init__(self, keys: Keys, purpose: str, n_rows: int, device: Any) -> None:
        self._keys, self._purpose, self._n_rows, self._device = keys, purpose, n_rows, device
        self._counters = torch.empty(0)
        self._n_drawn = 0

    def batch(self, rows: slice) -> RowTensors:
        """Return the random numbers of some rows and of the padding."""
        some = RowTensors(self.fill(self._keys[rows]), self._purpose, self._n_rows, self._device)
        start = fold_word(some._keys, self._purpose).view(np.int64)
        some._counters = torch.from_numpy(start).to(self._device)
        return some

    def fill(self, array: NDArray[Any]) -> NDArray[Any]:
        """Repeat the first row up to the batch size."""
        return np.concatenate([array, np.repeat(array[:1], self._n_rows - len(array), axis=0)])

    def rand(self, *shape: int, dtype: Any = torch.float64) -> Any:
        """Draw numbers from 0 to below 1; the first axis is rows."""
        n_bits = BITS_OF[dtype]
        return (_shifted(self._draw(prod(shape[1:])), 64 - n_bits).to(dtype) * 2.0**-n_bits).reshape(shape)

    def rand_twice(self, n: int) -> Any:
        """Draw two numbers from 0 to 1 per row; the last axis is rows."""
        return self.rand(n, 2).T

    def randn(self, n_each: int) -> Any:
        """Draw from the normal distribution, in single precision; the first axis is rows (Box and Muller)."""
        drawn = self._draw(-(-n_each // 2))
        radius = ((_shifted(drawn, 32) + 1).float() * 2.0**-32).log_().mul_(-2).sqrt_()
        angle = (drawn & 0xFFFFFFFF).float() * (2 * pi * 2.0**-32)
        return torch.cat([radius * angle.cos(), radius * angle.sin()], dim=1)[:, :n_each]

    def below(self, n_values: int, n: int) -> Any:
        """Draw a whole number per row."""
        return (self.rand(n) * n_values).long()

    def _draw(self, n_each: int) -> Any:
        """Draw whole numbers of 64 bits, as many per row."""
        steps = torch.arange(self._n_drawn + 1, self._n_drawn + n_each + 1, device=self._device)
        self._n_drawn += n_each
        return _stir(self._counters[:, None] + steps * _signed(STEP))


def _stir(numbers: Any) -> Any:
    """Do what ``stir`` does, in signed numbers: torch multiplies no others on every device."""
    for shift, factor in STIRS:
        numbers = (numbers ^ _shifted(numbers, shift)) * _signed(factor)
    return numbers ^ _shifted(numbers, LAST_SHIFT)


def _shifted(numbers: Any, shift: int) -> Any:
    return (numbers >> shift) & ((1 << (64 - shift)) - 1)


def _signed(number: int) -> int:
    return number - (1 << 64) if number >= 1 << 63 else number
