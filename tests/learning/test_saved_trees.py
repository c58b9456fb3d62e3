"""Boosted trees inside our models are saved in their libraries' own formats: equal to the last bit, or one line."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from tests.libraries import has_lightgbm
from tests.sizes import sized
from xgboost import XGBClassifier, XGBRegressor, XGBRFClassifier

from likewise import (
    AugmentedClassifier,
    AugmentedRegressor,
    ConsistentClassifier,
    ConsistentRegressor,
    SmoothedScores,
    UniformGenerator,
    load_dataset,
)
from likewise.exceptions import LikewiseError, SavedFolderError
from likewise.nets._storage import load_folder, save_folder

DATA = load_dataset("planted")
PEOPLE, LABELS = DATA.train.X.head(400), DATA.train.y.to_numpy()[:400]
OTHERS = DATA.test.X.head(100)
THREE = np.array(["low", "middle", "high"])[LABELS + (PEOPLE["age"].to_numpy() > 50)]
PAY = PEOPLE["income"].to_numpy() / 1000
KINDS = dict.fromkeys((*DATA.roles.sensitive, *DATA.roles.discrete), "category")
GENERATOR = UniformGenerator(DATA.roles, DATA.rule)
LIBRARIES = ["xgboost", *(["lightgbm"] if has_lightgbm() else [])]
SMALL: dict[str, Any] = {"n_estimators": 4, "max_depth": 3, "n_jobs": 1}


def trees(library: str, kind: str, **params: Any) -> Any:
    if library == "xgboost":
        return {"Classifier": XGBClassifier, "Regressor": XGBRegressor}[kind](**SMALL, **params)
    return getattr(import_module("lightgbm"), f"LGBM{kind}")(**SMALL, verbose=-1, **params)


def coded(last: Any) -> Any:
    words = make_column_selector(dtype_exclude="number")
    return make_pipeline(make_column_transformer((OrdinalEncoder(), words), remainder="passthrough"), last)


MODELS: dict[str, Callable[[str], Any]] = {
    "augmented": lambda library: AugmentedClassifier(coded(trees(library, "Classifier")), GENERATOR, random_state=0),
    "augmented amounts": lambda library: AugmentedRegressor(
        coded(trees(library, "Regressor")), GENERATOR, random_state=0
    ),
    "pairs": lambda library: ConsistentClassifier(
        coded(make_pipeline("passthrough", trees(library, "Classifier"))), DATA.roles, DATA.rule, 2.0
    ),
    "pairs of amounts": lambda library: ConsistentRegressor(
        coded(trees(library, "Regressor")), DATA.roles.learn(PEOPLE), DATA.rule
    ),
    "smoothed": lambda library: SmoothedScores(
        ConsistentClassifier(coded(trees(library, "Classifier")), DATA.roles, DATA.rule), DATA.roles, DATA.rule
    ),
}


def scores_of(model: Any, people: Any = OTHERS) -> Any:
    return model.predict_proba(people) if hasattr(model, "predict_proba") else model.predict(people)


@pytest.mark.long(3)
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_predicts_the_same_bytes_and_can_be_fitted_again(
    name: str, library: str, tmp_path: Path
) -> None:
    target = PAY if "amounts" in name else THREE if name == "pairs" else LABELS
    model = MODELS[name](library).fit(PEOPLE, target)
    model.save(tmp_path / "saved")
    again = type(model).load(tmp_path / "saved")
    assert scores_of(again).tobytes() == scores_of(model).tobytes()
    assert again.predict(OTHERS).tolist() == model.predict(OTHERS).tolist()
    assert {"likewise.json", "numbers.safetensors"} <= {path.name for path in (tmp_path / "saved").iterdir()}
    if "augmented" in name:
        again.set_params(generator=GENERATOR)
    assert scores_of(again.fit(PEOPLE, target)).tobytes() == scores_of(model).tobytes()


@pytest.mark.parametrize("library", LIBRARIES)
def test_categories_and_rounds_of_early_stopping_are_kept(library: str, tmp_path: Path) -> None:
    stop = {"early_stopping_rounds": 2} if library == "xgboost" else {"early_stopping_round": 2}
    own = {"enable_categorical": True} if library == "xgboost" else {"min_data_per_group": 5, "cat_smooth": 1.0}
    last = trees(library, "Classifier", learning_rate=0.3, **stop, **own).set_params(n_estimators=60)
    held_out = [(DATA.test.X.astype(KINDS), DATA.test.y)]
    model = AugmentedClassifier(last, GENERATOR, random_state=0).fit(PEOPLE.astype(KINDS), LABELS, eval_set=held_out)
    best = model.estimator_.best_iteration if library == "xgboost" else model.estimator_.best_iteration_
    assert 1 < best < 55
    model.save(tmp_path / "saved")
    again, others = AugmentedClassifier.load(tmp_path / "saved"), OTHERS.astype(KINDS)
    assert scores_of(again, others).tobytes() == scores_of(model, others).tobytes()
    swapped = others.assign(purpose=others["purpose"].cat.reorder_categories(sorted(set(others["purpose"]))[::-1]))
    assert scores_of(again, swapped).tobytes() == scores_of(model, swapped).tobytes()


@pytest.mark.long(2)
@pytest.mark.parametrize("params", [{"booster": "dart", "rate_drop": 0.3}, {"multi_strategy": "one_output_per_tree"}])
def test_every_booster_of_trees_is_kept(params: dict[str, Any], tmp_path: Path) -> None:
    for kind in (XGBClassifier, XGBRFClassifier):
        model = AugmentedClassifier(coded(kind(**SMALL, **params)), GENERATOR, random_state=0)
        model.fit(PEOPLE, LABELS + (PEOPLE["age"].to_numpy() > 50)).save(tmp_path / "saved")
        assert scores_of(AugmentedClassifier.load(tmp_path / "saved")).tobytes() == scores_of(model).tobytes()


@pytest.mark.long(2)
@pytest.mark.parametrize(
    ("last", "words"),
    [
        (XGBClassifier(**SMALL, booster="gblinear"), "the booster gblinear.*save_model of XGBoost"),
        (
            XGBClassifier(**SMALL, eval_metric=lambda a, b: 0.0),
            r"eval_metric of this XGBClassifier is a function.*=None",
        ),
        (CalibratedClassifierCV(XGBClassifier(**SMALL), cv=2), "alone or as the last step of a Pipeline, not inside"),
        (RandomForestClassifier(2), "Trees of scikit-learn have no form that can be checked.*Use XGBoost or LightGBM"),
    ],
    ids=["linear", "function", "calibrated", "scikit-learn"],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_cannot_be_saved_gets_one_line_that_says_what_to_do(last: Any, words: str, tmp_path: Path) -> None:
    model = AugmentedClassifier(coded(last), GENERATOR, random_state=0).fit(PEOPLE, LABELS)
    with pytest.raises(SavedFolderError, match=words):
        model.save(tmp_path / "saved")
    assert not (tmp_path / "saved").exists()
    smoother = SmoothedScores(model.estimator_, DATA.roles, DATA.rule).fit(PEOPLE)
    with pytest.raises(SavedFolderError, match=r"set_params\(estimator=None\) saves the scores without it"):
        smoother.save(tmp_path / "saved")
    smoother.set_params(estimator=None).save(tmp_path / "saved")
    again = SmoothedScores.load(tmp_path / "saved").set_params(estimator=model.estimator_)
    assert scores_of(again).tobytes() == scores_of(smoother).tobytes()


def forged_number(random: np.random.Generator, text: str) -> str:
    """Put another number in the place of one of those in a text, or another digit, which keeps its length."""
    if random.integers(2):
        found = list(re.finditer(r"(?<![\w.])-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", text))
        odd = ("-7", "-1", "0", "1", "5", "99999", "2147483647", "1e30", "nan")[random.integers(9)]
    else:
        found = list(re.finditer(r"(?<![\w.])\d", text))
        odd = "0123456789-"[random.integers(11)]
    place = found[random.integers(len(found))]
    return text[: place.start()] + odd + text[place.end() :]


@pytest.mark.long(2)
@pytest.mark.parametrize("library", LIBRARIES)
def test_forged_trees_are_refused_in_one_line_or_give_finite_scores(library: str, tmp_path: Path) -> None:
    last = trees(library, "Classifier", **({"enable_categorical": True} if library == "xgboost" else {}))
    people, others = PEOPLE.astype(KINDS), OTHERS.astype(KINDS)
    AugmentedClassifier(last, GENERATOR, random_state=0).fit(people, THREE if library != "xgboost" else LABELS).save(
        tmp_path / "saved"
    )
    record, arrays = load_folder(tmp_path / "saved", "AugmentedClassifier 1")
    text = arrays["estimator.trees"].tobytes().decode()
    random, n_forged, refusals = np.random.default_rng(0), sized(60, 3000), list[str]()
    for _ in range(n_forged):
        forged = np.frombuffer(forged_number(random, text).encode(), np.uint8)
        save_folder(tmp_path / "forged", "AugmentedClassifier 1", record, arrays | {"estimator.trees": forged})
        try:
            found = scores_of(AugmentedClassifier.load(tmp_path / "forged"), others)
        except LikewiseError as error:
            refusals.append(str(error))
            continue
        except ValueError as error:  # other categories than those of these people
            assert "categor" in str(error)  # noqa: PT017
            continue
        assert np.isfinite(found).all()
        assert found.shape[0] == len(others)
    assert [words for words in refusals if "\n" in words] == []
    assert 0.1 * n_forged < len(refusals) < n_forged


def change(tree: dict[str, Any], name: str, place: int, value: int) -> None:
    tree[name][place] = value


@pytest.mark.long(2)
@pytest.mark.parametrize(
    ("forge", "words"),
    [
        (lambda tree: change(tree, "left_children", 0, 10**6), "nodes that form no tree"),
        (lambda tree: change(tree, "right_children", 0, 0), "nodes that form no tree"),
        (lambda tree: change(tree, "split_indices", 0, 11), "features beyond 11"),
        (lambda tree: tree["sum_hessian"].pop(), "sum_hessian of other nodes"),
        (lambda tree: tree.update(categories_nodes=[0], categories_segments=[0], categories_sizes=[9]), "categories"),
    ],
    ids=["child", "loop", "feature", "length", "categories"],
)
def test_an_index_that_leads_out_of_a_tree_is_never_followed(
    forge: Callable[[dict[str, Any]], None], words: str, tmp_path: Path
) -> None:
    model = ConsistentClassifier(coded(trees("xgboost", "Classifier")), DATA.roles, DATA.rule).fit(PEOPLE, LABELS)
    model.save(tmp_path / "saved")
    record, arrays = load_folder(tmp_path / "saved", "ConsistentClassifier 1")
    whole = json.loads(arrays["last.estimator.trees"].tobytes())
    forge(whole["learner"]["gradient_booster"]["model"]["trees"][0])
    arrays["last.estimator.trees"] = np.frombuffer(json.dumps(whole).encode(), np.uint8)
    save_folder(tmp_path / "saved", "ConsistentClassifier 1", record, arrays)
    with pytest.raises(SavedFolderError, match=rf"The saved XGBClassifier cannot be read \(ValueError: .*{words}"):
        ConsistentClassifier.load(tmp_path / "saved")


def test_a_library_that_is_missing_is_named(tmp_path: Path) -> None:
    MODELS["augmented"]("xgboost").fit(PEOPLE, LABELS).save(tmp_path / "saved")
    record, arrays = load_folder(tmp_path / "saved", "AugmentedClassifier 1")
    record["estimator"]["last"]["type"] = "LGBMClassifier"
    save_folder(tmp_path / "saved", "AugmentedClassifier 1", record, arrays)
    words = "cannot be read" if has_lightgbm() else r"lightgbm cannot be imported .*Install lightgbm\."
    with warnings.catch_warnings(), pytest.raises(SavedFolderError, match=words):
        AugmentedClassifier.load(tmp_path / "saved")
