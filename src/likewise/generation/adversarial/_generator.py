"""The paper's generator: two networks trained against each other on comparable pairs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import ceil
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray

from likewise._checks import check_choice, check_count, check_flag, check_number
from likewise._progress import follow, tell
from likewise._random import Keys, check_seed, draw_seed, stream
from likewise.comparable import Comparability, explain_no_pairs, sample_pairs
from likewise.exceptions import GenerationError, ParameterError
from likewise.generation._antidotes import comparability_ratio
from likewise.generation._generator import BaseGenerator
from likewise.generation._row_keys import fold
from likewise.generation._storage import Description
from likewise.generation.adversarial._encoding import Encoder, Modes, RowLayout
from likewise.nets._internal import choose_device, fixed_threads
from likewise.schema import CodedTable, Roles

if TYPE_CHECKING:
    from likewise.generation.adversarial._training import Training

log = logging.getLogger(__name__)

Record = dict[str, Any]
Requests = tuple[CodedTable, NDArray[np.int32]]  # sources, and the sensitive values to give them

MAX_PAIRS: Final = 4_000_000  # to learn from; a uniform sample if there are more
ROWS_TO_EVALUATE: Final = 2_000
COUNTS: Final = ("batch_size", "width", "n_critic", "max_modes", "evaluate_every")
LIMITS: Final = {"dropout": 1.0, "spike_share": None, "learning_rate": None, "weight_decay": None}  # below
LEARNED: Final = ("history", "n_iterations", "n_pairs", "seed")
# what the paper prints (section 3.1, Appendix B) where the defaults differ
PRINTED: Final[Record] = {
    "n_epochs": 500,
    "spike_share": 2.0,
    "heads": "slices",
    "residual": False,
    "likeliest": False,
    "distinct": False,
}


@dataclass(eq=False, repr=False, kw_only=True)
class AdversarialGenerator(BaseGenerator):
    """Learn from comparable pairs what a comparable row looks like, by adversarial training.

    A generator turns a source, the requested sensitive values and noise into a row; a critic compares it with the
    actual partner of the source. The rows need not be comparable: only those that are, are kept. The design is that of
    the paper (section 3.1), the defaults are ours: most of their rows are comparable. :meth:`as_printed` has the
    paper's settings.

    Parameters
    ----------
    roles : Roles
        Column roles.
    rule : Comparability, optional
        The rule; ``Comparability()`` by default. Columns that it does not allow to change are copied from the source.
    n_iterations : int
        Training steps; each updates both networks.
    n_epochs : int, optional
        Instead of ``n_iterations``: passes over as many pairs as there are training rows.
    batch_size : int
        Pairs per step, drawn with replacement, in both directions; at most the number of pairs.
    n_noise : int
        Length of the noise vector z.
    width : int
        Hidden-layer width.
    dropout : float
        Dropout of the critic.
    n_critic : int
        Critic updates per generator update.
    learning_rate : float
        Adam's learning rate, for both networks.
    weight_decay : float
        L2 penalty on the generator's weights.
    max_modes : int
        Maximum number of Gaussians per continuous column.
    spike_share : float
        A number that this share of the rows has, such as no capital gain, is a mode of its own and generated exactly.
        Not in the paper; above 1 there are none.
    heads : {"linear", "slices"}
        Output layer. "linear" is one product from all hidden units to all logits. "slices" is Appendix B to the letter,
        a hidden layer of the length of the row, of which each column sees its own part; it learns more slowly.
    residual : bool
        Whether the generator starts from the source and learns what to change. Not in the paper; False is the paper's.
    likeliest : bool
        Generate the likeliest value of each column given the noise, or draw one as in training; drawn columns are
        independent, so that more of them change than in actual pairs. The paper draws.
    distinct : bool
        Whether the antidotes of a row are distinct; the paper keeps repeated ones. With row ids they always are.
    evaluate_every : int
        Steps between two records of losses and of the share of comparable rows.
    progress : callable or False, optional
        Called with each record of the history. By default, a progress bar appears after two seconds on a terminal or in
        a notebook; False for none.
    compile_step : bool or "auto"
        Whether to run a step on a GPU as one captured graph; "auto" where possible.
    device : str
        "auto" for the GPU if there is one, or any name that torch knows.
    random_state : int, optional
        Seed; the same seed gives the same antidotes on the same machine.

    Attributes
    ----------
    history_ : list of dict
        One record every ``evaluate_every`` steps: iteration, seconds (of these steps), losses, comparability ratios.
    n_pairs_ : int
        Number of comparable pairs it learned from.

    Examples
    --------
    >>> from likewise import AdversarialGenerator, load_dataset
    >>> data = load_dataset("planted")
    >>> quick = {"n_iterations": 4, "batch_size": 256, "width": 64, "max_modes": 3}
    >>> generator = AdversarialGenerator(data.roles, data.rule, **quick, random_state=0)
    >>> antidotes = generator.fit(data.train.X, data.train.y).generate(data.train.X, data.train.y)
    >>> antidotes.coverage > 0.5
    True
    """

    _saved_as: ClassVar[str] = "AdversarialGenerator 1"
    _rebuilt: ClassVar[tuple[str, ...]] = ("device_", "encoder_", "_generator", "_vectors")
    history_: list[Record] = field(init=False)

    n_iterations: int = 5_000
    n_epochs: int | None = None
    batch_size: int = 4096
    n_noise: int = 128
    width: int = 256
    dropout: float = 0.5
    n_critic: int = 1
    learning_rate: float = 2e-4
    weight_decay: float = 1e-6
    max_modes: int = 10
    spike_share: float = 0.1
    heads: Literal["linear", "slices"] = "linear"
    residual: bool = True
    likeliest: bool = True
    distinct: bool = True
    evaluate_every: int = 100
    progress: Callable[[Record], None] | bool | None = None
    compile_step: bool | Literal["auto"] = "auto"
    device: str = "auto"

    @classmethod
    def as_printed(cls, roles: Roles, rule: Comparability | None = None, **changes: Any) -> Self:
        """Return a generator with the settings that the paper prints (section 3.1, Appendix B).

        They are 500 epochs over as many pairs as there are rows, a plain Gaussian mixture for numbers, output heads
        that see their own slice, no start from the source, drawn values, and repeated antidotes kept.

        Parameters
        ----------
        roles : Roles
            Column roles.
        rule : Comparability, optional
            The rule.
        **changes
            Any parameter of the class, in place of the printed one.

        Returns
        -------
        AdversarialGenerator

        Examples
        --------
        >>> from likewise import AdversarialGenerator, load_dataset
        >>> data = load_dataset("planted")
        >>> AdversarialGenerator.as_printed(data.roles, data.rule).heads
        'slices'
        """
        return cls(roles, rule, **{**PRINTED, **changes})

    def _describe_learned(self) -> Description:
        encoder = self.encoder_
        record = {
            "layout": encoder.layout.to_dict(),
            "continuous": list(encoder.continuous),
            "marks": dict(encoder.marks),
            **{name: getattr(self, f"{name}_") for name in LEARNED},
        }
        arrays = {
            **{f"weights.{name}": tensor.cpu().numpy() for name, tensor in self._generator.state_dict().items()},
            **{f"modes.{name}": array for name, array in encoder.modes.to_arrays().items()},
        }
        return Description(record, arrays)

    def _restore_learned(self, description: Description, device: str) -> None:
        record = description.record
        self.device_ = choose_device(device)
        modes, layout = Modes.from_arrays(description.arrays_under("modes.")), RowLayout.from_dict(record["layout"])
        self.encoder_ = Encoder(layout, modes, tuple(record["continuous"]), record["marks"])
        self._build(description.arrays_under("weights."))
        for name in LEARNED:
            setattr(self, f"{name}_", record[name])

    def _refuse_odd_parameters(self) -> None:
        super()._refuse_odd_parameters()
        for name in ("n_iterations", "n_noise", *COUNTS):
            check_count(name, getattr(self, name), or_none=False, least=int(name in COUNTS))
        if self.batch_size == 1:
            raise ParameterError("is 1; give 2 or more, as batches are normalized.", "batch_size")
        check_choice("heads", self.heads, ("linear", "slices"))
        check_count("n_epochs", self.n_epochs, least=1)
        for name in ("residual", "likeliest", "distinct"):
            check_flag(name, getattr(self, name))
        if self.compile_step not in (True, False, "auto"):
            raise ParameterError(f"is {self.compile_step!r}; give True, False or 'auto'.", "compile_step")
        for name, limit in LIMITS.items():
            check_number(name, getattr(self, name), least=0.0, below=limit)

    def _learn(self, table: CodedTable) -> None:
        """Find the pairs, build the networks, and train them."""
        from likewise.generation.adversarial._training import Training, TrainingSettings

        self.device_ = choose_device(self.device)
        self.seed_ = check_seed(self.random_state)
        pairs = sample_pairs(table, self._rule, n=MAX_PAIRS, random_state=stream(self.seed_, "pairs"))
        if not len(pairs):
            raise GenerationError(
                f"There are no comparable pairs to learn from among {len(table):,} rows. "
                f"{explain_no_pairs(self._rule, table, self.roles.label)} The Gibbs and uniform "
                "generators need no pairs."
            )
        self.n_pairs_ = len(pairs)
        self.encoder_ = Encoder.learn(table, self._rule, self.max_modes, self.spike_share, self.seed_)
        both = np.stack([pairs.left, pairs.right]).astype(np.int64)
        settings = TrainingSettings(**{name: getattr(self, name) for name in TrainingSettings.__slots__})
        limits = self._rule.continuous_limits(table)
        rows = self.encoder_.encode(table)
        with fixed_threads(self.device_, self._n_products):
            training = Training(self.encoder_, rows, both, limits, settings, self.seed_, self.device_)
        self._generator, self._vectors = training.generator, training.vectors
        n_steps = self.n_iterations if self.n_epochs is None else self.n_epochs * ceil(len(table) / self.batch_size)
        self._train(training, self._draw_sources(table), n_steps)

    def _build(self, weights: Mapping[str, NDArray[Any]]) -> None:
        """Build the network of a loaded generator."""
        from likewise.generation.adversarial._networks import RowGenerator, Vectors, restore_weights

        start = (weights["pull"], weights["reach"]) if self.residual else None
        network = RowGenerator(self.encoder_.layout, self.n_noise, self.width, self.heads, start)
        self._generator = restore_weights(network, weights).to(self.device_)
        self._vectors = Vectors(self.encoder_).to(self.device_)

    def _train(self, training: Training, requests: Requests, n_all: int) -> None:
        """Take all steps, with a record of the history every few."""
        self.history_, self.n_iterations_ = [], 0
        with follow(f"Fitting {type(self).__name__}", n_all, self.progress) as show:
            while self.n_iterations_ < n_all:
                begun = perf_counter()
                n_steps = min(self.evaluate_every, n_all - self.n_iterations_)
                with fixed_threads(self.device_, self._n_products):
                    losses = training.run(self.n_iterations_, n_steps)
                seconds = perf_counter() - begun
                self.n_iterations_ += n_steps
                if not np.isfinite(list(losses.values())).all():
                    raise GenerationError(
                        f"Training diverged before iteration {self.n_iterations_:,}: the losses are NaN or infinite. "
                        f"Lower learning_rate (now {self.learning_rate:g})."
                    )
                record = {"iteration": self.n_iterations_, "seconds": seconds, **losses, **self._evaluate(requests)}
                self.history_.append(record)
                share = record["ratio"]["together"]
                log.info("iteration %d: %.3f of the rows are comparable", self.n_iterations_, share)
                tell(self.progress, record)
                show(self.n_iterations_, f"{share:.0%} comparable")

    @property
    def _keeps_repeated(self) -> bool:
        return not self.distinct

    def _propose(self, sources: CodedTable, wanted: NDArray[np.int32], keys: Keys) -> CodedTable:
        from likewise.generation.adversarial._networks import draw_rows

        if not len(sources):
            return sources
        rows = self.encoder_.encode(sources)
        places = self.encoder_.sensitive_places(wanted, sources.names["sensitive"])
        with fixed_threads(self.device_, self._n_products):
            drawn = draw_rows(
                *(self._generator, self._vectors, rows, sources.continuous, places, keys), likeliest=self.likeliest
            )
        made = self.encoder_.decode(sources, rows, drawn)
        # a row without the requested values is invalid; with those of the source it is dropped later
        obeys = (made.sensitive == wanted).all(axis=1, keepdims=True)
        return made if obeys.all() else replace(made, sensitive=np.where(obeys, made.sensitive, sources.sensitive))

    @property
    def _n_products(self) -> int:
        """Number of multiplications in a training step, about."""
        return self.batch_size * self.width * (self.encoder_.layout.n_given + self.n_noise + self.width)

    def _draw_sources(self, table: CodedTable) -> Requests:
        """Choose the rows and requested values that all records evaluate."""
        random = stream(self.seed_, "evaluate")
        some = table[np.sort(random.choice(len(table), min(len(table), ROWS_TO_EVALUATE), replace=False))]
        rows, wanted = self.targets_.ask(some, self._rule)
        kept = np.sort(random.choice(len(rows), min(len(rows), ROWS_TO_EVALUATE), replace=False))
        return some[rows[kept]], wanted[kept]

    def _evaluate(self, requests: Requests) -> Record:
        """Return the share of generated rows that are comparable, by kind, and how much they change."""
        sources, wanted = requests
        keys = fold(np.arange(len(sources), dtype=np.uint64), draw_seed(self.seed_, "evaluate", self.n_iterations_))
        made = self._propose(sources, wanted, keys)
        made = self.schema_.snap(made)
        changes = float((made.discrete != sources.discrete).sum(axis=1).mean())
        return {"ratio": comparability_ratio(sources, made, self._rule), "discrete_changes": changes}
