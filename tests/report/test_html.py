"""The page says what the record says, in order, and can be used by everybody."""

from __future__ import annotations

import copy
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from tests.records import compare_plain, measures_of, put_labels, to_html_of_both
from tests.report.pages import Page

from likewise.auditing import Comparison
from likewise.exceptions import ParameterError
from likewise.record import AuditRecord
from likewise.record._internal import Measure
from likewise.report import to_html
from likewise.report._evidence import Matrix, direction_matrix, direction_table, rate_tables
from likewise.report._text import measured

TITLES = [
    "Verdict",
    "Differences between groups",
    "Selection rates by group",
    "Worst pairs, side by side",
    "What was compared",
    "Gaps by label",
    "Excess over the same-group baseline",
    "Largest gap per person",
    "Model performance and calibration",
    "Coverage by group",
    "How to reproduce",
    "What this does not show",
]
RATED = "Selection rates and scores by group"


def found_in(measures: dict[str, Any], name: str) -> str:
    return str(measured({name: Measure(**measures[name])}, name, points=True))


def heads(page: Page, level: int = 2) -> list[str]:
    return [" ".join(one.text.split()) for one in page.find(f"h{level}")]


def rows(page: Page, section: str) -> list[str]:
    return [" | ".join(row.text.split("\n")).strip() for row in page.find("tr", section=section)]


def test_sections_come_in_order(judged: dict[str, Any]) -> None:
    assert heads(Page(to_html(judged))) == TITLES
    both = heads(Page(to_html_of_both(judged)))
    assert both == [TITLES[0], "Before and after", *TITLES[1:]]


