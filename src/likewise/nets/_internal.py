"""What other folders use of this one. Names that need torch are imported on first use."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from likewise.nets._classifier import BaseNetworkClassifier
from likewise.nets._device import choose_device, device_here, fixed_threads, seeded
from likewise.nets._inputs import InputCoding, Inputs, guess_roles

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
    from likewise.nets._optimizers import Optimizer


def __getattr__(name: str) -> Any:
    if name.startswith("_"):  # torch is not loaded for what tools look for in any module
        raise AttributeError(f"module 'likewise.nets._internal' has no attribute {name!r}")
    return getattr(import_module("likewise.nets._network"), name)
