"""Audits and pairs of people who are in a Spark frame and stay there."""

from likewise.spark._auditing import audit
from likewise.spark._generation import generate
from likewise.spark._mining import mine_pairs
from likewise.spark._schema import learn

__all__ = ["audit", "generate", "learn", "mine_pairs"]
