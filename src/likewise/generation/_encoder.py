"""From coded rows to what the networks take, and from what they make back to coded rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.comparable import Comparability
from likewise.comparable._internal import SHIFT_TOLERANCE
from likewise.generation._layout import BlockKind, Layout
from likewise.generation._modes import SCALES_A_SIDE, Modes
from likewise.schema import CodedTable

CODED: Final[tuple[BlockKind, ...]] = ("sensitive", "discrete", "ordinal", "matched")

Codes = NDArray[np.int32]
Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Hold rows for the networks: where their one-hots are, their numbers, and which of both mean anything."""

    places: Places  # of each coded column, in the vector; the vector's length for a category not known
    values: NDArray[np.float32]
    known: NDArray[np.bool_]  # of the values


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Hold what was drawn for rows: the mode of each of their numbers, then the numbers and choices made of them."""

    modes: Places
    numbers: NDArray[np.floating[Any]]
    choices: Places


@dataclass(frozen=True, slots=True, eq=False)
class Encoder:
    """Code rows for the networks, and decode what they make; learned from the training table."""

    layout: Layout
    modes: Modes
    continuous: tuple[str, ...]  # the columns that have modes, in order
    marks: Mapping[str, int]  # how a missing rank is written, in ordinal columns that have one

    @classmethod
    def learn(cls, table: CodedTable, rule: Comparability, max_modes: int, spike_share: float, seed: int) -> Encoder:
        """Fit the modes, count the categories, and lay the columns out; those the rule lets not change are given."""
        modes = Modes.learn(table.continuous, max_modes, spike_share, seed)
        fixed = _fixed_columns(table, rule)
        marks = {
            name: int(codes.min())
            for name, codes in zip(table.names["ordinal"], table.ordinal.T, strict=True)
            if codes.min(initial=0) < 0
        }
        parts: list[tuple[str, BlockKind, int]] = []
        for name, n_modes in zip(table.names["continuous"], modes.n_modes.tolist(), strict=True):
            parts += [(name, "value", 1), (name, "mode", n_modes)]
        for kind in CODED:
            for name, codes in zip(table.names[kind], getattr(table, kind).T, strict=True):
                n_codes = max(len(table.categories.get(name, ())), int(codes.max(initial=-1)) + 1)
                parts.append((name, kind, n_codes + (name in marks)))
        made = [part for part in parts if part[0] not in fixed]
        layout = Layout.of_parts(made, [part for part in parts if part[0] in fixed])
        return cls(layout, modes, table.names["continuous"], marks)

    def encode(self, table: CodedTable) -> Rows:
        """Find the place of each category, and the numbers."""
        known = self.modes.knows(table.continuous)
        places = []
        for kind in CODED:
            for name, codes in zip(table.names[kind], getattr(table, kind).T, strict=True):
                block = self.layout.find(name)
                n_codes = block.width - (name in self.marks)
                place = np.where((codes >= 0) & (codes < n_codes), block.start + codes.astype(np.int64), -1)
                if name in self.marks:
                    place[codes == self.marks[name]] = block.start + n_codes
                places.append(np.where(place < 0, self.layout.n_given, place))
        stacked = np.stack(places, axis=1) if places else np.empty((len(table), 0), np.int64)
        return Rows(stacked, np.where(known, table.continuous, 0.0).astype(np.float32), known)

    def sensitive_places(self, wanted: Codes, names: tuple[str, ...]) -> Places:
        """Find the places of sensitive values among those of the sensitive columns alone."""
        first = self.layout.n_made - self.layout.n_sensitive
        starts = [self.layout.find(name).start - first for name in names]
        return wanted.astype(np.int64) + np.array(starts, np.int64)

    def decode(self, sources: CodedTable, rows: Rows, drawn: Drawn) -> CodedTable:
        """Make rows of the sources: what was made where the encoder knows the source's value, else the source's."""
        changed: dict[str, Any] = {kind: getattr(sources, kind).copy(order="F") for kind in ("continuous", *CODED)}
        position_of = {block: position for position, block in enumerate(self.layout.choices)}
        coded = [(kind, position, name) for kind in CODED for position, name in enumerate(sources.names[kind])]
        for which, (kind, position, name) in enumerate(coded):
            block = self.layout.find(name)
            if block not in position_of:
                continue
            codes = drawn.choices[:, position_of[block]].astype(np.int32)
            if name in self.marks:
                codes[codes == block.width - 1] = self.marks[name]
            is_known = (rows.places[:, which] < self.layout.n_given) | (kind == "sensitive")
            changed[kind][:, position] = np.where(is_known, codes, changed[kind][:, position])
        changed["continuous"] = self._decode_numbers(sources, rows, drawn)
        return replace(sources, **changed)

    def _decode_numbers(self, sources: CodedTable, rows: Rows, drawn: Drawn) -> NDArray[np.float64]:
        made = [block.column for block in self.layout.choices if block.kind == "mode"]
        columns = np.array([self.continuous.index(name) for name in made], np.int64)
        result = sources.continuous.copy(order="F")
        if not len(columns):
            return result
        own, old = result[:, columns], drawn.modes[:, columns]
        new = drawn.choices[:, : len(columns)]  # modes are the first choices
        restored = self.modes.restore(drawn.numbers.astype(np.float64), new, columns)
        # a number beyond its mode's reach has lost how far: what stays in the mode moves from where it was
        where = columns * self.modes.means.shape[1] + old
        offset = own - self.modes.means.take(where)
        beyond = np.abs(offset) > SCALES_A_SIDE * self.modes.scales.take(where)
        beyond &= (new == old) & ~self.modes.spikes.take(where)
        if beyond.any():
            moved = own + restored - self.modes.restore(np.sign(offset), old, columns)
            restored = np.where(beyond, moved, restored)
        result[:, columns] = np.where(rows.known[:, columns], restored, own)
        return result


def _fixed_columns(table: CodedTable, rule: Comparability) -> set[str]:
    fixed = {*table.names["matched"], *rule.must_match}
    if rule.max_discrete_changes == 0:
        fixed |= {*table.names["discrete"]}
    fixed |= {name for name, limit in zip(table.names["ordinal"], rule.ordinal_limits(table), strict=True) if limit < 1}
    limits = zip(table.names["continuous"], rule.continuous_limits(table), strict=True)
    return fixed | {name for name, limit in limits if limit <= 2 * SHIFT_TOLERANCE}
