"""The numbers of some of the pairs: those that ``likewise.audit`` gives with the same rule, bit for bit."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

import numpy as np

from likewise._json import plain
from likewise.auditing import Direction, describe_gaps, measure_coverage
from likewise.explore._held import Held
from likewise.explore._tally import Part, Tally

NO_MEAN: Final = 1e-9  # of the mean gap, this share is rounding: gaps that cancel out have no direction


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
    by_sign = tally.signs[: len(held.names)].reshape(-1, 3, 3)
    sizes = by_sign.sum(axis=(1, 2))
    sums, reach = tally.sums[: len(held.names)], tally.reach[: len(held.names)]
    means = np.where(np.abs(sums) > NO_MEAN * reach, sums, 0.0) / np.maximum(sizes, 1)
    has_decisions = held.scores.decisions is not None
    found = []
    n_found = int(np.count_nonzero(sizes))
    for number in np.argsort(-sizes, kind="stable")[: min(n_found, most)].tolist():
        n_lower, n_equal, n_higher = by_sign[number].sum(axis=1).tolist()
        n_down, _, n_up = by_sign[number].sum(axis=0).tolist()
        origin, target = (held.combinations[place] for place in held.names[number])
        direction = Direction(
            origin=origin,
            target=target,
            n_pairs=int(sizes[number]),
            n_lower=n_lower,
            n_higher=n_higher,
            n_equal=n_equal,
            n_flips_down=n_down if has_decisions else None,
            n_flips_up=n_up if has_decisions else None,
            mean_gap=float(means[number]),
        )
        found.append((number, direction.reversed() if direction.mean_gap > 0 else direction))
    return found, n_found


def measure_partners(held: Held, tally: Tally) -> list[dict[str, Any]]:
    """Say who has a comparable partner: all people, by label, by sensitive value."""
    found = measure_coverage(tally.has_partner, held.pairs.left_table)
    return [plain(asdict(one)) for one in found]


def _sum_up(part: Part, limit: float, *, has_flips: bool) -> dict[str, Any]:
    if not len(part):
        return {"n": 0}
    found = dict(describe_gaps(part.gaps, limit=limit))
    found["mean"] = float(part.gaps.mean())  # in the order of the pairs, as an audit does
    return {
        "n": len(part),
        **{f"gap_{name}": value for name, value in found.items()},
        "rank_gap_mean": float(part.rank_gaps.mean()),
        "flip_rate": part.n_flips / len(part) if has_flips else None,
    }
