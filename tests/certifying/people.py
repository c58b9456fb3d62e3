"""Random people, rules and models to certify."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from likewise import Comparability, Roles

WORDS = ["group", "sex", "job", "town", "size", "area"]
NUMBERS = ["income", "age", "extra"]
ROLES = Roles(
    sensitive=["group", "sex"],
    discrete=["job", "town"],
    ordinal={"size": ["S", "M", "L", "XL"]},
    matched="area",
    continuous=["income", "age"],
    ignored="extra",
)


def draw_people(random: np.random.Generator, n: int) -> pd.DataFrame:
    """Draw a table with every kind of column; the model also sees ``extra``, which the rule does not."""
    return pd.DataFrame(
        {
            "group": random.choice(["a", "b", "c"], n),
            "sex": random.choice(["f", "m"], n),
            "job": random.choice(["cook", "smith", "judge", "clerk"], n),
            "town": random.choice(["Ur", "Uruk", "Kish"], n),
            "size": random.choice(["S", "M", "L", "XL"], n),
            "area": random.choice(["n", "s"], n),
            "income": random.choice([0.0, *random.normal(1, 2, 30)], n),
            "age": random.integers(0, 20, n),
            "extra": random.normal(size=n),
        }
    )


def draw_labels(random: np.random.Generator, people: pd.DataFrame) -> np.ndarray[Any, Any]:
    """Draw labels that depend on most columns, and on some of them together."""
    score = (people["group"] == "a") + people["income"] * (people["sex"] == "f") - (people["job"] == "judge")
    score += people["age"] / 10 * (people["town"] == "Ur") + people["extra"]
    return np.asarray(score + random.normal(size=len(people)) > 1, np.int64)


def draw_rule(random: np.random.Generator) -> Comparability:
    """Draw a rule with limits of any kind."""
    own: dict[str, Any] = {"limits": {"income": str(random.choice(["0.5", "20 %"]))}} if random.random() < 0.5 else {}
    return Comparability(
        max_discrete_changes=int(random.integers(0, 3)),
        max_continuous_shift=float(random.choice([0.0, 0.05, 0.15])),
        max_ordinal_shift=int(random.integers(0, 3)),
        sensitive_differs=str(random.choice(["any", "all", "none"])),  # type: ignore[arg-type]
        must_match=("town",) if random.random() < 0.2 else (),
        **own,
    )


def encoder(scaler: Any = "passthrough", coder: Any = None, **how: Any) -> Any:
    return make_column_transformer((coder or OneHotEncoder(), WORDS), (scaler, NUMBERS), **how)


def models(seed: int) -> dict[str, Any]:
    """Return unfitted models of every kind that can be looked into, one-hot inputs sparse and dense."""
    from xgboost import XGBClassifier, XGBRegressor

    small: dict[str, Any] = {"n_estimators": 8, "max_depth": 3, "random_state": seed}
    return {
        "logistic": make_pipeline(encoder(StandardScaler()), LogisticRegression()),
        "ridge": make_pipeline(encoder(MinMaxScaler(), sparse_threshold=0.0), Ridge()),
        "tree": make_pipeline(encoder(), DecisionTreeClassifier(max_depth=5, random_state=seed)),
        "forest": make_pipeline(encoder(StandardScaler()), RandomForestClassifier(**small)),
        "amounts": make_pipeline(encoder(coder=OrdinalEncoder()), RandomForestRegressor(**small)),
        "boosted": make_pipeline(encoder(coder=OrdinalEncoder()), GradientBoostingClassifier(**small)),
        "xgboost sparse": make_pipeline(encoder(sparse_threshold=1.0), XGBClassifier(**small, n_jobs=1)),
        "xgboost dense": make_pipeline(encoder(StandardScaler(), OrdinalEncoder()), XGBClassifier(**small, n_jobs=1)),
        "xgboost amounts": make_pipeline(encoder(sparse_threshold=0.0), XGBRegressor(**small, n_jobs=1)),
    }


def score(model: Any, people: pd.DataFrame) -> np.ndarray[Any, Any]:
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(people)[:, 1], np.float64)
    return np.asarray(model.predict(people), np.float64)
