"""A drawn chart is well-formed, says what it shows, keeps text of the data as text, and looks alike each time."""

from __future__ import annotations

import re
from importlib import resources
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from tests.records import put_labels

from likewise.record import AuditRecord
from likewise.report._charts import (
    Chart,
    as_percent,
    calibration_chart,
    direction_chart,
    gap_charts,
    make_axis,
    person_chart,
    score_chart,
)
from likewise.report._svg import draw_svg, whisker

HOSTILE = "<script>alert(1)</script>\"'&amp; ]]>\n\x00\x1b\u202ecba\ud800 👩‍⚖️" + "x" * 10_000
SVG = "{http://www.w3.org/2000/svg}"


def all_charts(plain: dict[str, Any]) -> list[Chart]:
    record = AuditRecord.of(plain)
    others = (person_chart(record), score_chart(record), direction_chart(record), calibration_chart(record))
    return [*gap_charts(record), *(chart for chart in others if chart is not None)]


def make_hostile(record: dict[str, Any]) -> dict[str, Any]:
    """Put text that means harm wherever the data gives text to a chart."""
    put_labels(record, ["no", HOSTILE])
    record["positive"] = HOSTILE
    record["distributions"]["slices"][2]["label"] = HOSTILE
    record["score_distribution"]["slices"][1]["label"] = HOSTILE
    record["directions"][0] |= {"origin": [HOSTILE, HOSTILE], "target": [HOSTILE]}
    return record


def marks(root: ET.Element, name: str) -> list[ET.Element]:
    return [one for one in root.iter() if name in (one.get("class") or "").split()]


@pytest.mark.parametrize("is_hostile", [False, True])
def test_a_chart_is_a_named_image_in_well_formed_xml(record: dict[str, Any], is_hostile: bool) -> None:
    charts = all_charts(make_hostile(record) if is_hostile else record)
    assert len(charts) == 7
    for chart in charts:
        root = ET.fromstring(draw_svg(chart))
        assert root.tag == f"{SVG}svg"
        assert root.get("role") == "img"
        assert [one.tag for one in root[:2]] == [f"{SVG}title", f"{SVG}desc"]
        assert root[0].text == chart.title
        assert root[1].text == chart.description


def test_text_of_the_data_stays_text(record: dict[str, Any]) -> None:
    drawn = [draw_svg(chart) for chart in all_charts(make_hostile(record))]
    assert sum("&lt;script&gt;" in one for one in drawn) >= 3
    for one in drawn:
        root = ET.fromstring(one)
        assert {tag.tag.removeprefix(SVG) for tag in root.iter()} <= {
            *("svg", "g", "title", "desc", "text", "rect", "line", "circle", "path"),
        }
        assert not any(key.startswith("on") or key in ("style", "id", "href") for e in root.iter() for key in e.attrib)
        assert not re.search("[\x00-\x08\x1b\u202a-\u202e\u2066-\u2069\ud800-\udfff]", one)
        assert len(one) < 20_000


def test_there_is_one_bar_a_bin_as_high_as_its_share(record: dict[str, Any]) -> None:
    for chart, found in zip(gap_charts(AuditRecord.of(record)), record["distributions"]["slices"], strict=True):
        root = ET.fromstring(draw_svg(chart))
        series = next(one for one in marks(root, "lw-series") if one.get("data-series") == "0")
        heights = [float(bar.get("height") or 0) for bar in marks(series, "lw-bar")]
        assert len(heights) == len(found["counts"])
        tallest = max(heights)
        assert [h / tallest for h in heights] == pytest.approx(
            [count / max(found["counts"]) for count in found["counts"]], abs=1e-3
        )


def test_every_bin_mark_and_row_carries_its_words(record: dict[str, Any]) -> None:
    for chart in all_charts(record):
        root = ET.fromstring(draw_svg(chart))
        tips = [one.get("data-tip") for one in root.iter() if one.get("data-tip")]
        expected = {
            *getattr(chart, "tips", ()),
            *(one.tip for name in ("markers", "dots", "points") for one in getattr(chart, name, ())),
        }
        assert set(tips) == expected
        hits = marks(root, "lw-hit")
        assert [one[0].text for one in hits] == [one.get("data-tip") for one in hits]  # shown without a script


def test_a_legend_names_the_series_it_switches(record: dict[str, Any]) -> None:
    root = ET.fromstring(draw_svg(gap_charts(AuditRecord.of(record))[0]))
    keys = {one.get("data-series"): one.get("data-name") for one in marks(root, "lw-key")}
    assert keys == {"0": "Comparable pairs (233)", "1": "Same-group pairs (baseline) (466)"}
    assert {one.get("data-series") for one in marks(root, "lw-series")} == set(keys)


def test_colours_are_left_to_the_style_sheet_and_bytes_are_the_same(record: dict[str, Any]) -> None:
    for chart in all_charts(record):
        drawn = draw_svg(chart)
        assert drawn == draw_svg(chart)
        assert not re.search(r"#[0-9a-f]{3,6}\b|rgb|hsl|style=|\bid=", drawn)
        assert set(re.findall(r'(?:fill|stroke)="([^"]*)"', drawn)) <= {"none"}


def test_the_script_makes_no_markup_runs_no_text_and_fetches_nothing() -> None:
    script = (resources.files("likewise.report") / "assets" / "report.js").read_text("utf-8")
    for word in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval",
        "new Function",
        "setTimeout",
    ):
        assert word not in script
    assert not re.search(r"https?:|fetch\(|XMLHttpRequest|import\(|\.cookie|Storage|setAttribute\(.(style|on)", script)


def test_every_class_has_its_looks(record: dict[str, Any]) -> None:
    styles = (resources.files("likewise.report") / "assets" / "charts.css").read_text("utf-8")
    drawn = {
        name
        for chart in all_charts(record)
        for one in ET.fromstring(draw_svg(chart)).iter()
        for name in (one.get("class") or "").split()
    }
    plain = {"lw-dots", "lw-key", "lw-series", "lw-name", "lw-step-1", "lw-marker-0"}  # as the others of their kind
    assert {name for name in drawn - plain if f".{name}" not in styles} == set()


def test_an_interval_that_goes_on_beyond_the_axis_has_no_end_there() -> None:
    axis = make_axis("Gap", 0.0, 0.8, as_percent)
    assert whisker(axis, 0.8, 0.1, 1.0, 0).count("<line") == whisker(axis, 0.8, 0.1, None, 0).count("<line") == 2
    assert whisker(axis, 0.4, 0.1, 0.8, 0).count("<line") == 3
