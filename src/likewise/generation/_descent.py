"""Adam on all weights of a network at once; torch's own loads a compiler with it, and checks more than it computes."""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor, nn

EPSILON: Final = 1e-8


class Adam:
    """Improve a network's weights, which it moves into one long vector; a step never waits for the device."""

    def __init__(
        self, network: nn.Module, learning_rate: float, betas: tuple[float, float], weight_decay: float
    ) -> None:
        self._weights = list(network.parameters())
        self._learning_rate, self._betas, self._weight_decay = learning_rate, betas, weight_decay
        with torch.no_grad():
            self._vector = torch.cat([one.reshape(-1) for one in self._weights])
            start = 0
            for one in self._weights:
                one.data = self._vector[start : start + one.numel()].view_as(one)
                start += one.numel()
        self.mean, self.square = torch.zeros_like(self._vector), torch.zeros_like(self._vector)
        self.n_steps = torch.zeros((), device=self._vector.device)

    def descend(self, loss: Tensor) -> None:
        """Take a step down the loss."""
        gradients = torch.autograd.grad(loss, self._weights)
        with torch.no_grad():
            gradient = torch.cat([one.reshape(-1) for one in gradients])
            if self._weight_decay:
                gradient.add_(self._vector, alpha=self._weight_decay)
            low, high = self._betas
            self.n_steps += 1
            self.mean.lerp_(gradient, 1 - low)
            self.square.mul_(high).addcmul_(gradient, gradient, value=1 - high)
            # both averages start at zero, and are small at first by a known factor
            pace = self._learning_rate / (1 - torch.pow(low, self.n_steps))
            scale = (1 - torch.pow(high, self.n_steps)).rsqrt()
            width = self.square.sqrt().mul_(scale).add_(EPSILON)
            self._vector.sub_((self.mean * pace).div_(width))
