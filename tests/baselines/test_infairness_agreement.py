"""The single-stage attacks and losses are those of inFairness, where it is installed: step for step, on its ground."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from likewise.baselines._attacks import (
    AttackedLoss,
    InvarianceLoss,
    PricedAttacks,
    Steps,
    SubspaceMetric,
    attack_in_one_stage,
)
from likewise.baselines._subspace import Penalty

pytest.importorskip("inFairness")
pytestmark = pytest.mark.filterwarnings("ignore:We've integrated functorch:FutureWarning")  # it imports what is old

N_INPUTS, N_BATCHES, N_ROWS = 9, 12, 32
EPSILON, STEPS = 0.05, Steps(15, 0.02)


@pytest.fixture(scope="module")
def basis() -> Any:
    """Regress one sensitive indicator, the first input, as inFairness does, and add the indicator itself."""
    from sklearn.linear_model import LogisticRegression

    random = np.random.default_rng(0)
    inputs = random.random((500, N_INPUTS))
    inputs[:, 0] = inputs[:, 1] + inputs[:, 2] + random.normal(size=500) / 4 > 1
    weights = LogisticRegression().fit(inputs[:, 1:], inputs[:, 0]).coef_[0]
    return np.linalg.qr(np.stack([np.eye(N_INPUTS)[0], np.append(0.0, weights)]).T)[0].T


def make_network(dtype: torch.dtype) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        return nn.Sequential(nn.Linear(N_INPUTS, 20), nn.ReLU(), nn.Linear(20, 2)).to(dtype)


def batches(dtype: torch.dtype) -> list[tuple[torch.Tensor, torch.Tensor]]:
    random = np.random.default_rng(1)
    drawn = [(random.random((N_ROWS, N_INPUTS)), random.integers(0, 2, N_ROWS)) for _ in range(N_BATCHES)]
    return [(torch.tensor(inputs, dtype=dtype), torch.tensor(labels)) for inputs, labels in drawn]


def noise(inputs: torch.Tensor) -> torch.Tensor:
    """Draw what inFairness draws, from the same state of torch's own random numbers."""
    return torch.rand_like(inputs) * 0.2 - 0.1


def follow(network: nn.Module, loss_of_batch: Any, penalty: Any, dtype: torch.dtype) -> tuple[list[float], list[float]]:
    """Fit by plain steps, and give the losses and the weights of the distance on the way."""
    optimizer = torch.optim.SGD(network.parameters(), lr=0.5)
    losses, weights = [], []
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        for inputs, labels in batches(dtype):
            loss = loss_of_batch(inputs, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
            weights.append(float(penalty()))
    return losses, weights


def follow_ours(kind: Any, step: float | None, dtype: torch.dtype, basis: Any, **more: Any) -> Any:
    network, like, given = make_network(dtype), torch.zeros(1, dtype=dtype), SimpleNamespace(device=torch.device("cpu"))
    given.batch = lambda rows: (given.inputs, given.labels, torch.ones(N_ROWS, dtype=dtype))
    penalty = Penalty(1.0, EPSILON, step, like)
    attack = partial(attack_in_one_stage, metric=SubspaceMetric(basis, like), steps=STEPS, noise=noise)
    objective = kind(network, given, PricedAttacks(network, attack, penalty), **more)

    def loss_of_batch(inputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        given.inputs, given.labels = inputs, labels
        loss: torch.Tensor = objective.loss(torch.arange(N_ROWS))
        return loss

    return follow(network, loss_of_batch, lambda: penalty.value, dtype)


def distance_of(basis: Any, dtype: torch.dtype) -> Any:
    distance = import_module("inFairness.distances").MahalanobisDistances()
    distance.fit(torch.tensor(np.eye(N_INPUTS) - basis.T @ basis, dtype=dtype))
    return distance


def test_the_distance_is_the_same(basis: Any) -> None:
    theirs = import_module("inFairness.distances").SensitiveSubspaceDistance()
    theirs.fit(torch.tensor(basis.T, dtype=torch.float32))
    left, right = batches(torch.float32)[0][0], batches(torch.float32)[1][0]
    ours = SubspaceMetric(basis, left).distance(left - right)
    assert torch.allclose(theirs(left, right)[:, 0], ours, rtol=1e-4, atol=1e-6)


@pytest.mark.long(2)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-3), (torch.float64, 1e-7)])
def test_sensei_takes_the_same_way(
    basis: Any, dtype: torch.dtype, tolerance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the one difference that is meant: their weight of the distance jumps as far as it likes, ours is held back
    monkeypatch.setattr("likewise.baselines._subspace.MOST_HASTE", float("inf"))
    outputs = import_module("inFairness.distances").SquaredEuclideanDistance()
    outputs.fit(num_dims=2)
    outputs.sigma = outputs.sigma.to(dtype)
    network, epsilon = make_network(dtype), torch.tensor(EPSILON, dtype=dtype)
    cross_entropy = nn.functional.cross_entropy
    settings = (distance_of(basis, dtype), outputs, cross_entropy, 2.0, epsilon, STEPS.n, STEPS.size)
    theirs = import_module("inFairness.fairalgo").SenSeI(network, *settings)
    theirs.train()
    theirs.lamb = torch.tensor(1.0, dtype=dtype)
    theirs_way = follow(network, lambda *batch: theirs(*batch).loss, lambda: theirs.lamb, dtype)
    losses, weights = follow_ours(InvarianceLoss, None, dtype, basis, rho=2.0)
    assert losses == pytest.approx(theirs_way[0], abs=tolerance)
    assert weights == pytest.approx(theirs_way[1], abs=tolerance)
    assert len(set(np.round(weights, 3))) > N_BATCHES // 2  # it is a way, and no standing still


@pytest.mark.long(2)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-3), (torch.float64, 1e-7)])
def test_sensr_in_a_single_stage_takes_the_same_way(
    basis: Any, dtype: torch.dtype, tolerance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Their attack climbs the mean of a batch, ours the sum: the floor of Adam under the slopes is as many times larger.
    monkeypatch.setattr("likewise.baselines._attacks.FLOOR", N_ROWS * 1e-8)
    network = make_network(dtype)
    settings = (distance_of(basis, dtype), nn.functional.cross_entropy, EPSILON, 5.0, 1.0, STEPS.n, STEPS.size)
    theirs = import_module("inFairness.fairalgo").SenSR(network, *settings)
    theirs.train()
    theirs.lambda_param = torch.tensor(1.0, dtype=dtype)
    theirs_way = follow(network, lambda *batch: theirs(*batch).loss, lambda: theirs.lambda_param, dtype)
    losses, weights = follow_ours(AttackedLoss, 5.0, dtype, basis)
    assert losses == pytest.approx(theirs_way[0], abs=tolerance)
    assert weights == pytest.approx(theirs_way[1], abs=tolerance)
    assert min(weights) > 0.01  # theirs ends at 0, ours a little above
