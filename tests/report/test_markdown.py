"""The Markdown says what the record says, in order, and foreign text in it stands for itself."""

from __future__ import annotations

import copy
import html
import re
from functools import partial
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from tests.records import put_labels
from tests.sizes import sized

from likewise.report import to_markdown as render
from likewise.report._text import clean, escape, escape_value, markdown_table, shorten

to_markdown = partial(render, rows=True)
PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
HOSTILE = "a|b`c`<script>*x*_y_ [l](u)\n# h\r\n\x00\x1b[31m\u202ecba\u2028 &amp; \\| ~~s~~ http://x.y \ud800"

texts = st.one_of(st.text(max_size=30), st.text("|`*_<>&[]()#!~\\-+=.1: \n\t$", max_size=20), st.just(HOSTILE))


def text_of(rendered: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", rendered))


def heads(markdown: str, level: str = "##") -> list[str]:
    return [line.removeprefix(f"{level} ") for line in markdown.splitlines() if line.startswith(f"{level} ")]


def section(markdown: str, head: str) -> str:
    return markdown.partition(f"\n## {head}\n")[2].partition("\n## ")[0]


@given(texts)
@settings(max_examples=sized(50, 200))
def test_escaped_text_stands_for_itself(text: str) -> None:
    rendered = PARSER.render(f"- {escape(text)}\n")
    assert set(re.findall(r"<[^>]*>", rendered)) <= {"<ul>", "<li>", "</li>", "</ul>"}
    assert text_of(rendered).split() == clean(text).split()


@given(st.lists(texts, min_size=1, max_size=4))
@settings(max_examples=sized(25, 100))
def test_cells_stay_in_their_columns(values: list[str]) -> None:
    cells = [escape_value(value) for value in values]
    rendered = PARSER.render("\n".join(markdown_table(["x"] * len(cells), [cells, cells])))
    assert rendered.count("<td") == 2 * len(cells)
    found = [text_of(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", rendered)]
    assert [cell.split() for cell in found[: len(cells)]] == [
        (shorten(clean(v)) if v.strip() else "(empty)").split() for v in values
    ]


def test_what_cannot_be_seen_is_shown() -> None:
    assert clean("a\u202eb\x00c\nd\ud800") == "a⟨U+202E⟩b⟨U+0000⟩c d⟨U+D800⟩"
    assert escape("capital_gain") == "capital_gain"
    assert escape("_x_") == r"\_x\_"
    assert escape_value(None) == "(missing)"
    assert escape_value("  ") == "(empty)"
    assert escape_value(0.1 + 0.2) == "0.3"
    assert len(escape_value("x" * 10_000)) < 100


def test_sections_come_in_order(judged: dict[str, Any]) -> None:
    assert heads(to_markdown(judged)) == [
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


def test_the_first_lines_answer_and_judge(judged: dict[str, Any]) -> None:
    written = to_markdown(judged).partition("\n## ")[0]
    answers = [
        *("Scores differ more between", "- Beyond chance: Excess: 7.50 pp", "- Who is worse off: By sex: f compared"),
        *("- Whom this is about: 193 of 1,000", "- Policy: Fail: 1 of 3 limits not met, 1 cannot be judged."),
    ]
    places = [written.index(words) for words in answers]
    assert places == sorted(places)
    assert "| fail | Mean gap, label yes | at most 20 pp | 31.60 pp (28.44 to 34.76) | 193 pairs |" in written
    assert "| pass | ROC AUC | at least 0.7 | 0.840 (0.756 to 0.924) | 1,000 people |" in written
    assert "- max_flip_rate: 30.00% (27.00% to 33.00%) cannot be told from" in written


def test_without_a_policy_there_is_no_verdict(record: dict[str, Any]) -> None:
    assert "No policy was given, so there is no verdict." in to_markdown(record)


def test_it_says_for_whom_it_speaks(record: dict[str, Any]) -> None:
    written = section(to_markdown(record), "What was compared")
    assert "193 of 1,000 people (19.30%) are matched" in written
    assert "Comparable pairs: 233, a uniform sample of 466" in written


def test_gaps_come_by_label_with_baseline_and_excess(record: dict[str, Any]) -> None:
    written = section(to_markdown(record), "Gaps by label")
    assert heads(written, "###") == [
        "Label yes (positive): 193 pairs, baseline 386 pairs",
        "Label no: 40 pairs, baseline 80 pairs",
        "All pairs: 233 pairs, baseline 466 pairs",
    ]
    rows = [line for line in written.splitlines() if line.startswith("| ")]
    assert rows[2:4] == [
        "| Mean gap | 31.60 pp (28.44 to 34.76) | 31.60 pp (28.44 to 34.76) | 7.90 pp (7.11 to 8.69) |",
        "| Median gap | 31.60 pp (28.44 to 34.76) | - | - |",
    ]
    assert "| Largest gap | 63.20 pp | - | - |" in rows
    assert any(row.startswith("| Share with a gap above 10 pp |") for row in rows)


def test_without_a_baseline_there_are_no_columns_for_it(record: dict[str, Any]) -> None:
    record["pairs"] |= {"n_within": None, "n_within_total": None}
    measures = record["measures"]
    record["measures"] = {name: measures[name] for name in measures if not name.startswith(("same_group", "excess"))}
    written = to_markdown(record)
    assert "| Measure | Comparable pairs |\n" in written
    assert "aseline" not in section(written, "Gaps by label")


def test_directions_have_signs_intervals_p_values_and_balance(record: dict[str, Any]) -> None:
    few = {"adjusted_low": None, "adjusted_high": None, "p_value": None, "p_adjusted": None}
    record["directions"].append({**record["directions"][0], "target": ["x"], **few})
    written = section(to_markdown(record), "Differences between groups")
    assert (
        "| m | f | 90 | 60 | 25 | 5 | 12 | 3 | -3.20 pp | -3.00 pp (-4.00 to -2.00) | < 0.001 | 0.001 |"
        in written.replace("&lt;", "<")
    )
    assert "| -3.00 pp (too few people to conclude) | - | - |" in written
    assert "| m | f | age +1.20%; job in 25.00% of pairs |" in written


def test_ten_worst_pairs_are_side_by_side_with_differences_in_bold(record: dict[str, Any]) -> None:
    written = section(to_markdown(record, rows=True), "Worst pairs, side by side")
    assert len(heads(written, "###")) == 10
    assert "### 1. gap 50.00 pp, rank gap 40.00%, different decisions, label yes" in written
    assert "|  | Row 0 | Row 7, id p-17 | Difference |" in written
    assert "| score | 0.2500 | 0.7500 | 50.00 pp |" in written
    assert "| decision | **no** | **yes** | differs |" in written
    assert "| sex (sensitive) | **f** | **m** | differs |" in written
    assert "| job (discrete) | cook | cook |  |" in written
    assert "| school (ordinal) | **low** | **middle** | 1 in rank, 1 allowed |" in written
    assert "| age (continuous) | **30** | **31.5** | 0.02 of the range, 0.025 allowed |" in written
    assert "2 more pairs in the record (audit.json)." in written


def test_of_very_many_columns_the_equal_ones_are_counted(record: dict[str, Any]) -> None:
    same = {"role": "discrete", "left": "x", "right": "x", "differs": False, "shift": None, "tolerance": None}
    for pair in record["worst_pairs"]:
        pair["factors"] = [*({"column": f"c{i}", **same} for i in range(200)), *pair["factors"]]
    written = section(to_markdown(record, rows=True), "Worst pairs, side by side")
    assert "| age (continuous) | **30** | **31.5** |" in written
    assert "180 more columns are equal." in written
    assert written.count("(discrete)") == 10 * 21


def test_pairs_without_a_gap_are_no_worst_pairs(record: dict[str, Any]) -> None:
    for pair in record["worst_pairs"]:
        pair["gap"] = 0.0
    assert "Worst pairs" not in heads(to_markdown(record))


def test_a_model_is_needed_to_have_it_again(record: dict[str, Any]) -> None:
    assert "whether they agree: likewise verify audit.json DATA\n" in to_markdown(record)
    record["data"]["model"] = {"file": "m.onnx", "sha256": "ab", "trusted": []}
    assert "likewise verify audit.json DATA --model MODEL" in to_markdown(record)


def test_people_with_the_worst_gaps_are_listed(record: dict[str, Any]) -> None:
    written = section(to_markdown(record), "Largest gap per person")
    assert "193 matched people." in written
    assert "| Row 0 | yes | Row 7, id p-17 | 0.2500 | 0.7500 | 50.00 pp | 3 |" in written
    record["person_gaps"] |= {"n_people": 0, "worst": []}
    assert "Nobody is matched." in section(to_markdown(record), "Largest gap per person")


def test_people_are_shown_by_sensitive_value(record: dict[str, Any]) -> None:
    assert "| all people | 1,000 | 193 | 19.30% |" in section(to_markdown(record), "Coverage by group")
    written = section(to_markdown(record), "Selection rates by group")
    assert "| sex = f | 500 | 40.00% | 0.800 | 70.00% | 0.4100 |" in written
    assert "demographic_parity_difference | 0.100 |" in written


def test_it_can_be_had_again(judged: dict[str, Any]) -> None:
    written = section(to_markdown(judged), "How to reproduce")
    for known in ("| likewise | 0.1.0 |", "| data, sha256 | ab12 |", "| setting seed | 7 |", "max_gap_mean"):
        assert known in written


def change_everywhere(value: Any, text: str) -> Any:
    """Put foreign text wherever the data's own words stand."""
    own = {"sex", "f", "m", "job", "cook", "age", "low", "middle", "yes", "no", "p-17", "people.csv", "school"}
    if isinstance(value, dict):
        ends = {f"[{word}]": f"[{word}{text}]" for word in own}  # of measures, by label
        named = {key: next((end for end in ends if key.endswith(end)), "") for key in value}
        return {
            key.removesuffix(end) + ends.get(end, ""): change_everywhere(value[key], text) for key, end in named.items()
        }
    if isinstance(value, list):
        return [change_everywhere(one, text) for one in value]
    return value + text if isinstance(value, str) and value in own else value


def test_foreign_text_changes_neither_tables_nor_sections(judged: dict[str, Any]) -> None:
    def shape(markdown: str) -> list[str]:
        return re.findall(r"</?(?:h\d|table|tr|td|th|ul|li|strong|em|code|a|img|script)\b", PARSER.render(markdown))

    written = to_markdown(change_everywhere(judged, HOSTILE))
    assert shape(written) == shape(to_markdown(judged))
    assert "<script" not in PARSER.render(written)
    assert all(letter.isprintable() or letter == "\n" for letter in written)
    written.encode("utf-8")


def test_the_same_record_gives_the_same_text_and_stays_as_it_is(judged: dict[str, Any]) -> None:
    before = copy.deepcopy(judged)
    assert to_markdown(judged) == to_markdown(copy.deepcopy(judged))
    assert judged == before


def test_several_labels_have_a_table_each_and_no_positive_one(record: dict[str, Any]) -> None:
    put_labels(record, [str(i) for i in range(14)])
    record |= {"task": "multiclass", "positive": None, "threshold": None}
    record["worst_pairs"][0] |= {"left_score": [0.25, 0.75], "is_flip": None}
    written = to_markdown(record)
    assert "Probabilities of 14 labels" in written
    assert "2 more labels in the record (audit.json)." in written
    assert "(positive)" not in written
    assert "| score | 0.2500, 0.7500 | 0.7500 |" in written


def test_predicted_numbers_have_a_unit_and_no_labels(record: dict[str, Any]) -> None:
    record |= {"task": "regression", "positive": None, "threshold": None, "labels": [], "scale": 1234.5}
    written = to_markdown(record)
    assert "A gap of 100% is a difference of 1,234.5." in written
    assert heads(section(written, "Gaps"), "###") == ["All pairs: 233 pairs, baseline 466 pairs"]
    assert "Bias in the labels" not in written


def test_what_could_not_be_measured_leaves_a_dash_or_a_sentence(record: dict[str, Any]) -> None:
    nothing = {"value": None, "low": None, "high": None, "n": 0}
    record["measures"] |= {name: nothing for name in record["measures"] if name.endswith("[no]")}
    record["measures"]["roc_auc"] = nothing | {"n": 1000}
    record |= {"directions": [], "worst_pairs": [], "coverage": [], "groups": [], "fairlearn": {}}
    record |= {"notes": [], "note_kinds": []}
    written = to_markdown(record)
    assert "Label no: 0 pairs, baseline 0 pairs\n\nNothing could be measured." in written
    assert "| ROC AUC | - | 1,000 |" in written
    assert "No pair differs in a sensitive column, so there are no directions." in written
    assert "All comparable people have equal scores." in written
    assert not {"Coverage by group", "Notes"} & {*heads(written), *heads(written, "###")}
