"""What the folders of all generators have in common: parameters, schema, and the sensitive values to ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from likewise.comparable import Comparability
from likewise.generation._targets import Targets
from likewise.schema import Roles, Schema
from likewise.schema._internal import KINDS, BinValues

if TYPE_CHECKING:
    from likewise.generation._generator import BaseGenerator

    Made = TypeVar("Made", bound=BaseGenerator)

Record = Mapping[str, Any]
Arrays = Mapping[str, NDArray[Any]]
Contents = tuple[str, Record, Arrays]  # of a folder: what it is of, plain data, numbers

# in a form of their own, or of the machine rather than of what was learned
NOT_PARAMS: Final = ("roles", "comparability", "checkpoint", "progress", "device")


def describe_generator(generator: BaseGenerator, record: Record, arrays: Arrays) -> tuple[Record, Arrays]:
    """Say what all generators have, and beside it what this kind has of its own."""
    rule, targets, bins = generator.comparability, generator.targets_, generator.bin_values_.by_column
    shared: dict[str, Any] = {
        "params": {name: plain(value) for name, value in _params(generator).items()},
        "roles": generator.roles.to_dict(),
        "rule": None if rule is None else rule.to_dict(),
        "schema": generator.schema_.to_json(),
        "bins": {name: len(groups) for name, groups in bins.items()},
    }
    numbers: dict[str, NDArray[Any]] = {
        "targets.combinations": targets.combinations,
        "targets.counts": targets.counts,
        **numbered("bins", [values for groups in bins.values() for values in groups]),
    }
    return {**shared, **record}, {**numbers, **arrays}


def restore_generator(cls: type[Made], record: Record, arrays: Arrays, **unsaved: Any) -> Made:
    """Make a generator that has what all have; what its kind has besides is still to come."""
    rule = None if record["rule"] is None else Comparability.from_dict(record["rule"])
    generator = cls(Roles.from_dict(record["roles"]), rule, **unsaved)
    if record["params"].keys() != _params(generator).keys():
        raise ValueError(f"parameters {sorted(record['params'])}")
    generator.set_params(**record["params"])
    generator._refuse_odd_parameters()
    schema = generator.schema_ = Schema.from_json(record["schema"])
    names = [name for kind in KINDS for name in schema.roles.names(kind)]
    generator.feature_names_in_, generator.n_features_in_ = np.array(names, dtype=object), len(names)
    generator.targets_ = Targets(arrays["targets.combinations"], arrays["targets.counts"])
    numbers = iter(range(sum(record["bins"].values())))
    generator.bin_values_ = BinValues(
        {name: tuple(arrays[f"bins.{next(numbers)}"] for _ in range(n)) for name, n in record["bins"].items()}
    )
    _check_targets(generator.targets_, generator.bin_values_, schema)
    return generator


def numbered(name: str, arrays: list[NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Name arrays by their place in a list."""
    return {f"{name}.{number}": array for number, array in enumerate(arrays)}


def part_of(arrays: Arrays, prefix: str) -> dict[str, NDArray[Any]]:
    """Take the arrays whose names begin alike, without that beginning."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def plain(value: Any) -> Any:
    """Make NumPy's numbers plain ones, tuples lists: what JSON gives back."""
    if isinstance(value, Mapping):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value.item() if isinstance(value, np.generic) else value


def _params(generator: BaseGenerator) -> dict[str, Any]:
    """Give the parameters to save; of random states only a seed can be."""
    params = {name: value for name, value in generator.get_params(deep=False).items() if name not in NOT_PARAMS}
    is_seed = isinstance(params["random_state"], int | np.integer)
    return params | {"random_state": params["random_state"] if is_seed else None}


def _check_targets(targets: Targets, bins: BinValues, schema: Schema) -> None:
    """Refuse here what would otherwise fail while generating."""
    names = schema.roles.names("sensitive")
    n_values = [len(schema.categories[name]) for name in names]
    codes = targets.combinations
    if codes.shape != (len(targets.counts), len(names)) or (codes < 0).any() or (codes >= n_values).any():
        raise ValueError("other sensitive values than the schema's")
    if not bins.by_column.keys() <= set(names):
        raise ValueError(f"groups of {sorted(bins.by_column)}, which are not all sensitive")
