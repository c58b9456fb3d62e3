"""The command line: ``likewise audit``, ``pairs``, ``verify``, ``report``, ``antidote``, ``explore`` and ``datasets``."""

from likewise.cli._main import main

__all__ = ["main"]
