"""Simulate how often intervals of a chosen model cover the truth: as they are, and allowing for the choice.

Run it from the environment that ``make test`` makes, or wherever the package and what it needs can be imported::

    python benchmarks/selection.py  # 100 searches of each kind: ten minutes of processor time
    python benchmarks/selection.py --kinds alike_10 --draws 100

People are drawn from a population with 60 cases, two groups and two labels; everybody is comparable with those of the
same case and label in the other group. The candidates of a search are given functions of a person, so that nothing is
learned and the truth of each is known (from 60,000 people and 2.4 million pairs of them). A search chooses one of them
on 400 held-out people; then its gain, unfairness and loss are looked up in the intervals of ``best_point_``
(of a model named in advance) and of ``selection_`` (which allow for the choice).

Figures are stored in results/selection.json.xz, and written as a table to results/selection.md.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import average_precision_score

from _harness import RESULTS, read_figures, write_figures
from likewise import Comparability, Roles
from likewise.exceptions import LikewiseWarning
from likewise.frontier import FrontierSearch, WeightRange

NAME: Final = "selection"
N_CASES: Final = 60
N_PEOPLE: Final = 445  # nine tenths of whom are held out
N_TRUTH: Final = 60_000
PAIRS_A_CELL: Final = 20_000
ROLES: Final = Roles(sensitive="group", discrete=["case"], ignored=["merit", "luck"])
RULE: Final = Comparability(max_discrete_changes=0, max_continuous_shift=0.0)
MEASURES: Final = ("gain", "unfairness", "loss")
# The kinds of searches: what they are, and the grid; "study" is asked of Optuna.
KINDS: Final[Mapping[str, tuple[str, dict[str, Any]]]] = {
    "one": ("a single candidate, named in advance", {"number": [1.0]}),
    "sweep_10": (
        "10 weights of one model: gaps shrink, and all err alike",
        {"weight": np.linspace(0.1, 1.0, 10).tolist()},
    ),
    "alike_10": ("10 candidates that are equally unfair and err independently", {"number": list(range(1, 11))}),
    "study_20": ("20 trials of an Optuna study over endlessly many such candidates", {"number": WeightRange(1.0, 1e4)}),
}


def main() -> None:
    """Simulate what the command line asks for, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=100, help="searches of each kind (default: 100)")
    parser.add_argument("--kinds", default=",".join(KINDS), help="which kinds, by comma")
    options = parser.parse_args()
    stored = read_figures(NAME)
    for kind in options.kinds.split(","):
        began = time.process_time()
        stored[kind] = simulate(kind, options.draws)
        stored[kind]["seconds"] = round(time.process_time() - began, 1)
        write_figures(NAME, stored)
        print(kind, stored[kind], flush=True)
    (RESULTS / f"{NAME}.md").write_text(write_page(stored), "utf-8")


def draw_people(n: int, seed: int) -> pa.Table:
    """Return people: case, group, label, and what their scores depend on."""
    random = np.random.default_rng([seed, n])
    case = random.integers(N_CASES, size=n)
    merit = (case % 12 - 5.5) / 4 + 0.3 * random.normal(size=n)
    return pa.table(
        {
            "case": [str(one) for one in case],
            "group": np.where(random.random(n) < 0.5, "a", "b").tolist(),
            "merit": merit,
            "luck": random.random(n),
            "label": (random.random(n) < expit(1.5 * merit)).astype(int),
        }
    )


