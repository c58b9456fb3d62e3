"""The baselines of the paper: sensitive columns dropped or projected out, and adversarially trained networks."""

from likewise.baselines._attacked import SenSeIClassifier, SenSRClassifier
from likewise.baselines._lcifr import LCIFRClassifier
from likewise.baselines._subspace import Subspace
from likewise.baselines._transformers import DropSensitive, ProjectSensitive, SensitiveSubspace

__all__ = [
    "DropSensitive",
    "LCIFRClassifier",
    "ProjectSensitive",
    "SenSRClassifier",
    "SenSeIClassifier",
    "SensitiveSubspace",
    "Subspace",
]
