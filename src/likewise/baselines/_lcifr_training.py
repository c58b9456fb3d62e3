"""The training of LCIFR: similar rows, the search for the worst of them, and the losses of both phases."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from likewise.baselines._attacks import Height, Tracker, attacking, slope_of
from likewise.baselines._subspace import SensitiveGroup, group_rows
from likewise.comparable import Comparability
from likewise.nets._internal import InputCoding, Inputs, Objective, People, loss_of
from likewise.schema import CodedTable, Roles
from likewise.schema._internal import Unit

STEPS_ACROSS: Final = 6.0  # steps from a row to the end of its box, as in the original: 0.3 in steps of 0.05


@dataclass(frozen=True, slots=True, eq=False)
class SensitiveColumn:
    """The inputs of a sensitive column, and all values they may take together (one row per choice)."""

    places: NDArray[np.intp]
    choices: NDArray[np.float32]

    def __post_init__(self) -> None:
        if self.choices.ndim != 2 or self.choices.shape[1] != len(self.places):
            raise ValueError(f"choices have the shape {self.choices.shape}; give {len(self.places)} numbers for each.")


class SimilarRows:
    """What similar rows may differ in: sensitive columns without limit, continuous ones within a box."""

    def __init__(
        self,
        sensitive: Sequence[SensitiveColumn],
        reach: NDArray[np.float64],
        absences: NDArray[np.intp],
        device: torch.device,
    ) -> None:
        places = [column.places for column in sensitive] or [np.empty(0, np.intp)]
        self.places = torch.as_tensor(np.concatenate(places)).to(device)
        self.n_combinations = math.prod(len(column.choices) for column in sensitive)
        self.step = torch.as_tensor(reach / STEPS_ACROSS, dtype=torch.float32).to(device)
        self.has_box = bool((reach > 0).any())
        self._choices = [torch.as_tensor(column.choices).to(device) for column in sensitive]
        self._reach = torch.as_tensor(reach, dtype=torch.float32).to(device)
        self._absences = torch.as_tensor(absences).to(device)

    def reach_of(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return how far each input of each row may move."""
        reach = self._reach.expand_as(inputs)
        if len(self._absences):
            numbers, indicators = self._absences.T
            reach = reach.clone()
            reach[:, numbers] *= 1 - inputs[:, indicators]
        return reach

    def combinations(self, most: int, generator: torch.Generator) -> torch.Tensor:
        """Return every combination of sensitive values, or ``most`` random ones if there are more."""
        return self._all if self.n_combinations <= most else self.draw(most, generator)

    @cached_property
    def _all(self) -> torch.Tensor:
        grids = torch.meshgrid([torch.arange(len(one)) for one in self._choices], indexing="ij")
        return self._pick([grid.reshape(-1) for grid in grids])

    def draw(self, n: int, generator: torch.Generator) -> torch.Tensor:
        """Draw random combinations."""
        device = generator.device
        return self._pick([torch.randint(len(one), (n,), generator=generator, device=device) for one in self._choices])

    def put(self, inputs: torch.Tensor, combinations: torch.Tensor) -> torch.Tensor:
        """Return rows with one combination each written over the sensitive inputs."""
        shape = (*inputs.shape[:-1], len(self.places))
        return inputs.index_copy(-1, self.places, combinations.expand(shape))

    def _pick(self, codes: list[torch.Tensor]) -> torch.Tensor:
        return torch.cat([one[picked.to(one.device)] for one, picked in zip(self._choices, codes, strict=True)], dim=1)


def learn_similar_rows(
    frame: Any,
    coding: InputCoding,
    roles: Roles,
    rule: Comparability,
    device: torch.device,
) -> SimilarRows:
    """Learn what similar rows may differ in; limits are shares of the training range."""
    reach = np.zeros(len(coding.names))
    absences = []
    empty = _empty_table(roles, roles.learn(frame).units if rule.limits else {})
    rule.check(empty)
    for name, limit in zip(roles.continuous, rule.continuous_limits(empty), strict=True):
        place, *missing = coding.positions(name)
        reach[place] = limit / coding.scale[place]
        absences += [(place, one) for one in missing]
    groups, inputs = group_rows(frame, roles, coding), coding.encode(frame)
    sensitive = [_learn_choices(group, inputs, group.name in roles.bins) for group in groups]
    return SimilarRows(sensitive, reach, np.array(absences, np.intp).reshape(-1, 2), device)


