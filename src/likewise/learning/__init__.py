"""Training with antidotes: any classifier on added rows, or a network on the worst antidote of every row."""

from likewise.learning._antidro import AntiDROClassifier
from likewise.learning._augmented import AugmentedClassifier
from likewise.learning._network import NetworkClassifier
from likewise.learning._sampler import AntidoteSampler

__all__ = ["AntiDROClassifier", "AntidoteSampler", "AugmentedClassifier", "NetworkClassifier"]
