"""What estimators share: a failed fit leaves them unfitted; predictions, seeds and sample weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import Parameter, signature
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._random import draw_seed

SEEDS: Final = 2**31  # the range of scikit-learn's seeds


class PredictsByProbability:
    """Mixin of classifiers that predict the class with the highest probability."""

    classes_: NDArray[Any]
    predict_proba: Callable[..., NDArray[np.float64]]

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class.

        Parameters
        ----------
        X : as in :meth:`fit`

        Returns
        -------
        array, shape (n_rows,)
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, "classes_")
        best: NDArray[Any] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return best


@contextmanager
def fit_guard(estimator: Any) -> Iterator[None]:
    """Drop fitted attributes before a fit, and again if it fails, so that none are stale."""
    _forget(estimator)
    try:
        yield
    except BaseException:
        _forget(estimator)
        raise


def _forget(estimator: Any) -> None:
    for name in [name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")]:
        delattr(estimator, name)


def weight_name(estimator: Any) -> str:
    """Return the name by which fit takes weights, also inside pipelines and searches; "" if it does not."""
    from sklearn import get_config

    name = _name_without_routing(estimator)
    return "sample_weight" if name and get_config()["enable_metadata_routing"] else name


def seed_unset(estimator: Any, seed: int) -> Any:
    """Set every unset random_state of an estimator and its inner ones; equal classes get equal seeds."""
    if not hasattr(estimator, "get_params"):
        return estimator
    params, n_before, seeds = estimator.get_params(), Counter[str](), {}
    for name in sorted(params):
        if params[name] is None and (name == "random_state" or name.endswith("__random_state")):
            owner = params.get(name.removesuffix("random_state").removesuffix("__"), estimator)
            kind = type(owner).__name__
            seeds[name] = draw_seed(seed, kind, n_before[kind]) % SEEDS
            n_before[kind] += 1
    return estimator.set_params(**seeds)


def _name_without_routing(estimator: Any) -> str:
    if hasattr(estimator, "steps"):
        step, last = estimator.steps[-1]
        inner = _name_without_routing(last)
        return f"{step}__{inner}" if inner else ""
    taken = signature(estimator.fit).parameters if hasattr(estimator, "fit") else {}
    if "sample_weight" in taken:
        return "sample_weight"
    if all(one.kind is not Parameter.VAR_KEYWORD for one in taken.values()):
        return ""
    inside = getattr(estimator, "estimator", None)  # a search passes weights on by its model's name
    return "sample_weight" if inside is None else _name_without_routing(inside)
