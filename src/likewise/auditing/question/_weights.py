"""How much each person counts, and who varies apart from whom: sample weights and clusters, checked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._checks import suggest
from likewise.exceptions import ParameterError
from likewise.schema import Roles
from likewise.schema._internal import hash_array, open_frame

Floats = NDArray[np.float64]
Rows = NDArray[np.integer[Any]]
ROLES: Final = ("sensitive", "discrete", "ordinal", "matched", "continuous", "label", "row_id")
NAME: Final = "sample_weight"
CLUSTER: Final = "cluster"
ALIKE: Final = 1e-12  # weights that differ by less differ by rounding
WIDEST: Final = 1e12  # between the largest weight and the least: products of more lose digits


class Weights(ABC):
    """How much each of some people or pairs counts; ``EqualWeights`` where all count alike, ``UnequalWeights`` else."""

    @staticmethod
    def of(values: Floats | None, n: int) -> Weights:
        """Return the weights of n people or pairs; equal ones without values."""
        return EqualWeights(n) if values is None else UnequalWeights(values)

    @property
    @abstractmethod
    def values(self) -> Floats:
        """One number for each."""

    @property
    @abstractmethod
    def total(self) -> float:
        """Their sum."""

    @property
    @abstractmethod
    def effective(self) -> float:
        """How many of equal weight leave a mean as uncertain as these (Kish)."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def times(self, amounts: NDArray[Any]) -> NDArray[Any]:
        """Return amounts times weights."""

    @abstractmethod
    def mean(self, values: NDArray[Any]) -> float:
        """Return the mean, each value counting as much as its weight."""

    @abstractmethod
    def quantile(self, values: Floats, share: float) -> float:
        """Return a quantile: between two values where all count alike, else by NumPy's ``inverted_cdf``."""

    @abstractmethod
    def counts(self, groups: NDArray[Any], n_groups: int = 0) -> NDArray[Any]:
        """Return the weight of each group, a number of people where all count alike."""

    @abstractmethod
    def take(self, places: Any) -> Weights:
        """Return the weights of some, by their places or by flags."""

    @abstractmethod
    def of_pairs(self, left: Rows, right: Rows) -> Weights:
        """Return the weights of pairs of these people: the products of the two."""


@dataclass(frozen=True, slots=True, eq=False)
class EqualWeights(Weights):
    """Each of n counts once."""

    n: int

    @property
    def values(self) -> Floats:
        return np.ones(self.n)

    @property
    def total(self) -> float:
        return float(self.n)

    @property
    def effective(self) -> float:
        return float(self.n)

    def __len__(self) -> int:
        return self.n

    def times(self, amounts: NDArray[Any]) -> NDArray[Any]:
        return amounts

    def mean(self, values: NDArray[Any]) -> float:
        if values.dtype == np.bool_ and len(values):
            return int(np.count_nonzero(values)) / len(values)  # the same number, sooner
        return float(values.mean())

    def quantile(self, values: Floats, share: float) -> float:
        return float(np.quantile(values, share))

    def counts(self, groups: NDArray[Any], n_groups: int = 0) -> NDArray[Any]:
        return np.bincount(groups, minlength=n_groups)

    def take(self, places: Any) -> Weights:
        return EqualWeights(len(np.empty(self.n, np.bool_)[places]))

    def of_pairs(self, left: Rows, right: Rows) -> Weights:
        return EqualWeights(len(left))


