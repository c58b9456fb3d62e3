"""What can be said of people rather than pairs: every measure with an interval from the replicates the pairs have."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from likewise.auditing._calibration import calibration_interval
from likewise.auditing._intervals import Interval, interval_of, interval_of_share, widen
from likewise.auditing._scores import Scores
from likewise.auditing._tallies import Floats, ratio
from likewise.auditing._utility import LabelLedger, Ledger, NumberLedger, point_values
from likewise.record._internal import PEOPLE_MEASURES, Measure
from likewise.schema import CodedTable

DECIDED: Final = ("accuracy", "balanced_accuracy", "f1")
ALL_OR_NOTHING: Final = ("roc_auc", "average_precision", *DECIDED)  # 0 or 1 where one and the same holds for all
OF_LABELS: Final = ("roc_auc", "average_precision", *DECIDED, "log_loss", "brier", "calibration_error", "score_spread")
OF_NUMBERS: Final = ("score_spread", "r2", "mean_absolute_error", "root_mean_squared_error")
UNBOUNDED: Final = ("log_loss", "score_spread", "mean_absolute_error", "root_mean_squared_error")


@dataclass(frozen=True, slots=True, eq=False)
class PeopleMeasures:
    """Hold the measures of people, and the spread of the scores in each replicate, by which gaps are divided."""

    measures: dict[str, Measure]
    spread_replicates: Floats


def measure_people(
    scores: Scores,
    table: CodedTable,
    outcomes: NDArray[np.float64] | None,
    *,
    n_resamples: int,
    confidence: float,
    seed: int,
) -> PeopleMeasures:
    """Measure utility, calibration and spread; people are drawn with the weights that their pairs get."""
    n_people = len(scores)
    if not n_people:
        nothing = {name: Measure(None) for name in _applying(scores, outcomes)}
        return PeopleMeasures(nothing, np.full(n_resamples, np.nan))
    ledger = _open_ledger(scores, table, outcomes)
    found = point_values(ledger, np.ones(n_people)) | {"score_spread": scores.spread}
    replicates, calibration = _replicate(ledger, n_people, n_resamples, seed)
    replicates["score_spread"] /= scores.scale
    n_rarest = _count_rarest(ledger)
    measures = {}
    for name in _applying(scores, outcomes):
        value, interval = found[name], None
        if value is not None and n_resamples and n_people > 1:  # one person never varies
            if name == "calibration_error":
                interval = calibration_interval(value, replicates[name], *calibration, confidence)
            else:
                interval = _interval(name, value, replicates[name], n_people, n_rarest, confidence)
        low, high = interval or (None, None)
        measures[name] = Measure(value, low, high, n_people)
    return PeopleMeasures(measures, replicates["score_spread"])


def replicate_people(
    scores: Scores, table: CodedTable, outcomes: NDArray[np.float64] | None, *, n_resamples: int, seed: int
) -> dict[str, Floats]:
    """Measure in every replicate, for whom the scores are: the same seed draws the same people."""
    replicates, _ = _replicate(_open_ledger(scores, table, outcomes), len(scores), n_resamples, seed)
    return replicates | {"score_spread": replicates["score_spread"] / scores.scale}


def positives_of(scores: Scores, table: CodedTable) -> NDArray[np.bool_]:
    """Say whose label is the positive one: the second of two, unless told otherwise."""
    is_positive: NDArray[np.bool_] = table.labels == (1 if scores.positive is None else scores.positive)
    return is_positive


def _applying(scores: Scores, outcomes: Floats | None) -> list[str]:
    """Name what this task has, in the order all measures are told in."""
    if scores.task == "regression":
        names = set(OF_NUMBERS if outcomes is not None else OF_NUMBERS[:1])
    else:
        names = set(OF_LABELS).difference(DECIDED if scores.decisions is None else ())
    return [name for name in PEOPLE_MEASURES if name in names]


def _open_ledger(scores: Scores, table: CodedTable, outcomes: Floats | None) -> Ledger:
    if scores.task == "regression":
        return NumberLedger.open(outcomes, scores.values)
    labels = table.labels if scores.task == "multiclass" else positives_of(scores, table).astype(np.int64)
    return LabelLedger.open(labels, scores.values, scores.decisions)


def _replicate(
    ledger: Ledger, n_people: int, n_resamples: int, seed: int
) -> tuple[dict[str, Floats], tuple[Floats, Floats]]:
    """Measure in every replicate; and, for the calibration, the sums of its bins there and among all, by person."""
    from likewise.auditing._replicates import resample_people

    sums, areas = resample_people(ledger.tallies, ledger.curves, n_people=n_people, n_resamples=n_resamples, seed=seed)
    replicates = ledger.values(sums, areas)
    if isinstance(ledger, NumberLedger):
        return replicates, (np.empty(0), np.empty(0))
    drawn = sums["label"][..., 0].sum(axis=-1)
    among_all = ledger.tallies["bin"].add_up(np.ones(n_people)) / n_people
    return replicates, (ratio(sums["bin"], drawn[:, None, None]), among_all)


def _count_rarest(ledger: Ledger) -> int:
    """Count the people of the rarest label that occurs: what averages over labels rest on."""
    counts = np.bincount(ledger.tallies["label"].groups) if "label" in ledger.tallies else np.zeros(0, np.int64)
    return int(counts[counts > 0].min(initial=len(ledger.tallies["spread"].groups)))


def _interval(
    name: str, value: float, replicates: Floats, n_people: int, n_rarest: int, confidence: float
) -> Interval | None:
    """Bound a measure."""
    if name in ALL_OR_NOTHING and value in (0.0, 1.0):  # replicates of people who are all alike say nothing
        low, high = interval_of_share(value, n_people if name == "accuracy" else n_rarest, confidence)
        return min(low, value), max(high, value)
    least, most = -math.inf if name == "r2" else 0.0, math.inf if name in UNBOUNDED else 1.0
    return interval_of(value, (replicates - value) * widen(n_people, confidence), confidence, least, most)
