"""What the audit should reach, and whether it did; two bounds a figure, as for the mining of pairs."""

from __future__ import annotations

from typing import Final

from _audit_trial import BARE, COMPLETE, NAIVE, NAIVE_BARE, SAME_PAIRS
from _targets import Tables, Target, figure, times_faster

MILLIONS: Final = {"dutch": "Part of Dutch", "adult_scaled": "Adult scaled up"}


def _list_targets(case: str, title: str) -> list[Target]:
    """State the targets for one case of a million pairs."""

    def intervals_cost(tables: Tables) -> float | None:
        return times_faster(tables, case, SAME_PAIRS, BARE)

    return [
        Target(
            f"{title}: complete audit with intervals, CPU seconds",
            lambda tables: figure(tables, case, COMPLETE),
            20,
            10,
            "s",
            more_is_better=False,
        ),
        Target(
            f"{title}: complete audit, memory above the input",
            lambda tables: figure(tables, case, COMPLETE, "peak_mb"),
            1000,
            500,
            "MB",
            more_is_better=False,
        ),
        Target(
            f"{title}: what 1,000 replicates add, times the audit without",
            intervals_cost,
            4,
            2,
            "x",
            more_is_better=False,
        ),
        Target(
            f"{title}: bootstrap by hand against the complete audit",
            lambda tables: times_faster(tables, case, NAIVE, COMPLETE),
            1,
            5,
            "x",
        ),
        Target(
            f"{title}: bootstrap by hand against the audit of the same pairs",
            lambda tables: times_faster(tables, case, NAIVE, SAME_PAIRS),
            2,
            10,
            "x",
        ),
        Target(
            f"{title}: four numbers by hand against the audit, neither with intervals",
            lambda tables: times_faster(tables, case, NAIVE_BARE, BARE),
            1,
            1,
            "x",
        ),
    ]


TARGETS: Final = [target for case, title in MILLIONS.items() for target in _list_targets(case, title)]
