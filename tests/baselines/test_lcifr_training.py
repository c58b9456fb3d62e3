"""The training of LCIFR: similar rows, attacks on them, and the losses of both phases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.baselines.lcifr_people import LABELS, PEOPLE, ROLES, Probe
from tests.sizes import sized
from torch import nn

from likewise.baselines._lcifr_training import (
    ConsumerLoss,
    ProducerLoss,
    SensitiveColumn,
    SimilarRows,
    attack_by_enumeration,
    climb,
    latent_distance,
)
from likewise.nets._internal import DeviceInputs, InputCoding, People, build_network, loss_of

CPU = torch.device("cpu")


def similar_rows(
    sizes: Sequence[int] = (3, 2), n_numbers: int = 2, n_fixed: int = 3, reach: float = 0.1
) -> SimilarRows:
    """Make a domain of numbers, then sensitive indicators, then others."""
    columns, start = [], n_numbers
    for size in sizes:
        columns.append(SensitiveColumn(np.arange(start, start + size), np.eye(size, dtype=np.float32)))
        start += size
    moves = np.array([reach] * n_numbers + [0.0] * (sum(sizes) + n_fixed))
    return SimilarRows(columns, moves, np.empty((0, 2), np.intp), CPU)


def draw_rows(n: int, sizes: Sequence[int] = (3, 2), n_numbers: int = 2, n_fixed: int = 3) -> torch.Tensor:
    groups = [torch.eye(size)[torch.randint(size, (n,))] for size in sizes]
    return torch.cat([torch.rand(n, n_numbers), *groups, torch.rand(n, n_fixed)], dim=1)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@given(st.integers(0, 10_000), st.integers(0, 4), st.sampled_from([(2,), (3, 2), (4, 2, 3)]), st.integers(0, 3))
@settings(max_examples=sized(6, 25))
def test_the_enumerating_attack_stays_among_similar_rows(
    seed: int, n_steps: int, sizes: tuple[int, ...], n_numbers: int
) -> None:
    torch.manual_seed(seed)
    rows, similar = draw_rows(7, sizes, n_numbers), similar_rows(sizes, n_numbers)
    encoder = build_network(rows.shape[1], 4, (5,))
    worst = attack_by_enumeration(encoder, rows, similar, n_steps, 64, generator(seed))
    n_sensitive = sum(sizes)
    assert (worst[:, :n_numbers] - rows[:, :n_numbers]).abs().max().item() <= 0.1 + 1e-6 if n_numbers else True
    assert torch.equal(worst[:, n_numbers + n_sensitive :], rows[:, n_numbers + n_sensitive :])
    for group in worst[:, n_numbers : n_numbers + n_sensitive].split(sizes, dim=1):
        assert torch.equal(group.sort(dim=1).values, torch.eye(group.shape[1])[-1].expand_as(group))


def test_without_steps_it_finds_the_worst_combination() -> None:
    torch.manual_seed(1)
    rows, similar, encoder = draw_rows(9), similar_rows(), build_network(10, 4, (5,))
    worst = attack_by_enumeration(encoder, rows, similar, 0, 64, generator())
    distance = latent_distance(encoder, rows)
    every = []
    for one in range(3):
        for other in range(2):
            tried = rows.clone()
            tried[:, 2:5], tried[:, 5:7] = torch.eye(3)[one], torch.eye(2)[other]
            every.append(distance(tried))
    assert torch.equal(distance(worst), torch.stack(every).amax(dim=0))


def test_climbing_keeps_the_highest_point_even_where_steps_lead_past_it() -> None:
    torch.manual_seed(7)
    peaks, start = torch.rand(30, 3), torch.rand(30, 3)

    def height(points: torch.Tensor) -> torch.Tensor:
        return -(points - peaks).square().sum(dim=1)

    with torch.no_grad():
        highest, heights = climb(height, start, height(start), 0.5, 0.4, 6, generator())
    assert (heights >= height(start)).all()
    assert torch.equal(heights, height(highest))
    assert (highest - start).abs().max() <= 0.5 + 1e-6


def test_with_too_many_combinations_some_are_drawn() -> None:
    similar = similar_rows((40, 40, 40))
    assert similar.n_combinations == 64_000
    drawn = similar.combinations(64, generator())
    assert drawn.shape == (64, 120)
    assert (drawn.sum(dim=1) == 3).all()
    assert len(drawn.unique(dim=0)) > 60
    assert len(similar_rows((3, 2)).combinations(64, generator()).unique(dim=0)) == 6


def test_the_loss_is_zero_if_and_only_if_the_distance_is_within_delta() -> None:
    people = _people()
    rows = torch.arange(60)
    network = nn.Sequential(build_network(9, 4, (5,)), nn.Linear(4, 1))
    with torch.no_grad():
        network[1].weight.zero_()  # so that the log loss is known
        network[1].bias.zero_()
    inputs, _, _ = people.batch(rows)
    moved = inputs.clone()
    moved[:, 0] += 0.3
    with torch.no_grad():
        distance = (network[0](inputs) - network[0](moved)).abs().amax(dim=1)
    for delta in (0.0, float(distance.median()), float(distance.max())):
        objective = ProducerLoss(network, people, lambda _: moved, gamma=2.0, delta=delta)
        expected = np.log(2) + 2.0 * (distance - delta).clamp(min=0).mean().item()
        assert objective.loss(rows).item() == pytest.approx(expected, rel=1e-5)
        reported = objective.report()
        assert (reported["constraint_loss"] == 0) == bool((distance <= delta).all())
        assert reported["attack_gain"] == pytest.approx(distance.mean().item(), rel=1e-5)


def test_weights_multiply_the_whole_loss() -> None:
    network = nn.Sequential(build_network(9, 4, (5,)), nn.Linear(4, 1))
    some = np.zeros(60)
    some[:20] = 3.0
    rows = torch.arange(60)
    weighted = ProducerLoss(network, _people(some), lambda inputs: inputs + 0.2, gamma=1.0, delta=0.0)
    plain = ProducerLoss(network, _people(), lambda inputs: inputs + 0.2, gamma=1.0, delta=0.0)
    assert weighted.loss(rows).item() == pytest.approx(plain.loss(rows[:20]).item(), rel=1e-5)


def test_the_corner_is_where_steps_towards_the_worst_latent_point_end() -> None:
    torch.manual_seed(6)
    people, latents, classifier = _people(), torch.randn(60, 4), nn.Linear(4, 1)
    loss = ConsumerLoss(classifier, latents, people, 0.05, generator()).loss(torch.arange(60))
    with torch.no_grad():

        def height(points: torch.Tensor) -> torch.Tensor:
            return loss_of(classifier(points), people.labels)

        _, heights = climb(height, latents, height(latents), 0.05, 0.005, 20, generator())
    assert loss.item() == pytest.approx(heights.mean().item(), rel=1e-6)


def test_an_attack_leaves_the_network_as_it_was() -> None:
    torch.manual_seed(5)
    rows, similar, encoder = draw_rows(12), similar_rows(), Probe(10, 4)
    encoder.layers[0].weight.requires_grad_(False)
    encoder.layers[2].eval()
    before = {name: value.clone() for name, value in encoder.state_dict().items()}
    state = torch.get_rng_state()
    worst = attack_by_enumeration(encoder, rows, similar, 3, 64, generator())
    assert not any(encoder.modes)
    assert not worst.requires_grad
    assert [part.training for part in encoder.layers] == [True, True, False, True, True]
    assert all(torch.equal(value, before[name]) for name, value in encoder.state_dict().items())
    assert all(one.grad is None for one in encoder.parameters())
    assert [one.requires_grad for one in encoder.parameters()] == [False, True, True, True, True, True]
    assert torch.equal(torch.get_rng_state(), state)


def _people(weights: Any = None) -> People:
    coding = InputCoding.learn(PEOPLE, ROLES)
    return People(
        frame=PEOPLE,
        y=np.array(LABELS),
        coding=coding,
        inputs=DeviceInputs(coding.encode(PEOPLE), CPU),
        labels=torch.tensor(LABELS),
        weights=torch.ones(60) if weights is None else torch.as_tensor(weights, dtype=torch.float32),
        train=np.arange(60),
        held_out=np.empty(0, np.intp),
    )
