"""LCIFR: an encoder that maps similar people to nearby points, and a classifier on top of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from likewise._checks import check_count, check_number
from likewise._random import draw_seed
from likewise._warnings import warn
from likewise.baselines._subspace import SensitiveNetworkClassifier
from likewise.comparable import Comparability
from likewise.exceptions import AttackFailed, LatentSpaceShrunk
from likewise.nets._internal import seeded

if TYPE_CHECKING:
    from likewise.nets._internal import People

SHRUNK_BELOW: Final = 2.0  # deltas: with less spread, delta is a large part of the latent space


@dataclass(eq=False, repr=False, kw_only=True)
class LCIFRClassifier(SensitiveNetworkClassifier):
    """Learn a latent space in which similar people are close, then classify in it (LCIFR).

    Similar rows may differ without limit in sensitive columns, slightly in continuous ones, and in nothing else. In the
    first phase each step searches for the similar row that is farthest in the latent space; the loss gets ``gamma``
    times the excess of its distance over ``delta``. In the second phase the encoder is fixed, and a new linear
    classifier is fitted to the worst points within ``delta``. Both phases train as :class:`~likewise.NetworkClassifier`
    does; the original lowers its learning rate when a held-out loss stagnates, here it is halved at fixed times.

    Parameters
    ----------
    roles : Roles, or names of sensitive columns
        Column roles, with sensitive columns; other roles are inferred. A binned sensitive column takes one number per
        bin, the median, or is missing if it sometimes is. Ordinal columns do not change.
    gamma : float
        Weight of the constraint. 0 trains the same network without it, which is what to compare with.
    delta : float
        Allowed latent distance between similar rows, in the coordinate that differs most.
    max_continuous_shift : float, or one for each column by name or in order, optional
        Limit on differences in continuous columns of similar rows, as a share of the training range, whatever the
        scaling (the paper's T_c, the original's alpha). By default that of ``rule``.
    rule : Comparability, optional
        Rule to take it from, and columns that must match; 0.025 without it.
    n_attack_steps : int
        Steps within the box, each a sixth of the allowed shift.
    max_combinations : int
        If there are more combinations, this many are drawn for each batch.
    n_latent : int
        Width of the latent space.
    n_consumer_iterations : int, optional
        Steps of the second phase; as many as of the first by default. With 0 the classifier of the first phase is kept.
    hidden : tuple of int
        Hidden-layer widths of the encoder.
    n_iterations, batch_size, optimizer, learning_rate, halve_every, weight_decay
        As in :class:`~likewise.NetworkClassifier`, for both phases.
    scaling, patience, validation_fraction
        As there. Patience uses the log loss of the rows themselves, not the constraint.
    network : callable, optional
        Returns another encoder, a torch module, given the number of inputs and of latent coordinates. Frozen parameters
        stay frozen; all of them may be.
    progress, device, random_state
        As there.

    Attributes
    ----------
    classes_ : array
    roles_ : Roles
        Roles with a role for every column.
    history_ : list of dict
        Training records, of the phase "producer" and then of "consumer": iteration, epoch, seconds, loss,
        held_out_loss, score_spread, phase and attack_gain (the distance the attack reaches; in the second phase, the
        log loss it adds). In the first phase also constraint_loss, before gamma, and latent_spread, the standard
        deviation of the latent coordinates: a latent space that merely shrinks also meets the constraint.
    network_ : torch module
        The encoder and the classifier.
    coding_ : InputCoding
        Encodes rows as network inputs.

    Examples
    --------
    >>> from likewise import load_dataset
    >>> from likewise.baselines import LCIFRClassifier
    >>> data = load_dataset("planted")
    >>> model = LCIFRClassifier(data.roles, gamma=1, n_iterations=100, random_state=0)
    >>> model.fit(data.train.X, data.train.y).predict_proba(data.test.X).shape
    (500, 2)
    >>> model.history_[-1]["phase"]
    'consumer'
    """

    gamma: float = 10.0
    delta: float = 0.01
    max_continuous_shift: float | Mapping[str, float] | Sequence[float] | None = None
    rule: Comparability | None = None
    n_attack_steps: int = 10
    max_combinations: int = 64
    n_latent: int = 20
    n_consumer_iterations: int | None = None
    hidden: tuple[int, ...] = (20,)
    optimizer: str = "adam"
    learning_rate: float = 1e-3

    def _build(self, n_inputs: int, n_outputs: int) -> Any:
        from torch import nn

        from likewise.nets._internal import build_network, check_network

        if self.network is not None:
            encoder = check_network(self.network(n_inputs, self.n_latent), n_inputs, self.n_latent, can_be_frozen=True)
        else:
            encoder = build_network(n_inputs, self.n_latent, self.hidden)
        return nn.Sequential(encoder, nn.Linear(self.n_latent, n_outputs))

    def _learn(self, people: People) -> None:
        network = self._new_network(people)
        self.n_iter_ = self._produce(network, people)
        if self.n_consumer_iterations != 0:
            self.n_iter_ += self._consume(network, people)
        self.network_ = network

    def _produce(self, network: Any, people: People) -> int:
        """Train encoder and classifier with the constraint."""
        from likewise.baselines._lcifr_training import ProducerLoss, encode_all, latent_spread

        generator = self._generator("attack")
        attack = self._attack(network[0], people, generator)
        objective = ProducerLoss(network, people, attack, self.gamma, self.delta)
        objective.generators = (generator,)
        n_iterations = self._train(network, objective, people)
        if self.gamma == 0:
            return n_iterations
        if objective.has_failed:
            warn(
                "For a whole epoch, the attack found no similar row at another latent point: the constraint had no "
                "effect. The sensitive columns may have one value only, or the encoder maps all people to one point.",
                AttackFailed,
            )
        spread = float(latent_spread(encode_all(network[0], people)))
        if spread < SHRUNK_BELOW * self.delta:
            warn(
                f"The latent space has shrunk: its coordinates have a standard deviation of {spread:.2g}, so most "
                f"people are within about delta ({self.delta:g}) of each other, similar or not. Lower delta, gamma "
                f"({self.gamma:g}) or weight_decay ({self.weight_decay:g}).",
                LatentSpaceShrunk,
            )
        return n_iterations

    def _consume(self, network: Any, people: People) -> int:
        """Train another classifier on the encoder, on the worst latent points."""
        from torch import nn

        from likewise.baselines._lcifr_training import ConsumerLoss, OnFrozen, encode_all

        encoder = network[0]
        with seeded(draw_seed(self.seed_, "consumer weights"), self.device_):
            network[1] = nn.Linear(self.n_latent, self._n_outputs).to(self.device_)
        latents, generator = encode_all(encoder, people), self._generator("latent attack")
        objective = ConsumerLoss(network[1], latents, people, self.delta, generator)
        n_iterations = self._train(
            OnFrozen(encoder, network[1]), objective, people, "consumer", self.n_consumer_iterations
        )
        network.eval()
        return n_iterations

    def _attack(self, encoder: Any, people: People, generator: Any) -> Callable[[Any], Any]:
        """Return a function that finds the worst similar row of each row."""
        from likewise.baselines._lcifr_training import attack_by_enumeration, learn_similar_rows

        similar = learn_similar_rows(people.frame, people.coding, self.roles_, self._rule(), self.device_)
        return partial(
            attack_by_enumeration,
            encoder,
            similar=similar,
            n_steps=self.n_attack_steps,
            max_combinations=self.max_combinations,
            generator=generator,
        )

    def _generator(self, purpose: str) -> Any:
        """Return a random generator of its own, so that an attack changes no other random numbers."""
        import torch

        return torch.Generator(self.device_).manual_seed(draw_seed(self.seed_, purpose))

    def _rule(self) -> Comparability:
        rule = Comparability() if self.rule is None else self.rule
        shift = self.max_continuous_shift
        return rule if shift is None else replace(rule, max_continuous_shift=shift)

    def _collapse_advice(self) -> str:
        return f"Lower gamma ({self.gamma:g}) or weight_decay ({self.weight_decay:g}), or train longer."

    def _refuse_odd_parameters(self) -> None:
        super()._refuse_odd_parameters()
        check_number("gamma", self.gamma, least=0.0)
        check_number("delta", self.delta, least=0.0)
        check_count("n_consumer_iterations", self.n_consumer_iterations)
        check_count("n_attack_steps", self.n_attack_steps, or_none=False)
        for name in ("max_combinations", "n_latent"):
            check_count(name, getattr(self, name), or_none=False, least=1)
        if not isinstance(self.rule, Comparability | None):
            raise TypeError(f"rule is a {type(self.rule).__name__}; give a likewise.Comparability, or None.")
        self._rule()
