"""Estimators that treat comparable people alike, and the baselines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import likewise
from golden._values import Page
from golden.cases._calls import ask, case, encoder, logistic, piped, planted, public, scored, shown, weights
from likewise import (
    AntidoteSampler,
    AntiDROClassifier,
    AugmentedClassifier,
    AugmentedRegressor,
    ConsistentClassifier,
    ConsistentRegressor,
    NetworkClassifier,
    SmoothedScores,
    UniformGenerator,
)

Found = dict[str, Any]
SHORT: dict[str, Any] = {"n_iterations": 60, "device": "cpu", "random_state": 0}


def generator() -> Any:
    return UniformGenerator(planted().roles, planted().rule, random_state=0)


def fitted(model: Any, data: Any = None, **given: Any) -> Found:
    """Fit a model, and return its predictions, some of what it says about itself, and what it saves."""
    data = planted() if data is None else data
    model.fit(data.train.X, data.train.y, **given)
    found = scored(model, data)
    found |= {"n_pairs": {str(key): n for key, n in model.n_pairs_.items()}} if hasattr(model, "n_pairs_") else {}
    return found | ({"history": model.history_} if hasattr(model, "history_") else {})


def saved(model: Any, data: Any) -> Found:
    """Save a fitted model, load it, and ask it again."""
    model.save("saved.skops")
    return {f"again_{name}": one for name, one in scored(type(model).load("saved.skops"), data).items()} | {
        "saved": sorted(path.name for path in Path("saved").rglob("*"))
    }


def booster(name: str, kind: str = "Classifier", **settings: Any) -> Any:
    if name == "xgboost":
        import xgboost

        return getattr(xgboost, f"XGB{kind}")(n_estimators=15, max_depth=3, n_jobs=1, random_state=0, **settings)
    import lightgbm

    return getattr(lightgbm, f"LGBM{kind}")(
        n_estimators=15, num_leaves=8, n_jobs=1, random_state=0, verbose=-1, **settings
    )


def linear(**settings: Any) -> Any:
    from sklearn.linear_model import LogisticRegression

    return piped(LogisticRegression(max_iter=300, **settings))


def consistent(estimator: Any, data: Any = None, **settings: Any) -> Any:
    data = planted() if data is None else data
    schema = data.roles.learn(data.train.X)
    return ConsistentClassifier(estimator, schema, data.rule, **{"random_state": 0, **settings})


@case("remedy.consistent_linear")
def consistent_linear() -> Found:
    model = consistent(linear(), pair_weight=2.0)
    found = fitted(model) | shown(ask(None, model))
    kinds: dict[str, dict[str, Any]] = {
        "logit": {"gap": "logit"},
        "per_pair": {"balance_people": False, "balance_labels": False},
    }
    found |= {name: fitted(consistent(linear(), **settings)) for name, settings in kinds.items()}
    return found | saved(model, planted())


@case("remedy.consistent_linear_weighted")
def consistent_linear_weighted() -> Found:
    data = public("adult")
    return fitted(consistent(linear(), data), data, sample_weight=weights(len(data.train)) + 0.25)


def register(name: str) -> None:
    @case(f"remedy.consistent_{name}")
    def boosted() -> Found:
        data = public("compas")
        model = consistent(piped(booster(name)), data, pair_weight=3.0)
        found = fitted(model, data)
        kinds: dict[str, dict[str, Any]] = {"absolute": {"pair_loss": "absolute"}, "logit": {"gap": "logit"}}
        found |= {kind: fitted(consistent(piped(booster(name)), data, **one), data) for kind, one in kinds.items()}
        return found | saved(consistent(piped(booster(name)), data).fit(data.train.X, data.train.y), data)

    @case(f"remedy.consistent_{name}_three")
    def three_labels() -> Found:
        data = public("compas")
        labels = np.where(data.train.y == 0, "a", np.where(data.train.X["priors_count"] > 1, "b", "c"))
        model = consistent(piped(booster(name)), data, pair_weight=3.0).fit(data.train.X, labels)
        return scored(model, data)

    @case(f"remedy.consistent_regressor_{name}")
    def regressor() -> Found:
        data = planted()
        model = ConsistentRegressor(piped(booster(name, "Regressor")), data.roles, data.rule, random_state=0)
        model.fit(data.train.X, data.scores(data.train.X) * 100, sample_weight=weights(len(data.train)) + 0.25)
        return scored(model, data)


for _name in ("xgboost", "lightgbm"):
    register(_name)


@case("remedy.consistent_stopping")
def consistent_stopping() -> Found:
    data = public("compas")
    held_out = [(data.test.X, data.test.y)]
    return fitted(consistent(piped(booster("xgboost", early_stopping_rounds=3)), data), data, eval_set=held_out)


@case("remedy.consistent_generator")
def consistent_generator() -> Found:
    return fitted(consistent(linear(), generator=generator()))


@case("remedy.consistent_beside")
def consistent_beside() -> Found:
    data = planted()
    sensitive = list(data.roles.sensitive)
    model = ConsistentClassifier(linear(), data.roles, data.rule, random_state=0)
    model.fit(data.train.X.drop(columns=sensitive), data.train.y, sensitive_features=data.train.X[sensitive])
    return {"probabilities": model.predict_proba(data.test.X.drop(columns=sensitive))}


@case("remedy.consistent_network", slow=True)
def consistent_network() -> Found:
    model = consistent(NetworkClassifier(hidden=(16,), **SHORT))
    return fitted(model) | saved(model, planted())


@case("remedy.consistent_ridge")
def consistent_ridge() -> Found:
    from sklearn.linear_model import Ridge

    data = planted()
    model = ConsistentRegressor(piped(Ridge()), data.roles, data.rule, pair_weight=2.0, random_state=0)
    model.fit(data.train.X, data.scores(data.train.X) * 100)
    return scored(model, data) | saved(model, data)


@case("remedy.smoothed")
def smoothed() -> Found:
    data, found = planted(), {}
    for graph in ("people", "reference"):
        model = SmoothedScores(logistic("planted"), data.roles.learn(data.train.X), data.rule, graph=graph)
        found[graph] = fitted(model.fit(data.train.X), data) | {"changes": Page(str(model.changes_))}
        found[graph] |= shown(ask(data, model))
    return found


@case("remedy.smoothed_adult")
def smoothed_adult() -> Found:
    data = public("adult")
    model = SmoothedScores(logistic("adult"), data.roles, data.rule, smoothing=50.0, graph="people").fit(data.train.X)
    return scored(model, data) | {"smoothed": model.smooth(data.train.X, graph="people")}


@case("remedy.augmented")
def augmented() -> Found:
    hidden = AugmentedClassifier(linear(), generator(), ratio=0.5, discard_sensitive=True, random_state=1)
    model = AugmentedClassifier(linear(), generator(), ratio=0.5, random_state=0)
    found = fitted(model) | {"hidden": fitted(hidden), "antidotes": model.antidotes_.frame}
    return found | saved(model, planted())


@case("remedy.augmented_regressor")
def augmented_regressor() -> Found:
    data = planted()
    model = AugmentedRegressor(piped(booster("xgboost", "Regressor")), generator(), random_state=0)
    return scored(model.fit(data.train.X, data.scores(data.train.X) * 100), data)


@case("remedy.sampler")
def sampler() -> Found:
    step = AntidoteSampler(generator(), ratio=0.3, random_state=0)
    rows, labels = step.fit_resample(planted().train.X, planted().train.y)
    return {"rows": rows, "labels": np.asarray(labels), "indices": step.sample_indices_}


@case("remedy.network", slow=True)
def network() -> Found:
    model = NetworkClassifier(roles=planted().roles, hidden=(16, 8), **SHORT)
    found = fitted(model) | saved(model, planted())
    kinds: dict[str, dict[str, Any]] = {
        "adam": {"optimizer": "adam", "learning_rate": 0.01},
        "deviation": {"scaling": "deviation"},
    }
    return found | {
        name: fitted(NetworkClassifier(roles=planted().roles, **SHORT, **one)) for name, one in kinds.items()
    }


@case("remedy.antidro", slow=True)
def antidro() -> Found:
    found = {}
    kinds: dict[str, dict[str, Any]] = {
        "worst": {"objective": "worst"},
        "consistency": {"objective": "consistency", "discard_sensitive": True, "n_antidotes": 3},
    }
    for name, settings in kinds.items():
        model = AntiDROClassifier(generator(), hidden=(16,), **SHORT, **settings)
        found[name] = fitted(model)
    return found


def register_baseline(name: str, **settings: Any) -> None:
    @case(f"baseline.{name}", slow=True)
    def baseline() -> Found:
        data = public("compas")
        kind = getattr(likewise.baselines, name)
        return fitted(kind(roles=data.roles, hidden=(16,), **SHORT, **settings), data)


register_baseline("SenSRClassifier", n_subspace_steps=3, n_full_steps=3)
register_baseline("SenSeIClassifier", n_steps=3)
register_baseline("LCIFRClassifier", n_attack_steps=3, rule=None)


@case("baseline.projected")
def projected() -> Found:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    data, found = public("compas"), {}
    for method in ("softmax",):
        step = likewise.baselines.ProjectSensitive(data.roles)
        model = make_pipeline(step, LogisticRegression(max_iter=300))
        found[method] = fitted(model, data) | {"names": list(step.get_feature_names_out())}
        found[method] |= {"inputs": np.asarray(step.transform(data.test.X)), "basis": step.subspace_.basis}
    return found


@case("baseline.dropped")
def dropped() -> Found:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    step = likewise.baselines.DropSensitive(public("compas").roles)
    return fitted(make_pipeline(step, encoder(), LogisticRegression(max_iter=300)), public("compas"))
