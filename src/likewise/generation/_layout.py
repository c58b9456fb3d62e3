"""Where each column stands in the vectors that the networks see."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

BlockKind = Literal["value", "mode", "discrete", "ordinal", "sensitive", "matched"]


@dataclass(frozen=True, slots=True)
class Block:
    """Say which places of a vector one column has: a number, or a one in one of several places."""

    column: str
    kind: BlockKind
    start: int
    width: int


@dataclass(frozen=True, slots=True)
class Layout:
    """Order the places of a vector: what the generator makes first (numbers, then one-hots), what it copies last."""

    blocks: tuple[Block, ...]
    n_made: int  # places from here on are given to the networks, and copied from the source

    @classmethod
    def of_parts(
        cls, made: Iterable[tuple[str, BlockKind, int]], given: Iterable[tuple[str, BlockKind, int]]
    ) -> Layout:
        """Put parts (column, kind, width) one after the other; numbers come first, sensitive columns last."""
        order = {"value": 0, "mode": 1, "sensitive": 3}
        blocks: list[Block] = []
        start = n_made = 0
        for is_made, parts in ((True, made), (False, given)):
            for column, kind, width in sorted(parts, key=lambda part: order.get(part[1], 2)):
                blocks.append(Block(column, kind, start, width))
                start += width
            n_made = start if is_made else n_made
        return cls(tuple(blocks), n_made)

    @property
    def n_given(self) -> int:
        """The length of a whole vector."""
        return sum(block.width for block in self.blocks)

    @property
    def n_values(self) -> int:
        """How many numbers the generator makes: they stand first."""
        return sum(block.kind == "value" for block in self.made)

    @property
    def made(self) -> tuple[Block, ...]:
        """What the generator makes."""
        return tuple(block for block in self.blocks if block.start < self.n_made)

    @property
    def choices(self) -> tuple[Block, ...]:
        """Where the generator makes a one-hot: everything it makes but the numbers."""
        return self.made[self.n_values :]

    @property
    def n_sensitive(self) -> int:
        """How many places the sensitive columns have: the last of what is made."""
        return sum(block.width for block in self.made if block.kind == "sensitive")

    @property
    def segments(self) -> NDArray[np.int64]:
        """For each place after the numbers, to which choice it belongs."""
        return np.repeat(np.arange(len(self.choices)), [block.width for block in self.choices])

    @property
    def steps(self) -> NDArray[np.int64]:
        """For each place after the numbers, the how manieth of its choice it is."""
        return np.concatenate([np.arange(block.width) for block in self.choices])

    def find(self, column: str, *, is_value: bool = False) -> Block:
        """Find the number of a column, or its one-hot."""
        return next(block for block in self.blocks if block.column == column and (block.kind == "value") == is_value)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; it is JSON."""
        blocks = [[block.column, block.kind, block.start, block.width] for block in self.blocks]
        return {"blocks": blocks, "n_made": self.n_made}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Layout:
        """Undo :meth:`to_dict`."""
        return cls(tuple(Block(*block) for block in data["blocks"]), data["n_made"])
