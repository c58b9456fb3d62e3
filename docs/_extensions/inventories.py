"""Inventories of other projects' pages, written from short lists: links to them need nothing from the network."""

from __future__ import annotations

import zlib
from pathlib import Path

HEADER = (
    "# Sphinx inventory version 2\n# Project: {name}\n# Version: \n"
    "# The remainder of this file is compressed using zlib.\n"
)


def write_inventories(lists: Path, folder: Path) -> dict[str, tuple[str, str]]:
    """Write an inventory of every list, and give the mapping that intersphinx wants.

    The first line of a list is the address of the site; each other line is a name, its kind and its page.
    """
    folder.mkdir(parents=True, exist_ok=True)
    mapping = {}
    for path in sorted(lists.glob("*.txt")):
        address, *entries = path.read_text().splitlines()
        lines = []
        for entry in filter(None, entries):
            name, kind, page = entry.split()
            lines.append(f"{name} py:{kind} 1 {page} -\n")
        inventory = folder / f"{path.stem}.inv"
        inventory.write_bytes(HEADER.format(name=path.stem).encode() + zlib.compress("".join(lines).encode()))
        mapping[path.stem] = (address, str(inventory))
    return mapping
