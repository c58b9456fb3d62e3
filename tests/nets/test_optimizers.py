"""Optimizers are torch's, to the last bit, without the compiler that its classes load."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

torch = pytest.importorskip("torch")

CLASSES = {"adam": "Adam", "adamw": "AdamW", "sgd": "SGD"}
FITS = """
import sys
from likewise import AntiDROClassifier, GibbsGenerator, load_dataset
data = load_dataset("planted")
generator = GibbsGenerator(data.roles, data.rule, n_iterations=3, width=8, random_state=0)
AntiDROClassifier(generator, n_iterations=3, random_state=0).fit(data.train.X, data.train.y)
print("torch" in sys.modules, "torch._dynamo" in sys.modules)
"""


def train(name: str, is_ours: bool, fused: bool | None) -> list[Any]:
    """Fit a small network, halving the rate midway; one of its weights has no gradient at first."""
    from likewise.nets._optimizers import Optimizer

    random = torch.Generator().manual_seed(0)
    sizes = ((5, 4), (4,), (4, 1), (1,))
    weights = [torch.randn(size, generator=random).requires_grad_() for size in sizes]
    inputs, wanted = torch.randn(40, 5, generator=random), torch.randn(40, 1, generator=random)
    how: dict[str, Any] = {"weight_decay": 0.03, "fused": fused}
    optimizer: Any = (
        Optimizer(name, weights, learning_rate=0.1, **how)
        if is_ours
        else getattr(torch.optim, CLASSES[name])(weights, lr=0.1, **how)
    )
    for step in range(20):
        if step == 10 and is_ours:
            optimizer.learning_rate /= 2
        elif step == 10:
            optimizer.param_groups[0]["lr"] /= 2
        made = (inputs @ weights[0] + weights[1]).relu() @ weights[2]
        made = made + weights[3] if step > 3 else made
        loss = (made - wanted).square().mean()
        optimizer.forget_gradients() if is_ours else optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    return [one.tolist() for one in weights]


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("fused", [None, True])
def test_weights_are_those_of_torchs_own_to_the_last_bit(name: str, fused: bool | None) -> None:
    assert train(name, True, fused) == train(name, False, fused)


def test_fitting_loads_no_compiler() -> None:
    ended = subprocess.run([sys.executable, "-c", FITS], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["True", "False"]
