"""The two phases of LCIFR: an encoder that sees similar rows alike, then a classifier on what it made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torch
from torch import nn

from likewise.baselines._attacks import attacking
from likewise.baselines._lcifr_attacks import climb
from likewise.baselines._watching import Watch
from likewise.nets import People, loss_of

Attack = Callable[[torch.Tensor], torch.Tensor]
N_STEPS: Final = 20  # towards the worst latent point, each a tenth of delta


class ProducerLoss:
    """Make the log loss smaller, and gamma times how much farther than delta the worst similar row is.

    Parameters
    ----------
    network : Sequential of encoder and classifier
    people : People
    attack : callable
        Finds the worst similar rows.
    gamma, delta : float
    """

    def __init__(self, network: nn.Sequential, people: People, attack: Attack, gamma: float, delta: float) -> None:
        self._network, self._people, self._attack = network, people, attack
        self._gamma, self._delta = gamma, delta
        self._watch = Watch()
        self._last: torch.Tensor | None = None

    def start_epoch(self, epoch: int) -> None:
        """Watch another epoch."""
        self._watch.start_epoch()

    def loss(self, rows: torch.Tensor) -> torch.Tensor:
        """Give the mean loss of a batch."""
        inputs, labels, weights = self._people.batch(rows)
        losses = loss_of(self._network(inputs), labels)
        self._last = inputs
        if self._gamma > 0:
            losses = losses + self._gamma * self._excess(inputs)
        return (weights * losses).mean()

    @property
    def has_failed(self) -> bool:
        """Whether the attack gained nothing for a whole epoch."""
        return "is_idle" in self._watch.find_odd()

    def report(self) -> dict[str, Any]:
        """Give means of the steps since the last report; without gamma, those of the last batch."""
        if self._gamma == 0 and self._last is not None:
            self._excess(self._last)
        return {"phase": "producer", **self._watch.report()}

    def _excess(self, inputs: torch.Tensor) -> torch.Tensor:
        """Measure on the encoder as it will be used, as the attack does: dropout would be a distance of its own."""
        encoder = self._network[0]
        worst = self._attack(inputs)
        with attacking(encoder), torch.enable_grad():
            here, there = encoder(torch.cat([inputs, worst])).chunk(2)
        distance = (here - there).abs().amax(dim=1)
        excess = (distance - self._delta).clamp(min=0)  # the loss of "no farther than delta" in DL2
        gain = distance.mean()
        means = {"constraint_loss": excess.mean(), "latent_spread": latent_spread(here.detach()), "attack_gain": gain}
        self._watch.note(means, is_idle=gain <= 0)
        return excess


class ConsumerLoss:
    """Make the log loss of the worst point within delta of every row smaller, in a latent space that stays.

    Parameters
    ----------
    classifier : linear layer
    latents : tensor, shape (n_rows, n_latent)
    people : People
    delta : float
    generator : torch.Generator
    """

    def __init__(
        self, classifier: nn.Linear, latents: torch.Tensor, people: People, delta: float, generator: torch.Generator
    ) -> None:
        self._classifier, self._latents, self._people = classifier, latents, people
        self._delta, self._generator = delta, generator
        self._watch = Watch()

    def start_epoch(self, epoch: int) -> None:
        """Leave everything as it is: all epochs are alike."""

    def loss(self, rows: torch.Tensor) -> torch.Tensor:
        """Give the mean loss of a batch."""
        here = rows.to(self._people.device)
        points, labels, weights = self._latents[here], self._people.labels[here], self._people.weights[here]
        with attacking(self._classifier):
            before = loss_of(self._classifier(points), labels)
            worst = self._worst(points, labels, before)
        losses = loss_of(self._classifier(worst), labels)
        self._watch.note({"attack_gain": (losses - before).mean()})
        return (weights * losses).mean()

    def report(self) -> dict[str, Any]:
        """Give means of the steps since the last report."""
        return {"phase": "consumer", **self._watch.report()}

    def _worst(self, points: torch.Tensor, labels: torch.Tensor, losses: torch.Tensor) -> torch.Tensor:
        if self._delta == 0:
            return points
        if self._classifier.out_features == 1:  # the slope has one sign everywhere: all steps end in this corner
            towards_other = 1 - 2 * labels.to(points.dtype)
            return points + self._delta * towards_other[:, None] * self._classifier.weight.sign()

        def height(others: torch.Tensor) -> torch.Tensor:
            return loss_of(self._classifier(others), labels)

        return climb(height, points, losses, self._delta, self._delta / 10, N_STEPS, self._generator)[0]


class OnFrozen(nn.Module):  # type: ignore[misc]  # torch is not followed when types are checked
    """Put a classifier on an encoder that is no part of it: nobody gets to see the encoder's parameters.

    Parameters
    ----------
    encoder, classifier : module
    """

    def __init__(self, encoder: nn.Module, classifier: nn.Module) -> None:
        super().__init__()
        self.classifier = classifier
        self._apart = (encoder,)  # a module in a tuple is not registered

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Classify rows."""
        return self.classifier(encode(self._apart[0], inputs))


def encode(encoder: nn.Module, inputs: torch.Tensor) -> torch.Tensor:
    """Give latent points as the encoder makes them when it is used."""
    with attacking(encoder):
        return encoder(inputs)


def encode_all(encoder: nn.Module, people: People) -> torch.Tensor:
    """Give the latent points of all people."""
    return torch.cat([encode(encoder, people.inputs.dense(rows)) for rows in people.inputs.chunks()])


def latent_spread(latents: torch.Tensor) -> torch.Tensor:
    """Give the standard deviation of the latent numbers, over all of them."""
    return latents.var(dim=0, unbiased=False).mean().sqrt()
