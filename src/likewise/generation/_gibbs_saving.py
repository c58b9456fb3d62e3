"""A fitted GibbsGenerator in a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from numpy.typing import NDArray

from likewise.generation._conditionals import Conditionals, Inputs
from likewise.generation._folders import Contents, describe_generator, numbered, part_of, restore_generator
from likewise.generation._gibbs_values import ObservedValues
from likewise.nets._internal import choose_device, opened_folder
from likewise.schema import Schema
from likewise.schema._internal import KINDS

if TYPE_CHECKING:
    from likewise.generation._gibbs import GibbsGenerator

KIND: Final = "GibbsGenerator 1"


def describe(generator: GibbsGenerator) -> Contents:
    """Say what generating needs."""
    network, observed = generator.network_, generator.observed_
    record = {
        "sizes": list(network.inputs.sizes),
        "n_learned": network.inputs.n_learned,
        "history": generator.history_,
    }
    arrays = {
        "edges": network.inputs.edges,
        **{f"weights.{name}": weight.cpu().numpy() for name, weight in network.weights.items()},
        **numbered("values", [values.cpu().numpy() for values in observed.values]),
        **numbered("ends", [ends.cpu().numpy() for ends in observed.ends]),
    }
    return KIND, *describe_generator(generator, record, arrays)


def load_generator(cls: type[GibbsGenerator], path: str | Path, device: str) -> GibbsGenerator:
    """Read what was saved of :func:`describe`."""
    on = choose_device(device)
    with opened_folder(path, KIND) as (record, arrays):
        generator = restore_generator(cls, record, arrays, device=device)
        generator.device_, generator.history_ = on, record["history"]
        weights = part_of(arrays, "weights.")
        inputs = Inputs(tuple(record["sizes"]), record["n_learned"], arrays["edges"])
        _check_shapes(inputs, weights, generator.schema_)
        generator.network_ = Conditionals(inputs, weights, on)
        columns = range(len(inputs.edges))
        generator.observed_ = ObservedValues.of(
            [arrays[f"values.{i}"] for i in columns], [arrays[f"ends.{i}"] for i in columns], on
        )
    return generator


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