class Scorer(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Score one group lower, less so with more weight, and everybody with the noise of a numbered candidate."""

    def __init__(self, number: float = 0.0, weight: float = 0.5) -> None:
        self.number = number
        self.weight = weight

    def fit(self, X: Any, y: Any) -> Self:
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X: pa.Table) -> NDArray[np.float64]:
        is_b = np.array([one == "b" for one in X.column("group").to_pylist()])
        merit, luck = X.column("merit").to_numpy(), X.column("luck").to_numpy()
        noise = np.cos(2 * np.pi * (1e4 * luck * self.number + 1e2 * luck)) * 0.05 * (self.number > 0)
        scores = np.clip(expit(merit) - 0.1 * (1 - self.weight) * is_b + noise, 0.0, 1.0)
        return np.column_stack([1 - scores, scores])


@cache
def big() -> tuple[pa.Table, NDArray[np.int64], NDArray[np.int64]]:
    """Return many people and many pairs of them, equally many in each cell of case and label."""
    people, random = draw_people(N_TRUTH, 1), np.random.default_rng(2)
    case, label = np.array(people.column("case").to_pylist()), people.column("label").to_numpy()
    is_b = np.array(people.column("group").to_pylist()) == "b"
    chosen = []
    for number in range(N_CASES):
        for one in (0, 1):
            here = (case == str(number)) & (label == one)
            sides = [np.flatnonzero(here & (is_b == side)) for side in (False, True)]
            chosen.append([random.choice(side, PAIRS_A_CELL) for side in sides])
    left, right = np.concatenate(chosen, axis=1)
    return people, left, right


def find_truth(params: Mapping[str, Any]) -> dict[str, float]:
    """Return unfairness and average precision of a candidate; pairs count as often as people of a cell meet."""
    people, left, right = big()
    label = people.column("label").to_numpy()
    scores = Scorer(**params).predict_proba(people)[:, 1]
    gaps = np.abs(scores[left] - scores[right])
    return {
        "unfairness": float(np.average(gaps, weights=_cell_weights())),
        "utility": float(average_precision_score(label, scores)),
    }


@cache
def _cell_weights() -> NDArray[np.float64]:
    """Return how often pairs of each cell occur: as the product of its two groups."""
    people, left, _ = big()
    label, case = people.column("label").to_numpy(), np.array(people.column("case").to_pylist()).astype(int)
    is_b = np.array(people.column("group").to_pylist()) == "b"
    sizes = np.zeros((2, N_CASES, 2))
    np.add.at(sizes, (label, case, is_b.astype(int)), 1.0)
    return sizes.prod(axis=2)[label[left], case[left]]


def simulate(kind: str, n_draws: int) -> dict[str, Any]:
    """Search many samples of people; count how often the truth is in the intervals."""
    counts = {which: dict.fromkeys(MEASURES, 0) for which in ("named", "allowing")}
    widths = {which: dict.fromkeys(MEASURES, 0.0) for which in ("named", "allowing")}
    bias = dict.fromkeys(MEASURES, 0.0)
    base, n_known = find_truth({"weight": 0.0}), 0
    truths: dict[str, dict[str, float]] = {}
    for draw in range(n_draws):
        found = run_search(kind, draw)
        if found.best_point_.is_base:
            continue
        n_known += 1
        name = found.best_point_.name
        if name not in truths:
            truths[name] = find_truth({"weight": 0.5, **found.best_params_})
        of = truths[name]
        truth = {
            "gain": base["unfairness"] - of["unfairness"],
            "unfairness": of["unfairness"],
            "loss": base["utility"] - of["utility"],
        }
        for measure in MEASURES:
            bias[measure] += getattr(found.best_point_, measure).value - truth[measure]
            for which, source in (("named", found.best_point_), ("allowing", found.selection_)):
                one = getattr(source, measure)
                counts[which][measure] += one.low <= truth[measure] <= one.high
                widths[which][measure] += one.high - one.low
    return {
        "draws": n_known,
        "covered": {which: {name: n / n_known for name, n in one.items()} for which, one in counts.items()},
        "width": {which: {name: n / n_known for name, n in one.items()} for which, one in widths.items()},
        "bias": {name: total / n_known for name, total in bias.items()},
    }


def run_search(kind: str, draw: int) -> FrontierSearch:
    people = draw_people(N_PEOPLE, 100 + draw)
    search = FrontierSearch(
        Scorer(),
        KINDS[kind][1],
        base=Scorer(weight=0.0),
        roles=ROLES,
        rule=RULE,
        unfairness="gap_mean",
        max_loss=0.5,
        validation_fraction=0.9,
        n_resamples=40,
        refit=False,
        search="optuna" if kind.startswith("study") else "grid",
        n_trials=20 if kind.startswith("study") else None,
        random_state=draw,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LikewiseWarning)
        return search.fit(people.drop_columns("label"), people.column("label").to_numpy())


def write_page(stored: Mapping[str, Any]) -> str:
    """Return the figures as Markdown."""
    lines = [
        "# Intervals of a chosen model",
        "",
        "Written by `python benchmarks/selection.py`, which says how it is measured. Share of nominal 95% intervals of",
        "the chosen model that cover the truth: intervals of a model named in advance (`best_point_`), and those that",
        "allow for the choice (`selection_`); in brackets how much wider the latter are. Bias: mean of the estimated",
        "gain less the truth. Standard error of a coverage of 0.95 among 100 searches: 0.022.",
        "",
        "| search | searches | bias of the gain | gain | unfairness | loss |",
        "|---|---|---|---|---|---|",
    ]
    for kind, one in stored.items():
        named, allowing = one["covered"]["named"], one["covered"]["allowing"]
        cells = []
        for name in MEASURES:
            ratio = one["width"]["allowing"][name] / one["width"]["named"][name]
            cells.append(f"{named[name]:.3f} → {allowing[name]:.3f} ({ratio:.2f}x)")
        bias = f"{100 * one['bias']['gain']:+.2f} pp"
        lines.append(f"| {kind}: {KINDS[kind][0]} | {one['draws']:,} | {bias} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
