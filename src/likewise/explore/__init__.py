"""A local web page to move the rule's thresholds, look at pairs, and ask what-if questions of a model."""

from likewise.explore._explorer import Explorer
from likewise.explore._server import serve

__all__ = ["Explorer", "serve"]
