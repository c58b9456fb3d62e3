"""Audits of more pairs than are kept: the numbers of all pairs, with intervals that allow for the sample kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.sizes import sized

from likewise import Audit, CodedTable, Comparability, audit, compare_audits, mine_pairs
from likewise.auditing import Scores
from likewise.auditing._internal import AuditSettings
from likewise.auditing._settings import BYTES_PER_PAIR, BYTES_PER_PERSON
from likewise.auditing.inference._pair_measures import measure_pairs
from likewise.auditing.pairs import _gather
from likewise.auditing.pairs._gather import gather_pairs
from likewise.auditing.pairs._meter import ScoredPairs, ScoredPeople
from likewise.comparable import iter_pairs, write_pairs
from likewise.datasets import PlantedDataset
from likewise.exceptions import LikewiseError
from likewise.schema import Roles

SAME = ("coverage", "groups", "person_gaps", "calibration", "score_distribution")
KEPT = 40


def assert_same_numbers(streamed: Audit, exact: Audit) -> None:
    """Hold the audit of a stream against the one that kept every pair."""
    assert streamed.summary is not None
    assert exact.summary is None
    for name, measure in exact.measures.items():
        is_quantile = name.partition("[")[0].endswith(("median", "q3", "q95"))
        found = streamed[name]
        if "excess" in name:  # of the people with both kinds of partners among the kept pairs
            assert found.n <= measure.n, name
            continue
        assert found.n == measure.n, name
        if measure.value is None:
            assert found.value is None
            continue
        assert found.value == pytest.approx(measure.value, rel=1e-3 if is_quantile else 1e-12, abs=2e-9), name
        if found.low is not None and measure.low is not None:
            assert found.low <= float(found.value or 0), name
        if found.high is not None and measure.high is not None:
            assert found.high >= float(found.value or 0), name
    here, there = streamed.to_dict(), exact.to_dict()
    for name in SAME:
        assert here[name] == there[name], name
    assert here["distributions"]["edges"] == there["distributions"]["edges"]
    assert here["distributions"]["slices"] == there["distributions"]["slices"]
    for one, other in zip(streamed.directions, exact.directions, strict=True):
        one = one if one.origin == other.origin else one.reversed()  # by the adjusted gap, which is of a sample
        counted = ("origin", "target", "n_pairs", "n_lower", "n_higher", "n_equal", "n_flips_down", "n_flips_up")
        assert all(getattr(one, name) == getattr(other, name) for name in counted)
        assert one.mean_gap == pytest.approx(other.mean_gap, abs=1e-12)
    assert np.array_equal(streamed.person_gaps, exact.person_gaps, equal_nan=True)


def assert_same_record(one: Audit, other: Audit) -> None:
    """Hold two records against each other; sums that were added up in another order differ by rounding."""
    here, there = dict(list_leaves(one.to_dict())), dict(list_leaves(other.to_dict()))
    assert here.keys() == there.keys()
    for path, value in here.items():
        is_float = isinstance(value, float)
        assert there[path] == (pytest.approx(value, rel=1e-12, abs=1e-12) if is_float else value), path


def list_leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for name, one in items:
            yield from list_leaves(one, f"{path}.{name}")
    else:
        yield path, value


def blur(planted: PlantedDataset, seed: int = 0) -> Any:
    """Scores without ties, so that every transition has a direction."""
    random = np.random.default_rng(seed)
    return np.clip(planted.scores(planted.test.X) + random.normal(0, 0.05, len(planted.test.X)), 0, 1)


def test_a_streamed_audit_gives_the_numbers_of_all_pairs(planted: PlantedDataset, how: dict[str, Any]) -> None:
    scores = blur(planted)
    streamed = audit(scores, **how, max_pairs=KEPT)
    assert_same_numbers(streamed, audit(scores, **how))
    assert len(streamed.pairs) == KEPT
    pairs = streamed.to_dict()["pairs"]
    assert (pairs["measured"], pairs["n"], pairs["n_kept"]) == ("all", pairs["n_total"], KEPT)
    assert any("Intervals and tests use a uniform sample of 40" in note.text for note in streamed.notes)
    assert f"{pairs['n']:,} pairs" in repr(streamed)


@pytest.mark.long(3)
@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_the_numbers_are_the_same_with_several_sensitive_columns_and_scores_that_repeat(task: Any) -> None:
    random = np.random.default_rng(3)
    n = 90
    people = pa.table({name: random.choice(list("abc"), n).tolist() for name in ("sex", "race", "job")})
    chances = np.round(random.random((n, 4)), 1)
    scores = {
        "binary": chances[:, 0],
        "multiclass": np.eye(4)[random.integers(4, size=n)],
        "regression": 1e6 + 1e4 * chances[:, 0],
    }[task]
    y = {"binary": np.arange(n) % 2, "multiclass": np.arange(n) % 4, "regression": 1e4 * random.random(n)}[task]
    how: dict[str, Any] = {
        "roles": Roles(sensitive=("sex", "race"), discrete=("job",)),
        "rule": Comparability(max_discrete_changes=1),
        "baseline": task != "multiclass",
        "n_resamples": 40,
        "task": task,
    }
    exact = audit(scores, people, y, **how)
    for most in (exact.record.pairs.n_total - 1, 7):
        assert_same_numbers(audit(scores, people, y, **how, max_pairs=most), exact)
    whole = audit(scores, people, y, **how, max_pairs=exact.record.pairs.n_total)
    assert whole.to_dict()["measures"] == exact.to_dict()["measures"]


def test_a_label_that_the_sample_missed_is_measured_without_an_interval(
    planted: PlantedDataset, how: dict[str, Any]
) -> None:
    streamed, exact = (audit(blur(planted), **how, max_pairs=most) for most in (1, 5_000_000))
    seen = {int(label) for label in streamed.pairs.label}
    name = "gap_mean[0]" if seen == {1} else "gap_mean[1]"
    assert streamed[name].value == pytest.approx(exact[name].value, rel=1e-12)
    assert streamed[name].low is None


def test_pairs_from_a_folder_give_the_record_that_mining_gives(
    planted: PlantedDataset, how: dict[str, Any], tmp_path: Path
) -> None:
    table = how["roles"].encode(how["X"], how["y"])
    write_pairs(table, how["rule"], tmp_path / "pairs", pairs_per_part=20)
    for most in (KEPT, 5_000_000):
        found = audit(blur(planted), **how, max_pairs=most, pairs=tmp_path / "pairs")
        assert_same_record(found, audit(blur(planted), **how, max_pairs=most))
    with pytest.raises(LikewiseError, match="another rule"):
        audit(blur(planted), **how | {"rule": Comparability(max_discrete_changes=0)}, pairs=tmp_path / "pairs")
    with pytest.raises(LikewiseError, match="another table"):
        audit(blur(planted), **how | {"y": 1 - np.asarray(how["y"])}, pairs=tmp_path / "pairs")
    with pytest.raises(ValueError, match="all pairs are in the folder"):
        audit(blur(planted), **how, pairs=tmp_path / "pairs", when_too_many="sample")


def test_a_memory_limit_bounds_the_pairs_kept(planted: PlantedDataset, how: dict[str, Any]) -> None:
    found = audit(blur(planted), **how, memory_limit="1 GB")
    assert found.settings.max_pairs == (1_000_000_000 - len(how["X"]) * BYTES_PER_PERSON) // 2 // BYTES_PER_PAIR
    assert found.summary is None
    with pytest.raises(ValueError, match="memory_limit is 'much'"):
        audit(blur(planted), **how, memory_limit="much")
    with pytest.raises(ValueError, match="when_too_many is 'list'"):
        audit(blur(planted), **how, when_too_many="list")  # type: ignore[arg-type]  # to be refused


def test_a_change_between_two_streamed_audits_is_that_of_all_pairs(
    planted: PlantedDataset, how: dict[str, Any]
) -> None:
    def compare(most: int) -> Any:
        one, other = (audit(blur(planted, seed), **how, max_pairs=most) for seed in (0, 1))
        return compare_audits(one, other)["gap_mean"].difference

    streamed, exact = compare(60), compare(5_000_000)
    assert streamed.value == pytest.approx(exact.value, abs=1e-12)
    assert streamed.low < streamed.value < streamed.high
    assert streamed.high - streamed.low > exact.high - exact.low


def draw_people(random: np.random.Generator, n_people: int, n_cases: int) -> tuple[CodedTable, Scores]:
    case, group = random.integers(n_cases, size=n_people), random.integers(2, size=n_people)
    chance = 1 / (1 + np.exp(-np.sin(case) - random.normal(0, 0.6, n_people) + 0.5 * group))
    table = CodedTable(sensitive=group[:, None], matched=case[:, None])
    return table, Scores(chance, "binary", (chance >= 0.5).astype(np.int64), 0.5)


@pytest.mark.parametrize(("n_people", "n_cases", "n_kept"), [(100, 4, 120), (200, 20, 150)][: sized(1, 2)])
def test_intervals_cover_the_truth_though_only_a_sample_of_the_pairs_is_known(
    n_people: int, n_cases: int, n_kept: int
) -> None:
    names = ("gap_mean", "gap_median", "gap_q3", "gap_share_above", "flip_rate")
    random = np.random.default_rng(n_people)

    def measure(table: CodedTable, scores: Scores, *, keep: int | None, seed: int = 0) -> list[dict[str, Any]]:
        """Measure a sample alone, and all pairs with the sample for the intervals."""
        settings = AuditSettings(n_resamples=0 if keep is None else 200, max_pairs=keep or 1, seed=seed)
        if keep is None:
            scored = ScoredPairs(mine_pairs(table, Comparability()), scores)
            return [measure_pairs(scored, None, settings)[None]]
        people = ScoredPeople.of(table, scores)
        chunks = iter_pairs(table, Comparability())
        found = gather_pairs(chunks, table, people, people.shape(settings), lambda share: None)
        assert found.summary is not None
        scored = ScoredPairs(found.pairs, scores)
        return [measure_pairs(scored, summary, settings)[None] for summary in (None, found.summary)]

    truths = [measure(*draw_people(random, 30 * n_people, n_cases), keep=None)[0] for _ in range(sized(1, 3))]
    truth = {name: float(np.mean([one[name].value for one in truths])) for name in names}
    n_runs = sized(40, 160)
    hits = {kind: dict.fromkeys(names, 0) for kind in ("sample", "stream")}
    for run in range(n_runs):
        for kind, found in zip(
            hits, measure(*draw_people(random, n_people, n_cases), keep=n_kept, seed=run), strict=True
        ):
            for name in names:
                hits[kind][name] += bool(found[name].low <= truth[name] <= found[name].high)
    # nominal 0.95; a run of 160 strays by 0.017 (one standard error)
    shares = {kind: {name: n / n_runs for name, n in of.items()} for kind, of in hits.items()}
    assert {
        name: share for name, share in shares["sample"].items() if not sized(0.8, 0.9) <= share <= sized(1.0, 0.995)
    } == {}
    # the value of all pairs is nearer to the truth than the sample's, and the interval is as wide
    assert {name: share for name, share in shares["stream"].items() if share < sized(0.8, 0.9)} == {}


def test_a_sampled_audit_looks_at_no_more_pairs_than_asked_and_says_so(
    planted: PlantedDataset, how: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = audit(blur(planted), **how)
    monkeypatch.setattr(_gather, "MOST_PROBED", 200)
    sampled = audit(blur(planted), **how, max_pairs=60, when_too_many="sample")
    pairs = sampled.to_dict()["pairs"]
    assert (pairs["measured"], pairs["n"], pairs["n_kept"], pairs["n_probed"]) == ("sample", 60, 60, 200)
    n_total = exact.to_dict()["pairs"]["n_total"]
    assert pairs["n_total"] == pytest.approx(n_total, abs=6 * (pairs["n_total_error"] or 0.5))
    assert sampled["gap_mean"].low < exact["gap_mean"].value < sampled["gap_mean"].high  # type: ignore[operator]  # all are known
    coverage = sampled["matched_share"]
    assert coverage.n == 200
    assert coverage.low < exact["matched_share"].value < coverage.high  # type: ignore[operator]  # all are known
    assert any("a uniform sample of 60 was measured" in note.text for note in sampled.notes)
    assert any("Of 200 people drawn at random" in note.text for note in sampled.notes)
    assert sampled.to_dict() == audit(blur(planted), **how, max_pairs=60, when_too_many="sample").to_dict()


def test_a_sampled_audit_of_few_pairs_is_an_audit_of_all(planted: PlantedDataset, how: dict[str, Any]) -> None:
    sampled, exact = (audit(blur(planted), **how, when_too_many=way).to_dict() for way in ("sample", "stream"))
    assert sampled["settings"].pop("when_too_many") == "sample"
    exact["settings"].pop("when_too_many")
    assert sampled == exact
