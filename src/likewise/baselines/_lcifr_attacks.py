"""Looking for the similar row that an encoder sees most differently, and for the worst of near latent points."""

from __future__ import annotations

from typing import Final

import torch
from torch import nn

from likewise.baselines._attacks import Height, attacking, slope_of
from likewise.baselines._lcifr_domain import SimilarRows

BOX_SLACK: Final = 1e-4  # of the original's boxes, and of its indicators


def latent_distance(encoder: nn.Module, inputs: torch.Tensor) -> Height:
    """Measure how far other rows are from these in the latent space, in the latent number that differs most."""
    here = encoder(inputs)

    def distance(others: torch.Tensor) -> torch.Tensor:
        latents = encoder(others.flatten(0, -2)).unflatten(0, others.shape[:-1])
        return (latents - here).abs().amax(dim=-1)

    return distance


def attack_by_enumeration(
    encoder: nn.Module,
    inputs: torch.Tensor,
    similar: SimilarRows,
    n_steps: int,
    max_combinations: int,
    generator: torch.Generator,
) -> torch.Tensor:
    """Take the combination of sensitive values that is farthest, then walk away from the row within its box."""
    with attacking(encoder):
        distance = latent_distance(encoder, inputs)
        combinations = similar.combinations(max_combinations, generator)
        candidates = similar.put(inputs.expand(len(combinations), -1, -1), combinations[:, None, :])
        farthest = distance(candidates).max(dim=0)  # all of them in one pass
        start = similar.put(inputs, combinations[farthest.indices])
        if not similar.has_box or n_steps == 0:
            return start
        reach = similar.reach_of(inputs)
        return climb(distance, start, farthest.values, reach, similar.step, n_steps, generator)[0]


def attack_as_published(
    encoder: nn.Module,
    inputs: torch.Tensor,
    similar: SimilarRows,
    n_steps: int,
    delta: float,
    generator: torch.Generator,
) -> torch.Tensor:
    """Start at random, and make the loss of "farther than delta" (DL2) smaller: nothing moves once that is so.

    Indicators move, too, and are brought back by the projection of the original, which gives fractions.
    """
    with attacking(encoder):
        distance = latent_distance(encoder, inputs)
        reach = similar.reach_of(inputs, more=BOX_SLACK)
        low, high = inputs - reach, inputs + reach
        start = inputs + reach * _uniform(inputs, generator)
        point = similar.put(start, similar.draw(len(inputs), generator))
        low[:, similar.places], high[:, similar.places] = point[:, similar.places], point[:, similar.places]
        step = similar.step.clone()
        for group in similar.indicators:
            low[:, group], high[:, group] = -BOX_SLACK, BOX_SLACK
            step[group] = similar.step.max() if similar.has_box else 1.0
        for _ in range(n_steps):
            _, slope = slope_of(lambda others: -(delta - distance(others)).clamp(min=0), point)
            point = (point + step * slope.sign()).clamp(low, high)
            for group in similar.indicators:
                point[:, group] /= point[:, group].abs().sum(dim=1, keepdim=True).clamp(min=1e-12)
        return point


def climb(
    height: Height,
    start: torch.Tensor,
    start_height: torch.Tensor,
    reach: torch.Tensor | float,
    step: torch.Tensor | float,
    n_steps: int,
    generator: torch.Generator,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Walk up in steps of the slope's sign from a random point within reach; give the highest points, and heights.

    The start itself is among them, so nothing is ever lost. No gradients are kept: it runs inside an attack.
    """
    low, high = start - reach, start + reach
    highest, heights = start, start_height
    point = (start + reach * _uniform(start, generator)).clamp(low, high)
    for _ in range(n_steps):
        here, slope = slope_of(height, point)
        highest, heights = _higher(point, here, highest, heights)
        point = (point + step * slope.sign()).clamp(low, high)
    return _higher(point, height(point), highest, heights)


def _higher(
    point: torch.Tensor, height: torch.Tensor, highest: torch.Tensor, heights: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.where((height > heights)[:, None], point, highest), torch.maximum(height, heights)


def _uniform(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return 2 * torch.rand(like.shape, generator=generator, device=like.device, dtype=like.dtype) - 1
