"""Attacks: they climb, each row for itself, and leave no trace in the network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
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
    attack_in_one_stage,
    attack_in_two_stages,
    attacking,
    slopes_at,
)
from likewise.baselines._subspace import Penalty
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
