"""Cases that readers read, and what is kept of those that failed: the bytes themselves, whatever draws cases later."""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["Case", "Fault", "Progress", "Random", "Reader", "State", "load_progress", "save_progress"]

Random = np.random.Generator


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

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Case:
        """Return the case that ``to_dict`` wrote."""
        return cls({name: zlib.decompress(b64decode(text)) for name, text in data["files"].items()}, data["how"])


@dataclass(frozen=True, slots=True)
class Reader:
    """Draws cases, and reads them."""

    draw: Callable[[Random], Case]
    read: Callable[[Case], object]


class State(StrEnum):
    """Whether a kept case failed with the error of its name when it was last read."""

    OPEN = "open"
    MENDED = "mended"


@dataclass(slots=True)
class Fault:
    """A case that failed, the number it was drawn by, and the name of its error."""

    name: str
    number: int
    state: State
    case: Case


@dataclass(slots=True)
class Progress:
    """How far a reader is: cases drawn, processor time, and cases that ever failed."""

    n_cases: int = 0
    seconds: float = 0.0
    faults: list[Fault] = field(default_factory=list)

    def count_faults(self, states: Collection[State] = tuple(State)) -> int:
        """Count faults in any of some states, by the names of their errors."""
        return len({fault.name for fault in self.faults if fault.state in states})

    def add(self, name: str, number: int, case: Case) -> None:
        """Keep a case that failed as open, once for each name."""
        for fault in self.faults:
            if (fault.name, fault.case) == (name, case):
                fault.state = State.OPEN
                return
        self.faults.append(Fault(name, number, State.OPEN, case))


def load_progress(path: Path) -> dict[str, Progress]:
    """Read what is kept of each reader."""
    kept = json.loads(path.read_text()) if path.exists() else {}
    return {
        name: Progress(
            one["n_cases"],
            one["seconds"],
            [
                Fault(fault["name"], fault["number"], State(fault["state"]), Case.from_dict(fault["case"]))
                for fault in one["faults"]
            ],
        )
        for name, one in kept.items()
    }


def save_progress(kept: dict[str, Progress], path: Path) -> None:
    """Write what is kept of each reader."""
    data = {
        name: {**asdict(one), "faults": [{**asdict(fault), "case": fault.case.to_dict()} for fault in one.faults]}
        for name, one in kept.items()
    }
    unfinished = path.with_suffix(".part")
    unfinished.write_text(json.dumps(data, indent=1, ensure_ascii=True) + "\n")
    unfinished.replace(path)
