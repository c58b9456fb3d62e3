"""Data sets: five public ones, and a synthetic one whose comparable pairs are known."""

from likewise.datasets._dataset import Dataset, Split
from likewise.datasets._loader import DatasetRecord, list_datasets, load_dataset
from likewise.datasets._planted import PlantedDataset, PlantedPairs, PlantedSplit

__all__ = [
    "Dataset",
    "DatasetRecord",
    "PlantedDataset",
    "PlantedPairs",
    "PlantedSplit",
    "Split",
    "list_datasets",
    "load_dataset",
]
