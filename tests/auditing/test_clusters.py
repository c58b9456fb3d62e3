"""Clusters stand for people in every interval and test: of the same people, one in each, they change nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t
from tests.sizes import sized

from likewise import Audit, Comparability, Policy, Roles, audit, compare_audits
from likewise.cli import main
from likewise.exceptions import ParameterError, ScoreError

ROLES = Roles(sensitive=["group"], discrete=["case"])
NAMES = ("branch", "house")
RULE = Comparability(max_discrete_changes=0)


def draw(seed: int, n: int = 120, n_cases: int = 4) -> tuple[pa.Table, Any, Any]:
    """Draw people of two groups, their scores and labels."""
    random = np.random.default_rng(seed)
    group, case = random.integers(2, size=n), random.integers(n_cases, size=n)
    frame = pa.table({"group": group.astype(str), "case": case.astype(str)})
    return frame, random.random(n), random.integers(2, size=n)


def examine(people: tuple[pa.Table, Any, Any], cluster: Any = None, **how: Any) -> Audit:
    frame, scores, labels = people
    return audit(scores, frame, labels, roles=ROLES, rule=RULE, cluster=cluster, n_resamples=40, **how)


def ends(found: Audit, *names: str) -> dict[str, Any]:
    return {name: (found[name].value, found[name].low, found[name].high) for name in names}


def test_one_person_in_each_cluster_changes_nothing_of_people_and_excess() -> None:
    people = draw(0)
    of_people = "roc_auc", "log_loss", "average_precision", "f1", "balanced_accuracy", "calibration_error"
    names = *of_people, "excess", "excess_flips"
    alone, apart = examine(people), examine(people, np.arange(120)[::-1])
    for name, expected in ends(alone, *names).items():
        assert ends(apart, name)[name] == pytest.approx(expected), name
    assert apart["gap_mean"].value == alone["gap_mean"].value
    assert apart["gap_mean"].low < alone["gap_mean"].low  # type: ignore[operator]  # the noise of pairs is left in


def test_clusters_are_known_by_whose_they_are_and_not_by_their_names() -> None:
    frame, scores, labels = draw(1)
    numbers = np.random.default_rng(2).integers(30, size=120)
    named = frame.append_column("branch", pa.array([f"no {one}" for one in numbers]))
    by_name, by_array = examine((named, scores, labels), "branch"), examine((frame, scores, labels), numbers)
    assert by_name.measures == by_array.measures
    assert by_name.directions == by_array.directions
    assert by_name.record.settings.cluster == "branch"
    assert "clustered" in {note.kind for note in by_name.notes}


def excess_by_hand(people: tuple[pa.Table, Any, Any], clusters: Any, left_out: int | None = None) -> float | None:
    """Return the excess without one cluster, from a few lines."""
    frame, scores, labels = people
    group, case = (np.array(frame[name].to_pylist()) for name in ("group", "case"))
    here = np.ones(len(scores), bool) if left_out is None else clusters != left_out
    found = []
    for i in np.flatnonzero(here):
        partners = here & (case == case[i]) & (labels == labels[i]) & (clusters != clusters[i])
        other, own = (partners & ((group != group[i]) == is_other) for is_other in (True, False))
        if other.any() and own.any():
            found.append(np.abs(scores[i] - scores[other]).mean() - np.abs(scores[i] - scores[own]).mean())
    return float(np.mean(found)) if found else None


@settings(max_examples=sized(8, 40), deadline=None)
@given(st.integers(0, 10_000), st.integers(10, 16))
def test_the_excess_leaves_partners_of_the_own_cluster_out_and_is_left_without_each(seed: int, n_clusters: int) -> None:
    people = draw(seed, 60, 2)
    clusters = np.random.default_rng(seed).permutation(np.arange(60) % n_clusters)
    found = examine(people, clusters)["excess"]
    assert found.value == pytest.approx(excess_by_hand(people, clusters))
    without = np.array([excess_by_hand(people, clusters, one) for one in range(n_clusters)], np.float64)
    error = float(np.sqrt((n_clusters - 1) / n_clusters * np.square(without - without.mean()).sum()))
    squares = np.square(without - without.mean())
    n = min(n_clusters, 2 * squares.sum() ** 2 / np.square(squares).sum())
    assert found.low == pytest.approx(found.value - 1.1 * t.ppf(0.975, max(n - 1, 1)) * error)


def test_rates_of_groups_are_as_uncertain_as_the_clusters_that_are_decided_alike() -> None:
    frame, _, labels = draw(7, 240)
    clusters = np.arange(240) % 24
    scores = np.where(clusters % 3, 0.9, 0.1)  # all of a cluster alike
    alone, together = examine((frame, scores, labels)), examine((frame, scores, labels), clusters)
    for one, other in zip(alone.groups, together.groups, strict=True):
        assert one.selection_rate == other.selection_rate
        assert other.n_effective is not None
        assert other.n_effective <= 26  # as many as there are clusters, and not a hundred people
        assert np.ptp(other.selection_interval) > 1.5 * np.ptp(one.selection_interval)  # type: ignore[arg-type]


def test_nothing_is_concluded_from_nine_clusters() -> None:
    found = examine(draw(3), np.arange(120) % 9)
    assert {name: one.low for name, one in found.measures.items() if "gap_mean" in name and one.low is not None} == {}
    assert found.judge(Policy(max_gap_mean=0.9)).outcome == "inconclusive"
    assert {one.p_value for one in found.directions} == {None}
    assert "fewer than 10 clusters" in " ".join(map(str, found.notes))


def test_audits_of_other_clusters_are_not_compared() -> None:
    frame, scores, labels = draw(4)
    named = frame.append_column("branch", pa.array(np.arange(120) % 30)).append_column("house", frame["case"])
    by_branch, by_house = (examine((named.select([*frame.column_names, one]), scores, labels), one) for one in NAMES)
    with pytest.raises(ScoreError, match="differ in their clusters"):
        compare_audits(by_branch, by_house)


@pytest.mark.parametrize(
    ("cluster", "message"),
    [
        ("brunch", "is 'brunch', but there is no such column"),
        ([1, 2], "has 2 values for 120 rows"),
        (object(), "is <object object at .*>; name a column, or give one value per row"),
        (np.array(3), r"is array\(3\); name a column, or give one value per row"),
        (pd.Series([pd.NA] + [1] * 119, dtype="Int64"), "is missing in 1 of 120 rows, first in row 0"),
        ([None, *range(119)], "is missing in 1 of 120 rows, first in row 0"),
        (np.where(np.arange(120) == 7, np.nan, 1.0), "first in row 7"),
    ],
)
def test_odd_clusters_get_one_line(cluster: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        examine(draw(5), cluster)


def test_the_command_line_takes_a_column_of_clusters(tmp_path: Path) -> None:
    frame, scores, labels = draw(6)
    table = frame.append_column("score", pa.array(scores)).append_column("label", pa.array(labels))
    table = table.append_column("branch", pa.array(np.arange(120) % 30))
    pyarrow.csv.write_csv(table, tmp_path / "people.csv")
    asked = [
        "--sensitive",
        "group",
        "--discrete",
        "case",
        "--label",
        "label",
        "--scores",
        "score",
        "--max-discrete-changes",
        "0",
    ]
    out = tmp_path / "out"
    with pytest.raises(SystemExit) as ended:
        main(["audit", str(tmp_path / "people.csv"), *asked, "--cluster", "branch", "--out", str(out)])
    assert ended.value.code == 0
    assert "30 clusters" in (out / "report.html").read_text("utf-8")