def _empty_table(roles: Roles, units: Mapping[str, Unit]) -> CodedTable:
    """Return a table with the columns and no rows, to check a rule against."""
    names = {kind: roles.names(kind) for kind in ("sensitive", "discrete", "continuous", "ordinal", "matched")}
    columns: dict[str, Any] = {kind: np.empty((0, len(called))) for kind, called in names.items()}
    return CodedTable(**columns, names=names, units=units)


def _learn_choices(group: SensitiveGroup, inputs: Inputs, is_binned: bool) -> SensitiveColumn:
    places, codes = group.positions, group.codes
    if not is_binned:
        return SensitiveColumn(places, np.eye(len(places), dtype=np.float32))
    # a number to the network, bins to the user: the row with the median of the bin, or without a number, stands for it
    order = np.argsort(inputs.numbers[:, places[0]], kind="stable")
    members = [order[codes[order] == code] for code in np.unique(codes)]
    typical = [rows[(len(rows) - 1) // 2] for rows in members]
    return SensitiveColumn(places, inputs[typical].dense()[:, places])


def latent_distance(encoder: nn.Module, inputs: torch.Tensor) -> Height:
    """Return a function that measures latent distances to these rows, in the coordinate that differs most."""
    here = encoder(inputs)

    def distance(others: torch.Tensor) -> torch.Tensor:
        latents = encoder(others.flatten(0, -2)).unflatten(0, others.shape[:-1])
        return (latents - here).abs().amax(dim=-1)

    return distance


def attack_by_enumeration(
    encoder: nn.Module,
    inputs: torch.Tensor,
    similar: SimilarRows,
    n_steps: int,
    max_combinations: int,
    generator: torch.Generator,
) -> torch.Tensor:
    """Take the farthest combination of sensitive values, then climb within the box."""
    with attacking(encoder):
        distance = latent_distance(encoder, inputs)
        combinations = similar.combinations(max_combinations, generator)
        candidates = similar.put(inputs.expand(len(combinations), -1, -1), combinations[:, None, :])
        farthest = distance(candidates).max(dim=0)  # all of them in one pass
        start = similar.put(inputs, combinations[farthest.indices])
        if not similar.has_box or n_steps == 0:
            return start
        reach = similar.reach_of(inputs)
        return climb(distance, start, farthest.values, reach, similar.step, n_steps, generator)[0]


def climb(
    height: Height,
    start: torch.Tensor,
    start_height: torch.Tensor,
    reach: torch.Tensor | float,
    step: torch.Tensor | float,
    n_steps: int,
    generator: torch.Generator,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Climb by the sign of the gradient from a random point within reach; return the highest points and their heights.

    The start is one of the candidates, so nothing is lost.
    """
    low, high = start - reach, start + reach
    highest, heights = start, start_height
    point = (start + reach * _uniform(start, generator)).clamp(low, high)
    for _ in range(n_steps):
        here, slope = slope_of(height, point)
        highest, heights = _higher(point, here, highest, heights)
        point = (point + step * slope.sign()).clamp(low, high)
    return _higher(point, height(point), highest, heights)


def _higher(
    point: torch.Tensor, height: torch.Tensor, highest: torch.Tensor, heights: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.where((height > heights)[:, None], point, highest), torch.maximum(height, heights)


def _uniform(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return 2 * torch.rand(like.shape, generator=generator, device=like.device, dtype=like.dtype) - 1


FindWorst = Callable[[torch.Tensor], torch.Tensor]  # the worst similar row of each row
N_STEPS: Final = 20  # towards the worst latent point, each a tenth of delta


class ProducerLoss(Objective):
    """The log loss plus gamma times the excess over delta of the distance to the worst similar row."""

    def __init__(self, network: nn.Sequential, people: People, attack: FindWorst, gamma: float, delta: float) -> None:
        super().__init__(network, people)
        self._attack, self._gamma, self._delta = attack, gamma, delta
        self._tracker = Tracker(people.device, ("constraint_loss", "latent_spread", "attack_gain"), ("is_idle",))
        self._last: torch.Tensor | None = None

    def start_epoch(self, epoch: int) -> None:
        """Track another epoch."""
        self._tracker.start_epoch()

    def loss(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the mean loss of a batch."""
        inputs, labels, weights = self._people.batch(rows)
        losses = loss_of(self._network(inputs), labels)
        self._last = inputs
        if self._gamma:
            losses = losses + self._gamma * self._excess(inputs)
        return (weights * losses).mean()

    @property
    def has_failed(self) -> bool:
        """Whether the attack gained nothing for a whole epoch."""
        return "is_idle" in self._tracker.found()

    def report(self) -> dict[str, Any]:
        """Return means since the last report; without gamma, those of the last batch."""
        if not self._gamma and self._last is not None:
            self._excess(self._last)
        return {"phase": "producer", **self._tracker.report()}

    def _excess(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return the excess in evaluation mode, as the attack does: dropout would add distance."""
        encoder = self._network[0]
        worst = self._attack(inputs)
        with attacking(encoder), torch.enable_grad():
            here, there = encoder(torch.cat([inputs, worst])).chunk(2)
        distance = (here - there).abs().amax(dim=1)
        excess = (distance - self._delta).clamp(min=0)  # the loss of "no farther than delta" in DL2
        gain = distance.mean()
        means = {"constraint_loss": excess.mean(), "latent_spread": latent_spread(here.detach()), "attack_gain": gain}
        self._tracker.note(means, is_idle=gain <= 0)
        return excess


class ConsumerLoss(Objective):
    """The log loss of the worst point within delta of every row, in a fixed latent space."""

    def __init__(
        self, classifier: nn.Linear, latents: torch.Tensor, people: People, delta: float, generator: torch.Generator
    ) -> None:
        super().__init__(classifier, people)
        self._latents, self._delta, self._generator = latents, delta, generator
        self.generators = (generator,)
        self._tracker = Tracker(people.device, ("attack_gain",))

    def loss(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the mean loss of a batch."""
        here = rows.to(self._people.device)
        points, labels, weights = self._latents[here], self._people.labels[here], self._people.weights[here]
        with attacking(self._network):
            before = loss_of(self._network(points), labels)
            worst = self._worst(points, labels, before)
        losses = loss_of(self._network(worst), labels)
        self._tracker.note({"attack_gain": (losses - before).mean()})
        return (weights * losses).mean()

    def report(self) -> dict[str, Any]:
        """Return means since the last report."""
        return {"phase": "consumer", **self._tracker.report()}

    def _worst(self, points: torch.Tensor, labels: torch.Tensor, losses: torch.Tensor) -> torch.Tensor:
        if self._delta == 0:
            return points
        if self._network.out_features == 1:  # the slope has one sign everywhere: all steps end in this corner
            towards_other = 1 - 2 * labels.to(points.dtype)
            return points + self._delta * towards_other[:, None] * self._network.weight.sign()

        def height(others: torch.Tensor) -> torch.Tensor:
            return loss_of(self._network(others), labels)

        return climb(height, points, losses, self._delta, self._delta / 10, N_STEPS, self._generator)[0]


class OnFrozen(nn.Module):  # type: ignore[misc]  # torch is not followed when types are checked
    """A classifier on an encoder whose parameters stay invisible to the optimizer."""

    def __init__(self, encoder: nn.Module, classifier: nn.Module) -> None:
        super().__init__()
        self.classifier = classifier
        self._apart = (encoder,)  # a module in a tuple is not registered

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Classify rows."""
        return self.classifier(encode(self._apart[0], inputs))


def encode(encoder: nn.Module, inputs: torch.Tensor) -> torch.Tensor:
    """Return latent points, with the encoder in evaluation mode."""
    with attacking(encoder):
        return encoder(inputs)


def encode_all(encoder: nn.Module, people: People) -> torch.Tensor:
    """Return the latent points of all rows."""
    return torch.cat([encode(encoder, people.inputs.dense(rows)) for rows in people.inputs.chunks()])


def latent_spread(latents: torch.Tensor) -> torch.Tensor:
    """Return the standard deviation of the latent coordinates."""
    return latents.var(dim=0, unbiased=False).mean().sqrt()
