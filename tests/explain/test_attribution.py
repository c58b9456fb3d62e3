"""What splitting gaps over columns promises: parts that add up, Shapley's axioms, and a proxy that ranks first."""

from __future__ import annotations

from io import StringIO
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from tests.sizes import sized

from likewise import Audit, Comparability, Roles, attribute_gaps, audit, load_dataset, name_people
from likewise.cli.commands._audit_screen import show_audit
from likewise.exceptions import LikewiseError
from likewise.record import AuditRecord
from likewise.report import to_html, to_markdown

ROLES = Roles(sensitive="group", discrete=["job", "town"], continuous=["age", "debt"])
RULE = Comparability(max_discrete_changes=1, max_continuous_shift=0.3)
COLUMNS = ("group", "job", "town", "age", "debt")


def people(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "group": random.choice(["a", "b"], n),
            "job": random.choice(["cook", "smith", "clerk"], n),
            "town": random.choice(["x", "y"], n),
            "age": random.integers(20, 60, n),
            "debt": random.integers(0, 20, n) / 4,
        }
    )
    return frame, random.integers(0, 2, n)


def tangled(frame: pd.DataFrame) -> Any:
    """A score in which columns interact."""
    is_b, cooks = frame["group"] == "b", frame["job"] == "cook"
    return 1 / (1 + np.exp(0.05 * frame["age"] * is_b - frame["debt"] * (1 + cooks) / 3 - (frame["town"] == "x")))


@given(st.integers(0, 10**6))
def test_parts_add_up_to_the_gap_of_every_pair(seed: int) -> None:
    frame, y = people(40, seed)
    found = audit(tangled, frame, y, roles=ROLES, rule=RULE, n_resamples=0)
    split = attribute_gaps(found, tangled)
    scores = np.asarray(tangled(frame))
    signed = scores[found.pairs.right] - scores[found.pairs.left]
    assert np.allclose(split.matrix.sum(axis=1), signed, atol=1e-9, rtol=0)
    assert np.allclose(np.abs(split.matrix.sum(axis=1)), found.gaps, atol=1e-9, rtol=0)
    assert sum(one.mean_part for one in split.summary.columns) == pytest.approx(found.gaps.mean(), abs=1e-9)
    for one in split.summary.transitions:
        whole = next(two for two in found.directions if (two.origin, two.target) == (one.origin, one.target))
        assert sum(part.value for part in one.parts) == pytest.approx(whole.mean_gap, abs=1e-9)
    for case, parts in zip(found.worst, split.summary.worst, strict=True):
        assert sum(part.value for part in parts) == pytest.approx(case.gap, abs=1e-9)


def test_a_part_is_the_average_over_all_orders_of_the_columns() -> None:
    frame, y = people(40, 3)
    found = audit(tangled, frame, y, roles=ROLES, rule=RULE, n_resamples=0)
    split = attribute_gaps(found, tangled)
    orders = list(permutations(COLUMNS))
    subsets = [frozenset(some) for n in range(len(COLUMNS) + 1) for some in combinations(COLUMNS, n)]
    for pair in range(0, len(found.pairs), 7):
        two = frame.iloc[[int(found.pairs.left[pair]), int(found.pairs.right[pair])]]
        mixtures = pd.DataFrame({name: [two[name].iloc[int(name in some)] for some in subsets] for name in COLUMNS})
        score = dict(zip(subsets, tangled(mixtures), strict=True))
        parts = dict.fromkeys(COLUMNS, 0.0)
        for order in orders:
            for place, name in enumerate(order):
                parts[name] += (score[frozenset(order[: place + 1])] - score[frozenset(order[:place])]) / len(orders)
        assert np.allclose(split.matrix[pair], [parts[name] for name in split.names], atol=1e-12)


def test_a_column_that_the_model_does_not_use_has_no_part_and_one_that_adds_has_its_own() -> None:
    def score(frame: pd.DataFrame) -> Any:
        return 0.3 + 0.2 * (frame["group"] == "b") + 0.01 * frame["debt"]

    frame, y = people(60, 1)
    found = audit(score, frame, y, roles=ROLES, rule=RULE, n_resamples=0)
    split = attribute_gaps(found, score)
    own = dict(zip(split.names, split.matrix.T, strict=True))
    for unused in ("job", "town", "age"):
        assert np.allclose(own[unused], 0, atol=1e-12)
    debts = frame["debt"].to_numpy()
    assert np.allclose(own["debt"], 0.01 * (debts[found.pairs.right] - debts[found.pairs.left]), atol=1e-12)


