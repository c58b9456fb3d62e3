"""The report's section of certificates, in a browser: the numbers of the record, on a phone, and no fault for axe."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tests.browser.conftest import WIDTHS, Open
from tests.browser.looking import find_faults, scrolls_sideways, spread_out, squeeze

from likewise import audit, certify_audit, load_dataset
from likewise.report import to_html


def test_worst_possible_gaps_are_those_of_the_record_and_axe_finds_nothing_to_mend(
    open_page: Open, tmp_path: Path
) -> None:
    data, numbers = load_dataset("planted"), make_column_selector(dtype_include="number")
    coding = make_column_transformer((StandardScaler(), numbers), remainder=OneHotEncoder())
    model = make_pipeline(coding, LogisticRegression()).fit(data.train.X, data.train.y)
    how: dict[str, Any] = {"roles": data.roles, "rule": data.rule, "n_resamples": 0, "n_worst": 2, "baseline": False}
    found = audit(model, data.test.X, data.test.y, **how)
    certified = certify_audit(found, model)
    path = tmp_path / "report.html"
    path.write_text(to_html(certified.audit.to_record()), encoding="utf-8")
    page = open_page(path, width=WIDTHS["phone"])
    spread_out(page)
    assert page.locator("nav a[href='#certificates']").count() == 1
    limits, people = page.locator("#certificates table").all()
    shown = [squeeze(row) for row in limits.locator("tbody tr").all_inner_texts()]
    assert len(shown) == len(certified.summary.limits)
    for row, one in zip(shown, certified.summary.limits, strict=True):
        assert f"{100 * one.limit:.2f} pp" in row
        assert f"{one.n_within / 5:.2f}%" in row  # of 500
    text = squeeze(people.inner_text())
    for person in certified.summary.people:
        assert f"{100 * person.reached:.2f} pp" in text
        assert all(f"{change.column} " in text for change in person.changes)
    assert page.locator("#certificates svg.lw-chart [data-tip]").count() > 10
    assert not scrolls_sideways(page)
    assert find_faults(page, "#certificates") == []
