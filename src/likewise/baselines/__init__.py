"""The methods that the paper compares with: without sensitive columns, projected, or attacked while fitting."""

from likewise.baselines._dropping import DropSensitive
from likewise.baselines._lcifr import LCIFRClassifier
from likewise.baselines._projecting import ProjectSensitive
from likewise.baselines._sensei import SenSeIClassifier
from likewise.baselines._sensitive_subspace import SensitiveSubspace
from likewise.baselines._sensr import SenSRClassifier
from likewise.baselines._subspace import Subspace

__all__ = [
    "DropSensitive",
    "LCIFRClassifier",
    "ProjectSensitive",
    "SenSRClassifier",
    "SenSeIClassifier",
    "SensitiveSubspace",
    "Subspace",
]
