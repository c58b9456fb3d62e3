"""Training with antidotes: any model on more rows, or a network on the worst antidote of every row."""

from likewise.learning._network import NetworkClassifier

__all__ = ["NetworkClassifier"]
