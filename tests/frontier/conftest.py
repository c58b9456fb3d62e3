"""Lenders of known unfairness and skill as classifiers, so that a search has a right answer."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from likewise import UniformGenerator, load_dataset
from likewise.datasets import PlantedDataset
from likewise.frontier import FrontierSearch
from likewise.generation import Antidotes
from likewise.schema._internal import open_frame


@cache
def people() -> PlantedDataset:
    return load_dataset("planted", n_rows=800)


class Lender(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Score one group lower by the gap, and everybody with some noise; it learns nothing but who was shown to it."""

    seen: ClassVar[list[set[int]]] = []

    def __init__(self, gap: float = 0.1, noise: float = 0.0, mood: str = "well") -> None:
        self.gap = gap
        self.noise = noise
        self.mood = mood

    def fit(self, X: Any, y: Any) -> Self:
        if self.mood == "ill":
            raise ValueError("This lender is ill.\nAnd stays in bed.")
        if self.mood == "gone":
            raise KeyboardInterrupt
        self.classes_ = np.unique(y)
        self.seen.append(set(np.asarray(X["row"]).tolist()) if "row" in open_frame(X).names else set())
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        noise = np.random.default_rng(0).normal(size=len(X))
        scores = np.clip(people().scores(X, gap=self.gap) + self.noise * noise, 0.0, 1.0)
        if self.mood == "constant":
            scores = np.full(len(X), 0.4)
        if self.mood == "sure":  # and wrong
            scores = np.where(scores > np.median(scores), 0.02, 0.98)
        if self.mood == "strange":
            scores = np.full(len(X), np.nan)
        return np.column_stack([1 - scores, scores])

    def predict(self, X: Any) -> NDArray[Any]:
        said: NDArray[Any] = self.classes_[(self.predict_proba(X)[:, 1] >= 0.5).astype(int)]
        return said


class CountedGenerator(UniformGenerator):
    """Count how often any of these learns."""

    fits: ClassVar[list[int]] = []
    asked: ClassVar[list[float | None]] = []

    def fit(self, X: Any, y: Any = None) -> Self:
        self.fits.append(len(X))
        return super().fit(X, y)

    def generate(self, X: Any, y: Any = None, **how: Any) -> Antidotes:
        self.asked.append(how["ratio"])
        return super().generate(X, y, **how)


@pytest.fixture(scope="session")
def planted() -> PlantedDataset:
    return people()


@pytest.fixture
def lender() -> Callable[..., Lender]:
    Lender.seen.clear()
    return Lender


@pytest.fixture
def generator(planted: PlantedDataset) -> CountedGenerator:
    CountedGenerator.fits.clear()
    CountedGenerator.asked.clear()
    return CountedGenerator(planted.roles, planted.rule)


@pytest.fixture
def search(planted: PlantedDataset, lender: Callable[..., Lender]) -> Callable[..., FrontierSearch]:
    """Search lenders: ``search({"gap": [0.05, 0.1]}, max_loss=0.1)``."""

    def make(grid: Any, **options: Any) -> FrontierSearch:
        known = {"roles": planted.roles, "rule": planted.rule, "n_resamples": 40, "max_loss": 0.05, "random_state": 0}
        known |= {"unfairness": "gap_mean"}  # which the gap of a lender decides
        return FrontierSearch(lender(), grid, **{"base": lender(), **known, **options})

    return make


@pytest.fixture
def regression() -> Any:
    """Logistic regression of frames."""
    numbers = make_column_selector(dtype_include="number")
    coding = make_column_transformer((StandardScaler(), numbers), remainder=OneHotEncoder(handle_unknown="ignore"))
    return make_pipeline(coding, LogisticRegression())
