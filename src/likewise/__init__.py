"""likewise: find similar people whom a model treats differently, and train it not to."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from likewise._version import __version__
from likewise.auditing import Audit, Policy, Verdict, assert_passes, audit, compare_audits
from likewise.comparable import (
    Comparability,
    ComparablePairs,
    GroupedPairs,
    PairCounts,
    count_pairs,
    group_pairs,
    iter_pairs,
    mine_pairs,
    sample_pairs,
)
from likewise.datasets import Dataset, list_datasets, load_dataset
from likewise.schema import CodedTable, Roles, Schema

if TYPE_CHECKING:
    from likewise.frontier import FrontierPoint, FrontierSearch
    from likewise.generation import AdversarialGenerator, Antidotes, GibbsGenerator, UniformGenerator
    from likewise.learning import AntidoteSampler, AntiDROClassifier, AugmentedClassifier, NetworkClassifier

__all__ = [
    "AdversarialGenerator",
    "AntiDROClassifier",
    "AntidoteSampler",
    "Antidotes",
    "Audit",
    "AugmentedClassifier",
    "CodedTable",
    "Comparability",
    "ComparablePairs",
    "Dataset",
    "FrontierPoint",
    "FrontierSearch",
    "GibbsGenerator",
    "GroupedPairs",
    "NetworkClassifier",
    "PairCounts",
    "Policy",
    "Roles",
    "Schema",
    "UniformGenerator",
    "Verdict",
    "__version__",
    "assert_passes",
    "audit",
    "compare_audits",
    "count_pairs",
    "group_pairs",
    "iter_pairs",
    "list_datasets",
    "load_dataset",
    "mine_pairs",
    "sample_pairs",
]

# scikit-learn takes a second to import, torch several: what is built on them is looked up when asked for
_LATER = {
    "likewise.frontier": ("FrontierPoint", "FrontierSearch"),
    "likewise.generation": ("AdversarialGenerator", "Antidotes", "GibbsGenerator", "UniformGenerator"),
    "likewise.learning": ("AntiDROClassifier", "AntidoteSampler", "AugmentedClassifier", "NetworkClassifier"),
}


def __getattr__(name: str) -> Any:
    for module, names in _LATER.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module 'likewise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
