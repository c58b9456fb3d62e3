"""Rows that the adversarial networks make, many at a time."""

from __future__ import annotations

import copy
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from likewise._random import Keys
from likewise.generation._encoder import Drawn, Rows
from likewise.generation._networks import RowGenerator, Vectors, draw_gumbel
from likewise.generation._row_tensors import RowTensors, rows_by_row

ROWS_ON_CPU: Final = 8_192  # made at a time: what stays in the caches, and what keeps a GPU busy
ROWS_ON_GPU: Final = 131_072
CELLS_AT_A_TIME: Final = 2**27  # rows times places, at most: tables of thousands of categories fit, too


@torch.inference_mode()  # type: ignore[untyped-decorator]  # torch counts as untyped
def draw_rows(
    generator: RowGenerator,
    vectors: Vectors,
    rows: Rows,
    target_places: NDArray[np.int64],
    keys: Keys | None,
    *,
    likeliest: bool,
) -> Drawn:
    """Make rows of sources, many at a time, from the random numbers at hand, or of each row's key."""
    device = vectors.means.device
    arrays: list[NDArray[Any]] = [rows.places, rows.values, rows.known, target_places]
    n_at_a_time = ROWS_ON_GPU if device.type == "cuda" else ROWS_ON_CPU
    n_at_a_time = max(min(n_at_a_time, CELLS_AT_A_TIME // vectors.n_given), 1)
    random = None
    if keys is not None:
        n_at_a_time = rows_by_row(device, vectors.n_given, CELLS_AT_A_TIME)
        random = RowTensors(keys, "adversarial", n_at_a_time, device)
        generator, vectors = copy.deepcopy(generator).double(), copy.deepcopy(vectors).double()
        arrays[1] = rows.values.astype(np.float64)
    generator.eval()
    parts: list[list[Tensor]] = []
    for start in range(0, len(target_places), n_at_a_time):
        at = slice(start, start + n_at_a_time)
        some = [array[at] if random is None else random.fill(array[at]) for array in arrays]
        given = [torch.from_numpy(array).to(device) for array in some]
        made = _make(generator, vectors, given, None if random is None else random.batch(at), likeliest)
        parts.append([part[: len(target_places[at])].cpu() for part in made])
    return Drawn(*(torch.cat(part).numpy() for part in zip(*parts, strict=True)))


def _make(
    generator: RowGenerator, vectors: Vectors, given: list[Tensor], random: RowTensors | None, likeliest: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Draw the modes of numbers, and make numbers and choices."""
    places, values, known, wanted = given
    n, device = len(wanted), values.device
    uniforms = torch.rand(values.shape, device=device) if random is None else random.rand(*values.shape)
    source, modes = vectors(places, values, known, uniforms)
    target = torch.zeros(n, generator.n_sensitive, device=device, dtype=values.dtype).scatter_(1, wanted, 1.0)
    noise = torch.randn(n, generator.n_noise, device=device) if random is None else random.randn(n, generator.n_noise)
    numbers, choices = generator(source, target, noise)
    chosen = generator.segments.choose(choices if likeliest else choices + draw_gumbel(choices, random))
    return modes, numbers, chosen
