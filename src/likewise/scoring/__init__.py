"""Gaps between comparable people as scorers of scikit-learn's cross-validation and searches."""

from likewise.scoring._scorers import LeastGap, PairScorer, excess_gap_scorer, gap_scorer, rank_gap_scorer

__all__ = ["LeastGap", "PairScorer", "excess_gap_scorer", "gap_scorer", "rank_gap_scorer"]
