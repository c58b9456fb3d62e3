"""Charts for notebooks: the record's numbers on the axes that were given, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from likewise import Audit, audit, compare_audits
from likewise.datasets import PlantedDataset
from likewise.report import plot_chart

METHODS = ("plot_gaps", "plot_directions", "plot_people", "plot_calibration")


@pytest.fixture(autouse=True)
def no_window() -> Iterator[None]:
    plt.switch_backend("agg")
    yield
    plt.close("all")


@pytest.mark.long(2)
@pytest.mark.parametrize("method", METHODS)
def test_given_axes_come_back_and_no_others_are_drawn_on(found: Audit, method: str) -> None:
    figure = Figure()
    mine, other = figure.subplots(1, 2)
    assert getattr(found, method)(mine) is mine
    assert mine.has_data()
    assert not other.has_data()
    assert figure.axes == [mine, other]
    assert plt.get_fignums() == []
    figure.canvas.draw()


@pytest.mark.long(2)
@pytest.mark.parametrize("method", METHODS)
def test_without_axes_there_is_one_new_figure(found: Audit, method: str) -> None:
    axes = getattr(found, method)()
    assert plt.get_fignums() == [1]
    assert axes.figure.axes == [axes]


def test_bars_are_the_shares_of_the_record(found: Audit) -> None:
    slices = found.to_dict()["distributions"]["slices"]
    for label, one in ((None, slices[0]), *((one["label"], one) for one in slices[1:])):
        axes = found.plot_gaps(Figure().subplots(), label=label)
        heights = [bar.get_height() for bar in axes.patches[: len(one["counts"])]]  # type: ignore[attr-defined]
        assert heights == pytest.approx(np.array(one["counts"]) / one["n"])
        legend = axes.get_legend()
        assert legend is not None
        assert f"Comparable pairs ({one['n']:,})" in [words.get_text() for words in legend.get_texts()]


def test_a_label_that_no_pair_has_is_named_with_those_there_are(found: Audit) -> None:
    with pytest.raises(ValueError, match="No pair has the label 'maybe'; the labels of pairs are 0, 1"):
        found.plot_gaps(Figure().subplots(), label="maybe")


def test_text_of_the_data_is_no_formula(found: Audit) -> None:
    record = found.to_dict()
    record["directions"][0] |= {"origin": ["$\\frac{"], "target": ["$^$ _{"]}
    record["labels"][1] = "$\\frac{$"
    for one in (record["distributions"]["slices"][2], record["score_distribution"]["slices"][1]):
        one["label"] = "$\\frac{$"
    record["positive"] = "$\\frac{$"
    figure = Figure(figsize=(10, 10))
    first, second, third = figure.subplots(3)
    plot_chart(record, "directions", first)
    plot_chart(record, "gaps", second, label="$\\frac{$")
    plot_chart(record, "scores", third)
    figure.canvas.draw()
    assert second.get_title(loc="left") == "Gaps. Label $\\frac{$ (positive)"


def test_what_an_audit_does_not_have_cannot_be_drawn(planted: PlantedDataset, how: dict[str, Any]) -> None:
    scores = planted.scores(planted.test.X)
    amounts = audit(scores, **{**how, "y": scores, "n_resamples": 0}, task="regression")
    with pytest.raises(ValueError, match="Nothing to draw: this audit, with task 'regression', has no calibration"):
        amounts.plot_calibration(Figure().subplots())
    with pytest.raises(ValueError, match="kind is 'pies'; choose one of 'gaps'"):
        plot_chart(amounts.to_dict(), "pies")


def test_a_notebook_shows_a_card_and_the_report_is_a_page(planted: PlantedDataset, how: dict[str, Any]) -> None:
    before = audit(planted.scores, **{**how, "n_resamples": 0})
    after = audit(lambda people: planted.scores(people, gap=0.02), **{**how, "n_resamples": 0})
    assert after._repr_html_().startswith('<div class="lw-card">')
    page, compared = after.to_html(), after.to_html(before=before)
    assert page.startswith("<!DOCTYPE html>")
    assert len(compared) > len(page)
    change = compare_audits(before, after)["gap_mean"]
    assert f"{100 * change.before.value:.1f} pp → {100 * change.after.value:.1f} pp" in compared  # type: ignore[operator]
