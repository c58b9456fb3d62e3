"""Inner estimators as plain data, without pickle: likewise's own, boosted trees, pipelines, and scikit-learn's."""

from __future__ import annotations

import copy
import warnings
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from sklearn.pipeline import Pipeline

from likewise._extras import HARMLESS, require
from likewise.exceptions import SavedFolderError
from likewise.learning._saved_trees import LIGHTGBM, XGBOOST, describe_trees, restore_trees
from likewise.nets._internal import Description, SavedInFolder, subclasses

SKOPS: Final = "estimator.skops"  # the array that holds an estimator of scikit-learn
LAST: Final = "last."  # begins the names of the arrays of the last step


class SavedWithEstimator(SavedInFolder):
    """A model that is saved together with the estimator that it has fitted."""

    def save(self, path: str | Path) -> None:
        """Write a folder that :meth:`load` reads, on this or another machine; the generator is not saved.

        Only estimators that can be read again without running code are saved: networks of likewise, XGBoost and
        LightGBM (in their own formats), and scikit-learn's linear models, preprocessing, calibration and searches, also
        in a Pipeline. Trees of scikit-learn, your own functions and models of other libraries are refused: save
        ``estimator_`` with its own library.

        Parameters
        ----------
        path : str or Path
        """
        require("safetensors", "skops", "Saving")
        super().save(path)

    @classmethod
    def load(cls, path: str | Path, *, device: str = "auto") -> Self:
        """Read a folder that :meth:`save` wrote; no code from it is run. To fit the model again, set a generator.

        Parameters
        ----------
        path : str or Path
        device : str
            Device of the estimator from now on, if it is a network of likewise.

        Returns
        -------
        model
        """
        require("safetensors", "skops", "Loading")
        return super().load(path, device=device)


def describe_estimator(estimator: Any) -> Description:
    """Return a fitted estimator as plain data; refuse one that could not be read again without running code."""
    if isinstance(estimator, SavedInFolder):
        record, arrays = estimator._describe()
        return Description({"type": type(estimator).__name__, "record": record}, arrays)
    trees = describe_trees(estimator)
    if trees is not None:
        return trees
    if type(estimator) is Pipeline and _is_special(estimator.steps[-1][1]):
        name, step = estimator.steps[-1]
        last = describe_estimator(step)
        around = copy.copy(estimator)
        around.steps, around.memory = [*estimator.steps[:-1], (name, "passthrough")], None
        arrays = {f"{LAST}{key}": array for key, array in last.arrays.items()}
        return Description({"last": last.record}, {SKOPS: _dump(around), **arrays})
    return Description({"type": "skops"}, {SKOPS: _dump(estimator)})


def _is_special(estimator: Any) -> bool:
    """Whether an estimator is not saved by skops, or a pipeline ends with one that is not."""
    if type(estimator) is Pipeline:
        return _is_special(estimator.steps[-1][1])
    return isinstance(estimator, SavedInFolder) or type(estimator).__name__ in (*XGBOOST, *LIGHTGBM)


def restore_estimator(description: Description, device: str) -> Any:
    """Return the estimator; any error means that the description is invalid."""
    record, arrays = description
    if "last" in record:
        pipeline = _load(arrays[SKOPS])
        if type(pipeline) is not Pipeline:
            raise ValueError(f"a {type(pipeline).__name__} around the last step")
        last = restore_estimator(Description(record["last"], description.arrays_under(LAST)), device)
        pipeline.steps[-1] = (pipeline.steps[-1][0], last)
        return pipeline
    kind = str(record["type"])
    if kind == "skops":
        return _load(arrays[SKOPS])
    if kind in (*XGBOOST, *LIGHTGBM):
        return restore_trees(description)
    known = {one.__name__: one for one in subclasses(SavedInFolder) if hasattr(one, "predict")}
    if kind not in known:
        raise SavedFolderError(f"The saved estimator is a {kind}, which is not imported. Import it first.")
    made = known[kind]._restore(Description(record["record"], arrays), device)
    made._rehearse()
    return made


def _dump(estimator: Any) -> Any:
    """Return an estimator as bytes that load without running code; refuse any other."""
    skops = require("skops.io", "skops", f"Saving a {type(estimator).__name__}")
    try:
        data: bytes = skops.dumps(estimator)
        strange = _strange_types(skops, data)
    except Exception as error:  # parts of an estimator may raise anything when they are written
        reason = " ".join(str(error).split())[:200].rstrip(".")
        raise SavedFolderError(
            f"This {type(estimator).__name__} cannot be saved without pickle ({type(error).__name__}: {reason}). Save "
            "estimator_ with its own library."
        ) from error
    if strange:
        raise SavedFolderError(
            f"This {type(estimator).__name__} contains types that could run arbitrary code when loaded: "
            f"{', '.join(strange)}. {_advise(strange)}"
        )
    return np.frombuffer(data, np.uint8)


def _advise(strange: list[str]) -> str:
    """Return what to do about types that are not saved."""
    if any(name.startswith(("sklearn.tree.", "sklearn.ensemble.")) for name in strange):
        return (
            "Trees of scikit-learn have no form that can be checked before it is read. Use XGBoost or LightGBM, alone "
            "or as the last step of a Pipeline; or save estimator_ yourself, and load it only where you trust the file."
        )
    if any(name.startswith(("xgboost.", "lightgbm.")) for name in strange):
        return "Boosted trees are saved alone or as the last step of a Pipeline, not inside another estimator."
    return "Avoid them, or save estimator_ with its own library."


def _load(data: Any) -> Any:
    """Return the estimator of such bytes; types that could run code are refused."""
    skops = require("skops.io", "skops", "Loading an estimator of scikit-learn")
    given = data.tobytes()
    try:
        strange = _strange_types(skops, given)
        if not strange:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # scikit-learn warns about other versions of itself
                return skops.loads(given, trusted=sorted(HARMLESS))
    except Exception as error:  # not what skops writes
        reason = " ".join(str(error).split())[:200].rstrip(".")
        raise SavedFolderError(
            f"The saved estimator cannot be read ({type(error).__name__}: {reason}). Save it again."
        ) from error
    raise SavedFolderError(
        f"The saved estimator contains types that could run arbitrary code when loaded: {', '.join(strange)}. save "
        "writes no such folder; find out who did."
    )


def _strange_types(skops: Any, data: bytes) -> list[str]:
    return [name for name in skops.get_untrusted_types(data=data) if name not in HARMLESS]
