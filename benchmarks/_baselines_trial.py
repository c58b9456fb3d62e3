"""One of our baselines beside the plain network, in a process of its own; or the input that others are measured on.

``python _baselines_trial.py METHOD STEPS`` prints one line of JSON; STEPS are the steps of an attack, numbers with
commas. ``python _baselines_trial.py input FILE.npz`` writes people as the network sees them, with the projector of the
sensitive subspace.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from _clock import Record
from _training_clock import Yardstick
from likewise import Dataset, NetworkClassifier, load_dataset
from likewise.baselines import LCIFRClassifier, SenSeIClassifier, SensitiveSubspace, SenSRClassifier

# what all have in common, and inFairness with them
SHARED: Final[dict[str, Any]] = {
    **{"batch_size": 256, "optimizer": "sgd", "learning_rate": 0.1, "weight_decay": 1e-2},
    **{"device": "cpu", "random_state": 0},
}
WIDTH: Final = 64  # of both hidden layers
PLAIN_BETWEEN, ATTACKED_BETWEEN = (2, 22), (1, 6)  # steps between records, in a short and in a longer fit
ATTACK: Final[dict[str, Any]] = {"epsilon": 0.1, "hidden": (WIDTH, WIDTH)}
ENCODER: Final[dict[str, Any]] = {"hidden": (WIDTH,), "n_latent": WIDTH}

Settings = Callable[[int, int], dict[str, Any]]  # of the steps of an attack, and of those of the fit
METHODS: Final[dict[str, tuple[Any, Settings]]] = {
    "SenSR, two stages": (
        SenSRClassifier,
        lambda n, n_iterations: ATTACK | {"n_subspace_steps": n // 2, "n_full_steps": n // 2},
    ),
    "SenSR, single stage": (
        SenSRClassifier,
        lambda n, n_iterations: (
            ATTACK | {"variant": "single_stage", "n_full_steps": n, "full_step": 0.1, "start_noise": 0.1}
        ),
    ),
    "SenSeI": (
        SenSeIClassifier,
        lambda n, n_iterations: ATTACK | {"rho": 0.1, "n_steps": n, "step": 0.02, "start_noise": 0.1},
    ),
    "LCIFR, first phase": (
        LCIFRClassifier,
        lambda n, n_iterations: ENCODER | {"n_attack_steps": n, "n_consumer_iterations": 0},
    ),
    "LCIFR, second phase": (  # after one step of the first, which it cannot do without
        LCIFRClassifier,
        lambda n, n_iterations: ENCODER | {"n_iterations": 1, "n_consumer_iterations": n_iterations},
    ),
}


def main() -> None:
    torch.set_num_threads(1)
    data = load_dataset("adult")
    method, argument = sys.argv[1:]
    if method == "input":
        write_input(data, Path(argument))
        found: Record = {}
    elif method == "subspace":
        found = measure_subspace(data)
    else:
        found = measure_method(data, method, [int(n) for n in argument.split(",")])
    print(json.dumps(found))


def measure_method(data: Dataset, method: str, steps: list[int]) -> Record:
    """Give the cost of a step for each number of steps in an attack, and of a plain one."""

    def fit_plain(n_iterations: int, progress: Any) -> Any:
        settings = {"n_iterations": n_iterations, "progress": progress, **SHARED}
        model = NetworkClassifier((WIDTH, WIDTH), roles=data.roles, **settings)
        return model.fit(data.train.X, data.train.y)

    def fit_method(n: int, n_iterations: int, progress: Any) -> Any:
        make, settle = METHODS[method]
        settings = {"n_iterations": n_iterations, "progress": progress, **SHARED} | settle(n, n_iterations)
        return make(data.roles, **settings).fit(data.train.X, data.train.y)

    yardstick = Yardstick()
    plain = yardstick.step_of(fit_plain, *PLAIN_BETWEEN)
    costs = {n: yardstick.step_of(partial(fit_method, n), *ATTACKED_BETWEEN) for n in steps}
    shared = {"plain": plain, "yardstick_s": yardstick.undisturbed_s}
    return {str(n): {"step": cost} | shared for n, cost in costs.items()}


def measure_subspace(data: Dataset) -> Record:
    """Learn it from the frame, with how well the column can be told, which inFairness does not find out."""
    started = time.process_time()
    subspace = SensitiveSubspace(data.roles).fit(data.train.X)
    return {"fit_s": time.process_time() - started, "rank": subspace.rank_}


def write_input(data: Dataset, path: Path) -> None:
    subspace = SensitiveSubspace(data.roles).fit(data.train.X)
    np.savez(
        path,
        people=subspace.coding_.encode(data.train.X).dense(),
        labels=np.asarray(data.train.y, np.int64),
        projector=subspace.projector_,
        sensitive=np.concatenate([subspace.coding_.positions(name) for name in data.roles.sensitive]),
    )


if __name__ == "__main__":
    main()
