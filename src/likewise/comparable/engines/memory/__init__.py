"""The engine that searches in memory: small tables row by row, others with compiled kernels."""

from __future__ import annotations

from likewise.comparable.engines._problem import Problem
from likewise.comparable.engines.memory._engine import MemoryEngine
from likewise.comparable.engines.memory._exhaustive import ExhaustiveEngine

__all__ = ["ExhaustiveEngine", "MemoryEngine", "search_in_memory"]


def search_in_memory(problem: Problem, allowed: int) -> ExhaustiveEngine | MemoryEngine:
    """Choose the engine by the size of the table; both find the same pairs in the same order."""
    if ExhaustiveEngine.suits(problem, allowed):
        return ExhaustiveEngine(problem, allowed)
    return MemoryEngine(problem, allowed)
