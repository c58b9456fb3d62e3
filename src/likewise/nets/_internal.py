"""What other folders use of this one. Names that need torch are imported on first use."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from likewise.nets._classifier import SMALL_TABLE, BaseNetworkClassifier
from likewise.nets._device import choose_device, fixed_threads, seeded
from likewise.nets._inputs import InputCoding, Inputs, guess_roles
from likewise.nets._storage import Description, SavedInFolder, load_folder, read_kind, save_folder, subclasses

if TYPE_CHECKING:
    from likewise.nets._network import (
        DeviceInputs,
        Objective,
        People,
        build_network,
        check_network,
        is_plain,
        loss_of,
        shares_of,
    )

__all__ = [
    "SMALL_TABLE",
    "BaseNetworkClassifier",
    "Description",
    "DeviceInputs",
    "InputCoding",
    "Inputs",
    "Objective",
    "People",
    "SavedInFolder",
    "build_network",
    "check_network",
    "choose_device",
    "fixed_threads",
    "guess_roles",
    "is_plain",
    "load_folder",
    "loss_of",
    "read_kind",
    "save_folder",
    "seeded",
    "shares_of",
    "subclasses",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module("likewise.nets._network"), name)
    raise AttributeError(f"module 'likewise.nets._internal' has no attribute {name!r}")
