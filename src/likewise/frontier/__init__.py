"""The trade-off between fairness and model performance: search for the least unfair model within a budget."""

from likewise.frontier._candidates import WeightRange
from likewise.frontier._point import FrontierPoint
from likewise.frontier._search import FrontierSearch

__all__ = ["FrontierPoint", "FrontierSearch", "WeightRange"]
