"""Training for consistency: comparable pairs in the loss, smoothed scores, and antidotes as further rows."""

from likewise.learning._antidro import AntiDROClassifier
from likewise.learning._augmented import AugmentedClassifier
from likewise.learning._network import NetworkClassifier
from likewise.learning._sampler import AntidoteSampler
from likewise.learning.consistent._models import ConsistentClassifier, ConsistentRegressor

__all__ = [
    "AntiDROClassifier",
    "AntidoteSampler",
    "AugmentedClassifier",
    "ConsistentClassifier",
    "ConsistentRegressor",
    "NetworkClassifier",
]
