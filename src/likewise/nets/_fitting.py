"""The training loop that all network classifiers share."""

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
from likewise.nets._network import People, loss_of, shares_of

Record = dict[str, Any]
N_RECORDS: Final = 50  # of the history; up to twice as many where the iterations do not divide evenly


class Objective(Protocol):
    """What each step minimizes."""

    def start_epoch(self, epoch: int) -> None:
        """Prepare for another pass over all rows."""

    def loss(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the mean loss of a batch, with gradients; ``rows`` are positions, on the CPU."""

    def report(self) -> Record:
        """Return what the history should say about the steps since the last report."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Length and steps of training; ``weight_decay`` is the L2 penalty, ``patience`` counts history records."""

    n_iterations: int
    batch_size: int
    optimizer: str
    learning_rate: float
    halve_every: int | None
    weight_decay: float
    patience: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Monitor:
    """Measures a network during training, on the held-out rows and on some training rows."""

    network: nn.Module
    people: People
    rows: NDArray[np.intp]  # training rows whose scores are measured

    def held_out_loss(self) -> float | None:
        """Return the mean log loss of the held-out rows, or None if there are none."""
        people = self.people
        if not len(people.held_out):
            return None
        rows = torch.from_numpy(people.held_out).to(people.device)
        weights = people.weights[rows]
        losses = loss_of(self._outputs(rows), people.labels[rows])
        return float((weights * losses).sum() / weights.sum().clamp(min=1e-12))

    def score_spread(self) -> float:
        """Return the standard deviation of the probabilities over all classes; for two, of either class."""
        shares = shares_of(self._outputs(torch.from_numpy(self.rows).to(self.people.device)).double())
        return float((shares.var(dim=0, unbiased=False).sum() / 2).sqrt())

    def _outputs(self, rows: torch.Tensor) -> torch.Tensor:
        network, inputs = self.network, self.people.inputs
        was_training = network.training
        network.eval()
        with torch.inference_mode():
            parts = [network(inputs.dense(some)) for some in rows.split(inputs.n_rows_at_a_time)]
        network.train(was_training)
        return torch.cat(parts)


def descend(
    network: nn.Module,
    objective: Objective,
    train: NDArray[np.intp],
    schedule: Schedule,
    random: np.random.Generator,
    monitor: Monitor,
    record: Callable[[Record], None],
) -> int:
    """Train a network on the rows ``train`` in place, and return the number of iterations.

    With patience, the weights with the lowest held-out loss are kept.
    """
    parameters = [one for one in network.parameters() if one.requires_grad]  # frozen by the user
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
            mean, held_out = float(total) / n_since, monitor.held_out_loss()
            _refuse_diverged(mean, step)
            record(
                {"iteration": step, "epoch": epoch, "seconds": perf_counter() - started, "loss": mean}
                | {"held_out_loss": held_out, "score_spread": monitor.score_spread()}
                | objective.report()
            )
            total, n_since = 0.0, 0
            if keeper.is_enough(held_out):
                break
    keeper.restore()
    network.eval()
    return step


class _Keeper:
    """Keeps the weights with the lowest held-out loss."""

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
    """Yield all rows in a new order each epoch; a batch may span two epochs."""
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
            f"Training diverged: the loss is NaN or infinite after {step:,} iterations. Lower learning_rate, or the "
            "weight of what is added to the loss."
        )
