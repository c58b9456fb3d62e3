"""Every model in one file: it predicts as before, in Python and on the command line, and nothing in the file is run."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler
from tests.libraries import has_lightgbm
from xgboost import XGBClassifier, XGBRegressor, XGBRFClassifier

from likewise import (
    AdversarialGenerator,
    AntiDROClassifier,
    AugmentedClassifier,
    AugmentedRegressor,
    ConsistentClassifier,
    ConsistentRegressor,
    GibbsGenerator,
    NetworkClassifier,
    SmoothedScores,
    SmoothedTargetsClassifier,
    SmoothedTargetsRegressor,
    UniformGenerator,
    load_dataset,
)
from likewise._models import OURS, TRUSTED
from likewise.baselines import LCIFRClassifier, SenSeIClassifier, SenSRClassifier
from likewise.cli._models import load_model
from likewise.exceptions import SavedModelError, TableFileError

DATA = load_dataset("planted")
PEOPLE, LABELS = DATA.train.X.head(400), DATA.train.y.to_numpy()[:400]
OTHERS = DATA.test.X.head(100)
PAY = PEOPLE["income"].to_numpy() / 1000
WORDS = dict.fromkeys((*DATA.roles.sensitive, *DATA.roles.discrete), "category")
GENERATOR = UniformGenerator(DATA.roles, DATA.rule, random_state=0)
TREES: dict[str, Any] = {"n_estimators": 4, "max_depth": 3, "n_jobs": 1}
NETWORK: dict[str, Any] = {"hidden": (4,), "n_iterations": 20, "weight_decay": 0.0, "device": "cpu", "random_state": 0}
QUICK: dict[str, Any] = {"n_iterations": 4, "device": "cpu"}


def coded(last: Any) -> Any:
    words, numbers = make_column_selector(dtype_exclude="number"), make_column_selector(dtype_include="number")
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_pipeline(make_column_transformer((encoder, words), (StandardScaler(), numbers)), last)


def linear() -> Any:
    return coded(LogisticRegression(max_iter=500))


def lightgbm(kind: str = "Classifier", **params: Any) -> Any:
    return getattr(importlib.import_module("lightgbm"), f"LGBM{kind}")(**TREES, verbose=-1, **params)


def augmented(estimator: Any, generator: Any = GENERATOR, **params: Any) -> Any:
    return AugmentedClassifier(coded(estimator), generator, **{"random_state": 0, **params})


def consistent(estimator: Any, roles: Any = DATA.roles) -> Any:
    return ConsistentClassifier(estimator, roles, DATA.rule, 2.0, random_state=0)


MODELS: dict[str, Callable[[], Any]] = {
    "linear with pairs": lambda: consistent(linear()),
    "ridge with pairs": lambda: ConsistentRegressor(coded(Ridge()), DATA.roles, DATA.rule),
    "xgboost with pairs": lambda: consistent(coded(XGBClassifier(**TREES)), DATA.roles.learn(PEOPLE)),
    "network with pairs": lambda: consistent(NetworkClassifier(**NETWORK)),
    "smoothed targets": lambda: SmoothedTargetsClassifier(linear(), DATA.roles, DATA.rule, random_state=0),
    "smoothed outcomes": lambda: SmoothedTargetsRegressor(coded(Ridge()), DATA.roles, DATA.rule, random_state=0),
    "smoothed scores": lambda: SmoothedScores(linear(), DATA.roles, DATA.rule),
    "antidotes, uniform": lambda: augmented(LogisticRegression(), discard_sensitive=True),
    "antidotes, gibbs": lambda: augmented(
        NetworkClassifier(**NETWORK), GibbsGenerator(DATA.roles, DATA.rule, width=8, **QUICK)
    ),
    "antidotes, adversarial": lambda: augmented(
        LogisticRegression(), AdversarialGenerator(DATA.roles, DATA.rule, batch_size=64, width=8, max_modes=2, **QUICK)
    ),
    "antidotes for amounts": lambda: AugmentedRegressor(coded(XGBRegressor(**TREES)), GENERATOR, random_state=0),
    "antidotes in the loss": lambda: AntiDROClassifier(GENERATOR, 2, discard_sensitive=True, **NETWORK),
    "network": lambda: NetworkClassifier(roles=DATA.roles, progress=lambda record: None, **NETWORK),
    "SenSR": lambda: SenSRClassifier(DATA.roles, **NETWORK),
    "SenSeI": lambda: SenSeIClassifier(DATA.roles, **NETWORK),
    "LCIFR": lambda: LCIFRClassifier(DATA.roles, rule=DATA.rule, **NETWORK),
    "search": lambda: GridSearchCV(augmented(LogisticRegression()), {"ratio": [0.1, 0.2]}, cv=2),
    **(
        {
            "lightgbm with pairs": lambda: consistent(coded(lightgbm())),
            "lightgbm for amounts with pairs": lambda: ConsistentRegressor(
                coded(lightgbm("Regressor")), DATA.roles, DATA.rule
            ),
            "lightgbm with antidotes": lambda: augmented(lightgbm()),
        }
        if has_lightgbm()
        else {}
    ),
}
pytestmark = pytest.mark.filterwarnings("ignore::likewise.exceptions.LikewiseWarning")  # few steps teach nothing


def scores_of(model: Any, people: Any = OTHERS) -> Any:
    return model.predict_proba(people) if hasattr(model, "predict_proba") else model.predict(people)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_predicts_the_same_bytes_here_and_on_the_command_line(name: str, tmp_path: Path) -> None:
    import skops.io

    path = tmp_path / "model.skops"
    model = MODELS[name]()
    model.fit(PEOPLE, PAY if hasattr(model, "estimator") and not hasattr(model, "predict_proba") else LABELS)
    if name == "search":
        skops.io.dump(model, path)
    else:
        model.save(path)
        again = type(model).load(path)
        assert scores_of(again).tobytes() == scores_of(model).tobytes()
        assert again.predict(OTHERS).tolist() == model.predict(OTHERS).tolist()
        assert list(again.feature_names_in_) == list(model.feature_names_in_)
        assert getattr(again, "discarded_", []) == getattr(model, "discarded_", [])
    scored = load_model(path, []).score(pa.Table.from_pandas(OTHERS), apart=[], features=[])
    assert np.asarray(scored.probabilities).tobytes() == scores_of(model).tobytes()


@pytest.mark.parametrize("name", ["xgboost with pairs", "smoothed targets", "antidotes, gibbs", "SenSR"])
def test_a_loaded_model_can_be_fitted_again(name: str, tmp_path: Path) -> None:
    model = MODELS[name]().fit(PEOPLE, LABELS)
    model.save(tmp_path / "model.skops")
    again = type(model).load(tmp_path / "model.skops").fit(PEOPLE, LABELS)
    assert scores_of(again).tobytes() == scores_of(model).tobytes()


@pytest.mark.long(3)
@pytest.mark.parametrize(
    "estimator",
    [
        CalibratedClassifierCV(LogisticRegression(), cv=2),
        CalibratedClassifierCV(XGBClassifier(**TREES), method="isotonic", cv=2),
        GridSearchCV(LogisticRegression(), {"C": [0.1, 1]}, cv=2),
        VotingClassifier([("a", LogisticRegression()), ("b", MLPClassifier((4,), max_iter=5))], voting="soft"),
        make_pipeline(SelectKBest(k=3), RandomForestClassifier(3, random_state=0)),
        make_pipeline(FunctionTransformer(np.abs), HistGradientBoostingClassifier(max_iter=3)),
        XGBRFClassifier(**TREES),
        XGBClassifier(**TREES, booster="dart", rate_drop=0.3),
    ],
    ids=["sigmoid", "isotonic", "search", "vote", "forest", "histograms", "random trees", "dart"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_ordinary_pipelines_need_no_trust(estimator: Any, tmp_path: Path) -> None:
    model = augmented(estimator).fit(PEOPLE, LABELS)
    model.save(tmp_path / "model.skops")
    again = AugmentedClassifier.load(tmp_path / "model.skops")
    assert np.array_equal(again.predict_proba(OTHERS), model.predict_proba(OTHERS))


def test_categories_and_rounds_of_early_stopping_are_kept(tmp_path: Path) -> None:
    trees = XGBClassifier(**TREES | {"n_estimators": 60}, early_stopping_rounds=2, enable_categorical=True)
    model = AugmentedClassifier(trees, GENERATOR, random_state=0)
    model.fit(PEOPLE.astype(WORDS), LABELS, eval_set=[(DATA.test.X.astype(WORDS), DATA.test.y)])
    model.save(tmp_path / "model.skops")
    again, others = AugmentedClassifier.load(tmp_path / "model.skops"), OTHERS.astype(WORDS)
    assert scores_of(again, others).tobytes() == scores_of(model, others).tobytes()
    swapped = others.assign(purpose=others["purpose"].cat.reorder_categories(sorted(set(others["purpose"]))[::-1]))
    assert scores_of(again, swapped).tobytes() == scores_of(model, swapped).tobytes()


class Stranger(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Be a type that nobody vouches for."""

    def fit(self, X: Any, y: Any) -> Self:
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.classes_[0])


