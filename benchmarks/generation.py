"""Measure how fast the adversarial generator learns and makes rows, on a processor or on a GPU.

Run it from the environment that ``make test`` makes, and once more on a machine with a GPU::

    python benchmarks/generation.py                   # what this machine has: a minute
    python benchmarks/generation.py --report          # only write the page anew

On a processor: one thread, processor seconds, so that other work on the machine matters little. On a GPU: by the clock.
How good the rows are is measured by the leaderboard of ``paper/``.
"""

from __future__ import annotations

import time
from statistics import median
from typing import Any, Final

import torch

from _harness import Record, answer, head, markdown
from likewise import AdversarialGenerator, load_dataset

BATCH: Final = 4096
STEPS: Final = {"cpu": 24, "cuda": 3000}
WORDS: Final = """*Raw rows* are made before those that are not comparable to their source, or there already, are left
out; *kept* is the share that stays. Adult is its training split, 30,162 rows, each asked for with the six other
marital statuses.

## Speed on Adult, batches of 4096 pairs, two layers of 256

On a processor: one thread, processor seconds. On a GPU: by the clock. The evaluation of each record (2,000 rows) is
in the processor's figure. Raw rows a second: encoding, Post and the user's frame included, the median of five calls.
"""


def measure(device: str) -> Record:
    """Give steps a second, after the first record: what is done once, such as mixtures or a graph, is not in it."""
    if device == "cpu":
        torch.set_num_threads(1)
    clock = time.process_time if device == "cpu" else time.perf_counter
    data, ends = load_dataset("adult"), []
    settings: dict[str, Any] = {
        "n_iterations": STEPS[device],
        "evaluate_every": STEPS[device] // 2,
        "batch_size": BATCH,
    }
    generator = AdversarialGenerator(
        data.roles, data.rule, **settings, device=device, random_state=0, progress=lambda _: ends.append(clock())
    ).fit(data.train.X, data.train.y)
    n_timed = generator.n_iterations_ - generator.history_[0]["iteration"]
    rates = []
    for _ in range(5):
        started = clock()
        antidotes = generator.generate(data.train.X, data.train.y)
        rates.append(antidotes.n_raw / (clock() - started))
    found = {"steps_per_s": n_timed / (ends[-1] - ends[0]), "raw_rows_per_s": median(rates)}
    return {**found, "kept": antidotes.kept, "wall_s": ends[-1] - ends[0]}


def write_page(figures: Record) -> str:
    """Write the table."""
    rows = [
        [
            name,
            one.get("machine", figures["machine"]),
            f"{one['steps_per_s']:,.2f}",
            f"{1000 / one['steps_per_s']:.2f}",
            f"{one['raw_rows_per_s']:,.0f}",
        ]
        for name, one in figures["cells"].items()
    ]
    heads = ["device", "machine", "steps a second", "ms a step", "raw rows a second"]
    return head("Generating antidotes: speed", "generation", figures, WORDS) + "\n" + markdown(heads, rows)


if __name__ == "__main__":
    device = "cuda" if torch.cuda.is_available() else "cpu"
    answer("generation", __doc__, {device: [device]}, measure, write_page)