def test_headings_go_down_by_one_level(judged: dict[str, Any]) -> None:
    levels = [int(one.tag[1]) for one in Page(to_html(judged)).elements if one.tag in ("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))


def test_the_first_screen_answers_in_the_order_of_the_questions(judged: dict[str, Any]) -> None:
    page = Page(to_html(judged))
    told = page.text_of("verdict")
    answers = (
        *("Scores differ more between comparable people of two groups than between those of one.", "Excess: 7.50 pp"),
        *("By sex: f compared with m, adjusted gap -3.00 pp (-4.00 to -2.00), p (Holm) 0.001.", "193 of 1,000 people"),
        *("Fail: 1 of 3 limits not met, 1 cannot be judged.", "at most 20 pp", "max_flip_rate", "cannot be told from"),
    )
    places = [told.index(words) for words in answers]
    assert places == sorted(places)
    assert [one.text for one in page.find("dd", section="verdict", class_="fail")] == [answers[4]]
    for known in ("31.60 pp (28.44 to 34.76)", "193 pairs"):
        assert known in told


def test_without_a_policy_it_says_what_was_found(record: dict[str, Any]) -> None:
    page = Page(to_html(record))
    assert heads(page)[0] == "Result"
    lead = page.find("p", class_="sentence")[0].text
    assert lead == "Scores differ more between comparable people of two groups than between those of one."
    assert "No policy was given, so there is no verdict." in page.text_of("verdict")
    measures = {name: one for name, one in record["measures"].items() if "excess" not in name}
    lead = Page(to_html(record | {"measures": measures})).find("p", class_="sentence")[0].text
    assert lead == "Scores of comparable people differ by 30.00 pp on average."
    record["directions"][0] |= {"p_adjusted": 0.4}
    told = Page(to_html(record)).text_of("verdict")
    assert "By sex, no difference is significant (Holm-adjusted p below 0.05)." in told


def test_every_headline_number_of_the_record_is_on_the_page(record: dict[str, Any]) -> None:
    page = Page(to_html(record))
    gaps, quality, verdict = page.text_of("gaps"), page.text_of("performance"), page.text_of("verdict")
    for measures in (measures_of(record, label) for label in record["labels"]):
        for name in ("gap_mean", "gap_q3", "gap_median", "gap_q95", "gap_max", "flip_rate", "rank_gap_mean"):
            assert found_in(measures, name) in gaps
        for name in ("gap_mean", "rank_gap_mean", "flip_rate"):
            assert found_in(measures, f"same_group_{name}") in gaps
        assert found_in(measures, "excess") in page.text_of("baseline")
    for name in ("roc_auc", "brier", "score_spread"):
        assert found_in(record["measures"], name) in quality
    for known in ("30.00 pp", "27.00 to 33.00", "0.840", "19.30%", "233"):
        assert known in verdict


def test_it_says_who_was_compared_by_which_rule(record: dict[str, Any]) -> None:
    told = Page(to_html(record)).text_of("compared")
    for known in (
        *("1,000 rows of people.csv.", "Comparable people have the same paid; different sex.", "Column 'p'"),
        *("233, a uniform sample of 466", "193 of 1,000 people (19.30%) are matched"),
        *("ab12", "cd34", "2026-03-01T12:00:00Z", "Half of the pairs were measured."),
    ):
        assert known in told


def test_each_label_has_a_chart_and_a_table(record: dict[str, Any]) -> None:
    page = Page(to_html(record))
    titles = [" ".join(title.split(" ")[:2]) for title in heads(page, 3)]
    starts = ("Label yes", "Label no:", "All pairs:")
    assert [one for one in titles if one in starts] == [*starts]
    assert len(page.find("svg", section="gaps", class_="lw-chart")) == 3
    for section in ("directions", "people", "performance"):
        assert page.find("svg", section=section, class_="lw-chart")


def test_the_matrix_tells_both_directions_with_opposite_signs(record: dict[str, Any]) -> None:
    page = Page(to_html(record))
    table = page.find("table", section="directions", class_="matrix")
    assert len(table) == 1
    cells = [" ".join(one.text.split()) for one in page.find("td", section="directions")]
    assert "-3.00 pp90 pairs" in cells
    assert "+3.00 pp90 pairs" in cells
    titles = [one.attributes.get("title") for one in page.find("td", section="directions")]
    assert "-3.00 pp (-4.00 to -2.00), p (Holm) 0.001" in titles
    assert "+3.00 pp (+2.00 to +4.00), p (Holm) 0.001" in titles


def test_too_many_combinations_are_a_list(record: dict[str, Any]) -> None:
    one = record["directions"][0]
    record["directions"] = [one | {"origin": [f"a{i}"], "target": [f"b{i}"]} for i in range(70)]
    page = Page(to_html(record))
    assert not page.find("table", section="directions", class_="matrix")
    assert "20 more directions in the record (audit.json)." in page.text_of("directions")


def test_pairs_are_side_by_side_with_difference_and_tolerance(record: dict[str, Any]) -> None:
    page = Page(to_html(record))
    pairs = page.find("details", section="pairs", class_="pair")
    assert len(pairs) == len(record["worst_pairs"])
    assert ["open" in one.attributes for one in pairs] == [True] * 3 + [False] * 9
    differing = [" ".join(row.text.split()) for row in page.find("tr", section="pairs", class_="differs")][:4]
    assert differing.pop(0) == "Decisionnoyesdiffers"
    assert differing[0].startswith("sex sensitive")
    assert differing[0].endswith("differsmust differ")
    assert differing[1].endswith("1 in rank1 in rank")
    assert differing[2].endswith("3031.50.02 of the range0.025 of the range")
    first = " ".join(pairs[0].text.split())
    for known in ("Gap 50.00 pp", "rank gap 40.00%, different decisions, label yes", "Row 7, id p-17", "0.7500"):
        assert known in first


def test_reviews_are_counted_compared_and_listed(record: dict[str, Any]) -> None:
    one = {"pair": 1, "key": "k1", "reviewer": "A. Lee", "date": "2026-11-17", "disposition": "explained"}
    told = {"reason": "<b>second</b> income, " + "as the file says, " * 20}
    reviews = [one | told, one | {"reviewer": "B. Okafor", "disposition": "resolved"}, one | {"pair": 3}]
    page = Page(to_html(record | {"reviews": reviews}))
    text = " ".join(page.text_of("review").split())
    assert "Reviewed: 2 of 12 pairs (0 resolved, 1 explained, 0 unresolved, 1 disputed)." in text
    listed = rows(page, "review")
    for line in ("explaineda legitimate reason accounts for the difference1", "disputedthe reviewers differ1"):
        assert line in listed
    assert {"not reviewed10", "A. Lee and B. Okafor10.00%0.00", "3A. Lee2026-11-17explained-"} <= set(listed)
    assert f"1A. Lee2026-11-17explained{told['reason'].strip()}" in listed
    assert "Reviews" in heads(page)
    assert "Reviews" not in heads(Page(to_html(record)))


def test_of_very_many_columns_some_are_counted(record: dict[str, Any]) -> None:
    same = {"role": "discrete", "left": "x", "right": "x", "differs": False, "shift": None, "tolerance": None}
    other = same | {"right": "y", "differs": True}
    for pair in record["worst_pairs"]:
        pair["factors"] = [
            *({"column": f"c{i}", **same} for i in range(200)),
            *({"column": f"d{i}", **other} for i in range(200)),
            *pair["factors"],
        ]
    told = Page(to_html(record)).text_of("pairs")
    assert "143 more differ (see audit.json). 201 more columns are equal." in told


def test_people_are_listed_with_their_worst_comparator(record: dict[str, Any]) -> None:
    told = Page(to_html(record)).text_of("people")
    for known in ("193 matched people", "mean 14.00 pp", "median 9.00 pp", "95th percentile 42.00 pp"):
        assert known in told
    assert "Row 0" in told
    assert "Row 7, id p-17" in told


def test_collapsed_scores_are_warned_of_twice(record: dict[str, Any]) -> None:
    assert "Warning" not in to_html(record)
    record |= {"is_collapsed": True, "notes": ["The scores have collapsed: all alike."], "note_kinds": ["collapsed"]}
    page = Page(to_html(record))
    assert [one.section for one in page.find("p", class_="warning")] == ["verdict"]
    for section in ("verdict", "performance"):
        assert "Warning. The scores have collapsed: all alike." in page.text_of(section)


def test_before_and_after_shows_the_difference(record: dict[str, Any]) -> None:
    before = copy.deepcopy(record)
    for name in ("gap_mean", "gap_mean[no]", "gap_mean[yes]"):
        before["measures"][name] = before["measures"][name] | {"value": 0.5}
    comparison = compare_plain(before, record, "Squeezed <b>together</b>.")
    changes = dict(comparison.changes)
    difference = replace(changes["gap_mean"].difference, low=-0.25, high=-0.15)
    comparison = Comparison(
        changes | {"gap_mean": replace(changes["gap_mean"], difference=difference)}, comparison.notes
    )
    page = Page(to_html(record, before=before, comparison=comparison))
    told = page.text_of("changes")
    assert "-20.00 pp (-25.00 to -15.00)" in told
    assert "-20.00 pp" in [one.text for one in page.find("strong", section="changes")]
    assert "Squeezed <b>together</b>." in told


def test_a_number_predicted_has_no_labels(record: dict[str, Any]) -> None:
    record |= {"task": "regression", "positive": None, "labels": [], "scale": 12.0, "threshold": None}
    record |= {"calibration": [], "score_distribution": None}
    record["distributions"]["slices"] = record["distributions"]["slices"][:1]
    for one in (*record["person_gaps"]["worst"], *record["worst_pairs"]):
        one["label"] = None
    page = Page(to_html(record))
    assert "Gaps" in heads(page)
    assert "A gap of 100% is a difference of 12." in page.text_of("compared")
    assert "label" not in page.text_of("people").lower()


def test_many_labels_are_bounded_and_have_no_direction(record: dict[str, Any]) -> None:
    found, names = record["distributions"]["slices"][1], [str(i) for i in range(14)]
    put_labels(record, names)
    record |= {"task": "multiclass", "positive": None, "threshold": None, "directions": []}
    slices = [found | {"label": name, "is_positive": None} for name in names]
    record["distributions"]["slices"] = [record["distributions"]["slices"][0], *slices]
    record["worst_pairs"][0]["left_score"] = [0.25, 0.75]
    page = Page(to_html(record))
    assert len(page.find("svg", section="gaps", class_="lw-chart")) == 13
    assert "2 more labels in the record (audit.json)." in page.text_of("gaps")
    assert "With more than two labels there is no single score" in page.text_of("directions")
    assert "0.2500, 0.7500" in page.text_of("pairs")


def test_nothing_found_is_said_in_words(record: dict[str, Any]) -> None:
    nothing = {"value": None, "low": None, "high": None, "n": 0}
    record["measures"] = dict.fromkeys(("gap_mean", "gap_mean[no]", "gap_mean[yes]", "roc_auc"), nothing)
    record |= {"directions": [], "worst_pairs": [], "coverage": [], "groups": [], "fairlearn": {}}
    record |= {"notes": [], "note_kinds": []}
    record |= {"calibration": [], "score_distribution": None}
    for one in record["distributions"]["slices"]:
        one |= {"n": 0, "counts": [0] * 5, "n_within": 0, "within_counts": [0] * 5}
    record["person_gaps"] |= {"n_people": 0, "counts": [0] * 5, "mean": None, "median": None, "q95": None, "worst": []}
    page = Page(to_html(record))
    for section, words in {
        "verdict": "No gap between comparable people could be measured.",
        "gaps": "Nothing could be measured.",
        "baseline": "No baseline",
        "directions": "there are no directions",
        "pairs": "All comparable people have equal scores.",
        "people": "Nobody is matched.",
        "rates": "No group was measured.",
    }.items():
        assert words in page.text_of(section)


def test_the_contents_lead_to_every_section(judged: dict[str, Any]) -> None:
    page = Page(to_html_of_both(judged))
    ids = [one.attributes["id"] for one in page.elements if "id" in one.attributes]
    assert len(set(ids)) == len(ids)
    links = [str(one.attributes["href"]) for one in page.find("a")]
    sections = [f"#{one.attributes['id']}" for one in page.find("section")]
    assert links == ["#report", *sections]
    assert all(link[1:] in ids for link in links)
    for one in page.elements:
        assert str(one.attributes.get("aria-labelledby", ids[0])) in ids


def test_tables_have_captions_and_heads(judged: dict[str, Any]) -> None:
    page = Page(to_html_of_both(judged))
    assert len(page.find("caption")) == len(page.find("table"))
    assert all(one.text.strip() for one in page.find("caption"))
    assert all(one.attributes.get("scope") in ("row", "col") for one in page.find("th"))
    boxes = page.find("div", class_="scroll")
    assert len(boxes) == len(page.find("table"))
    assert all(one.attributes.get("tabindex") == "0" and one.attributes.get("aria-label") for one in boxes)
    assert {one.attributes.get("role") for one in page.find("svg", class_="lw-chart")} == {"img"}


@pytest.mark.parametrize("given_record", [{}, {"format": "likewise audit 2"}, {"format": 3}, [], None])
def test_what_is_no_record_is_refused(given_record: Any, record: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"Give what Audit\.to_dict\(\) returns"):
        to_html(given_record)
    if given_record is not None:
        with pytest.raises(ValueError, match=r"Give what Audit\.to_dict\(\) returns"):
            to_html(record, before=given_record, comparison=Comparison({}, ()))


def test_an_audit_before_and_what_changed_go_together(record: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="comparison and before go together"):
        to_html(record, before=record)


def test_a_baseline_without_pairs_is_none(record: dict[str, Any]) -> None:
    for name in record["measures"]:
        if name.startswith(("same_group", "excess")):
            record["measures"][name] = {"value": None, "low": None, "high": None, "n": 0}
    for one in record["distributions"]["slices"]:
        one |= {"n_within": 0, "within_counts": [0] * 5}
    page = Page(to_html(record))
    assert "No baseline" in page.text_of("baseline")
    assert "baseline" not in page.text_of("gaps")


def test_what_may_be_chance_is_never_in_a_deep_tint(record: dict[str, Any]) -> None:
    clear, vague = record["directions"][0], {**record["directions"][0], "adjusted_gap": 0.3, "p_adjusted": 0.4}
    record["directions"] = [clear, vague | {"target": ["x"]}]
    tints = {cell.mean: (cell.tint, cell.is_significant) for row in lay(record).rows for cell in row if cell}
    assert tints == {
        **{"-3.00 pp": (-3, True), "+3.00 pp": (3, True)},
        **{"+30.00 pp": (1, False), "-30.00 pp": (-1, False)},
    }
    record["directions"] = [vague]
    assert {abs(cell.tint) for row in lay(record).rows for cell in row if cell} == {1}


def lay(record: dict[str, Any]) -> Matrix:
    found = direction_matrix(AuditRecord.of(record))
    assert found is not None
    return found


def test_of_very_many_directions_those_that_stand_out_are_listed(record: dict[str, Any]) -> None:
    vague = [{**record["directions"][0], "origin": [f"v{i}"], "p_adjusted": 1.0} for i in range(80)]
    record["directions"] = [*vague, record["directions"][0] | {"origin": ["clear"]}]
    table = direction_table(AuditRecord.of(record))
    assert table is not None
    assert [str(row[0]) for row in table.rows] == [*(f"v{i}" for i in range(49)), "clear"]
    assert table.more == "31 more directions in the record (audit.json)."


def test_rates_that_nobody_has_have_no_column(record: dict[str, Any]) -> None:
    assert [table.head[2:] for table in rate_tables(AuditRecord.of(record)) if table.caption == RATED] == [
        ("Selection rate", "Adverse impact ratio", "True positive rate", "Mean score")
    ]
    rates = ("selection_rate", "impact_ratio", "true_positive_rate", "mean_score")
    record["groups"] = [one | dict.fromkeys(rates) for one in record["groups"]]
    assert RATED not in [table.caption for table in rate_tables(AuditRecord.of(record))]


def test_without_pairs_there_are_no_buttons_to_open_them(record: dict[str, Any]) -> None:
    assert "data-details-controls" not in [
        name for one in Page(to_html(record | {"worst_pairs": []})).elements for name in one.attributes
    ]


def test_each_of_a_pair_has_its_decision_where_there_is_one(record: dict[str, Any]) -> None:
    named, none = (
        [one | changes for one in record["worst_pairs"][:1]]
        for changes in ({"left_decision": "b", "right_decision": "b"}, {"is_flip": None})
    )
    rows_of_a_label = rows(Page(to_html(record | {"worst_pairs": named})), "pairs")
    assert "Decisionbbequal" in rows_of_a_label
    assert "Decision" not in Page(to_html(record | {"worst_pairs": none})).text_of("pairs")
