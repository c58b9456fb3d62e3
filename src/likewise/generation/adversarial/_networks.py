"""The paper's two networks (Appendix B), and rows drawn from the generator."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from likewise._random import Keys
from likewise.generation._row_tensors import RowTensors, rows_by_row
from likewise.generation.adversarial._encoding import SCALES_A_SIDE, DrawnRows, EncodedRows, Encoder, RowLayout

TEMPERATURE: Final = 0.2
LEAK: Final = 0.2
LEAST_UNIFORM: Final = 1e-10  # avoids the logarithm of 0
# start of a residual generator: how strongly each choice keeps the source's value, and how far numbers may move
Start = tuple[NDArray[np.float32], NDArray[np.float32]]

MAX_PADDING: Final = 8  # times the positions: beyond, one choice of thousands would fill the memory
SURE: Final = 0.99  # probability of the requested sensitive values at the start of a residual generator


class Segments(nn.Module):  # type: ignore[misc]  # torch counts as untyped
    """Softmax, maximum and choice within each segment of a row, for all segments at once."""

    def __init__(self, segments: NDArray[np.int64], steps: NDArray[np.int64]) -> None:
        super().__init__()
        self.n = int(segments.max(initial=-1)) + 1
        self.segment: Tensor
        self.step: Tensor
        self.belongs: Tensor
        self.register_buffer("segment", torch.from_numpy(segments), persistent=False)
        self.register_buffer("step", torch.from_numpy(steps), persistent=False)
        belongs = functional.one_hot(torch.from_numpy(segments), self.n).float()
        self.register_buffer("belongs", belongs, persistent=False)
        self.members: Tensor
        self.register_buffer("members", torch.from_numpy(_list_members(segments, self.n).T.copy()), persistent=False)

    def largest(self, logits: Tensor) -> Tensor:
        """Return the maximum of each segment."""
        # on a GPU, many threads that write to one address wait for each other
        if logits.is_cuda and self.members.numel() <= MAX_PADDING * len(self.segment):
            return logits.index_select(1, self.members.view(-1)).view(len(logits), *self.members.shape).amax(dim=1)
        lowest = torch.full((len(logits), self.n), -math.inf, dtype=logits.dtype, device=logits.device)
        return lowest.scatter_reduce_(1, self.segment.expand_as(logits), logits, "amax")

    def spread(self, numbers: Tensor) -> Tensor:
        """Return for every position the number of its segment."""
        return numbers.index_select(1, self.segment)

    def log_softmax(self, logits: Tensor) -> Tensor:
        """Return log probabilities, one distribution per segment."""
        if self.n == 1 and logits.is_cuda:  # one kernel instead of seven, each of which costs its launch
            return logits.log_softmax(dim=1)
        shifted = logits - self.spread(self.largest(logits.detach()))
        return shifted - (shifted.exp() @ self.belongs).log() @ self.belongs.T

    def softmax(self, logits: Tensor) -> Tensor:
        """Return probabilities, one distribution per segment."""
        result: Tensor = _Softmax.apply(logits, self)
        return result

    def choose(self, logits: Tensor) -> Tensor:
        """Return the step of the maximum of each segment."""
        is_largest = logits == self.spread(self.largest(logits))
        steps = torch.where(is_largest, self.step, -1)
        none = torch.full((len(logits), self.n), -1, dtype=steps.dtype, device=logits.device)
        return none.scatter_reduce_(1, self.segment.expand_as(steps), steps, "amax")


def _list_members(segments: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Return the positions of each segment, padded with the first of them."""
    widths = np.bincount(segments, minlength=n)
    starts = np.cumsum(widths) - widths
    steps = np.arange(widths.max(initial=1))
    places = np.argsort(segments, kind="stable")
    return places[starts[:, None] + np.where(steps < widths[:, None], steps, 0)] if n else np.zeros((0, 1), np.int64)


