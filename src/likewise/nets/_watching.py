"""How a network does while it is fitted."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from likewise.nets._fitting import Look
from likewise.nets._network import loss_of, shares_of
from likewise.nets._people import People


def look_at(network: nn.Module, people: People, rows: NDArray[np.intp]) -> Look:
    """Look at the loss on the rows held out, and at the spread of the scores of some others."""
    return Look(
        held_out_loss=lambda: held_out_loss(network, people),
        spread=lambda: spread_of(network, people, rows),
    )


def held_out_loss(network: nn.Module, people: People) -> float | None:
    """Give the mean log loss on rows held out, or None if there are none."""
    if not len(people.held_out):
        return None
    rows = torch.from_numpy(people.held_out).to(people.device)
    weights = people.weights[rows]
    losses = loss_of(_outputs(network, people, rows), people.labels[rows])
    return float((weights * losses).sum() / weights.sum().clamp(min=1e-12))


def spread_of(network: nn.Module, people: People, rows: NDArray[np.intp]) -> float:
    """Give the standard deviation of the probabilities, over all classes; for two, that of either."""
    shares = shares_of(_outputs(network, people, torch.from_numpy(rows).to(people.device)).double())
    return float((shares.var(dim=0, unbiased=False).sum() / 2).sqrt())


def _outputs(network: nn.Module, people: People, rows: torch.Tensor) -> torch.Tensor:
    was_training = network.training
    network.eval()
    with torch.inference_mode():
        parts = [network(people.inputs.dense(some)) for some in rows.split(people.inputs.n_rows_at_a_time)]
    network.train(was_training)
    return torch.cat(parts)
