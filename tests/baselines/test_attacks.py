"""Attacks: they climb, each row for itself, and leave no trace in the network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sizes import sized
from torch import nn

from likewise.baselines._attacks import (
    Attack,
    Gain,
    LogitGain,
    LossGain,
    PricedAttacks,
    Steps,
    SubspaceMetric,
    Tracker,
    UniformNoise,
    ascend,
    attack_in_one_stage,
    attack_in_two_stages,
    attacking,
    slopes_at,
)
from likewise.baselines._subspace import LEAST, MOST, Penalty, Subspace
from likewise.nets._internal import build_network, loss_of

N_INPUTS, RANK = 7, 2
INSIDE, EVERYWHERE = Steps(6, 0.1), Steps(5, 0.01)


def random_basis(seed: int = 0, rank: int = RANK) -> Any:
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(N_INPUTS, rank)))[0].T


def make_network(n_outputs: int = 1, seed: int = 0) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(N_INPUTS, 8), nn.Tanh(), nn.Linear(8, n_outputs)).double()


def people(n_rows: int = 20, n_classes: int = 2) -> tuple[torch.Tensor, torch.Tensor]:
    random = np.random.default_rng(1)
    return torch.tensor(random.random((n_rows, N_INPUTS))), torch.tensor(random.integers(0, n_classes, n_rows))


def metric_of(basis: Any, inputs: torch.Tensor) -> SubspaceMetric:
    return SubspaceMetric(basis, inputs)


def one(value: float = 2.0) -> torch.Tensor:
    return torch.tensor(value, dtype=torch.float64)


@given(st.integers(0, 10_000), st.integers(0, N_INPUTS))
@settings(max_examples=sized(7, 30))
def test_only_moves_outside_the_subspace_count(seed: int, rank: int) -> None:
    basis = random_basis(seed, rank)
    moves = torch.tensor(np.random.default_rng(seed + 1).normal(size=(4, N_INPUTS)))
    metric = metric_of(basis, moves)
    inside = (moves @ metric.basis.T) @ metric.basis
    outside = moves - inside
    assert Subspace(basis).n_counted == N_INPUTS - rank
    assert torch.allclose(metric.distance(inside), torch.zeros(4, dtype=torch.float64), atol=1e-12)
    assert torch.allclose(metric.distance(outside + 3 * inside), outside.square().sum(dim=1))


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("make", [LossGain, LogitGain])
def test_written_out_slopes_are_gradients(make: Callable[[torch.Tensor], Gain], n_outputs: int) -> None:
    network, (inputs, labels) = make_network(n_outputs), people(n_classes=max(n_outputs, 2))
    gain = make(labels if make is LossGain else network(inputs + 0.3).detach())
    points = inputs.clone().requires_grad_()
    wanted = torch.autograd.grad(gain.of(network(points)).sum(), points)[0]
    assert torch.allclose(slopes_at(network, inputs, gain), wanted)


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("hidden", [(), (5,), (6, 4)])
def test_a_plain_stack_has_the_slopes_that_any_network_has(hidden: tuple[int, ...], n_outputs: int) -> None:
    inputs, labels = people(n_classes=max(n_outputs, 2))
    stack, gain = build_network(N_INPUTS, n_outputs, hidden).double(), LossGain(labels)
    longer = nn.Sequential(*stack, nn.Identity())  # no longer plain
    assert torch.allclose(slopes_at(stack, inputs, gain), slopes_at(longer, inputs, gain), rtol=1e-10)
    for hooked in (stack[0], stack):  # the layer, or all of it
        width = hooked.out_features if hooked is stack[0] else n_outputs
        hook = hooked.register_forward_hook(lambda *_, w=width: torch.zeros(len(inputs), w, dtype=torch.float64))
        assert not slopes_at(stack, inputs, gain).any()  # the outputs no longer depend on the inputs
        hook.remove()


def test_steps_are_those_of_adam() -> None:
    inputs, _ = people()
    target = inputs.flip(0)
    moved = inputs.clone().requires_grad_()
    optimizer = torch.optim.Adam([moved], lr=0.05, maximize=True)
    for _ in range(25):
        optimizer.zero_grad()
        (-(moved - target).pow(4)).sum().backward()
        optimizer.step()
    ours = ascend(inputs, lambda here: -4 * (here - target).pow(3), Steps(25, 0.05))
    assert torch.allclose(ours, moved.detach(), rtol=1e-10)


def attack(kind: str, network: nn.Module, inputs: torch.Tensor, labels: torch.Tensor, start: torch.Tensor) -> Attack:
    metric, gain = metric_of(random_basis(), inputs), LossGain(labels)
    with attacking(network):
        if kind == "two":
            return attack_in_two_stages(
                network, inputs, gain, one(), metric=metric, inside=INSIDE, everywhere=EVERYWHERE
            )
        return attack_in_one_stage(network, inputs, gain, one(), metric=metric, steps=INSIDE, noise=lambda _: start)


@pytest.mark.parametrize("kind", ["one", "two"])
def test_a_row_is_attacked_alone_as_in_a_batch(kind: str) -> None:
    network, (inputs, labels) = make_network(), people()
    start = UniformNoise(0.1, 3, inputs.device)(inputs)
    whole = attack(kind, network, inputs, labels, start)
    for row in range(len(inputs)):
        only = slice(row, row + 1)
        alone = attack(kind, network, inputs[only], labels[only], start[only])
        assert torch.allclose(alone.points, whole.points[only], atol=1e-9)
        assert torch.allclose(alone.gains, whole.gains[only], atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_two_stages_gain_or_leave_a_row_alone(seed: int) -> None:
    network, (inputs, labels) = make_network(seed=seed), people()
    found = attack("two", network, inputs, labels, inputs)
    gained = LossGain(labels).of(network(found.points)) - LossGain(labels).of(network(inputs))
    assert torch.allclose(found.gains, gained.detach())
    assert (found.gains >= 0).all()
    assert found.gains.mean() > 0.01
    metric = metric_of(random_basis(), inputs)
    assert torch.allclose(found.distances, metric.distance(found.points - inputs), atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("seed", range(5))
def test_where_nothing_is_to_be_gained_nothing_moves(seed: int, dtype: torch.dtype) -> None:
    inputs, labels = (part.to(dtype) if part.is_floating_point() else part for part in people())
    basis, network = random_basis(seed), nn.Linear(N_INPUTS, 1).to(dtype)
    with torch.no_grad():
        weights = np.random.default_rng(seed).normal(size=N_INPUTS)
        network.weight[0] = torch.tensor(weights - (weights @ basis.T) @ basis)
    metric, gain = metric_of(basis, inputs), LossGain(labels)
    with attacking(network):
        found = attack_in_two_stages(
            network, inputs, gain, one().to(dtype), metric=metric, inside=INSIDE, everywhere=Steps(0, 1.0)
        )
    assert torch.equal(found.points, inputs)
    assert not found.gains.any()


@pytest.mark.parametrize("kind", ["one", "two"])
def test_attacks_leave_the_network_as_it_was(kind: str) -> None:
    modes: list[bool] = []
    network = nn.Sequential(nn.Linear(N_INPUTS, 6), nn.BatchNorm1d(6), nn.Dropout(0.5), nn.Linear(6, 1)).double()
    network[0].weight.requires_grad_(False)
    network[1].eval()  # on purpose, by the user
    network[2].register_forward_hook(lambda layer, *_: modes.append(layer.training))
    before = {name: value.clone() for name, value in network.state_dict().items()}
    inputs, labels = people()
    attack(kind, network, inputs, labels, torch.zeros_like(inputs))
    assert modes
    assert not any(modes)
    assert [layer.training for layer in network] == [True, False, True, True]
    assert [one.requires_grad for one in network.parameters()] == [False, True, True, True, True, True]
    assert all(one.grad is None for one in network.parameters())
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


class Cracked(nn.Module):  # type: ignore[misc]  # torch's types are skipped
    """Break, but only for rows whose first input is negative."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = make_network()

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        outputs: torch.Tensor = self.inner(inputs) + 0 * inputs[:, :1].sqrt()
        return outputs


