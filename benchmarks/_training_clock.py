"""Fits measured by a yardstick, and jobs measured in turn; needs nothing but Python, torch and _clock.

On a shared machine the same steps take twice as long in one second as in another. So a fixed piece of plain training is
timed again and again between the pieces of a fit, and costs are told in that.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise
from statistics import median, quantiles
from typing import Any, Final

import torch
from torch import nn

from _clock import Record, measure

LIMIT: Final = 600  # of the processor's seconds, for one call
N_RECORDS: Final = 50  # a fit looks at its scores so many times, however many steps it takes

Fit = Callable[[int, Callable[[Any], None]], Any]  # takes the number of steps, and what to call at each record


class Yardstick:
    """Take ten plain steps of a network such as all of these have, and tell how long that took."""

    def __init__(self) -> None:
        widths = (103, 64, 64, 1)
        layers = [layer for pair in pairwise(widths) for layer in (nn.Linear(*pair), nn.ReLU())]
        self._network = nn.Sequential(*layers[:-1])
        self._inputs, self._labels = torch.rand(256, widths[0]), torch.ones(256)
        self._optimizer = torch.optim.SGD(self._network.parameters(), lr=1e-3, fused=True)
        self._lengths: list[float] = []
        for _ in range(5):
            self.apply()
        self._lengths.clear()

    def apply(self) -> float:
        """Give its length now, in the processor's seconds."""
        started = time.process_time()
        for _ in range(10):
            outputs = self._network(self._inputs)
            loss = nn.functional.binary_cross_entropy_with_logits(outputs[:, 0], self._labels)
            self._optimizer.zero_grad()
            loss.backward()
            self._optimizer.step()
        self._lengths.append(time.process_time() - started)
        return self._lengths[-1]

    @property
    def undisturbed_s(self) -> float:
        """Its length when nothing disturbs it: the first decile of all."""
        return quantiles(self._lengths, n=10, method="inclusive")[0]

    def lay_along(self, fit: Fit, n_iterations: int) -> list[float]:
        """Fit, and tell how many yardsticks went by until each record, and after the last one."""
        pieces, lengths = [], [self.apply()]
        started = time.process_time()

        def note(_: Any) -> None:
            nonlocal started
            pieces.append(time.process_time() - started)
            lengths.append(self.apply())
            started = time.process_time()

        fit(n_iterations, note)
        note(None)
        around = [(before + after) / 2 for before, after in pairwise(lengths)]
        return [piece / length for piece, length in zip(pieces, around, strict=True)]

    def step_of(self, fit: Fit, few: int, many: int) -> float:
        """Give the cost of one step, without all that is done once a fit or once a record.

        Between two records there are so many steps and one look at the scores. A short fit has few steps between
        records and a longer one has many; what both take differs by steps alone.
        """
        short, long = (median(self.lay_along(fit, N_RECORDS * every)[1:-1]) for every in (few, many))
        return (long - short) / (many - few)


def measure_fit(fit: Fit, n_iterations: int, yardstick: Yardstick) -> Record:
    """Give the cost of a whole fit, and its memory."""
    pieces, record = measure(
        lambda: yardstick.lay_along(fit, n_iterations), started=time.time(), limit=LIMIT, n_calls=1
    )
    return {"cost": sum(pieces), "peak_mb": record["peak_mb"]}


def measure_in_turn(jobs: dict[str, Callable[[], Any]], n_rounds: int) -> dict[str, Record]:
    """Call all jobs, and all of them again; give the fewest seconds of each, and the memory of its last call."""
    calls: dict[str, list[Record]] = {name: [] for name in jobs}
    for _ in range(n_rounds):
        for name, job in jobs.items():
            calls[name].append(measure(job, started=time.time(), limit=LIMIT, n_calls=1)[1])
    return {
        name: {"cpu_s": min(one["cpu_s"] for one in ones), "peak_mb": ones[-1]["peak_mb"], "calls": len(ones)}
        for name, ones in calls.items()
    }
