"""Attacks: rows moved to where a network does worst, by gradients with respect to the rows, and losses with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import torch
from numpy.typing import NDArray
from torch import nn

from likewise.baselines._subspace import LEAST, MOST, Penalty
from likewise.nets._internal import Objective, People, is_plain, loss_of

FIRST_DECAY, SECOND_DECAY, FLOOR = 0.9, 0.999, 1e-8  # Adam's usual constants
FEWEST_BATCHES: Final = 20  # a shorter epoch is judged together with the next; on small data it may be one batch
NO_GAIN: Final = 1e-6  # gains up to this are rounding


class LossGain:
    """The log loss."""

    def __init__(self, labels: torch.Tensor) -> None:
        self._labels = labels

    def of(self, outputs: torch.Tensor) -> torch.Tensor:
        """Return the log loss of each row."""
        return loss_of(outputs, self._labels)

    def slope(self, outputs: torch.Tensor) -> torch.Tensor:
        """Return the probabilities minus the one-hot label."""
        if outputs.shape[1] == 1:
            return torch.sigmoid(outputs) - self._labels.to(outputs.dtype)[:, None]
        return torch.softmax(outputs, dim=1) - nn.functional.one_hot(self._labels, outputs.shape[1])


class LogitGain:
    """The squared distance to the original logits."""

    def __init__(self, before: torch.Tensor) -> None:
        self._before = before

    def of(self, outputs: torch.Tensor) -> torch.Tensor:
        """Return the squared distance of each row."""
        return (outputs - self._before).square().sum(dim=1)

    def slope(self, outputs: torch.Tensor) -> torch.Tensor:
        """Return twice the difference."""
        return 2 * (outputs - self._before)


# what an attack maximizes, per row, as a function of the outputs; slopes in closed form are faster than autograd
Gain = LossGain | LogitGain


class SubspaceMetric:
    """Squared distances of moves, where moves inside a subspace (orthonormal rows of ``basis``) are free."""

    def __init__(self, basis: NDArray[Any], like: torch.Tensor) -> None:
        self.basis = torch.as_tensor(basis).to(like)

    def outside(self, moves: torch.Tensor) -> torch.Tensor:
        """Return the part of moves outside the subspace; two thin products beat one square projector."""
        return moves.addmm(moves @ self.basis.T, self.basis, alpha=-1)

    def distance(self, moves: torch.Tensor) -> torch.Tensor:
        """Return the squared length of that part, per row."""
        return self.outside(moves).square().sum(dim=1)


Noise = Callable[[torch.Tensor], torch.Tensor]  # moves to start with, for inputs
Height = Callable[[torch.Tensor], torch.Tensor]  # of each row


class UniformNoise:
    """Uniform moves of every input, from a random generator of their own."""

    def __init__(self, width: float, seed: int, device: torch.device) -> None:
        self._width, self.generator = width, torch.Generator(device)
        self.generator.manual_seed(seed % 2**63)

    def __call__(self, inputs: torch.Tensor) -> torch.Tensor:
        """Draw moves between minus and plus the width."""
        drawn = torch.rand(inputs.shape, generator=self.generator, dtype=inputs.dtype, device=inputs.device)
        return drawn.mul_(2 * self._width).sub_(self._width)


@dataclass(frozen=True, slots=True)
class Attack:
    """The result of an attack: moved rows, their distances and their gains."""

    points: torch.Tensor
    distances: torch.Tensor
    gains: torch.Tensor


class Steps(NamedTuple):
    """Number and size of ascent steps."""

    n: int
    size: float


def ascend(start: torch.Tensor, slope: Callable[[torch.Tensor], torch.Tensor], steps: Steps) -> torch.Tensor:
    """Climb from ``start`` by Adam's rule, per element: no row depends on the other rows."""
    here = start
    first = second = torch.zeros_like(start)
    for step in range(1, steps.n + 1):
        slopes = slope(here)
        first = torch.lerp(first, slopes, 1 - FIRST_DECAY)
        second = torch.addcmul(second * SECOND_DECAY, slopes, slopes, value=1 - SECOND_DECAY)
        unbiased = (1 - SECOND_DECAY**step) ** 0.5
        rate = steps.size * unbiased / (1 - FIRST_DECAY**step)
        here = here + rate * first / (second.sqrt() + FLOOR * unbiased)
    return here