@pytest.mark.parametrize("kind", ["one", "two"])
def test_rows_without_a_gradient_stay_where_they_are(kind: str) -> None:
    inputs, labels = people()
    inputs[3, 0] = -1.0
    found = attack(kind, Cracked(), inputs + 2 * (inputs > 0), labels, torch.zeros_like(inputs))
    moved = (found.points != inputs + 2 * (inputs > 0)).any(dim=1)
    assert not moved[3]
    assert moved.sum() > len(inputs) // 2
    assert found.distances.isfinite().all()


def test_noise_has_random_numbers_of_its_own() -> None:
    inputs, _ = people()
    before = torch.get_rng_state()
    noise, again = UniformNoise(0.2, 5, inputs.device), UniformNoise(0.2, 5, inputs.device)
    first = noise(inputs)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(first, again(inputs))
    assert not torch.equal(first, noise(inputs))
    assert 0.1 < first.abs().max() <= 0.2


@pytest.mark.parametrize(
    ("start", "distance", "wanted"),
    [
        (2.0, 0.1, 2.0),  # as far as allowed
        (2.0, 0.2, 2.0 + 2 * 0.1),  # twice too far
        (2.0, 0.05, 2.0 - 2 * 0.05),
        (2.0, 5.0, 2.0 + 10 * 4.9),  # fifty times too far: no faster than ten
        (2.0, 0.0, 2.0 - 10 * 0.1),
        (0.5, 0.0, LEAST),
        (999.0, 5.0, MOST),
    ],
)
def test_the_weight_of_distance_finds_its_level(start: float, distance: float, wanted: float) -> None:
    penalty = Penalty(start, 0.1, None, one())
    penalty.update(one(distance))
    assert float(penalty.value) == pytest.approx(wanted)


