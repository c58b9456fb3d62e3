"""The fitting loop that all networks share: draw rows, take a step, now and then look how it goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from likewise.exceptions import TrainingError

Record = dict[str, Any]
N_RECORDS: Final = 50  # of the history, up to twice as many where that does not go evenly


class Objective(Protocol):
    """Say what a step makes smaller."""

    def start_epoch(self, epoch: int) -> None:
        """Get ready for another round through all rows."""

    def loss(self, rows: torch.Tensor) -> torch.Tensor:
        """Give the mean loss of a batch, of which gradients are taken; ``rows`` are positions, on the processor."""

    def report(self) -> Record:
        """Give what is worth knowing of the steps since this was asked last."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Say how long and in what steps to fit.

    Parameters
    ----------
    n_iterations : int
    batch_size : int
    optimizer : {"sgd", "adam"}
    learning_rate : float
    halve_every : int or None
        After how many iterations the learning rate is halved, again and again.
    weight_decay : float
        The strength of the squared penalty on all weights.
    patience : int or None
        End after so many looks without a lower loss on the rows held out.
    """

    n_iterations: int
    batch_size: int
    optimizer: str
    learning_rate: float
    halve_every: int | None
    weight_decay: float
    patience: int | None


@dataclass(frozen=True, slots=True)
class Look:
    """Say what to look at, beside the loss: the loss on rows held out, if there are any, and the spread of scores."""

    held_out_loss: Callable[[], float | None]
    spread: Callable[[], float]


def descend(
    network: nn.Module,
    objective: Objective,
    train: NDArray[np.intp],
    schedule: Schedule,
    random: np.random.Generator,
    look: Look,
    record: Callable[[Record], None],
) -> int:
    """Fit a network to the rows ``train`` in place, and give the number of iterations.

    With patience, the weights that were best on the rows held out are those left.
    """
    parameters = [one for one in network.parameters() if one.requires_grad]  # what the user froze stays frozen
    optimizer = _new_optimizer(parameters, schedule)
    keeper = _Keeper(network, schedule.patience)
    every = max(schedule.n_iterations // N_RECORDS, 1)
    total, n_since, started, last_epoch = 0.0, 0, perf_counter(), -1
    network.train()
    step = 0
    for step, (epoch, rows) in enumerate(_draw_batches(train, schedule, random), start=1):
        if epoch != last_epoch:
            objective.start_epoch(epoch)
            last_epoch = epoch
        loss = objective.loss(rows)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if schedule.halve_every and step % schedule.halve_every == 0:
            optimizer.param_groups[0]["lr"] /= 2
        total, n_since = total + loss.detach(), n_since + 1
        if step % every == 0 or step == schedule.n_iterations:
            mean, held_out = float(total) / n_since, look.held_out_loss()
            _refuse_diverged(mean, step)
            record(
                {"iteration": step, "epoch": epoch, "seconds": perf_counter() - started, "loss": mean}
                | {"held_out_loss": held_out, "score_spread": look.spread()}
                | objective.report()
            )
            total, n_since = 0.0, 0
            if keeper.is_enough(held_out):
                break
    keeper.restore()
    network.eval()
    return step


class _Keeper:
    """Keep the weights that were best on rows held out."""

    def __init__(self, network: nn.Module, patience: int | None) -> None:
        self._network, self._patience = network, patience
        self._best: dict[str, torch.Tensor] | None = None
        self._lowest, self._n_worse = np.inf, 0

    def is_enough(self, held_out: float | None) -> bool:
        if self._patience is None or held_out is None:
            return False
        if held_out < self._lowest:
            self._lowest, self._n_worse = held_out, 0
            self._best = {name: tensor.clone() for name, tensor in self._network.state_dict().items()}
            return False
        self._n_worse += 1
        return self._n_worse >= self._patience

    def restore(self) -> None:
        if self._best is not None:
            self._network.load_state_dict(self._best)


def _new_optimizer(parameters: list[nn.Parameter], schedule: Schedule) -> torch.optim.Optimizer:
    if schedule.optimizer == "sgd":
        return torch.optim.SGD(parameters, lr=schedule.learning_rate, weight_decay=schedule.weight_decay, fused=True)
    return torch.optim.Adam(parameters, lr=schedule.learning_rate, weight_decay=schedule.weight_decay, fused=True)


def _draw_batches(
    train: NDArray[np.intp], schedule: Schedule, random: np.random.Generator
) -> Iterator[tuple[int, torch.Tensor]]:
    """Go through all rows in a new order each time; a batch may reach from one time into the next."""
    size = min(schedule.batch_size, len(train))
    waiting = np.empty(0, np.int64)
    epoch = -1
    for _ in range(schedule.n_iterations):
        if len(waiting) < size:
            epoch += 1
            waiting = np.concatenate([waiting, random.permutation(train)])
        yield epoch, torch.from_numpy(waiting[:size])
        waiting = waiting[size:]


def _refuse_diverged(loss: float, step: int) -> None:
    if not np.isfinite(loss):
        raise TrainingError(
            f"The loss is not a number any more after {step:,} iterations: the steps are too large. Lower "
            "learning_rate, or what is added to the loss."
        )
