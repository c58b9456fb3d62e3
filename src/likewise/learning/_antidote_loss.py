"""The loss of AntiDRO: the log loss of every row plus that of its antidotes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from likewise.generation import Antidotes
from likewise.generation._internal import choose_few
from likewise.nets._internal import DeviceInputs, Objective, People, loss_of, shares_of
from likewise.schema._internal import take_rows

Kind = Literal["worst", "mean", "consistency"]


class _Batch(NamedTuple):
    """The antidotes of a batch, those of a row one after the other."""

    owner: torch.Tensor  # row of the batch that each antidote comes from
    slot: torch.Tensor  # its number among the antidotes of that row
    place: torch.Tensor  # its position among all antidotes
    have: torch.Tensor  # rows of the batch that have antidotes
    head: torch.Tensor  # position in the batch of the first antidote of each of these


class AntidoteLoss(Objective):
    """Add the loss of antidotes to that of a batch.

    ``draw`` returns the antidotes of an epoch by its number, or None to keep the last ones; ``most`` antidotes per row
    are used, chosen by ``random``, or all.
    """

    is_steady = False  # batches have different numbers of antidotes

    def __init__(
        self,
        network: nn.Module,
        people: People,
        draw: Callable[[int], Antidotes | None],
        *,
        kind: Kind,
        weight: float,
        most: int | None,
        random: np.random.Generator,
    ) -> None:
        super().__init__(network, people)
        self._draw_antidotes, self._kind = draw, kind
        self._weight, self._most, self._random = weight, most, random
        self._sums = torch.zeros(2, device=people.device)
        self._n_steps = 0

    def start_epoch(self, epoch: int) -> None:
        """Take new antidotes, if there are any."""
        antidotes = self._draw_antidotes(epoch)
        if antidotes is None:
            return
        frame, source = antidotes.frame, antidotes.source
        if self._most is not None:
            kept = choose_few(source, self._most, self._random)
            frame, source = take_rows(frame, kept), source[kept]
        self._count = np.bincount(source, minlength=antidotes.n_sources)
        self._first = np.cumsum(self._count) - self._count
        self._inputs = DeviceInputs(self._people.coding.encode(frame), self._people.device)

    def loss(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the mean over a batch of each row's own loss plus that of its antidotes."""
        inputs, labels, weights = self._people.batch(rows)
        batch = self._antidotes_of(rows.numpy())
        if not len(batch.owner):
            own = (weights * loss_of(self._network(inputs), labels)).mean()
            self._note(own, torch.zeros_like(own))
            return own
        owner, place = batch.owner, batch.place
        if self._kind != "mean":
            worst = self._find_worst(inputs, labels, batch)
            owner, place = owner[worst], place[worst]
        outputs = self._network(torch.cat([inputs, self._inputs.dense(place)]))
        clean, other = outputs[: len(inputs)], outputs[len(inputs) :]
        own = (weights * loss_of(clean, labels)).mean()
        costs = gap_of(clean[owner], other) if self._kind == "consistency" else loss_of(other, labels[owner])
        shares = weights[owner]
        if self._kind == "mean":
            shares = shares / torch.bincount(owner, minlength=len(inputs))[owner]
        added = (shares * costs).sum() / len(inputs)
        self._note(own, added)
        return own + self._weight * added

    def _note(self, own: torch.Tensor, added: torch.Tensor) -> None:
        self._sums += torch.stack([own.detach(), added.detach()])
        self._n_steps += 1

    def report(self) -> dict[str, Any]:
        """Return both parts of the loss, as means over the steps, and the share of rows with antidotes."""
        own, added = (self._sums / max(self._n_steps, 1)).tolist()
        self._sums.zero_()
        self._n_steps = 0
        coverage = float((self._count[self._people.train] > 0).mean())
        return {"own_loss": own, "antidote_loss": added, "coverage": coverage}

    def _antidotes_of(self, rows: NDArray[np.int64]) -> _Batch:
        """Find the antidotes of a batch, on the CPU, which counts them without waiting for the GPU."""
        counts = self._count[rows]
        heads = np.cumsum(counts) - counts
        slots = np.arange(counts.sum()) - np.repeat(heads, counts)
        places = np.repeat(self._first[rows], counts) + slots
        have = np.flatnonzero(counts)
        arrays = (np.repeat(np.arange(len(rows)), counts), slots, places, have, heads[have])
        return _Batch(*(torch.from_numpy(array).to(self._people.device) for array in arrays))

    def _find_worst(self, inputs: torch.Tensor, labels: torch.Tensor, batch: _Batch) -> torch.Tensor:
        """Return each row's worst antidote: by its loss, or by its gap to the row."""
        was_training = self._network.training
        self._network.eval()
        with torch.no_grad():
            made = self._network(self._inputs.dense(batch.place))
            if self._kind == "worst":
                costs = loss_of(made, labels[batch.owner])
            else:
                costs = gap_of(self._network(inputs)[batch.owner], made)
        self._network.train(was_training)
        grid = costs.new_full((len(labels), int(self._count.max())), -torch.inf)
        grid[batch.owner, batch.slot] = costs
        return batch.head + grid.argmax(dim=1)[batch.have]


def gap_of(some: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Return the gap in probability between two outputs: half the sum over all classes."""
    return (shares_of(some) - shares_of(other)).abs().sum(dim=1) / 2
