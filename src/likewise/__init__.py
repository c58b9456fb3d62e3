"""likewise: find similar people whom a model treats differently, and train it not to."""

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

__all__ = [
    "Audit",
    "CodedTable",
    "Comparability",
    "ComparablePairs",
    "Dataset",
    "GroupedPairs",
    "PairCounts",
    "Policy",
    "Roles",
    "Schema",
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
