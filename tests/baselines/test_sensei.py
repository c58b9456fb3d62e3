"""SenSeI: plain fitting plus a price on outputs that move with sensitive directions."""

from __future__ import annotations

import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from tests.sizes import sized
from torch import nn

from likewise.baselines import SenSeIClassifier
from likewise.baselines._attacks import InvarianceLoss
from likewise.exceptions import AttackFailed, NoisyDirections, PenaltyAtLimit, SchemaError, ScoresCollapsed
from likewise.learning import NetworkClassifier
from likewise.nets._internal import loss_of

QUICK: dict[str, Any] = {
    **{"hidden": (16,), "n_iterations": sized(5, 20), "batch_size": 64, "optimizer": "adam", "learning_rate": 0.02},
    **{"weight_decay": 1e-4, "random_state": 0},
}


def with_dropout(n_inputs: int, n_outputs: int) -> nn.Module:
    return nn.Sequential(nn.Linear(n_inputs, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, n_outputs))


@pytest.mark.parametrize("network", [None, with_dropout])
def test_without_a_price_it_is_plain_fitting_bit_for_bit(applicants: Any, network: Any) -> None:
    plain = NetworkClassifier(network=network, **QUICK).fit(*applicants)
    priced = SenSeIClassifier("sex", rho=0.0, network=network, **QUICK).fit(*applicants)
    for name, value in plain.network_.state_dict().items():
        assert torch.equal(priced.network_.state_dict()[name], value)


def test_sensitive_differences_count_less_with_a_price(applicants: Any, gap_of: Any) -> None:
    settings = QUICK | {"n_iterations": 120, "n_steps": 10, "step": 0.1, "epsilon": 0.01}
    free, priced = (SenSeIClassifier("sex", rho=price, **settings).fit(*applicants) for price in (0.0, 0.2))
    assert gap_of(free, applicants[0]) > 0.4
    assert gap_of(priced, applicants[0]) < 0.2
    assert priced.score(*applicants) > 0.65


def test_the_history_tells_of_attacks(applicants: Any) -> None:
    model = SenSeIClassifier("sex", **QUICK | {"n_iterations": 150}).fit(*applicants)
    for record in model.history_:
        told = [record[name] for name in ("lambda", "mean_distance", "attack_gain", "output_distance", "score_spread")]
        assert np.isfinite(told).all()
    assert model.history_[-1]["attack_gain"] > 0
    late = [record["mean_distance"] for record in model.history_[25:]]
    assert np.mean(late) == pytest.approx(0.1, rel=0.3)  # as far as epsilon lets them


def test_the_weight_of_distance_finds_its_way(applicants: Any, lambda_path: Any) -> None:
    model = SenSeIClassifier("sex", epsilon=0.07, lambda_start=3.0, **QUICK | {"n_iterations": 40}).fit(*applicants)
    path = [record["lambda"] for record in model.history_]
    assert path == pytest.approx(lambda_path(model.history_, 3.0, 0.07, None), rel=1e-4)
    assert len(set(path)) > 20


@pytest.mark.parametrize("layers", [(), (nn.Identity(),)], ids=["plain", "any"])
def test_rows_weigh_in_both_parts_of_the_loss(layers: tuple[nn.Module, ...]) -> None:
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(4, 1), *layers)
    inputs, moved, weights, labels = torch.rand(30, 4), torch.rand(30, 4), torch.rand(30), torch.arange(30) % 2
    batch: Any = lambda rows: (inputs[rows], labels[rows], weights[rows])  # noqa: E731
    people: Any = SimpleNamespace(batch=batch, device=torch.device("cpu"))
    attacks: Any = SimpleNamespace(move=lambda *_: moved, report=dict, generators=())
    objective = InvarianceLoss(network, people, attacks, rho=3.0)
    apart = (network(inputs) - network(moved)).square()[:, 0]
    wanted = (weights * (loss_of(network(inputs), labels) + 3.0 * apart)).mean()
    loss = objective.loss(torch.arange(30))
    assert torch.allclose(loss, wanted)
    ours, theirs = (torch.autograd.grad(one, list(network.parameters())) for one in (loss, wanted))
    assert all(torch.allclose(one, other, atol=1e-6) for one, other in zip(ours, theirs, strict=True))
    assert objective.report()["output_distance"] == pytest.approx(np.average(apart.detach(), weights=weights))


def test_dropout_is_no_distance(applicants: Any) -> None:
    def build(n_inputs: int, n_outputs: int) -> nn.Module:
        return nn.Sequential(nn.Dropout(0.5), nn.Linear(n_inputs, 8), nn.BatchNorm1d(8), nn.Linear(8, n_outputs))

    still: dict[str, Any] = {"start_noise": 1e-9, "step": 1e-9, "n_steps": 1, "epsilon": 1e-12}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SenSeIClassifier("sex", network=build, **still, **QUICK).fit(*applicants)
    assert max(record["output_distance"] for record in model.history_) < 1e-9


