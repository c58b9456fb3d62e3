"""The network of conditionals: what it computes, and that it learns what the table says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from likewise.generation import _gibbs_network as _network  # noqa: E402  # after torch
from likewise.generation._gibbs_network import (  # noqa: E402  # need torch  # noqa: E402
    ConditionalInputs,
    Conditionals,
    TrainingPlan,
    find_edges,
    learn_conditionals,
)

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Small products run faster on one thread, above all on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def network() -> Conditionals:
    """Make a network of random weights: three learned columns, one that is not, two continuous ones."""
    random = np.random.default_rng(0)
    inputs = ConditionalInputs((3, 1, 4, 2), 3, find_edges(random.random((50, 2))))
    shapes: dict[str, tuple[int, ...]] = {
        "first": (inputs.n_inputs, 8),
        "first_bias": (8,),
        "second": (8, 8),
        "second_bias": (8,),
        "last": (8, inputs.n_outputs),
        "last_bias": (inputs.n_outputs,),
    }
    weights = {name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    return Conditionals(inputs, weights, CPU)


def rows(n: int = 20) -> tuple[Any, Any]:
    random = np.random.default_rng(1)
    codes = np.column_stack([random.integers(0, size, n) for size in (3, 1, 4, 2)])
    return torch.as_tensor(codes), torch.as_tensor(random.random((n, 2)))


def learn(codes: Any, sizes: tuple[int, ...], continuous: Any, n_iterations: int = 300, **more: Any) -> Conditionals:
    inputs = ConditionalInputs(sizes, more.pop("n_learned", len(sizes)), find_edges(continuous))
    schedule = TrainingPlan(n_iterations, 512, 32, more.pop("seed", 0))
    return learn_conditionals(inputs, codes, continuous, schedule, CPU, more.pop("report", lambda record: None))


def probabilities(network: Conditionals, codes: Any, continuous: Any, column: int) -> Any:
    given = torch.as_tensor(codes, dtype=torch.int64)
    begun = network.begin(given, torch.as_tensor(continuous))
    return network.log_probabilities(begun, given, column).exp().numpy()


def test_taking_a_column_out_is_hiding_it(network: Conditionals) -> None:
    codes, continuous = rows()
    for column in range(3):
        hidden = torch.zeros_like(codes, dtype=torch.bool)
        hidden[:, column] = True
        taken_out = network.log_probabilities(network.begin(codes, continuous), codes, column)
        anything = codes.clone()
        anything[:, column] = 0  # what a hidden column holds cannot matter
        start, size = network.inputs.starts[column], network.inputs.sizes[column]
        logits = network._logits(network.begin(anything, continuous, hidden))[:, start : start + size]
        assert torch.allclose(taken_out, torch.log_softmax(logits, dim=1), atol=1e-5)


def test_a_category_never_seen_is_as_good_as_hidden(network: Conditionals) -> None:
    codes, continuous = rows()
    hidden = torch.zeros_like(codes, dtype=torch.bool)
    hidden[:, 2] = True
    unseen = codes.clone()
    unseen[:, 2] = 9
    assert torch.equal(network.begin(unseen, continuous), network.begin(codes, continuous, hidden))
    known = network.log_probabilities(network.begin(codes, continuous), codes, 2)
    assert torch.allclose(network.log_probabilities(network.begin(unseen, continuous), unseen, 2), known, atol=1e-5)


def test_the_loss_is_the_cross_entropy_of_each_hidden_column(network: Conditionals) -> None:
    codes, continuous = rows()
    for shift in (0.0, 300.0):  # also where a softmax of all columns at once would underflow
        network.weights["last_bias"][3:] += shift
        hidden = torch.as_tensor(np.random.default_rng(2).random((20, 3)) < 0.5)
        logits = network._logits(network.begin(codes, continuous, torch.nn.functional.pad(hidden, (0, 1))))
        parts = torch.split(logits, [3, 1, 4], dim=1)
        by_hand = torch.stack(
            [torch.nn.functional.cross_entropy(part, codes[:, i], reduction="none") for i, part in enumerate(parts)], 1
        )
        assert network.loss(codes, continuous, hidden).item() == pytest.approx(by_hand[hidden].mean().item(), rel=1e-4)


def test_a_column_of_many_values_beside_narrow_ones_has_the_same_loss(
    network: Conditionals, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes, continuous = rows()
    hidden = torch.ones((20, 3), dtype=torch.bool)
    usual = network.loss(codes, continuous, hidden)
    monkeypatch.setattr(_network, "MAX_PADDING", 0)
    assert torch.equal(network.loss(codes, continuous, hidden), usual)


def test_it_learns_a_known_joint_distribution() -> None:
    random = np.random.default_rng(0)
    joint = random.dirichlet(np.ones(12)).reshape(2, 3, 2)
    codes = np.column_stack(np.unravel_index(random.choice(12, 6_000, p=joint.ravel()), joint.shape)).astype(np.int32)
    network = learn(codes, (2, 3, 2), np.empty((6_000, 0)))
    cells = np.column_stack(np.unravel_index(np.arange(12), joint.shape))
    counts = np.zeros(joint.shape)
    np.add.at(counts, tuple(codes.T), 1)
    for column in range(3):
        rest = counts.sum(axis=column, keepdims=True)
        exact = np.moveaxis(counts / np.maximum(rest, 1), column, -1)
        others = tuple(np.delete(cells, column, axis=1).T)
        enough = np.moveaxis(np.broadcast_to(rest, joint.shape), column, -1)[..., 0][others] > 200
        learned = probabilities(network, cells, np.empty((12, 0)), column)
        assert np.abs(learned - exact[others])[enough].max() < 0.06


def test_it_learns_from_continuous_columns_steps_included() -> None:
    random = np.random.default_rng(0)
    value = random.random((4_000, 1))
    codes = ((value > 0.3) & (value < 0.6)).astype(np.int32)
    learned = probabilities(learn(codes, (2,), value), [[0]] * 3, [[0.1], [0.45], [0.8]], 0)[:, 1]
    assert learned[1] > 0.9
    assert max(learned[0], learned[2]) < 0.1


def test_columns_that_are_not_learned_are_seen() -> None:
    random = np.random.default_rng(0)
    seen = random.integers(0, 2, 2_000)
    codes = np.column_stack([seen, seen]).astype(np.int32)
    network = learn(codes, (2, 2), np.empty((2_000, 0)), n_learned=1)
    assert network.inputs.n_outputs == 2
    assert probabilities(network, [[0, 1], [1, 0]], np.empty((2, 0)), 0)[:, 1] == pytest.approx([1, 0], abs=0.05)


def test_noise_is_not_learned_by_heart() -> None:
    random = np.random.default_rng(0)
    codes = np.column_stack([random.integers(0, 2, 60), np.arange(60)]).astype(np.int32)
    history: list[dict[str, Any]] = []
    network = learn(codes, (2, 60), random.random((60, 3)), n_iterations=2_000, report=history.append)
    assert history[-1]["iteration"] < 1_000  # it stopped by itself
    assert set(history[0]) == {"iteration", "seconds", "loss", "held_out_loss"}
    learned = probabilities(network, codes, random.random((60, 3)), 0)
    assert learned.min() > 0.05