class _Softmax(torch.autograd.Function):  # type: ignore[misc]  # torch counts as untyped
    """A softmax with an explicit backward pass: sums over segments are matrix products, in a fixed order."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, segments: Segments) -> Tensor:
        exponents = (logits - segments.spread(segments.largest(logits))).exp_()
        result = exponents.mul_(segments.spread((exponents @ segments.belongs).reciprocal_()))
        ctx.save_for_backward(result)
        ctx.segments = segments
        return result

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (result,) = ctx.saved_tensors
        weighted = gradients[0] * result
        return weighted - result * ctx.segments.spread(weighted @ ctx.segments.belongs), None


def _whole_eights(n: int) -> int:
    return -(-n // 8) * 8


def draw_gumbel(like: Tensor, random: RowTensors | None = None) -> Tensor:
    """Draw noise that turns the largest logit into a draw from the softmax."""
    if random is None and like.is_cuda:  # minus the logarithm of a uniform number is an exponential one
        return torch.empty_like(like).exponential_().log_().neg_()
    uniforms = torch.rand_like(like) if random is None else random.rand(*like.shape, dtype=like.dtype)
    return uniforms.clamp_min_(LEAST_UNIFORM).log_().neg_().log_().neg_()


class Vectors(nn.Module):  # type: ignore[misc]  # torch counts as untyped
    """Turns rows into the vectors that the networks take, with a mode drawn for each number from its posterior."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        layout, modes = encoder.layout, encoder.modes
        self.n_given = layout.n_given
        self.n_numbers = len(encoder.continuous)
        values = np.array([layout.find(name, is_value=True).start for name in encoder.continuous], np.int64)
        starts = np.array([layout.find(name).start for name in encoder.continuous], np.int64)
        tensors: dict[str, NDArray[Any]] = {"value_places": values, "mode_starts": starts, "last": modes.n_modes - 1}
        tensors |= {name: getattr(modes, name).astype(np.float32) for name in ("means", "scales", "log_weights")}
        tensors["up_to"] = np.triu(np.ones((modes.means.shape[1],) * 2, np.float32))
        tensors["made"] = encoder.made_numbers
        # double precision whatever the networks have: a number that stays in place must be the source's own
        tensors["exact"] = np.stack([modes.means, SCALES_A_SIDE * modes.scales, modes.low, modes.high]).reshape(4, -1)
        for name, array in tensors.items():
            self.register_buffer(name, torch.from_numpy(array), persistent=False)
        self.value_places: Tensor
        self.mode_starts: Tensor
        self.last: Tensor
        self.means: Tensor
        self.scales: Tensor
        self.log_weights: Tensor
        self.up_to: Tensor
        self.made: Tensor
        self.exact: Tensor

    def forward(self, places: Tensor, values: Tensor, known: Tensor, uniforms: Tensor) -> tuple[Tensor, Tensor]:
        """Return vectors and the drawn modes."""
        n = len(values)
        # one extra position for unknown values; fast products need widths in multiples of eight
        vectors = torch.zeros(n, _whole_eights(self.n_given + 1), device=values.device, dtype=values.dtype)
        if not self.n_numbers:
            ones = torch.ones_like(places, dtype=values.dtype)
            return vectors.scatter_(1, places.long(), ones)[:, : self.n_given], places[:, :0]
        offset = (values[:, :, None] - self.means) / self.scales
        posterior = (self.log_weights - self.scales.log() - offset.square() / 2).softmax(dim=2)
        reached = posterior @ self.up_to  # cumulative sums; fast on a GPU as a product
        modes = (uniforms[:, :, None] >= reached).sum(dim=2).minimum(self.last)
        placed = offset.gather(2, modes[:, :, None])[:, :, 0].div(SCALES_A_SIDE).clamp_(-1, 1)
        mode_places = torch.where(known, self.mode_starts + modes, self.n_given)
        where = torch.cat([places, mode_places, self.value_places.expand(n, -1)], dim=1)
        ones = torch.ones(n, places.shape[1] + modes.shape[1], device=values.device, dtype=values.dtype)
        vectors.scatter_(1, where, torch.cat([ones, torch.where(known, placed, 0.0)], dim=1))
        return vectors[:, : self.n_given], modes

    def restore(self, own: Tensor, known: Tensor, modes: Tensor, placed: Tensor, new_modes: Tensor) -> Tensor:
        """Return generated numbers, from their places in the new modes; one that no mode represents stays."""
        own, known, modes = (given.index_select(1, self.made) for given in (own, known, modes))
        starts = self.made * self.means.shape[1]
        restored = self._read(placed.double(), starts + new_modes)
        # a number beyond its mode's reach is clipped: if its mode stays, it moves relative to where it was
        means, reaches, low, high = (one[starts + modes] for one in self.exact)
        offset = own - means
        beyond = (offset.abs() > reaches) & (new_modes == modes) & (low != high)  # a mode of one number has no reach
        moved = own + restored - self._read(offset.sign(), starts + modes)
        return torch.where(known, torch.where(beyond, moved, restored), own)

    def _read(self, placed: Tensor, where: Tensor) -> Tensor:
        means, reaches, low, high = (one[where] for one in self.exact)
        return (placed * reaches + means).maximum(low).minimum(high)


