"""Which rows are similar to a row, in terms of what a network sees."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from likewise.baselines._sensitive import group_rows
from likewise.baselines._subspace import SensitiveGroup
from likewise.comparable import Comparability
from likewise.nets import InputCoding, Inputs
from likewise.schema import CodedTable, Roles

STEPS_ACROSS: Final = 6.0  # steps from a row to the end of its box, as in the original: 0.3 in steps of 0.05


@dataclass(frozen=True, slots=True, eq=False)
class SensitiveColumn:
    """Hold what a sensitive column may become.

    Parameters
    ----------
    places : array of int
        Its inputs.
    choices : array of float, shape (n_choices, n_places)
        All they may be together.
    is_number : bool
        Whether it is a number, maybe with an indicator that it is missing, rather than indicators of categories.
    """

    places: NDArray[np.intp]
    choices: NDArray[np.float32]
    is_number: bool

    def __post_init__(self) -> None:
        if self.choices.ndim != 2 or self.choices.shape[1] != len(self.places):
            raise ValueError(f"choices have the shape {self.choices.shape}; give {len(self.places)} numbers for each.")


class SimilarRows:
    """Hold all that similar rows may differ in: the sensitive columns at will, continuous ones within a box.

    Parameters
    ----------
    sensitive : sequence of SensitiveColumn
    reach, step : array of float, shape (n_inputs,)
        How far each input may move, and how far in one step of an attack.
    absences : array of int, shape (n, 2)
        Inputs that are numbers, and the indicators that say that they are missing: these numbers do not move.
    device : torch.device
    """

    def __init__(
        self,
        sensitive: Sequence[SensitiveColumn],
        reach: NDArray[np.float64],
        step: NDArray[np.float64],
        absences: NDArray[np.intp],
        device: torch.device,
    ) -> None:
        places = [column.places for column in sensitive] or [np.empty(0, np.intp)]
        self.places = torch.as_tensor(np.concatenate(places)).to(device)
        self.indicators = [torch.as_tensor(one.places).to(device) for one in sensitive if not one.is_number]
        self.n_combinations = math.prod(len(column.choices) for column in sensitive)
        self.step = torch.as_tensor(step, dtype=torch.float32).to(device)
        self.has_box = bool((reach > 0).any())
        self._choices = [torch.as_tensor(column.choices).to(device) for column in sensitive]
        self._reach = torch.as_tensor(reach, dtype=torch.float32).to(device)
        self._absences = torch.as_tensor(absences).to(device)

    def reach_of(self, inputs: torch.Tensor, more: float = 0.0) -> torch.Tensor:
        """Tell how far each input of each row may move, and ``more`` for those that may move at all."""
        reach = (self._reach + more * (self._reach > 0)).expand_as(inputs)
        if len(self._absences):
            numbers, indicators = self._absences.T
            reach = reach.clone()
            reach[:, numbers] *= 1 - inputs[:, indicators]
        return reach

    def combinations(self, most: int, generator: torch.Generator) -> torch.Tensor:
        """Give every combination of what the sensitive columns may be, or so many at random if there are more."""
        if self.n_combinations > most:
            return self.draw(most, generator)
        grids = torch.meshgrid([torch.arange(len(one)) for one in self._choices], indexing="ij")
        return self._pick([grid.reshape(-1) for grid in grids])

    def draw(self, n: int, generator: torch.Generator) -> torch.Tensor:
        """Draw combinations at random."""
        device = generator.device
        return self._pick([torch.randint(len(one), (n,), generator=generator, device=device) for one in self._choices])

    def put(self, inputs: torch.Tensor, combinations: torch.Tensor) -> torch.Tensor:
        """Write combinations over the sensitive inputs of rows, one each."""
        changed = inputs.clone()
        changed[..., self.places] = combinations
        return changed

    def _pick(self, codes: list[torch.Tensor]) -> torch.Tensor:
        return torch.cat([one[picked.to(one.device)] for one, picked in zip(self._choices, codes, strict=True)], dim=1)


def learn_similar_rows(
    frame: Any,
    coding: InputCoding,
    roles: Roles,
    rule: Comparability,
    attack_step: float | None,
    device: torch.device,
) -> SimilarRows:
    """Learn from the training frame what similar rows may differ in.

    The limits are shares of the training range, whatever the scaling of the inputs.
    """
    reach, step = np.zeros(len(coding.names)), np.zeros(len(coding.names))
    absences = []
    nobody = _table_of_nobody(roles)
    rule.check(nobody)
    for name, limit in zip(roles.continuous, rule.continuous_limits(nobody), strict=True):
        place, *missing = coding.positions(name)
        reach[place] = limit / coding.scale[place]
        step[place] = reach[place] / STEPS_ACROSS if attack_step is None else attack_step / coding.scale[place]
        absences += [(place, one) for one in missing]
    groups, inputs = group_rows(frame, roles, coding), coding.encode(frame)
    sensitive = [_learn_choices(group, inputs, group.name in roles.bins) for group in groups]
    return SimilarRows(sensitive, reach, step, np.array(absences, np.intp).reshape(-1, 2), device)


def _table_of_nobody(roles: Roles) -> CodedTable:
    """Give a table that has the columns and no rows, of which a rule can say whether it fits."""
    names = {kind: roles.names(kind) for kind in ("sensitive", "discrete", "continuous", "ordinal", "matched")}
    columns: dict[str, Any] = {kind: np.empty((0, len(called))) for kind, called in names.items()}
    return CodedTable(**columns, names=names)


def _learn_choices(group: SensitiveGroup, inputs: Inputs, is_binned: bool) -> SensitiveColumn:
    places, codes = group.positions, group.codes
    if not is_binned:
        return SensitiveColumn(places, np.eye(len(places), dtype=np.float32), False)
    # a number to the network, groups to the user: somebody in the group stands for it, who has its median or no number
    order = np.argsort(inputs.numbers[:, places[0]], kind="stable")
    members = [order[codes[order] == code] for code in np.unique(codes)]
    typical = [rows[(len(rows) - 1) // 2] for rows in members]
    return SensitiveColumn(places, inputs[typical].dense()[:, places], True)
