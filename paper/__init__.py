"""Every table and figure of the paper, run again: ``python -m paper run``, ``status`` and ``report``."""
