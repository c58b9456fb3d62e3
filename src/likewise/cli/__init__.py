"""The command line: ``likewise pairs``, ``audit``, ``verify`` and ``datasets``."""

from likewise.cli._main import main

__all__ = ["main"]
