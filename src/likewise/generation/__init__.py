"""Antidote data: for each person, comparable ones with other sensitive values."""

from likewise.generation._adversarial import AdversarialGenerator
from likewise.generation._antidotes import Antidotes
from likewise.generation._generator import BaseGenerator
from likewise.generation._gibbs import GibbsGenerator
from likewise.generation._learned_quality import detectability, learning_efficacy
from likewise.generation._pool import choose_few
from likewise.generation._post import keep_comparable
from likewise.generation._quality import comparability_ratio, copied_share
from likewise.generation._uniform import UniformGenerator

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
    "keep_comparable",
    "learning_efficacy",
]
