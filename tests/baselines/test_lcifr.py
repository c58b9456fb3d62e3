"""LCIFR: attacks stay among similar rows, the constraint is what it says, and the phases keep to themselves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from likewise.baselines._attacks import slope_of
from likewise.baselines._lcifr import LCIFRClassifier
from likewise.baselines._lcifr_training import (
    ConsumerLoss,
    ProducerLoss,
    SensitiveColumn,
    SimilarRows,
    attack_as_published,
    attack_by_enumeration,
    climb,
    latent_distance,
    learn_similar_rows,
)
from likewise.comparable import Comparability
from likewise.datasets import load_dataset
from likewise.exceptions import AttackFailed, LatentSpaceShrunk, RuleError, SavedFolderError, SchemaError
from likewise.learning import NetworkClassifier
from likewise.nets._internal import DeviceInputs, InputCoding, People, build_network, loss_of
from likewise.schema import Roles

CPU = torch.device("cpu")
STEPS: dict[str, Any] = {"n_iterations": 40, "batch_size": 32, "learning_rate": 0.02, "weight_decay": 1e-4}
QUICK = STEPS | {"gamma": 1.0, "n_attack_steps": 2, "random_state": 0}
ROLES = Roles(sensitive=["sex", "race"], discrete="job", continuous=["age", "pay"])
PEOPLE = pa.table(
    {
        "sex": ["f", "m", "f", "m", "f", "m"] * 10,
        "race": ["a", "b", "c", "a", "b", "c"] * 10,
        "job": ["cook", "smith", "cook", "cook", "smith", "smith"] * 10,
        "age": [float(20 + i % 37) for i in range(60)],
        "pay": [float(i * i % 101) for i in range(60)],
    }
)
LABELS = [int(i * i % 101 > 40 or i % 37 > 25) for i in range(60)]


def similar_rows(
    sizes: Sequence[int] = (3, 2), n_numbers: int = 2, n_fixed: int = 3, reach: float = 0.1
) -> SimilarRows:
    """Make a domain of numbers, then sensitive indicators, then others."""
    columns, start = [], n_numbers
    for size in sizes:
        columns.append(SensitiveColumn(np.arange(start, start + size), np.eye(size, dtype=np.float32), False))
        start += size
    moves = np.array([reach] * n_numbers + [0.0] * (sum(sizes) + n_fixed))
    return SimilarRows(columns, moves, moves / 6, np.empty((0, 2), np.intp), CPU)


def draw_rows(n: int, sizes: Sequence[int] = (3, 2), n_numbers: int = 2, n_fixed: int = 3) -> torch.Tensor:
    groups = [torch.eye(size)[torch.randint(size, (n,))] for size in sizes]
    return torch.cat([torch.rand(n, n_numbers), *groups, torch.rand(n, n_fixed)], dim=1)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def fit_people(**given: Any) -> LCIFRClassifier:
    return LCIFRClassifier(ROLES, **QUICK | given).fit(PEOPLE, LABELS)


@given(st.integers(0, 10_000), st.integers(0, 4), st.sampled_from([(2,), (3, 2), (4, 2, 3)]), st.integers(0, 3))
@settings(max_examples=25)
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


def test_steps_never_lose_what_the_combination_won() -> None:
    torch.manual_seed(2)
    rows, similar, encoder = draw_rows(50), similar_rows(), build_network(10, 4, (5,))
    distance = latent_distance(encoder, rows)
    without, by_steps = (
        distance(attack_by_enumeration(encoder, rows, similar, n_steps, 64, generator())) for n_steps in (0, 10)
    )
    assert (by_steps >= without).all()
    assert (by_steps > without).float().mean() > 0.9


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


def test_the_published_attack_stays_in_its_own_domain() -> None:
    torch.manual_seed(3)
    rows, similar, encoder = draw_rows(40), similar_rows(), build_network(10, 4, (5,))
    far = attack_as_published(encoder, rows, similar, 5, 1e6, generator())
    assert (far[:, :2] - rows[:, :2]).abs().max() <= 0.1 + 1e-4 + 1e-6
    assert torch.equal(far[:, 7:], rows[:, 7:])
    for group in far[:, 2:7].split((3, 2), dim=1):
        torch.testing.assert_close(group.abs().sum(dim=1), torch.ones(40))
    # beyond delta nothing moves: a random combination is all that is tried
    at_once = attack_as_published(encoder, rows, similar, 5, 0.0, generator())
    assert torch.equal(at_once, attack_as_published(encoder, rows, similar, 0, 0.0, generator()))
    assert set(at_once[:, 2:7].unique().tolist()) == {0.0, 1.0}


def test_the_published_attack_walks_away_to_the_end_of_its_box() -> None:
    torch.manual_seed(3)
    rows, similar, encoder = draw_rows(40), similar_rows(), nn.Linear(10, 1)
    far = attack_as_published(encoder, rows, similar, 50, 1e6, generator())
    assert (far[:, :2] - rows[:, :2]).abs() == pytest.approx(torch.full((40, 2), 0.1 + 1e-4), abs=1e-6)
    uphill = (encoder(far) - encoder(rows)).sign() * encoder.weight[:, :2].sign()
    assert torch.equal((far - rows)[:, :2].sign(), uphill)
    assert far[:, 2:5].abs() == pytest.approx(torch.full((40, 3), 1 / 3), abs=1e-6)  # no longer indicators


def test_a_row_has_the_same_slope_alone_and_among_others() -> None:
    torch.manual_seed(4)
    rows, encoder = draw_rows(20), build_network(10, 4, (5,))
    others = rows + 0.1 * torch.rand_like(rows)
    _, together = slope_of(latent_distance(encoder, rows), others)
    _, alone = slope_of(latent_distance(encoder, rows[3:4]), others[3:4])
    torch.testing.assert_close(together[3:4], alone)


class Probe(nn.Module):  # type: ignore[misc]  # torch is not followed when types are checked
    """An encoder that draws, keeps statistics, and notes in what mode it ran."""

    def __init__(self, n_inputs: int, n_latent: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(n_inputs, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.ReLU(), nn.Linear(8, n_latent)
        )
        self.modes: list[bool] = []

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        self.modes.append(self.training)
        return self.layers(inputs)


@pytest.mark.parametrize("attack", ["enumerate", "dl2"])
def test_an_attack_leaves_the_network_as_it_was(attack: str) -> None:
    torch.manual_seed(5)
    rows, similar, encoder = draw_rows(12), similar_rows(), Probe(10, 4)
    encoder.layers[0].weight.requires_grad_(False)
    encoder.layers[2].eval()
    before = {name: value.clone() for name, value in encoder.state_dict().items()}
    state = torch.get_rng_state()
    if attack == "enumerate":
        worst = attack_by_enumeration(encoder, rows, similar, 3, 64, generator())
    else:
        worst = attack_as_published(encoder, rows, similar, 3, 1.0, generator())
    assert not any(encoder.modes)
    assert not worst.requires_grad
    assert [part.training for part in encoder.layers] == [True, True, False, True, True]
    assert all(torch.equal(value, before[name]) for name, value in encoder.state_dict().items())
    assert all(one.grad is None for one in encoder.parameters())
    assert [one.requires_grad for one in encoder.parameters()] == [False, True, True, True, True, True]
    assert torch.equal(torch.get_rng_state(), state)


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


def test_more_classes_are_attacked_in_twenty_steps_of_a_tenth(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[Any] = []

    def walk(height: Any, start: torch.Tensor, start_height: torch.Tensor, *given: Any) -> Any:
        taken.append(given[:3])
        return climb(height, start, start_height, *given)

    monkeypatch.setattr("likewise.baselines._lcifr_training.climb", walk)
    torch.manual_seed(6)
    people, latents, classifier = _people(), torch.randn(60, 4), nn.Linear(4, 3)
    loss = ConsumerLoss(classifier, latents, people, 0.5, generator()).loss(torch.arange(60))
    assert taken == [(0.5, 0.05, 20)]
    assert loss.item() > loss_of(classifier(latents), people.labels).mean().item() + 0.1


@pytest.mark.filterwarnings("ignore::likewise.exceptions.LatentSpaceShrunk")  # of a delta that is meant to be too large
@pytest.mark.parametrize("given", [{"gamma": 0.0}, {"gamma": 7.0, "delta": 1e9}], ids=["no gamma", "no excess"])
@pytest.mark.parametrize("own", [None, Probe], ids=["own encoder", "dropout and batch norm"])
def test_without_effect_the_first_phase_is_plain_training(given: dict[str, float], own: Any) -> None:
    model = fit_people(n_consumer_iterations=0, network=own, **given)

    def network(n_inputs: int, n_outputs: int) -> nn.Module:
        encoder = build_network(n_inputs, 20, (20,)) if own is None else own(n_inputs, 20)
        return nn.Sequential(encoder, nn.Linear(20, n_outputs))

    plain = NetworkClassifier(roles=ROLES, network=network, optimizer="adam", random_state=0, **STEPS).fit(
        PEOPLE, LABELS
    )
    ours, theirs = model.network_.state_dict(), plain.network_.state_dict()
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_the_encoder_is_frozen_in_the_second_phase() -> None:
    first, both = fit_people(n_consumer_iterations=0), fit_people(n_consumer_iterations=20)
    ours, theirs = first.network_.state_dict(), both.network_.state_dict()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours if name.startswith("0."))
    assert not torch.equal(ours["1.weight"], theirs["1.weight"])
    assert all(one.requires_grad for one in both.network_.parameters())
    assert not both.network_.training


def test_the_second_phase_has_a_classifier_of_its_own() -> None:
    first, both = fit_people(n_consumer_iterations=0), fit_people(n_consumer_iterations=1)
    apart = (first.network_[1].weight - both.network_[1].weight).abs()
    assert apart.max() > 5 * STEPS["learning_rate"]  # further than a step of Adam goes


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda n_inputs, n_latent: nn.Linear(n_inputs, n_latent + 1), "20 outputs per row"),
        (lambda n_inputs, n_latent: nn.Linear(n_inputs + 1, n_latent), "does not accept rows of 9 inputs"),
        (lambda n_inputs, n_latent: "encoder", "network returned a str"),
    ],
)
def test_an_encoder_that_does_not_fit_is_refused(made: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        fit_people(network=made)


def test_an_encoder_may_be_frozen_as_a_whole() -> None:
    model = fit_people(network=lambda n_inputs, n_latent: nn.Linear(n_inputs, n_latent).requires_grad_(False))
    assert not any(one.requires_grad for one in model.network_[0].parameters())
    assert model.score(PEOPLE, LABELS) > 0.5


def test_what_the_user_froze_stays_frozen() -> None:
    made = []

    def encoder(n_inputs: int, n_latent: int) -> nn.Module:
        network = build_network(n_inputs, n_latent, (6,))
        network[0].weight.requires_grad_(False)
        made.append(network[0].weight.clone())
        return network

    model = fit_people(network=encoder, n_latent=5, gamma=0.1)
    layer = model.network_[0][0]
    assert torch.equal(layer.weight, made[0])
    assert not layer.weight.requires_grad
    assert layer.bias.requires_grad


def test_gamma_brings_similar_rows_together() -> None:
    data = load_dataset("planted")
    steps: dict[str, Any] = {"n_iterations": 80, "learning_rate": 0.02, "n_attack_steps": 4}
    ends = {}
    for gamma in (0.0, 10.0):
        model = LCIFRClassifier(data.roles, gamma=gamma, n_consumer_iterations=0, random_state=0, **steps)
        ends[gamma] = model.fit(data.train.X, data.train.y).history_[-1]
    assert ends[10.0]["constraint_loss"] < 0.1 * ends[0.0]["constraint_loss"]
    # not by shrinking alone
    apart = {gamma: end["attack_gain"] / end["latent_spread"] for gamma, end in ends.items()}
    assert apart[10.0] < 0.5 * apart[0.0]


def test_the_history_tells_of_both_phases() -> None:
    model = fit_people(n_consumer_iterations=20)
    phases = [record["phase"] for record in model.history_]
    assert phases == sorted(phases, reverse=True)
    assert set(phases) == {"producer", "consumer"}
    assert {"constraint_loss", "latent_spread", "attack_gain", "score_spread"} <= model.history_[0].keys()
    assert model.history_[-1]["attack_gain"] > 0
    assert model.history_[-1]["iteration"] == 20
    assert model.n_iter_ == 60


@pytest.mark.parametrize("attack", ["enumerate", "dl2"])
def test_the_same_seed_gives_the_same_numbers(attack: str) -> None:
    one, other = (fit_people(attack=attack).predict_proba(PEOPLE) for _ in range(2))
    assert np.array_equal(one, other)


def test_it_learns_more_than_two_classes() -> None:
    labels = ["low", "middle", "high"] * 20
    model = LCIFRClassifier(ROLES, **QUICK).fit(PEOPLE, labels)
    shares = model.predict_proba(PEOPLE)
    assert shares.shape == (60, 3)
    assert np.allclose(shares.sum(axis=1), 1)
    assert model.history_[-1]["attack_gain"] > 0


def test_a_saved_model_predicts_the_same(tmp_path: Path) -> None:
    shifts = {"age": np.float64(0.1), "pay": np.float32(0.0)}
    model = fit_people(max_continuous_shift=shifts, comparability=Comparability(), n_latent=np.int64(20))
    model.save(tmp_path / "model")
    loaded = LCIFRClassifier.load(tmp_path / "model", device="cpu")
    assert np.array_equal(loaded.predict_proba(PEOPLE), model.predict_proba(PEOPLE))
    assert loaded.roles == loaded.roles_ == ROLES
    assert loaded.comparability == Comparability()
    assert loaded.max_continuous_shift == {"age": 0.1, "pay": 0.0}
    with pytest.raises(SavedFolderError, match="function of yours"):
        fit_people(network=Probe).save(tmp_path / "other")


def test_names_of_sensitive_columns_will_do() -> None:
    model = LCIFRClassifier(["sex", "race"], **QUICK).fit(PEOPLE, LABELS)
    assert model.roles_.sensitive == ("sex", "race")
    assert np.array_equal(model.predict_proba(PEOPLE), fit_people().predict_proba(PEOPLE))


def test_limits_are_shares_of_the_range_whatever_the_scaling() -> None:
    for scaling in ("range", "deviation"):
        coding = InputCoding.learn(PEOPLE, ROLES, scaling)
        similar = learn_similar_rows(PEOPLE, coding, ROLES, Comparability(max_continuous_shift=0.1), None, CPU)
        inputs = torch.from_numpy(coding.encode(PEOPLE).dense())
        shares = similar.reach_of(inputs)[0, :2].numpy() * coding.scale
        assert shares == pytest.approx([0.1, 0.1], rel=1e-6)
        assert (similar.step[:2].numpy() * coding.scale) == pytest.approx([0.1 / 6] * 2, rel=1e-6)
        assert similar.reach_of(inputs)[:, 2:].abs().max() == 0


def test_a_shift_given_outright_comes_before_that_of_the_rule() -> None:
    rule = Comparability(max_continuous_shift=0.3, must_match=("pay",))
    for shift, expected in ((None, [0.3, 0.0]), (0.1, [0.1, 0.0]), ({"age": 0.2, "pay": 0.2}, [0.2, 0.0])):
        model = LCIFRClassifier(ROLES, comparability=rule, max_continuous_shift=shift)
        coding = InputCoding.learn(PEOPLE, ROLES)
        similar = learn_similar_rows(PEOPLE, coding, ROLES, model._rule(), None, CPU)
        inputs = torch.from_numpy(coding.encode(PEOPLE).dense())
        assert similar.reach_of(inputs)[0, :2].tolist() == pytest.approx(expected, abs=1e-6)


def test_a_binned_column_takes_a_number_of_each_bin_and_ordinal_ones_stay() -> None:
    people = PEOPLE.append_column("grade", pa.array(["low", "high"] * 30))
    roles = Roles(
        sensitive="age", discrete=["sex", "race", "job"], continuous="pay", ordinal={"grade": ["low", "high"]},
        bins={"age": (30, 40)},
    )  # fmt: skip
    coding = InputCoding.learn(people, roles)
    similar = learn_similar_rows(people, coding, roles, Comparability(max_continuous_shift=0.1), None, CPU)
    numbers, ages = coding.encode(people).numbers[:, coding.positions("age")[0]], np.array(people["age"])
    values = similar.combinations(64, generator())
    assert set(values[:, 0].tolist()) <= set(numbers.tolist())
    groups = [numbers[ages < 30], numbers[(ages >= 30) & (ages < 40)], numbers[ages >= 40]]
    medians = [np.quantile(group, 0.5, method="lower") for group in groups]
    assert values[:, 0].tolist() == pytest.approx(medians)
    inputs = torch.from_numpy(coding.encode(people).dense())
    worst = attack_by_enumeration(build_network(inputs.shape[1], 4, (5,)), inputs, similar, 3, 64, generator())
    assert set(worst[:, coding.positions("age")[0]].tolist()) <= set(values[:, 0].tolist())
    assert torch.equal(worst[:, coding.positions("grade")], inputs[:, coding.positions("grade")])


@pytest.mark.parametrize("also", [(), ("sex",)])
def test_a_binned_column_may_also_be_missing_as_a_whole(also: tuple[str, ...]) -> None:
    ages = [None if i % 5 == 0 else float(20 + i) for i in range(60)]
    people = PEOPLE.set_column(3, "age", pa.array(ages))
    roles = Roles(
        sensitive=["age", *also], discrete=[name for name in ("sex", "race", "job") if name not in also],
        continuous="pay", bins={"age": (40, 60)},
    )  # fmt: skip
    coding = InputCoding.learn(people, roles)
    similar = learn_similar_rows(people, coding, roles, Comparability(), None, CPU)
    inputs = torch.from_numpy(coding.encode(people).dense())
    [number, missing] = coding.positions("age")
    seen = {tuple(row) for row in inputs[:, [number, missing]].tolist()}
    choices = {tuple(row) for row in similar.combinations(64, generator())[:, :2].tolist()}
    assert len(choices) == 4
    assert choices <= seen
    assert (0.0, 1.0) in choices
    assert similar.n_combinations == 4 * (2 if also else 1)
    encoder = build_network(inputs.shape[1], 4, (5,))
    for worst in (
        attack_by_enumeration(encoder, inputs, similar, 3, 64, generator()),
        attack_as_published(encoder, inputs, similar, 3, 0.1, generator()),
    ):
        assert {tuple(row) for row in worst[:, [number, missing]].tolist()} <= choices
    LCIFRClassifier(roles, **QUICK).fit(people, LABELS)


def test_choices_fit_their_places() -> None:
    with pytest.raises(ValueError, match="give 2 numbers for each"):
        SensitiveColumn(np.arange(2), np.ones((3, 1), np.float32), True)


def test_a_missing_number_stays_missing() -> None:
    ages = [None if i % 3 == 0 else float(20 + i) for i in range(60)]
    people = PEOPLE.set_column(3, "age", pa.array(ages))
    roles = Roles(sensitive=["sex", "race"], discrete="job", continuous=["age", "pay"], missing={"age": "apart"})
    coding = InputCoding.learn(people, roles)
    similar = learn_similar_rows(people, coding, roles, Comparability(max_continuous_shift=0.1), None, CPU)
    inputs = torch.from_numpy(coding.encode(people).dense())
    worst = attack_by_enumeration(build_network(inputs.shape[1], 4, (5,)), inputs, similar, 3, 64, generator())
    moved = (worst[:, 0] != inputs[:, 0]).numpy()
    assert not moved[::3].any()
    assert moved[1::3].mean() > 0.5


@pytest.mark.parametrize("attack", ["enumerate", "dl2"])
def test_without_continuous_columns_there_is_no_box(attack: str) -> None:
    people = PEOPLE.select(["sex", "race", "job"])
    model = LCIFRClassifier(["sex", "race"], attack=attack, **QUICK).fit(people, LABELS)
    assert model.history_[0]["attack_gain"] > 0


@pytest.mark.filterwarnings("ignore::likewise.exceptions.ScoresCollapsed")
def test_it_warns_of_an_attack_that_finds_nothing() -> None:
    people = PEOPLE.set_column(0, "sex", pa.array(["f"] * 60)).drop_columns(["race", "age", "pay"])
    roles = Roles(sensitive="sex", discrete="job")
    with pytest.warns(AttackFailed, match="found no similar row") as told:
        LCIFRClassifier(roles, **QUICK).fit(people, LABELS)
    assert {one.filename for one in told} == {__file__}
    with pytest.warns(AttackFailed, match="found no similar row"):  # of less than an epoch, too
        LCIFRClassifier(roles, **QUICK | {"n_iterations": 1}).fit(people, LABELS)


@pytest.mark.filterwarnings("ignore::likewise.exceptions.ScoresCollapsed")
def test_it_warns_of_a_latent_space_that_is_no_larger_than_delta() -> None:
    with pytest.warns(LatentSpaceShrunk, match="standard deviation"):
        fit_people(delta=10.0)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"roles": None}, SchemaError, "No column is sensitive"),
        ({"roles": Roles(continuous=["age"])}, SchemaError, "No column is sensitive"),
        ({"gamma": -1}, ValueError, "gamma is -1"),
        ({"delta": float("nan")}, ValueError, "delta is nan"),
        ({"attack": "pgd"}, ValueError, "attack is 'pgd'"),
        ({"n_latent": 0}, ValueError, "n_latent is 0"),
        ({"max_combinations": 0}, ValueError, "max_combinations is 0"),
        ({"n_consumer_iterations": -3}, ValueError, "n_consumer_iterations is -3"),
        ({"n_attack_steps": None}, ValueError, "n_attack_steps is None"),
        ({"attack_step": 0.0}, ValueError, "attack_step is 0.0"),
        ({"max_continuous_shift": "wide"}, RuleError, "max_continuous_shift"),
        ({"max_continuous_shift": {"age": 0.1}}, RuleError, "no limit for"),
        ({"comparability": 0.1}, TypeError, "comparability is a float"),
        ({"comparability": Comparability(must_match=("jb",))}, RuleError, r"must_match names \['jb'\]"),
        ({"comparability": Comparability(must_match=("sex",))}, RuleError, r"must_match names \['sex'\]"),
    ],
)
def test_odd_parameters_are_refused(given: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        LCIFRClassifier(**{"roles": ROLES} | QUICK | given).fit(PEOPLE, LABELS)


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
