"""A fitted search in a notebook: every model and the choice, as text that needs nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pytest
import sklearn

from likewise.datasets import PlantedDataset

Search = Callable[..., Any]  # a FrontierSearch, all of whose numbers are known here
pytestmark = pytest.mark.filterwarnings("ignore::likewise.exceptions.LikewiseWarning")


def test_a_fitted_search_shows_its_frontier_above_the_diagram(search: Search, planted: PlantedDataset) -> None:
    found = search({"gap": [0.0, 0.05], "mood": ["well", "ill"]}, n_resamples=0)
    assert "lw-frontier" not in found._repr_html_()
    found.fit(planted.train.X, planted.train.y)
    shown = found._repr_mimebundle_()["text/html"]
    assert shown.split("</div>")[0] == found._repr_html_().split("</div>")[0]
    card, diagram = shown.split("</div>", 1)
    assert "FrontierSearch" in diagram
    assert not re.search(r"<script|<link|<img|src=|href=|url\(|@import", card)
    svg = ElementTree.fromstring(re.search("<svg.*</svg>", card, re.DOTALL)[0])  # type: ignore[index]  # there is one
    title, told = svg[0].text, svg[1].text
    assert title == "Loss against unfairness of 3 models"
    assert told is not None
    assert f"Chosen: {found.frontier_.index(found.best_point_)}." in told
    assert svg.get("role") == "img"
    rows = re.findall("<tr.*?</tr>", card)
    assert len(rows) == 1 + len(found.frontier_)
    assert [row for row in rows if "chosen" in row] == [rows[1 + found.frontier_.index(found.best_point_)]]
    assert sum("This lender is ill." in row for row in rows) == 2
    with sklearn.config_context(display="text"):
        assert "text/html" not in found._repr_mimebundle_()
        assert not hasattr(found, "_repr_html_")


def test_names_are_text_and_not_markup(search: Search, planted: PlantedDataset, lender: Any) -> None:
    found = search({"mood": ["<b>well</b>"]}).fit(planted.train.X, planted.train.y)
    assert "mood=&lt;b&gt;well&lt;/b&gt;" in found._repr_html_()
    assert "<b>well" not in found._repr_html_().split("</div>", 1)[0]


def test_where_the_base_is_chosen_that_is_said(search: Search, planted: PlantedDataset) -> None:
    found = search({"gap": [0.2]}).fit(planted.train.X, planted.train.y)
    assert "the base was chosen" in found._repr_html_()
