"""Populations to draw people from, and what is true of each, for the coverage of confidence intervals.

People are drawn in worlds: a world is one audited table, and many worlds together are what the truth is computed from.
Within a stratum, the people of one group, case and label, scores are independent, so that pairs for the truth may be
drawn across worlds, each stratum as often as its worlds have pairs.

The constants of the method were chosen by the populations that are not held out, and fixed before any that is was
simulated. A population that showed a fault and was used to mend it is held out no longer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn import metrics

from likewise.auditing import rank_scores

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
QUANTILES: Final = {"median": 0.5, "q3": 0.75, "q95": 0.95}
SLICES: Final = ("", "positive_", "negative_")
GAP_LIMIT: Final = 0.2
N_TRUE_PAIRS: Final = 3_000_000
N_TRUE_PEOPLE: Final = 600_000
N_TRUE_TABLES: Final = 500  # at least, or the truth strays by as much as intervals are narrow


@dataclass(frozen=True, slots=True, eq=False)
class People:
    """People of one or more worlds, with the scores of two models."""

    world: Ints
    group: Ints
    case: Ints
    label: Ints
    scores: Floats
    others: Floats  # of a second model
    outcome: Floats  # of a regression
    weight: Floats | None = None  # how much each person counts

    def __len__(self) -> int:
        return len(self.world)


@dataclass(frozen=True, slots=True)
class Population:
    """How people of one kind come about, and how they are audited."""

    about: str
    n_people: int
    draw: Callable[[np.random.Generator, int], People]  # as many worlds as told
    task: str = "binary"
    max_pairs: int = 5_000_000
    when_too_many: str = "stream"
    seed: int = 0  # populations of one seed have one truth
    is_held_out: bool = False  # whether it played no part in choosing the constants of the method


def _sigmoid(merit: Floats) -> Floats:
    return 1 / (1 + np.exp(-merit))


def _people(
    random: np.random.Generator,
    group: Ints,
    case: Ints,
    n_worlds: int,
    *,
    merit: float = 0.0,
    effect: float = 0.5,
    noise: float = 1.0,
    labels: float | None = None,
    shape: Callable[[Floats], Floats] = _sigmoid,
    rare: float = 0.0,
    alike: float = 0.3,
    weighting: float = 0.0,
) -> People:
    """Draw scores for a design of one world, repeated; ``labels`` is how far the positive label is shifted.

    With ``weighting``, people are weighted, the more the higher their merit is, or the lower if it is negative.
    """
    world = np.repeat(np.arange(n_worlds), len(group))
    group, case = np.tile(group, n_worlds), np.tile(case, n_worlds)
    base = merit + 0.8 * np.sin(3.0 * case) + noise * random.normal(size=len(world))
    harm = effect * group + 2.5 * (random.random(len(world)) < rare) * group
    label = np.zeros(len(world), np.int64)
    if labels is not None:
        label = (random.random(len(world)) < _sigmoid(1.5 * base + labels)).astype(np.int64)
    other = base + alike * random.normal(size=len(world)) - 0.4 * harm
    scores = shape(base - harm)
    outcome = scores * np.exp(0.3 * random.normal(size=len(world)))
    weight = np.exp(weighting * base + 0.3 * random.normal(size=len(world))) if weighting else None
    return People(world, group, case, label, scores, shape(other), outcome, weight)


def _few(n_few: int, n_people: int, **how: Any) -> Callable[[np.random.Generator, int], People]:
    group = (np.arange(n_people) < n_few).astype(np.int64)
    return lambda random, n_worlds: _people(random, group, np.zeros(n_people, np.int64), n_worlds, **how)


def _cases(n_people: int, n_cases: int, share: float, **how: Any) -> Callable[[np.random.Generator, int], People]:
    """Everybody is in a case at random; the first ``share`` of the people are one group."""
    group = (np.arange(n_people) < share * n_people).astype(np.int64)

    def draw(random: np.random.Generator, n_worlds: int) -> People:
        one = _people(random, group, np.zeros(n_people, np.int64), n_worlds, **how | {"labels": None, "noise": 0.0})
        case = random.integers(n_cases, size=len(one))
        worlds = _people(random, one.group, case, 1, **how)
        return replace(worlds, world=one.world)

    return draw


def _hubs(sizes: list[tuple[int, int]], n_apart: int, **how: Any) -> Callable[[np.random.Generator, int], People]:
    """Cases of a x b people of the two groups, and pairs by themselves."""
    sizes = sizes + [(1, 1)] * n_apart
    group = np.concatenate([np.repeat([1, 0], size) for size in sizes])
    case = np.repeat(np.arange(len(sizes)), [sum(size) for size in sizes])
    return lambda random, n_worlds: _people(random, group, case, n_worlds, **how)


def _uneven(n_people: int, n_cases: int, **how: Any) -> Callable[[np.random.Generator, int], People]:
    """Each case is half as large as the one before; the smaller, the more of its people are of one group."""
    shares = 0.5 ** np.arange(1, n_cases + 1)

    def draw(random: np.random.Generator, n_worlds: int) -> People:
        case = random.choice(n_cases, n_people * n_worlds, p=shares / shares.sum())
        group = (random.random(len(case)) < 0.08 * (case + 1)).astype(np.int64)
        return replace(_people(random, group, case, 1, **how), world=np.repeat(np.arange(n_worlds), n_people))

    return draw


def _lumpy(merit: Floats) -> Floats:
    return 0.1 + 0.2 * np.minimum(np.floor(5 * _sigmoid(merit)), 4)


def _two_peaks(merit: Floats) -> Floats:
    return 0.15 + 0.7 * _sigmoid(6 * merit)


def _decided(merit: Floats) -> Floats:
    return (merit > 0).astype(np.float64)


def _cubic(merit: Floats) -> Floats:
    return merit + merit**3


def _claimed(merit: Floats) -> Floats:
    return np.maximum(np.exp(merit) - 1, 0)


POPULATIONS: Final[dict[str, Population]] = {
    "few_2": Population("2 of 100 people are of one group", 100, _few(2, 100)),
    "few_5": Population("5 of 100", 100, _few(5, 100)),
    "few_10": Population("10 of 100", 100, _few(10, 100)),
    "few_20": Population("20 of 100", 100, _few(20, 100)),
    "flips_6": Population("6 of 100, 85 % approved", 100, _few(6, 100, merit=1.2)),
    "few_18": Population("18 of 600", 600, _few(18, 600, merit=0.8)),
    "apart": Population("150 pairs without a common person", 300, _hubs([], 150, labels=0.0)),
    "cases": Population("200 people in 20 cases, groups of equal size", 200, _cases(200, 20, 0.5, labels=0.0)),
    "hubs": Population(
        "a few people are in most pairs", 375, _hubs([(1, 60), (2, 30), (3, 20), (40, 2), (1, 15)], 100, noise=0.7)
    ),
    "rare_label": Population("600 people, 6 % with the positive label", 600, _cases(600, 5, 0.3, labels=-3.7)),
    "rare_effect": Population(
        "5 % of one group are scored far lower, the others alike",
        400,
        _cases(400, 8, 0.5, noise=0.15, effect=0.0, rare=0.05, labels=0.0, alike=0.05),
    ),
    "lumpy": Population("five different scores, 15 of 150", 150, _few(15, 150, shape=_lumpy)),
    "decisions": Population("scores are 0 or 1, 20 of 200", 200, _few(20, 200, merit=1.0, shape=_decided)),
    "amounts": Population(
        "regression, amounts with a long tail", 300, _cases(300, 20, 0.3, shape=np.exp, noise=0.6), task="regression"
    ),
    "large": Population("3,000 people in 100 cases", 3_000, _cases(3_000, 100, 0.3, labels=0.0), seed=1),
    "streamed": Population(
        "the same, intervals from 3,000 of 9,500 pairs",
        3_000,
        _cases(3_000, 100, 0.3, labels=0.0),
        max_pairs=3_000,
        seed=1,
    ),
    "sampled": Population(
        "the same, only 3,000 pairs measured",
        3_000,
        _cases(3_000, 100, 0.3, labels=0.0),
        max_pairs=3_000,
        when_too_many="sample",
        seed=1,
    ),
    "weighted": Population(
        "300 people in 20 cases, weights that grow with merit: worth about 173 of equal weight",
        300,
        _cases(300, 20, 0.4, labels=0.0, weighting=0.6),
    ),
    "weighted_few": Population(
        "20 of 200 people, weights that fall with merit: worth about 127 of equal weight",
        200,
        _few(20, 200, weighting=-0.6),
    ),
    "uneven": Population(
        "250 people, scores with two peaks, cases and groups of uneven size, drawn at random",
        250,
        _uneven(250, 6, shape=_two_peaks, merit=0.3, labels=0.4, effect=0.4),
    ),
    "ceiling": Population(
        "500 people, 12 % of one group; nearly all scores are close to 1 and nearly all labels positive",
        500,
        _cases(500, 10, 0.12, merit=3.2, effect=0.8, labels=-1.0),
    ),
    "both_tails": Population(
        "regression, amounts with two long tails, 40 of 250 people",
        250,
        _cases(250, 6, 0.16, shape=np.sinh, noise=0.9),
        task="regression",
    ),
    "scarce": Population(
        "800 people, 3 % with the positive label, and scores that are low and rank them poorly",
        800,
        _cases(800, 12, 0.25, merit=-1.5, noise=0.7, labels=-2.2),
        is_held_out=True,
    ),
    "sharp": Population(
        "300 people, scores close to 0 or 1 that are seldom wrong, 20 % of one group",
        300,
        _cases(300, 7, 0.2, noise=2.5, labels=-2.0),
        is_held_out=True,
    ),
    "cubes": Population(
        "regression, amounts of both signs that grow with the cube of merit, 45 of 300 people",
        300,
        _cases(300, 8, 0.15, shape=_cubic),
        task="regression",
        is_held_out=True,
    ),
    "claims": Population(
        "regression, half of the amounts are 0 and the others have a long tail, 400 people",
        400,
        _cases(400, 10, 0.25, shape=_claimed, merit=-0.2, noise=0.7),
        task="regression",
        is_held_out=True,
    ),
}


def find_truth(population: Population) -> dict[str, float]:
    """Return every measure of a population, and with ``change_`` what changes with the second model."""
    random = np.random.default_rng([9, population.seed, population.n_people])
    people = population.draw(random, max(N_TRUE_PEOPLE // population.n_people, N_TRUE_TABLES))
    between, within = _draw_pairs(random, people, is_within=False), _draw_pairs(random, people, is_within=True)
    first, second = (
        _find_truth(people, one, between, within, population.task) for one in (people.scores, people.others)
    )
    return first | {f"change_{name}": second[name] - value for name, value in first.items() if name in second}


def _find_truth(
    people: People, scores: Floats, between: tuple[Ints, Ints], within: tuple[Ints, Ints], task: str
) -> dict[str, float]:
    found, baseline = (_of_pairs(people, scores, pairs, task) for pairs in (between, within))
    for name in [f"{where}{mean}" for where in SLICES for mean in ("gap_mean", "rank_gap_mean", "flip_rate")]:
        if name in found and name in baseline:
            where = next(one for one in reversed(SLICES) if name.startswith(one))
            found[f"{where}excess_{name.removeprefix(where)}"] = found[name] - baseline[name]
    found |= {f"within_{name}": one for name, one in baseline.items() if not name.startswith(SLICES[1:])}
    weights = people.weight
    of_numbers = task == "regression"
    known = _of_numbers(people.outcome, scores, weights) if of_numbers else _of_labels(people.label, scores, weights)
    return found | known


def _of_numbers(true: Floats, predicted: Floats, weights: Floats | None) -> dict[str, float]:
    how = {"sample_weight": weights}
    return {
        "score_spread": math.sqrt(np.cov(predicted, aweights=weights, ddof=0)),
        "r2": metrics.r2_score(true, predicted, **how),
        "mean_absolute_error": metrics.mean_absolute_error(true, predicted, **how),
        "root_mean_squared_error": metrics.root_mean_squared_error(true, predicted, **how),
    }


def _of_labels(labels: Ints, scores: Floats, weights: Floats | None) -> dict[str, float]:
    decided, how = scores >= 0.5, {"sample_weight": weights}
    levels, place = np.unique(scores, return_inverse=True)  # equal scores share a bin
    people = np.bincount(place, weights, len(levels))
    bins = np.minimum(10 * (np.cumsum(people) - people / 2) / people.sum(), 9).astype(np.int64)
    off = np.bincount(bins[place], (scores - labels) * (1.0 if weights is None else weights), 10)
    return {
        "roc_auc": metrics.roc_auc_score(labels, scores, **how),
        "average_precision": metrics.average_precision_score(labels, scores, **how),
        "accuracy": metrics.accuracy_score(labels, decided, **how),
        "balanced_accuracy": metrics.balanced_accuracy_score(labels, decided, **how),
        "f1": metrics.f1_score(labels, decided, **how),
        "log_loss": metrics.log_loss(labels, scores, **how),
        "brier": metrics.brier_score_loss(labels, scores, **how),
        "calibration_error": float(np.abs(off).sum() / people.sum()),
        "score_spread": math.sqrt(np.cov(scores, aweights=weights, ddof=0)),
    }


def _draw_pairs(random: np.random.Generator, people: People, *, is_within: bool) -> tuple[Ints, Ints]:
    """Draw comparable pairs, each stratum as often as its worlds have pairs; people of two worlds may meet."""
    n_labels, n_groups = 2, 2
    stratum = people.case * n_labels + people.label
    n_strata = int(stratum.max()) + 1
    key = (people.world * n_strata + stratum) * n_groups + people.group
    counts = np.bincount(key, minlength=(int(people.world.max()) + 1) * n_strata * n_groups)
    counts = counts.reshape(-1, n_strata, n_groups).astype(np.float64)
    if is_within:
        weights = (counts * (counts - 1) / 2).sum(axis=0).ravel()
    else:
        weights = np.repeat(counts.prod(axis=2).sum(axis=0), n_groups) * ([1, 0] * n_strata)
    if not weights.any():
        return np.empty(0, np.int64), np.empty(0, np.int64)
    chosen = np.sort(random.choice(len(weights), N_TRUE_PAIRS, p=weights / weights.sum()))
    place = stratum * n_groups + people.group
    order = np.argsort(place, kind="stable")
    starts = np.searchsorted(place[order], np.arange(len(weights) + 1))
    sizes = np.diff(starts)
    partner = chosen if is_within else chosen + 1
    left = order[starts[chosen] + (random.random(len(chosen)) * sizes[chosen]).astype(np.int64)]
    right = order[starts[partner] + (random.random(len(chosen)) * sizes[partner]).astype(np.int64)]
    return left, right


def _of_pairs(people: People, scores: Floats, pairs: tuple[Ints, Ints], task: str) -> dict[str, float]:
    left, right = pairs
    if not len(left):
        return {}
    ranks = rank_scores(scores, weights=people.weight)
    times = np.ones(len(left)) if people.weight is None else people.weight[left] * people.weight[right]
    spread = math.sqrt(np.cov(scores, aweights=people.weight, ddof=0))
    gaps, rank_gaps = np.abs(scores[left] - scores[right]), np.abs(ranks[left] - ranks[right])
    flips = (scores[left] >= 0.5) != (scores[right] >= 0.5)
    found: dict[str, float] = {}
    slices = dict.fromkeys(SLICES[:1], np.ones(len(left), np.bool_))
    if people.label.any():
        slices |= {"positive_": people.label[left] == 1, "negative_": people.label[left] == 0}
    for where, chosen in slices.items():
        mean = partial(np.average, weights=times[chosen])
        for name, values in (("gap", gaps[chosen]), ("rank_gap", rank_gaps[chosen])):
            found[f"{where}{name}_mean"] = float(mean(values))
            found |= {f"{where}{name}_{one}": at for one, at in _quantiles(values, times[chosen]).items()}
        found[f"{where}gap_share_above"] = float(mean(gaps[chosen] > GAP_LIMIT + 1e-9))
        found[f"{where}gap_over_spread"] = found[f"{where}gap_mean"] / spread
        if task != "regression":
            found[f"{where}flip_rate"] = float(mean(flips[chosen]))
    if (people.group[left] != people.group[right]).all():
        signed = scores[left] - scores[right]
        found["direction"] = float(np.average(np.where(people.group[left] == 1, signed, -signed), weights=times))
    return found


def _quantiles(values: Floats, weights: Floats) -> dict[str, float]:
    order = np.argsort(values)
    ends = np.cumsum(weights[order])
    places = np.searchsorted(ends, np.array(list(QUANTILES.values())) * ends[-1])
    return dict(zip(QUANTILES, values[order][places].tolist(), strict=True))
