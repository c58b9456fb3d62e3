"""What generating by row id promises: a row's antidotes follow from its id, the seed and the row, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sizes import sized

from likewise import Comparability, Roles, UniformGenerator
from likewise._random import stir
from likewise.exceptions import FewAntidotes, GenerationError
from likewise.generation import Antidotes, scale_ratio
from likewise.generation._internal import BaseGenerator
from likewise.generation._row_keys import RowNumbers
from likewise.generation._row_tensors import RowTensors

if TYPE_CHECKING:
    from tests.generation.conftest import Check, Make

AMOUNTS: list[dict[str, Any]] = [{}, {"rounds": 2}, {"ratio": 0.6}, {"ratio": 1.7}, {"rounds": 3, "per_row": 2}]


def by_id(antidotes: Antidotes, ids: Any) -> dict[Any, list[tuple[int, str]]]:
    """Gather the antidotes of each row, in the order they came."""
    found: dict[Any, list[tuple[int, str]]] = {}
    cells = antidotes.frame.to_pylist()
    for source, number, row in zip(antidotes.source.tolist(), antidotes.round.tolist(), cells, strict=True):
        found.setdefault(ids[source], []).append((number, repr(row)))
    return found


@pytest.mark.long(3)
@settings(max_examples=sized(2, 6))
@given(
    amount=st.sampled_from(AMOUNTS),
    order=st.permutations(range(40)),
    cuts=st.lists(st.integers(0, 40), max_size=3),
    seed=st.integers(0, 3),
)
@pytest.mark.filterwarnings("ignore:Only .* distinct antidotes")
def test_any_partition_and_any_order_give_the_same_antidotes(
    fitted: BaseGenerator, people: pa.Table, amount: dict[str, Any], order: list[int], cuts: list[int], seed: int
) -> None:
    ids = [f"person {number}" for number in range(40)]
    few = people.slice(0, 40)
    whole = by_id(fitted.generate(few, row_ids=ids, random_state=seed, **amount), ids)
    found: dict[Any, list[tuple[int, str]]] = {}
    ends = sorted({0, *cuts, 40})
    for start, end in pairwise(ends):
        part = order[start:end]
        own = [ids[row] for row in part]
        found |= by_id(fitted.generate(few.take(part), row_ids=own, random_state=seed, **amount), own)
    assert whole
    assert found == whole


def test_antidotes_by_row_keep_all_promises(fitted: BaseGenerator, people: pa.Table, promised: Check) -> None:
    antidotes = fitted.generate(people, rounds=2, row_ids=np.arange(150))
    assert len(antidotes) > 100
    promised(fitted, people, None, antidotes)
    assert set(antidotes.round.tolist()) == {0, 1}


def test_more_rows_than_a_network_takes_at_once(make: Make, people: pa.Table) -> None:
    generator = make("GibbsGenerator").fit(people)
    many = pa.concat_tables([people] * 5)
    ids = np.arange(len(many))
    whole = by_id(generator.generate(many, row_ids=ids), ids.tolist())  # 3,750 rows are asked for
    half = by_id(generator.generate(many.slice(400), row_ids=ids[400:]), ids[400:].tolist())
    assert half == {row: made for row, made in whole.items() if row >= 400}


def test_other_ids_and_other_seeds_give_other_antidotes(fitted: BaseGenerator, people: pa.Table) -> None:
    one, other, third = (
        fitted.generate(people, row_ids=ids, random_state=seed).table.continuous.tolist()
        for ids, seed in ((np.arange(150), 0), (np.arange(150) + 150, 0), (np.arange(150), 1))
    )
    assert one != other
    assert one != third


def test_equal_rows_with_ids_of_their_own_get_antidotes_of_their_own(make: Make, people: pa.Table) -> None:
    generator = make("UniformGenerator").fit(people)
    same = people.take([3] * 20)
    incomes = generator.generate(same, row_ids=np.arange(20)).frame.column("income")
    assert len(set(incomes.to_pylist())) > 50


@pytest.mark.filterwarnings("ignore:Only .* distinct antidotes")
def test_a_ratio_is_one_for_each_row_in_the_mean(make: Make, people: pa.Table) -> None:
    generator = make("UniformGenerator").fit(people)
    many = pa.concat_tables([people] * 20)
    for ratio in (0.3, 2.7):
        counts = np.bincount(generator.generate(many, ratio=ratio, row_ids=np.arange(3000)).source, minlength=3000)
        assert set(counts.tolist()) == {int(ratio), int(ratio) + 1}
        assert counts.mean() == pytest.approx(ratio, abs=0.03)
    assert generator.generate(many, ratio=0.3, row_ids=np.arange(3000)).n_raw < 1000  # no more is made than is kept


def test_a_limit_for_each_row_takes_any_combination_as_often_as_another(make: Make, people: pa.Table) -> None:
    generator = make("UniformGenerator").fit(people)
    same = people.take([3] * 3000)
    antidotes = generator.generate(same, per_row=1, row_ids=np.arange(3000))
    assert antidotes.source.tolist() == list(range(3000))
    _, counts = np.unique(antidotes.table.sensitive, axis=0, return_counts=True)
    assert len(counts) == 5
    assert counts.min() > 500


def test_what_no_row_can_give_is_said(make: Make) -> None:
    people = pa.table({"sex": ["f", "m"] * 5, "job": ["cook"] * 10, "hired": [0, 1] * 5})
    generator = UniformGenerator(Roles(sensitive="sex", discrete="job", label="hired"), random_state=0).fit(people)
    with pytest.warns(FewAntidotes, match="Only 10 distinct antidotes could be generated for 10 rows, not 30"):
        assert len(generator.generate(people, ratio=3, row_ids=np.arange(10))) == 10


def half_give_none(n: int) -> tuple[pa.Table, Roles, Comparability]:
    """Make up people of whom every other one has sensitive values that nobody differs from in both columns."""
    random = np.random.default_rng(0)
    pairs = np.array([["a", "x"], ["a", "y"], ["b", "y"], ["a", "y"]])[np.arange(n) % 4]
    people = pa.table(
        {"one": pairs[:, 0], "two": pairs[:, 1], "pay": random.integers(0, 99, n), "hired": [0, 1] * (n // 2)}
    )
    roles = Roles(sensitive=["one", "two"], continuous="pay", label="hired")
    return people, roles, Comparability(sensitive_differs="all", max_continuous_shift=0.1)


def test_a_scaled_ratio_makes_up_for_rows_that_give_none() -> None:
    people, roles, rule = half_give_none(2000)
    generator = UniformGenerator(roles, rule, random_state=0).fit(people)
    ids = np.arange(2000)
    with pytest.warns(FewAntidotes, match="no row compensates for another: .* that scale_ratio returns"):
        assert len(generator.generate(people, ratio=0.6, row_ids=ids)) == pytest.approx(600, abs=60)
    ratio = scale_ratio(generator, people.slice(0, 400), ratio=0.6)
    assert ratio == pytest.approx(1.2)
    with pytest.warns(FewAntidotes):
        scaled = generator.generate(people, ratio=ratio, row_ids=ids)
    assert len(scaled) == pytest.approx(1200, abs=60)
    assert scale_ratio(generator, people.slice(0, 0), ratio=0.6) == 0.6
    assert scale_ratio(generator, people.take([1, 3]), ratio=0.6) == 8  # nobody gives any
    with pytest.raises(ValueError, match="ratio is -1"):
        scale_ratio(generator, people, ratio=-1)


@pytest.mark.long(3)
@pytest.mark.filterwarnings("ignore:Only .* distinct antidotes")
def test_values_that_training_lacked_are_no_matter_of_the_partition(fitted: BaseGenerator, people: pa.Table) -> None:
    few = people.slice(0, 8)
    names: dict[str, list[str | None]] = {
        "job": ["judge", "baker", "monk", "nun"],
        "city": ["Ulm", None, "Trier", "Bonn"],
        "sex": ["x", "f", "m", "y"],
    }
    for name, values in names.items():
        few = few.set_column(few.column_names.index(name), name, pa.array(values * 2))
    ids = list(range(8))
    whole = by_id(fitted.generate(few, ratio=1.5, row_ids=ids), ids)
    found: dict[Any, list[tuple[int, str]]] = {}
    for row in reversed(ids):
        found |= by_id(fitted.generate(few.slice(row, 1), ratio=1.5, row_ids=[row]), [row])
    assert whole
    assert found == whole


@pytest.mark.long(3)
def test_ids_are_numbers_or_text_of_any_kind(make: Make, people: pa.Table, convert: Callable[[pa.Table], Any]) -> None:
    generator = make("UniformGenerator").fit(people)
    named = people.append_column("id", pa.array(np.arange(150)))
    expected = generator.generate(people, row_ids=np.arange(150)).table.continuous.tolist()
    frame = convert(named)
    alike = ["id", frame["id"], list(range(150)), np.arange(150.0), pa.array(range(150), pa.uint64())]
    alike.append(pa.array(range(150)).cast(pa.decimal128(20, 0)))
    for ids in alike:
        assert generator.generate(frame, row_ids=ids).table.continuous.tolist() == expected
    words = [str(number) for number in range(150)]
    texts = [words, np.array(words), pa.array(words).dictionary_encode(), pa.array(words, pa.binary())]
    found = [generator.generate(frame, row_ids=ids).table.continuous.tolist() for ids in texts]
    assert found[0] == found[1] == found[2] == found[3] != expected


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ("nobody", "row_ids is 'nobody', but the frame has no such column"),
        ([1, 2], "row_ids has 2 ids for 150 rows"),
        ([None] * 150, "row_ids lacks 150 of 150 ids"),
        ([0.5] * 150, "numbers that are not whole"),
        ([True] * 150, "row_ids has values of type bool, which cannot be ids"),
        ([1, "a"] * 75, "cannot be read as ids"),
        (3, "cannot be read as ids"),
    ],
)
def test_odd_ids_are_refused(make: Make, people: pa.Table, ids: Any, message: str) -> None:
    with pytest.raises(GenerationError, match=message):
        make("UniformGenerator").fit(people).generate(people, row_ids=ids)


def test_numbers_are_the_same_in_numpy_and_torch() -> None:
    keys = stir(np.arange(500, dtype=np.uint64))
    numbers = RowNumbers(keys, "a")
    tensors = RowTensors(keys, "a", 512, torch.device("cpu")).batch(slice(0, 500))
    for shape in ((500,), (500, 3)):
        assert numbers.random(shape).tolist() == tensors.rand(512, *shape[1:])[:500].tolist()


def test_numbers_are_even_and_know_nothing_of_each_other() -> None:
    drawn = RowNumbers(stir(np.arange(20_000, dtype=np.uint64)), "b").random((20_000, 4))
    assert np.histogram(drawn, bins=10, range=(0, 1))[0] / drawn.size == pytest.approx(np.full(10, 0.1), abs=0.005)
    assert np.corrcoef(drawn.T) == pytest.approx(np.eye(4), abs=0.03)
    assert np.corrcoef(drawn[1:, 0], drawn[:-1, 0])[0, 1] == pytest.approx(0, abs=0.03)
    normal = RowTensors(stir(np.arange(4096, dtype=np.uint64)), "c", 4096, torch.device("cpu")).batch(slice(0, 4096))
    noise = normal.randn(9)
    assert noise.shape == (4096, 9)
    assert np.corrcoef(noise.T) == pytest.approx(np.eye(9), abs=0.07)
    assert float(noise.mean()) == pytest.approx(0, abs=0.03)
    assert float(noise.std()) == pytest.approx(1, abs=0.03)
    assert bool(torch.isfinite(noise).all())
