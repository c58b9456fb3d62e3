"""The memory engine: every comparable pair from hash buckets and windows, in compiled code."""

from likewise.comparable.engines.memory._engine import MemoryEngine

__all__ = ["MemoryEngine"]
