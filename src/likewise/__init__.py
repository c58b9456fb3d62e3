"""likewise: find similar people whom a model treats differently, and train it not to."""

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

__version__ = "0.1.0"

__all__ = [
    "CodedTable",
    "Comparability",
    "ComparablePairs",
    "Dataset",
    "GroupedPairs",
    "PairCounts",
    "Roles",
    "Schema",
    "count_pairs",
    "group_pairs",
    "iter_pairs",
    "list_datasets",
    "load_dataset",
    "mine_pairs",
    "sample_pairs",
]
