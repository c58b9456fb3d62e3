"""Methods and data sets of others: a Python file with one function, a TOML file that describes a table.

They are copied into the work folder under the hash of what they say, which is part of their cells: a changed file is
another method, and every process finds the one that a cell was measured with.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from likewise import Comparability, Dataset, Roles
from likewise.datasets import Split
from paper._cells import Spec
from paper._experiments import ExperimentError, Place, read_toml
from paper._registry import DATASETS, MODELS, Model, dataset_names

FUNCTION: Final = "fit"
SETTINGS: Final = "SETTINGS"
N_DIGITS: Final = 12  # of a hash, in names
DATA_KEYS: Final = (
    *("name", "file", "label", "positive", "label_meaning", "sensitive", "discrete", "continuous", "test_share"),
    *("max_discrete_changes", "max_continuous_shift", "licence", "citation"),
)


@dataclass(frozen=True, slots=True)
class AddedMethod:
    """A method of a file: its name, the model it is registered as, and its settings."""

    name: str
    model: str
    settings: tuple[Mapping[str, Any], ...]


class _Fitting:
    """A classifier whose fit calls the function of a file, which sees training rows only."""

    def __init__(self, function: Any, data: Dataset, seed: int, setting: Mapping[str, Any]) -> None:
        self._function, self._data, self._seed, self._setting = function, data, seed, setting

    def fit(self, X: Any, y: Any) -> Any:
        known = {"roles": self._data.roles, "rule": self._data.rule, "seed": self._seed}
        model = self._function(X, y, **known, **self._setting)
        if not hasattr(model, "predict_proba"):
            raise TypeError(f"{FUNCTION} returned a {type(model).__name__} without predict_proba; return a classifier.")
        return model


def add_method(path: Path, work: Path) -> AddedMethod:
    """Read a method's file, and keep a copy of it for the processes that will run it."""
    kept = _keep(path, work, ".py")
    model = f"{_named(path)}@{kept.stem}"
    settings = _register_method(model, kept)
    return AddedMethod(_named(path), model, settings)


def _register_method(model: str, path: Path) -> tuple[Mapping[str, Any], ...]:
    names: dict[str, Any] = {"__name__": f"added_{path.stem}", "__file__": str(path)}
    try:  # the user's own file, named on the command line
        exec(compile(path.read_text("utf-8"), str(path), "exec"), names)
    except Exception as error:
        raise ExperimentError(
            f"{model.partition('@')[0]}.py cannot be read: {type(error).__name__}: {error}."
        ) from None
    function, settings = names.get(FUNCTION), names.get(SETTINGS, ({},))
    if not callable(function):
        raise ExperimentError(f"{model} has no function {FUNCTION}(X, y, *, roles, rule, seed). Define one.")
    if not isinstance(settings, list | tuple) or not settings or not all(isinstance(one, Mapping) for one in settings):
        raise ExperimentError(f"{model}: {SETTINGS} is {settings!r}; give a list of dictionaries.")
    MODELS[model] = Model(lambda data, seed, columns, params: _Fitting(function, data, seed, params), "none", False)
    return tuple(settings)


def add_dataset(path: Path, work: Path) -> str:
    """Read a data set's file, and keep a copy with the place and the hash of its table; return its name."""
    given, there = read_toml(path), Place(path.name)
    there.know(given, DATA_KEYS)
    name = there.take(given, "name", str)
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or name in dataset_names():
        raise there.wrong("name", name, "give lower-case letters, digits and _, and no name of a data set that is here")
    table = (path.parent / there.take(given, "file", str)).resolve()
    if not table.is_file():
        raise there.wrong("file", given["file"], f"there is no such file beside {path.name}")
    found = _Table.read(there, given, table)
    added = f"{name}@{found.digest[:N_DIGITS]}"
    kept = work / "added" / f"{found.digest[:N_DIGITS]}.toml"
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(f"place = {json.dumps(str(table))}\n" + path.read_text("utf-8"), "utf-8")
    DATASETS[added] = found.split
    found.split(0)  # what is wrong is told now
    return added


@dataclass(frozen=True, slots=True)
class _Table:
    """A table of people as a file describes it."""

    name: str
    path: Path
    digest: str
    label: str
    positive: Any
    roles: Roles
    rule: Comparability
    test_share: float
    words: Mapping[str, str]

    @classmethod
    def read(cls, there: Place, given: Mapping[str, Any], path: Path) -> _Table:
        parts = {kind: there.take(given, kind, list, []) for kind in ("sensitive", "discrete", "continuous")}
        share = float(there.take(given, "test_share", float, 0.25))
        if not 0 < share < 1:
            raise there.wrong("test_share", share, "give a share between 0 and 1")
        label = there.take(given, "label", str)
        digest = hashlib.sha256(repr(sorted(given.items())).encode() + path.read_bytes()).hexdigest()
        return cls(
            name=given["name"],
            path=path,
            digest=digest,
            label=label,
            positive=there.take(given, "positive", (str, int, float)),
            roles=Roles(**parts, label=label),
            rule=Comparability(
                there.take(given, "max_discrete_changes", int, 1),
                there.take(given, "max_continuous_shift", (int, float), 0.025),
            ),
            test_share=share,
            words={name: there.take(given, name, str, "") for name in ("label_meaning", "licence", "citation")},
        )

    def split(self, seed: int) -> Dataset:
        """Draw training and test rows, with the same share of each label."""
        import pandas as pd
        from sklearn.model_selection import train_test_split

        table = pd.read_csv(self.path)
        columns = [*self.roles.sensitive, *self.roles.discrete, *self.roles.continuous]
        missing = [name for name in (*columns, self.label) if name not in table]
        if missing:
            raise ExperimentError(f"{self.path.name} has no column {', '.join(map(repr, missing))}. Correct the roles.")
        y = (table[self.label].astype(str) == str(self.positive)).astype(int)
        if y.nunique() != 2:
            values = ", ".join(map(repr, table[self.label].unique()[:5]))
            raise ExperimentError(f"{self.path.name}: positive is {self.positive!r}; {self.label} has {values}.")
        train, test = train_test_split(range(len(y)), test_size=self.test_share, random_state=seed, stratify=y)
        parts = [
            Split(table.loc[rows, columns].reset_index(drop=True), y.loc[rows].reset_index(drop=True))
            for rows in (train, test)
        ]
        return Dataset(
            name=self.name,
            train=parts[0],
            test=parts[1],
            roles=self.roles,
            rule=self.rule,
            checksum=self.digest,
            source="folder",
            **self.words,
        )


def know_added(spec: Spec, work: Path) -> None:
    """Register what a cell needs of others' files, in the process that measures it."""
    name, _, digest = str(spec["method"].get("model", "")).partition("@")
    if digest and f"{name}@{digest}" not in MODELS:
        _register_method(f"{name}@{digest}", work / "added" / f"{digest}.py")
    name, _, digest = spec["data"].partition("@")
    if digest and spec["data"] not in DATASETS:
        given = read_toml(work / "added" / f"{digest}.toml")
        path = Path(given.pop("place"))
        DATASETS[spec["data"]] = _Table.read(Place(name), given, path).split


def _keep(path: Path, work: Path, end: str) -> Path:
    if path.suffix != end or not path.is_file():
        raise ExperimentError(f"{path} is no {end} file. Name one.")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:N_DIGITS]
    kept = work / "added" / f"{digest}{end}"
    kept.parent.mkdir(parents=True, exist_ok=True)
    if not kept.exists():
        shutil.copyfile(path, kept)
    return kept


def _named(path: Path) -> str:
    return path.stem.replace("@", "_")
