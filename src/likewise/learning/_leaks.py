"""Estimators that hold out rows by themselves: antidotes of those rows are among the ones that they learn from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from sklearn.frozen import FrozenEstimator

from likewise._warnings import warn
from likewise.exceptions import AntidotesLeak

BOOSTING_STOPS_ABOVE: Final = 10_000  # rows; what early_stopping="auto" of scikit-learn's histogram boosting means


class Leak(NamedTuple):
    """An estimator that holds out rows, and what to do about it."""

    kind: str
    parameter: str
    remedy: str


def warn_of_leaks(estimator: Any, n_rows: int) -> None:
    """Warn once, of all estimators inside that would judge themselves by rows whose antidotes they learn from."""
    leaks = [leak for path, one in _walk(estimator, "estimator") for leak in _leaks_of(one, path, n_rows)]
    if not leaks:
        return
    names = " and ".join(f"{leak.kind} ({leak.parameter})" for leak in leaks)
    remedies = ", and ".join(dict.fromkeys(leak.remedy for leak in leaks))
    is_one = len(leaks) == 1
    warn(
        f"{names} {'holds' if is_one else 'hold'} out rows to judge {'itself' if is_one else 'themselves'} by, but "
        "antidotes of these rows are among the rows learned from, so what is found there is far too good. "
        f"{remedies[0].upper()}{remedies[1:]}.",
        AntidotesLeak,
    )


def _walk(estimator: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Go through an estimator and those in it that are still to be fitted."""
    if isinstance(estimator, FrozenEstimator | type) or not hasattr(estimator, "get_params"):
        return
    yield path, estimator
    for name, value in estimator.get_params().items():
        if "__" not in name:
            yield from _walk(value, f"{path}__{name}")


def _leaks_of(estimator: Any, path: str, n_rows: int) -> Iterator[Leak]:
    params, kind = estimator.get_params(deep=False), type(estimator).__name__
    off = {
        "early_stopping": (_stops_early(params, n_rows), False),
        "n_iter_no_change": ("early_stopping" not in params and params.get("n_iter_no_change") is not None, None),
        "patience": ("validation_fraction" in params and params.get("patience") is not None, None),
        "oob_score": (bool(params.get("oob_score", False)), False),
        "probability": ("kernel" in params and params.get("probability") is True, False),
    }
    for name, (is_on, value) in off.items():
        if is_on:
            by_size = f", which is on above {BOOSTING_STOPS_ABOVE:,} rows" if params[name] == "auto" else ""
            yield Leak(kind, f"{name}={params[name]!r}{by_size}", f"set {path}__{name}={value}")
    inside = params.get("estimator")
    is_split = "cv" in params and not (isinstance(params["cv"], str) and params["cv"] == "prefit")
    if is_split and not isinstance(inside, FrozenEstimator):
        outside = f"put it outside: {kind}(AugmentedClassifier(...))" if inside is not None else f"do without {kind}"
        yield Leak(kind, f"cv={params['cv']!r}", outside)


def _stops_early(params: dict[str, Any], n_rows: int) -> bool:
    """Tell whether rows are held out to know when to stop; without a fraction of its own, none are."""
    asked = params.get("early_stopping", False)
    is_on = n_rows > BOOSTING_STOPS_ABOVE if asked == "auto" else bool(asked)
    return is_on and params.get("validation_fraction", 0.1) is not None
