"""What fairness costs: models between fairness and utility, and the least unfair one that costs little enough."""

from likewise.frontier._point import FrontierPoint
from likewise.frontier._search import FrontierSearch

__all__ = ["FrontierPoint", "FrontierSearch"]
