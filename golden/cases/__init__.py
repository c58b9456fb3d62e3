"""The cases, by name."""

from golden.cases import _audits, _commands, _findings, _generators, _mining, _remedies, _searches
from golden.cases._calls import CASES, SLOW

__all__ = ["CASES", "SLOW", "_audits", "_commands", "_findings", "_generators", "_mining", "_remedies", "_searches"]
