"""A fitted GibbsGenerator in a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.comparable import Comparability
from likewise.exceptions import SavedFolderError
from likewise.generation._conditionals import Conditionals, Inputs
from likewise.generation._gibbs_values import ObservedValues
from likewise.generation._targets import Targets
from likewise.nets import choose_device, load_folder, save_folder
from likewise.schema import KINDS, BinValues, Roles, Schema

if TYPE_CHECKING:
    from likewise.generation._gibbs import GibbsGenerator

KIND: Final = "GibbsGenerator 1"
PARAMS: Final = {
    **{"min_plausibility": float, "change_below": float, "move_share": float, "draw_targets": bool},
    **{"n_iterations": int, "batch_size": int, "width": int},
}


def save_generator(generator: GibbsGenerator, path: str | Path) -> None:
    """Write what generating needs."""
    seed, rule, network = generator.random_state, generator.comparability, generator.network_
    bins = generator.bin_values_.by_column
    record = {
        "params": {name: plain(getattr(generator, name)) for name, plain in PARAMS.items()},
        "random_state": int(seed) if isinstance(seed, int | np.integer) else None,
        "roles": generator.roles.to_dict(),
        "rule": None if rule is None else rule.to_dict(),
        "schema": generator.schema_.to_json(),
        "sizes": list(network.inputs.sizes),
        "n_learned": network.inputs.n_learned,
        "bins": {name: len(groups) for name, groups in bins.items()},
        "history": generator.history_,
    }
    arrays = {
        "edges": network.inputs.edges,
        "targets.combinations": generator.targets_.combinations,
        "targets.counts": generator.targets_.counts,
        **{f"weights.{name}": weight.cpu().numpy() for name, weight in network.weights.items()},
        **_numbered("values", [values.cpu().numpy() for values in generator.observed_.values]),
        **_numbered("ends", [ends.cpu().numpy() for ends in generator.observed_.ends]),
        **_numbered("bins", [values for groups in bins.values() for values in groups]),
    }
    save_folder(path, KIND, record, arrays)


def load_generator(cls: type[GibbsGenerator], path: str | Path, device: str) -> GibbsGenerator:
    """Read what :func:`save_generator` wrote."""
    on = choose_device(device)
    record, loaded = load_folder(path, KIND)
    arrays = {name: np.array(array) for name, array in loaded.items()}  # torch takes no read-only ones
    try:
        rule = None if record["rule"] is None else Comparability.from_dict(record["rule"])
        params = {name: record["params"][name] for name in PARAMS}
        generator = cls(
            Roles.from_dict(record["roles"]), rule, **params, random_state=record["random_state"], device=device
        )
        generator.device_, generator.history_ = on, record["history"]
        generator.schema_ = Schema.from_json(record["schema"])
        names = [name for kind in KINDS for name in generator.schema_.roles.names(kind)]
        generator.feature_names_in_, generator.n_features_in_ = np.array(names, dtype=object), len(names)
        generator.targets_ = Targets(arrays["targets.combinations"], arrays["targets.counts"])
        numbers = iter(range(sum(record["bins"].values())))
        generator.bin_values_ = BinValues(
            {name: tuple(arrays[f"bins.{next(numbers)}"] for _ in range(n)) for name, n in record["bins"].items()}
        )
        weights = {name.removeprefix("weights."): arrays[name] for name in arrays if name.startswith("weights.")}
        inputs = Inputs(tuple(record["sizes"]), record["n_learned"], arrays["edges"])
        _check_shapes(inputs, weights, generator.schema_)
        generator.network_ = Conditionals(inputs, weights, on)
        columns = range(len(inputs.edges))
        generator.observed_ = ObservedValues.of(
            [arrays[f"values.{i}"] for i in columns], [arrays[f"ends.{i}"] for i in columns], on
        )
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RuntimeError) as error:
        raise SavedFolderError(f"'{path}' lacks something, or has too much: {error!r}. Save it again.") from None
    return generator


def _numbered(name: str, arrays: list[NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {f"{name}.{number}": array for number, array in enumerate(arrays)}


def _check_shapes(inputs: Inputs, weights: Mapping[str, NDArray[Any]], schema: Schema) -> None:
    """Refuse here what would otherwise fail while generating."""
    width, roles = weights["first"].shape[1], schema.roles
    shapes = {
        "first": (inputs.n_inputs, width),
        "first_bias": (width,),
        "second": (width, width),
        "second_bias": (width,),
        "last": (width, inputs.n_outputs),
        "last_bias": (inputs.n_outputs,),
    }
    wrong = [name for name, shape in shapes.items() if weights[name].shape != shape]
    n_coded = sum(len(roles.names(kind)) for kind in KINDS if kind != "continuous")
    if wrong or len(inputs.sizes) != n_coded or len(inputs.edges) != len(roles.names("continuous")):
        raise ValueError(f"the network does not fit the schema: {wrong or 'other columns'}")
