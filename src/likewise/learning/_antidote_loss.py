"""The loss of AntiDRO: the log loss of every row plus that of its antidotes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import nn

from likewise.generation import Antidotes
from likewise.generation._internal import choose_few
from likewise.nets._internal import DeviceInputs, Objective, People, loss_of, shares_of
from likewise.schema._internal import take_rows

Kind = Literal["worst", "mean", "consistency"]


class _Batch(NamedTuple):
    """The antidotes of a batch, those of a row one after the other; fillers, of weight 0, may follow them."""

    owner: torch.Tensor  # row of the batch that each antidote comes from
    slot: torch.Tensor  # its number among the antidotes of that row
    place: torch.Tensor  # its position among all antidotes
    is_real: torch.Tensor  # 0 for a filler
    have: torch.Tensor  # rows of the batch that have antidotes; fillers where all rows are listed
    head: torch.Tensor  # position in the batch of the first antidote of each of these
    count: torch.Tensor  # number of antidotes of each row of the batch


class AntidoteLoss(Objective):
    """Add the loss of antidotes to that of a batch.

    ``draw`` returns the antidotes of an epoch by its number, or None to keep the last ones, which it always does where
    ``is_steady``; ``most`` antidotes per row are used, chosen by ``random``, or all.
    """

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
        is_steady: bool = False,
    ) -> None:
        super().__init__(network, people)
        self._draw_antidotes, self._kind = draw, kind
        self._weight, self._most, self._random = weight, most, random
        self.is_steady = is_steady
        self._is_filled = is_steady and people.device.type == "cuda"  # batches of one shape, for a step to be recorded
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
        self._most_count = int(self._count.max())
        self._most_in = np.cumsum([0, *np.sort(self._count)[::-1]])  # antidotes of so many rows at most
        self._inputs = DeviceInputs(self._people.coding.encode(frame), self._people.device)

    def draw(self, rows: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return the positions of a batch of rows, and its antidotes, found on the CPU without waiting for the GPU."""
        self._n_steps += 1
        counts, first = self._count[rows.numpy()], self._first[rows.numpy()]
        heads = np.cumsum(counts) - counts
        owner, have = np.repeat(np.arange(len(rows)), counts), np.flatnonzero(counts)
        slot = np.arange(len(owner)) - heads[owner]
        place, is_real = first[owner] + slot, np.ones(len(owner), np.float32)
        if self._is_filled and self._most_count:
            n_more = 2 * self._most_in[(len(rows) + 1) // 2] + 1 - len(owner)  # a batch of two epochs has rows twice
            owner, place, is_real = (np.pad(one, (0, n_more)) for one in (owner, place, is_real))
            slot = np.pad(slot, (0, n_more), constant_values=self._most_count)
            have, heads = np.arange(len(rows)), np.where(counts > 0, heads, len(owner) - 1)
        arrays = (owner, slot, place, is_real, have, heads[have], counts)
        return (rows, *(torch.from_numpy(np.ascontiguousarray(one)) for one in arrays))

    def loss(self, rows: torch.Tensor, *antidotes: torch.Tensor) -> torch.Tensor:
        """Return the mean over a batch of each row's own loss plus that of its antidotes."""
        inputs, labels, weights = self._people.batch(rows)
        batch = _Batch(*(one.to(self._people.device) for one in antidotes))
        if not len(batch.owner):
            own = (weights * loss_of(self._network(inputs), labels)).mean()
            self._sums[0] += own.detach()
            return own
        owner, place, shares = batch.owner, batch.place, batch.is_real
        if self._kind != "mean":
            worst = self._find_worst(inputs, labels, batch)
            owner, place, shares = owner[worst], place[worst], shares[worst]
        outputs = self._network(torch.cat([inputs, self._inputs.dense(place)]))
        clean, other = outputs[: len(inputs)], outputs[len(inputs) :]
        own = (weights * loss_of(clean, labels)).mean()
        costs = gap_of(clean[owner], other) if self._kind == "consistency" else loss_of(other, labels[owner])
        shares = shares * weights[owner]
        if self._kind == "mean":
            shares = shares / batch.count.clamp(min=1)[owner]
        added = (shares * costs).sum() / len(inputs)
        self._sums += torch.stack([own.detach(), added.detach()])
        return own + self._weight * added

    def report(self) -> dict[str, Any]:
        """Return both parts of the loss, as means over the steps, and the share of rows with antidotes."""
        own, added = (self._sums / max(self._n_steps, 1)).tolist()
        self._sums.zero_()
        self._n_steps = 0
        coverage = float((self._count[self._people.train] > 0).mean())
        return {"own_loss": own, "antidote_loss": added, "coverage": coverage}

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
        grid = costs.new_full((len(labels), self._most_count + 1), -torch.inf)  # fillers are in the last column
        grid[batch.owner, batch.slot] = costs
        return batch.head + grid[:, :-1].argmax(dim=1)[batch.have]


def gap_of(some: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Return the gap in probability between two outputs: half the sum over all classes."""
    return (shares_of(some) - shares_of(other)).abs().sum(dim=1) / 2
