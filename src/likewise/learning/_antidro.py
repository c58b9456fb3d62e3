"""A network trained on every row and on the worst of its antidotes (the paper's algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np

from likewise._checks import check_choice, check_count, check_number
from likewise._random import draw_seed, stream
from likewise.exceptions import GenerationError
from likewise.generation import Antidotes, BaseGenerator
from likewise.learning._antidote_source import fitted_generator, make_antidotes, refuse_other_columns
from likewise.nets import BaseNetworkClassifier
from likewise.schema import Roles
from likewise.schema._internal import KINDS

if TYPE_CHECKING:
    from likewise.learning._antidote_loss import Kind
    from likewise.nets import People


class AntiDROClassifier(BaseNetworkClassifier):
    """Train a network on the loss of every row, and on the loss of the worst of its antidotes.

    A step looks at up to ``n_antidotes`` antidotes of each row of a batch, all of them comparable to the row and with
    other sensitive values, finds the one the network does worst on, and adds its loss to that of the row. A row
    without antidotes counts its own loss only.

    Parameters
    ----------
    generator : generator
        Makes the antidotes, and knows the roles and the rule. One that is fitted is used as it is; any other is
        cloned, and fitted to the training rows. In a :class:`~sklearn.frozen.FrozenEstimator` it stays fitted when
        this classifier is cloned, so that searches and folds share it.
    n_antidotes : int
        How many antidotes of a row to use, at most (M).
    antidote_weight : float
        How much the antidotes count beside the rows. At 0 it is the plain network.
    objective : {"worst", "mean", "consistency"}
        What to add for a row: the loss of its worst antidote; the mean loss of its antidotes; or the largest gap
        between the row's own probabilities and an antidote's.
    rounds : int, optional
        How often to ask the generator for antidotes of every row, until all have enough; ``n_antidotes`` times, if not
        given.
    refresh_every : int, optional
        Make other antidotes after so many rounds through all rows. By default those made at the start are used
        throughout.
    hidden, n_iterations, batch_size, optimizer, learning_rate, halve_every, scaling, patience, validation_fraction
        As in :class:`NetworkClassifier`.
    weight_decay : float
        As in :class:`NetworkClassifier`, a tenth of it: together with antidotes, the paper's 0.01 makes networks that
        score everybody alike on tables that are hard to predict.
    roles : Roles, optional
        What the columns are; the generator's roles, if not given.
    network, progress, device, random_state
        As in :class:`NetworkClassifier`.

    Attributes
    ----------
    classes_ : array
    generator_ : generator
        The fitted one.
    antidotes_ : Antidotes
        Those used last.
    history_ : list of dict
        As in :class:`NetworkClassifier`, with ``own_loss`` and ``antidote_loss``, and with ``coverage``, the share of
        the rows that have antidotes.
    network_ : torch module
    coding_ : InputCoding
        How rows become inputs.

    Examples
    --------
    >>> from likewise import AntiDROClassifier, UniformGenerator, load_dataset
    >>> data = load_dataset("planted")
    >>> generator = UniformGenerator(data.roles, data.rule, random_state=0)
    >>> model = AntiDROClassifier(generator, n_iterations=200, random_state=0).fit(data.train.X, data.train.y)
    >>> model.predict(data.test.X).shape
    (500,)
    """

    _unsaved: ClassVar[tuple[str, ...]] = (*BaseNetworkClassifier._unsaved, "generator")

    def __init__(
        self,
        generator: BaseGenerator | None = None,
        n_antidotes: int = 5,
        antidote_weight: float = 1.0,
        *,
        objective: str = "worst",
        rounds: int | None = None,
        refresh_every: int | None = None,
        hidden: tuple[int, ...] = (64, 64),
        n_iterations: int = 10_000,
        batch_size: int = 256,
        optimizer: str = "sgd",
        learning_rate: float = 0.1,
        halve_every: int | None = 2_500,
        weight_decay: float = 1e-3,
        scaling: str = "range",
        patience: int | None = None,
        validation_fraction: float = 0.1,
        roles: Roles | None = None,
        network: Callable[[int, int], Any] | None = None,
        progress: Callable[[dict[str, Any]], None] | None = None,
        device: str = "auto",
        random_state: int | None = None,
    ) -> None:
        self.generator = generator
        self.n_antidotes = n_antidotes
        self.antidote_weight = antidote_weight
        self.objective = objective
        self.rounds = rounds
        self.refresh_every = refresh_every
        self.hidden = hidden
        self.n_iterations = n_iterations
        self.batch_size = batch_size
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.halve_every = halve_every
        self.weight_decay = weight_decay
        self.scaling = scaling
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.roles = roles
        self.network = network
        self.progress = progress
        self.device = device
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, antidotes: Antidotes | None = None) -> Self:
        """Fit the network.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, or array of numbers
        y : array
            Labels of any kind, two or more different ones.
        sample_weight : array, optional
            How much each row counts, and its antidotes with it.
        antidotes : Antidotes, optional
            Made of these very rows before, to be used instead of the generator: a sweep need not make them again.

        Returns
        -------
        self
        """
        self._given = antidotes
        try:
            return super().fit(X, y, sample_weight)
        finally:
            del self._given

    def _find_roles(self, frame: Any) -> Roles:
        if self._given is None and self.antidote_weight and hasattr(self.generator, "schema_"):
            refuse_other_columns(self.generator, frame)  # before the network stumbles over them
        roles = getattr(self.generator, "roles", None) if self._given is None else self._given.schema.roles
        return roles if self.roles is None and isinstance(roles, Roles) else super()._find_roles(frame)

    def _objective(self, network: Any, people: People) -> Any:
        from likewise.learning._antidote_loss import AntidoteLoss

        if self.antidote_weight == 0:
            return super()._objective(network, people)
        if self._given is None:
            self.generator_ = fitted_generator(self.generator, people.frame, people.y, self.seed_)
        else:
            self._refuse_foreign(self._given, people)
        return AntidoteLoss(
            network,
            people,
            lambda epoch: self._draw(people, epoch),
            kind=cast("Kind", self.objective),
            weight=float(self.antidote_weight),
            most=self.n_antidotes,
            random=stream(self.seed_, "choose antidotes"),
        )

    def _draw(self, people: People, epoch: int) -> Antidotes | None:
        """Make the antidotes of an epoch, or none where those there are go on."""
        if epoch and (self._given is not None or not self.refresh_every or epoch % self.refresh_every):
            return None
        if self._given is not None:
            self.antidotes_ = self._given
        else:
            seed = draw_seed(self.seed_, "antidotes", epoch)
            rounds = self.n_antidotes if self.rounds is None else self.rounds
            self.antidotes_ = make_antidotes(
                self.generator_,
                people.frame,
                people.y,
                rounds=rounds,
                per_row=self.n_antidotes,
                random_state=seed,
            )
        return self.antidotes_

    def _refuse_foreign(self, antidotes: Antidotes, people: People) -> None:
        n_rows = len(people.y)
        if antidotes.n_sources != n_rows:
            raise GenerationError(
                f"These antidotes were made of {antidotes.n_sources:,} rows; X has {n_rows:,}. Give the rows they were "
                "made of."
            )
        here = antidotes.schema.encode(people.frame, people.y)[antidotes.source]
        there = antidotes.sources
        is_other = here.classes[here.labels] != there.classes[there.labels]
        for kind in KINDS:
            is_other |= (getattr(here, kind) != getattr(there, kind)).any(axis=1)
        if is_other.any():
            row = int(antidotes.source[np.argmax(is_other)])
            raise GenerationError(
                f"These antidotes were made of other rows, or of rows in another order: row {row} of X is not the one "
                "they name. Give the rows they were made of."
            )

    def _collapse_advice(self) -> str:
        return (
            f"Lower weight_decay ({self.weight_decay:g}) or antidote_weight ({self.antidote_weight:g}), or fit for "
            "longer."
        )

    def _refuse_odd_parameters(self) -> None:
        super()._refuse_odd_parameters()
        check_choice("objective", self.objective, ("worst", "mean", "consistency"))
        check_number("antidote_weight", self.antidote_weight, least=0.0)
        for name in ("n_antidotes", "rounds", "refresh_every"):
            check_count(name, getattr(self, name), or_none=name != "n_antidotes", least=1)