def test_beyond_the_limit_parts_are_estimates_that_still_add_up() -> None:
    frame, y = people(60, 2)
    found = audit(tangled, frame, y, roles=ROLES, rule=RULE, n_resamples=0)
    exact, drawn = (attribute_gaps(found, tangled, max_columns=n, n_orders=400) for n in (5, 2))
    assert exact.summary.n_sampled == 0 < drawn.summary.n_sampled
    assert np.allclose(drawn.matrix.sum(axis=1), exact.matrix.sum(axis=1), atol=1e-9)
    assert np.abs(drawn.matrix - exact.matrix).max() < 0.1
    again = attribute_gaps(found, tangled, max_columns=2, n_orders=400)
    assert np.array_equal(drawn.parts, again.parts)


def test_whole_number_weights_repeat_people_and_a_part_stays_a_part() -> None:
    frame, y = people(60, 6)
    weights = np.random.default_rng(6).integers(0, 4, len(frame))
    rows = np.repeat(np.arange(len(frame)), weights)
    how: dict[str, Any] = {"roles": ROLES.learn(frame), "rule": RULE, "n_resamples": 0}
    weighted = audit(tangled, frame, y, sample_weight=weights, **how)
    repeated = audit(tangled, frame.iloc[rows].reset_index(drop=True), y[rows], **how)
    one, other = (attribute_gaps(found, tangled).summary for found in (weighted, repeated))
    assert one.mean_gap == pytest.approx(weighted["gap_mean"].value)
    for summary in (one, other):
        assert sum(part.mean_part for part in summary.columns) == pytest.approx(summary.mean_gap, abs=1e-9)
    for name in ("mean_part", "mean_size"):
        parts = {part.column: getattr(part, name) for part in other.columns}
        assert {part.column: getattr(part, name) for part in one.columns} == pytest.approx(parts)
    means = {(part.origin, part.target): part.mean_gap for part in other.transitions}
    assert {(part.origin, part.target): part.mean_gap for part in one.transitions} == pytest.approx(means)


@pytest.mark.long(3)
@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_any_frame_and_any_model_of_scikit_learn(kind: str) -> None:
    frame, y = people(80, 5)
    numbers = frame.assign(group=frame["group"] == "b", job=frame["job"].map(len), town=frame["town"] == "x") * 1.0
    model = RandomForestClassifier(5, random_state=0).fit(numbers, y)
    import polars as pl
    import pyarrow as pa

    given = {"pandas": numbers, "polars": pl.from_pandas(numbers), "pyarrow": pa.Table.from_pandas(numbers)}[kind]

    def score(some: Any) -> Any:
        return model.predict_proba(some if isinstance(some, pd.DataFrame) else some.to_pandas())[:, 1]

    found = audit(score, given, y, roles=ROLES, rule=RULE, n_resamples=0)
    split = attribute_gaps(found, score)
    assert np.allclose(np.abs(split.matrix.sum(axis=1)), found.gaps, atol=1e-9)
    assert split.summary.n_scored < len(found.pairs) * 2**5  # equal mixtures are scored once


def test_several_labels_and_amounts_are_split_too() -> None:
    frame, y = people(90, 6)
    numbers = frame.assign(group=frame["group"] == "b", job=frame["job"].map(len), town=frame["town"] == "x") * 1.0
    three = y + (frame["age"].to_numpy() > 45)
    model = LogisticRegression(max_iter=500).fit(numbers, three)
    found = audit(model, numbers, three, roles=ROLES, rule=RULE, n_resamples=0)
    split = attribute_gaps(found, model)
    assert np.allclose(split.matrix.sum(axis=1), found.gaps, atol=1e-9)
    assert split.summary.transitions == ()

    def amount(some: pd.DataFrame) -> Any:
        return 1000.0 * some["debt"] + 200 * some["group"]

    found = audit(amount, numbers, amount(numbers), roles=ROLES, rule=RULE, n_resamples=0, task="regression")
    split = attribute_gaps(found, amount)
    assert np.allclose(np.abs(split.matrix.sum(axis=1)), found.gaps, atol=1e-9)