class RowGenerator(nn.Module):  # type: ignore[misc]  # torch counts as untyped
    """The generator: source, requested sensitive values and noise to a row."""

    def __init__(self, layout: RowLayout, n_noise: int, width: int, heads: str, start: Start | None) -> None:
        super().__init__()
        self.n_values, self.n_made, self.n_sensitive = layout.n_values, layout.n_made, layout.n_sensitive
        self.n_noise = n_noise
        n_used = layout.n_given + layout.n_sensitive + n_noise
        n_inputs = _whole_eights(n_used)
        self.n_idle = n_inputs - n_used
        # batch norm removes means, so a bias before it would have no effect
        self.first = nn.Sequential(nn.Linear(n_inputs, width, bias=False), nn.BatchNorm1d(width), nn.ReLU())
        self.second = nn.Sequential(nn.Linear(n_inputs + width, width, bias=False), nn.BatchNorm1d(width), nn.ReLU())
        n_last = n_inputs + 2 * width
        self.last: nn.Module = nn.Linear(n_last, self.n_made) if heads == "linear" else SlicedHeads(layout, n_last)
        self.segments = Segments(layout.segments, layout.steps)
        of_sensitive = layout.segments[layout.n_made - layout.n_values - layout.n_sensitive :]
        self.sensitive = Segments(of_sensitive - of_sensitive.min(), np.zeros_like(of_sensitive))
        self.pull: Tensor | None
        self.reach: Tensor | None
        for position, name in enumerate(("pull", "reach")):
            self.register_buffer(name, None if start is None else torch.from_numpy(start[position].copy()))
        if start is not None:  # the first rows are the sources, up to the randomness that the pull leaves
            head = self.last if isinstance(self.last, nn.Linear) else self.last.slices
            assert isinstance(head, nn.Linear)
            nn.init.zeros_(head.weight)
            nn.init.zeros_(head.bias)

    def forward(self, given: Tensor, target: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Return the numbers, and the logits of the choices."""
        inputs = torch.cat([given, target, noise, noise.new_zeros(len(noise), self.n_idle)], dim=1)
        first = self.first(inputs)
        second = self.second(torch.cat([first, inputs], dim=1))
        hidden = torch.cat([second, first, inputs], dim=1)
        # a split, as the backward pass of each slice would fill a whole row
        numbers, logits = self.last(hidden).split([self.n_values, self.n_made - self.n_values], dim=1)
        if self.pull is None:
            return numbers.tanh(), logits
        assert self.reach is not None
        choices = given[:, self.n_values : self.n_made]
        moves = numbers.tanh() * (choices[:, : len(self.reach)] @ self.reach)
        own = torch.cat([choices[:, : choices.shape[1] - self.n_sensitive], target], dim=1)
        return (given[:, : self.n_values] + moves).clamp(-1, 1), torch.addcmul(logits, own, self.pull)

    def soften(self, choices: Tensor) -> Tensor:
        """Return near one-hots from the logits of choices (Gumbel softmax)."""
        return self.segments.softmax((choices + draw_gumbel(choices.detach())) / TEMPERATURE)


def restore_weights(network: RowGenerator, weights: Mapping[str, NDArray[Any]]) -> RowGenerator:
    """Load saved weights into a network of the same shape."""
    own = network.state_dict()
    if own.keys() != weights.keys():
        raise ValueError(f"weights of {sorted(own.keys() ^ weights.keys())}")
    network.load_state_dict({name: torch.from_numpy(weights[name].copy()).reshape(own[name].shape) for name in own})
    return network


class SlicedHeads(nn.Module):  # type: ignore[misc]  # torch counts as untyped
    """Appendix B to the letter: a last hidden layer of the length of the row, and heads that see their slice."""

    def __init__(self, layout: RowLayout, n_inputs: int) -> None:
        super().__init__()
        n_made = layout.n_made
        self.hidden = nn.Sequential(nn.Linear(n_inputs, n_made), nn.BatchNorm1d(n_made), nn.ReLU())
        self.slices = nn.Linear(n_made, n_made)
        which = np.concatenate([np.arange(layout.n_values), layout.n_values + layout.segments])
        own = torch.from_numpy(which[:, None] == which[None, :]).float()
        self.own: Tensor
        self.register_buffer("own", own, persistent=False)
        with torch.no_grad():  # as wide as a head that sees so few would be
            self.slices.weight.mul_(math.sqrt(n_made) / own.sum(dim=1, keepdim=True).sqrt())

    def forward(self, hidden: Tensor) -> Tensor:
        """Return logits: all heads in one product, with zeros outside their slices."""
        return functional.linear(self.hidden(hidden), self.slices.weight * self.own, self.slices.bias)


def start_from_source(encoder: Encoder, stays: Sequence[float], limits: NDArray[np.float64]) -> Start:
    """Return a start that keeps each choice as often as actual pairs do, and moves within the rule."""
    layout = encoder.layout
    pulls: list[float] = []
    for block, stay in zip(layout.choices, stays, strict=True):
        share = SURE if block.kind == "sensitive" else min(max(stay, 0.5), 0.999)
        pulls += [math.log(max(block.width - 1, 1) * share / (1 - share))] * block.width
    modes = [block for block in layout.choices if block.kind == "mode"]
    reach = np.zeros((sum(block.width for block in modes), len(modes)), np.float32)
    for number, block in enumerate(modes):
        column = encoder.continuous.index(block.column)
        places = slice(block.start - layout.n_values, block.start - layout.n_values + block.width)
        scales = SCALES_A_SIDE * encoder.modes.scales[column, : block.width]
        reach[places, number] = np.where(encoder.modes.spikes[column, : block.width], 0.0, limits[column] / scales)
    return np.array(pulls, np.float32), reach


class Critic(nn.Module):  # type: ignore[misc]  # torch counts as untyped
    """The critic: scores a row beside its source, from the row, the source and their difference.

    The first layer is linear, so the difference needs no product: its weights are added to those of the row and
    subtracted from those of the source.
    """

    def __init__(self, layout: RowLayout, width: int, dropout: float) -> None:
        super().__init__()
        n_made, n_given = layout.n_made, layout.n_given
        self.n_more, self.dropout = n_given - n_made, dropout
        whole = nn.Linear(n_given + 2 * n_made, width)
        made, source, change = whole.weight.detach().split([n_made, n_given, n_made], dim=1)
        self.of_made = nn.Parameter(made.clone())
        self.of_source = nn.Parameter(source.clone())
        self.of_change = nn.Parameter(change.clone())
        self.bias = nn.Parameter(whole.bias.detach().clone())
        self.second = nn.Linear(width, width)
        self.last = nn.Linear(width, 1)

    def enter(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """Return the first layer's weights for a generated row, and what the source adds."""
        change = functional.pad(self.of_change, (0, self.n_more)) if self.n_more else self.of_change
        of_source = self.of_source - change
        return self.of_made + self.of_change, functional.linear(source, of_source, self.bias)

    def bend(self, before: Tensor) -> Tensor:
        """Return the factors of leaky ReLU and dropout for the output of a layer."""
        with torch.no_grad():
            if before.is_cuda:
                return functional.dropout(before.sign().clamp_min_(LEAK), self.dropout, training=True)
            share = 1 - self.dropout
            kept = draw_mask(before.shape, share, before.device).float()
            # 1 above zero and LEAK below, from the sign: far faster on a CPU than a choice
            return before.sign().mul_((1 - LEAK) / 2 / share).add_((1 + LEAK) / 2 / share).mul_(kept)

    def finish(self, before: Tensor) -> Tensor:
        """Return scores from the output of the first layer."""
        scores: Tensor = self.last(self._bent(self.second(self._bent(before))))
        return scores

    def _bent(self, before: Tensor) -> Tensor:
        if before.is_cuda:  # torch's dropout is fastest there
            return functional.dropout(functional.leaky_relu(before, LEAK), self.dropout, training=True)
        return before * self.bend(before)

    def slopes(self, before: Tensor, of_made: Tensor) -> Tensor:
        """Return the gradient of the score by the generated row; the network is piecewise linear."""
        with torch.no_grad():
            first = self.bend(before)
            second = self.bend(self.second(before * first))
        if before.is_cuda:  # weights times weights first: no sum over rows in the backward pass, and a product less
            return ((second @ (self.last.weight.T * self.second.weight)) * first) @ of_made
        return (((second * self.last.weight) @ self.second.weight) * first) @ of_made


def draw_mask(shape: torch.Size, share: float, device: torch.device) -> Tensor:
    """Draw which entries to keep, one byte each: a float each would take most of a CPU step."""
    n = math.prod(shape)
    numbers = torch.empty(-(-n // 8), dtype=torch.int64, device=device).random_(-(2**63), None)
    highest = max(round(share * 256), 1) - 1  # a byte, as 256 would be taken for 0
    return numbers.view(torch.uint8)[:n].view(shape) <= highest


CELLS_AT_A_TIME: Final = 2**27  # rows times positions, at most: tables with thousands of categories fit, too


@torch.inference_mode()  # type: ignore[untyped-decorator]  # torch counts as untyped
def draw_rows(
    generator: RowGenerator,
    vectors: Vectors,
    rows: EncodedRows,
    continuous: NDArray[np.float64],
    target_places: NDArray[np.int64],
    keys: Keys,
    *,
    likeliest: bool,
) -> DrawnRows:
    """Generate rows in batches of one size, from each row's key; they are decoded on the device."""
    device = vectors.means.device
    arrays = [rows.places, rows.values, rows.known, continuous, target_places]
    n_at_a_time = rows_by_row(device, vectors.n_given, CELLS_AT_A_TIME)
    random = RowTensors(keys, "adversarial", n_at_a_time, device)
    generator.eval()
    n = len(target_places)
    # column by column, as tables are: what is copied back needs no turning
    numbers = torch.empty(len(vectors.made), n, dtype=torch.float64)
    choices = torch.empty(generator.segments.n, n, dtype=torch.int32)
    for start in range(0, n, n_at_a_time):
        at = slice(start, start + n_at_a_time)
        given = [torch.from_numpy(random.fill(array[at])).to(device) for array in arrays]
        made = _make(generator, vectors, given, random.batch(at), likeliest)
        for whole, part in zip((numbers, choices), made, strict=True):
            whole[:, at] = part[: len(target_places[at])].T
    return DrawnRows(numbers.numpy().T, choices.numpy().T)


def _make(
    generator: RowGenerator, vectors: Vectors, given: list[Tensor], random: RowTensors, likeliest: bool
) -> tuple[Tensor, Tensor]:
    """Draw the modes of numbers, and generate numbers and choices."""
    places, values, known, own, wanted = given
    n, device = len(wanted), values.device
    source, modes = vectors(places, values, known, random.rand(*values.shape, dtype=values.dtype))
    target = torch.zeros(n, generator.n_sensitive, device=device, dtype=values.dtype).scatter_(1, wanted, 1.0)
    numbers, choices = generator(source, target, random.randn(generator.n_noise))
    chosen = generator.segments.choose(choices if likeliest else choices + draw_gumbel(choices, random))
    return vectors.restore(own, known, modes, numbers, chosen[:, : len(vectors.made)]), chosen.int()
