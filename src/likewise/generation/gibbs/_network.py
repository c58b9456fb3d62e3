"""One network for p(column | all other columns) of every learned column, and its training."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from likewise._random import draw_seed
from likewise.exceptions import GenerationError
from likewise.nets._internal import seeded

N_EDGES: Final = 16  # steps that each continuous column is cut into, beside its value itself
MAX_PADDING: Final = 8  # times the units: beyond, one column with thousands of values would fill the memory


@dataclass(frozen=True, slots=True, eq=False)
class ConditionalInputs:
    """What the network sees: coded columns, the learned ones first, and steps of the continuous ones."""

    sizes: tuple[int, ...]  # how many categories each coded column has
    n_learned: int  # the first columns; the others are inputs only
    edges: NDArray[np.float64]  # shape (n_continuous, N_EDGES), ascending

    @property
    def starts(self) -> list[int]:
        """Positions of the first unit of each coded column, and the end of the last."""
        return [0, *np.cumsum(self.sizes, dtype=np.int64).tolist()]

    @property
    def n_outputs(self) -> int:
        """Number of units of the learned columns."""
        return self.starts[self.n_learned]

    @property
    def n_inputs(self) -> int:
        """Number of units, flags for unknown codes, and inputs of continuous columns."""
        return self.starts[-1] + len(self.sizes) + len(self.edges) * (1 + N_EDGES)


def find_edges(continuous: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return cut points of each column, half by quantiles of the rows, half by quantiles of the distinct values."""
    at = np.linspace(0, 1, N_EDGES // 2 + 2)[1:-1]
    edges = np.empty((continuous.shape[1], N_EDGES))
    for position, column in enumerate(continuous.T):
        both = [np.quantile(values, at, method="higher") for values in (column, np.unique(column))]
        edges[position] = np.sort(np.concatenate(both))
    return edges


class Conditionals:
    """The network: two hidden layers, and a softmax per learned column."""

    def __init__(self, inputs: ConditionalInputs, weights: Mapping[str, Any], device: Any) -> None:
        self.inputs, self.device = inputs, device
        self.weights = {name: torch.as_tensor(weight, device=device) for name, weight in weights.items()}
        sizes = torch.tensor(inputs.sizes, dtype=torch.int64)
        starts = torch.tensor(inputs.starts[:-1], dtype=torch.int64)
        column_of = torch.repeat_interleave(torch.arange(len(sizes)), sizes)
        code_of = torch.arange(len(column_of)) - starts[column_of]
        n_learned, n_outputs = inputs.n_learned, inputs.n_outputs
        # units of each learned column side by side; the last of a narrow column repeats, which no maximum notices
        within = torch.arange(int(sizes[:n_learned].max()))
        padded = starts[:n_learned, None] + torch.minimum(within, sizes[:n_learned, None] - 1)
        segments = functional.one_hot(column_of[:n_outputs], n_learned).to(torch.float32)
        self._sizes, self._column_of, self._code_of = sizes.to(device), column_of.to(device), code_of.to(device)
        self._padded, self._segments = padded.reshape(-1).to(device), segments.to(device)
        self._edges = torch.as_tensor(inputs.edges, device=device)
        self._starts = inputs.starts

    @property
    def dtype(self) -> Any:
        """Precision of the weights."""
        return self.weights["first"].dtype

    def in_double(self) -> Conditionals:
        """Return the same network in double precision."""
        weights = {name: weight.to(torch.float64) for name, weight in self.weights.items()}
        return Conditionals(self.inputs, weights, self.device)

    def loss(self, codes: Any, continuous: Any, hidden: Any) -> Any:
        """Return the mean cross entropy of the hidden values; ``hidden`` has the learned columns only."""
        n_learned, n_outputs = self.inputs.n_learned, self.inputs.n_outputs
        not_learned = len(self.inputs.sizes) - n_learned
        logits = self._logits(self.begin(codes, continuous, functional.pad(hidden, (0, not_learned))))
        # a softmax per column in a few products: no loop over columns, and a fixed order of additions
        column_of = self._column_of[:n_outputs]
        highest = self._highest(logits.detach())
        sums = torch.exp(logits - highest[:, column_of]) @ self._segments
        is_true = codes[:, column_of] == self._code_of[:n_outputs]
        surprise = torch.log(sums) + highest - (logits * is_true) @ self._segments
        # a missing rank has no category to predict
        counts = hidden & (codes[:, :n_learned] >= 0)
        return (surprise * counts).sum() / counts.sum().clamp_min(1)

    def _highest(self, logits: Any) -> Any:
        """Return the largest logit of each learned column."""
        n_rows, n_learned = len(logits), self.inputs.n_learned
        if len(self._padded) <= MAX_PADDING * logits.shape[1]:
            return logits[:, self._padded].reshape(n_rows, n_learned, -1).amax(dim=2)
        lowest = logits.new_full((n_rows, n_learned), -torch.inf)
        return lowest.scatter_reduce_(1, self._column_of[: logits.shape[1]].expand_as(logits), logits, "amax")

    def begin(self, codes: Any, continuous: Any, hidden: Any | None = None) -> Any:
        """Return the first layer; a category that training did not have counts as hidden."""
        unknown = (codes < 0) | (codes >= self._sizes)
        if hidden is not None:
            unknown = unknown | hidden
        units = (codes[:, self._column_of] == self._code_of) & ~unknown[:, self._column_of]
        steps = (continuous[:, :, None] >= self._edges).reshape(len(codes), self._edges.numel())
        parts = (units, unknown, continuous.clamp(-1.0, 2.0), steps)
        seen = torch.cat([part.to(self.dtype) for part in parts], dim=1)
        return torch.addmm(self.weights["first_bias"], seen, self.weights["first"])

    def log_probabilities(self, begun: Any, codes: Any, column: int) -> Any:
        """Return log p(value | all other columns) for each row and each value of one learned column.

        ``begun`` is the first layer with the column visible: removing it again is cheaper than a first layer per
        column.
        """
        table, start, size = self.weights["first"], self._starts[column], self.inputs.sizes[column]
        flag = self._starts[-1] + column
        instead = functional.pad(table[flag] - table[start : start + size], (0, 0, 0, 1))  # nothing for an unknown one
        code = codes[:, column]
        own = torch.where((code >= 0) & (code < size), code, size)
        logits = self._logits(instead.index_select(0, own).add_(begun), slice(start, start + size))
        return torch.log_softmax(logits, dim=1)

    def _logits(self, first: Any, outputs: slice = slice(None)) -> Any:
        """Return the other layers, computed in place of the first: memory is the bottleneck."""
        weights = self.weights
        second = torch.addmm(weights["second_bias"], first.relu_(), weights["second"]).relu_()
        return torch.addmm(weights["last_bias"][outputs], second, weights["last"][:, outputs])


Report = Callable[[dict[str, Any]], None]

HIDDEN_SHARE: Final = 0.2  # of the other columns; few, as sampling hides few
LEARNING_RATE: Final = 5e-3
LAST_RATE: Final = 0.02  # final share of the learning rate, on a cosine schedule
WEIGHT_DECAY: Final = 1e-4
HELD_OUT: Final = 0.1
MAX_HELD_OUT: Final = 4_096
MIN_ROWS: Final = 8  # with fewer, none are held out
N_CHECKS: Final = 20  # of the held-out loss, at least
PATIENCE: Final = 6  # checks without a better one


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """Length, batch size, width and seed of training."""

    n_iterations: int
    batch_size: int
    width: int
    seed: int


def learn_conditionals(
    inputs: ConditionalInputs,
    codes: NDArray[np.int32],
    continuous: NDArray[np.float64],
    plan: TrainingPlan,
    device: Any,
    report: Report,
) -> Conditionals:
    """Train the network, and keep the weights with the lowest held-out loss."""
    with seeded(draw_seed(plan.seed, "weights"), device):
        weights = _new_weights(inputs, codes, plan.width)
    network = Conditionals(inputs, weights, device)
    random = torch.Generator(device).manual_seed(draw_seed(plan.seed, "training"))
    rows = torch.as_tensor(np.ascontiguousarray(codes)).to(device, torch.int64)
    values = torch.as_tensor(np.ascontiguousarray(continuous)).to(device)
    order = torch.randperm(len(rows), generator=random, device=device)
    n_held = min(math.ceil(HELD_OUT * len(rows)), MAX_HELD_OUT) if len(rows) >= MIN_ROWS else 0
    stopping = _EarlyStopping(network, rows[order[:n_held]], values[order[:n_held]], report)
    rows, values = rows[order[n_held:]], values[order[n_held:]]
    size = min(plan.batch_size, len(rows))
    # a small table is memorized within few steps: check often
    n_steps = plan.n_iterations
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
        if is_due and stopping.look(step + 1, total):
            break
    network.weights = stopping.best
    return network


def _new_weights(inputs: ConditionalInputs, codes: NDArray[np.int32], width: int) -> dict[str, Any]:
    """Start from each column's frequencies, independent of the others."""
    counted = [
        np.bincount(column[column >= 0], minlength=size) + 0.5
        for column, size in zip(codes.T[: inputs.n_learned], inputs.sizes[: inputs.n_learned], strict=True)
    ]
    shares = np.concatenate([counts / counts.sum() for counts in counted])
    n_on = len(inputs.sizes) + len(inputs.edges) * N_EDGES / 2  # inputs that are on in a usual row
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


class _EarlyStopping:
    """Measures the loss on held-out rows, with each learned column hidden in turn; keeps the best weights."""

    def __init__(self, network: Conditionals, codes: Any, continuous: Any, report: Report) -> None:
        self._network, self._codes, self._continuous, self._report = network, codes, continuous, report
        self._started, self._last_step, self._n_worse = perf_counter(), 0, 0
        self._lowest = self._held_out()
        self.best = self._copy()

    def look(self, step: int, total: Any) -> bool:
        """Record the state of training; return whether to stop."""
        loss, held_out = float(total) / (step - self._last_step), self._held_out()
        total.zero_()
        self._last_step = step
        if not math.isfinite(loss):
            raise GenerationError(
                f"Training diverged before iteration {step:,}: the loss is NaN or infinite. Use a larger batch_size or "
                "a smaller width."
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
