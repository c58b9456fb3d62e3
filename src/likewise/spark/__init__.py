"""Audits, pairs and antidotes of people in a Spark frame."""

from likewise.spark._audit import audit
from likewise.spark._generation import generate
from likewise.spark._pairs import mine_pairs
from likewise.spark._schema import learn

__all__ = ["audit", "generate", "learn", "mine_pairs"]
