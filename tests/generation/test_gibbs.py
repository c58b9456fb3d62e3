"""GibbsGenerator: comparable by construction, and changed only where the new sensitive values ask for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.generation.test_promises import cases
from tests.sizes import sized

torch = pytest.importorskip("torch")

from likewise import Comparability, Roles, load_dataset  # noqa: E402  # after torch, without which there is nothing to test
from likewise._random import stir  # noqa: E402
from likewise.generation._gibbs import GibbsGenerator  # noqa: E402

ROLES = Roles(sensitive="status", discrete=["home", "town", "job"], continuous=["age", "gain"], label="rich")
RULE = Comparability(max_discrete_changes=1, max_continuous_shift=0.1)
HUSBANDS = {"married": ["husband"], "single": ["alone", "shared"]}


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Small products run faster on one thread, above all on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    """Make up people: husbands are married, nobody else is, and under 25 nobody is; towns and jobs say nothing."""
    random = np.random.default_rng(0)
    n = 1_200
    age = random.integers(18, 66, n)
    status = np.where((age >= 25) & (random.random(n) < 0.6), "married", "single")
    return pd.DataFrame(
        {
            "status": status,
            "home": [random.choice(HUSBANDS[one]) for one in status],
            "town": random.choice(["big", "small", "tiny"], n, p=[0.6, 0.38, 0.02]),
            "job": random.choice(["cook", "smith"], n),
            "age": age,
            "gain": np.where(random.random(n) < 0.9, 0, random.integers(1, 100, n)),
            "rich": random.integers(0, 2, n),
        }
    )


@pytest.fixture(scope="module")
def fitted(people: pd.DataFrame) -> GibbsGenerator:
    return make(n_iterations=200, min_plausibility=0.2, draw_targets=False).fit(people)


def make(roles: Roles = ROLES, rule: Comparability | None = RULE, **more: Any) -> GibbsGenerator:
    quick: dict[str, Any] = {"random_state": 0, "device": "cpu", "width": 32, "n_iterations": 5}
    return GibbsGenerator(roles, rule, **quick | more)


def test_what_contradicts_the_new_values_changes_and_nothing_else(fitted: GibbsGenerator, people: pd.DataFrame) -> None:
    antidotes = fitted.generate(people)
    assert antidotes.coverage > 0.6
    assert (antidotes.frame["home"].eq("husband") == antidotes.frame["status"].eq("married")).all()
    changed = antidotes.changed
    assert changed["home"].all()
    assert not changed["town"].any()  # not even that of the few in a tiny town
    assert not changed["job"].any()
    assert antidotes.frame["town"].eq("tiny").sum() > 5


def test_what_the_rest_speaks_against_is_refused(fitted: GibbsGenerator, people: pd.DataFrame) -> None:
    antidotes = fitted.generate(people)
    got_one = np.isin(np.arange(len(people)), antidotes.source)
    age, single = people["age"], people["status"] == "single"
    # "husband" would make a child look married; but only what is kept of the source speaks
    assert got_one[single & (age < 21)].mean() < 0.1
    assert got_one[single & (age > 30)].mean() > 0.8
    everything = fitted.set_params(min_plausibility=0.0).generate(people)
    fitted.set_params(min_plausibility=0.2)
    assert everything.kept == everything.coverage == 1


def test_without_a_change_to_spare_contradictions_are_refused(people: pd.DataFrame) -> None:
    generator = make(rule=Comparability(0, 0.1), n_iterations=200, draw_targets=False).fit(people)
    antidotes = generator.generate(people)
    assert antidotes.kept < 0.02
    alone = Roles(sensitive="status", discrete=["town"], continuous="age", ignored=["home", "job", "gain", "rich"])
    antidotes = (
        make(alone, Comparability(0, 0.1), draw_targets=False)
        .fit(people, people["rich"])
        .generate(people, people["rich"])
    )
    assert antidotes.kept > 0.9
    assert not antidotes.changed["town"].any()


def test_targets_are_drawn_as_often_as_such_people_have_them() -> None:
    random = np.random.default_rng(0)
    X = pd.DataFrame({"group": random.choice(list("abc"), 3_000, p=[0.6, 0.3, 0.1]), "job": ["cook"] * 3_000})
    roles = Roles(sensitive="group", discrete="job")
    generator = make(roles, None, n_iterations=60).fit(X, np.zeros(3_000, int))
    frame = generator.generate(X, np.zeros(3_000, int)).frame
    source = generator.generate(X, np.zeros(3_000, int)).sources
    from_b = frame["group"][source.sensitive[:, 0] == 1]
    assert np.mean(from_b == "a") == pytest.approx(0.6 / 0.7, abs=0.05)
    assert len(from_b) / (X["group"] == "b").sum() == pytest.approx(0.7, abs=0.06)


def test_the_share_kept_is_the_share_of_plausible_rows(fitted: GibbsGenerator, people: pd.DataFrame) -> None:
    table = fitted.schema_.encode(people)
    rows, wanted = fitted.targets_.ask(table, RULE)
    raw = fitted._propose(table[rows], wanted, stir(np.arange(len(rows), dtype=np.uint64)))
    refused = (raw.sensitive == table[rows].sensitive).all(axis=1)
    assert 0 < refused.mean() < 1
    assert (RULE.holds(table[rows], raw) == ~refused).all()
    for kind in ("discrete", "continuous"):  # a refused row is its source
        assert (getattr(raw, kind) == getattr(table[rows], kind))[refused].all()
    assert (raw.sensitive[~refused] == wanted[~refused]).all()


def test_continuous_values_are_those_of_people_nearby(fitted: GibbsGenerator, people: pd.DataFrame) -> None:
    antidotes = fitted.generate(people)
    assert set(antidotes.frame["age"]) <= set(people["age"])
    assert antidotes.changed["age"].mean() > 0.3
    assert antidotes.changed["gain"].mean() < 0.2  # nearly everybody nearby has 0
    still = fitted.set_params(move_share=0.0).generate(people)
    fitted.set_params(move_share=0.5)
    assert not still.changed["age"].any()


def test_progress_is_told_as_it_is_kept(people: pd.DataFrame) -> None:
    seen: list[dict[str, Any]] = []
    generator = make(progress=seen.append).fit(people)
    assert seen == generator.history_
    assert [record["iteration"] for record in seen] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"min_plausibility": 1.5}, "min_plausibility is 1.5; give a number from 0 to 1"),
        ({"change_below": "low"}, "change_below is 'low'"),
        ({"move_share": True}, "move_share is True"),
        ({"draw_targets": 1}, "draw_targets is 1; give True or False"),
        ({"n_iterations": 0}, "n_iterations is 0; give a whole number, 1 or more"),
        ({"batch_size": 2.5}, "batch_size is 2.5"),
        ({"device": "abacus"}, "device is 'abacus'"),
    ],
)
def test_odd_parameters_are_refused(people: pd.DataFrame, more: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(**more).fit(people)


def test_unseen_categories_stay_and_unseen_sensitive_values_get_others(
    fitted: GibbsGenerator, people: pd.DataFrame
) -> None:
    some = people.head(100).assign(town="new", status="divorced")
    antidotes = fitted.set_params(min_plausibility=0.0).generate(some)
    fitted.set_params(min_plausibility=0.2)
    assert antidotes.coverage == 1
    assert set(antidotes.frame["town"]) == {"new"}
    assert set(antidotes.frame["status"]) == {"married", "single"}


@settings(max_examples=sized(6, 40))
@given(case=cases(), draws=st.booleans(), floor=st.sampled_from([0.0, 0.05, 0.5]), seed=st.integers(0, 2**40))
def test_every_raw_row_is_comparable_or_refused(case: Any, draws: bool, floor: float, seed: int) -> None:
    X, y, roles, rule = case
    settings = {"draw_targets": draws, "min_plausibility": floor, "change_below": 1.0, "move_share": 1.0}
    generator = make(roles, rule, n_iterations=2, width=4, random_state=seed, **settings).fit(X, y)
    table = generator.schema_.encode(X, y)
    rows, wanted = generator.targets_.ask(table, rule)
    raw = generator._propose(table[rows], wanted, stir(np.arange(seed, seed + len(rows), dtype=np.uint64)))
    refused = (raw.sensitive == table[rows].sensitive).all(axis=1)
    assert (rule.holds(table[rows], raw) == ~refused).all()
    if not draws and floor == 0:
        assert not refused.any()
    antidotes = generator.generate(X, y)
    assert antidotes.n_raw == len(rows)
    assert rule.holds(antidotes.sources, antidotes.table).all()


def test_only_what_must_change_changes_unless_rows_are_to_vary() -> None:
    planted = load_dataset("planted")
    changed = {}
    for share in (0.0, 1.0):
        generator = GibbsGenerator(
            planted.roles,
            planted.rule,
            vary_share=share,
            change_below=0.0,
            n_iterations=30,
            device="cpu",
            random_state=0,
        )
        antidotes = generator.fit(planted.train.X, planted.train.y).generate(planted.train.X, planted.train.y)
        assert planted.rule.holds(antidotes.sources, antidotes.table).all()
        changed[share] = (antidotes.table.discrete != antidotes.sources.discrete).sum(axis=1)
    assert not changed[0.0].any()  # nothing is mended here, so nothing discrete may differ
    assert 0 < changed[1.0].mean() < 1