def test_the_weight_of_distance_can_change_at_a_given_speed() -> None:
    penalty = Penalty(2.0, 0.1, 3.0, one())
    penalty.update(one(5.0))
    assert float(penalty.value) == pytest.approx(2.0 + 3 * 4.9)


def climb_by_torch(start: torch.Tensor, height: Callable[[torch.Tensor], torch.Tensor], steps: Steps) -> torch.Tensor:
    here = start.clone().requires_grad_()
    optimizer = torch.optim.Adam([here], lr=steps.size, maximize=True)
    for _ in range(steps.n):
        optimizer.zero_grad()
        height(here).sum().backward()
        optimizer.step()
    return here.detach()


@pytest.mark.parametrize(("n_outputs", "weight"), [(1, 1.0), (3, 2.0)])
def test_two_stages_are_those_of_the_paper(n_outputs: int, weight: float) -> None:
    network, (inputs, labels) = make_network(n_outputs, seed=2), people(60, max(n_outputs, 2))
    basis, everywhere = random_basis(), Steps(6, 0.1)
    into, projector = torch.tensor(basis), torch.eye(N_INPUTS) - torch.tensor(basis.T @ basis)

    def loss(points: torch.Tensor) -> torch.Tensor:
        return loss_of(network(points), labels)

    amounts = climb_by_torch(torch.zeros(60, RANK).double(), lambda a: loss(inputs + a @ into), INSIDE)
    inside = amounts @ into * (loss(inputs + amounts @ into) > loss(inputs))[:, None]

    def priced(moves: torch.Tensor) -> torch.Tensor:
        apart = (inside + moves) @ projector
        return loss(inputs + inside + moves) - weight * apart.square().sum(dim=1)

    moves = climb_by_torch(torch.zeros_like(inputs), priced, everywhere)
    is_kept = priced(moves) > priced(torch.zeros_like(moves))
    assert 0 < is_kept.sum() < 60
    with attacking(network):
        found = attack_in_two_stages(
            network, inputs, LossGain(labels), one(weight), metric=metric_of(basis, inputs), inside=INSIDE,
            everywhere=everywhere,
        )  # fmt: skip
    wanted = inputs + inside + moves * is_kept[:, None]
    assert torch.allclose(found.points, wanted, atol=1e-7)
    assert torch.allclose(found.distances, ((wanted - inputs) @ projector).square().sum(dim=1), atol=1e-7)


