"""Generators that cells share: each is trained once, and kept in the work folder under the hash of what it is."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

from paper._cells import Spec, key_of
from paper._methods import generator_spec, make_generator, shorten
from paper._registry import GENERATORS
from paper._rows import rows_of


class SharedGenerators:
    """Find a generator in the work folder, or train it and put it there."""

    def __init__(self, work: Path, device: str) -> None:
        self._work, self._device = work, device
        self.record: dict[str, Any] | None = None  # how the one that was asked for was trained
        self.seconds = self.cpu_s = 0.0  # that training took just now

    def get(self, spec: Spec) -> Any:
        """Give the fitted generator that a cell asks for."""
        wanted = generator_spec(spec)
        if wanted is None:  # quick to fit
            return self._train(spec)
        folder = generator_folder(self._work, wanted)
        if not (folder / "trained.json").exists():
            begun, cpu = time.perf_counter(), time.process_time()
            generator = self._train(spec)
            self.seconds, self.cpu_s = time.perf_counter() - begun, time.process_time() - cpu
            device = str(getattr(generator, "device_", "cpu"))
            _keep(generator, folder, {"seconds": round(self.seconds, 2), "device": device})
        self.record = json.loads((folder / "trained.json").read_text("utf-8"))
        load = GENERATORS[wanted["generator"]].load
        assert load is not None  # or it would not be shared
        return load(folder / "generator", device=self._device)

    def _train(self, spec: Spec) -> Any:
        method = shorten(spec["method"]) if spec["fast"] else spec["method"]
        data = rows_of(spec)
        fresh = make_generator(method["antidotes"], data, spec["seed"], self._device)
        return fresh.fit(data.train.X, data.train.y)


def generator_folder(work: Path, wanted: Spec) -> Path:
    """Say where a generator is, or would be."""
    return work / "generators" / key_of(wanted)[:32]


def is_trained(work: Path, wanted: Spec) -> bool:
    """Whether a generator need not be trained any more."""
    return (generator_folder(work, wanted) / "trained.json").exists()


def _keep(generator: Any, folder: Path, record: dict[str, Any]) -> None:
    """Save beside, then move: a folder under its own name is whole, whenever a run is killed."""
    part = folder.with_name(f"{folder.name}.{os.getpid()}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    generator.save(part / "generator")
    (part / "trained.json").write_text(json.dumps(record, sort_keys=True), "utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    try:
        part.rename(folder)
    except OSError:  # another process was quicker
        shutil.rmtree(part, ignore_errors=True)
