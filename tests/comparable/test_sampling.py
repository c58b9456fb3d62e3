"""Pairs drawn without counting are drawn as uniformly, and the estimate of their number is as good as it says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.sizes import sized

from likewise.comparable import Comparability, count_pairs, mine_pairs, sample_pairs
from likewise.comparable.engines import _drawing, _exhaustive, _search
from likewise.comparable.engines._asking import BucketSearch
from likewise.comparable.engines._joining import AIMED
from likewise.schema import CodedTable


@pytest.fixture(autouse=True)
def _compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search by the compiled kernels, however small the table: small ones are counted."""
    monkeypatch.setattr(_exhaustive, "MOST_COMPARISONS", -1)


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw from the smallest tables, too, rather than go through all of their pairs."""
    monkeypatch.setattr(_drawing, "PILOT", 8)
    monkeypatch.setattr(_drawing, "SETTLED", 0)
    monkeypatch.setattr(_drawing, "MOST_OF_PAIRS", 1e9)
    monkeypatch.setattr(_drawing, "MOST_OF_PLACES", 1e9)


def keys_of(pairs: Any) -> list[tuple[int, int]]:
    return list(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))


def make_people(n_rows: int, seed: int = 0) -> CodedTable:
    random = np.random.default_rng(seed)
    return CodedTable(
        sensitive=random.integers(0, 3, (n_rows, 2)),
        discrete=random.choice(4, (n_rows, 3), p=[0.7, 0.1, 0.1, 0.1]),
        continuous=random.random((n_rows, 2)) ** 2,
        labels=random.integers(0, 2, n_rows),
    )


@pytest.mark.usefixtures("eager")
def test_what_is_drawn_are_pairs(cases: st.SearchStrategy[Any]) -> None:
    n_estimated = 0

    @settings(max_examples=sized(25, 150))
    @given(cases, st.integers(0, 6))
    def check(case: Any, n: int) -> None:
        nonlocal n_estimated
        sample = sample_pairs(*case.question, n=n, total="estimate")
        expected = list(map(tuple, case.expected.tolist()))
        drawn = keys_of(sample)
        assert len(drawn) == min(n, len(expected))
        assert drawn == [pair for pair in expected if pair in drawn]  # in order, none twice
        if sample.n_total_error is None:
            assert sample.n_total == len(expected)
        n_estimated += sample.n_total_error is not None

    check()
    assert n_estimated > sized(1, 5)


@pytest.mark.long(8)
@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize(("differs", "n_tables"), [(d, n) for n in (1, 2) for d in ("any", "all", "none")])
def test_every_pair_is_drawn_as_often_as_any_other(differs: Any, n_tables: int) -> None:
    # one crowd whose members have very many partners, and people at the edge who have one or two; some rows repeat
    crowd = np.array([[0.5, 0.0]] * 9 + [[0.52, 0.1]] * 4 + [[0.0, 0.0], [0.02, 0.0], [1.0, 0.5], [1.0, 0.52]])
    people = CodedTable(
        sensitive=np.column_stack([np.arange(17) % 2, np.arange(17) // 3 % 2]),
        discrete=np.column_stack([np.arange(17) // 8, np.zeros(17, int), np.arange(17) % 5 == 0]),
        continuous=crowd,
    )
    rule = Comparability(max_discrete_changes=1, max_continuous_shift=0.15, sensitive_differs=differs)
    question: tuple[Any, ...] = (people, rule) if n_tables == 1 else (people, people[::2], rule)
    pairs = keys_of(mine_pairs(*question))
    degrees = np.unique([left for left, _ in pairs], return_counts=True)[1]
    assert degrees.max() >= 3
    drawn = dict.fromkeys(pairs, 0)
    n, n_draws, n_estimated = min(5, len(pairs) // 3), sized(60, 250), 0
    for seed in range(n_draws):
        sample = sample_pairs(*question, n=n, random_state=seed, total="estimate")
        n_estimated += sample.n_total_error is not None
        for pair in keys_of(sample):
            drawn[pair] += 1
    assert n_estimated > 0.8 * n_draws
    counts = np.array(list(drawn.values()))
    assert counts.sum() == n * n_draws
    # drawn without replacement, so counts vary less than the test supposes
    assert stats.chisquare(counts).pvalue > 1e-3


def test_the_estimate_is_as_good_as_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_drawing, "MOST_OF_PLACES", 0.5)
    errors = []
    for seed in range(sized(1, 3)):
        people = make_people(6_000, seed)
        for differs in ("any", "all", "none"):
            rule = Comparability(max_continuous_shift=0.4, sensitive_differs=differs)
            true = count_pairs(people, rule).total
            sample = sample_pairs(people, rule, n=100, random_state=seed, total="estimate")
            assert sample.n_total is not None
            assert sample.n_total_error is not None
            assert not sample.is_complete
            assert 0 < sample.n_total_error < 0.02 * true
            errors.append((sample.n_total - true) / sample.n_total_error)
    assert max(map(abs, errors)) < 4
    assert stats.chi2(len(errors)).sf(np.square(errors).sum()) > 1e-3


def test_an_estimate_never_claims_to_be_exact() -> None:
    people = CodedTable(sensitive=np.arange(2_000)[:, None])  # all of them are comparable
    sample = sample_pairs(people, Comparability(), n=100, total="estimate")
    assert sample.n_total == 2_000 * 1_999 // 2
    assert sample.n_total_error is not None
    assert 0 < sample.n_total_error < 1e-4 * sample.n_total


def test_the_same_seed_draws_the_same_pairs_whatever_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_drawing, "MOST_OF_PLACES", 0.5)
    people, rule = make_people(6_000), Comparability(max_continuous_shift=0.4)
    samples = [
        sample_pairs(people, rule, n=50, random_state=4, total="estimate", memory_limit=limit)
        for limit in ("64 MB", "2 GB")
    ]
    assert keys_of(samples[0]) == keys_of(samples[1])
    assert samples[0].n_total == samples[1].n_total
    assert "of about" in repr(samples[0])


def test_what_is_drawn_at_a_time_does_not_grow_with_the_places_to_be_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    # seven near columns: of twelve places one is a pair
    random = np.random.default_rng(0)
    people = CodedTable(sensitive=random.integers(0, 2, (3_000, 1)), continuous=random.random((3_000, 7)))
    rule = Comparability(max_continuous_shift=0.4)
    monkeypatch.setattr(_drawing, "SETTLED", 2_000)
    monkeypatch.setattr(_drawing, "MOST_OF_PLACES", 0.5)
    monkeypatch.setattr(_drawing, "AT_ONCE", 5_000)
    monkeypatch.setattr(_drawing, "PILOT", 5_000)
    asked: list[int] = []

    class Noting(BucketSearch):
        def ask(self, signature: Any, buckets: Any, asked_for: Any, make: Any) -> Any:
            asked.extend([len(asked_for.places)] * (asked_for.what == AIMED))
            return super().ask(signature, buckets, asked_for, make)

    monkeypatch.setattr(_search, "BucketSearch", Noting)
    sample = sample_pairs(people, rule, n=1_000, total="estimate")
    assert sample.n_total is not None
    assert sample.n_total_error is not None
    assert sum(asked) > 20_000
    assert max(asked) == 5_000
    assert abs(sample.n_total - count_pairs(people, rule).total) < 4 * sample.n_total_error


def test_few_pairs_are_counted_after_all() -> None:
    people, rule = make_people(60), Comparability(max_continuous_shift=0.1)
    every = mine_pairs(people, rule)
    sample = sample_pairs(people, rule, n=10_000, total="estimate")
    assert keys_of(sample) == keys_of(every)
    assert sample.is_complete
    assert sample.n_total_error is None


def test_another_total_is_refused() -> None:
    with pytest.raises(ValueError, match="total is 'guess'; choose one of 'count', 'estimate'"):
        sample_pairs(make_people(5), Comparability(), n=1, total="guess")  # type: ignore[arg-type]
