"""Training for consistency: smoothed targets, comparable pairs in the loss, and antidotes as further rows."""

from likewise.learning._augmented import AugmentedClassifier, AugmentedRegressor
from likewise.learning._networks import AntiDROClassifier, NetworkClassifier
from likewise.learning._sampler import AntidoteSampler
from likewise.learning.consistent._models import ConsistentClassifier, ConsistentRegressor
from likewise.learning.consistent._smoothed_scores import ScoreChanges, SmoothedScores
from likewise.learning.consistent._smoothed_targets import SmoothedTargetsClassifier, SmoothedTargetsRegressor

__all__ = [
    "AntiDROClassifier",
    "AntidoteSampler",
    "AugmentedClassifier",
    "AugmentedRegressor",
    "ConsistentClassifier",
    "ConsistentRegressor",
    "NetworkClassifier",
    "ScoreChanges",
    "SmoothedScores",
    "SmoothedTargetsClassifier",
    "SmoothedTargetsRegressor",
]
