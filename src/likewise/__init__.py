"""likewise: find similar people whom a model treats differently, and train it not to."""

from __future__ import annotations

from importlib import import_module

from likewise._version import __version__

TYPE_CHECKING = False  # that of typing, which takes as long to import as all else here; type checkers know it by name
if TYPE_CHECKING:
    from typing import Any

    from likewise.auditing import Audit, Policy, Verdict, assert_passes, audit, compare_audits
    from likewise.certifying import Certificates, certify
    from likewise.comparable import (
        Comparability,
        ComparablePairs,
        GroupedPairs,
        PairCounts,
        count_pairs,
        group_pairs,
        iter_pairs,
        mine_pairs,
        sample_pairs,
    )
    from likewise.datasets import Dataset, list_datasets, load_dataset
    from likewise.explain import (
        CertifiedAudit,
        GapAttribution,
        NamedPeople,
        attribute_gaps,
        certify_audit,
        name_people,
    )
    from likewise.frontier import FrontierPoint, FrontierSearch, Repair, repair
    from likewise.generation import AdversarialGenerator, Antidotes, GibbsGenerator, UniformGenerator
    from likewise.learning import (
        AntidoteSampler,
        AntiDROClassifier,
        AugmentedClassifier,
        AugmentedRegressor,
        ConsistentClassifier,
        ConsistentRegressor,
        NetworkClassifier,
        SmoothedScores,
        SmoothedTargetsClassifier,
        SmoothedTargetsRegressor,
    )
    from likewise.schema import CodedTable, Roles, Schema
    from likewise.scoring import LeastGap, gap_scorer

__all__ = [
    "AdversarialGenerator",
    "AntiDROClassifier",
    "AntidoteSampler",
    "Antidotes",
    "Audit",
    "AugmentedClassifier",
    "AugmentedRegressor",
    "Certificates",
    "CertifiedAudit",
    "CodedTable",
    "Comparability",
    "ComparablePairs",
    "ConsistentClassifier",
    "ConsistentRegressor",
    "Dataset",
    "FrontierPoint",
    "FrontierSearch",
    "GapAttribution",
    "GibbsGenerator",
    "GroupedPairs",
    "LeastGap",
    "NamedPeople",
    "NetworkClassifier",
    "PairCounts",
    "Policy",
    "Repair",
    "Roles",
    "Schema",
    "SmoothedScores",
    "SmoothedTargetsClassifier",
    "SmoothedTargetsRegressor",
    "UniformGenerator",
    "Verdict",
    "__version__",
    "assert_passes",
    "attribute_gaps",
    "audit",
    "certify",
    "certify_audit",
    "compare_audits",
    "count_pairs",
    "gap_scorer",
    "group_pairs",
    "iter_pairs",
    "list_datasets",
    "load_dataset",
    "mine_pairs",
    "name_people",
    "repair",
    "sample_pairs",
]

# each folder is imported when the first of its names is asked for: NumPy alone takes a tenth of a second, torch several
_FOLDERS = {
    "auditing": ("Audit", "Policy", "Verdict", "assert_passes", "audit", "compare_audits"),
    "baselines": (),
    "certifying": ("Certificates", "certify"),
    "comparable": (
        *("Comparability", "ComparablePairs", "GroupedPairs", "PairCounts", "count_pairs", "group_pairs"),
        *("iter_pairs", "mine_pairs", "sample_pairs"),
    ),
    "datasets": ("Dataset", "list_datasets", "load_dataset"),
    "exceptions": (),
    "explain": (
        *("CertifiedAudit", "GapAttribution", "NamedPeople", "attribute_gaps", "certify_audit", "name_people"),
    ),
    "explore": (),
    "frontier": ("FrontierPoint", "FrontierSearch", "Repair", "repair"),
    "generation": ("AdversarialGenerator", "Antidotes", "GibbsGenerator", "UniformGenerator"),
    "learning": (
        *("AntiDROClassifier", "AntidoteSampler", "AugmentedClassifier", "AugmentedRegressor"),
        *("ConsistentClassifier", "ConsistentRegressor", "NetworkClassifier", "SmoothedScores"),
        *("SmoothedTargetsClassifier", "SmoothedTargetsRegressor"),
    ),
    "mlflow": (),
    "report": (),
    "schema": ("CodedTable", "Roles", "Schema"),
    "scoring": ("LeastGap", "gap_scorer"),
    "spark": (),
}


def __getattr__(name: str) -> Any:
    for folder, names in _FOLDERS.items():
        if name == folder:
            return import_module(f"likewise.{folder}")
        if name in names:
            return getattr(import_module(f"likewise.{folder}"), name)
    raise AttributeError(f"module 'likewise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
