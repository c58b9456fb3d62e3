"""Antidotes: for each person, synthetic comparable records with a different sensitive attribute."""

from likewise.generation._antidotes import (
    Antidotes,
    comparability_ratio,
    keep_comparable,
)
from likewise.generation._generator import load_generator, scale_ratio
from likewise.generation._gibbs import GibbsGenerator
from likewise.generation._parts import generate_parts, iter_antidotes
from likewise.generation._uniform import UniformGenerator
from likewise.generation.adversarial._generator import AdversarialGenerator

__all__ = [
    "AdversarialGenerator",
    "Antidotes",
    "GibbsGenerator",
    "UniformGenerator",
    "comparability_ratio",
    "generate_parts",
    "iter_antidotes",
    "keep_comparable",
    "load_generator",
    "scale_ratio",
]
