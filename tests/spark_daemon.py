"""Where Spark's Python workers come from in tests: a process that has imported what they need before it forks them."""

from __future__ import annotations

import pandas  # noqa: F401
import pyarrow  # noqa: F401
import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

import likewise.auditing
import likewise.comparable
import likewise.generation
import likewise.spark  # noqa: F401

if __name__ == "__main__":
    manager()
