"""Training the network of conditionals: hide columns of real rows, and learn to tell what they were."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from likewise._random import draw_seed
from likewise.exceptions import GenerationError
from likewise.generation._conditionals import N_EDGES, Conditionals, Inputs
from likewise.nets._internal import seeded

Report = Callable[[dict[str, Any]], None]

HIDDEN_SHARE: Final = 0.2  # of the columns, beside the one that always is; few, as sampling hides few
LEARNING_RATE: Final = 5e-3
LAST_RATE: Final = 0.02  # of the learning rate, that a cosine falls to
WEIGHT_DECAY: Final = 1e-4
HELD_OUT: Final = 0.1
MAX_HELD_OUT: Final = 4_096
MIN_ROWS: Final = 8  # with fewer, none are held out
N_CHECKS: Final = 20  # of the held-out loss, at least
PATIENCE: Final = 6  # checks without a better one


@dataclass(frozen=True, slots=True)
class Schedule:
    """Say how long and with what to train."""

    n_iterations: int
    batch_size: int
    width: int
    seed: int


def learn_conditionals(
    inputs: Inputs,
    codes: NDArray[np.int32],
    continuous: NDArray[np.float64],
    schedule: Schedule,
    device: Any,
    report: Report,
) -> Conditionals:
    """Train the network, and keep the weights that were best on rows held out."""
    with seeded(draw_seed(schedule.seed, "weights"), device):
        weights = _new_weights(inputs, codes, schedule.width)
    network = Conditionals(inputs, weights, device)
    random = torch.Generator(device).manual_seed(draw_seed(schedule.seed, "training"))
    rows = torch.as_tensor(np.ascontiguousarray(codes)).to(device, torch.int64)
    values = torch.as_tensor(np.ascontiguousarray(continuous)).to(device)
    order = torch.randperm(len(rows), generator=random, device=device)
    n_held = min(math.ceil(HELD_OUT * len(rows)), MAX_HELD_OUT) if len(rows) >= MIN_ROWS else 0
    watch = _Watch(network, rows[order[:n_held]], values[order[:n_held]], report)
    rows, values = rows[order[n_held:]], values[order[n_held:]]
    size = min(schedule.batch_size, len(rows))
    # a small table is learned by heart within few steps: look often
    n_steps = schedule.n_iterations
    every = max(min(n_steps // N_CHECKS, 10 + 3 * len(rows) // size), 1)

    optimizer = torch.optim.AdamW([weight.requires_grad_() for weight in network.weights.values()])
    optimizer.param_groups[0]["weight_decay"] = WEIGHT_DECAY
    total = torch.zeros((), device=device)
    for step in range(n_steps):
        cosine = (1 + math.cos(math.pi * step / n_steps)) / 2
        optimizer.param_groups[0]["lr"] = LEARNING_RATE * (LAST_RATE + (1 - LAST_RATE) * cosine)
        batch = torch.randint(len(rows), (size,), generator=random, device=device)
        loss = network.loss(rows[batch], values[batch], _draw_hidden(size, inputs.n_learned, random, device))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        total += loss.detach()
        is_due = (step + 1) % every == 0 or step + 1 == n_steps
        if is_due and watch.look(step + 1, total):
            break
    network.weights = watch.best
    return network


def _new_weights(inputs: Inputs, codes: NDArray[np.int32], width: int) -> dict[str, Any]:
    """Begin with each column's frequencies, whatever the others are."""
    counted = [
        np.bincount(column[column >= 0], minlength=size) + 0.5
        for column, size in zip(codes.T[: inputs.n_learned], inputs.sizes[: inputs.n_learned], strict=True)
    ]
    shares = np.concatenate([counts / counts.sum() for counts in counted])
    n_on = len(inputs.sizes) + len(inputs.edges) * N_EDGES / 2  # of the inputs, in a usual row
    return {
        "first": torch.randn(inputs.n_inputs, width) / math.sqrt(n_on),
        "first_bias": torch.zeros(width),
        "second": torch.randn(width, width) * math.sqrt(2 / width),
        "second_bias": torch.zeros(width),
        "last": torch.zeros(width, inputs.n_outputs),
        "last_bias": torch.as_tensor(np.log(shares), dtype=torch.float32),
    }


def _draw_hidden(n_rows: int, n_learned: int, random: Any, device: Any) -> Any:
    """Hide one column of each row, and each of the others now and then."""
    one = torch.randint(n_learned, (n_rows, 1), generator=random, device=device)
    some = torch.rand((n_rows, n_learned), generator=random, device=device) < HIDDEN_SHARE
    return some | (torch.arange(n_learned, device=device) == one)


class _Watch:
    """Look at the loss on held-out rows, each learned column hidden in turn; remember the best weights."""

    def __init__(self, network: Conditionals, codes: Any, continuous: Any, report: Report) -> None:
        self._network, self._codes, self._continuous, self._report = network, codes, continuous, report
        self._started, self._last_step, self._n_worse = perf_counter(), 0, 0
        self._lowest = self._held_out()
        self.best = self._copy()

    def look(self, step: int, total: Any) -> bool:
        """Record where training stands; True if it is no use to go on."""
        loss, held_out = float(total) / (step - self._last_step), self._held_out()
        total.zero_()
        self._last_step = step
        if not math.isfinite(loss):
            raise GenerationError(
                f"Training lost its way before iteration {step:,}: its loss is no number any more. "
                "Use more rows a step (batch_size) or a smaller width."
            )
        seconds = perf_counter() - self._started
        self._report({"iteration": step, "seconds": seconds, "loss": loss, "held_out_loss": held_out})
        if held_out is not None and self._lowest is not None and held_out >= self._lowest:
            self._n_worse += 1
            return self._n_worse >= PATIENCE
        self._lowest, self._n_worse, self.best = held_out, 0, self._copy()
        return False

    def _copy(self) -> dict[str, Any]:
        return {name: weight.detach().clone() for name, weight in self._network.weights.items()}

    def _held_out(self) -> float | None:
        network, codes = self._network, self._codes
        if not len(codes):
            return None
        with torch.no_grad():
            begun, surprise = network.begin(codes, self._continuous), []
            for column in range(network.inputs.n_learned):
                log_p = network.log_probabilities(begun, codes, column)
                own = codes[:, [column]]
                surprise.append(torch.where(own >= 0, -log_p.gather(1, own.clamp_min(0)), 0.0).mean())
            return float(torch.stack(surprise).mean())
