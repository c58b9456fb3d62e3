"""The network that all classifiers share, training rows on its device, and the training loop."""

from __future__ import annotations

import copy
import itertools
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from likewise.exceptions import TrainingError
from likewise.nets._inputs import InputCoding, Inputs
from likewise.nets._optimizers import Optimizer

log = logging.getLogger(__name__)

Record = dict[str, Any]

CELLS_AT_A_TIME: Final = 2**22  # rows times inputs that are written out at once
N_WARM: Final = 3  # steps before one is recorded on a GPU
N_RECORDS: Final = 50  # of the history; up to twice as many where the iterations do not divide evenly


def build_network(n_inputs: int, n_outputs: int, hidden: Sequence[int]) -> nn.Module:
    """Return linear layers with ReLU between them."""
    layers: list[nn.Module] = []
    for before, after in itertools.pairwise((n_inputs, *hidden, n_outputs)):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def is_plain(network: nn.Module) -> bool:
    """Whether a network is linear layers and ReLU only, hence the same in training and evaluation, at every step."""
    known = (nn.Sequential, nn.Linear, nn.ReLU)
    has_hooks = any(one._forward_hooks or one._forward_pre_hooks for one in network.modules())
    return not has_hooks and all(type(one) in known for one in network.modules())


def check_network(network: Any, n_inputs: int, n_outputs: int, *, can_be_frozen: bool = False) -> nn.Module:
    """Refuse a user's network that cannot be trained here, before it fails deep inside."""
    wanted = "Give a function of the number of inputs and outputs that returns a torch module"
    if not isinstance(network, nn.Module):
        raise TypeError(f"network returned a {type(network).__name__}. {wanted}.")
    if not can_be_frozen and not any(parameter.requires_grad for parameter in network.parameters()):
        raise ValueError("network has no trainable weights: all are frozen. Unfreeze some.")
    was_training = network.training
    with torch.no_grad():
        try:
            outputs = network.eval()(torch.zeros(2, n_inputs))
        except RuntimeError as error:
            reason = str(error).split("\n")[0]
            raise ValueError(f"network does not accept rows of {n_inputs} inputs: {reason}. {wanted}.") from None
    network.train(was_training)
    if not isinstance(outputs, torch.Tensor) or outputs.shape != (2, n_outputs):
        found = tuple(outputs.shape) if isinstance(outputs, torch.Tensor) else type(outputs).__name__
        raise ValueError(f"network returns {found} for 2 rows; {n_outputs} outputs per row are needed. {wanted}.")
    return network