@dataclass(frozen=True, slots=True, eq=False)
class UnequalWeights(Weights):
    """Each counts as much as its value, 0 or more."""

    values: Floats

    @property
    def total(self) -> float:
        return float(self.values.sum())

    @property
    def effective(self) -> float:
        return effective_size(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def times(self, amounts: NDArray[Any]) -> NDArray[Any]:
        return amounts * self.values

    def mean(self, values: NDArray[Any]) -> float:
        return float(sum_products(values.astype(np.float64, copy=False), self.values) / self.values.sum())

    def quantile(self, values: Floats, share: float) -> float:
        return WeightedOrder.of(values, self.values).quantile(share)

    def counts(self, groups: NDArray[Any], n_groups: int = 0) -> NDArray[Any]:
        return np.bincount(groups, self.values, n_groups)

    def take(self, places: Any) -> Weights:
        return UnequalWeights(self.values[places])

    def of_pairs(self, left: Rows, right: Rows) -> Weights:
        return UnequalWeights(self.values[left] * self.values[right])


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """Who varies independently of all others: people, or the clusters that they are in."""

    n: int
    numbers: Rows | None = None  # of everybody's cluster

    @classmethod
    def of(cls, clusters: NDArray[Any] | None, n_people: int) -> Units:
        """Number the clusters; without any, everybody is independent."""
        if clusters is None:
            return cls(n_people)
        values, numbers = np.unique(clusters, return_inverse=True)
        return cls(len(values), numbers)

    def of_some(self, people: Rows) -> Units:
        """Return those of some people."""
        return Units.of(None if self.numbers is None else self.numbers[people], len(people))

    def take(self, people: Rows) -> Rows:
        """Return the units of some people."""
        return people if self.numbers is None else self.numbers[people]

    def add_up(self, amounts: Floats) -> Floats:
        """Add up amounts of people by unit."""
        return amounts if self.numbers is None else np.bincount(self.numbers, amounts, self.n).astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class SampleWeights:
    """The weights of people as they were given: where they come from, and a checksum of them."""

    values: Floats | None  # with a mean of 1 over those above 0; None where all are equal
    origin: str  # in words
    checksum: str
    n_zero: int = 0


def find_weights(given: Any, frame: Any, n_people: int) -> SampleWeights | None:
    """Return the weights of a frame's rows: those of a column, by its name, or an array; None where none are given."""
    if given is None:
        return None
    if not isinstance(given, str):
        return check_weights(given, "array", n_people)
    opened = open_frame(frame)
    if given not in opened.names:
        raise ParameterError(f"is '{given}', but there is no such column.{suggest(given, opened.names)}", NAME)
    return check_weights(opened.values(given), f"column '{given}'", n_people)


def check_weights(given: Any, origin: str, n_people: int) -> SampleWeights:
    """Return weights as floats; refuse all but one finite number of 0 or more per person, one of them above 0."""
    values = _as_numbers(given, origin)
    if values.ndim != 1:
        raise ParameterError(f"({origin}) has shape {values.shape}; give one weight per person.", NAME)
    if len(values) != n_people:
        raise ParameterError(f"({origin}) has {len(values):,} weights for {n_people:,} rows; give one per row.", NAME)
    for is_wrong, what in ((~np.isfinite(values), "NaN, missing or infinite"), (values < 0, "below 0")):
        rows = np.flatnonzero(is_wrong)
        if len(rows):
            where = f"in {len(rows):,} of {n_people:,} rows, first in row {rows[0]:,} (counted from 0)"
            raise ParameterError(f"({origin}) is {what} {where}; give a weight of 0 or more to every row.", NAME)
    above = values[values > 0]
    if not len(above):
        raise ParameterError(f"({origin}) is 0 in every row, so nobody counts; give some weights above 0.", NAME)
    if above.min() < above.max() / WIDEST:
        raise ParameterError(
            f"({origin}) runs from {above.min():.3g} to {above.max():.3g}: one person counts {WIDEST:g} times as much "
            "as another. Set such small weights to 0.",
            NAME,
        )
    checksum, n_zero = hash_array(values), len(values) - len(above)
    scaled = values / above.max()  # which no large weight overflows
    scaled = scaled / scaled[scaled > 0].mean()
    is_equal = not n_zero and float(np.ptp(scaled)) <= ALIKE
    return SampleWeights(None if is_equal else np.ascontiguousarray(scaled), origin, checksum, n_zero)


def find_clusters(given: Any, frame: Any, n_people: int) -> Rows | None:
    """Return the numbers of the clusters of a frame's rows: those of a column, by its name, or of an array."""
    if given is None:
        return None
    values, origin = given, "array"
    if isinstance(given, str):
        opened = open_frame(frame)
        if given not in opened.names:
            raise ParameterError(f"is '{given}', but there is no such column.{suggest(given, opened.names)}", CLUSTER)
        values, origin = opened.values(given), f"column '{given}'"
    try:
        listed = list(values.tolist() if hasattr(values, "tolist") else values)
    except TypeError:
        raise ParameterError(f"is {given!r}; name a column, or give one value per row.", CLUSTER) from None
    if len(listed) != n_people or any(isinstance(one, list) for one in listed[:1]):
        raise ParameterError(f"({origin}) has {len(listed):,} values for {n_people:,} rows; give one per row.", CLUSTER)
    missing = [place for place, one in enumerate(listed) if one is None or str(one) == "<NA>" or one != one]
    if missing:
        raise ParameterError(
            f"({origin}) is missing in {len(missing):,} of {n_people:,} rows, first in row {missing[0]:,} (counted "
            "from 0); give every row its cluster, one of its own to whom is alone.",
            CLUSTER,
        )
    number_of = {value: number for number, value in enumerate(dict.fromkeys(listed))}
    return np.fromiter((number_of[one] for one in listed), np.int64, n_people)


def refuse_weight_role(name: Any, scores: Any, roles: Roles) -> None:
    """Refuse a column of weights that is compared, or has another meaning."""
    if not isinstance(name, str):
        return
    role = next((one for one in ROLES if name in roles.names(one)), None)
    role = "that of the scores" if role is None and isinstance(scores, str) and scores == name else role
    if role is not None:
        raise ParameterError(
            f"is '{name}', but the role of this column is {role}. Give weights in a column of their own.", NAME
        )


def _as_numbers(given: Any, origin: str) -> Floats:
    try:
        if hasattr(given, "to_pylist") and hasattr(given, "type"):  # Arrow's arrays, of any type and with gaps
            given = given.to_numpy(zero_copy_only=False)
        found = given.to_numpy() if hasattr(given, "to_numpy") else given
        if np.ma.isMaskedArray(found) and np.ma.getmaskarray(found).any():
            raise ParameterError(f"({origin}) is masked in {int(np.ma.getmaskarray(found).sum()):,} places.", NAME)
        array = np.asarray(found)
        is_text = array.dtype.kind == "O" and any(isinstance(one, str | bytes) for one in array.flat)
        if is_text or array.dtype.kind in "SUTbcmM":
            raise TypeError
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(f"({origin}) is not made of numbers; give one weight per person.", NAME) from None


def mean_of(values: NDArray[Any], weights: Floats | None) -> float:
    """Return the mean, each value counting as much as its weight."""
    if weights is None and values.dtype == np.bool_ and len(values):
        return int(np.count_nonzero(values)) / len(values)  # the same number, sooner
    if weights is None:
        return float(values.mean())
    return float(sum_products(values.astype(np.float64, copy=False), weights) / weights.sum())


def sum_products(one: NDArray[Any], other: NDArray[Any]) -> float:
    """Return the sum of products; ``@`` would wake threads, which wait for more at full speed, and round as they do."""
    return float(np.einsum("i,i", one, other))


def spread_between(values: Floats, weights: Weights) -> float:
    """Return the standard deviation; that of rows of probabilities is half the sum of their variances, rooted."""
    columns = values.reshape(len(values), -1).T
    by_class = [weights.mean(np.square(column - weights.mean(column))) for column in columns]
    # two classes vary alike, so half of the sum is the variance of either
    return float(np.sqrt(by_class[0] if values.ndim == 1 else sum(by_class) / 2))


def effective_size(weights: NDArray[Any]) -> float:
    """Return how many equal weights leave a mean as uncertain as these (Kish)."""
    squares = sum_products(weights, weights)
    return float(weights.sum()) ** 2 / squares if squares > 0 else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class WeightedOrder:
    """Values in ascending order, and how much weight there is up to each."""

    values: Floats
    ends: Floats

    @classmethod
    def of(cls, values: Floats, weights: Floats) -> WeightedOrder:
        """Sort the values."""
        order = np.argsort(values, kind="stable")
        return cls(values[order], np.cumsum(weights[order]))

    def quantile(self, share: float) -> float:
        """Return the least value that at least this share of the weight is at or below; NumPy's ``inverted_cdf``."""
        return float(self.values[place_of_share(self.ends, share)])


def place_of_share(ends: Floats, share: float) -> int:
    """Return the first place up to which there is at least this share of the weight."""
    place = int(np.searchsorted(ends, share * ends[-1] * (1 - ALIKE), side="left"))
    return min(place, len(ends) - 1)
