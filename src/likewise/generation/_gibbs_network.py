"""One network for p(column | all other columns) of every learned column, its training, and antidotes drawn from it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from likewise._random import draw_seed
from likewise.comparable._internal import SHIFT_TOLERANCE
from likewise.exceptions import GenerationError
from likewise.nets._internal import Optimizer, seeded

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

    def n_products(self, width: int) -> int:
        """Number of multiplications for one row in a network of this width."""
        return width * (self.n_inputs + width + self.n_outputs)


def find_edges(continuous: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return cut points of each column, half by quantiles of the rows, half by quantiles of the distinct values."""
    at = np.linspace(0, 1, N_EDGES // 2 + 2)[1:-1]
    edges = np.empty((continuous.shape[1], N_EDGES))
    for position, column in enumerate(continuous.T):
        both = [np.quantile(values, at, method="higher") for values in (column, np.unique(column))]
        edges[position] = np.sort(np.concatenate(both))
    return edges


BELOW_ONE: Final = 2.0**-22  # so that a rounded product stays below its factor


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

    def log_likelihood(self, codes: Any, continuous: Any) -> Any:
        """Return the sum of log p(own value | all other columns) over the learned columns; an unknown one is rarest."""
        begun, total = self.begin(codes, continuous), torch.zeros(len(codes), dtype=self.dtype, device=codes.device)
        for column in range(self.inputs.n_learned):
            log_p, own = self.log_probabilities(begun, codes, column), codes[:, [column]]
            known = log_p.gather(1, own.clamp(0, log_p.shape[1] - 1))
            found = torch.where(own < log_p.shape[1], known, log_p.amin(dim=1, keepdim=True))
            total += torch.where(own >= 0, found, 0.0)[:, 0]
        return total

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

    trained = [weight.requires_grad_() for weight in network.weights.values()]
    optimizer = Optimizer("adamw", trained, learning_rate=LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    total = torch.zeros((), device=device)
    for step in range(n_steps):
        cosine = (1 + math.cos(math.pi * step / n_steps)) / 2
        optimizer.learning_rate = LEARNING_RATE * (LAST_RATE + (1 - LAST_RATE) * cosine)
        batch = torch.randint(len(rows), (size,), generator=random, device=device)
        loss = network.loss(rows[batch], values[batch], _draw_hidden(size, inputs.n_learned, random, device))
        optimizer.forget_gradients()
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


@dataclass(frozen=True, slots=True, eq=False)
class ObservedValues:
    """The distinct training values of each continuous column, ascending, and cumulative counts."""

    values: tuple[Any, ...]  # tensors, ascending
    ends: tuple[Any, ...]  # how many rows have this value or a lower one

    @classmethod
    def learn(cls, continuous: NDArray[np.float64], device: Any) -> ObservedValues:
        """Count the values of each column."""
        found = [np.unique(column, return_counts=True) for column in continuous.T]
        return cls.of([values for values, _ in found], [np.cumsum(counts) for _, counts in found], device)

    @classmethod
    def of(cls, values: Sequence[Any], ends: Sequence[Any], device: Any) -> ObservedValues:
        """Put arrays on a device."""
        return cls(
            tuple(torch.as_tensor(one, dtype=torch.float64, device=device) for one in values),
            tuple(torch.as_tensor(one, dtype=torch.int64, device=device) for one in ends),
        )

    def move(self, continuous: Any, limits: Sequence[float], share: float, random: Any) -> Any:
        """Replace a share of the values in each column by that of a random training row within the limit.

        Common values are drawn more often than rare ones, so that 0 stays 0 where nearly all values are 0.
        """
        moved = continuous.clone()
        for position, (values, ends) in enumerate(zip(self.values, self.ends, strict=True)):
            # the tolerance is for ties; half of it is left for later rounding
            limit = limits[position] - SHIFT_TOLERANCE / 2
            column = continuous[:, position].contiguous()
            starts = torch.cat([ends.new_zeros(1), ends])
            first = starts[torch.searchsorted(values, column - limit)]
            n_near = starts[torch.searchsorted(values, column + limit, right=True)] - first
            chance, pick = random.rand_twice(len(column))
            row = first + (pick * n_near).to(torch.int64).minimum(n_near - 1)
            drawn = values[torch.searchsorted(ends, row, right=True).clamp(0, len(values) - 1)]
            moved[:, position] = torch.where((chance < share) & (n_near > 0), drawn, column)
        return moved


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """What the rule and the parameters allow; columns are numbered as in the network."""

    may_change: tuple[int, ...]  # discrete columns
    max_changes: int
    ordinal: dict[int, float]  # how many ranks each ordinal column may move
    continuous: tuple[float, ...]  # how far each continuous column may move
    move_share: float
    vary_share: float
    change_below: float
    min_plausibility: float
    draw_targets: bool


@dataclass(frozen=True, slots=True, eq=False)
class Sampler:
    """Generates rows on the network's device."""

    network: Conditionals
    observed: ObservedValues
    bounds: Bounds

    def sample(self, codes: Any, continuous: Any, wanted: Any, random: Any) -> tuple[Any, Any, Any]:
        """Return codes and values of one row per source, and whether to keep it."""
        n_sensitive = wanted.shape[1]
        differs = codes[:, :n_sensitive] != wanted
        made = torch.cat([wanted, codes[:, n_sensitive:]], dim=1)
        moved = self.observed.move(continuous, self.bounds.continuous, self.bounds.move_share, random)
        self._move_ordinal(made, moved, random)
        changed = self._mend(codes, continuous, made, moved, random)
        self._vary(made, moved, changed, random)
        plausibility = self._judge(made, moved, differs, changed)
        floor: Any = self.bounds.min_plausibility
        if self.bounds.draw_targets:
            floor = random.rand(len(made)).clamp_min(floor)
        return made, moved, plausibility >= floor

    def _move_ordinal(self, made: Any, moved: Any, random: Any) -> None:
        """Draw ranks within the rule's limits from their conditionals."""
        for column, limit in self.bounds.ordinal.items():
            log_p = self.network.log_probabilities(self.network.begin(made, moved), made, column)
            own = made[:, column]
            distance = (torch.arange(log_p.shape[1], device=made.device) - own[:, None]).abs()
            drawn = _draw(log_p.masked_fill(distance > limit, -torch.inf), random)
            chance = random.rand(len(made))
            is_known = (own >= 0) & (own < log_p.shape[1])
            made[:, column] = torch.where(is_known & (chance < self.bounds.move_share), drawn, own)

    def _mend(self, codes: Any, continuous: Any, made: Any, moved: Any, random: Any) -> Any:
        """Change the discrete values that lost most of their probability, at most as many as the rule allows.

        The loss relative to the source decides: a value that was rare before stays.
        """
        changed = torch.zeros_like(made, dtype=torch.bool)
        columns = [column for column in self.bounds.may_change if self.network.inputs.sizes[column] > 1]
        n_changes = min(self.bounds.max_changes, len(columns))
        if not n_changes:
            return changed
        before = self._before(codes, continuous, columns)
        is_open = torch.ones(len(made), dtype=torch.bool, device=made.device)
        for _ in range(n_changes):
            loss, which, value = self._find_worst(made, moved, changed, columns, before, random)
            is_open = is_open & (loss < self._threshold)
            at = which[:, None]
            made.scatter_(1, at, torch.where(is_open, value, made.gather(1, at)[:, 0])[:, None])
            changed.scatter_(1, at, is_open[:, None] | changed.gather(1, at))
        return changed

    def _vary(self, made: Any, moved: Any, changed: Any, random: Any) -> None:
        """Draw a column again where the rule leaves room: comparable people differ in more than they have to."""
        columns = [column for column in self.bounds.may_change if self.network.inputs.sizes[column] > 1]
        if not self.bounds.vary_share or not self.bounds.max_changes or not columns:
            return
        chance = random.rand(len(made))
        is_open = (changed.sum(dim=1) < self.bounds.max_changes) & (chance < self.bounds.vary_share)
        which = random.below(len(columns), len(made))
        begun = self.network.begin(made, moved)
        for position, column in enumerate(columns):
            log_p = self.network.log_probabilities(begun, made, column)
            own = made[:, column]
            is_known = (own >= 0) & (own < log_p.shape[1])
            is_drawn = is_open & (which == position) & is_known & ~changed[:, column]
            made[:, column] = torch.where(is_drawn, _draw(log_p, random), own)
            changed[:, column] |= is_drawn

    @property
    def _threshold(self) -> float:
        return math.log(self.bounds.change_below) if self.bounds.change_below else -math.inf

    def _find_worst(
        self, made: Any, moved: Any, changed: Any, columns: list[int], before: Any, random: Any
    ) -> tuple[Any, Any, Any]:
        """Return for each row the column that lost most, and another value for it."""
        begun, threshold = self.network.begin(made, moved), self._threshold
        worst = torch.full((len(made),), torch.inf, device=made.device)
        which = torch.full((len(made),), columns[0], device=made.device)
        value = made[:, columns[0]].clone()
        for position, column in enumerate(columns):
            log_p = self.network.log_probabilities(begun, made, column)
            own = made[:, column]
            # a category that training did not have is unknown and stays
            is_fixed = (own < 0) | (own >= log_p.shape[1]) | changed[:, column]
            at = own.clamp(0, log_p.shape[1] - 1)[:, None]
            loss = (log_p.gather(1, at)[:, 0] - before[:, position]).masked_fill(is_fixed, torch.inf)
            is_worse = loss < worst
            worst = torch.where(is_worse, loss, worst)
            which = torch.where(is_worse, column, which)
            others = log_p.scatter(1, at, -torch.inf)
            # a network never predicts exactly 0: values far from the likeliest are excluded
            others = others.masked_fill(others < others.amax(dim=1, keepdim=True) + threshold, -torch.inf)
            value = torch.where(is_worse, _draw(others, random), value)
        return worst, which, value

    def _before(self, codes: Any, continuous: Any, columns: list[int]) -> Any:
        """Return log p(own value | rest) of the sources."""
        begun = self.network.begin(codes, continuous)
        found = []
        for column in columns:
            log_p = self.network.log_probabilities(begun, codes, column)
            found.append(log_p.gather(1, codes[:, [column]].clamp(0, log_p.shape[1] - 1)))
        return torch.cat(found, dim=1)

    def _judge(self, made: Any, moved: Any, differs: Any, changed: Any) -> Any:
        """Return p(the new sensitive values, all together | what the row kept of its source).

        Mended values are ignored: they were drawn to fit, and would support any target.
        """
        log_p = torch.zeros(len(made), device=made.device, dtype=self.network.dtype)
        for column in range(differs.shape[1]):
            hidden = changed.clone()
            hidden[:, column + 1 : differs.shape[1]] = differs[:, column + 1 :]  # given the earlier ones only
            begun = self.network.begin(made, moved, hidden)
            one = self.network.log_probabilities(begun, made, column).gather(1, made[:, [column]])[:, 0]
            log_p += torch.where(differs[:, column], one, 0.0)
        return log_p.exp()


def _draw(log_p: Any, random: Any) -> Any:
    """Draw a value for each row: the first up to which the probabilities add up to more than a random number."""
    reached = log_p.softmax(dim=1).cumsum(dim=1)
    chance = random.rand(len(log_p), dtype=reached.dtype) * (1 - BELOW_ONE) * reached[:, -1]
    return (reached <= chance[:, None]).sum(dim=1)