def test_nothing_counts_where_every_column_is_sensitive(applicants: Any) -> None:
    frame, y = applicants
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        SenSeIClassifier(["sex", "town"], lambda_start=0.5, **QUICK).fit(frame[["sex", "town"]], y)
    [words] = [str(one.message) for one in told if one.category is PenaltyAtLimit]
    assert "lie in the sensitive subspace" in words
    assert "epsilon" not in words


def test_warnings_point_at_the_line_that_fits(applicants: Any) -> None:
    frame, y = applicants
    frame = frame.assign(coin=np.where(np.random.default_rng(0).random(400) < 0.5, "head", "tail"))
    with pytest.warns(NoisyDirections, match="hardly predict 'coin'") as told:
        SenSeIClassifier("coin", **QUICK).fit(frame, y)
    assert {one.filename for one in told} == {__file__}


def test_the_same_seed_gives_the_same_network(applicants: Any) -> None:
    first, second = (SenSeIClassifier("sex", **QUICK).fit(*applicants).predict_proba(applicants[0]) for _ in range(2))
    assert np.array_equal(first, second)


def test_more_classes_than_two(applicants: Any) -> None:
    frame, _ = applicants
    y = np.digitize(frame["skill"] + 0.3 * (frame["sex"] == "m"), [0.4, 0.8])
    settings = QUICK | {"n_iterations": 80, "n_steps": 5, "step": 0.1}
    model = SenSeIClassifier("sex", rho=0.5, **settings).fit(frame, y)
    assert model.predict_proba(frame).shape == (400, 3)
    assert model.score(frame, y) > 0.6


def test_rows_of_no_weight_play_no_part(applicants: Any) -> None:
    frame, y = applicants
    flipped = np.where(np.arange(400) < 200, y, np.where(y == "hired", "not", "hired"))
    some = (np.arange(400) < 200).astype(float)
    model = SenSeIClassifier("sex", n_steps=5, **QUICK | {"n_iterations": 80}).fit(frame, flipped, sample_weight=some)
    assert model.score(frame, y) > 0.65


def test_a_saved_model_predicts_the_same(applicants: Any, tmp_path: Path) -> None:
    model = SenSeIClassifier("sex", **QUICK).fit(*applicants)
    model.save(tmp_path / "model.skops")
    loaded = SenSeIClassifier.load(tmp_path / "model.skops")
    assert np.array_equal(loaded.predict_proba(applicants[0]), model.predict_proba(applicants[0]))


def test_the_usual_noise_starts_at_the_distance_that_is_allowed(applicants: Any) -> None:
    with pytest.warns(AttackFailed):  # steps of nothing
        model = SenSeIClassifier("sex", step=1e-12, n_steps=1, epsilon=0.3, **QUICK).fit(*applicants)
    assert model.history_[-1]["mean_distance"] == pytest.approx(0.3, rel=0.3)


def test_attacks_that_cannot_keep_their_distance_are_told_of(applicants: Any) -> None:
    settings = QUICK | {"n_iterations": 60, "n_steps": 2, "step": 0.5, "start_noise": 0.1}
    with pytest.warns(PenaltyAtLimit, match=r"upper limit, 1000: .* Raise epsilon, or lower step \(0.5\)"):
        SenSeIClassifier("sex", epsilon=1e-9, lambda_start=999, **settings).fit(*applicants)


def test_a_price_that_makes_everybody_alike_is_told_of(applicants: Any) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        SenSeIClassifier("sex", rho=1e4, **QUICK | {"n_iterations": 60, "weight_decay": 1.0}).fit(*applicants)
    [collapse] = [one for one in told if one.category is ScoresCollapsed]
    assert "Lower rho (10000) or weight_decay (1)." in str(collapse.message)
    assert collapse.filename == __file__


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"roles": None}, "No column is sensitive"),
        ({"rho": -1.0}, "rho is -1"),
        ({"n_steps": 0}, "n_steps is 0"),
        ({"step": -0.1}, "step is -0.1"),
        ({"epsilon": 0.0}, "epsilon is 0.0"),
        ({"start_noise": 0.0}, "start_noise is 0.0"),
    ],
)
def test_odd_parameters_are_refused(applicants: Any, wrong: dict[str, Any], words: str) -> None:
    with pytest.raises((ValueError, TypeError, SchemaError), match=words):
        SenSeIClassifier(**{"roles": "sex", **QUICK, **wrong}).fit(*applicants)
