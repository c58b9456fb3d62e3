"""The trade-off between fairness and model performance: search for the least unfair model within a budget."""

from likewise.frontier._candidates import WeightRange
from likewise.frontier._points import FrontierPoint
from likewise.frontier._repair import Repair, repair
from likewise.frontier._replay import ReplayDifference, SearchReplay, replay_search
from likewise.frontier._search import FrontierSearch

__all__ = [
    "FrontierPoint",
    "FrontierSearch",
    "Repair",
    "ReplayDifference",
    "SearchReplay",
    "WeightRange",
    "repair",
    "replay_search",
]