@pytest.mark.long(4)
@pytest.mark.parametrize("seed", range(sized(20, 100)))
def test_a_planted_proxy_ranks_first(seed: int) -> None:
    """The lender never sees the group, but the town that stands for it. By chance, 5 in 100 might miss; none did."""
    frame, y = people(300, seed)
    random = np.random.default_rng(seed)
    frame["town"] = np.where(random.random(300) < 0.9, np.where(frame["group"] == "b", "x", "y"), frame["town"])
    seen = frame[["job", "town", "age", "debt"]]

    def lender(some: pd.DataFrame) -> Any:
        return 0.6 - 0.2 * (some["town"] == "x") + 0.002 * (some["age"] - 40) + 0.01 * some["debt"]

    found = audit(lender, frame, y, roles=ROLES, rule=RULE, n_resamples=0)
    split = attribute_gaps(found, lender)
    assert split.summary.columns[0].column == "town"
    assert {one.column for one in split.summary.columns if one.mean_size > 1e-12} <= set(seen)


def test_hostile_names_and_values_stay_words_in_every_form() -> None:
    bad = '<img src=x onerror="alert(1)">|**'
    frame, y = people(60, 4)
    frame = frame.rename(columns={"town": bad}).replace({"job": {"cook": bad}})
    roles = Roles(sensitive="group", discrete=["job", bad], continuous=["age", "debt"])

    def score(some: pd.DataFrame) -> Any:
        return 0.3 + 0.2 * (some[bad] == "x") + 0.1 * (some["group"] == "b") * (some["job"] == bad)

    found = audit(score, frame, y, roles=roles, rule=RULE, n_resamples=0, baseline=False)
    record = name_people(attribute_gaps(found, score).audit).audit.record
    assert record.attribution is not None
    assert bad in {one.column for one in record.attribution.columns}
    assert "<img" not in to_html(record)
    assert "<img" not in to_markdown(record)


def test_a_sensitive_column_is_shown_however_small_its_part() -> None:
    random = np.random.default_rng(0)
    names = [f"c{i}" for i in range(12)]
    frame = pd.DataFrame({name: random.choice(["x", "y"], 60) for name in [*names, "group"]})

    def score(some: pd.DataFrame) -> Any:
        return 0.2 + sum((some[name] == "x") / 50 for name in names) + 1e-6 * (some["group"] == "x")

    found = audit(score, frame, roles=Roles(sensitive="group", discrete=names), rule=Comparability(3), n_resamples=0)
    record = attribute_gaps(found, score).audit.record
    assert record.attribution is not None
    assert record.attribution.columns[-1].column == "group"
    printed = StringIO()
    screen = Console(width=100, file=printed)
    screen.print(show_audit(record, 100))
    told = printed.getvalue().partition("Part of the mean gap")[2].partition("Worst pairs")[0]
    assert "\ngroup " in told
    assert told.count("\nc") == 8


class Together:
    """A model whose scores depend on who else is scored, as SmoothedScores says of itself."""

    _scored_by = "the pairs of the people scored"


@pytest.fixture(scope="module")
def planted() -> Audit:
    data = load_dataset("planted")
    return audit(lend, data.test.X, data.test.y, roles=data.roles, rule=data.rule)


def lend(frame: pd.DataFrame) -> Any:
    return 0.8 - 0.1 * (frame["group"] == "green") - 0.003 * frame["duration"]


def test_reports_show_it_and_the_record_keeps_it(planted: Audit) -> None:
    split = attribute_gaps(planted, lend)
    record = AuditRecord.from_dict(split.audit.to_dict())
    assert record.attribution == split.summary
    assert "Gaps by column" not in planted.to_html()
    named = name_people(split.audit).audit.record
    assert AuditRecord.from_dict(named.to_dict()).named == named.named
    assert "People worse off beyond chance" in to_html(named)
    page, text = to_html(record), to_markdown(record)
    for words in ("Gaps by column", "Parts of the gap: group", "All parts are exact."):
        assert words in page
    assert "| group | sensitive |" in text


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        (lambda frame: lend(frame) / 2, {}, "Give the model that was audited"),
        (lend, {"max_columns": 40}, "max_columns"),
        (lend, {"n_orders": 0}, "n_orders"),
        (lambda frame: frame["nothing"], {}, "cannot score this table"),
        (Together(), {}, "scores people together"),
    ],
)
def test_bad_input_is_refused_in_one_line(planted: Audit, model: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(LikewiseError, match=words) as error:
        attribute_gaps(planted, model, **options)
    assert "\n" not in str(error.value)


def test_something_else_than_an_audit_is_refused() -> None:
    with pytest.raises(LikewiseError, match="give what"):
        attribute_gaps("audit", lend)  # type: ignore[arg-type]
