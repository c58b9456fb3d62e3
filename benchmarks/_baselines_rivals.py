"""inFairness's SenSR, SenSeI and sensitive subspace, in an environment that has it; likewise is not needed there.

``python _baselines_rivals.py INPUT.npz METHOD STEPS`` prints one line of JSON; STEPS are numbers, with commas. The
training loop is plain torch, as short as it can be written: batches are cut out of a shuffled tensor, without the costs
of a loader.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np
import torch
from inFairness.distances import (  # type: ignore[import-untyped]  # it ships no types
    LogisticRegSensitiveSubspace,
    MahalanobisDistances,
    SquaredEuclideanDistance,
)
from inFairness.fairalgo import SenSeI, SenSR  # type: ignore[import-untyped]  # it ships no types
from torch import nn

from _training_clock import Yardstick

BATCH: Final = 256
N_PIECES: Final = 25  # of so many steps
PLAIN_STEPS, METHOD_STEPS = 20, 4

Step = Callable[[], None]


def main(path: Path, method: str, steps: list[int]) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    with np.load(path, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    people, labels = torch.from_numpy(arrays["people"]), torch.from_numpy(arrays["labels"])
    if method == "subspace":
        found = measure_subspace(people, arrays["sensitive"].tolist())
    else:
        found = {str(n): measure_steps(people, labels, arrays["projector"], method, n) for n in steps}
    print(json.dumps(found | {"versions": {name: version(name) for name in ("inFairness", "torch", "scikit-learn")}}))


def measure_subspace(people: torch.Tensor, sensitive: list[int]) -> dict[str, Any]:
    started = time.process_time()
    metric = LogisticRegSensitiveSubspace()
    metric.fit(people, protected_idxs=sensitive)
    return {"fit_s": time.process_time() - started, "rank": int(metric.basis_vectors_.shape[1])}


def measure_steps(people: torch.Tensor, labels: torch.Tensor, projector: Any, method: str, n_steps: int) -> Any:
    batches = Batches(people, labels)
    plain, attacked = make_network(people.shape[1]), make_network(people.shape[1])
    model = make_model(method, attacked, projector, n_steps).train()
    jobs = {
        "plain": (PLAIN_STEPS, make_step(plain, lambda: loss(plain(batches.take()), batches.labels))),
        "step": (METHOD_STEPS, make_step(attacked, lambda: model(batches.take(), batches.labels).loss)),
    }
    yardstick = Yardstick()
    costs = {}
    for name, (n, step) in jobs.items():

        def fit(n_pieces: int, note: Callable[[Any], None], n: int = n, step: Step = step) -> None:
            for _ in range(n_pieces):
                for _ in range(n):
                    step()
                note(None)

        costs[name] = median(yardstick.lay_along(fit, N_PIECES)[1:-1]) / n
    if not all(weights.isfinite().all() for weights in attacked.parameters()):
        raise SystemExit("the network diverged: not what anybody would want to time")
    return costs | {"yardstick_s": yardstick.undisturbed_s}


class Batches:
    """Go through all rows in a new order each time."""

    def __init__(self, people: torch.Tensor, labels: torch.Tensor) -> None:
        self._people, self._labels, self.labels = people, labels, labels
        self._waiting = torch.empty(0, dtype=torch.int64)

    def take(self) -> torch.Tensor:
        """Give the inputs of the next batch, and keep its labels."""
        if len(self._waiting) < BATCH:
            self._waiting = torch.randperm(len(self._people))
        rows, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]
        self.labels = self._labels[rows]
        return self._people[rows]


def make_network(n_inputs: int) -> nn.Module:
    return nn.Sequential(nn.Linear(n_inputs, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))


def make_model(method: str, network: nn.Module, projector: Any, n_steps: int) -> nn.Module:
    inputs = MahalanobisDistances()
    inputs.fit(torch.tensor(projector, dtype=torch.float32))
    if method == "SenSR":
        return SenSR(network, inputs, loss, 0.1, 1.0, 1.0, n_steps, 0.1)
    outputs = SquaredEuclideanDistance()
    outputs.fit(num_dims=1)
    return SenSeI(network, inputs, outputs, loss, 0.1, 0.1, n_steps, 0.02)  # ours diverges at rho 5, steps of 0.1


def make_step(network: nn.Module, cost: Callable[[], torch.Tensor]) -> Step:
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1, weight_decay=1e-2, fused=True)

    def step() -> None:
        total = cost()
        optimizer.zero_grad()
        total.backward()
        optimizer.step()

    return step


def loss(outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return nn.functional.binary_cross_entropy_with_logits(outputs[:, 0], labels.to(outputs.dtype))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], [int(n) for n in sys.argv[3].split(",")])
