"""Audits and pairs of people who are in a Spark frame and stay there."""

from likewise.spark._auditing import audit
from likewise.spark._generating import generate
from likewise.spark._learning import learn
from likewise.spark._mining import mine_pairs

__all__ = ["audit", "generate", "learn", "mine_pairs"]
