"""The baselines of the paper: sensitive columns dropped or projected out, and adversarially trained networks."""

from likewise.baselines._drop_sensitive import DropSensitive
from likewise.baselines._lcifr import LCIFRClassifier
from likewise.baselines._sensei import SenSeIClassifier
from likewise.baselines._sensitive_subspace import ProjectSensitive, SensitiveSubspace
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
