"""One antidote per row: set the sensitive values, change what no longer fits, judge the result."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from likewise.comparable._internal import SHIFT_TOLERANCE
from likewise.generation.gibbs._network import Conditionals


@dataclass(frozen=True, slots=True, eq=False)
class ObservedValues:
    """The distinct training values of each continuous column, ascending, and cumulative counts."""

    values: tuple[Any, ...]  # tensors, ascending
    ends: tuple[Any, ...]  # how many rows have this value or a lower one

    @classmethod
    def learn(cls, continuous: NDArray[np.float64], device: Any) -> ObservedValues:
        """Count the values of each column."""
        found = [np.unique(column, return_counts=True) for column in continuous.T]
        return cls.of([values for values, _ in found], [np.cumsum(counts) for _, counts in found], device)

    @classmethod
    def of(cls, values: Sequence[Any], ends: Sequence[Any], device: Any) -> ObservedValues:
        """Put arrays on a device."""
        return cls(
            tuple(torch.as_tensor(one, dtype=torch.float64, device=device) for one in values),
            tuple(torch.as_tensor(one, dtype=torch.int64, device=device) for one in ends),
        )

    def move(self, continuous: Any, limits: Sequence[float], share: float, random: Any) -> Any:
        """Replace a share of the values in each column by that of a random training row within the limit.

        Common values are drawn more often than rare ones, so that 0 stays 0 where nearly all values are 0.
        """
        moved = continuous.clone()
        for position, (values, ends) in enumerate(zip(self.values, self.ends, strict=True)):
            # the tolerance is for ties; half of it is left for later rounding
            limit = limits[position] - SHIFT_TOLERANCE / 2
            column = continuous[:, position].contiguous()
            starts = torch.cat([ends.new_zeros(1), ends])
            first = starts[torch.searchsorted(values, column - limit)]
            n_near = starts[torch.searchsorted(values, column + limit, right=True)] - first
            chance, pick = random.rand_twice(len(column))
            row = first + (pick * n_near).to(torch.int64).minimum(n_near - 1)
            drawn = values[torch.searchsorted(ends, row, right=True).clamp(0, len(values) - 1)]
            moved[:, position] = torch.where((chance < share) & (n_near > 0), drawn, column)
        return moved


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """What the rule and the parameters allow; columns are numbered as in the network."""

    may_change: tuple[int, ...]  # discrete columns
    max_changes: int
    ordinal: dict[int, float]  # how many ranks each ordinal column may move
    continuous: tuple[float, ...]  # how far each continuous column may move
    move_share: float
    vary_share: float
    change_below: float
    min_plausibility: float
    draw_targets: bool


@dataclass(frozen=True, slots=True, eq=False)
class Sampler:
    """Generates rows on the network's device."""

    network: Conditionals
    observed: ObservedValues
    bounds: Bounds

    def sample(self, codes: Any, continuous: Any, wanted: Any, random: Any) -> tuple[Any, Any, Any]:
        """Return codes and values of one row per source, and whether to keep it."""
        n_sensitive = wanted.shape[1]
        differs = codes[:, :n_sensitive] != wanted
        made = torch.cat([wanted, codes[:, n_sensitive:]], dim=1)
        moved = self.observed.move(continuous, self.bounds.continuous, self.bounds.move_share, random)
        self._move_ordinal(made, moved, random)
        changed = self._mend(codes, continuous, made, moved, random)
        self._vary(made, moved, changed, random)
        plausibility = self._judge(made, moved, differs, changed)
        floor: Any = self.bounds.min_plausibility
        if self.bounds.draw_targets:
            floor = random.rand(len(made)).clamp_min(floor)
        return made, moved, plausibility >= floor

    def _move_ordinal(self, made: Any, moved: Any, random: Any) -> None:
        """Draw ranks within the rule's limits from their conditionals."""
        for column, limit in self.bounds.ordinal.items():
            log_p = self.network.log_probabilities(self.network.begin(made, moved), made, column)
            own = made[:, column]
            distance = (torch.arange(log_p.shape[1], device=made.device) - own[:, None]).abs()
            drawn = _draw(log_p.masked_fill(distance > limit, -torch.inf), random)
            chance = random.rand(len(made))
            is_known = (own >= 0) & (own < log_p.shape[1])
            made[:, column] = torch.where(is_known & (chance < self.bounds.move_share), drawn, own)

    def _mend(self, codes: Any, continuous: Any, made: Any, moved: Any, random: Any) -> Any:
        """Change the discrete values that lost most of their probability, at most as many as the rule allows.

        The loss relative to the source decides: a value that was rare before stays.
        """
        changed = torch.zeros_like(made, dtype=torch.bool)
        columns = [column for column in self.bounds.may_change if self.network.inputs.sizes[column] > 1]
        n_changes = min(self.bounds.max_changes, len(columns))
        if not n_changes:
            return changed
        before = self._before(codes, continuous, columns, random.is_by_row)
        is_open = torch.ones(len(made), dtype=torch.bool, device=made.device)
        for _ in range(n_changes):
            loss, which, value = self._find_worst(made, moved, changed, columns, before, random)
            is_open = is_open & (loss < self._threshold)
            at = which[:, None]
            made.scatter_(1, at, torch.where(is_open, value, made.gather(1, at)[:, 0])[:, None])
            changed.scatter_(1, at, is_open[:, None] | changed.gather(1, at))
        return changed

    def _vary(self, made: Any, moved: Any, changed: Any, random: Any) -> None:
        """Draw a column again where the rule leaves room: comparable people differ in more than they have to."""
        columns = [column for column in self.bounds.may_change if self.network.inputs.sizes[column] > 1]
        if not self.bounds.vary_share or not self.bounds.max_changes or not columns:
            return
        chance = random.rand(len(made))
        is_open = (changed.sum(dim=1) < self.bounds.max_changes) & (chance < self.bounds.vary_share)
        which = random.below(len(columns), len(made))
        begun = self.network.begin(made, moved)
        for position, column in enumerate(columns):
            log_p = self.network.log_probabilities(begun, made, column)
            own = made[:, column]
            is_known = (own >= 0) & (own < log_p.shape[1])
            is_drawn = is_open & (which == position) & is_known & ~changed[:, column]
            made[:, column] = torch.where(is_drawn, _draw(log_p, random), own)
            changed[:, column] |= is_drawn

    @property
    def _threshold(self) -> float:
        return math.log(self.bounds.change_below) if self.bounds.change_below else -math.inf

    def _find_worst(
        self, made: Any, moved: Any, changed: Any, columns: list[int], before: Any, random: Any
    ) -> tuple[Any, Any, Any]:
        """Return for each row the column that lost most, and another value for it."""
        begun, threshold = self.network.begin(made, moved), self._threshold
        worst = torch.full((len(made),), torch.inf, device=made.device)
        which = torch.full((len(made),), columns[0], device=made.device)
        value = made[:, columns[0]].clone()
        for position, column in enumerate(columns):
            log_p = self.network.log_probabilities(begun, made, column)
            own = made[:, column]
            # a category that training did not have is unknown and stays
            is_fixed = (own < 0) | (own >= log_p.shape[1]) | changed[:, column]
            at = own.clamp(0, log_p.shape[1] - 1)[:, None]
            loss = (log_p.gather(1, at)[:, 0] - before[:, position]).masked_fill(is_fixed, torch.inf)
            is_worse = loss < worst
            worst = torch.where(is_worse, loss, worst)
            which = torch.where(is_worse, column, which)
            others = log_p.scatter(1, at, -torch.inf)
            # a network never predicts exactly 0: values far from the likeliest are excluded
            others = others.masked_fill(others < others.amax(dim=1, keepdim=True) + threshold, -torch.inf)
            value = torch.where(is_worse, _draw(others, random), value)
        return worst, which, value

    def _before(self, codes: Any, continuous: Any, columns: list[int], is_by_row: bool) -> Any:
        """Return log p(own value | rest) of the sources, computed once for equal neighbours."""
        is_new = torch.ones(len(codes), dtype=torch.bool, device=codes.device)
        if not is_by_row:  # by row, batches keep their size
            is_new[1:] = (codes[1:] != codes[:-1]).any(dim=1) | (continuous[1:] != continuous[:-1]).any(dim=1)
        codes, continuous = codes[is_new], continuous[is_new]
        begun = self.network.begin(codes, continuous)
        found = []
        for column in columns:
            log_p = self.network.log_probabilities(begun, codes, column)
            found.append(log_p.gather(1, codes[:, [column]].clamp(0, log_p.shape[1] - 1)))
        return torch.cat(found, dim=1)[is_new.cumsum(0) - 1]

    def _judge(self, made: Any, moved: Any, differs: Any, changed: Any) -> Any:
        """Return p(the new sensitive values, all together | what the row kept of its source).

        Mended values are ignored: they were drawn to fit, and would support any target.
        """
        log_p = torch.zeros(len(made), device=made.device, dtype=self.network.dtype)
        for column in range(differs.shape[1]):
            hidden = changed.clone()
            hidden[:, column + 1 : differs.shape[1]] = differs[:, column + 1 :]  # given the earlier ones only
            begun = self.network.begin(made, moved, hidden)
            one = self.network.log_probabilities(begun, made, column).gather(1, made[:, [column]])[:, 0]
            log_p += torch.where(differs[:, column], one, 0.0)
        return log_p.exp()


def _draw(log_p: Any, random: Any) -> Any:
    """Draw a value for each row."""
    chance = random.rand(*log_p.shape).clamp_min(1e-30)
    return (log_p - torch.log(-torch.log(chance))).argmax(dim=1)
