"""What all networks share: the device, seeds, and folders to keep them in."""

from likewise.nets._device import choose_device
from likewise.nets._saving import load_folder, save_folder
from likewise.nets._seeding import seeded

__all__ = ["choose_device", "load_folder", "save_folder", "seeded"]
