"""The command line: ``likewise audit``, ``pairs``, ``verify``, ``report``, ``antidote``, ``explore``, ``datasets``."""

from likewise.cli._main import main

__all__ = ["main"]
