"""Adversarial training: the step and its optimizer."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from likewise._random import draw_seed
from likewise.generation.adversarial._encoding import EncodedRows, Encoder
from likewise.generation.adversarial._networks import Critic, RowGenerator, Vectors, start_from_source
from likewise.nets._internal import seeded

EPSILON: Final = 1e-8


class Adam:
    """Adam on all weights as one vector.

    Torch's own loads a compiler and checks more than it computes; its fused kernel, made for many more weights, took an
    eighth of a step on a GPU.
    """

    def __init__(
        self, network: nn.Module, learning_rate: float, betas: tuple[float, float], weight_decay: float
    ) -> None:
        self._weights = list(network.parameters())
        self._learning_rate, self._betas, self._weight_decay = learning_rate, betas, weight_decay
        with torch.no_grad():
            self._vector = torch.cat([one.reshape(-1) for one in self._weights])
            start = 0
            for one in self._weights:
                one.data = self._vector[start : start + one.numel()].view_as(one)
                start += one.numel()
        self.mean, self.square = torch.zeros_like(self._vector), torch.zeros_like(self._vector)
        self.n_steps = torch.zeros((), device=self._vector.device)
        self._forgotten = torch.tensor(betas, device=self._vector.device)

    def descend(self, outputs: Sequence[Tensor], by_outputs: Sequence[Tensor]) -> None:
        """Take a step down a loss, given its derivatives by some outputs, without waiting for the device."""
        gradients = torch.autograd.grad(outputs, self._weights, by_outputs)
        with torch.no_grad():
            gradient = torch.cat([one.reshape(-1) for one in gradients])
            if self._weight_decay:
                gradient.add_(self._vector, alpha=self._weight_decay)
            low, high = self._betas
            self.n_steps += 1
            self.mean.lerp_(gradient, 1 - low)
            self.square.mul_(high).addcmul_(gradient, gradient, value=1 - high)
            # bias correction: both averages start at zero
            of_mean, of_square = 1 - torch.pow(self._forgotten, self.n_steps)
            width = self.square.sqrt().mul_(of_square.rsqrt()).add_(EPSILON)
            self._vector.addcdiv_(self.mean * (self._learning_rate / of_mean), width, value=-1)


log = logging.getLogger(__name__)

BETAS: Final = (0.5, 0.9)
PENALTY: Final = 10.0
PAIRS_TO_LOOK_AT: Final = 20_000
N_WARM: Final = 3  # steps before a graph is captured, so that everything is allocated
LOSSES: Final = ("distance", "penalty", "critic_score", "cross_entropy")


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """How to build and train the networks."""

    batch_size: int
    n_noise: int
    width: int
    heads: str
    residual: bool
    dropout: float
    n_critic: int
    learning_rate: float
    weight_decay: float
    compile_step: bool | str


class Training:
    """The networks, their optimizers and the pairs, on one device."""

    def __init__(
        self,
        encoder: Encoder,
        rows: EncodedRows,
        pairs: NDArray[np.int64],
        limits: NDArray[np.float64],
        settings: TrainingSettings,
        seed: int,
        device: Any,
    ) -> None:
        self.settings, self.device, self._seed = settings, device, seed
        self.vectors = Vectors(encoder).to(device)
        self._places, self._values, self._known = (
            torch.from_numpy(array).to(device).contiguous() for array in (rows.places, rows.values, rows.known)
        )
        both_ways = np.concatenate([pairs, pairs[::-1]], axis=1)  # each pair is learned in both directions
        self._pairs = torch.from_numpy(both_ways).to(device)
        self._n = min(settings.batch_size, both_ways.shape[1])
        layout = encoder.layout
        self._n_values, self._n_made, self._n_sensitive = layout.n_values, layout.n_made, layout.n_sensitive
        with seeded(draw_seed(seed, "networks"), device):
            stays = self._count_unchanged(layout.segments)
            start = start_from_source(encoder, stays, limits) if settings.residual else None
            self.generator = RowGenerator(layout, settings.n_noise, settings.width, settings.heads, start).to(device)
            self.critic = Critic(layout, settings.width, settings.dropout).to(device)
        self._generator_adam = Adam(self.generator, settings.learning_rate, BETAS, settings.weight_decay)
        self._critic_adam = Adam(self.critic, settings.learning_rate, BETAS, 0.0)
        # derivatives of the critic's loss by the scores of actual rows, then of generated ones
        self._by_scores = torch.tensor([-1 / self._n, 1 / self._n], device=device).repeat_interleave(self._n)[:, None]
        self._sums = torch.zeros(len(LOSSES), device=device)
        if device.type == "cuda":  # torch warns where the first backward pass of a process starts with a product
            torch.zeros((), device=device, requires_grad=True).exp().backward()
        self._graph: Any = None
        self._is_captured = False

    def run(self, start: int, n_steps: int) -> dict[str, float]:
        """Take steps from a given one on; random numbers depend only on where they start. Return mean losses."""
        self.generator.train()
        with _fast_products(self.device), seeded(draw_seed(self._seed, "train", start), self.device):
            if not self._is_captured:
                self._graph, self._is_captured = self._capture(), True
            self._sums.zero_()
            for _ in range(n_steps):
                if self._graph is None:
                    self._step()
                else:
                    self._graph.replay()
            return dict(zip(LOSSES, (self._sums / n_steps).tolist(), strict=True))

    def _draw_batch(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return sources, their partners, and the partners' sensitive values."""
        drawn = torch.randint(self._pairs.shape[1], (self._n,), device=self.device)
        rows = self._pairs[:, drawn].reshape(-1)
        # one uniform number for both rows of a pair: close numbers then mostly fall into the same mode
        uniforms = torch.rand(self._n, self._values.shape[1], device=self.device).repeat(2, 1)
        both, _ = self.vectors(self._places[rows], self._values[rows], self._known[rows], uniforms)
        real = both[self._n :, : self._n_made]
        return both[: self._n], real, real[:, self._n_made - self._n_sensitive :]

    def _step(self) -> None:
        """Update the critic, then the generator; on a GPU nothing waits for the device."""
        for _ in range(self.settings.n_critic - 1):
            source, real, target = self._draw_batch()
            with torch.no_grad():
                made, _ = self._make(source, target)
            self._improve_critic(source, real, made)
        source, real, target = self._draw_batch()
        made, logits = self._make(source, target)  # one batch of rows serves both networks
        distance, penalty = self._improve_critic(source, real, made.detach())
        of_made, of_source = self.critic.enter(source)
        scores = self.critic.finish(made @ of_made.T + of_source)
        log_shares = self.generator.sensitive.log_softmax(logits[:, -self._n_sensitive :])
        with torch.no_grad():
            cross_entropy = -(log_shares * target).sum(dim=1).mean()
            self._sums += torch.stack([distance, penalty, scores.mean(), cross_entropy])
        self._generator_adam.descend((scores, log_shares), (self._by_scores[: self._n], target * (-1 / self._n)))

    def _make(self, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        noise = torch.randn(self._n, self.settings.n_noise, device=self.device)
        numbers, logits = self.generator(source, target, noise)
        return torch.cat([numbers, self.generator.soften(logits)], dim=1), logits

    def _improve_critic(self, source: Tensor, real: Tensor, made: Tensor) -> tuple[Tensor, Tensor]:
        of_made, of_source = self.critic.enter(source)
        before_real, before_made = torch.addmm(of_source, real, of_made.T), torch.addmm(of_source, made, of_made.T)
        scores = self.critic.finish(torch.cat([before_real, before_made]))
        # the first layer is linear: its output for a mixture of two rows is the mixture of its outputs
        share = torch.rand(self._n, 1, device=self.device)
        between = torch.lerp(before_made.detach(), before_real.detach(), share)
        slopes = self.critic.slopes(between, of_made)
        with torch.no_grad():  # derivatives by hand: autograd's own would take some twenty kernels more
            distance = scores[: self._n].mean() - scores[self._n :].mean()
            steepness = (slopes.square().sum(dim=1) + 1e-12).sqrt()
            beyond = steepness - 1
            penalty = PENALTY * beyond.square().mean()
            by_slopes = slopes * (beyond * (2 * PENALTY / self._n) / steepness)[:, None]
        self._critic_adam.descend((scores, slopes), (self._by_scores, by_slopes))
        return distance, penalty

    def _count_unchanged(self, segments: NDArray[np.int64]) -> list[float]:
        """Return the share of pairs in which each choice is the same on both sides."""
        n, self._n = self._n, min(self._pairs.shape[1], PAIRS_TO_LOOK_AT)
        source, real, _ = self._draw_batch()
        self._n = n
        same = (source[:, : self._n_made] * real)[:, self._n_values :].mean(dim=0).cpu().double().numpy()
        return [float(share) for share in np.bincount(segments, same)]

    def _tensors(self) -> list[Tensor]:
        """Return all numbers that training changes."""
        tensors = [*self.generator.state_dict().values(), *self.critic.state_dict().values()]
        for adam in (self._generator_adam, self._critic_adam):
            tensors += [adam.mean, adam.square, adam.n_steps]
        return tensors

    def _capture(self) -> Any:
        """Record a step as a CUDA graph, or return None where that is impossible; the state is unchanged."""
        wanted = self.settings.compile_step
        if self.device.type != "cuda" or wanted is False:
            return None
        before = [tensor.clone() for tensor in self._tensors()]
        graph: Any = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.device(self.device), seeded(draw_seed(self._seed, "warm"), self.device):
                aside = torch.cuda.Stream()
                aside.wait_stream(torch.cuda.current_stream())
                with torch.cuda.stream(aside):
                    for _ in range(N_WARM):
                        self._step()
                torch.cuda.current_stream().wait_stream(aside)
                with torch.cuda.graph(graph):
                    self._step()
        except RuntimeError as error:
            if wanted is True:
                raise
            log.warning("the training step runs without a CUDA graph: %s", error)
            graph = None
        for tensor, kept in zip(self._tensors(), before, strict=True):
            tensor.copy_(kept)
        return graph


@contextmanager
def _fast_products(device: Any) -> Iterator[None]:
    """Allow TF32 products on a GPU, and restore the caller's setting: training does not need more precision."""
    if device.type != "cuda":
        yield
        return
    products = torch.backends.cuda.matmul
    before, products.allow_tf32 = products.allow_tf32, True
    try:
        yield
    finally:
        products.allow_tf32 = before
