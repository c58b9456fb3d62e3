"""Networks: trained on rows alone, or on rows and their worst antidotes (AntiDRO)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, cast

import numpy as np

from likewise._checks import check_choice, check_count, check_flag, check_number
from likewise._random import draw_seed, stream
from likewise.exceptions import GenerationError, ParameterError
from likewise.generation import Antidotes
from likewise.generation._internal import BaseGenerator
from likewise.learning._antidotes import fitted_generator, make_antidotes, refuse_other_columns
from likewise.learning._inner_estimator import ignore_columns, leave_out, refuse_unknown_columns
from likewise.nets._internal import BaseNetworkClassifier
from likewise.schema import Roles
from likewise.schema._internal import KINDS, is_frame

if TYPE_CHECKING:
    from likewise.learning._antidote_loss import Kind
    from likewise.nets._internal import People


# Appendix B of the paper, where the defaults differ
PRINTED: Final[dict[str, Any]] = {"n_antidotes": None, "weight_decay": 1e-2, "n_iterations": 10_000, "patience": None}


@dataclass(eq=False, repr=False)
class NetworkClassifier(BaseNetworkClassifier):
    """Fit a small network to a table, with the settings of the paper.

    It takes frames as they are: numbers are scaled, every category becomes an indicator. Without roles, text columns in
    which nearly every value is unique (names, ids) and values that cannot be compared are left out; the log says which.
    The columns of arrays are numbers.

    Parameters
    ----------
    hidden : tuple of int
        Hidden-layer widths. Two of them make the paper's three layers.
    n_iterations : int or "auto"
        Number of gradient steps; by default 10,000, or 200 epochs (at least 500 steps) of fewer than 2,000 rows.
    batch_size : int
        Rows per step; every row is drawn once per epoch.
    optimizer : {"sgd", "adam"}
    learning_rate : float
    halve_every : int, optional
        Halve the learning rate every so many steps; never, if None.
    weight_decay : float
        L2 penalty on the weights. The default is the paper's, so that results can be compared; a tenth of it predicts
        better on four of the paper's five data sets.
    scaling : {"range", "deviation", "none"}
        Scale numbers to [0, 1] over the training range, to mean 0 and standard deviation 1, or not at all.
    patience : int or "auto", optional
        Hold out rows of every class, and stop after so many history records without a lower held-out loss; there are 50
        records or more. If None, all steps are taken. By default 5 for fewer than 2,000 rows, if ``n_iterations`` is
        "auto" too, and None otherwise.
    validation_fraction : float
        Share of rows held out, with patience.
    roles : Roles, optional
        Column roles of a frame; inferred from the values by default, see :meth:`Roles.infer`.
    network : callable, optional
        Returns another network, a torch module, given the number of inputs and of outputs (one for two classes). Frozen
        parameters stay frozen.
    progress : callable or False, optional
        Called with each record of the history. By default, a progress bar appears after two seconds on a terminal or in
        a notebook; False for none.
    device : str
        "auto" for the GPU if there is one, or any name that torch knows.
    random_state : int, optional
        Seed; the same seed gives the same network on the same machine.

    Attributes
    ----------
    classes_ : array
    history_ : list of dict
        Training records: iteration, epoch, seconds, loss, held_out_loss, score_spread.
    network_ : torch module
    coding_ : InputCoding
        Encodes rows as network inputs.

    Examples
    --------
    >>> from likewise import NetworkClassifier, load_dataset
    >>> data = load_dataset("planted")
    >>> model = NetworkClassifier(n_iterations=200, roles=data.roles, random_state=0).fit(data.train.X, data.train.y)
    >>> model.predict_proba(data.test.X).shape
    (500, 2)
    """

    hidden: tuple[int, ...] = (64, 64)  # not by name alone
    _takes_pairs: ClassVar[bool] = True


@dataclass(eq=False, repr=False)
class AntiDROClassifier(BaseNetworkClassifier):
    """Train a network on the loss of every row plus the loss of its worst antidote.

    Each step takes up to ``n_antidotes`` antidotes of each row in the batch, all comparable to the row and with a
    different sensitive attribute, finds the one with the highest loss, and adds that loss to the row's own. A row
    without antidotes contributes its own loss only.

    Parameters
    ----------
    generator : generator
        Generates the antidotes; has the roles and the rule. A fitted one is used as it is; any other is cloned and
        fitted to the training rows. Wrapped in a :class:`~sklearn.frozen.FrozenEstimator`, it stays fitted when this
        classifier is cloned, so that searches and folds share it.
    n_antidotes : int, optional
        Maximum number of antidotes per row (M); None for all that the rounds yield.
    antidote_weight : float
        Weight of the antidotes' loss. With 0 this is the plain network.
    objective : {"worst", "mean", "consistency"}
        What to add for a row: the loss of its worst antidote, the mean loss of its antidotes, or the largest gap
        between the probabilities of the row and of an antidote.
    rounds : int, optional
        How many rounds of generation to run at most, until all rows have enough antidotes; ``n_antidotes``, or 1, by
        default.
    refresh_every : int, optional
        Generate new antidotes after this many epochs. By default the first ones are used throughout.
    discard_sensitive : bool
        Whether to hide the sensitive columns from the network in training and prediction; the rule and the generator
        see them. Frames to predict for may then lack them.
    hidden, n_iterations, batch_size, optimizer, learning_rate, halve_every, scaling, patience, validation_fraction
        As in :class:`NetworkClassifier`.
    weight_decay : float
        As in :class:`NetworkClassifier`, but a tenth of it: with antidotes, the paper's 0.01 makes all scores nearly
        equal on data that are hard to predict. :meth:`as_printed` has the paper's.
    roles : Roles, optional
        Column roles; the generator's by default.
    network, progress, device, random_state
        As in :class:`NetworkClassifier`.

    Attributes
    ----------
    classes_ : array
    generator_ : generator
        The fitted generator.
    antidotes_ : Antidotes
        The antidotes used last.
    discarded_ : list of str
        Columns that the network does not see.
    history_ : list of dict
        As in :class:`NetworkClassifier`, with ``own_loss``, ``antidote_loss`` and ``coverage``, the share of rows that
        have antidotes.
    network_ : torch module
    coding_ : InputCoding
        Encodes rows as network inputs.

    Examples
    --------
    >>> from likewise import AntiDROClassifier, UniformGenerator, load_dataset
    >>> data = load_dataset("planted")
    >>> generator = UniformGenerator(data.roles, data.rule, random_state=0)
    >>> model = AntiDROClassifier(generator, n_iterations=200, random_state=0).fit(data.train.X, data.train.y)
    >>> model.predict(data.test.X).shape
    (500,)
    """

    _takes_pairs: ClassVar[bool] = True

    generator: BaseGenerator | None = None
    n_antidotes: int | None = 5
    antidote_weight: float = 1.0
    _: KW_ONLY
    objective: str = "worst"
    rounds: int | None = None
    refresh_every: int | None = None
    discard_sensitive: bool = False
    weight_decay: float = 1e-3

    @classmethod
    def as_printed(cls, generator: BaseGenerator | None = None, **changes: Any) -> Self:
        """Return a classifier with the settings that the paper prints (algorithm 1, Appendix B).

        They are all antidotes of a row instead of five, an L2 penalty of 0.01, and 10,000 steps whatever the number of
        rows. The paper leaves layer widths and batch size open; these are the defaults.

        Parameters
        ----------
        generator : generator
            Generates the antidotes, such as :meth:`AdversarialGenerator.as_printed`.
        **changes
            Any parameter of the class, in place of the printed one.

        Returns
        -------
        AntiDROClassifier

        Examples
        --------
        >>> from likewise import AntiDROClassifier, UniformGenerator, load_dataset
        >>> data = load_dataset("planted")
        >>> AntiDROClassifier.as_printed(UniformGenerator(data.roles, data.rule), rounds=5).weight_decay
        0.01
        """
        return cls(generator, **{**PRINTED, **changes})

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, antidotes: Antidotes | None = None) -> Self:
        """Fit the network.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, or array of numbers
        y : array
            Labels of any kind, with two or more classes.
        sample_weight : array, optional
            Weight of each row and of its antidotes.
        antidotes : Antidotes, optional
            Antidotes of these rows to use instead of the generator, so that a sweep generates them only once.

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
            refuse_other_columns(self.generator, frame)  # before the network fails on them
        known = getattr(self.generator, "roles", None) if self._given is None else self._given.schema.roles
        roles = known if self.roles is None and isinstance(known, Roles) else super()._find_roles(frame)
        self.discarded_: list[str] = []
        if self.discard_sensitive:
            self.discarded_ = list(known.sensitive if isinstance(known, Roles) else roles.sensitive)
            if not self.discarded_:
                raise ParameterError(
                    "is True, but no roles tell which columns are sensitive. Give roles.", "discard_sensitive"
                )
        return ignore_columns(roles, self.discarded_)

    def _see(self, X: Any) -> Any:
        if self.discarded_ and is_frame(X) and hasattr(self, "feature_names_in_"):
            kept = leave_out(X, self.discarded_)
            refuse_unknown_columns(kept, self.feature_names_in_, self.discarded_)
            return kept
        return super()._see(X)

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
            is_steady=self._given is not None or not self.refresh_every,
        )

    def _draw(self, people: People, epoch: int) -> Antidotes | None:
        """Return the antidotes of an epoch, or None to keep the last ones."""
        if epoch and (self._given is not None or not self.refresh_every or epoch % self.refresh_every):
            return None
        if self._given is not None:
            self.antidotes_ = self._given
        else:
            seed = draw_seed(self.seed_, "antidotes", epoch)
            rounds = self.n_antidotes or 1 if self.rounds is None else self.rounds
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
                f"These antidotes come from {antidotes.n_sources:,} rows; X has {n_rows:,}. Give the rows they come "
                "from."
            )
        here = antidotes.schema.encode(people.frame, people.y)[antidotes.source]
        there = antidotes.sources
        is_other = here.classes[here.labels] != there.classes[there.labels]
        for kind in KINDS:
            is_other |= (getattr(here, kind) != getattr(there, kind)).any(axis=1)
        if is_other.any():
            row = int(antidotes.source[np.argmax(is_other)])
            raise GenerationError(
                f"These antidotes come from other rows, or from rows in another order: row {row} of X differs from "
                "their source. Give the rows they come from."
            )

    def _collapse_advice(self) -> str:
        weights = f"weight_decay ({self.weight_decay:g}) or antidote_weight ({self.antidote_weight:g})"
        return f"Lower {weights}, or train longer."

    def _refuse_odd_parameters(self) -> None:
        super()._refuse_odd_parameters()
        check_flag("discard_sensitive", self.discard_sensitive)
        check_choice("objective", self.objective, ("worst", "mean", "consistency"))
        check_number("antidote_weight", self.antidote_weight, least=0.0)
        for name in ("n_antidotes", "rounds", "refresh_every"):
            check_count(name, getattr(self, name), least=1)
