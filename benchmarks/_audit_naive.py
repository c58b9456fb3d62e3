"""The audit without an audit library, as well as we can write it: pandas finds the pairs, numpy measures them.

It gives the mean and the upper quartile of the gaps by label, and nothing else. Its input, codes and scaled columns in
a frame, is made before anything is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, pairwise
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from likewise import CodedTable, Comparability
from mining import checksum

CANDIDATES_AT_ONCE: Final = 4_000_000  # rows of a merge; all at once would not fit into memory
Q3: Final = 0.75
Floats = NDArray[np.float64]
Found = dict[str, Any]


def measure_naively(
    table: CodedTable, scores: Floats, rule: Comparability, n_resamples: int, confidence: float = 0.95
) -> Callable[[], Found]:
    """Make the frame, and give back what is to be measured."""
    people = pd.DataFrame({"id": np.arange(len(table), dtype=np.int32), "label": table.labels})
    for letter, values in (("d", table.discrete), ("s", table.sensitive), ("c", table.continuous)):
        for position, column in enumerate(values.T):
            people[f"{letter}{position}"] = np.ascontiguousarray(column)
    names = [name for name in people.columns if name.startswith("d")]
    limits, sides = rule.continuous_limits(table), {1: "positive", 0: "negative"}

    def run() -> Found:
        left, right = find_pairs(people, names, rule.max_discrete_changes, limits)
        gaps = np.abs(scores[left] - scores[right])
        of_label = {label: np.flatnonzero(table.labels[left] == label) for label in sides}
        values, intervals = {}, {}
        for label, rows in of_label.items():
            values[f"{sides[label]}_gap_mean"] = float(gaps[rows].mean())
            values[f"{sides[label]}_gap_q3"] = float(np.quantile(gaps[rows], Q3))
        if n_resamples:
            slices = {sides[label]: (left[rows], right[rows], gaps[rows]) for label, rows in of_label.items()}
            for side, ends in bootstrap(slices, len(table), n_resamples, confidence).items():
                intervals |= {f"{side}_{name}": pair for name, pair in ends.items()}
        return {**checksum([(left, right)], len(table)), "values": values, "intervals": intervals}

    return run


def find_pairs(
    people: pd.DataFrame, names: list[str], max_changes: int, limits: Floats
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Merge on the label and all discrete columns but some, for every choice of these; filter; drop what came twice."""
    sensitive = [people[name].to_numpy() for name in people.columns if name.startswith("s")]
    continuous = [people[name].to_numpy() for name in people.columns if name.startswith("c")]
    parts = []
    for left_out in combinations(names, min(max_changes, len(names))):
        same = ["label", *(name for name in names if name not in left_out)]
        keyed = pd.DataFrame({"id": people["id"], "key": people.groupby(same, sort=False).ngroup()})
        for piece in _cut(keyed):
            both = piece.merge(keyed, on="key", suffixes=("", "_other"))
            left, right = both["id"].to_numpy(), both["id_other"].to_numpy()
            kept = left < right
            left, right = left[kept], right[kept]
            differs = np.zeros(len(left), np.bool_)
            for column in sensitive:
                differs |= column[left] != column[right]
            left, right = left[differs], right[differs]
            for column, limit in zip(continuous, limits, strict=True):
                near = np.abs(column[left] - column[right]) <= limit
                left, right = left[near], right[near]
            parts.append(pd.DataFrame({"left": left, "right": right}))
    pairs = pd.concat(parts).drop_duplicates()
    return pairs["left"].to_numpy(), pairs["right"].to_numpy()


def _cut(keyed: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Cut the left side of a merge so that no piece of it meets too many rows of the right."""
    n_met = keyed.groupby("key")["id"].transform("size").to_numpy().cumsum()
    ends = np.searchsorted(n_met, np.arange(CANDIDATES_AT_ONCE, n_met[-1], CANDIDATES_AT_ONCE))
    bounds = [0, *ends, len(keyed)]
    for start, end in pairwise(bounds):
        yield keyed.iloc[start:end]


def bootstrap(
    slices: dict[Any, tuple[Any, Any, Floats]], n_people: int, n_resamples: int, confidence: float
) -> dict[Any, dict[str, list[float]]]:
    """Draw people; a pair counts as often as its two people were drawn, multiplied. Percentiles of the replicates."""
    random = np.random.default_rng(0)
    ordered = {}
    for label, (left, right, gaps) in slices.items():
        order = np.argsort(gaps)  # once: weighted quantiles are a cumulative sum from here on
        ordered[label] = left[order].astype(np.intp), right[order].astype(np.intp), gaps[order]
    replicates = np.empty((n_resamples, len(ordered), 2))
    for replicate in replicates:
        drawn = np.bincount(random.integers(n_people, size=n_people), minlength=n_people).astype(np.float64)
        for position, (left, right, gaps) in enumerate(ordered.values()):
            weights = drawn.take(left) * drawn.take(right)
            reached = np.cumsum(weights)
            mean = np.einsum("i,i", weights, gaps) / reached[-1]  # not @, whose threads wait where cores are busy
            replicate[position] = mean, gaps[np.searchsorted(reached, Q3 * reached[-1])]
    ends = np.quantile(replicates, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    return {
        label: {name: ends[:, position, i].tolist() for i, name in enumerate(("gap_mean", "gap_q3"))}
        for position, label in enumerate(ordered)
    }
