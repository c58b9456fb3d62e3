"""Adam, AdamW and gradient descent by torch's functions: making one of its optimizers loads a compiler, for seconds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import torch
from torch.optim import adam, adamw, sgd

BETAS: Final = (0.9, 0.999)
EPSILON: Final = 1e-8


class Optimizer:
    """Change weights by their gradients, as torch's optimizer of that name does with its defaults, to the last bit."""

    def __init__(
        self,
        name: str,  # "adam", "adamw" or "sgd"
        weights: Iterable[torch.Tensor],
        *,
        learning_rate: float,
        weight_decay: float,
        fused: bool | None = None,
        capturable: bool = False,
    ) -> None:
        self._name, self._weights = name, [*weights]
        self.learning_rate, self._weight_decay = learning_rate, weight_decay
        self._fused, self._capturable = fused, capturable
        if name == "sgd":
            return
        self._means = [torch.zeros_like(one, requires_grad=False) for one in self._weights]
        self._squares = [torch.zeros_like(one, requires_grad=False) for one in self._weights]
        where: dict[str, Any] = {"dtype": torch.float32} if fused else {}
        is_beside = fused or capturable  # the weights
        self._n_steps = [torch.zeros((), device=one.device if is_beside else "cpu", **where) for one in self._weights]

    def forget_gradients(self) -> None:
        """Let go of gradients, before others are computed."""
        for one in self._weights:
            one.grad = None

    @torch.no_grad()  # type: ignore[untyped-decorator]  # torch is not followed when types are checked
    def step(self) -> None:
        """Change those weights that have a gradient."""
        known = [place for place, one in enumerate(self._weights) if one.grad is not None]
        weights, gradients = [self._weights[place] for place in known], [self._weights[place].grad for place in known]
        how: dict[str, Any] = {"lr": self.learning_rate, "weight_decay": self._weight_decay, "fused": self._fused}
        if self._name == "sgd":
            still = {"momentum": 0.0, "dampening": 0.0, "nesterov": False, "maximize": False}
            sgd.sgd(weights, gradients, [None] * len(known), **still, **how)
            return
        change = adam.adam if self._name == "adam" else adamw.adamw
        state = [[some[place] for place in known] for some in (self._means, self._squares, self._n_steps)]
        how |= {"beta1": BETAS[0], "beta2": BETAS[1], "eps": EPSILON, "amsgrad": False, "maximize": False}
        change(weights, gradients, *state[:2], [], state[2], capturable=self._capturable, **how)
