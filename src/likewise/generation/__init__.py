"""Antidotes: for each person, synthetic comparable records with a different sensitive attribute."""

from likewise.generation._antidotes import (
    Antidotes,
    comparability_ratio,
    copied_share,
    detectability,
    keep_comparable,
    learning_efficacy,
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
    "copied_share",
    "detectability",
    "generate_parts",
    "iter_antidotes",
    "keep_comparable",
    "learning_efficacy",
    "load_generator",
    "scale_ratio",
]
