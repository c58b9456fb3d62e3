"""What AntiDRO makes smaller: the loss of every row, and beside it that of its antidotes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from likewise.generation import Antidotes, choose_few
from likewise.nets import DeviceInputs, People, loss_of, shares_of
from likewise.schema._internal import take_rows

Kind = Literal["worst", "mean", "consistency"]


class _Batch(NamedTuple):
    """Hold the antidotes of a batch, those of a row one after the other."""

    owner: torch.Tensor  # of each antidote: the row of the batch it was made of
    slot: torch.Tensor  # which of that row's antidotes it is
    place: torch.Tensor  # where it lies among all antidotes
    have: torch.Tensor  # the rows of the batch that have any
    head: torch.Tensor  # where the antidotes of each of these begin


class AntidoteLoss:
    """Add to the loss of a batch what its antidotes cost, by the network as it is.

    Parameters
    ----------
    network : torch module
    people : People
    draw : callable
        Gives the antidotes of an epoch, by its number; None to go on with those there are.
    kind : {"worst", "mean", "consistency"}
    weight : float
        How much antidotes count.
    most : int
        How many antidotes of a row are used, at most.
    random : numpy Generator
        Chooses them where there are more.
    """

    def __init__(
        self,
        network: nn.Module,
        people: People,
        draw: Callable[[int], Antidotes | None],
        *,
        kind: Kind,
        weight: float,
        most: int,
        random: np.random.Generator,
    ) -> None:
        self._network, self._people, self._draw = network, people, draw
        self._kind, self._weight, self._most, self._random = kind, weight, most, random
        self._sums = torch.zeros(2, device=people.device)
        self._n_steps = 0

    def start_epoch(self, epoch: int) -> None:
        """Take other antidotes, if there are."""
        antidotes = self._draw(epoch)
        if antidotes is None:
            return
        kept = choose_few(antidotes.source, self._most, self._random)
        frame = antidotes.frame if len(kept) == len(antidotes) else take_rows(antidotes.frame, kept)
        self._count = np.bincount(antidotes.source[kept], minlength=antidotes.n_sources)
        self._first = np.cumsum(self._count) - self._count
        self._inputs = DeviceInputs(self._people.coding.encode(frame), self._people.device)

    def loss(self, rows: torch.Tensor) -> torch.Tensor:
        """Give the mean over a batch of each row's own loss and what its antidotes add."""
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
        """Give the two parts of the loss, as means over the steps, and the share of rows that have antidotes."""
        own, added = (self._sums / max(self._n_steps, 1)).tolist()
        self._sums.zero_()
        self._n_steps = 0
        coverage = float((self._count[self._people.train] > 0).mean())
        return {"own_loss": own, "antidote_loss": added, "coverage": coverage}

    def _antidotes_of(self, rows: NDArray[np.int64]) -> _Batch:
        """Find the antidotes of a batch: on the processor, which can count them without waiting for the device."""
        counts = self._count[rows]
        heads = np.cumsum(counts) - counts
        slots = np.arange(counts.sum()) - np.repeat(heads, counts)
        places = np.repeat(self._first[rows], counts) + slots
        have = np.flatnonzero(counts)
        arrays = (np.repeat(np.arange(len(rows)), counts), slots, places, have, heads[have])
        return _Batch(*(torch.from_numpy(array).to(self._people.device) for array in arrays))

    def _find_worst(self, inputs: torch.Tensor, labels: torch.Tensor, batch: _Batch) -> torch.Tensor:
        """Find each row's worst antidote: that of the highest loss, or of the largest gap to the row itself."""
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
    """Give how far apart two rows of outputs are in probability: half of the sum over all classes."""
    return (shares_of(some) - shares_of(other)).abs().sum(dim=1) / 2
