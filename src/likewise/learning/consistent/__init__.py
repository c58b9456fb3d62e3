"""Comparable pairs in the loss of a model: boosted trees, linear models and networks."""
