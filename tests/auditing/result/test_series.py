"""A series of audits is worse where treatment grew beyond the interval of the difference, and not where scores move."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.records import make_pair, make_record
from tests.sizes import sized

from likewise import Comparability, Roles, audit
from likewise.auditing import AuditSeries, compare_series
from likewise.exceptions import ParameterError, ScoreError
from likewise.record import AuditRecord
from likewise.report import series_to_html


def record_with(value: float, half: float | None = 0.01, **others: Any) -> dict[str, Any]:
    """Give a record with an excess, and the half width of its interval."""
    ends = (None, None) if half is None else (value - half, value + half)
    found = make_record()
    found["measures"]["excess"] = {"value": value, "low": ends[0], "high": ends[1], "n": 200}
    return found | others


@given(st.floats(0.1, 0.9), st.floats(0.1, 0.9), st.floats(0.001, 0.1), st.floats(0.001, 0.1))
def test_the_interval_of_a_difference_is_that_of_two_independent_means(
    old: float, new: float, wide: float, wider: float
) -> None:
    series = compare_series([record_with(old, wide), record_with(new, wider)])
    difference = series.changes["excess"].difference
    reach = BONFERRONI * (wide**2 + wider**2) ** 0.5
    assert difference.value == pytest.approx(new - old)
    assert (difference.low, difference.high) == pytest.approx(
        (new - old - reach, new - old + reach), rel=1e-3, abs=1e-3
    )
    assert (series.outcome == "worse") == (difference.low is not None and difference.low > 0)


@pytest.mark.parametrize(
    ("values", "outcome", "code"),
    [
        ((0.1, 0.3), "worse", 1),
        ((0.3, 0.1), "no worse", 0),
        ((0.1, 0.105), "no worse", 0),
        ((0.1, 0.5, 0.1), "no worse", 0),
    ],
)
def test_the_last_is_compared_with_the_first(values: tuple[float, ...], outcome: str, code: int) -> None:
    series = compare_series([record_with(value) for value in values])
    assert (series.outcome, series.exit_code) == (outcome, code)
    assert [one.measures["excess"].value for one in series.points] == list(values)
    assert series.to_dict()["outcome"] == outcome


BONFERRONI = 1.2214  # of the normal quantile, for three differences: excess, adjusted gap and approval gap
ROLES = make_record()["roles"]


@pytest.mark.parametrize(
    ("others", "named"),
    [
        ({"rule": {"max_discrete_changes": 7}}, "rule"),
        ({"task": "regression"}, "task"),
        ({"favours_low": True}, "favourable outcome"),
        ({"scale": 3.0}, "scale"),
        ({"roles": ROLES | {"sensitive": ["race"]}}, "sensitive columns"),
        ({"roles": ROLES | {"discrete": [*ROLES["discrete"], "town"]}}, "compared columns"),
        ({"roles": ROLES | {"label": "rehired"}}, "label column"),
        ({"settings": make_record()["settings"] | {"reference": {"sex": ["m"]}}}, "reference"),
    ],
)
def test_audits_that_differ_in_what_they_ask_are_refused(others: dict[str, Any], named: str) -> None:
    first, last = record_with(0.1), record_with(0.5, **others)
    for records in ([first, last], [first, last, first]):
        with pytest.raises(ScoreError, match=f"The records 1 and 2 differ in their {named}: "):
            compare_series(records)


def test_the_newest_is_not_taken_for_the_oldest() -> None:
    days = [f"2026-0{month}-01T00:00:00Z" for month in (1, 2, 3)]
    records = [record_with(0.1, made_at=day) for day in days]
    assert compare_series(records).points[0].made_at == days[0]
    with pytest.raises(
        ScoreError, match=r"not oldest first: 3 was made at 2026-03-01T00:00:00Z.* Give them as 1, 2, 3"
    ):
        compare_series(records[::-1], ["3", "2", "1"])
    assert compare_series(records[::-1], as_given=True).points[0].made_at == days[2]


@pytest.mark.parametrize("n", [0, 12, 29])
def test_too_few_conclude_nothing(n: int) -> None:
    first, last = record_with(0.1, directions=[]), record_with(0.5, directions=[])
    for one in (first, last):
        one["measures"]["excess"]["n"] = n
    series = compare_series([first, last])
    assert (series.outcome, series.exit_code) == ("inconclusive", 3)
    [told] = map(str, series.conclusions)
    assert told.startswith("No clear change: the excess went from 10.00 pp to 50.00 pp; only ")
    assert "too few to conclude" in told


def test_without_intervals_nothing_is_concluded() -> None:
    assert compare_series([record_with(0.1, None, directions=[]), record_with(0.5, directions=[])]).exit_code == 3


def test_new_and_resolved_pairs_are_told_by_row_identifier() -> None:
    turned = make_pair(2) | {"left_id": "p-17", "right_id": 2}
    series = compare_series(
        [
            record_with(0.1, worst_pairs=[make_pair(1), make_pair(2)]),
            record_with(0.1, worst_pairs=[turned, make_pair(3), make_pair(4) | {"gap": 0.0}]),
        ]
    )
    assert series.new_pairs is not None
    assert series.resolved_pairs is not None
    assert [one.left_id for one in series.new_pairs] == [3]
    assert [one.left_id for one in series.resolved_pairs] == [1]


def test_people_without_identifiers_in_other_tables_cannot_be_told() -> None:
    first, last = record_with(0.1), record_with(0.1)
    last["data"] = last["data"] | {"table_checksum": "other"}
    for one in (first, last):
        one["roles"] = one["roles"] | {"row_id": None}
    series = compare_series([first, last])
    assert (series.new_pairs, series.resolved_pairs) == (None, None)
    assert "People cannot be told across these audits" in series_to_html(series)


def test_bad_input_is_named() -> None:
    record = AuditRecord.from_dict(record_with(0.1))
    with pytest.raises(ParameterError, match="give two or more"):
        compare_series([record])
    with pytest.raises(ParameterError, match="give one each"):
        compare_series([record, record], names=["one"])
    with pytest.raises(ScoreError, match="The record 2 is not that of an audit"):
        compare_series([record, {}])


def page(series: AuditSeries) -> str:
    found = series_to_html(series)
    assert found == series_to_html(series)
    return found


def test_the_page_has_conclusions_charts_and_escaped_names() -> None:
    series = compare_series([record_with(0.1), record_with(0.3)], names=["<b>January</b>", "February"])
    found = page(series)
    assert '<p class="sentence fail">Worse: people are treated more differently, beyond chance.</p>' in found
    assert "Worse: the excess went from 10.00 pp to 30.00 pp (difference 20.00 pp (18.27 to 21.73))." in found
    assert "&lt;b&gt;January" in found
    assert "<b>January" not in found
    assert found.count("<svg") >= 3
    assert "default-src &#39;none&#39;" in found


def test_gaps_between_probabilities_are_in_points_and_between_amounts_in_percent() -> None:
    records = [record_with(0.1), record_with(0.1)]
    assert "10.00 pp" in series_to_html(compare_series(records))
    amounts = [one | {"task": "regression", "scale": 5.0} for one in records]
    assert "10.00%" in series_to_html(compare_series(amounts))
    assert "10.00 pp" not in series_to_html(compare_series(amounts))


ROLES_OF_LOANS = Roles(sensitive="sex", continuous=["income"])
HOW: dict[str, Any] = {"roles": ROLES_OF_LOANS, "rule": Comparability(max_continuous_shift=0.05)}


def audit_loans(treatment: float, level: float, seed: int, merit: float = 0.0) -> AuditRecord:
    """Audit people of two groups, the second of which is scored lower by ``treatment``."""
    random = np.random.default_rng(seed)
    sex = random.choice(["f", "m"], 300)
    income = random.normal(size=300) + merit * (sex == "m")
    scores = 1 / (1 + np.exp(-(level + 0.5 * income + 0.2 * random.normal(size=300)))) - treatment * (sex == "f")
    return audit(np.clip(scores, 0, 1), pd.DataFrame({"sex": sex, "income": income}), threshold=0.5, **HOW).record


def test_treatment_that_grows_while_all_scores_rise_is_worse() -> None:
    series = compare_series([audit_loans(0.20, 0.0, 1), audit_loans(0.45, 3.0, 2)])
    assert (series.outcome, series.exit_code) == ("worse", 1)
    assert not any(str(one).startswith("Better: the adjusted gap") for one in series.conclusions)
    [told] = [str(one) for one in series.conclusions if "adjusted gap" in str(one)]
    assert told.startswith("Worse: the adjusted gap, sex: m → f, went from -")
    assert "Worse" in series_to_html(series)
    better = compare_series([audit_loans(0.45, 3.0, 1), audit_loans(0.20, 0.0, 2)])
    assert better.exit_code == 0


@pytest.mark.parametrize("merit", [0.0, 1.0])
@pytest.mark.parametrize("levels", [(2.0, 0.0), (0.0, 2.0)])
def test_scores_that_move_without_treatment_are_no_worse(merit: float, levels: tuple[float, float]) -> None:
    n_worse = 0
    for seed in range(sized(2, 60)):
        records = [audit_loans(0.0, level, 2 * seed + place, merit) for place, level in enumerate(levels)]
        n_worse += compare_series(records).outcome == "worse"
    assert n_worse <= sized(0, 5)


def test_a_transition_is_followed_whichever_way_a_record_turns_it() -> None:
    first, last = audit_loans(0.3, 0.0, 1), audit_loans(-0.3, 0.0, 2)
    assert first.directions[0].target != last.directions[0].target
    change = compare_series([first, last]).changes["adjusted_gap[sex: m → f]"]
    assert change.before.value == pytest.approx(-0.3, abs=0.1)
    assert change.after.value == pytest.approx(0.3, abs=0.1)
