"""The paper's generator learns from real pairs, can be stopped and gone on with, and keeps what it learned."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from tests.sizes import sized

from likewise import Comparability, Dataset, Roles, load_dataset
from likewise.exceptions import GenerationError, SavedModelError
from likewise.generation._generator import fingerprint
from likewise.generation.adversarial._encoding import Encoder
from likewise.generation.adversarial._generator import AdversarialGenerator
from likewise.generation.adversarial._networks import Critic
from likewise.generation.adversarial._training import PENALTY, Adam

SMALL: dict[str, Any] = {
    **{"n_iterations": 12, "evaluate_every": 4, "batch_size": 64, "width": 16, "n_noise": 8, "max_modes": 3},
    **{"device": "cpu", "random_state": 0},
}


def make(data: Dataset, **changed: Any) -> AdversarialGenerator:
    return AdversarialGenerator(data.roles, data.rule, **{**SMALL, **changed})


def made_by(generator: AdversarialGenerator, data: Dataset, **how: Any) -> pd.DataFrame:
    frame: pd.DataFrame = generator.generate(data.train.X, data.train.y, **how).frame
    return frame


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)  # networks this small lose more than they gain by several
    yield
    torch.set_num_threads(n_threads)


@pytest.fixture(scope="module")
def data() -> Dataset:
    return load_dataset("planted", n_rows=300)


@pytest.fixture(scope="module")
def fitted(data: Dataset) -> AdversarialGenerator:
    return make(data).fit(data.train.X, data.train.y)


def test_antidotes_are_comparable_valid_and_repeatable(fitted: AdversarialGenerator, data: Dataset) -> None:
    antidotes = fitted.generate(data.train.X, data.train.y)
    assert len(antidotes)
    assert data.rule.holds(antidotes.sources, antidotes.table).all()
    again = make(data).fit(data.train.X, data.train.y)
    pd.testing.assert_frame_equal(made_by(again, data), antidotes.frame)
    other = make(data, random_state=1).fit(data.train.X, data.train.y)
    assert not made_by(other, data).equals(antidotes.frame)


def test_records_are_plain_and_say_how_training_went(fitted: AdversarialGenerator) -> None:
    assert [record["iteration"] for record in fitted.history_] == [4, 8, 12]
    for record in fitted.history_:
        assert set(record["ratio"]) == {"discrete", "ordinal", "continuous", "sensitive", "together"}
        assert {"seconds", "distance", "penalty", "critic_score", "cross_entropy", "discrete_changes"} < set(record)
    assert json.loads(json.dumps(fitted.history_)) == fitted.history_


@pytest.mark.long(4)
@pytest.mark.parametrize(
    "changed",
    [
        {"residual": False},
        {"heads": "slices"},
        {"n_critic": 2, "dropout": 0.0, "n_noise": 0},
        {"likeliest": False},
    ],
)
def test_every_reading_of_the_paper_runs(changed: dict[str, Any], data: Dataset) -> None:
    generator = make(data, **changed, n_iterations=4).fit(data.train.X, data.train.y)
    assert generator.generate(data.train.X, data.train.y).n_raw > 0


def test_as_printed_is_what_the_paper_says(data: Dataset) -> None:
    quick = {name: value for name, value in SMALL.items() if name != "n_iterations"}
    printed = AdversarialGenerator.as_printed(data.roles, data.rule, **quick)
    assert (printed.n_epochs, printed.heads) == (500, "slices")
    assert not printed.residual
    assert not printed.likeliest
    printed.set_params(n_epochs=1).fit(data.train.X, data.train.y)
    assert printed.n_iterations_ == -(-len(data.train) // SMALL["batch_size"])  # an epoch is as many pairs as rows
    assert printed.spike_share > 1  # no number is a mode of its own
    one, three = (printed.generate(data.train.X, data.train.y, rounds=rounds) for rounds in (1, 3))
    assert len(three) == pytest.approx(3 * len(one), rel=0.2)  # whole rounds, whatever they repeat


def test_repeated_antidotes_are_kept_only_if_asked(data: Dataset) -> None:
    # without noise, the likeliest row is the same in every round, up to the modes of numbers
    generator = make(data, n_noise=0, distinct=False).fit(data.train.X, data.train.y)
    kept = generator.generate(data.train.X, data.train.y, rounds=4)
    distinct = generator.set_params(distinct=True).generate(data.train.X, data.train.y, rounds=4)
    keys = kept.frame.assign(source=kept.source)
    assert keys.duplicated().any()
    assert not distinct.frame.assign(source=distinct.source).duplicated().any()
    assert len(keys.drop_duplicates()) == len(distinct)


def test_the_papers_own_start_learns_to_make_comparable_rows() -> None:
    random = np.random.default_rng(0)
    n = 400
    job = random.integers(0, 3, n)
    frame = pd.DataFrame(
        {"sex": random.choice(["f", "m"], n), "job": job.astype(str), "town": random.choice(["a", "b"], n)}
    )
    roles = Roles(sensitive="sex", discrete=["job", "town"])
    generator = AdversarialGenerator(
        roles, Comparability(max_discrete_changes=0), residual=False, **{**SMALL, "n_iterations": 4}
    )
    # nothing may change but sex, so the rest is copied, and sex has to be as asked
    assert generator.fit(frame, np.zeros(n, int)).history_[-1]["ratio"]["discrete"] == 1
    generator = AdversarialGenerator(
        roles,
        residual=False,
        **{
            **SMALL,
            "n_iterations": sized(150, 300),
            "evaluate_every": 50,
            "learning_rate": 2e-3,
            "width": 64,
        },
    )
    history = generator.fit(frame, np.zeros(n, int)).history_
    assert history[-1]["ratio"]["sensitive"] > 0.95
    assert history[-1]["ratio"]["together"] > history[0]["ratio"]["together"] + 0.1


def test_training_tells_the_caller_each_record(data: Dataset) -> None:
    seen: list[dict[str, Any]] = []
    generator = make(data, n_iterations=6, progress=seen.append).fit(data.train.X, data.train.y)
    assert [record["iteration"] for record in seen] == [4, 6]  # the last of them after fewer steps
    assert seen == generator.history_


def test_a_saved_generator_makes_the_same_antidotes(
    tmp_path: Path, fitted: AdversarialGenerator, data: Dataset
) -> None:
    fitted.save(tmp_path / "saved")
    loaded = AdversarialGenerator.load(tmp_path / "saved", device="cpu")
    pd.testing.assert_frame_equal(made_by(loaded, data, ratio=0.5), made_by(fitted, data, ratio=0.5))
    assert loaded.history_ == fitted.history_
    assert loaded.get_params() | {"device": "cpu"} == fitted.get_params()
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again" / "likewise.json").read_bytes() == (tmp_path / "saved" / "likewise.json").read_bytes()


def test_a_damaged_folder_is_refused_with_a_plain_word(tmp_path: Path, fitted: AdversarialGenerator) -> None:
    fitted.save(tmp_path / "saved")
    file = tmp_path / "saved" / "likewise.json"
    whole = json.loads(file.read_text("utf-8"))
    for name in ("params", "schema", "layout", "bins"):
        cut = {key: value for key, value in whole["record"].items() if key != name}
        file.write_text(json.dumps(whole | {"record": cut}), "utf-8")
        with pytest.raises(SavedModelError, match="Save it again"):
            AdversarialGenerator.load(tmp_path / "saved", device="cpu")
    wrong = whole["record"]["params"] | {"width": 17}
    file.write_text(json.dumps(whole | {"record": whole["record"] | {"params": wrong}}), "utf-8")
    with pytest.raises(SavedModelError, match="Save it again"):
        AdversarialGenerator.load(tmp_path / "saved", device="cpu")
    (tmp_path / "saved" / "numbers.safetensors").write_bytes(b"not numbers")
    with pytest.raises(SavedModelError):
        AdversarialGenerator.load(tmp_path / "saved", device="cpu")


def test_the_callers_random_numbers_stay_as_they_were(data: Dataset) -> None:
    state = torch.get_rng_state()
    generator = make(data, n_iterations=4).fit(data.train.X, data.train.y)
    generator.generate(data.train.X, data.train.y)
    assert torch.equal(torch.get_rng_state(), state)


def test_it_is_an_estimator(fitted: AdversarialGenerator) -> None:
    copy = clone(fitted)
    assert copy.get_params()["width"] == 16
    assert not hasattr(copy, "encoder_")
    assert list(fitted.feature_names_in_)


def test_a_table_without_continuous_columns_works() -> None:
    random = np.random.default_rng(1)
    frame = pd.DataFrame({name: random.choice(["a", "b", "c"], 200) for name in ("sex", "job", "town")})
    generator = AdversarialGenerator(Roles(sensitive="sex", discrete=["job", "town"]), **SMALL)
    antidotes = generator.fit(frame, random.integers(0, 2, 200)).generate(frame, random.integers(0, 2, 200))
    assert antidotes.coverage > 0.5


def test_a_table_without_discrete_columns_and_a_tiny_one_work() -> None:
    frame = pd.DataFrame({"sex": ["f", "m", "f", "m"], "age": [20, 20, 30, 31], "constant": [1.5] * 4})
    roles = Roles(sensitive="sex", continuous=["age", "constant"])
    generator = AdversarialGenerator(roles, Comparability(max_continuous_shift=0.2), **SMALL)
    antidotes = generator.fit(frame, [1, 1, 0, 0]).generate(frame, [1, 1, 0, 0])
    assert antidotes.frame["constant"].eq(1.5).all()
    assert antidotes.frame["age"].dtype == frame["age"].dtype


def test_people_unlike_those_in_training_still_get_antidotes(data: Dataset, fitted: AdversarialGenerator) -> None:
    strange = data.train.X.head(50).assign(purpose="space travel")
    antidotes = fitted.generate(strange, data.train.y.head(50))
    assert len(antidotes)
    assert antidotes.frame["purpose"].eq("space travel").all()


def test_columns_that_must_match_are_copied(data: Dataset) -> None:
    rule = Comparability(max_discrete_changes=1, max_continuous_shift=0.05, must_match=("region", "age"))
    generator = AdversarialGenerator(data.roles, rule, **SMALL).fit(data.train.X, data.train.y)
    antidotes = generator.generate(data.train.X, data.train.y)
    assert len(antidotes)
    assert not antidotes.changed["region"].any()
    assert not antidotes.changed["age"].any()


def test_no_pairs_to_learn_from_is_said_with_what_to_do() -> None:
    frame = pd.DataFrame({"sex": ["f", "m"], "age": [20, 60]})
    with pytest.raises(GenerationError, match=r"no comparable pairs.*raise max_continuous_shift.*uniform generators"):
        AdversarialGenerator(Roles(sensitive="sex", continuous="age"), **SMALL).fit(frame, [1, 1])


def test_training_that_loses_its_way_says_so(data: Dataset) -> None:
    with pytest.raises(GenerationError, match="Lower learning_rate"):
        make(data, learning_rate=1e30, n_iterations=40).fit(data.train.X, data.train.y)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"batch_size": 0}, "batch_size is 0"),
        ({"batch_size": 1}, "batch_size is 1"),
        ({"n_iterations": -1}, "n_iterations is -1"),
        ({"n_epochs": 0}, "n_epochs is 0"),
        ({"distinct": "no"}, "distinct is 'no'"),
        ({"heads": "many"}, "heads is 'many'"),
        ({"dropout": 1.0}, "dropout is 1.0"),
        ({"learning_rate": "fast"}, "learning_rate is 'fast'"),
        ({"residual": "yes"}, "residual is 'yes'"),
        ({"compile_step": "maybe"}, "compile_step is 'maybe'"),
        ({"device": "abacus"}, "device is 'abacus'"),
    ],
)
def test_settings_that_make_no_sense_are_refused_by_name(changed: dict[str, Any], message: str, data: Dataset) -> None:
    with pytest.raises(ValueError, match=message):
        make(data, **changed).fit(data.train.X, data.train.y)


def test_saving_needs_something_learned(tmp_path: Path, data: Dataset) -> None:
    with pytest.raises(GenerationError, match="Call fit first"):
        make(data).save(tmp_path / "saved")


def test_the_critic_is_the_papers_on_row_source_and_difference(fitted: AdversarialGenerator) -> None:
    layout = fitted.encoder_.layout
    with torch.random.fork_rng():
        torch.manual_seed(0)
        critic = Critic(layout, 16, dropout=0.0)
        made, source = torch.rand(5, layout.n_made, requires_grad=True), torch.rand(5, layout.n_given)
    of_made, of_source = critic.enter(source)
    before = made @ of_made.T + of_source
    whole = torch.cat([critic.of_made, critic.of_source, critic.of_change], dim=1)
    inputs = torch.cat([made, source, made - source[:, : layout.n_made]], dim=1)
    torch.testing.assert_close(before, inputs @ whole.T + critic.bias)
    (slopes,) = torch.autograd.grad(critic.finish(before).sum(), made)
    torch.testing.assert_close(critic.slopes(before.detach(), of_made.detach()), slopes)
    assert slopes.abs().min() > 0


def test_networks_descend_the_losses_of_the_paper(data: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def note(adam: Adam, outputs: Any, slopes: Any) -> None:
        seen.append(([one.detach().requires_grad_() for one in outputs], slopes))

    monkeypatch.setattr(Adam, "descend", note)
    make(data, n_iterations=1).fit(data.train.X, data.train.y)
    ((scores, steps), by_hand), ((of_made, log_shares), by_hand_too) = seen[:2]
    n = len(scores) // 2
    penalty = PENALTY * ((steps.square().sum(dim=1) + 1e-12).sqrt() - 1).square().mean()
    of_critic = penalty - (scores[:n].mean() - scores[n:].mean())
    torch.testing.assert_close(torch.autograd.grad(of_critic, (scores, steps)), tuple(by_hand))
    target = -n * by_hand_too[1]  # one-hot rows of the sensitive values aimed at
    assert set(target.unique().tolist()) <= {0.0, 1.0}
    of_generator = -(log_shares * target).sum(dim=1).mean() - of_made.mean()
    torch.testing.assert_close(torch.autograd.grad(of_generator, (of_made, log_shares)), tuple(by_hand_too))


def test_adam_is_adam() -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        ours, theirs = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
        theirs.load_state_dict(ours.state_dict())
        inputs = torch.randn(20, 3)
    adam = Adam(ours, 1e-2, (0.5, 0.9), 1e-3)
    reference = torch.optim.Adam(theirs.parameters(), lr=1e-2, betas=(0.5, 0.9), weight_decay=1e-3)
    for _ in range(5):
        adam.descend([ours(inputs).square().mean()], [torch.ones(())])
        reference.zero_grad()
        theirs(inputs).square().mean().backward()
        reference.step()
    torch.testing.assert_close(ours.weight, theirs.weight)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")
def test_a_step_that_is_recorded_on_a_gpu_gives_the_same_numbers(data: Dataset) -> None:
    one, other = (make(data, device="cuda", compile_step=how).fit(data.train.X, data.train.y) for how in (True, False))
    assert fingerprint(one.set_params(compile_step=False)) == fingerprint(other)


def test_the_encoder_is_learned_from_training_rows_alone(fitted: AdversarialGenerator, data: Dataset) -> None:
    table = fitted.schema_.encode(data.train.X, data.train.y)
    again = Encoder.learn(table, data.rule, 3, fitted.spike_share, 0)
    assert again.layout == fitted.encoder_.layout
