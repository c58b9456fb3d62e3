"""The command line: ``likewise pairs`` and ``likewise datasets``."""

from likewise.cli._main import main

__all__ = ["main"]
