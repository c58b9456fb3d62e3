"""The numbers of some of the pairs: those that ``likewise.audit`` gives with the same rule, bit for bit."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise._json import plain
from likewise.auditing import Direction, measure_coverage
from likewise.auditing._internal import QUANTILES, ExactFacts, direction_from_sums
from likewise.explore._held import Held
from likewise.explore._tally import Part, Tally


def measure_slices(held: Held, tally: Tally, limit: float) -> list[dict[str, Any]]:
    """Sum up the gaps of all pairs, then of those of each label."""
    has_flips = held.flips is not None
    slices = [{"label": None, "is_positive": None, **_sum_up(tally.whole, limit, has_flips=has_flips)}]
    if held.scores.task == "regression":
        return slices
    for code, label in enumerate(held.pairs.left_table.classes.tolist()):
        is_positive = None if held.scores.positive is None else code == held.scores.positive
        measured = _sum_up(tally.by_label[code], limit, has_flips=has_flips)
        slices.append({"label": plain(label), "is_positive": is_positive, **measured})
    return slices


def measure_transitions(held: Held, tally: Tally, most: int) -> tuple[list[tuple[int, Direction]], int]:
    """Give the signed gaps of the transitions with the most pairs, by number, and say how many there are.

    As in an audit, each is told so that the target is lower on average.
    """
    if held.signed is None:
        return [], 0
    found, sums = [], np.column_stack([tally.sums, tally.reach])
    counts = count_signs(tally.signs[: len(held.names)])
    n_found = int(np.count_nonzero(counts[:, 0]))
    for number in np.argsort(-counts[:, 0], kind="stable")[: min(n_found, most)].tolist():
        origin, target = (held.combinations[place] for place in held.names[number])
        direction = direction_from_sums(
            origin, target, counts[number], sums[number], has_decisions=held.scores.decisions is not None
        )
        found.append((number, direction.reversed() if direction.mean_gap > 0 else direction))
    return found, n_found


def count_signs(signs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return pairs, lower, higher, flips to no and flips to yes of each transition, from its counts by sign."""
    by_sign = signs.reshape(-1, 3, 3)
    by_gap, by_decision = by_sign.sum(axis=2), by_sign.sum(axis=1)
    return np.column_stack([by_gap.sum(axis=1), by_gap[:, 0], by_gap[:, 2], by_decision[:, 0], by_decision[:, 2]])


def measure_partners(held: Held, tally: Tally) -> list[dict[str, Any]]:
    """Say who has a comparable partner: all people, by label, by sensitive value."""
    found = measure_coverage(tally.has_partner, held.pairs.left_table)
    return [plain(asdict(one)) for one in found]


def _sum_up(part: Part, limit: float, *, has_flips: bool) -> dict[str, Any]:
    if not len(part):
        return {"n": 0}
    facts = ExactFacts(part.gaps, part.rank_gaps, part.n_flips)
    quantiles = {name: facts.quantile("gap", share) for name, share in QUANTILES.items()}
    return {
        "n": len(part),
        "gap_mean": facts.mean("gap"),
        **{f"gap_{name}": value for name, value in quantiles.items()},
        "gap_max": facts.largest("gap"),
        "gap_share_above": facts.share_above(limit),
        "rank_gap_mean": facts.mean("rank_gap"),
        "flip_rate": facts.flip_rate() if has_flips else None,
    }
