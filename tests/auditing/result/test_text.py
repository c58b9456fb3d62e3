"""A printed audit has the numbers with what limits them, on lines that fit a page."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from likewise import Audit, Comparability, Roles, audit
from likewise.datasets import PlantedDataset


def test_the_headline_is_that_of_the_short_form(found: Audit) -> None:
    assert repr(found) == f"<{str(found).splitlines()[0]}>"


def test_numbers_stand_beside_their_baseline_with_intervals(found: Audit) -> None:
    rows = {line.split()[0]: line for line in str(found).splitlines()[2:]}
    for one in (found["gap_mean"], found["same_group_gap_mean"]):
        assert f"{100 * one.value:.2f} pp ({100 * one.low:.2f} to {100 * one.high:.2f})" in rows["gap_mean"]  # type: ignore[operator]  # all are known
    assert {"gap_mean[1]", "gap_mean[0]", "rank_gap_mean", "flip_rate", "matched_share", "roc_auc"} <= set(rows)


def test_who_is_worse_off_is_told_where_it_is_hardly_chance(
    planted: PlantedDataset, how: dict[str, Any], found: Audit
) -> None:
    assert "By group: green compared with " in " ".join(str(found).split())  # which is scored lower
    alike = audit(lambda people: planted.scores(people, gap=0.0), **how)
    assert "By group, no difference is significant" in " ".join(str(alike).split())


def test_every_note_is_told_and_no_line_is_too_long(planted: PlantedDataset, how: dict[str, Any]) -> None:
    few = {**how, "X": planted.test.X[:60], "y": planted.test.y[:60]}
    found = audit(planted.scores, **few)
    page = str(found)
    assert max(map(len, page.splitlines())) <= 100
    assert len(found.notes) >= 3
    assert all(note.text in " ".join(page.split()) for note in found.notes)


def test_predicted_amounts_have_what_their_task_has() -> None:
    people = pd.DataFrame({"sex": list("fm") * 20, "job": list("aabb") * 10, "wage": np.linspace(1, 3, 40)})
    roles = Roles(sensitive="sex", discrete="job", label="wage")
    page = str(audit(people["wage"].to_numpy() * 1.1, people, roles=roles, task="regression"))
    assert "mean_absolute_error" in page
    assert "roc_auc" not in page
    assert "flip_rate" not in page


def test_where_pairs_are_few_the_column_that_costs_most_is_named() -> None:
    rng = np.random.default_rng(0)
    n = 240
    people = pd.DataFrame({"sex": rng.choice(["f", "m"], n), "job": rng.choice(["a", "b"], n)})
    people["code"] = np.arange(n) * 10.0 ** (np.arange(n) % 7)  # far apart, mostly
    roles = Roles(sensitive="sex", discrete="job", continuous="code")
    rule = Comparability(max_continuous_shift=0.0)
    found = audit(rng.random(n), people, rng.integers(0, 2, n), roles=roles, rule=rule, n_resamples=0)
    few = [note.text for note in found.notes if note.kind == "few_pairs"]
    assert "Most are lost to code (equal): without it there would be" in few[-1]