class DeviceInputs:
    """Inputs on a device in packed form; rows are written out when needed."""

    def __init__(self, inputs: Inputs, device: torch.device) -> None:
        self._numbers = torch.as_tensor(inputs.numbers).to(device)
        starts = inputs.numbers.shape[1] + np.cumsum([0, *inputs.sizes[:-1]])
        off = inputs.n_inputs  # an extra input for codes without indicator, cut off again
        places = np.where(inputs.codes >= 0, inputs.codes + starts[: inputs.codes.shape[1]], off)
        self._places = torch.as_tensor(places.astype(np.int64)).to(device)
        self.n_inputs = inputs.n_inputs
        self.device = device

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def n_rows_at_a_time(self) -> int:
        """Number of rows to write out at once."""
        return max(CELLS_AT_A_TIME // max(self.n_inputs, 1), 1)

    def chunks(self) -> Iterator[slice]:
        """Yield slices of rows to write out at once; one slice if there are no rows."""
        step = self.n_rows_at_a_time
        yield from (slice(start, start + step) for start in range(0, max(len(self), 1), step))

    def dense(self, rows: torch.Tensor | slice) -> torch.Tensor:
        """Return the inputs of rows, by position."""
        numbers, places = self._numbers[rows], self._places[rows]
        whole = numbers.new_zeros(len(numbers), self.n_inputs + 1)
        whole[:, : numbers.shape[1]] = numbers
        return whole.scatter_(1, places, 1.0)[:, :-1]


def predict_shares(network: nn.Module, inputs: DeviceInputs) -> NDArray[np.float64]:
    """Return the probability of each class, in double precision so that it does not depend on the batch."""
    network = copy.deepcopy(network).double().eval()
    with torch.inference_mode():
        parts = [shares_of(network(inputs.dense(rows).double())).cpu().numpy() for rows in inputs.chunks()]
    return np.concatenate(parts)


def shares_of(logits: torch.Tensor) -> torch.Tensor:
    """Return class probabilities from logits; a single logit is that of the second class."""
    if logits.shape[1] == 1:
        positive = torch.sigmoid(logits)
        return torch.cat([1 - positive, positive], dim=1)
    return torch.softmax(logits, dim=1)


def loss_of(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the log loss of each row."""
    if logits.shape[1] == 1:
        return nn.functional.binary_cross_entropy_with_logits(logits[:, 0], labels.to(logits.dtype), reduction="none")
    return nn.functional.cross_entropy(logits, labels, reduction="none")


@dataclass(frozen=True, slots=True, eq=False)
class People:
    """Training rows in every form that is needed; weights have mean 1, ``train`` and ``held_out`` are row positions."""

    frame: Any
    y: NDArray[Any]
    coding: InputCoding
    inputs: DeviceInputs
    labels: torch.Tensor
    weights: torch.Tensor
    train: NDArray[np.intp]
    held_out: NDArray[np.intp]

    @property
    def device(self) -> torch.device:
        """Device of the tensors."""
        return self.labels.device

    def batch(self, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return inputs, labels and weights of rows, by position."""
        here = rows.to(self.device)
        return self.inputs.dense(here), self.labels[here], self.weights[here]


class Objective:
    """What each step minimizes.

    ``is_steady``: every step is the same work on tensors of the same shapes, and whatever it remembers it writes into
    tensors that stay where they are. A GPU can then record a step and repeat it.
    """

    is_steady = True
    generators: tuple[torch.Generator, ...] = ()  # random generators of its own that a step draws from

    def __init__(self, network: nn.Module, people: People) -> None:
        self._network, self._people = network, people

    def start_epoch(self, epoch: int) -> None:
        """Prepare for another pass over all rows."""

    def draw(self, rows: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return what a step takes from the CPU: the positions of a batch of rows, and whatever is drawn beside it."""
        return (rows,)

    def loss(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the mean loss of what was drawn, with gradients. Here the log loss of the rows."""
        inputs, labels, weights = self._people.batch(rows)
        return (weights * loss_of(self._network(inputs), labels)).mean()

    def report(self) -> Record:
        """Return what the history should say about the steps since the last report."""
        return {}


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


@dataclass(frozen=True, slots=True, eq=False)
class Training:
    """A network to be trained: what it minimizes, how, watched by what, and who is told."""

    network: nn.Module
    objective: Objective
    schedule: Schedule
    random: np.random.Generator  # for the order of rows
    monitor: Monitor
    record: Callable[[Record], None]


def descend(training: Training, show: Callable[[float, str], None]) -> int:
    """Train a network in place, and return the number of iterations.

    With patience, the weights with the lowest held-out loss are kept.
    """
    schedule, objective, people = training.schedule, training.objective, training.monitor.people
    stepper = _Stepper(training)
    keeper = _Keeper(training.network, schedule.patience)
    every = max(schedule.n_iterations // N_RECORDS, 1)
    n_since, started, last_epoch = 0, perf_counter(), -1
    training.network.train()
    step = 0
    for step, (epoch, rows) in enumerate(_draw_batches(people.train, schedule, training.random), start=1):
        if epoch != last_epoch:
            objective.start_epoch(epoch)
            last_epoch = epoch
        stepper.take(objective.draw(rows))
        if schedule.halve_every and step % schedule.halve_every == 0:
            stepper.halve_rate()
        n_since += 1
        if step % every == 0 or step == schedule.n_iterations:
            record = {
                "iteration": step,
                "epoch": epoch,
                "seconds": perf_counter() - started,
                "loss": stepper.read_loss() / n_since,
                "held_out_loss": training.monitor.held_out_loss(),
            }
            _report(training, record)
            show(step, f"loss {record['loss']:.4f}")
            n_since = 0
            if keeper.is_enough(record["held_out_loss"]):
                break
    keeper.restore()
    training.network.eval()
    return step


def _report(training: Training, record: Record) -> None:
    if not np.isfinite(record["loss"]):
        raise TrainingError(
            f"Training diverged: the loss is NaN or infinite after {record['iteration']:,} iterations. Lower "
            "learning_rate, or the weight of what is added to the loss."
        )
    training.record(record | {"score_spread": training.monitor.score_spread()} | training.objective.report())


class _Stepper:
    """Steps of training; on a GPU, a steady one is recorded and repeated, without launching its kernels one by one."""

    def __init__(self, training: Training) -> None:
        schedule, device = training.schedule, training.monitor.people.device
        self._objective, self._device = training.objective, device
        self._is_recorded = device.type == "cuda" and self._objective.is_steady and is_plain(training.network)
        self._optimizer = Optimizer(
            schedule.optimizer,
            [one for one in training.network.parameters() if one.requires_grad],  # not those a user froze
            learning_rate=schedule.learning_rate,
            weight_decay=schedule.weight_decay,
            fused=True,
            capturable=self._is_recorded,
        )
        self._total = torch.zeros((), device=device)
        self._n_warm, self._graph, self._drawn = 0, None, ()
        self._aside = torch.cuda.Stream(device) if self._is_recorded else None

    def take(self, drawn: tuple[torch.Tensor, ...]) -> None:
        """Take a step."""
        if not self._is_recorded:
            self._step(drawn)
            return
        if self._n_warm < N_WARM:
            self._n_warm += 1
            self._step_aside(drawn)
            return
        if self._graph is None:
            self._record(drawn)
        if self._graph is None:  # it cannot be recorded
            self._step(drawn)
            return
        for here, given in zip(self._drawn, drawn, strict=True):
            here.copy_(given, non_blocking=True)
        self._graph.replay()

    def halve_rate(self) -> None:
        """Halve the learning rate, which is part of what was recorded."""
        self._optimizer.learning_rate /= 2
        self._graph = None

    def read_loss(self) -> float:
        """Return the sum of the losses since it was last read."""
        total = float(self._total)
        self._total.zero_()
        return total

    def _step(self, drawn: tuple[torch.Tensor, ...]) -> None:
        loss = self._objective.loss(*drawn)
        self._optimizer.forget_gradients()
        loss.backward()
        self._optimizer.step()
        self._total += loss.detach()

    def _step_aside(self, drawn: tuple[torch.Tensor, ...]) -> None:
        """Take a step on the stream that records: what the first steps set up belongs to their stream."""
        assert self._aside is not None
        self._aside.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.stream(self._aside):
            self._step(tuple(one.to(self._device) for one in drawn))
        torch.cuda.current_stream(self._device).wait_stream(self._aside)

    def _record(self, drawn: tuple[torch.Tensor, ...]) -> None:
        """Record a step, which does not take it; where that is impossible, steps are taken as on a CPU."""
        graph: Any = torch.cuda.CUDAGraph()
        for generator in self._objective.generators:
            graph.register_generator_state(generator)
        self._drawn = tuple(one.to(self._device) for one in drawn)
        self._optimizer.forget_gradients()
        try:
            with torch.cuda.device(self._device), torch.cuda.graph(graph, stream=self._aside):
                self._step(self._drawn)
        except RuntimeError as error:
            log.info("training steps are not recorded as a CUDA graph: %s", error)
            self._is_recorded = False
            return
        self._graph = graph


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
