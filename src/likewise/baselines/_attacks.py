"""Attacks: move rows to where a network does worst, by gradients with respect to the rows and to nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Protocol

import torch
from numpy.typing import NDArray
from torch import nn

from likewise.nets import loss_of, shares_of

FIRST_DECAY, SECOND_DECAY, FLOOR = 0.9, 0.999, 1e-8  # of Adam, as everywhere
NO_GAIN: Final = 1e-6  # gains up to this are the noise of floats


class Gain(Protocol):
    """Say what an attack makes larger, row by row, as a function of what the network puts out."""

    def of(self, outputs: torch.Tensor) -> torch.Tensor:
        """Give the gain of each row."""

    def slope(self, outputs: torch.Tensor) -> torch.Tensor:
        """Give the gradient of each row's gain, written out: following it back costs more than all of this."""


class LossGain:
    """Gain log loss."""

    def __init__(self, labels: torch.Tensor) -> None:
        self._labels = labels

    def of(self, outputs: torch.Tensor) -> torch.Tensor:
        """Give the log loss of each row."""
        return loss_of(outputs, self._labels)

    def slope(self, outputs: torch.Tensor) -> torch.Tensor:
        """Give the probabilities, less 1 where the label is."""
        if outputs.shape[1] == 1:
            return torch.sigmoid(outputs) - self._labels.to(outputs.dtype)[:, None]
        return torch.softmax(outputs, dim=1) - nn.functional.one_hot(self._labels, outputs.shape[1])


class LogitGain:
    """Gain squared distance to the outputs that the rows had where they were."""

    def __init__(self, before: torch.Tensor) -> None:
        self._before = before

    def of(self, outputs: torch.Tensor) -> torch.Tensor:
        """Give the squared distance of each row."""
        return (outputs - self._before).square().sum(dim=1)

    def slope(self, outputs: torch.Tensor) -> torch.Tensor:
        """Give twice the difference."""
        return 2 * (outputs - self._before)


class ShareGain:
    """Gain squared distance to the probabilities that the rows had where they were; half of it, over all classes.

    For two classes this is the squared gap.
    """

    def __init__(self, before: torch.Tensor) -> None:
        self._before = shares_of(before)

    def of(self, outputs: torch.Tensor) -> torch.Tensor:
        """Give half the squared distance of each row."""
        return (shares_of(outputs) - self._before).square().sum(dim=1) / 2

    def slope(self, outputs: torch.Tensor) -> torch.Tensor:
        """Give the difference, taken back through the probabilities."""
        shares = shares_of(outputs)
        apart = shares - self._before
        back = shares * (apart - (shares * apart).sum(dim=1, keepdim=True))
        return back[:, 1:] if outputs.shape[1] == 1 else back


class SubspaceMetric:
    """Measure how far rows were moved, where moves inside a subspace do not count.

    Parameters
    ----------
    basis : array, shape (rank, n_inputs)
        With orthonormal rows.
    like : tensor
        Of the type and on the device to compute with.
    """

    def __init__(self, basis: NDArray[Any], like: torch.Tensor) -> None:
        self.basis = torch.as_tensor(basis).to(like)

    def outside(self, moves: torch.Tensor) -> torch.Tensor:
        """Give the part of moves that counts: two thin products are cheaper than a square projector."""
        return moves.addmm(moves @ self.basis.T, self.basis, alpha=-1)

    def distance(self, moves: torch.Tensor) -> torch.Tensor:
        """Give the squared length of that part, row by row."""
        return self.outside(moves).square().sum(dim=1)


Noise = Callable[[torch.Tensor], torch.Tensor]  # moves to start with, for inputs
Height = Callable[[torch.Tensor], torch.Tensor]  # of each row


class UniformNoise:
    """Move every input of every row a little, by random numbers that nothing else draws from."""

    def __init__(self, width: float, seed: int, device: torch.device) -> None:
        self._width, self._random = width, torch.Generator(device)
        self._random.manual_seed(seed % 2**63)

    def __call__(self, inputs: torch.Tensor) -> torch.Tensor:
        """Draw moves up to the width, to either side."""
        drawn = torch.rand(inputs.shape, generator=self._random, dtype=inputs.dtype, device=inputs.device)
        return drawn.mul_(2 * self._width).sub_(self._width)


@dataclass(frozen=True, slots=True)
class Attack:
    """Hold where an attack moved rows, how far that counts, and what it gained, row by row."""

    points: torch.Tensor
    distances: torch.Tensor
    gains: torch.Tensor


@dataclass(frozen=True, slots=True)
class Steps:
    """Say how many steps an ascent takes, and their size."""

    n: int
    size: float


def ascend(start: torch.Tensor, slope: Callable[[torch.Tensor], torch.Tensor], steps: Steps) -> torch.Tensor:
    """Climb from ``start`` by Adam's rule, every element for itself: no row's way depends on the other rows."""
    here = start.clone()
    first, second = torch.zeros_like(here), torch.zeros_like(here)
    for step in range(1, steps.n + 1):
        slopes = slope(here)
        first.lerp_(slopes, 1 - FIRST_DECAY)
        second.mul_(SECOND_DECAY).addcmul_(slopes, slopes, value=1 - SECOND_DECAY)
        unbiased = (1 - SECOND_DECAY**step) ** 0.5
        here.addcdiv_(
            first, second.sqrt().add_(FLOOR * unbiased), value=steps.size * unbiased / (1 - FIRST_DECAY**step)
        )
    return here


