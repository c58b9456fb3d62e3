"""Antidote data: for each person, comparable ones with other sensitive values."""

from likewise.generation._adversarial import AdversarialGenerator
from likewise.generation._antidotes import Antidotes
from likewise.generation._generator import BaseGenerator
from likewise.generation._gibbs import GibbsGenerator
from likewise.generation._learned_quality import detectability, learning_efficacy
from likewise.generation._loading import load_generator
from likewise.generation._parts_writing import generate_parts
from likewise.generation._pool import choose_few
from likewise.generation._post import keep_comparable
from likewise.generation._quality import comparability_ratio, copied_share
from likewise.generation._streaming import iter_antidotes
from likewise.generation._uniform import UniformGenerator
from likewise.generation._yield import scale_ratio

__all__ = [
    "AdversarialGenerator",
    "Antidotes",
    "BaseGenerator",
    "GibbsGenerator",
    "UniformGenerator",
    "choose_few",
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
