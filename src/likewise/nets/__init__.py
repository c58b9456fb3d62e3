"""What all networks share: what they see of people, the fitting loop, the device, seeds, and folders."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from likewise.nets._device import choose_device
from likewise.nets._guessing import guess_roles
from likewise.nets._inputs import InputCoding, Inputs
from likewise.nets._saving import load_folder, opened_folder, save_folder
from likewise.nets._seeding import seeded
from likewise.nets._threads import few_threads

if TYPE_CHECKING:
    from likewise.nets._classifier import BaseNetworkClassifier
    from likewise.nets._network import DeviceInputs, build_network, check_network, loss_of, shares_of
    from likewise.nets._people import People, WeightedLoss

__all__ = [
    "BaseNetworkClassifier",
    "DeviceInputs",
    "InputCoding",
    "Inputs",
    "People",
    "WeightedLoss",
    "build_network",
    "check_network",
    "choose_device",
    "few_threads",
    "guess_roles",
    "load_folder",
    "loss_of",
    "opened_folder",
    "save_folder",
    "seeded",
    "shares_of",
]

# scikit-learn and torch are loaded when one of these is asked for
_LATER = {
    "likewise.nets._classifier": ("BaseNetworkClassifier",),
    "likewise.nets._network": ("DeviceInputs", "build_network", "check_network", "loss_of", "shares_of"),
    "likewise.nets._people": ("People", "WeightedLoss"),
}


def __getattr__(name: str) -> Any:
    for module, names in _LATER.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module 'likewise.nets' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
