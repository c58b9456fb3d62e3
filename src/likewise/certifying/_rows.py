"""The rows with the highest and with the lowest score among everybody comparable, as codes and numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise.certifying._neighbourhood import Codes, Neighbourhood, Numbers


@dataclass(frozen=True, slots=True, eq=False)
class ExtremeRows:
    """One row per direction and person: by column name, arrays of two rows."""

    around: Neighbourhood
    codes: dict[str, Codes]
    numbers: dict[str, Numbers]
    is_possible: Any  # (2, n): whether anybody comparable is possible at all
    bound: Numbers | None = None

    @classmethod
    def start(cls, around: Neighbourhood) -> ExtremeRows:
        """Begin with everybody as they are."""
        codes = {column.name: np.stack([column.own, column.own]) for column in around.coded}
        numbers = {column.name: np.stack([column.own, column.own]) for column in around.numbers}
        return cls(around, codes, numbers, np.ones((2, len(around)), np.bool_))

    def frame(self, direction: int, people: Codes) -> Any:
        """Return the rows of one direction as a frame of the user's library."""
        codes = {name: one[direction][people] for name, one in self.codes.items()}
        numbers = {name: one[direction][people] for name, one in self.numbers.items()}
        return self.around.rows(people, codes, numbers)

    def merged(self, directions: Codes, has_row: Any) -> Any:
        """Return one row per person: of the given direction, or the person's own without a comparable one."""
        people = np.arange(len(self.around))
        codes = {name: one[directions, people] for name, one in self.codes.items()}
        numbers = {name: one[directions, people] for name, one in self.numbers.items()}
        own_codes, own_numbers = (
            {one.name: one.own for one in part} for part in (self.around.coded, self.around.numbers)
        )
        return self.around.rows(
            people,
            {name: np.where(has_row, one, own_codes[name]) for name, one in codes.items()},
            {name: np.where(has_row, one, own_numbers[name]) for name, one in numbers.items()},
        )

    def settle_unseen(self, names: list[str], direction: int) -> None:
        """Let sensitive columns that do not touch the score differ, as far as the rule asks for it."""
        asked = self.around.rule.sensitive_differs
        sensitive = [column for column in self.around.coded if column.kind == "sensitive"]
        same = np.all([self.codes[one.name][direction] == one.own for one in sensitive], axis=0) if sensitive else None
        for column in sensitive:
            if column.name not in names or asked == "none" or same is None:
                continue
            if column.n_codes < 2:
                self.is_possible[direction] &= asked != "all"
                continue
            other = (column.own + 1) % column.n_codes
            if asked == "all":
                self.codes[column.name][direction] = other
            else:
                self.codes[column.name][direction] = np.where(same, other, column.own)
                same = np.zeros_like(same)
