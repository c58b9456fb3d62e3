"""What all classifiers that are networks have in common: everything but what is added to their loss."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from likewise._checks import check_choice, check_count, check_number
from likewise._extras import require
from likewise._fit_guard import forgetting
from likewise._random import check_seed, draw_seed, stream
from likewise._warnings import has_collapsed, warn
from likewise.exceptions import SchemaError, ScoresCollapsed
from likewise.nets._device import choose_device
from likewise.nets._guessing import guess_roles
from likewise.nets._inputs import SCALINGS, InputCoding
from likewise.nets._seeding import seeded
from likewise.nets._threads import few_threads
from likewise.schema import Roles
from likewise.schema._internal import hold_out, open_frame, take_frame, take_labels, take_weights

if TYPE_CHECKING:
    from likewise.nets._fitting import Objective
    from likewise.nets._people import People

log = logging.getLogger(__name__)

MAX_LOOKED_AT: Final = 4_096  # rows whose scores are looked at while fitting


class BaseNetworkClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Fit a network to people, and predict their classes.

    A kind of classifier says what each step makes smaller (``_objective``). Everything else is here: reading frames
    and arrays, labels and weights, the loop, looking out for collapse, predicting and saving.
    """

    hidden: tuple[int, ...]
    n_iterations: int
    batch_size: int
    optimizer: str
    learning_rate: float
    halve_every: int | None
    weight_decay: float
    scaling: str
    patience: int | None
    validation_fraction: float
    roles: Roles | None
    network: Callable[[int, int], Any] | None
    progress: Callable[[dict[str, Any]], None] | None
    device: str
    random_state: int | None
    history_: list[dict[str, Any]]

    _unsaved: ClassVar[tuple[str, ...]] = ("roles", "network", "progress", "device")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the network.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, or array of numbers
        y : array
            Labels of any kind, two or more different ones.
        sample_weight : array, optional
            How much each row counts.

        Returns
        -------
        self
        """
        self._refuse_odd_parameters()
        require("torch", "torch", f"A {type(self).__name__}")
        with forgetting(self):
            frame = take_frame(self, X, y, reset=True)
            labels, classes = take_labels(y)
            weights = take_weights(sample_weight, len(labels))
            self.device_ = choose_device(self.device)
            self.classes_, self.seed_, self.history_ = classes, check_seed(self.random_state), []
            self.coding_ = InputCoding.learn(frame, self._find_roles(frame), self.scaling)
            self._refuse_no_inputs()
            people = self._people(frame, classes[labels], labels, weights)
            self.network_ = self._learn(people)
        self._warn_of_collapse(people)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Give the probability of each class.

        Parameters
        ----------
        X : as in :meth:`fit`

        Returns
        -------
        array, shape (n_rows, n_classes)
        """
        check_is_fitted(self, "network_")
        frame = take_frame(self, X, reset=False)
        from likewise.nets._network import DeviceInputs, predict_shares

        return predict_shares(self.network_, DeviceInputs(self.coding_.encode(frame), self.device_))

    def predict(self, X: Any) -> NDArray[Any]:
        """Give the most probable class.

        Parameters
        ----------
        X : as in :meth:`fit`

        Returns
        -------
        array, shape (n_rows,)
        """
        shares = self.predict_proba(X)
        best: NDArray[Any] = self.classes_[shares.argmax(axis=1)]
        return best

    def save(self, path: str | Path) -> None:
        """Write a folder that :meth:`load` reads, on this machine or another.

        Parameters
        ----------
        path : str or Path
        """
        check_is_fitted(self, "network_")
        from likewise.nets._classifier_saving import save_classifier

        save_classifier(self, path)

    @classmethod
    def load(cls, path: str | Path, *, device: str = "auto") -> Self:
        """Read a folder that :meth:`save` wrote; nothing in it is run.

        Parameters
        ----------
        path : str or Path
        device : str
            Where the network computes from now on.

        Returns
        -------
        classifier
        """
        from likewise.nets._classifier_saving import load_classifier

        return load_classifier(cls, path, device)

    def _objective(self, network: Any, people: People) -> Objective:
        """Say what each step makes smaller."""
        from likewise.nets._people import WeightedLoss

        return WeightedLoss(network, people)

    def _build(self, n_inputs: int, n_outputs: int) -> Any:
        """Make the network, with weights from torch's random numbers."""
        from likewise.nets._network import build_network, check_network

        if self.network is not None:
            return check_network(self.network(n_inputs, n_outputs), n_inputs, n_outputs)
        return build_network(n_inputs, n_outputs, self.hidden)

    def _learn(self, people: People) -> Any:
        """Fit a network and give it."""
        network = self._new_network(people)
        self.n_iter_ = self._descend(network, self._objective(network, people), people)
        return network

    def _find_roles(self, frame: Any) -> Roles:
        """Say what the columns are, by what they hold if nobody says; arrays hold numbers."""
        if self.roles is not None:
            return self.roles
        return Roles(continuous=open_frame(frame).names) if self._took_array else guess_roles(frame)

    @property
    def _took_array(self) -> bool:
        return not hasattr(self, "feature_names_in_")

    def _extra_record(self) -> dict[str, Any]:
        """Give what else is to be saved, as JSON has it."""
        return {}

    def _restore_extra(self, record: dict[str, Any]) -> None:
        """Take it back."""

    @property
    def _n_outputs(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _new_network(self, people: People) -> Any:
        with seeded(draw_seed(self.seed_, "weights"), self.device_):
            return self._build(people.inputs.n_inputs, self._n_outputs).to(self.device_)

    def _descend(
        self,
        network: Any,
        objective: Objective,
        people: People,
        phase: str = "fitting",
        n_iterations: int | None = None,
    ) -> int:
        """Run the loop over the people, on random numbers of its own."""
        from likewise.nets._fitting import Schedule, descend
        from likewise.nets._watching import look_at

        schedule = Schedule(
            n_iterations=self.n_iterations if n_iterations is None else n_iterations,
            batch_size=self.batch_size,
            optimizer=self.optimizer,
            learning_rate=self.learning_rate,
            halve_every=self.halve_every,
            weight_decay=self.weight_decay,
            patience=self.patience,
        )
        random, looked_at = stream(self.seed_, phase, "rows"), self._looked_at(people)
        n_products = self.batch_size * sum(one.numel() for one in network.parameters())
        with (
            seeded(draw_seed(self.seed_, phase), self.device_),  # of dropout, and of attacks
            few_threads(self.device_, n_products),
        ):
            look = look_at(network, people, looked_at)
            return descend(network, objective, people.train, schedule, random, look, self._record)

    def _record(self, record: dict[str, Any]) -> None:
        self.history_.append(record)
        log.info("iteration %d: loss %.4f", record["iteration"], record["loss"])
        if self.progress is not None:
            self.progress(record)

    def _people(self, frame: Any, y: NDArray[Any], labels: NDArray[np.int64], weights: NDArray[np.float64]) -> People:
        import torch

        from likewise.nets._network import DeviceInputs
        from likewise.nets._people import People

        held_out = np.empty(0, np.int64)
        if self.patience is not None:
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

    def _looked_at(self, people: People) -> NDArray[np.intp]:
        some = people.train
        if len(some) > MAX_LOOKED_AT:
            some = np.sort(stream(self.seed_, "looked at").choice(some, MAX_LOOKED_AT, replace=False))
        return some

    def _spreads(self, network: Any, people: People) -> tuple[float, float]:
        """Give the spread of the scores, and that of the labels."""
        from likewise.nets._watching import spread_of

        shares = np.bincount(people.labels[people.train].cpu().numpy()) / len(people.train)
        return spread_of(network, people, self._looked_at(people)), float(np.sqrt((shares * (1 - shares)).sum() / 2))

    def _warn_of_collapse(self, people: People) -> None:
        spread, spread_of_labels = self._spreads(self.network_, people)
        if has_collapsed(spread, spread_of_labels):
            warn(
                f"This {type(self).__name__} scores everybody nearly alike (standard deviation {spread:.2g}): its "
                f"gaps will be small, and it says nothing. {self._collapse_advice()}",
                ScoresCollapsed,
            )

    def _collapse_advice(self) -> str:
        return f"Lower weight_decay ({self.weight_decay:g}), or fit for longer."

    def _refuse_no_inputs(self) -> None:
        if not self.coding_.names:
            raise SchemaError("No column is left to learn from: all are ignored. Give at least one a role.")

    def _refuse_odd_parameters(self) -> None:
        for name in ("n_iterations", "batch_size", "halve_every", "patience"):
            check_count(name, getattr(self, name), or_none=name in ("halve_every", "patience"), least=1)
        if not isinstance(self.hidden, tuple | list):
            raise ValueError(f"hidden is {self.hidden!r}; give the widths of the layers, such as (64, 64).")
        for width in self.hidden:
            check_count("hidden", width, or_none=False, least=1)
        check_choice("optimizer", self.optimizer, ("sgd", "adam"))
        check_choice("scaling", self.scaling, SCALINGS)
        check_number("learning_rate", self.learning_rate, above=0.0)
        check_number("weight_decay", self.weight_decay, least=0.0)
        if self.patience is not None:
            check_number("validation_fraction", self.validation_fraction, above=0.0, below=1.0)
        if not isinstance(self.roles, Roles | None):
            raise TypeError(f"roles is a {type(self.roles).__name__}; give a likewise.Roles, or None.")
