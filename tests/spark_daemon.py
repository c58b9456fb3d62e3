"""Where Spark's Python workers come from in tests: a process that has imported what they need before it forks them."""

from __future__ import annotations

from importlib import import_module

WANTED = ("pandas", "pyarrow", "pyspark.worker", "likewise.auditing", "likewise.comparable", "likewise.spark")

if __name__ == "__main__":
    from pyspark.daemon import manager

    for name in WANTED:
        import_module(name)
    manager()
