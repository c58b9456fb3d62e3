"""SenSR: it fits the worst case of every row, and nothing but that."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from tests.sizes import sized
from torch import nn

from likewise._random import stream
from likewise.baselines import SenSRClassifier
from likewise.baselines._attacks import AttackedLoss, PricedAttacks, Steps, SubspaceMetric, attack_in_two_stages
from likewise.baselines._subspace import LEAST, Penalty, group_rows, learn_subspace
from likewise.exceptions import AttackFailed, PenaltyAtLimit, SchemaError, ScoresCollapsed
from likewise.learning import NetworkClassifier
from likewise.nets._internal import loss_of
from likewise.schema import Roles
from likewise.schema._internal import hold_out, take_labels

QUICK: dict[str, Any] = {
    **{"hidden": (16,), "n_iterations": sized(5, 20), "batch_size": 64, "optimizer": "adam", "learning_rate": 0.02},
    **{"weight_decay": 1e-4, "random_state": 0},
}
LONGER = QUICK | {"n_iterations": 20}


def test_sensitive_differences_count_less_than_without(applicants: Any, gap_of: Any) -> None:
    settings = QUICK | {"n_iterations": 120}
    plain = NetworkClassifier(**settings).fit(*applicants)
    robust = SenSRClassifier("sex", **settings).fit(*applicants)
    assert gap_of(plain, applicants[0]) > 0.4
    assert gap_of(robust, applicants[0]) < 0.15
    assert robust.score(*applicants) > 0.65


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_a_step_is_plain_where_the_attack_finds_nothing(n_outputs: int) -> None:
    random = np.random.default_rng(0)
    basis = np.linalg.qr(random.normal(size=(6, 2)))[0].T
    network = nn.Linear(6, n_outputs)
    with torch.no_grad():
        weights = random.normal(size=(n_outputs, 6))
        network.weight[:] = torch.tensor(weights - (weights @ basis.T) @ basis)
    inputs, weights = torch.tensor(random.random((30, 6)), dtype=torch.float32), torch.rand(30)
    labels = torch.tensor(random.integers(0, max(n_outputs, 2), 30))
    batch: Any = SimpleNamespace(batch=lambda rows: (inputs[rows], labels[rows], weights[rows]))
    penalty = Penalty(2.0, 1e-3, 0.0, inputs)
    attack = partial(
        attack_in_two_stages, metric=SubspaceMetric(basis, inputs), inside=Steps(10, 0.1), everywhere=Steps(0, 1.0)
    )
    loss = AttackedLoss(network, batch, PricedAttacks(network, attack, penalty))
    attacked, plain = loss.loss(torch.arange(30)), (weights * loss_of(network(inputs), labels)).mean()
    assert torch.equal(attacked, plain)
    for ours, theirs in zip(
        torch.autograd.grad(attacked, list(network.parameters())),
        torch.autograd.grad(plain, list(network.parameters())),
        strict=True,
    ):
        assert torch.equal(ours, theirs)
    assert loss.report() == {"lambda": 2.0, "attack_gain": 0.0, "mean_distance": 0.0}


@pytest.mark.long(2)
@pytest.mark.parametrize("variant", ["two_stage", "single_stage"])
def test_the_history_tells_of_attacks(applicants: Any, variant: str) -> None:
    model = SenSRClassifier("sex", variant=variant, full_step=0.02, epsilon=0.01, **QUICK | {"n_iterations": 60}).fit(
        *applicants
    )
    assert len(model.history_) >= 50
    for record in model.history_:
        assert {"lambda", "mean_distance", "attack_gain", "score_spread"} <= record.keys()
        assert np.isfinite([record["lambda"], record["mean_distance"], record["attack_gain"]]).all()
    assert model.history_[-1]["attack_gain"] > 0
    assert 0.001 < model.history_[-1]["mean_distance"] < 0.1
    assert model.subspace_.rank == 3
    assert model.roles_.sensitive == ("sex",)


@pytest.mark.long(2)
@pytest.mark.filterwarnings("ignore::likewise.exceptions.ScoresCollapsed")  # of a single stage, on so few inputs
@pytest.mark.parametrize("variant", ["two_stage", "single_stage"])
def test_the_same_seed_gives_the_same_network(applicants: Any, variant: str) -> None:
    models = [SenSRClassifier("sex", variant=variant, **QUICK).fit(*applicants) for _ in range(2)]
    first, second = (model.predict_proba(applicants[0]) for model in models)
    assert np.array_equal(first, second)


def test_more_classes_than_two(applicants: Any) -> None:
    frame, _ = applicants
    y = np.digitize(frame["skill"] + 0.3 * (frame["sex"] == "m"), [0.4, 0.8])
    model = SenSRClassifier("sex", **QUICK | {"n_iterations": sized(40, 80)}).fit(frame, y)
    assert model.predict_proba(frame).shape == (400, 3)
    assert model.score(frame, y) > 0.6


def test_rows_of_no_weight_play_no_part(applicants: Any) -> None:
    frame, y = applicants
    flipped = np.where(np.arange(400) < 200, y, np.where(y == "hired", "not", "hired"))
    some = (np.arange(400) < 200).astype(float)
    model = SenSRClassifier("sex", **QUICK | {"n_iterations": sized(40, 80)}).fit(frame, flipped, sample_weight=some)
    assert model.score(frame, y) > 0.65


def test_names_of_sensitive_columns_do_as_well_as_roles(applicants: Any) -> None:
    roles = Roles(sensitive="sex", discrete="town", continuous=["height", "skill"])
    by_name, by_roles = (SenSRClassifier(given, **QUICK).fit(*applicants) for given in ("sex", roles))
    assert by_name.roles_.sensitive == by_roles.roles_.sensitive
    assert np.allclose(by_name.predict_proba(applicants[0]), by_roles.predict_proba(applicants[0]))


def test_a_saved_model_predicts_the_same(applicants: Any, tmp_path: Path) -> None:
    model = SenSRClassifier("sex", **QUICK).fit(*applicants)
    model.save(tmp_path / "model.skops")
    loaded = SenSRClassifier.load(tmp_path / "model.skops")
    assert np.array_equal(loaded.predict_proba(applicants[0]), model.predict_proba(applicants[0]))
    assert loaded.history_ == model.history_
    assert loaded.get_params() == model.get_params()
    assert loaded.roles_ == model.roles_
    again = loaded.set_params(device="cpu").fit(*applicants)
    assert np.array_equal(again.predict_proba(applicants[0]), model.predict_proba(applicants[0]))


def test_frozen_layers_stay_frozen(applicants: Any) -> None:
    def build(n_inputs: int, n_outputs: int) -> nn.Module:
        network = nn.Sequential(nn.Linear(n_inputs, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, n_outputs))
        network[0].requires_grad_(False)
        made.append(network[0].weight.clone())
        return network

    made: list[torch.Tensor] = []
    model = SenSRClassifier("sex", network=build, subspace_step=0.01, **QUICK).fit(*applicants)
    assert torch.equal(model.network_[0].weight, made[0])


@pytest.mark.long(6)
@pytest.mark.filterwarnings("ignore::likewise.exceptions.ScoresCollapsed")  # of a single stage, on so few inputs
@pytest.mark.parametrize(
    ("given", "start", "epsilon", "step"),
    [
        ({}, 2.0, 3e-5, None),
        ({"epsilon": 0.004, "full_step": 0.02, "lambda_start": 0.5}, 0.5, 0.004, None),
        ({"variant": "single_stage"}, 1.0, 0.1, 1.0),
        ({"variant": "single_stage", "epsilon": 0.3, "lambda_start": 3.0, "lambda_step": 2.5}, 3.0, 0.3, 2.5),
        ({"n_full_steps": 0}, 2.0, 3e-5, 0.0),
    ],
)
def test_the_weight_of_distance_takes_the_way_of_its_variant(
    applicants: Any, lambda_path: Any, given: dict[str, Any], start: float, epsilon: float, step: float | None
) -> None:
    model = SenSRClassifier("sex", **QUICK | {"n_iterations": 40} | given).fit(*applicants)
    assert model.subspace_.n_counted == 3  # six inputs, less sex, which is two of them, and the direction that tells it
    path = [record["lambda"] for record in model.history_]
    assert len(path) == 40
    assert path == pytest.approx(lambda_path(model.history_, start, epsilon, step), rel=1e-4)
    assert len(set(path)) > 20 or step == 0


@pytest.mark.long(2)
@pytest.mark.filterwarnings("ignore::likewise.exceptions.ScoresCollapsed")  # of a single stage, on so few inputs
@pytest.mark.parametrize(("variant", "wanted"), [("two_stage", 1e-3), ("single_stage", 0.05)])
def test_each_variant_has_steps_of_its_own(applicants: Any, variant: str, wanted: float) -> None:
    by_default, outright = (
        SenSRClassifier("sex", variant=variant, full_step=step, **QUICK).fit(*applicants) for step in (None, wanted)
    )
    assert np.array_equal(by_default.predict_proba(applicants[0]), outright.predict_proba(applicants[0]))


@pytest.mark.long(2)
@pytest.mark.parametrize("given", [{}, {"patience": 20, "validation_fraction": 0.3}])
def test_only_rows_that_are_fitted_to_teach_the_subspace(applicants: Any, given: dict[str, Any]) -> None:
    frame, y = applicants
    weights = np.where(np.arange(400) < 150, 0.0, 1.0 + (np.arange(400) % 3))
    misled = frame.assign(height=np.where(weights > 0, frame["height"], 1 - frame["height"]))
    model = SenSRClassifier("sex", **QUICK | given).fit(misled, y, sample_weight=weights)
    held_out: Any = hold_out(take_labels(y)[0], 0.3, stream(0, "held out")) if given else []
    rows = np.setdiff1d(np.flatnonzero(weights), held_out)
    inputs = model.coding_.encode(misled).dense()
    [group] = group_rows(misled, model.roles_, model.coding_)
    wanted = learn_subspace(inputs[rows], [group._replace(codes=group.codes[rows])], amounts=weights[rows])
    assert np.allclose(model.subspace_.projector, wanted.projector, atol=1e-5)
    assert model.subspace_.accuracy == pytest.approx(wanted.accuracy)
    assert model.subspace_.accuracy["sex"] > 0.9


def test_whole_numbers_that_count_the_rows_are_learned_from(applicants: Any) -> None:
    frame, y = applicants
    frame = frame.assign(rank=np.random.default_rng(0).permutation(400), note=[f"note {i}" for i in range(400)])
    model, plain = SenSRClassifier("sex", **QUICK), NetworkClassifier(**QUICK)
    assert "rank" in model.fit(frame, y).coding_.names
    assert set(plain.fit(frame, y).coding_.names) == set(model.coding_.names)
    left_out = Roles(sensitive="sex", ignored="rank")
    assert "rank" not in SenSRClassifier(left_out, **QUICK).fit(frame, y).coding_.names


def test_collapsed_scores_are_all_that_is_told_of(applicants: Any) -> None:
    far = LONGER | {"weight_decay": 1.0, "subspace_step": 10.0, "lambda_start": 1e-4}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = SenSRClassifier("sex", epsilon=1.0, **far).fit(*applicants)
    assert model.history_[-1]["lambda"] == pytest.approx(LEAST)
    assert [one.category for one in told if one.category is not AttackFailed] == [ScoresCollapsed]


def test_a_loaded_model_knows_its_roles(applicants: Any, tmp_path: Path) -> None:
    for given in ("sex", ["sex"], Roles(sensitive="sex"))[sized(1, 0) :]:
        model = SenSRClassifier(given, **QUICK).fit(*applicants)
        path = tmp_path / f"{type(given).__name__}.skops"
        model.save(path)
        loaded = SenSRClassifier.load(path)
        assert loaded.get_params()["roles"] == given
        assert loaded.roles_ == model.roles_


def test_attacks_that_cannot_keep_their_distance_are_told_of(applicants: Any) -> None:
    fast = LONGER | {"lambda_start": 999.0, "lambda_step": 100.0}
    with pytest.warns(PenaltyAtLimit, match=r"upper limit, 1000: .* Raise epsilon, or lower full_step \(0.2\)"):
        SenSRClassifier("sex", variant="single_stage", epsilon=1e-9, full_step=0.2, start_noise=0.1, **fast).fit(
            *applicants
        )
    with pytest.warns(PenaltyAtLimit, match=r"lower limit, 1e-05: .* Lower epsilon, or raise full_step \(1e-06\)"):
        SenSRClassifier("sex", epsilon=1.0, full_step=1e-6, lambda_start=0.1, **LONGER).fit(*applicants)


def test_attacks_that_gain_nothing_are_told_of(applicants: Any) -> None:
    def build(n_inputs: int, n_outputs: int) -> nn.Module:
        network = nn.Linear(n_inputs, n_outputs)
        with torch.no_grad():
            network.weight.zero_()
        network.weight.requires_grad_(False)
        return network

    with (
        pytest.warns(AttackFailed, match="gained nothing"),
        pytest.warns(ScoresCollapsed, match="lower subspace_step"),
    ):
        SenSRClassifier("sex", network=build, n_full_steps=0, **LONGER).fit(*applicants)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"roles": None}, "No column is sensitive"),
        ({"roles": Roles(continuous="skill")}, "No column is sensitive"),
        ({"roles": "sx"}, "no column 'sx'"),
        ({"variant": "three_stage"}, "choose one of 'two_stage', 'single_stage'"),
        ({"n_subspace_steps": -1}, "n_subspace_steps is -1"),
        ({"subspace_step": 0}, "subspace_step is 0"),
        ({"full_step": float("nan")}, "full_step is nan"),
        ({"epsilon": 0.0}, "epsilon is 0.0"),
        ({"lambda_start": 2_000}, "lambda_start is 2000"),
        ({"start_noise": 0}, "start_noise is 0"),
        ({"n_subspace_steps": 0, "n_full_steps": 0}, "there is no attack"),
        ({"variant": "single_stage", "n_full_steps": 0}, "there is no attack"),
    ],
)
def test_odd_parameters_are_refused(applicants: Any, wrong: dict[str, Any], words: str) -> None:
    with pytest.raises((ValueError, SchemaError), match=words):
        SenSRClassifier(**{"roles": "sex", **QUICK, **wrong}).fit(*applicants)
