"""Forged folders of saved classifiers and transformers: one clear line when they are loaded, or they work."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from likewise import (
    AntiDROClassifier,
    AugmentedClassifier,
    Comparability,
    ConsistentClassifier,
    NetworkClassifier,
    Roles,
    SmoothedScores,
    UniformGenerator,
)
from likewise.baselines import LCIFRClassifier, ProjectSensitive, SenSRClassifier
from likewise.exceptions import SavedFolderError
from likewise.nets._storage import load_folder, save_folder

RANDOM = np.random.default_rng(0)
PEOPLE = pa.table(
    {
        "sex": RANDOM.choice(["f", "m"], 60),
        "job": RANDOM.choice(["baker", "cook", "waiter"], 60),
        "age": RANDOM.integers(20, 60, 60),
        "pay": RANDOM.normal(2_000, 300, 60),
    }
)
LABELS = RANDOM.integers(2, size=60)
ROLES = Roles(sensitive="sex", discrete="job", continuous=["age", "pay"])
SMALL: dict[str, Any] = {"hidden": (4,), "n_iterations": 3, "device": "cpu", "random_state": 0}
KINDS: dict[str, Callable[[], Any]] = {
    "network": lambda: NetworkClassifier(**SMALL),
    "sensr": lambda: SenSRClassifier("sex", **SMALL),
    "lcifr": lambda: LCIFRClassifier(ROLES, rule=Comparability(), **SMALL),
    "antidro": lambda: AntiDROClassifier(UniformGenerator(ROLES), **SMALL),
    "augmented": lambda: AugmentedClassifier(NetworkClassifier(**SMALL), UniformGenerator(ROLES), random_state=0),
    "pairs": lambda: ConsistentClassifier(
        NetworkClassifier(**SMALL), ROLES.learn(PEOPLE), Comparability(max_continuous_shift=0.2)
    ),
    "projection": lambda: ProjectSensitive("sex"),
    "smoothed": lambda: SmoothedScores(NetworkClassifier(**SMALL), ROLES, Comparability(max_continuous_shift=0.2)),
}


@pytest.fixture(scope="module", params=list(KINDS))
def saved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[type[Any], Path]:
    """A class and a folder that one of its kind was saved to."""
    folder: Path = tmp_path_factory.mktemp("hostile") / request.param
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # three steps teach nothing
        made = KINDS[request.param]().fit(PEOPLE, LABELS)
    made.save(folder)
    return type(made), folder


def use(kind: type[Any], folder: Path) -> Any:
    """Load a folder, and do what it is for."""
    loaded = kind.load(folder, **({"device": "cpu"} if kind._has_device else {}))
    if isinstance(loaded, SmoothedScores):
        return loaded.smooth(PEOPLE, np.full(60, 0.5), graph="reference")
    return loaded.transform(PEOPLE) if isinstance(loaded, ProjectSensitive) else loaded.predict_proba(PEOPLE)


def places_in(data: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """List the ways to all values in plain data."""
    inside = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [one for key, value in inside for one in ((*place, key), *places_in(value, (*place, key)))]


def changed_at(data: Any, place: tuple[Any, ...], value: Any) -> Any:
    if not place:
        return value
    changed = data.copy()
    changed[place[0]] = changed_at(data[place[0]], place[1:], value)
    return changed


def test_what_would_fail_later_is_refused_when_it_is_loaded(saved: tuple[type[Any], Path], tmp_path: Path) -> None:
    kind, folder = saved
    record, arrays = load_folder(folder, kind._kind())
    name = max(arrays, key=lambda one: arrays[one].size if arrays[one].dtype.kind == "f" else -1)
    for odd in (np.full_like(arrays[name], np.nan), arrays[name][..., :0], arrays[name][None]):
        save_folder(tmp_path / "odd", kind._kind(), record, arrays | {name: odd})
        with pytest.raises(
            SavedFolderError, match=r"'.*odd' lacks something or has too much: .*\. Save it again\."
        ) as e:
            kind.load(tmp_path / "odd")
        assert "\n" not in str(e.value)


@pytest.mark.parametrize("names", [["job", "sex", "age", "pay"], ["sex", "job", "age", "wage"], ["sex", "job", "age"]])
def test_columns_that_disagree_within_a_folder_are_refused(
    saved: tuple[type[Any], Path], tmp_path: Path, names: list[str]
) -> None:
    kind, folder = saved
    record, arrays = load_folder(folder, kind._kind())
    for place in [one for one in places_in(record) if one[-1] == "names"]:
        save_folder(tmp_path / "odd", kind._kind(), changed_at(record, place, names), arrays)
        with pytest.raises(SavedFolderError, match=r"'.*odd' lacks something or has too much: .*column.* Save it"):
            kind.load(tmp_path / "odd")
