"""A local page on which to move the rule, look at pairs, and ask a model what if."""

from likewise.explore._app import build_app
from likewise.explore._explorer import Explorer
from likewise.explore._serving import serve

__all__ = ["Explorer", "build_app", "serve"]
