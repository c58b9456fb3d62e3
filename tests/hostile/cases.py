"""Cases that readers read, and those that ever failed: the bytes themselves, whatever draws cases later."""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

__all__ = ["Case", "Random", "Reader", "load_kept"]


@dataclass(frozen=True, slots=True)
class Case:
    """Files by name (of a folder, the changed ones), and how they are read, as plain data."""

    files: dict[str, bytes]
    how: dict[str, Any] = field(default_factory=dict)

    def write(self, folder: Path) -> list[Path]:
        """Write the files into a folder, and return their paths."""
        for name, content in self.files.items():
            (folder / name).write_bytes(content)
        return [folder / name for name in self.files]

    def to_dict(self) -> dict[str, Any]:
        """Return the case as JSON holds it: files compressed, in base64."""
        files = {name: b64encode(zlib.compress(content, 9)).decode() for name, content in self.files.items()}
        return {"files": files, "how": self.how}


@dataclass(frozen=True, slots=True)
class Reader:
    """Draws cases, and reads them."""

    draw: Callable[[Random], Case]
    read: Callable[[Case], object]


def load_kept() -> dict[str, list[Case]]:
    """Read what is kept of each reader: cases as ``to_dict`` gives them."""
    kept = json.loads(Path(__file__).with_name("fuzzed.json").read_text())
    return {
        name: [
            Case({path: zlib.decompress(b64decode(text)) for path, text in one["files"].items()}, one["how"])
            for one in cases
        ]
        for name, cases in kept.items()
    }
