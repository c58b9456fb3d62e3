"""Adversarial training and what came of it, in folders: to go on from, and to make antidotes of elsewhere."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.exceptions import GenerationError, SavedFolderError
from likewise.generation._adversarial_checks import check_settings
from likewise.generation._encoder import Encoder
from likewise.generation._folders import Contents, describe_generator, part_of, plain, restore_generator
from likewise.generation._layout import Layout
from likewise.generation._modes import Modes
from likewise.nets._internal import choose_device, load_folder, opened_folder, save_folder
from likewise.schema import CodedTable
from likewise.schema._internal import KINDS

if TYPE_CHECKING:
    from likewise.generation._adversarial import AdversarialGenerator
    from likewise.generation._training import Training

KIND: Final = "AdversarialGenerator 1"
CHECKPOINT: Final = "AdversarialGenerator checkpoint 1"
# what training may go on with another value of
FREE: Final = (
    *("roles", "comparability", "n_iterations", "stop_at_ratio", "checkpoint", "checkpoint_every", "progress"),
    *("compile_step", "device", "random_state", "likeliest"),
)
LEARNED: Final = ("history", "n_iterations", "n_pairs", "seed")


@dataclass(frozen=True, slots=True, eq=False)
class Resumed:
    """Where training stood."""

    seed: int
    n_iterations: int
    history: list[dict[str, Any]]
    state: dict[str, NDArray[Any]]


def describe_run(generator: AdversarialGenerator, table: CodedTable) -> dict[str, Any]:
    """Say in plain data what the weights depend on, but for the seed."""
    digest = hashlib.sha256(generator.schema_.checksum.encode())
    for name in (*KINDS, "labels"):
        array = getattr(table, name)
        digest.update(f"{name} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array.T).data)
    settings = {name: value for name, value in generator.get_params(deep=False).items() if name not in FREE}
    return {"table": digest.hexdigest(), "rule": plain(generator._rule.to_dict()), "settings": plain(settings)}


def save_checkpoint(generator: AdversarialGenerator, training: Training, run: Mapping[str, Any]) -> None:
    """Write where training stands."""
    assert generator.checkpoint is not None
    record = {
        **run,
        "seed": generator.seed_,
        "n_iterations": generator.n_iterations_,
        "history": generator.history_,
    }
    save_folder(generator.checkpoint, CHECKPOINT, record, training.state())


def resume(generator: AdversarialGenerator, run: Mapping[str, Any]) -> Resumed | None:
    """Read where training stood, if there is a checkpoint; refuse one of another training."""
    folder = generator.checkpoint
    if folder is None or not Path(folder).exists():
        return None
    record, state = load_folder(folder, CHECKPOINT)
    try:
        saved = Resumed(record["seed"], record["n_iterations"], record["history"], state)
        settings = record["settings"]
        found = [name for name in ("table", "rule") if record[name] != run[name]]
    except (KeyError, TypeError):
        raise SavedFolderError(f"'{folder}' lacks what a checkpoint has. Choose another folder.") from None
    found += [name for name, value in run["settings"].items() if settings.get(name) != value]
    if isinstance(generator.random_state, int | np.integer) and generator.random_state != saved.seed:
        found.append("random_state")
    if found:
        raise GenerationError(
            f"The checkpoint '{folder}' is of another training: {', '.join(found)} changed. "
            "Train as before, or choose another folder."
        )
    return saved


def describe(generator: AdversarialGenerator) -> Contents:
    """Say what generating needs."""
    encoder, network = generator.encoder_, generator._generator
    record = {
        "layout": encoder.layout.to_dict(),
        "continuous": list(encoder.continuous),
        "marks": dict(encoder.marks),
        **{name: getattr(generator, f"{name}_") for name in LEARNED},
    }
    arrays = {
        **{f"weights.{name}": tensor.cpu().numpy() for name, tensor in network.state_dict().items()},
        **{f"modes.{name}": array for name, array in encoder.modes.to_arrays().items()},
    }
    return KIND, *describe_generator(generator, record, arrays)


def load_generator(cls: type[AdversarialGenerator], path: str | Path, device: str) -> AdversarialGenerator:
    """Read what was saved of :func:`describe`."""
    on = choose_device(device)
    with opened_folder(path, KIND) as (record, arrays):
        generator = restore_generator(cls, record, arrays, device=device)
        check_settings(generator.get_params(deep=False))
        generator.device_ = on
        modes = Modes.from_arrays(part_of(arrays, "modes."))
        layout = Layout.from_dict(record["layout"])
        generator.encoder_ = Encoder(layout, modes, tuple(record["continuous"]), record["marks"])
        generator._build(part_of(arrays, "weights."))
        for name in LEARNED:
            setattr(generator, f"{name}_", record[name])
    return generator
