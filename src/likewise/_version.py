"""The version, in a place that every part may import."""

__all__ = ["__version__"]

__version__ = "0.1.0"
