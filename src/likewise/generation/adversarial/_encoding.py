"""Rows as vectors: the layout of columns, modes of numbers, and the encoder."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from likewise._random import stream
from likewise.comparable import Comparability
from likewise.comparable._internal import SHIFT_TOLERANCE
from likewise.schema import CodedTable

SpanKind = Literal["value", "mode", "discrete", "ordinal", "sensitive", "matched"]


@dataclass(frozen=True, slots=True)
class ColumnSpan:
    """The positions of one column in a vector: a number, or a one-hot of several positions."""

    column: str
    kind: SpanKind
    start: int
    width: int


@dataclass(frozen=True, slots=True)
class RowLayout:
    """Order of the positions in a vector: what the generator makes (numbers, then one-hots), then what it copies."""

    blocks: tuple[ColumnSpan, ...]
    n_made: int  # positions from here on are given, and copied from the source

    @classmethod
    def of_parts(
        cls, made: Iterable[tuple[str, SpanKind, int]], given: Iterable[tuple[str, SpanKind, int]]
    ) -> RowLayout:
        """Arrange parts (column, kind, width); numbers come first, sensitive columns last."""
        order = {"value": 0, "mode": 1, "sensitive": 3}
        blocks: list[ColumnSpan] = []
        start = n_made = 0
        for is_made, parts in ((True, made), (False, given)):
            for column, kind, width in sorted(parts, key=lambda part: order.get(part[1], 2)):
                blocks.append(ColumnSpan(column, kind, start, width))
                start += width
            n_made = start if is_made else n_made
        return cls(tuple(blocks), n_made)

    @property
    def n_given(self) -> int:
        """Length of a whole vector."""
        return sum(block.width for block in self.blocks)

    @property
    def n_values(self) -> int:
        """Number of numbers that the generator makes; they come first."""
        return sum(block.kind == "value" for block in self.made)

    @property
    def made(self) -> tuple[ColumnSpan, ...]:
        """Spans that the generator makes."""
        return tuple(block for block in self.blocks if block.start < self.n_made)

    @property
    def choices(self) -> tuple[ColumnSpan, ...]:
        """Spans in which the generator makes a one-hot: all but the numbers."""
        return self.made[self.n_values :]

    @property
    def n_sensitive(self) -> int:
        """Number of positions of the sensitive columns, the last of those made."""
        return sum(block.width for block in self.made if block.kind == "sensitive")

    @property
    def segments(self) -> NDArray[np.int64]:
        """For each position after the numbers, the index of its choice."""
        return np.repeat(np.arange(len(self.choices)), [block.width for block in self.choices])

    @property
    def steps(self) -> NDArray[np.int64]:
        """For each position after the numbers, its index within its choice."""
        return np.concatenate([np.arange(block.width) for block in self.choices])

    def find(self, column: str, *, is_value: bool = False) -> ColumnSpan:
        """Return the span of a column's number, or of its one-hot."""
        return next(block for block in self.blocks if block.column == column and (block.kind == "value") == is_value)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that JSON can hold."""
        blocks = [[block.column, block.kind, block.start, block.width] for block in self.blocks]
        return {"blocks": blocks, "n_made": self.n_made}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> RowLayout:
        """Undo :meth:`to_dict`."""
        return cls(tuple(ColumnSpan(*block) for block in data["blocks"]), data["n_made"])


Floats = NDArray[np.float64]

ROWS_TO_FIT: Final = 10_000
LEAST_WEIGHT: Final = 0.005
SPIKE_SCALE: Final = 1e-6  # so narrow that no other number falls into the mode
LEAST_SCALE: Final = 1e-3  # of the training range: scikit-learn's own floor on variances
SCALES_A_SIDE: Final = 4  # a mode reaches four standard deviations from its mean


@dataclass(frozen=True, slots=True, eq=False)
class Modes:
    """Gaussian modes of all continuous columns, one row per column, padded with modes of weight 0."""

    means: Floats
    scales: Floats
    log_weights: Floats
    low: Floats  # limits of the mode's numbers
    high: Floats
    n_modes: NDArray[np.int64]

    @classmethod
    def learn(cls, continuous: Floats, max_modes: int, spike_share: float, seed: int) -> Modes:
        """Fit each column; numbers that many rows share, and marks of missing values, are modes of their own."""
        found = [
            _fit_column(column, max_modes, spike_share, stream(seed, "modes", position))
            for position, column in enumerate(continuous.T)
        ]
        n_modes = np.array([len(one) for one in found], np.int64)
        filled = np.zeros((5, len(found), n_modes.max(initial=1)))
        filled[1], filled[2] = 1.0, -np.inf
        for position, one in enumerate(found):
            filled[:, position, : len(one)] = one.T
        means, scales, log_weights, low, high = filled
        return cls(means, scales, log_weights, low, high, n_modes)

    def knows(self, continuous: Floats) -> NDArray[np.bool_]:
        """Whether a mode represents each number: within one training range of it, or a known mark."""
        known: NDArray[np.bool_] = (continuous >= -1.0) & (continuous <= 2.0)
        if not known.all():
            values = continuous[:, :, None]
            exact = (values == self.low) & (values == self.high)  # padding has 0 in both
            known |= exact.any(axis=2)
        return known

    @property
    def spikes(self) -> NDArray[np.bool_]:
        """Whether each mode is a single number."""
        spikes: NDArray[np.bool_] = self.low == self.high
        return spikes

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Modes:
        """Undo :meth:`to_arrays`."""
        return cls(**{field.name: arrays[field.name] for field in fields(cls)})


def _fit_column(column: Floats, max_modes: int, spike_share: float, random: np.random.Generator) -> Floats:
    """Return mean, scale, log weight, low and high of each mode."""
    values, counts = np.unique(column, return_counts=True)
    # training numbers lie in [0, 1]: one below marks a missing value
    is_spike = (values < 0) | ((counts >= spike_share * len(column)) & (counts > 1))
    by_count = np.argsort(-counts * is_spike, kind="stable")
    is_spike[by_count[max(max_modes - 1, 1) :]] = False
    is_spike |= values < 0
    spikes, narrow = values[is_spike], np.full(is_spike.sum(), SPIKE_SCALE)
    modes = np.column_stack([spikes, narrow, np.log(counts[is_spike] / len(column)), spikes, spikes])
    rest = column[~np.isin(column, spikes)]
    if not len(rest):
        return modes
    means, scales, weights = _fit_mixture(rest, max(max_modes - len(modes), 1), random)
    low, high = np.full(len(means), rest.min()), np.full(len(means), rest.max())
    smooth = np.column_stack([means, scales, np.log(weights * len(rest) / len(column)), low, high])
    return np.concatenate([smooth, modes])


def _fit_mixture(numbers: Floats, max_modes: int, random: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import BayesianGaussianMixture

    some = random.choice(numbers, ROWS_TO_FIT, replace=False) if len(numbers) > ROWS_TO_FIT else numbers
    n_modes = min(max_modes, len(np.unique(some)))
    if n_modes == 1:
        return some.mean(keepdims=True), np.maximum(some.std(keepdims=True), LEAST_SCALE), np.ones(1)
    mixture = BayesianGaussianMixture(
        n_components=n_modes,
        weight_concentration_prior_type="dirichlet_process",
        weight_concentration_prior=1e-3,
        init_params="k-means++",  # k-means itself sums in an order that depends on threads
        random_state=int(random.integers(2**31)),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a rough mixture suffices
        mixture.fit(some.reshape(-1, 1))
    kept = mixture.weights_ > LEAST_WEIGHT
    kept[np.argmax(mixture.weights_)] = True
    weights = mixture.weights_[kept] / mixture.weights_[kept].sum()
    scales = np.maximum(np.sqrt(mixture.covariances_.ravel()[kept]), LEAST_SCALE)
    return mixture.means_.ravel()[kept], scales, weights


CODED: Final[tuple[SpanKind, ...]] = ("sensitive", "discrete", "ordinal", "matched")

Codes = NDArray[np.int32]
Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class EncodedRows:
    """Rows for the networks: positions of their one-hots, their numbers, and which numbers are known."""

    places: Codes  # of each coded column in the vector; the vector's length for an unknown category
    values: NDArray[np.float32]
    known: NDArray[np.bool_]  # of the values


@dataclass(frozen=True, slots=True, eq=False)
class DrawnRows:
    """Drawn rows, one column after the other: the numbers that the generator makes, and its choices."""

    numbers: Floats
    choices: Codes


@dataclass(frozen=True, slots=True, eq=False)
class Encoder:
    """Encodes rows for the networks and decodes what they make; learned from the training table."""

    layout: RowLayout
    modes: Modes
    continuous: tuple[str, ...]  # the columns that have modes, in order
    marks: Mapping[str, int]  # code of a missing rank, for ordinal columns that have one

    @classmethod
    def learn(cls, table: CodedTable, rule: Comparability, max_modes: int, spike_share: float, seed: int) -> Encoder:
        """Fit the modes and arrange the columns; columns that the rule does not allow to change are given."""
        modes = Modes.learn(table.continuous, max_modes, spike_share, seed)
        fixed = _fixed_columns(table, rule)
        marks = {
            name: int(codes.min())
            for name, codes in zip(table.names["ordinal"], table.ordinal.T, strict=True)
            if codes.min(initial=0) < 0
        }
        parts: list[tuple[str, SpanKind, int]] = []
        for name, n_modes in zip(table.names["continuous"], modes.n_modes.tolist(), strict=True):
            parts += [(name, "value", 1), (name, "mode", n_modes)]
        for kind in CODED:
            for name, codes in zip(table.names[kind], getattr(table, kind).T, strict=True):
                n_codes = max(len(table.categories.get(name, ())), int(codes.max(initial=-1)) + 1)
                parts.append((name, kind, n_codes + (name in marks)))
        made = [part for part in parts if part[0] not in fixed]
        layout = RowLayout.of_parts(made, [part for part in parts if part[0] in fixed])
        return cls(layout, modes, table.names["continuous"], marks)

    def encode(self, table: CodedTable) -> EncodedRows:
        """Return the position of each category, and the numbers."""
        known = self.modes.knows(table.continuous)
        coded = [column for kind in CODED for column in zip(table.names[kind], getattr(table, kind).T, strict=True)]
        places = np.empty((len(coded), len(table)), np.int32)
        for place, (name, codes) in zip(places, coded, strict=True):
            block = self.layout.find(name)
            n_codes = block.width - (name in self.marks)
            np.add(codes, block.start, out=place)
            if codes.min(initial=0) < 0 or codes.max(initial=-1) >= n_codes:
                place[(codes < 0) | (codes >= n_codes)] = self.layout.n_given
            if name in self.marks:
                place[codes == self.marks[name]] = block.start + n_codes
        return EncodedRows(places.T, np.where(known, table.continuous, 0.0).astype(np.float32), known)

    def sensitive_places(self, wanted: Codes, names: tuple[str, ...]) -> Places:
        """Return the positions of sensitive values among those of the sensitive columns."""
        first = self.layout.n_made - self.layout.n_sensitive
        starts = [self.layout.find(name).start - first for name in names]
        return wanted.astype(np.int64) + np.array(starts, np.int64)

    def decode(self, sources: CodedTable, rows: EncodedRows, drawn: DrawnRows) -> CodedTable:
        """Return generated rows; where the encoder does not know the source's value, it is kept."""
        changed: dict[str, Any] = {kind: getattr(sources, kind).copy(order="F") for kind in CODED}
        position_of = {block: position for position, block in enumerate(self.layout.choices)}
        coded = [(kind, position, name) for kind in CODED for position, name in enumerate(sources.names[kind])]
        for which, (kind, position, name) in enumerate(coded):
            block = self.layout.find(name)
            if block not in position_of:
                continue
            is_known = (rows.places[:, which] < self.layout.n_given) | (kind == "sensitive")
            codes = changed[kind][:, position]
            np.copyto(codes, drawn.choices[:, position_of[block]], where=is_known)
            if name in self.marks:
                codes[is_known & (codes == block.width - 1)] = self.marks[name]
        columns = self.made_numbers
        if len(columns) == len(self.continuous):
            changed["continuous"] = drawn.numbers
        else:
            changed["continuous"] = sources.continuous.copy(order="F")
            changed["continuous"][:, columns] = drawn.numbers
        return replace(sources, **changed)

    @property
    def made_numbers(self) -> NDArray[np.int64]:
        """Positions of the continuous columns that the generator makes."""
        made = [block.column for block in self.layout.choices if block.kind == "mode"]
        return np.array([self.continuous.index(name) for name in made], np.int64)


def _fixed_columns(table: CodedTable, rule: Comparability) -> set[str]:
    fixed = {*table.names["matched"], *rule.must_match}
    if rule.max_discrete_changes == 0:
        fixed |= {*table.names["discrete"]}
    fixed |= {name for name, limit in zip(table.names["ordinal"], rule.ordinal_limits(table), strict=True) if limit < 1}
    limits = zip(table.names["continuous"], rule.continuous_limits(table), strict=True)
    return fixed | {name for name, limit in limits if limit <= 2 * SHIFT_TOLERANCE}
