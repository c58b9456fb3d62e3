"""The base of all network classifiers: everything but what is added to the loss."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from likewise._checks import check_choice, check_count, check_number
from likewise._estimators import PredictsByProbability, fit_guard
from likewise._extras import require
from likewise._models import SavedModel
from likewise._progress import follow, tell
from likewise._random import check_seed, draw_seed, stream
from likewise._warnings import has_collapsed, warn
from likewise.exceptions import ParameterError, SchemaError, ScoresCollapsed
from likewise.nets._device import choose_device, device_here, fixed_threads, seeded
from likewise.nets._inputs import SCALINGS, InputCoding, guess_roles
from likewise.schema import Roles
from likewise.schema._internal import (
    hold_out,
    open_frame,
    take_frame,
    take_labels,
    take_weights,
)

if TYPE_CHECKING:
    from likewise.nets._network import Objective, People

log = logging.getLogger(__name__)

# How long to train where neither n_iterations nor patience is set: small tables are learned by heart by then.
MOST_STEPS: Final = 10_000
SMALL_TABLE: Final = 2_000  # rows: with fewer, some are held out to stop early by
EPOCHS: Final = 200  # of a small table
FEWEST_STEPS: Final = 500
PATIENCE: Final = 5  # records of the history

MAX_MONITORED: Final = 4_096  # training rows whose scores are measured during training


class Length(NamedTuple):
    """How long to train: gradient steps at most, and history records without a lower held-out loss."""

    n_iterations: int
    patience: int | None


@dataclass(eq=False, repr=False, kw_only=True)
class BaseNetworkClassifier(SavedModel, PredictsByProbability, ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Base of the network classifiers: frames, labels and weights, training, collapse, prediction and saving.

    A subclass defines what each step minimizes (``_objective``).
    """

    hidden: tuple[int, ...] = (64, 64)
    n_iterations: int | str = "auto"
    batch_size: int = 256
    optimizer: str = "sgd"
    learning_rate: float = 0.1
    halve_every: int | None = 2_500
    weight_decay: float = 1e-2
    scaling: str = "range"
    patience: int | str | None = "auto"
    validation_fraction: float = 0.1
    roles: Roles | None = None
    network: Callable[[int, int], Any] | None = None
    progress: Callable[[dict[str, Any]], None] | bool | None = None
    device: str = "auto"
    random_state: int | None = None
    history_: list[dict[str, Any]] = field(init=False)

    _takes_pairs: ClassVar[bool] = False  # whether a subclass trains on added losses
    # set for the time of one fit
    _added_loss: Callable[[Objective, Any, People], Objective] | None = field(init=False, default=None)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the network.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, or array of numbers
        y : array
            Labels of any kind, with two or more classes.
        sample_weight : array, optional
            Weight of each row.

        Returns
        -------
        self
        """
        self._refuse_odd_parameters()
        require("torch", "torch", f"A {type(self).__name__}")
        with fit_guard(self):
            people = self._take_people(X, y, sample_weight)
            with fixed_threads(self.device_, len(people.y) * people.inputs.n_inputs):
                self._learn(people)
        self._warn_of_collapse(people)
        return self

    def _take_people(self, X: Any, y: Any, sample_weight: Any) -> People:
        """Return the training rows, encoded."""
        frame = take_frame(self, X, y, reset=True)
        labels, classes = take_labels(y)
        weights = take_weights(sample_weight, len(labels))
        self.device_ = choose_device(self.device)
        self.classes_, self.seed_, self.history_ = classes, check_seed(self.random_state), []
        self.coding_ = InputCoding.learn(frame, self._find_roles(frame), self.scaling)
        if not self.coding_.names:
            raise SchemaError("No column is left to learn from: all are ignored. Give at least one another role.")
        return self._people(frame, classes[labels], labels, weights)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class.

        Parameters
        ----------
        X : as in :meth:`fit`

        Returns
        -------
        array, shape (n_rows, n_classes)
        """
        check_is_fitted(self, "network_")
        frame = self._see(X)
        from likewise.nets._network import DeviceInputs, predict_shares

        return predict_shares(self.network_, DeviceInputs(self.coding_.encode(frame), self.device_))

    def __getstate__(self) -> dict[str, Any]:
        """Return weights as arrays, which a file can hold, for the device of whoever reads it."""
        state = super().__getstate__()
        if "network_" in state:
            weights = self.network_.state_dict()
            state["network_"] = {name: tensor.detach().cpu().numpy() for name, tensor in weights.items()}
            state["progress"] = None if callable(self.progress) else self.progress
            del state["device_"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "network_" not in state:
            return
        import torch

        self.device = device_here(self.device)
        self.device_ = choose_device(self.device)
        with seeded(self.seed_, self.device_), torch.device("cpu" if self.network else "meta"):  # no room for weights
            network = self._build(len(self.coding_.names), self._n_outputs)
        weights = {name: torch.as_tensor(np.array(array)) for name, array in state["network_"].items()}
        network.load_state_dict(weights, assign=True)
        self.network_ = network.to(self.device_).eval()

    def _objective(self, network: Any, people: People) -> Objective:
        """Return what each step minimizes."""
        from likewise.nets._network import Objective

        return Objective(network, people)

    def _build(self, n_inputs: int, n_outputs: int) -> Any:
        """Return a new network, with weights from torch's random state."""
        from likewise.nets._network import build_network, check_network

        if self.network is not None:
            return check_network(self.network(n_inputs, n_outputs), n_inputs, n_outputs)
        return build_network(n_inputs, n_outputs, self.hidden)

    def _learn(self, people: People) -> None:
        """Train a network, and keep it."""
        network = self._new_network(people)
        objective = self._objective(network, people)
        if self._added_loss is not None:
            objective = self._added_loss(objective, network, people)
        self.n_iter_ = self._train(network, objective, people)
        self.network_ = network

    def _see(self, X: Any) -> Any:
        """Return rows to predict for as a frame, with the columns checked as scikit-learn does."""
        return take_frame(self, X, reset=False)

    def _find_roles(self, frame: Any) -> Roles:
        """Return the given roles, or infer them; the columns of arrays are numbers."""
        if self.roles is not None:
            return self.roles
        return Roles(continuous=open_frame(frame).names) if self._took_array else guess_roles(frame)

    @property
    def _took_array(self) -> bool:
        return not hasattr(self, "feature_names_in_")

    @property
    def _n_outputs(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _new_network(self, people: People) -> Any:
        with seeded(draw_seed(self.seed_, "weights"), self.device_):
            return self._build(people.inputs.n_inputs, self._n_outputs).to(self.device_)

    def _train(
        self,
        network: Any,
        objective: Objective,
        people: People,
        phase: str = "fitting",
        n_iterations: int | None = None,
    ) -> int:
        """Train a network on random numbers that belong to the phase; return the number of iterations."""
        from likewise.nets._network import Monitor, Schedule, Training, descend

        length = self._length(len(people.y))
        schedule = Schedule(
            n_iterations=length.n_iterations if n_iterations is None else n_iterations,
            batch_size=self.batch_size,
            optimizer=self.optimizer,
            learning_rate=self.learning_rate,
            halve_every=self.halve_every,
            weight_decay=self.weight_decay,
            patience=length.patience,
        )
        training = Training(
            network=network,
            objective=objective,
            schedule=schedule,
            random=stream(self.seed_, phase, "rows"),
            monitor=Monitor(network, people, self._monitored(people)),
            record=self._record,
        )
        n_products = self.batch_size * sum(weight.numel() for weight in network.parameters())
        with (
            seeded(draw_seed(self.seed_, phase), self.device_),  # for dropout and attacks
            fixed_threads(self.device_, n_products),
            follow(f"Fitting {type(self).__name__}", schedule.n_iterations, self.progress) as show,
        ):
            return descend(training, show)

    def _length(self, n_rows: int) -> Length:
        """Return how long to train on so many rows: what is asked, or what suits the size of the table."""
        is_small = self.n_iterations == "auto" and n_rows < SMALL_TABLE
        n_iterations, patience = self.n_iterations, self.patience
        if isinstance(n_iterations, str):
            n_batches = -(-n_rows // min(self.batch_size, n_rows))
            n_iterations = max(EPOCHS * n_batches, FEWEST_STEPS) if is_small else MOST_STEPS
        if isinstance(patience, str):
            patience = PATIENCE if is_small else None
        return Length(n_iterations, patience)

    def _record(self, record: dict[str, Any]) -> None:
        self.history_.append(record)
        log.info("iteration %d: loss %.4f", record["iteration"], record["loss"])
        tell(self.progress, record)

    def _people(self, frame: Any, y: NDArray[Any], labels: NDArray[np.int64], weights: NDArray[np.float64]) -> People:
        import torch

        from likewise.nets._network import DeviceInputs, People

        held_out = np.empty(0, np.int64)
        if self._length(len(labels)).patience is not None:  # to stop early by them
            held_out = hold_out(labels, self.validation_fraction, stream(self.seed_, "held out"))
        device = self.device_
        return People(
            frame=frame,
            y=y,
            coding=self.coding_,
            inputs=DeviceInputs(self.coding_.encode(frame), device),
            labels=torch.tensor(labels, device=device),
            weights=torch.tensor(weights, dtype=torch.float32, device=device),
            train=np.setdiff1d(np.arange(len(labels)), held_out),
            held_out=held_out,
        )

    def _monitored(self, people: People) -> NDArray[np.intp]:
        some = people.train
        if len(some) > MAX_MONITORED:
            some = np.sort(stream(self.seed_, "looked at").choice(some, MAX_MONITORED, replace=False))
        return some

    def _spreads(self, network: Any, people: People) -> tuple[float, float]:
        """Return the standard deviation of the scores, and that of the labels."""
        from likewise.nets._network import Monitor

        shares = np.bincount(people.labels[people.train].cpu().numpy()) / len(people.train)
        spread = Monitor(network, people, self._monitored(people)).score_spread()
        return spread, float(np.sqrt((shares * (1 - shares)).sum() / 2))

    def _warn_of_collapse(self, people: People) -> None:
        spread, spread_of_labels = self._spreads(self.network_, people)
        if has_collapsed(spread, spread_of_labels):
            warn(
                f"The scores of this {type(self).__name__} are nearly constant (standard deviation {spread:.2g}), so "
                f"small gaps mean nothing. {self._collapse_advice()}",
                ScoresCollapsed,
            )

    def _collapse_advice(self) -> str:
        return f"Lower weight_decay ({self.weight_decay:g}) or train longer."

    def _refuse_odd_parameters(self) -> None:
        for name in ("n_iterations", "batch_size", "halve_every", "patience"):
            value = getattr(self, name)
            if not (name in ("n_iterations", "patience") and isinstance(value, str) and value == "auto"):
                check_count(name, value, or_none=name in ("halve_every", "patience"), least=1)
        if not isinstance(self.hidden, tuple | list):
            raise ParameterError(f"is {self.hidden!r}; give hidden-layer widths, such as (64, 64).", "hidden")
        for width in self.hidden:
            check_count("hidden", width, or_none=False, least=1)
        check_choice("optimizer", self.optimizer, ("sgd", "adam"))
        check_choice("scaling", self.scaling, SCALINGS)
        check_number("learning_rate", self.learning_rate, above=0.0)
        check_number("weight_decay", self.weight_decay, least=0.0)
        if self.patience is not None:  # also "auto"
            check_number("validation_fraction", self.validation_fraction, above=0.0, below=1.0)
        if not isinstance(self.roles, Roles | None):
            raise TypeError(f"roles is a {type(self.roles).__name__}; give a likewise.Roles, or None.")
