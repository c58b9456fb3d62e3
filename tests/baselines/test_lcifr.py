"""LCIFR: attacks stay among similar rows, the constraint is what it says, and the phases keep to themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from tests.baselines.lcifr_people import LABELS, PEOPLE, ROLES, Probe
from tests.sizes import sized
from torch import nn

from likewise.baselines._lcifr import LCIFRClassifier
from likewise.baselines._lcifr_training import (
    SensitiveColumn,
    attack_by_enumeration,
    learn_similar_rows,
)
from likewise.comparable import Comparability
from likewise.datasets import load_dataset
from likewise.exceptions import AttackFailed, LatentSpaceShrunk, RuleError, SavedModelError, SchemaError
from likewise.learning import NetworkClassifier
from likewise.nets._internal import InputCoding, build_network
from likewise.schema import Roles

CPU = torch.device("cpu")
STEPS: dict[str, Any] = {"n_iterations": sized(8, 20), "batch_size": 32, "learning_rate": 0.02, "weight_decay": 1e-4}
QUICK = STEPS | {"gamma": 1.0, "n_attack_steps": 2, "random_state": 0}


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def fit_people(**given: Any) -> LCIFRClassifier:
    return LCIFRClassifier(ROLES, **QUICK | given).fit(PEOPLE, LABELS)


@pytest.mark.long(2)
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
    first, both = (fit_people(n_consumer_iterations=n, n_iterations=20) for n in (0, 1))
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

    model = fit_people(network=encoder, n_latent=5, gamma=0.1, n_iterations=40)
    layer = model.network_[0][0]
    assert torch.equal(layer.weight, made[0])
    assert not layer.weight.requires_grad
    assert layer.bias.requires_grad


def test_gamma_brings_similar_rows_together() -> None:
    data = load_dataset("planted", n_rows=600)
    steps: dict[str, Any] = {"n_iterations": sized(50, 80), "learning_rate": 0.02, "n_attack_steps": 4}
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
    assert model.n_iter_ == STEPS["n_iterations"] + 20


def test_the_same_seed_gives_the_same_numbers() -> None:
    one, other = (fit_people().predict_proba(PEOPLE) for _ in range(2))
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
    model = fit_people(max_continuous_shift=shifts, rule=Comparability(), n_latent=np.int64(20))
    model.save(tmp_path / "model.skops")
    loaded = LCIFRClassifier.load(tmp_path / "model.skops")
    assert np.array_equal(loaded.predict_proba(PEOPLE), model.predict_proba(PEOPLE))
    assert loaded.roles == loaded.roles_ == ROLES
    assert loaded.rule == Comparability()
    assert loaded.max_continuous_shift == {"age": 0.1, "pay": 0.0}
    fit_people(network=Probe).save(tmp_path / "other.skops")
    with pytest.raises(SavedModelError, match=r"Probe.* trust"):  # it may run any code
        LCIFRClassifier.load(tmp_path / "other.skops")


def test_names_of_sensitive_columns_will_do() -> None:
    model = LCIFRClassifier(["sex", "race"], **QUICK).fit(PEOPLE, LABELS)
    assert model.roles_.sensitive == ("sex", "race")
    assert np.array_equal(model.predict_proba(PEOPLE), fit_people().predict_proba(PEOPLE))


def test_limits_are_shares_of_the_range_whatever_the_scaling() -> None:
    for scaling in ("range", "deviation"):
        coding = InputCoding.learn(PEOPLE, ROLES, scaling)
        similar = learn_similar_rows(PEOPLE, coding, ROLES, Comparability(max_continuous_shift=0.1), CPU)
        inputs = torch.from_numpy(coding.encode(PEOPLE).dense())
        shares = similar.reach_of(inputs)[0, :2].numpy() * coding.scale
        assert shares == pytest.approx([0.1, 0.1], rel=1e-6)
        assert (similar.step[:2].numpy() * coding.scale) == pytest.approx([0.1 / 6] * 2, rel=1e-6)
        assert similar.reach_of(inputs)[:, 2:].abs().max() == 0


def test_a_shift_given_outright_comes_before_that_of_the_rule() -> None:
    rule = Comparability(max_continuous_shift=0.3, must_match=("pay",))
    for shift, expected in ((None, [0.3, 0.0]), (0.1, [0.1, 0.0]), ({"age": 0.2, "pay": 0.2}, [0.2, 0.0])):
        model = LCIFRClassifier(ROLES, rule=rule, max_continuous_shift=shift)
        coding = InputCoding.learn(PEOPLE, ROLES)
        similar = learn_similar_rows(PEOPLE, coding, ROLES, model._rule(), CPU)
        inputs = torch.from_numpy(coding.encode(PEOPLE).dense())
        assert similar.reach_of(inputs)[0, :2].tolist() == pytest.approx(expected, abs=1e-6)


def test_a_binned_column_takes_a_number_of_each_bin_and_ordinal_ones_stay() -> None:
    people = PEOPLE.append_column("grade", pa.array(["low", "high"] * 30))
    roles = Roles(
        sensitive="age", discrete=["sex", "race", "job"], continuous="pay", ordinal={"grade": ["low", "high"]},
        bins={"age": (30, 40)},
    )  # fmt: skip
    coding = InputCoding.learn(people, roles)
    similar = learn_similar_rows(people, coding, roles, Comparability(max_continuous_shift=0.1), CPU)
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
    similar = learn_similar_rows(people, coding, roles, Comparability(), CPU)
    inputs = torch.from_numpy(coding.encode(people).dense())
    [number, missing] = coding.positions("age")
    seen = {tuple(row) for row in inputs[:, [number, missing]].tolist()}
    choices = {tuple(row) for row in similar.combinations(64, generator())[:, :2].tolist()}
    assert len(choices) == 4
    assert choices <= seen
    assert (0.0, 1.0) in choices
    assert similar.n_combinations == 4 * (2 if also else 1)
    encoder = build_network(inputs.shape[1], 4, (5,))
    worst = attack_by_enumeration(encoder, inputs, similar, 3, 64, generator())
    assert {tuple(row) for row in worst[:, [number, missing]].tolist()} <= choices
    LCIFRClassifier(roles, **QUICK).fit(people, LABELS)


def test_choices_fit_their_places() -> None:
    with pytest.raises(ValueError, match="give 2 numbers for each"):
        SensitiveColumn(np.arange(2), np.ones((3, 1), np.float32))


def test_a_missing_number_stays_missing() -> None:
    ages = [None if i % 3 == 0 else float(20 + i) for i in range(60)]
    people = PEOPLE.set_column(3, "age", pa.array(ages))
    roles = Roles(sensitive=["sex", "race"], discrete="job", continuous=["age", "pay"], missing={"age": "apart"})
    coding = InputCoding.learn(people, roles)
    similar = learn_similar_rows(people, coding, roles, Comparability(max_continuous_shift=0.1), CPU)
    inputs = torch.from_numpy(coding.encode(people).dense())
    worst = attack_by_enumeration(build_network(inputs.shape[1], 4, (5,)), inputs, similar, 3, 64, generator())
    moved = (worst[:, 0] != inputs[:, 0]).numpy()
    assert not moved[::3].any()
    assert moved[1::3].mean() > 0.5


def test_without_continuous_columns_there_is_no_box() -> None:
    people = PEOPLE.select(["sex", "race", "job"])
    model = LCIFRClassifier(["sex", "race"], **QUICK).fit(people, LABELS)
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
        ({"n_latent": 0}, ValueError, "n_latent is 0"),
        ({"max_combinations": 0}, ValueError, "max_combinations is 0"),
        ({"n_consumer_iterations": -3}, ValueError, "n_consumer_iterations is -3"),
        ({"n_attack_steps": None}, ValueError, "n_attack_steps is None"),
        ({"max_continuous_shift": "wide"}, RuleError, "max_continuous_shift"),
        ({"max_continuous_shift": {"age": 0.1}}, RuleError, "no limit for"),
        ({"rule": 0.1}, TypeError, "rule is a float"),
        ({"rule": Comparability(must_match=("jb",))}, RuleError, r"must_match names \['jb'\]"),
        ({"rule": Comparability(must_match=("sex",))}, RuleError, r"must_match names \['sex'\]"),
    ],
)
def test_odd_parameters_are_refused(given: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        LCIFRClassifier(**{"roles": ROLES} | QUICK | given).fit(PEOPLE, LABELS)