def attacks_of(distances: torch.Tensor, gains: torch.Tensor, penalty: Penalty) -> PricedAttacks:
    return PricedAttacks(nn.Identity(), lambda network, inputs, *_: Attack(inputs, distances, gains), penalty)


def test_rows_weigh_in_the_weight_of_distance() -> None:
    penalty = Penalty(2.0, 0.1, 1.0, one())
    inputs, distances, gains = torch.zeros(3, 1), torch.tensor([1.0, 2.0, 9.0]), torch.tensor([4.0, 8.0, -1.0])
    attacks = attacks_of(distances.double(), gains.double(), penalty)
    attacks.move(inputs, torch.tensor([3.0, 1.0, 0.0]).double(), lambda: LogitGain(inputs))
    assert attacks.report() == pytest.approx({"lambda": 2.0 + 1.25 - 0.1, "attack_gain": 5.0, "mean_distance": 1.25})


@pytest.mark.parametrize("step", [None, 1.0])
def test_a_batch_in_which_no_row_counts_changes_nothing(step: float | None) -> None:
    penalty = Penalty(2.0, 0.1, step, one())
    inputs, some = torch.zeros(3, 1), torch.ones(3).double()
    attacks = attacks_of(some, some, penalty)
    attacks.move(inputs, 0 * some, lambda: LogitGain(inputs))
    assert attacks.report() == {"lambda": 2.0, "attack_gain": 0.0, "mean_distance": 0.0}


def epochs(*found: tuple[bool, ...], n_times: int = 20) -> set[str]:
    """Say what is found odd in epochs of such batches, each so many times."""
    watch = Tracker(torch.device("cpu"), (), ("is_odd",))
    for batches in found:
        watch.start_epoch()
        for is_odd in batches * n_times:
            watch.note({}, is_odd=torch.tensor(is_odd))
    return watch.found()


def test_any_epoch_that_was_odd_throughout_is_told_of() -> None:
    yes, no = True, False
    assert epochs() == set()
    assert epochs((yes, yes)) == {"is_odd"}  # the only one, whole or not
    assert epochs((yes, no)) == set()
    assert epochs((no, yes), (yes, no), (no,)) == set()
    assert epochs((yes, yes), (no, yes), (no,)) == {"is_odd"}
    assert epochs((yes, no), (yes, yes), (no,)) == {"is_odd"}
    assert epochs((yes, no), (yes,)) == set()  # it may have just begun


def test_epochs_of_few_batches_are_judged_together() -> None:
    one_at_a_time = [(False,)] * 20 + [(True,)] * 19 + [(False,)] * 41
    assert epochs(*one_at_a_time, n_times=1) == set()
    one_at_a_time[39] = (True,)
    assert epochs(*one_at_a_time, n_times=1) == {"is_odd"}
    assert epochs((True,), (True,), n_times=1) == {"is_odd"}  # all of a short fit
    assert epochs((True,), (False,), n_times=1) == set()


def test_means_are_those_since_the_last_report() -> None:
    watch = Tracker(torch.device("cpu"), ("gain",))
    watch.note({"gain": one(1.0)})
    watch.note({"gain": one(3.0)})
    assert watch.report() == {"gain": 2.0}
    watch.note({"gain": one(5.0)})
    assert watch.report() == {"gain": 5.0}
