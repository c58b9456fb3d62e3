"""Which sensitive values to ask for: all that occur and that the rule calls different from a row's own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from likewise._parameters import parameter
from likewise.comparable import Comparability
from likewise.exceptions import GenerationError
from likewise.schema import CodedTable

Codes = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """Hold the combinations of sensitive values that occurred in training."""

    combinations: Codes  # shape (n_combinations, n_sensitive), in ascending order
    counts: NDArray[np.int64]  # how often each occurred

    def ask(self, sources: CodedTable, rule: Comparability) -> tuple[NDArray[np.int64], Codes]:
        """Pair each row with every combination it may become; rows ascend, and so do the combinations of each."""
        own = sources.sensitive
        differing = (own[:, None, :] != self.combinations[None, :, :]).sum(axis=2)
        wanted = differing >= (own.shape[1] if rule.sensitive_differs == "all" else 1)
        rows, which = np.nonzero(wanted)
        return rows, self.combinations[which]


def learn_targets(table: CodedTable, rule: Comparability) -> Targets:
    """Find the combinations that occur, or say why there is nothing to ask for."""
    if rule.sensitive_differs == "none":
        raise GenerationError(
            "An antidote differs in a sensitive column, but this rule wants none to differ. "
            f"Use {parameter('sensitive_differs', 'any')} or 'all'."
        )
    if not table.sensitive.shape[1]:
        raise GenerationError("There is no sensitive column to change. Name one in the roles.")
    combinations, counts = np.unique(table.sensitive, axis=0, return_counts=True)
    for position, name in enumerate(table.names["sensitive"]):
        values = np.unique(combinations[:, position])
        must_differ = rule.sensitive_differs == "all" or len(table.names["sensitive"]) == 1
        if len(values) == 1 and must_differ:
            known = table.categories.get(name)
            value = values[0].item() if known is None else known[values[0]]
            shown = "missing" if value is None else repr(value)
            raise GenerationError(
                f"Column '{name}' has one value only, {shown}, so there is no other to give an antidote. "
                "Train on people of several values, or name another sensitive column."
            )
    if len(combinations) == 1:
        raise GenerationError(
            "All people have the same sensitive values, so there are no others to give an antidote. "
            "Train on people of several values."
        )
    if rule.sensitive_differs == "all" and not any((one != combinations).all(axis=1).any() for one in combinations):
        names = ", ".join(f"'{name}'" for name in table.names["sensitive"])
        raise GenerationError(
            f"No two people differ in all of {names}, so there are no values to give an antidote. "
            f"Use {parameter('sensitive_differs', 'any')}, or fewer sensitive columns."
        )
    return Targets(combinations.astype(np.int32), counts)
