"""A fitted network classifier in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch

from likewise._json import plain
from likewise.exceptions import SavedFolderError
from likewise.nets._device import choose_device
from likewise.nets._inputs import InputCoding
from likewise.nets._network import weights_of
from likewise.nets._saving import opened_folder, save_folder
from likewise.schema import Roles

if TYPE_CHECKING:
    from likewise.nets._classifier import BaseNetworkClassifier

    Made = TypeVar("Made", bound=BaseNetworkClassifier)


def save_classifier(classifier: BaseNetworkClassifier, path: str | Path) -> None:
    """Write what predicting needs, the parameters and the history."""
    if classifier.network is not None:
        raise SavedFolderError(
            "The network was made by a function of yours, which a folder cannot hold. Save network_.state_dict() by "
            "means of your own."
        )
    names = getattr(classifier, "feature_names_in_", None)
    record = {
        "params": _params(classifier),
        "roles": classifier.roles.to_dict() if isinstance(classifier.roles, Roles) else plain(classifier.roles),
        "classes": {"values": classifier.classes_.tolist(), "dtype": classifier.classes_.dtype.str},
        "names": None if names is None else names.tolist(),
        "n_features": classifier.n_features_in_,
        "coding": classifier.coding_.to_dict(),
        "seed": classifier.seed_,
        "history": classifier.history_,
        "n_iter": classifier.n_iter_,
        "extra": classifier._extra_record(),
    }
    save_folder(path, _kind(type(classifier)), record, weights_of(classifier.network_))


def load_classifier(cls: type[Made], path: str | Path, device: str) -> Made:
    """Make a classifier of a folder; it predicts as the one that was saved."""
    with opened_folder(path, _kind(cls)) as (record, arrays):
        params = {name: tuple(value) if isinstance(value, list) else value for name, value in record["params"].items()}
        known = set(_params(cls()))
        odd = sorted(known ^ set(params))
        if odd:
            raise SavedFolderError(
                f"'{path}' was saved by another version of likewise, which differs in the parameter '{odd[0]}'. Load "
                "it with that version."
            )
        classifier = cls(**params, device=device)
        roles = record["roles"]  # or names of columns, where these will do
        classifier.roles = Roles.from_dict(roles) if isinstance(roles, dict) else roles
        classifier._restore_extra(record["extra"])
        classifier._refuse_odd_parameters()
        classes = record["classes"]
        classifier.classes_ = np.array(classes["values"], dtype=classes["dtype"])
        if classifier.classes_.ndim != 1 or len(classifier.classes_) < 2:
            raise ValueError(f"classes {classes['values']}")
        if record["names"] is not None:
            classifier.feature_names_in_ = np.array(record["names"], dtype=object)
        classifier.n_features_in_ = record["n_features"]
        classifier.coding_ = InputCoding.from_dict(record["coding"])
        classifier.seed_, classifier.history_, classifier.n_iter_ = record["seed"], record["history"], record["n_iter"]
        classifier.device_ = choose_device(device)
        _refuse_unlike(classifier)
        network = classifier._build(len(classifier.coding_.names), classifier._n_outputs)
        network.load_state_dict({name: torch.as_tensor(array) for name, array in arrays.items()})
        classifier.network_ = network.to(classifier.device_).eval()
    return classifier


def _refuse_unlike(classifier: BaseNetworkClassifier) -> None:
    """Refuse here what would otherwise fail, or go wrong, while predicting."""
    coding = classifier.coding_
    n_numbers = len(coding.schema.roles.continuous) + len(coding.schema.roles.ordinal)
    has_room = coding.shift.shape == coding.scale.shape == (n_numbers,)
    if not has_room or not np.isfinite(coding.shift).all() or not (coding.scale > 0).all():
        raise ValueError("scaling of other numbers than the schema's")
    names = getattr(classifier, "feature_names_in_", [f"x{at}" for at in range(classifier.n_features_in_)])
    if len(names) != classifier.n_features_in_ or not {column.name for column in coding.schema.columns} <= {*names}:
        raise ValueError(f"columns {list(names)}, which are not those of the schema")
    if not isinstance(classifier.history_, list) or not isinstance(classifier.seed_, int):
        raise ValueError("a history or a seed that is none")


def _kind(cls: type[BaseNetworkClassifier]) -> str:
    return f"{cls.__name__} 1"


def _params(classifier: BaseNetworkClassifier) -> dict[str, Any]:
    """Give the parameters that JSON can hold; of random states only a seed."""
    params = {k: v for k, v in classifier.get_params(deep=False).items() if k not in classifier._unsaved}
    is_seed = isinstance(params["random_state"], int | np.integer)
    params["random_state"] = params["random_state"] if is_seed else None
    return {name: plain(value) for name, value in params.items()}
