"""One network for p(column | all other columns) of every learned column: hidden columns in, all distributions out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

N_EDGES: Final = 16  # steps that each continuous column is cut into, beside its value itself
MAX_PADDING: Final = 8  # times the units: beyond, one column of thousands of values would fill the memory


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """Say what the network sees: coded columns, those to be learned first, and steps of the continuous ones."""

    sizes: tuple[int, ...]  # how many categories each coded column has
    n_learned: int  # the first columns; the others are inputs only
    edges: NDArray[np.float64]  # shape (n_continuous, N_EDGES), ascending

    @property
    def starts(self) -> list[int]:
        """Where the units of each coded column begin, and where the last ends."""
        return [0, *np.cumsum(self.sizes, dtype=np.int64).tolist()]

    @property
    def n_outputs(self) -> int:
        """Units of the learned columns."""
        return self.starts[self.n_learned]

    @property
    def n_inputs(self) -> int:
        """Units, a flag for each coded column that it is not known, and the continuous columns."""
        return self.starts[-1] + len(self.sizes) + len(self.edges) * (1 + N_EDGES)


def find_edges(continuous: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cut each column, half by how many rows lie between two edges, half by how many different values do."""
    at = np.linspace(0, 1, N_EDGES // 2 + 2)[1:-1]
    edges = np.empty((continuous.shape[1], N_EDGES))
    for position, column in enumerate(continuous.T):
        both = [np.quantile(values, at, method="higher") for values in (column, np.unique(column))]
        edges[position] = np.sort(np.concatenate(both))
    return edges


class Conditionals:
    """Hold the network: two hidden layers, and a softmax for each learned column."""

    def __init__(self, inputs: Inputs, weights: Mapping[str, Any], device: Any) -> None:
        self.inputs, self.device = inputs, device
        self.weights = {name: torch.as_tensor(weight, device=device) for name, weight in weights.items()}
        sizes = torch.tensor(inputs.sizes, dtype=torch.int64)
        starts = torch.tensor(inputs.starts[:-1], dtype=torch.int64)
        column_of = torch.repeat_interleave(torch.arange(len(sizes)), sizes)
        code_of = torch.arange(len(column_of)) - starts[column_of]
        n_learned, n_outputs = inputs.n_learned, inputs.n_outputs
        # units of each learned column side by side; a narrow column's last repeats, which is all one to a maximum
        within = torch.arange(int(sizes[:n_learned].max()))
        padded = starts[:n_learned, None] + torch.minimum(within, sizes[:n_learned, None] - 1)
        segments = functional.one_hot(column_of[:n_outputs], n_learned).to(torch.float32)
        self._sizes, self._column_of, self._code_of = sizes.to(device), column_of.to(device), code_of.to(device)
        self._padded, self._segments = padded.reshape(-1).to(device), segments.to(device)
        self._edges = torch.as_tensor(inputs.edges, device=device)
        self._starts = inputs.starts

    @property
    def dtype(self) -> Any:
        """In which precision it computes."""
        return self.weights["first"].dtype

    def in_double(self) -> Conditionals:
        """Give the same network in double precision."""
        weights = {name: weight.to(torch.float64) for name, weight in self.weights.items()}
        return Conditionals(self.inputs, weights, self.device)

    def loss(self, codes: Any, continuous: Any, hidden: Any) -> Any:
        """Cross entropy of the hidden values, their mean; ``hidden`` has the learned columns only."""
        n_learned, n_outputs = self.inputs.n_learned, self.inputs.n_outputs
        not_learned = len(self.inputs.sizes) - n_learned
        logits = self._logits(self.begin(codes, continuous, functional.pad(hidden, (0, not_learned))))
        # a softmax for each column in a few products: no loop over columns, no order of additions left to chance
        column_of = self._column_of[:n_outputs]
        highest = self._highest(logits.detach())
        sums = torch.exp(logits - highest[:, column_of]) @ self._segments
        is_true = codes[:, column_of] == self._code_of[:n_outputs]
        surprise = torch.log(sums) + highest - (logits * is_true) @ self._segments
        # a rank that is missing has no category to be told
        counts = hidden & (codes[:, :n_learned] >= 0)
        return (surprise * counts).sum() / counts.sum().clamp_min(1)

    def _highest(self, logits: Any) -> Any:
        """Find the largest logit of each learned column."""
        n_rows, n_learned = len(logits), self.inputs.n_learned
        if len(self._padded) <= MAX_PADDING * logits.shape[1]:
            return logits[:, self._padded].reshape(n_rows, n_learned, -1).amax(dim=2)
        lowest = logits.new_full((n_rows, n_learned), -torch.inf)
        return lowest.scatter_reduce_(1, self._column_of[: logits.shape[1]].expand_as(logits), logits, "amax")

    def begin(self, codes: Any, continuous: Any, hidden: Any | None = None) -> Any:
        """Compute the first layer; a category that training did not have is as good as hidden."""
        unknown = (codes < 0) | (codes >= self._sizes)
        if hidden is not None:
            unknown = unknown | hidden
        units = (codes[:, self._column_of] == self._code_of) & ~unknown[:, self._column_of]
        steps = (continuous[:, :, None] >= self._edges).reshape(len(codes), self._edges.numel())
        parts = (units, unknown, continuous.clamp(-1.0, 2.0), steps)
        seen = torch.cat([part.to(self.dtype) for part in parts], dim=1)
        return torch.addmm(self.weights["first_bias"], seen, self.weights["first"])

    def log_probabilities(self, begun: Any, codes: Any, column: int) -> Any:
        """Give log p(value | all other columns) for each row and each value of one learned column.

        ``begun`` is the first layer with the column in sight: taking it out again is cheaper than a first layer for
        each column.
        """
        table, start, size = self.weights["first"], self._starts[column], self.inputs.sizes[column]
        flag = self._starts[-1] + column
        instead = functional.pad(table[flag] - table[start : start + size], (0, 0, 0, 1))  # of one not known: nothing
        code = codes[:, column]
        own = torch.where((code >= 0) & (code < size), code, size)
        logits = self._logits(instead.index_select(0, own).add_(begun), slice(start, start + size))
        return torch.log_softmax(logits, dim=1)

    def _logits(self, first: Any, outputs: slice = slice(None)) -> Any:
        """Compute the rest of the layers, in place of the first: most of the time goes into memory, not products."""
        weights = self.weights
        second = torch.addmm(weights["second_bias"], first.relu_(), weights["second"]).relu_()
        return torch.addmm(weights["last_bias"][outputs], second, weights["last"][:, outputs])