def slope_of(height: Height, points: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Give heights, and the slope of each row: of their sum, so that a row is alone what it is among others."""
    leaf = points.detach().requires_grad_()
    with torch.enable_grad():
        heights = height(leaf)
        (slopes,) = torch.autograd.grad(heights.sum(), leaf)  # of the points alone: no weight gets a gradient
    return heights.detach(), slopes


def slopes_at(network: nn.Module, points: torch.Tensor, gain: Gain) -> torch.Tensor:
    """Give the gradient of the gain with respect to the points."""
    if is_plain_stack(network) and not _has_hooks(network):
        with torch.no_grad():
            return _slopes_through(list(network), points, gain)
    return slope_of(lambda here: gain.of(network(here)), points)[1]


def is_plain_stack(network: nn.Module) -> bool:
    """Tell whether a network is linear layers and rectifiers: it is then the same while it is fitted and afterwards."""
    return type(network) is nn.Sequential and all(type(layer) in (nn.Linear, nn.ReLU) for layer in network)


def _has_hooks(network: nn.Module) -> bool:
    return any(module._forward_hooks or module._forward_pre_hooks for module in network.modules())


def _slopes_through(layers: list[nn.Module], points: torch.Tensor, gain: Gain) -> torch.Tensor:
    """Write the gradient out: in networks this small, keeping track of what to go back through is half the work."""
    reached = [points]
    for layer in layers:
        reached.append(layer(reached[-1]))
    slopes = gain.slope(reached[-1])
    for layer, after in zip(reversed(layers), reversed(reached), strict=False):
        if isinstance(layer, nn.Linear):
            slopes = slopes @ layer.weight
        else:
            slopes = torch.ops.aten.threshold_backward(slopes, after, 0)  # 0 where the rectifier gave 0
    return slopes


def attack_in_one_stage(
    network: nn.Module,
    inputs: torch.Tensor,
    gain: Gain,
    penalty: torch.Tensor,
    *,
    metric: SubspaceMetric,
    steps: Steps,
    noise: Noise,
) -> Attack:
    """Climb in all directions at once, from where noise leads to, against a penalty on the distance."""
    start = noise(inputs)

    def slope(moves: torch.Tensor) -> torch.Tensor:
        return slopes_at(network, inputs + moves, gain).addcmul_(metric.outside(moves), penalty, value=-2)

    moves = _finite(ascend(start, slope, steps))
    points = inputs + moves
    return Attack(points, metric.distance(moves), gain.of(network(points)) - gain.of(network(inputs + start)))


def attack_in_two_stages(
    network: nn.Module,
    inputs: torch.Tensor,
    gain: Gain,
    penalty: torch.Tensor,
    *,
    metric: SubspaceMetric,
    inside: Steps,
    everywhere: Steps,
) -> Attack:
    """Climb inside the subspace, where moves are free; then in all directions, against a penalty on the distance.

    The original takes a stage back for the whole batch if it made the mean worse. Here each row is taken back for
    itself: rows do not touch each other in an attack, so the worst case of a row is then the same in every batch, and
    no milder for the company it is in.
    """
    before = gain.of(network(inputs))

    def slope_inside(amounts: torch.Tensor) -> torch.Tensor:
        return slopes_at(network, inputs.addmm(amounts, metric.basis), gain) @ metric.basis.T

    nowhere = inputs.new_zeros(len(inputs), len(metric.basis))
    free = _finite(ascend(nowhere, slope_inside, inside) @ metric.basis)
    gained = gain.of(network(inputs + free)) - before
    is_better = gained > NO_GAIN
    base, gained = inputs + free * is_better[:, None], torch.where(is_better, gained, 0.0)

    def slope(moves: torch.Tensor) -> torch.Tensor:
        return slopes_at(network, base + moves, gain).addcmul_(metric.outside(moves), penalty, value=-2)

    moves = _finite(ascend(torch.zeros_like(inputs), slope, everywhere))
    distances = metric.distance(moves)
    gained_in_all = gain.of(network(base + moves)) - before
    is_better = gained_in_all - gained - penalty * distances > NO_GAIN
    return Attack(
        base + moves * is_better[:, None],
        torch.where(is_better, distances, 0.0),
        torch.where(is_better, gained_in_all, gained),
    )


@contextmanager
def attacking(network: nn.Module) -> Iterator[None]:
    """Use a network as it is used after fitting, and leave every layer as it was; all attacks run inside of this."""
    training = [layer for layer in network.modules() if layer.training]
    network.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for layer in training:
            layer.training = True


def _finite(moves: torch.Tensor) -> torch.Tensor:
    """Undo moves that are not finite; one sum finds them faster than a look at each number."""
    return torch.where(moves.sum(dim=1, keepdim=True).isfinite(), moves, 0.0)