def test_other_types_are_loaded_only_by_name(tmp_path: Path) -> None:
    model = augmented(Stranger()).fit(PEOPLE, LABELS)
    model.save(tmp_path / "model.skops")
    strange = f"{__name__}.Stranger"
    with pytest.raises(SavedModelError, match=rf"may run any code .*{strange}.*add trusted=\['{strange}'\]"):
        AugmentedClassifier.load(tmp_path / "model.skops")
    again = AugmentedClassifier.load(tmp_path / "model.skops", trusted=[strange])
    assert again.predict(OTHERS).tolist() == model.predict(OTHERS).tolist()


def test_what_cannot_be_loaded_again_is_not_saved(tmp_path: Path) -> None:
    for odd in (FunctionTransformer(lambda X: X), OrdinalEncoder(handle_unknown=iter([]))):
        model = MODELS["linear with pairs"]().fit(PEOPLE, LABELS)
        model.estimator_.steps[0] = ("odd", odd)
        with pytest.raises(SavedModelError, match=r"This ConsistentClassifier cannot be saved .* functions of yours"):
            model.save(tmp_path / "model.skops")
    assert list(tmp_path.iterdir()) == []


def test_files_that_are_not_that_model_get_one_line(tmp_path: Path) -> None:
    path = tmp_path / "model.skops"
    model = MODELS["network"]().fit(PEOPLE, LABELS)
    with pytest.raises(SavedModelError, match=r"does not end in \.skops\. Name it '.*model\.skops'"):
        model.save(tmp_path / "model")
    model.save(path)
    with pytest.raises(TableFileError, match="is there already"):
        model.save(path)
    with pytest.raises(SavedModelError, match="holds no AugmentedClassifier, but a NetworkClassifier"):
        AugmentedClassifier.load(path)
    with pytest.raises(SavedModelError, match=r"Cannot load from .*No such file"):
        NetworkClassifier.load(tmp_path / "other.skops")
    for content in (b"", b"PK", path.read_bytes()[:-100]):
        path.write_bytes(content)
        with pytest.raises(SavedModelError, match="cannot be loaded as a skops file"):
            NetworkClassifier.load(path)


def test_the_types_that_are_trusted_are_there_and_ours_are_classes() -> None:
    for name in TRUSTED:
        module, _, attribute = name.rpartition(".")
        if module.partition(".")[0] == "lightgbm" and not has_lightgbm():
            continue
        thing = getattr(importlib.import_module(module), attribute)
        assert name not in OURS or (inspect.isclass(thing) and thing.__module__ == module)
