"""Networks with pairs: each step draws a batch of pairs beside the batch of rows."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import torch
from torch import nn

from likewise.learning.consistent._pair_graph import PairGraph
from likewise.learning.consistent._pair_loss import SMOOTH, GapKind, PairLossKind
from likewise.nets._internal import Objective, People, shares_of

PAIRS_AN_EPOCH: Final = 1_000_000  # of more, that many are drawn anew in each epoch


class PairedLoss:
    """Add the mean gap of a batch of pairs to another objective."""

    def __init__(
        self,
        objective: Objective,
        network: nn.Module,
        people: People,
        graph: PairGraph,
        *,
        kind: PairLossKind,
        gap: GapKind,
        weight: float,
        n_pairs: int,
        random: np.random.Generator,
    ) -> None:
        self._objective, self._network, self._people = objective, network, people
        self._kind, self._gap, self._weight = kind, gap, weight
        self._n_pairs, self._random = n_pairs, random
        self._take(graph)
        self._sums = torch.zeros(2, device=people.device)  # of the losses of pairs, and of steps
        self.is_steady, self.generators = objective.is_steady, objective.generators

    def start_epoch(self, epoch: int) -> None:
        """Start an epoch of the other objective; where there are too many pairs for all of them, draw others."""
        self._objective.start_epoch(epoch)
        if self._graph.is_drawn:
            again = self._graph.draw_again
            self._take(self._graph if again is None else again(self._random))

    def _take(self, graph: PairGraph) -> None:
        """Take the pairs of a graph, or some of them, to draw batches from."""
        pairs = graph.draw(self._random, PAIRS_AN_EPOCH)
        by_label = np.argsort(graph.label[pairs.left], kind="stable")
        left, right, weight = (one[by_label] for one in pairs)
        n_people = np.where(left == right, 0.5, 1.0) * graph.mass[left] * graph.mass[right]
        self._graph, self._left, self._right, self._ends = graph, left, right, np.cumsum(weight * n_people)
        self._members = np.argsort(graph.group_of, kind="stable")
        self._member_ends = np.cumsum(graph.row_mass[self._members])
        self._group_starts = np.cumsum(graph.mass) - graph.mass

    def draw(self, rows: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return what the other objective takes, and both rows of a batch of pairs."""
        return (*self._objective.draw(rows), *(torch.from_numpy(one) for one in self._draw()))

    def loss(self, *drawn: torch.Tensor) -> torch.Tensor:
        """Return the loss of a batch of rows plus that of a batch of pairs."""
        *rows, left, right = drawn
        own = self._objective.loss(*rows)
        left, right = left.to(self._people.device), right.to(self._people.device)
        outputs = self._network(self._people.inputs.dense(torch.cat([left, right])))
        gaps = self._gaps(outputs[: len(left)], outputs[len(left) :])
        mean = gaps.mean()
        self._sums += torch.stack([mean.detach(), torch.ones_like(mean)])
        return own + self._weight * mean

    def report(self) -> dict[str, Any]:
        """Return what the other objective reports, and the mean loss of pairs."""
        total, n_steps = self._sums.tolist()
        self._sums.zero_()
        return self._objective.report() | {"pair_loss": total / max(n_steps, 1)}

    def _draw(self) -> tuple[Any, Any]:
        """Draw pairs in proportion to their weight, one of each stretch of the list, so that labels share them."""
        places = (np.arange(self._n_pairs) + self._random.random(self._n_pairs)) / self._n_pairs * self._ends[-1]
        at = np.minimum(np.searchsorted(self._ends, places, side="right"), len(self._ends) - 1)
        return self._pick(self._left[at]), self._pick(self._right[at])

    def _pick(self, groups: Any) -> Any:
        """Pick a row of each group, in proportion to its sample weight."""
        places = self._group_starts[groups] + self._random.random(len(groups)) * self._graph.mass[groups]
        at = np.minimum(np.searchsorted(self._member_ends, places, side="right"), len(self._members) - 1)
        return self._graph.rows[self._members[at]]

    def _gaps(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        """Return the loss of each pair; of several labels the sum over them, scaled as for two."""
        factor = 1.0
        if self._gap == "probability":
            one, other = shares_of(left), shares_of(right)
            factor = 0.5
        elif left.shape[1] == 1:
            one, other = left, right
        else:
            one, other = left - left.mean(dim=1, keepdim=True), right - right.mean(dim=1, keepdim=True)
            factor = 2.0 if self._kind == "squared" else 1.0
        gaps = one - other
        sizes = gaps**2 if self._kind == "squared" else (gaps**2 + SMOOTH**2).sqrt() - SMOOTH
        return factor * sizes.sum(dim=1)
