"""The paper's generator: networks that learn from real comparable pairs, one against the other."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray

from likewise._random import Keys, check_seed, draw_seed, stream
from likewise.comparable import Comparability, explain_no_pairs, sample_pairs
from likewise.exceptions import GenerationError
from likewise.generation._adversarial_checks import check_settings
from likewise.generation._encoder import Encoder
from likewise.generation._folders import Contents
from likewise.generation._generator import BaseGenerator
from likewise.generation._quality import comparability_ratio
from likewise.nets._internal import choose_device, seeded
from likewise.schema import CodedTable, Roles

if TYPE_CHECKING:
    from likewise.generation._training import Training

log = logging.getLogger(__name__)

Record = dict[str, Any]
Asked = tuple[CodedTable, NDArray[np.int32]]

MAX_PAIRS: Final = 4_000_000  # learned from; a uniform sample, where there are more
ROWS_TO_EVALUATE: Final = 2_000


class AdversarialGenerator(BaseGenerator):
    """Learn from real comparable pairs what a comparable row looks like (the paper's generator, section 3.1).

    A generator makes a row of a source, the sensitive values asked for and noise; a critic compares it with the row
    that the source is really paired with. What they make need not be comparable: the rows that are, are kept.

    Parameters
    ----------
    roles : Roles
        What the columns are.
    comparability : Comparability, optional
        The rule; ``Comparability()`` if not given. Columns that it lets not change are copied from the source.
    n_iterations : int
        Steps of training; each improves both networks.
    batch_size : int
        Pairs a step, drawn anew, in both directions; as many as there are, if these are fewer.
    n_noise : int
        Length of the noise vector z.
    width : int
        Of the hidden layers.
    dropout : float
        Of the critic.
    n_critic : int
        Steps of the critic for each of the generator.
    learning_rate : float
        Of Adam, for both networks.
    weight_decay : float
        Of the generator.
    max_modes : int
        How many Gaussians a continuous column is taken apart into, at most.
    spike_share : float
        A number that this share of the people has, such as no capital gain, is a mode of its own, and made exactly.
        Not in the paper; with more than 1 there are none.
    heads : {"linear", "slices"}
        The last layer. Linear: one product from all that is known to all logits. Slices: Appendix B to the letter, a
        hidden layer as long as the row, of which each column sees its own part; it learns more slowly.
    residual : bool
        Whether the generator starts from the source and learns what to change. Not in the paper; False is the paper's.
    likeliest : bool
        Whether to make the likeliest value of each column, given the noise, or draw one as in training; drawn columns
        know nothing of each other, so that more of them change than in real pairs.
    evaluate_every : int
        Steps between two records of losses and of the share of comparable rows.
    stop_at_ratio : float, optional
        Stop when this share of the rows made is comparable to their sources.
    checkpoint : str or Path, optional
        A folder to keep the state of training in. If it is there already, training goes on from it, and ends with
        the same bytes as if it had never stopped.
    checkpoint_every : int
        Steps between two savings, rounded up to a record.
    progress : callable, optional
        Called with each record.
    compile_step : bool or "auto"
        Whether to run a step on a GPU as one captured graph; "auto" if it can be.
    device : str
        "auto" for the GPU if there is one, or any name that torch knows.
    random_state : int, optional
        The same number makes the same antidotes, on the same machine.

    Attributes
    ----------
    history_ : list of dict
        One record every ``evaluate_every`` steps: iteration, seconds (of these steps), losses, comparability
        ratios.
    n_pairs_ : int
        How many comparable pairs it learned from.

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

    history_: list[Record]

    def __init__(
        self,
        roles: Roles,
        comparability: Comparability | None = None,
        *,
        n_iterations: int = 5_000,
        batch_size: int = 4096,
        n_noise: int = 128,
        width: int = 256,
        dropout: float = 0.5,
        n_critic: int = 1,
        learning_rate: float = 2e-4,
        weight_decay: float = 1e-6,
        max_modes: int = 10,
        spike_share: float = 0.1,
        heads: Literal["linear", "slices"] = "linear",
        residual: bool = True,
        likeliest: bool = True,
        evaluate_every: int = 100,
        stop_at_ratio: float | None = None,
        checkpoint: str | Path | None = None,
        checkpoint_every: int = 500,
        progress: Callable[[Record], None] | None = None,
        compile_step: bool | Literal["auto"] = "auto",
        device: str = "auto",
        random_state: int | None = None,
    ) -> None:
        self.roles = roles
        self.comparability = comparability
        self.n_iterations = n_iterations
        self.batch_size = batch_size
        self.n_noise = n_noise
        self.width = width
        self.dropout = dropout
        self.n_critic = n_critic
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.max_modes = max_modes
        self.spike_share = spike_share
        self.heads = heads
        self.residual = residual
        self.likeliest = likeliest
        self.evaluate_every = evaluate_every
        self.stop_at_ratio = stop_at_ratio
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.progress = progress
        self.compile_step = compile_step
        self.device = device
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from people: train until the last iteration, or until the ratio asked for.

        Parameters
        ----------
        X : pandas, polars or pyarrow table
        y : array, optional
            Labels; the label column of ``X``, if not given.

        Returns
        -------
        self
        """
        for _ in self.iter_fit(X, y):
            pass
        return self

    def iter_fit(self, X: Any, y: Any = None) -> Iterator[Record]:
        """Train as :meth:`fit` does, and hand out each record: to watch, and to stop by not asking for more.

        Parameters
        ----------
        X : pandas, polars or pyarrow table
        y : array, optional
            Labels; the label column of ``X``, if not given.

        Yields
        ------
        dict

        Examples
        --------
        >>> from likewise import AdversarialGenerator, load_dataset
        >>> data = load_dataset("planted")
        >>> quick = {"evaluate_every": 2, "batch_size": 256, "width": 64, "max_modes": 3}
        >>> generator = AdversarialGenerator(data.roles, data.rule, **quick, random_state=0)
        >>> for record in generator.iter_fit(data.train.X, data.train.y):
        ...     if record["iteration"] >= 4:
        ...         break
        >>> [record["iteration"] for record in generator.history_]
        [2, 4]
        """
        check_settings(self.get_params(deep=False))
        super().fit(X, y)
        # what only training needs goes with it: the pairs are as large as the table
        return self._train(*(self.__dict__.pop(name) for name in ("_training", "_asked", "_run")))

    def _describe(self) -> Contents:
        from likewise.generation._checkpoints import describe

        return describe(self)

    @classmethod
    def _load(cls, path: str | Path, device: str) -> Self:
        from likewise.generation._checkpoints import load_generator

        return load_generator(cls, path, device)

    def _learn(self, table: CodedTable) -> None:
        """Find the pairs and build the networks; :meth:`iter_fit` trains them."""
        from likewise.generation._checkpoints import describe_run, resume
        from likewise.generation._training import Settings, Training

        self.device_ = choose_device(self.device)
        self._run = describe_run(self, table)
        saved = resume(self, self._run)
        self.seed_ = check_seed(self.random_state) if saved is None else saved.seed
        pairs = sample_pairs(table, self._rule, n=MAX_PAIRS, random_state=stream(self.seed_, "pairs"))
        if not len(pairs):
            raise GenerationError(
                f"There are no comparable pairs to learn from among {len(table):,} rows. "
                f"{explain_no_pairs(self._rule, table, self.roles.label)} A GibbsGenerator or UniformGenerator needs "
                "no pairs."
            )
        self.n_pairs_ = len(pairs)
        self.encoder_ = Encoder.learn(table, self._rule, self.max_modes, self.spike_share, self.seed_)
        both = np.stack([pairs.left, pairs.right]).astype(np.int64)
        settings = Settings(**{name: getattr(self, name) for name in Settings.__slots__})
        limits = self._rule.continuous_limits(table)
        rows = self.encoder_.encode(table)
        self._training = Training(self.encoder_, rows, both, limits, settings, self.seed_, self.device_)
        self._generator, self._vectors = self._training.generator, self._training.vectors
        self._asked = self._draw_sources(table)
        self.history_, self.n_iterations_ = [], 0
        if saved is not None:
            self._training.restore(saved.state)
            self.history_, self.n_iterations_ = saved.history, saved.n_iterations

    def _build(self, weights: Mapping[str, NDArray[Any]]) -> None:
        """Build the network of a loaded generator."""
        from likewise.generation._networks import RowGenerator, Vectors, restore_weights

        start = (weights["pull"], weights["reach"]) if self.residual else None
        network = RowGenerator(self.encoder_.layout, self.n_noise, self.width, self.heads, start)
        self._generator = restore_weights(network, weights).to(self.device_)
        self._vectors = Vectors(self.encoder_).to(self.device_)

    def _train(self, training: Training, asked: Asked, run: Record) -> Iterator[Record]:
        from likewise.generation._checkpoints import save_checkpoint

        while self.n_iterations_ < self.n_iterations and not self._is_enough():
            begun = perf_counter()
            n_steps = min(self.evaluate_every, self.n_iterations - self.n_iterations_)
            is_whole = n_steps == self.evaluate_every
            if self.checkpoint is not None and not is_whole:  # what is drawn depends on where a record begins, so that
                save_checkpoint(self, training, run)  # more iterations, asked for later, have to go on from here
            losses = training.run(self.n_iterations_, n_steps)
            seconds = perf_counter() - begun
            if not np.isfinite(list(losses.values())).all():
                raise GenerationError(
                    f"Training lost its way before iteration {self.n_iterations_ + n_steps:,}: its losses are no "
                    f"numbers any more. Lower learning_rate (now {self.learning_rate:g})."
                )
            n_saved, self.n_iterations_ = self.n_iterations_ // self.checkpoint_every, self.n_iterations_ + n_steps
            record = {"iteration": self.n_iterations_, "seconds": seconds, **losses, **self._evaluate(asked)}
            self.history_.append(record)
            log.info(
                "iteration %d: %.3f of the rows made are comparable", self.n_iterations_, record["ratio"]["together"]
            )
            is_due = self.n_iterations_ == self.n_iterations or self._is_enough()
            is_due |= self.n_iterations_ // self.checkpoint_every > n_saved
            if self.checkpoint is not None and is_whole and is_due:
                save_checkpoint(self, training, run)
            if self.progress is not None:
                self.progress(record)
            yield record

    def _is_enough(self) -> bool:
        if self.stop_at_ratio is None or not self.history_:
            return False
        return bool(self.history_[-1]["ratio"]["together"] >= self.stop_at_ratio)

    def _propose(self, sources: CodedTable, wanted: NDArray[np.int32], seed: int) -> CodedTable:
        with seeded(seed, self.device_):
            return self._draw(sources, wanted, None)

    def _propose_by_row(self, sources: CodedTable, wanted: NDArray[np.int32], keys: Keys) -> CodedTable:
        return self._draw(sources, wanted, keys)

    def _draw(self, sources: CodedTable, wanted: NDArray[np.int32], keys: Keys | None) -> CodedTable:
        from likewise.generation._row_drawing import draw_rows

        if not len(sources):
            return sources
        rows = self.encoder_.encode(sources)
        places = self.encoder_.sensitive_places(wanted, sources.names["sensitive"])
        drawn = draw_rows(self._generator, self._vectors, rows, places, keys, likeliest=self.likeliest)
        made = self.encoder_.decode(sources, rows, drawn)
        # a row that did not take the values asked for is none; with the source's own it is left out
        obeys = (made.sensitive == wanted).all(axis=1, keepdims=True)
        return replace(made, sensitive=np.where(obeys, made.sensitive, sources.sensitive))

    def _draw_sources(self, table: CodedTable) -> Asked:
        """Choose rows and the values to ask for, the same for every record."""
        random = stream(self.seed_, "evaluate")
        some = table[np.sort(random.choice(len(table), min(len(table), ROWS_TO_EVALUATE), replace=False))]
        rows, wanted = self.targets_.ask(some, self._rule)
        kept = np.sort(random.choice(len(rows), min(len(rows), ROWS_TO_EVALUATE), replace=False))
        return some[rows[kept]], wanted[kept]

    def _evaluate(self, asked: Asked) -> Record:
        """Measure which share of the rows made is comparable to their sources, by kind, and how much they change."""
        sources, wanted = asked
        made = self._propose(sources, wanted, draw_seed(self.seed_, "evaluate", self.n_iterations_))
        made = self.schema_.snap(made)
        changes = float((made.discrete != sources.discrete).sum(axis=1).mean())
        return {"ratio": comparability_ratio(sources, made, self._rule), "discrete_changes": changes}
