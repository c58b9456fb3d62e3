"""Searches for less discriminatory models, scorers and searches of scikit-learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import likewise
from golden._values import Page
from golden.cases._calls import ask, case, piped, planted, public, scored
from golden.cases._remedies import consistent, generator, linear
from likewise import AugmentedClassifier, FrontierSearch, LeastGap, gap_scorer

Found = dict[str, Any]
SETTINGS: dict[str, Any] = {
    "max_loss": 0.02,
    "folds": 3,
    "random_state": 0,
    "n_resamples": 100,
    "progress": False,
}


def searched(search: Any, data: Any = None) -> Found:
    data = planted() if data is None else data
    search.set_params(log="search.jsonl").fit(data.train.X, data.train.y)
    log = Path("search.jsonl")
    again = likewise.frontier.replay_search(log, data.train.X, data.train.y, estimator=search.estimator, progress=False)
    return {
        "summary": Page(search.summary()),
        "points": [one.to_dict() for one in search.frontier_],
        "chosen": {name: str(one) for name, one in search.best_params_.items()},
        "log": log,
        "replay": {"agrees": not again.differences, "n_models": again.n_models, "n_numbers": again.n_numbers},
        "best": scored(search.best_estimator_, data),
    }


@case("search.default")
def default() -> Found:
    return searched(FrontierSearch(consistent(linear()), **SETTINGS))


@case("search.grid")
def grid() -> Found:
    values = {"pair_weight": [0.5, 2.0], "estimator__logisticregression__C": [0.1, 1.0]}
    measures: dict[str, Any] = {
        "utility": "roc_auc",
        "unfairness": "excess",
        "cautious": True,
    }
    return searched(FrontierSearch(consistent(linear()), values, **SETTINGS, **measures))


@case("search.antidotes")
def antidotes() -> Found:
    model = AugmentedClassifier(linear(), generator(), random_state=0)
    return searched(FrontierSearch(model, {"ratio": [0.2, 0.5]}, **SETTINGS))


@case("search.optuna")
def optuna() -> Found:
    from likewise.frontier import WeightRange

    space = {"pair_weight": WeightRange(0.1, 10.0), "estimator__logisticregression__C": [0.1, 1.0]}
    search = FrontierSearch(consistent(linear()), space, search="optuna", n_trials=5, **SETTINGS)
    return searched(search)


@case("search.compas")
def compas() -> Found:
    data = public("compas")
    return searched(FrontierSearch(consistent(linear(), data), {"pair_weight": [1.0, 4.0]}, **SETTINGS), data)


@case("search.scorers")
def scorers() -> Found:
    data = planted()
    schema = data.roles.learn(data.train.X)
    model = linear().fit(data.train.X, data.train.y)
    names = ("gap_mean", "gap_q95[1]", "excess", "rank_gap_mean", "flip_rate", "gap_mean[0]")
    made = {name: gap_scorer(schema, data.rule, measure=name) for name in names}
    scores = {name: scorer(model, data.test.X, data.test.y) for name, scorer in made.items()}
    return scores | {"text": [repr(one) for one in made.values()]}


@case("search.least_gap")
def least_gap() -> Found:
    from sklearn.model_selection import GridSearchCV

    data = planted()
    scoring = {"roc_auc": "roc_auc", "gap": gap_scorer(data.roles.learn(data.train.X), data.rule)}
    grid = {"pair_weight": [0.0, 2.0, 8.0]}
    search = GridSearchCV(consistent(linear()), grid, scoring=scoring, refit=LeastGap(max_loss=0.01), cv=3)
    search.fit(data.train.X, data.train.y)
    means = {name: search.cv_results_[f"mean_test_{name}"] for name in scoring}
    return means | {"chosen": search.best_params_, "audit": Page(str(ask(data, search.best_estimator_)))}


@case("search.plain_model")
def plain_model() -> Found:
    """A model of trees inside of a wrapper, which a log describes."""
    from sklearn.tree import DecisionTreeClassifier

    model = AugmentedClassifier(piped(DecisionTreeClassifier(max_depth=4, random_state=0)), generator(), random_state=0)
    return searched(FrontierSearch(model, {"ratio": [0.3]}, **SETTINGS))