def slope_of(height: Height, points: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return heights and the gradient per row; of the sum, so that rows do not depend on each other."""
    heights, pull_back = torch.func.vjp(height, points)  # of the points alone, not of weights
    (slopes,) = pull_back(torch.ones_like(heights))
    return heights, slopes


def slopes_at(network: nn.Module, points: torch.Tensor, gain: Gain) -> torch.Tensor:
    """Return the gradient of the gain with respect to the points."""
    if type(network) is nn.Sequential and is_plain(network) and nn.Sequential not in map(type, network):
        with torch.no_grad():
            return _slopes_through(list(network), points, gain)
    return slope_of(lambda here: gain.of(network(here)), points)[1]


def _slopes_through(layers: list[nn.Module], points: torch.Tensor, gain: Gain) -> torch.Tensor:
    """Return the gradient in closed form: in small networks, autograd is half of the work."""
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
    """Climb in all directions at once, from random noise, with a penalty on the distance."""
    start = noise(inputs)

    def slope(moves: torch.Tensor) -> torch.Tensor:
        return torch.addcmul(slopes_at(network, inputs + moves, gain), metric.outside(moves), penalty, value=-2)

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
    """Climb inside the subspace, where moves are free; then in all directions, with a penalty on the distance.

    The original undoes a stage for the whole batch if it made the mean worse. Here it is undone per row, so that the
    worst case of a row does not depend on its batch.
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
        return torch.addcmul(slopes_at(network, base + moves, gain), metric.outside(moves), penalty, value=-2)

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
    """Evaluation mode without gradients for the time of an attack; every layer is restored afterwards."""
    training = [layer for layer in network.modules() if layer.training]
    network.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for layer in training:
            layer.training = True


def _finite(moves: torch.Tensor) -> torch.Tensor:
    """Undo moves that are not finite; one sum finds them faster than a test of each number."""
    return torch.where(moves.sum(dim=1, keepdim=True).isfinite(), moves, 0.0)


class Tracker:
    """Means for the history, and conditions that held for a whole epoch; kept on the device until they are read.

    The tensors stay where they are, so that a step that notes can be recorded on a GPU.
    """

    def __init__(self, device: torch.device, means: Sequence[str], conditions: Sequence[str] = ()) -> None:
        self._means, self._conditions = means, conditions
        self._found: set[str] | None = None  # held in an earlier epoch, if there was one
        counts = torch.zeros(2, device=device)  # of notes since the last report, and of batches in this epoch
        sums = {name: torch.zeros((), device=device) for name in means}
        always = {name: torch.ones((), dtype=torch.bool, device=device) for name in conditions}  # in this epoch
        self._state = {"counts": counts, **sums, **always}

    def start_epoch(self) -> None:
        """Begin another epoch."""
        counts = self._state["counts"]
        if float(counts[1]) >= FEWEST_BATCHES:
            self._found = self._judge()
            counts[1] = 0
            for name in self._conditions:
                self._state[name].fill_(True)

    def note(self, means: dict[str, torch.Tensor], **is_odd: torch.Tensor) -> None:
        """Add the means of a batch, and conditions that may hold for it."""
        self._state["counts"].add_(1)
        for name, mean in means.items():
            self._state[name].add_(mean.detach())
        for name, odd in is_odd.items():
            self._state[name].logical_and_(odd)

    def report(self) -> dict[str, float]:
        """Return the means since the last report."""
        counts = self._state["counts"]
        n_noted = max(float(counts[0]), 1.0)
        means = {name: float(self._state[name]) / n_noted for name in self._means}
        for name in self._means:
            self._state[name].zero_()
        counts[0] = 0
        return means

    def found(self) -> set[str]:
        """Return the conditions that held in every batch of some epoch."""
        return self._judge() if self._found is None else self._found

    def _judge(self) -> set[str]:
        has_begun = float(self._state["counts"][1]) > 0
        return (self._found or set()) | {name for name in self._conditions if has_begun and self._state[name]}


HowToAttack = Callable[[nn.Module, torch.Tensor, Gain, torch.Tensor], Attack]  # network, inputs, gain, penalty


class PricedAttacks:
    """Attacks on one batch after another, with a penalty on distance that adapts."""

    def __init__(
        self,
        network: nn.Module,
        attack: HowToAttack,
        penalty: Penalty,
        generators: tuple[torch.Generator, ...] = (),  # that the attacks draw from
    ) -> None:
        self._network, self._attack, self._penalty = network, attack, penalty
        self.generators = generators
        self.tracker = Tracker(
            penalty.value.device, ("attack_gain", "mean_distance"), ("at_least", "at_most", "is_idle")
        )

    def move(self, inputs: torch.Tensor, weights: torch.Tensor, gain_of: Callable[[], Gain]) -> torch.Tensor:
        """Return the attacked rows; ``gain_of`` is called with the network in evaluation mode."""
        with attacking(self._network):
            attack = self._attack(self._network, inputs, gain_of(), self._penalty.value)
        total = weights.sum()
        distance = weights @ attack.distances / total  # NaN if all weights are 0
        self._penalty.update(distance)
        gain, distance = (weights @ attack.gains / total).nan_to_num(), distance.nan_to_num()
        self.tracker.note(
            {"attack_gain": gain, "mean_distance": distance},
            at_least=self._penalty.value <= LEAST,
            at_most=self._penalty.value >= MOST,
            is_idle=gain <= 0,
        )
        return attack.points

    def report(self) -> dict[str, Any]:
        """Return the penalty weight now, and means since the last report."""
        return {"lambda": float(self._penalty.value), **self.tracker.report()}


class AttackedLoss(Objective):
    """The log loss of attacked rows alone (SenSR)."""

    def __init__(self, network: nn.Module, people: People, attacks: PricedAttacks) -> None:
        super().__init__(network, people)
        self.attacks, self.generators = attacks, attacks.generators

    def start_epoch(self, epoch: int) -> None:
        """Track another epoch."""
        self.attacks.tracker.start_epoch()

    def loss(self, rows: torch.Tensor) -> torch.Tensor:
        """Attack a batch, and return its mean log loss there."""
        inputs, labels, weights = self._people.batch(rows)
        points = self.attacks.move(inputs, weights, lambda: LossGain(labels))
        return (weights * loss_of(self._network(points), labels)).mean()

    def report(self) -> dict[str, Any]:
        """Return how the attacks went."""
        return self.attacks.report()


class InvarianceLoss(AttackedLoss):
    """The log loss of the rows plus rho times the distance of their outputs under attack (SenSeI).

    Attacks must not start at the rows themselves: there, the gradient of the distance is 0.
    """

    def __init__(self, network: nn.Module, people: People, attacks: PricedAttacks, rho: float) -> None:
        super().__init__(network, people, attacks)
        self._rho = rho
        self._tracker = Tracker(people.device, ("output_distance",))

    def loss(self, rows: torch.Tensor) -> torch.Tensor:
        """Attack a batch, and return its mean loss; gradients go through both outputs."""
        inputs, labels, weights = self._people.batch(rows)
        points = self.attacks.move(inputs, weights, lambda: LogitGain(self._network(inputs)))  # once, for all steps
        outputs = self._network(inputs)
        loss = (weights * loss_of(outputs, labels)).mean()
        if not self._rho:  # exactly plain training
            return loss
        distance = (weights * self._apart(inputs, outputs, points)).mean()
        self._tracker.note({"output_distance": distance / weights.mean().clamp(min=1e-12)})
        return loss + self._rho * distance

    def report(self) -> dict[str, Any]:
        """Return how the attacks went."""
        return self.attacks.report() | self._tracker.report()

    def _apart(self, inputs: torch.Tensor, outputs: torch.Tensor, points: torch.Tensor) -> torch.Tensor:
        """Return distances of outputs in evaluation mode, as the attack does: dropout would add to them."""
        if is_plain(self._network):  # the same in training and evaluation
            return LogitGain(outputs).of(self._network(points))
        with attacking(self._network), torch.enable_grad():
            here, there = self._network(torch.cat([inputs, points])).chunk(2)
        return LogitGain(here).of(there)
