"""Adversarial training and what came of it, in folders: to go on from, and to make antidotes of elsewhere."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.comparable import Comparability
from likewise.exceptions import GenerationError, SavedFolderError
from likewise.generation._encoder import Encoder
from likewise.generation._layout import Layout
from likewise.generation._modes import Modes
from likewise.generation._targets import Targets
from likewise.nets import choose_device, load_folder, save_folder
from likewise.schema import KINDS, BinValues, CodedTable, Roles, Schema

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
NOT_SAVED: Final = ("roles", "comparability", "checkpoint", "progress", "device", "random_state")


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
    return {"table": digest.hexdigest(), "rule": _plain(generator._rule), "settings": _plain(settings)}


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


def save_generator(generator: AdversarialGenerator, path: str | Path) -> None:
    """Write what generating needs."""
    encoder, rule, seed = generator.encoder_, generator.comparability, generator.random_state
    params = {name: value for name, value in generator.get_params(deep=False).items() if name not in NOT_SAVED}
    record = {
        "params": _plain(params) | {"random_state": int(seed) if isinstance(seed, int | np.integer) else None},
        "roles": generator.roles.to_dict(),
        "rule": None if rule is None else rule.to_dict(),
        "schema": generator.schema_.to_json(),
        "layout": encoder.layout.to_dict(),
        "continuous": list(encoder.continuous),
        "marks": dict(encoder.marks),
        "bins": {name: len(groups) for name, groups in generator.bin_values_.by_column.items()},
        **{name: getattr(generator, f"{name}_") for name in ("history", "n_iterations", "n_pairs", "seed")},
    }
    weights = {name: tensor.cpu().numpy() for name, tensor in generator._generator.state_dict().items()}
    groups = generator.bin_values_.by_column.values()
    bins = [values for column in groups for values in column]
    arrays = {
        **{f"weights.{name}": weight for name, weight in weights.items()},
        **{f"modes.{name}": array for name, array in encoder.modes.to_arrays().items()},
        **{f"bins.{number}": values for number, values in enumerate(bins)},
        "targets.combinations": generator.targets_.combinations,
        "targets.counts": generator.targets_.counts,
    }
    save_folder(path, KIND, record, arrays)


def load_generator(cls: type[AdversarialGenerator], path: str | Path, device: str) -> AdversarialGenerator:
    """Read what :func:`save_generator` wrote."""
    record, arrays = load_folder(path, KIND)
    try:
        rule = None if record["rule"] is None else Comparability.from_dict(record["rule"])
        generator = cls(Roles.from_dict(record["roles"]), rule, **record["params"], device=device)
        generator.device_ = choose_device(device)
        generator.schema_ = Schema.from_json(record["schema"])
        generator.targets_, generator.bin_values_ = _targets(arrays), _bins(record["bins"], arrays)
        names = [name for kind in KINDS for name in generator.schema_.roles.names(kind)]
        generator.feature_names_in_, generator.n_features_in_ = np.array(names, dtype=object), len(names)
        modes = Modes.from_arrays(_part(arrays, "modes."))
        layout = Layout.from_dict(record["layout"])
        generator.encoder_ = Encoder(layout, modes, tuple(record["continuous"]), record["marks"])
        generator._build(_part(arrays, "weights."))
        for name in ("history", "n_iterations", "n_pairs", "seed"):
            setattr(generator, f"{name}_", record[name])
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RuntimeError) as error:
        if isinstance(error, ValueError) and str(error).startswith("device is"):
            raise
        raise SavedFolderError(f"'{path}' lacks something, or has too much: {error!r}. Save it again.") from None
    return generator


def _part(arrays: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _targets(arrays: Mapping[str, NDArray[Any]]) -> Targets:
    return Targets(arrays["targets.combinations"], arrays["targets.counts"])


def _bins(sizes: Mapping[str, int], arrays: Mapping[str, NDArray[Any]]) -> BinValues:
    numbers = iter(range(sum(sizes.values())))
    return BinValues({name: tuple(arrays[f"bins.{next(numbers)}"] for _ in range(n)) for name, n in sizes.items()})


def _plain(value: Any) -> Any:
    """Make NumPy's numbers plain ones, tuples lists: what JSON gives back."""
    if isinstance(value, Comparability):
        return _plain(value.to_dict())
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value.item() if isinstance(value, np.generic) else value
