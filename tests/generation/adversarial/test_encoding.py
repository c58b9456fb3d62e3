"""Rows become vectors for the networks, and come back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.sizes import sized

from likewise import CodedTable, Comparability
from likewise.generation.adversarial._encoding import LEAST_WEIGHT, DrawnRows, Encoder, Modes, RowLayout
from likewise.generation.adversarial._networks import Segments, Vectors, draw_gumbel, draw_mask

MISSING = -1e9  # how a missing number is written that is held apart


def a_table(n: int = 300, seed: int = 0) -> CodedTable:
    random = np.random.default_rng(seed)
    two_humps = np.where(random.random(n) < 0.5, random.normal(0.2, 0.03, n), random.normal(0.8, 0.03, n)).clip(0, 1)
    mostly_zero = np.where(random.random(n) < 0.9, 0.0, random.random(n))
    return CodedTable(
        sensitive=random.integers(0, [2, 3], (n, 2)),
        discrete=random.integers(0, [4, 5, 1], (n, 3)),
        ordinal=random.integers(0, 6, (n, 1)),
        matched=random.integers(0, 3, (n, 1)),
        continuous=np.column_stack([two_humps, mostly_zero, np.zeros(n)]),
        labels=random.integers(0, 2, n),
    )


def learn(table: CodedTable, rule: Comparability | None = None, **changed: Any) -> Encoder:
    return Encoder.learn(table, rule or Comparability(), **{"max_modes": 5, "spike_share": 0.1, "seed": 0, **changed})


def to_vectors(encoder: Encoder, table: CodedTable, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    rows = encoder.encode(table)
    uniforms = torch.rand(rows.values.shape, generator=torch.Generator().manual_seed(seed))
    vectors, modes = Vectors(encoder)(*map(torch.from_numpy, (rows.places, rows.values, rows.known)), uniforms)
    return vectors, modes


def read_back(encoder: Encoder, table: CodedTable, sources: CodedTable | None = None) -> CodedTable:
    """Decode the vectors of a table, as if the generator had made them of the sources."""
    vectors, modes = to_vectors(encoder, table)
    layout = encoder.layout
    segments = Segments(layout.segments, layout.steps)
    choices = segments.choose(vectors[:, layout.n_values : layout.n_made])
    sources = table if sources is None else sources
    rows, places = encoder.encode(sources), vectors[:, : layout.n_values]
    own, known = torch.from_numpy(sources.continuous), torch.from_numpy(rows.known)
    numbers = Vectors(encoder).restore(own, known, modes, places, choices[:, : layout.n_values])
    return encoder.decode(sources, rows, DrawnRows(numbers.numpy(), choices.int().numpy()))


def test_the_layout_covers_every_column_once() -> None:
    table = a_table()
    layout = learn(table).layout
    places = [place for block in layout.blocks for place in range(block.start, block.start + block.width)]
    assert places == list(range(layout.n_given))
    found = [(block.column, block.kind) for block in layout.blocks]
    assert len(set(found)) == len(found)
    expected = {(name, kind) for kind in ("sensitive", "discrete", "ordinal", "matched") for name in table.names[kind]}
    expected |= {(name, kind) for name in table.names["continuous"] for kind in ("value", "mode")}
    assert set(found) == expected
    assert RowLayout.from_dict(layout.to_dict()) == layout


def test_columns_that_the_rule_lets_not_change_are_given_not_made() -> None:
    table = a_table()
    rule = Comparability(max_discrete_changes=0, max_ordinal_shift=0, must_match=("continuous_0",))
    made = {block.column for block in learn(table, rule).layout.made}
    assert made == {"sensitive_0", "sensitive_1", "continuous_1", "continuous_2"}


def test_every_block_of_a_vector_has_a_single_one() -> None:
    encoder, table = learn(a_table()), a_table(seed=1)
    vectors, _ = to_vectors(encoder, table)
    for block in encoder.layout.blocks:
        part = vectors[:, block.start : block.start + block.width]
        if block.kind == "value":
            assert part.abs().max() <= 1
        else:
            assert torch.equal(part.sum(dim=1), torch.ones(len(table)))
            assert part.unique().tolist() in ([0, 1], [1])


@pytest.mark.parametrize("spike_share", [0.1, 2.0])
def test_rows_come_back_from_their_vectors(spike_share: float) -> None:
    table = a_table()
    back = read_back(learn(table, spike_share=spike_share), table)
    for kind in ("sensitive", "discrete", "ordinal", "matched"):
        np.testing.assert_array_equal(getattr(back, kind), getattr(table, kind))
    np.testing.assert_allclose(back.continuous, table.continuous, atol=1e-6)


def test_a_number_many_share_is_made_exactly_and_others_near_it_are_not_it() -> None:
    column = np.array([0.0] * 50 + [0.001] * 3 + np.linspace(0, 1, 50).tolist())
    table = CodedTable(sensitive=np.arange(103)[:, None] % 2, continuous=column[:, None])
    encoder = learn(table)
    assert encoder.modes.spikes[0, : encoder.modes.n_modes[0]].sum() == 1
    back = read_back(encoder, table)
    np.testing.assert_array_equal(back.continuous[column == 0], 0)
    np.testing.assert_allclose(back.continuous, table.continuous, atol=1e-6)


def test_an_unseen_category_is_an_empty_block_and_stays_in_the_antidote() -> None:
    table = a_table()
    encoder = learn(table)
    strange = CodedTable(
        **{kind: getattr(table, kind)[:4] for kind in ("sensitive", "ordinal", "matched", "continuous")},
        discrete=np.column_stack([np.full(4, 9), table.discrete[:4, 1:]]),
    )
    block = encoder.layout.find("discrete_0")
    vectors, _ = to_vectors(encoder, strange)
    assert not vectors[:, block.start : block.start + block.width].any()
    assert (read_back(encoder, table[:4], strange).discrete[:, 0] == 9).all()


def test_missing_values_held_apart_are_modes_and_ranks_of_their_own() -> None:
    table = a_table()
    continuous, ordinal = table.continuous.copy(), table.ordinal.copy()
    continuous[:40, 0], ordinal[:40, 0] = MISSING, -1_000_000
    holed = CodedTable(sensitive=table.sensitive, continuous=continuous, ordinal=ordinal)
    back = read_back(learn(holed), holed)
    np.testing.assert_array_equal(back.continuous[:40, 0], MISSING)
    np.testing.assert_array_equal(back.ordinal, ordinal)
    np.testing.assert_allclose(back.continuous[40:], continuous[40:], atol=1e-6)


def test_a_missing_value_unknown_in_training_stays_missing() -> None:
    table = a_table()
    encoder = learn(table)
    continuous = table.continuous[:5].copy()
    continuous[:, 0] = MISSING
    names = ("sensitive", "discrete", "ordinal", "matched")
    holed = CodedTable(continuous=continuous, **{name: getattr(table, name)[:5] for name in names})
    assert (read_back(encoder, table[:5], holed).continuous[:, 0] == MISSING).all()


def test_a_number_beyond_its_mode_moves_from_where_it_is() -> None:
    table = CodedTable(sensitive=[[0], [1]] * 50, continuous=np.linspace(0, 0.1, 100)[:, None])
    encoder = learn(table, max_modes=1)
    far = CodedTable(sensitive=[[0]], continuous=[[0.9]])
    np.testing.assert_allclose(read_back(encoder, far).continuous, [[0.9]], atol=1e-6)


def test_light_modes_are_pruned_and_modes_have_an_order_that_a_seed_repeats() -> None:
    column = a_table().continuous
    one, other = (Modes.learn(column, 10, 0.1, 3) for _ in range(2))
    assert (np.exp(one.log_weights[0, : one.n_modes[0]]) > LEAST_WEIGHT / 2).all()
    assert all(np.array_equal(one.to_arrays()[name], other.to_arrays()[name]) for name in one.to_arrays())
    assert one.n_modes[2] == 1


def test_a_mode_is_drawn_from_its_posterior() -> None:
    column = np.random.default_rng(0).normal(0.5, 0.1, 2000).clip(0, 1)
    table = CodedTable(sensitive=np.arange(2000)[:, None] % 2, continuous=column[:, None])
    encoder = learn(table, max_modes=3, spike_share=2.0)
    modes, value = encoder.modes, 0.52
    same = CodedTable(sensitive=np.zeros((4000, 1), int), continuous=np.full((4000, 1), value))
    density = np.exp(modes.log_weights[0] - ((value - modes.means[0]) / modes.scales[0]) ** 2 / 2) / modes.scales[0]
    _, drawn = to_vectors(encoder, same)
    shares = np.bincount(drawn.numpy().ravel(), minlength=len(density)) / 4000
    np.testing.assert_allclose(shares, density / density.sum(), atol=0.04)


@given(
    widths=st.lists(st.integers(1, 7), min_size=1, max_size=6),
    size=st.sampled_from([1.0, 30.0, 1000.0]),
    seed=st.integers(0, 99),
)
@settings(max_examples=sized(10, 40), deadline=None)
def test_one_softmax_for_all_blocks_equals_one_for_each(widths: list[int], size: float, seed: int) -> None:
    segments, steps = _segments(widths)
    torch_random = torch.Generator().manual_seed(seed)
    logits = (torch.randn(5, sum(widths), generator=torch_random) * size).double()
    logits.requires_grad_()
    whole = Segments(segments, steps).double()
    weights = torch.randn(logits.shape, generator=torch_random).double()
    expected = torch.cat([part.softmax(dim=1) for part in logits.split(widths, dim=1)], dim=1)
    made = whole.softmax(logits)
    torch.testing.assert_close(made, expected)
    (gradient,) = torch.autograd.grad((made * weights).sum(), logits)
    (wanted,) = torch.autograd.grad((expected * weights).sum(), logits)
    torch.testing.assert_close(gradient, wanted)
    logs = torch.cat([part.log_softmax(dim=1) for part in logits.split(widths, dim=1)], dim=1)
    torch.testing.assert_close(whole.log_softmax(logits), logs)
    choices = torch.stack([part.argmax(dim=1) for part in logits.split(widths, dim=1)], dim=1)
    assert torch.equal(whole.choose(logits), choices)


def _segments(widths: list[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return np.repeat(np.arange(len(widths)), widths), np.concatenate([np.arange(width) for width in widths])


def test_noise_draws_from_the_softmax_and_masks_keep_their_share() -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        logits = torch.tensor([0.0, 1.0, 2.0]).expand(20_000, 3)
        drawn = (logits + draw_gumbel(logits)).argmax(dim=1).bincount(minlength=3) / 20_000
        torch.testing.assert_close(drawn, logits[0].softmax(dim=0), atol=0.02, rtol=0)
        assert draw_mask(torch.Size([1000, 33]), 1.0, torch.device("cpu")).all()
        kept = draw_mask(torch.Size([1000, 33]), 0.5, torch.device("cpu"))
        assert kept.float().mean().item() == pytest.approx(0.5, abs=0.02)
        assert kept.float().mean(dim=0).sub(0.5).abs().max() < 0.1
