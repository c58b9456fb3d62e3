"""How fast the ctgan package trains, in an environment that has it: ``python _ctgan.py TABLE.parquet BATCH STEPS``.

The same networks as ours: two layers of 256, one critic step for each generator step, rows not packed.
"""

from __future__ import annotations

import json
import sys
import time

import pandas as pd
import torch
from ctgan import CTGAN


def main(path: str, batch_size: int, n_steps: int) -> None:
    people = pd.read_parquet(path)
    discrete = [name for name in people if people[name].dtype.kind not in "fiu"]
    model = CTGAN(
        epochs=max(n_steps // max(len(people) // batch_size, 1), 2),
        batch_size=batch_size,
        generator_dim=(256, 256),
        discriminator_dim=(256, 256),
        discriminator_steps=1,
        pac=1,
        enable_gpu=False,
    )
    torch.set_num_threads(1)  # and processor time: the same on a busy machine
    ends: list[float] = []
    take_step = torch.optim.Adam.step

    def noting_the_time(self: torch.optim.Adam, *args: object, **options: object) -> object:
        result = take_step(self, *args, **options)
        ends.append(time.process_time())
        return result

    torch.optim.Adam.step = noting_the_time  # what is done once, such as fitting mixtures, is not in the rate
    model.fit(people, discrete)
    n_timed = len(ends) // 2 - 1  # critic and generator
    started = time.process_time()
    model.sample(20_000)
    sampling = time.process_time() - started
    rate = n_timed / (ends[-1] - ends[1])
    json.dump({"n_steps": n_timed, "steps_per_s": rate, "rows_per_s": 20_000 / sampling}, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
