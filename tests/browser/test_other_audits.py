"""Pages of audits of every kind: several labels, numbers instead of labels, no intervals, no baseline, no spread."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.browser.conftest import WIDTHS, Open
from tests.browser.looking import scrolls_sideways, spread_out, squeeze
from tests.sizes import sized

from likewise import Policy, audit
from likewise.auditing import Audit
from likewise.exceptions import ScoresCollapsed

LEAK = re.compile(r"\b(NaN|nan|undefined|None|null|Infinity|inf|object Object)\b")
KINDS = ("several labels", "numbers", "collapsed", "no intervals", "no baseline", "one worst pair")


def ask_for(kind: str, loans: Any) -> dict[str, Any]:
    """Give what an audit of this kind is asked."""
    people, random = loans.train, np.random.default_rng(0)
    n = len(people)
    chances = random.dirichlet([2, 2, 2], n)
    asked: dict[str, Any] = {"scores": loans.scores(people.X), "y": people.y, "n_resamples": 60}
    changes: dict[str, dict[str, Any]] = {
        "several labels": {"scores": chances, "y": [("a", "b", "c")[i % 3] for i in range(n)]},
        "numbers": {"scores": random.normal(50, 9, n), "y": random.normal(50, 9, n), "task": "regression"},
        "no intervals": {"n_resamples": 0},
        "no baseline": {"baseline": False},
        "collapsed": {"scores": np.full(n, 0.4) + random.uniform(0, 1e-4, n)},
        "one worst pair": {"n_worst": 1},
    }
    return asked | changes[kind]


def measure(kind: str, loans: Any) -> Audit:
    asked = ask_for(kind, loans)
    return audit(asked.pop("scores"), loans.train.X, asked.pop("y"), roles=loans.roles, rule=loans.rule, **asked)


@pytest.mark.long(2)
@pytest.mark.filterwarnings(f"ignore::{ScoresCollapsed.__module__}.{ScoresCollapsed.__name__}")
@pytest.mark.parametrize("kind", KINDS[: sized(2, None)])
def test_a_report_of_any_audit_reads_well(open_page: Open, loans: Any, tmp_path: Path, kind: str) -> None:
    found = measure(kind, loans)
    path = tmp_path / "report.html"
    path.write_text(found.to_html(verdict=found.judge(Policy(max_gap_mean=0.1)), before=found), encoding="utf-8")
    page = open_page(path, width=WIDTHS["phone"])
    spread_out(page)
    text = squeeze(" ".join(page.locator("main section:not(#reproduce)").all_inner_texts()))  # that one shows JSON
    assert LEAK.findall(text) == []
    unit = " pp" if found.record.in_points else "%"
    assert f"{100 * (found['gap_mean'].value or 0):.2f}{unit}" in text
    assert ("Warning." in text) == (kind == "collapsed")
    assert not scrolls_sideways(page)
