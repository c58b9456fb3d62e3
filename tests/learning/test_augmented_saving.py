"""A fitted AugmentedClassifier in a folder: it predicts as before, and nothing in the folder is run."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, VotingClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler

from likewise import NetworkClassifier, UniformGenerator, load_dataset
from likewise.exceptions import GenerationError, SavedFolderError
from likewise.learning import AugmentedClassifier
from likewise.nets._storage import load_folder, save_folder

DATA = load_dataset("planted")
PEOPLE, LABELS = DATA.train.X.head(300), DATA.train.y.head(300)
OTHERS = DATA.test.X.head(100)


class Recording(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Be a type that skops does not know."""

    def fit(self, X: Any, y: Any) -> Self:
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.classes_[0])


def of_strangers(X: Any) -> Any:
    return X


def generator() -> UniformGenerator:
    return UniformGenerator(DATA.roles, DATA.rule)


def named(discrete: list[str]) -> Any:
    coding = make_column_transformer((StandardScaler(), list(DATA.roles.continuous)), (OneHotEncoder(), discrete))
    return make_pipeline(coding, LogisticRegression(max_iter=500))


def coded(*steps: Any) -> Any:
    numbers, others = make_column_selector(dtype_include=np.number), make_column_selector(dtype_exclude="number")
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    coding = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), numbers),
        (encoder, others),
    )
    return make_pipeline(coding, *steps)


def augmented(estimator: Any, **params: Any) -> AugmentedClassifier:
    return AugmentedClassifier(estimator, generator(), **{"random_state": 0, **params})


def test_it_predicts_as_before_without_a_generator(tmp_path: Path) -> None:
    model = augmented(named(list(DATA.roles.discrete)), discard_sensitive=True, ratio=0.2).fit(PEOPLE, LABELS)
    model.save(tmp_path / "saved")
    model.save(tmp_path / "saved")  # over itself
    again = AugmentedClassifier.load(tmp_path / "saved")
    assert np.array_equal(again.predict_proba(OTHERS), model.predict_proba(OTHERS))
    assert again.classes_.tolist() == model.classes_.tolist()
    assert list(again.feature_names_in_) == list(model.feature_names_in_)
    assert (again.n_features_in_, again.discarded_) == (11, ["group", "gender"])
    assert (again.ratio, again.discard_sensitive, again.random_state) == (0.2, True, 0)
    with pytest.raises(GenerationError, match="generator is None"):
        again.fit(PEOPLE, LABELS)
    fitted = again.set_params(generator=generator()).fit(PEOPLE, LABELS)
    assert np.array_equal(fitted.predict_proba(OTHERS), model.predict_proba(OTHERS))


def test_networks_save_themselves(tmp_path: Path) -> None:
    network = NetworkClassifier((8,), n_iterations=20, weight_decay=0.0, roles=DATA.roles)
    model = augmented(network).fit(PEOPLE, LABELS)
    model.save(tmp_path / "saved")
    again = AugmentedClassifier.load(tmp_path / "saved")
    assert isinstance(again.estimator_, NetworkClassifier)
    assert np.array_equal(again.predict_proba(OTHERS), model.predict_proba(OTHERS))
    assert {"likewise.json", "numbers.safetensors"} <= {path.name for path in (tmp_path / "saved").iterdir()}


def test_types_that_could_run_code_are_not_saved(tmp_path: Path) -> None:
    model = augmented(make_pipeline(OneHotEncoder(), Recording())).fit(PEOPLE, LABELS)
    with pytest.raises(SavedFolderError, match=r"Recording.*save estimator_ with its own library"):
        model.save(tmp_path / "saved")
    assert not (tmp_path / "saved").exists()


def test_types_that_could_run_code_are_not_loaded(tmp_path: Path) -> None:
    import skops.io

    augmented(named(["region"])).fit(PEOPLE, LABELS).save(tmp_path / "saved")
    record, arrays = load_folder(tmp_path / "saved", "AugmentedClassifier 1")
    for data, words in ((skops.io.dumps(Recording()), "could run arbitrary code"), (b"PK", "cannot be read")):
        arrays["estimator.skops"] = np.frombuffer(data, np.uint8)
        save_folder(tmp_path / "saved", "AugmentedClassifier 1", record, arrays)
        with pytest.raises(SavedFolderError, match=words):
            AugmentedClassifier.load(tmp_path / "saved")
    strange = record | {"estimator": {"type": "NoSuchClassifier", "record": {}}}
    save_folder(tmp_path / "saved", "AugmentedClassifier 1", strange, {})
    with pytest.raises(SavedFolderError, match="NoSuchClassifier, which is not imported"):
        AugmentedClassifier.load(tmp_path / "saved")
    save_folder(tmp_path / "saved", "AugmentedClassifier 1", {"estimator": "skops"}, arrays)
    with pytest.raises(SavedFolderError, match="lacks something"):
        AugmentedClassifier.load(tmp_path / "saved")


def test_a_changed_folder_is_refused(tmp_path: Path) -> None:
    augmented(named(["region"])).fit(PEOPLE, LABELS).save(tmp_path / "saved")
    numbers = tmp_path / "saved" / "numbers.safetensors"
    numbers.write_bytes(numbers.read_bytes()[:-1] + b"!")
    with pytest.raises(SavedFolderError, match="was changed or truncated"):
        AugmentedClassifier.load(tmp_path / "saved")


@pytest.mark.long(3)
@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        CalibratedClassifierCV(LogisticRegression(), cv=2),
        CalibratedClassifierCV(LogisticRegression(), cv=2, method="isotonic"),
        GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2),
        VotingClassifier([("one", LogisticRegression())], voting="soft"),
        MLPClassifier((3,), max_iter=5),
        make_pipeline(SelectKBest(k=3), LogisticRegression()),
        make_pipeline(FunctionTransformer(np.log1p), SimpleImputer(), LogisticRegression()),
    ],
    ids=["regression", "sigmoid", "isotonic", "search", "vote", "network", "selection", "function of numpy"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_ordinary_pipelines_can_be_saved(estimator: Any, tmp_path: Path) -> None:
    model = augmented(coded(estimator)).fit(PEOPLE, LABELS)
    model.save(tmp_path / "saved")
    again = AugmentedClassifier.load(tmp_path / "saved", device="cpu")
    assert np.array_equal(again.predict_proba(OTHERS), model.predict_proba(OTHERS))


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (make_pipeline(FunctionTransformer(of_strangers), named(["region"])), "of_strangers"),
        (make_pipeline(OrdinalEncoder(), HistGradientBoostingClassifier(max_iter=2)), "TreePredictor"),
    ],
    ids=["function", "trees that are not checked"],
)
def test_other_types_stay_refused(estimator: Any, words: str, tmp_path: Path) -> None:
    model = augmented(estimator).fit(DATA.train.X, DATA.train.y)
    with pytest.raises(SavedFolderError, match=words):
        model.save(tmp_path / "saved")


def test_networks_compute_where_they_are_told(tmp_path: Path) -> None:
    augmented(NetworkClassifier((8,), n_iterations=20, weight_decay=0.0)).fit(PEOPLE, LABELS).save(tmp_path / "saved")
    assert str(AugmentedClassifier.load(tmp_path / "saved", device="cpu").estimator_.device_) == "cpu"
    with pytest.raises(ValueError, match="device"):
        AugmentedClassifier.load(tmp_path / "saved", device="nowhere")
