"""The comparability rule, and the pairs that meet it."""

from likewise.comparable._advice import explain_few_pairs, explain_no_pairs, explain_wide_limits
from likewise.comparable._mining import count_pairs, group_pairs, iter_pairs, mine_pairs, sample_pairs
from likewise.comparable._pair_files import read_pairs, write_pairs
from likewise.comparable._pairs import ComparablePairs, GroupedPairs, PairCounts
from likewise.comparable._rule import Comparability

__all__ = [
    "Comparability",
    "ComparablePairs",
    "GroupedPairs",
    "PairCounts",
    "count_pairs",
    "explain_few_pairs",
    "explain_no_pairs",
    "explain_wide_limits",
    "group_pairs",
    "iter_pairs",
    "mine_pairs",
    "read_pairs",
    "sample_pairs",
    "write_pairs",
]
