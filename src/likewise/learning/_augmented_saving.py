"""A fitted AugmentedClassifier in a folder, with its estimator: by skops, or as our networks save themselves."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
from sklearn.base import clone

from likewise._extras import require
from likewise.exceptions import SavedFolderError
from likewise.nets import BaseNetworkClassifier, load_folder, opened_folder, save_folder

if TYPE_CHECKING:
    from likewise.learning._augmented import AugmentedClassifier

    Made = TypeVar("Made", bound=AugmentedClassifier)

KIND: Final = "AugmentedClassifier 1"
FILE: Final = "estimator.skops"
PARAMS: Final = ("ratio", "discard_sensitive", "random_state")

# Ordinary pipelines hold these, which skops does not list among what it knows: plain data, and functions that only
# compute. Trees are not among them: a forged one makes scikit-learn read beyond the end of its memory.
HARMLESS: Final = frozenset(
    (
        *("builtins.object", "numpy.dtype", "numpy.number"),
        *("sklearn.calibration._CalibratedClassifier", "sklearn.calibration._SigmoidCalibration"),
        "sklearn.compose._column_transformer.make_column_selector",
        "sklearn.feature_selection._mutual_info.mutual_info_classif",
        *(f"sklearn.feature_selection._univariate_selection.{name}" for name in ("chi2", "f_classif")),
        "sklearn.metrics._scorer._PassthroughScorer",
        *(f"sklearn.model_selection._split.{name}" for name in ("KFold", "StratifiedKFold")),
        *(f"sklearn.neural_network._stochastic_optimizers.{name}" for name in ("AdamOptimizer", "SGDOptimizer")),
        "sklearn.utils._bunch.Bunch",
    )
)


def save_augmented(classifier: AugmentedClassifier, path: str | Path) -> None:
    """Write what predicting needs."""
    require("safetensors", "skops", "Saving")
    estimator = classifier.estimator_
    saved: Any
    if isinstance(estimator, BaseNetworkClassifier):
        saved, arrays = _save_network(estimator)
    else:
        saved, arrays = "skops", {FILE: np.frombuffer(_dump(estimator), np.uint8)}
    names = getattr(classifier, "feature_names_in_", None)
    is_seed = isinstance(classifier.random_state, int | np.integer)
    record = {
        "ratio": None if classifier.ratio is None else float(classifier.ratio),
        "discard_sensitive": bool(classifier.discard_sensitive),
        "random_state": int(classifier.random_state) if is_seed else None,  # type: ignore[arg-type]
        "discarded": classifier.discarded_,
        "names": None if names is None else names.tolist(),
        "n_features": classifier.n_features_in_,
        "estimator": saved,
    }
    save_folder(path, KIND, record, arrays)


def load_augmented(cls: type[Made], path: str | Path, device: str) -> Made:
    """Make a classifier of a folder; it predicts as the one that was saved, and has no generator."""
    require("safetensors", "skops", "Loading")
    with opened_folder(path, KIND) as (record, arrays):
        params = {name: record[name] for name in PARAMS}
        discarded, n_features, names = list(map(str, record["discarded"])), int(record["n_features"]), record["names"]
        saved = {"skops": arrays[FILE].tobytes()} if record["estimator"] == "skops" else dict(record["estimator"])
    estimator = _load(saved["skops"], path) if "skops" in saved else _load_network(saved, arrays, path, device)
    classifier = cls(clone(estimator), None, **params)
    classifier.estimator_, classifier.classes_, classifier.discarded_ = estimator, estimator.classes_, discarded
    if names is not None:
        classifier.feature_names_in_ = np.array(names, dtype=object)
    classifier.n_features_in_ = n_features
    return classifier


def _dump(estimator: Any) -> bytes:
    skops = require("skops.io", "skops", f"Saving a {type(estimator).__name__}")
    try:
        data: bytes = skops.dumps(estimator)
        strange = _strange_types(skops, data)
    except Exception as error:  # whatever the parts of an estimator do when they are written
        reason = " ".join(str(error).split())[:200].rstrip(".")
        raise SavedFolderError(
            f"This {type(estimator).__name__} cannot be saved without pickle ({type(error).__name__}: {reason}). Keep "
            "estimator_ by the means of its own library."
        ) from error
    if strange:
        raise SavedFolderError(
            f"This {type(estimator).__name__} holds types that may run any code when they are loaded: "
            f"{', '.join(strange)}. Do without them, or keep estimator_ by the means of its own library."
        )
    return data


def _load(data: bytes, path: str | Path) -> Any:
    skops = require("skops.io", "skops", f"The classifier in '{path}'")
    try:
        strange = _strange_types(skops, data)
        if not strange:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # scikit-learn's word on other versions of itself
                return skops.loads(data, trusted=sorted(HARMLESS))
    except Exception as error:  # not what skops writes
        reason = " ".join(str(error).split())[:200].rstrip(".")
        raise SavedFolderError(
            f"The estimator in '{path}' cannot be read ({type(error).__name__}: {reason}). Save it again."
        ) from error
    raise SavedFolderError(
        f"'{path}' holds types that may run any code when they are loaded: {', '.join(strange)}. save writes no such "
        "folder; find out who did."
    )


def _strange_types(skops: Any, data: bytes) -> list[str]:
    return [name for name in skops.get_untrusted_types(data=data) if name not in HARMLESS]


def _save_network(network: BaseNetworkClassifier) -> tuple[dict[str, Any], dict[str, Any]]:
    """Let a network save itself, and give what it wrote."""
    name = type(network).__name__
    with tempfile.TemporaryDirectory() as parent:
        network.save(f"{parent}/saved")
        record, arrays = load_folder(f"{parent}/saved", f"{name} 1")
    return {"type": name, "record": record}, arrays


def _load_network(saved: dict[str, Any], arrays: dict[str, Any], path: str | Path, device: str) -> Any:
    name = str(saved.get("type"))
    known = {cls.__name__: cls for cls in _kinds(BaseNetworkClassifier)}
    if name not in known:
        raise SavedFolderError(f"'{path}' holds a {name}, which this program does not know yet. Import it first.")
    with tempfile.TemporaryDirectory() as parent:
        save_folder(f"{parent}/saved", f"{name} 1", saved.get("record", {}), arrays)
        return known[name].load(f"{parent}/saved", device=device)


def _kinds(cls: type[Any]) -> list[type[Any]]:
    return [cls, *(deeper for kind in cls.__subclasses__() for deeper in _kinds(kind))]
