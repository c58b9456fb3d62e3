"""The record of an audit → tables a person can read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from likewise._format import count_of, show_limit
from likewise.cli._console import one_line, share, shown
from likewise.cli._tables import Example, plain_table, show_side_by_side
from likewise.report._compared import say_verdict
from likewise.report._words import (
    NOTHING,
    PEOPLE_TITLES,
    found_in,
    percent,
    probability,
    signed_percent,
)

N_LABELS: Final = 4
N_GROUPS: Final = 12
N_DIRECTIONS: Final = 6
N_PAIRS: Final = 3
MOST_WIDE: Final = 1000  # columns, to see how wide a table would like to be
STYLES: Final = {"pass": "bold green", "fail": "bold red", "inconclusive": "bold yellow"}
SHOWN: Final = {  # short enough for two intervals next to it on 80 columns
    "gap_mean": "Mean gap",
    "gap_q3": "Upper quartile (Q3)",
    "gap_median": "Median",
    "gap_q95": "95th percentile",
    "gap_max": "Largest",
    "gap_share_above": "Pairs above {limit}",
    "flip_rate": "Different decisions",
    "rank_gap_mean": "Rank gap, mean",
    "rank_gap_q95": "Rank gap, 95th",
    "gap_over_spread": "Mean gap / spread",
}

Record = Mapping[str, Any]


def show_audit(record: Record, width: int, out: Path | None = None) -> RenderableType:
    """Lay out the verdict first, then what it rests on, then the evidence; the verdict again where the eye ends up.

    ``out`` is the folder of the files that hold more.
    """
    parts = [
        *_verdict(record),
        _headline(record),
        *_notes(record),
        *_gaps(record),
        _people(record),
        *_groups(record),
        *_directions(record, width),
        *_worst(record, width, out),
        *_outcome(record),
    ]
    return Group(*[one for part in parts for one in (Text(""), part)][1:])


def _verdict(record: Record) -> Iterator[RenderableType]:
    verdict = record["verdict"]
    if verdict is None:
        return
    yield from _outcome(record)
    if not verdict["checks"]:
        return
    table = plain_table()
    for title in ("limit", "", "found", "outcome"):
        table.add_column(title, overflow="fold")
    for check in verdict["checks"]:
        found = found_in({check["name"][4:]: check}, check["name"][4:])
        outcome = Text(check["outcome"], STYLES[check["outcome"]])
        table.add_row(Text(check["name"]), show_limit(check["name"][4:], check["limit"]), found, outcome)
    yield table
    untold = [check for check in verdict["checks"] if check["outcome"] == "inconclusive"]
    if untold:
        yield Text("\n".join(f"{check['name']}: {one_line(check['reason'])}" for check in untold))


def _outcome(record: Record) -> Iterator[Text]:
    verdict = record["verdict"]
    if verdict is not None:
        yield Text(say_verdict(record), STYLES[verdict["outcome"]])


def _headline(record: Record) -> Text:
    pairs, data = record["pairs"], record["data"]
    unit = f" A gap of 100% is a difference of {record['scale']:,.6g}." if record["task"] == "regression" else ""
    is_sample = pairs.get("measured", "all") == "sample" or pairs["n"] < pairs["n_total"]
    sampled = f" (a sample of {pairs['n']:,} is measured)" if is_sample else ""
    about = "About " if pairs.get("n_total_error") is not None else ""
    return Text.assemble(
        (f"{about}{count_of(pairs['n_total'], 'comparable pair')}", "bold"),
        f"{sampled} among the {count_of(data['n_rows'], 'row')} of {shown(data['file'], 60)}, scored by "
        f"{one_line(data['scores'])}.{unit}\n{one_line(record['rule_in_words'])}",
    )


def _gaps(record: Record) -> Iterator[RenderableType]:
    """Give each label a table, with pairs that are equal in the sensitive columns as the baseline next to it."""
    label, by_label = record["command"]["label"], record["by_label"]
    parts = [("All pairs", record["measures"])]
    if record["task"] != "regression" and len(by_label) <= N_LABELS:
        signs = {True: " (positive)", False: ""}
        parts = [
            (f"{shown(label)} = {shown(one['label'])}{signs[one['label'] == record['positive']]}", one["measures"])
            for one in by_label
        ]
    limit = show_limit("gap_mean", record["settings"]["gap_limit"])
    for heading, measures in parts:
        n = measures["gap_mean"]["n"]
        if not n:
            yield Text(f"{heading}: no pairs.")
            continue
        baseline = measures.get("within_gap_mean")
        table = plain_table()
        table.add_column(Text(heading))
        table.add_column(count_of(n, "pair"), justify="right")
        if baseline is not None:
            table.add_column(f"{count_of(baseline['n'], 'pair')} of equals", justify="right")
        for name, title in SHOWN.items():
            if measures.get(name, {}).get("value") is not None:
                cells = [found_in(measures, name)]
                cells += [found_in(measures, f"within_{name}")] * (baseline is not None)
                table.add_row(title.format(limit=limit), *cells)
        yield table


def _people(record: Record) -> RenderableType:
    table = plain_table()
    table.add_column("How good the scores are")
    table.add_column(count_of(record["data"]["n_rows"], "person", "people"), justify="right")
    measures = record["measures"]
    for name, title in PEOPLE_TITLES.items():
        if measures.get(name, {}).get("value") is not None:
            table.add_row(title, found_in(measures, name))
    return table


def _groups(record: Record) -> Iterator[RenderableType]:
    """Give each sensitive column a table: who is covered, chosen, and scored how."""
    partners = {(*one["columns"], *one["values"]): one for one in record["coverage"]}
    for column in record["roles"]["sensitive"]:
        groups = [one for one in record["groups"] if one["columns"] == [column]]
        if not groups:
            continue
        decided, scored = (any(one[name] is not None for one in groups) for name in ("selection_rate", "mean_score"))
        table = plain_table()
        table.add_column(Text(shown(column)), overflow="fold")
        titles = ("people", "with a\npartner", *(("chosen", "impact\nratio") * decided), *(("mean\nscore",) * scored))
        for title in titles:
            table.add_column(title, justify="right")
        for one in groups[:N_GROUPS]:
            covered, ratio, mean = partners.get((column, *one["values"])), one["impact_ratio"], one["mean_score"]
            cells = [f"{one['n_people']:,}"]
            cells.append("" if covered is None else share(covered["n_with_partner"], covered["n_people"]))
            if decided:
                cells += [percent(one["selection_rate"]), NOTHING if ratio is None else f"{ratio:.2f}"]
            if scored:
                cells.append(NOTHING if mean is None else f"{mean:.3f}")
            table.add_row(Text(shown(one["values"][0])), *cells)
        if len(groups) > N_GROUPS:
            table.add_row(Text(f"{len(groups) - N_GROUPS:,} other values", "dim"))
        yield table


def _directions(record: Record, width: int) -> Iterator[RenderableType]:
    """Show the directions that are least likely chance, as much of each as there is room for."""
    told = [one for one in record["directions"] if one["mean_gap"]]
    if not told:
        return
    ordered = sorted(told, key=lambda one: (_or_one(one["p_adjusted"]), -abs(one["mean_gap"]), -one["n_pairs"]))
    chosen = ordered[:N_DIRECTIONS]
    tables = [_lay_directions(chosen, *shown_too) for shown_too in ((True, True), (False, True), (False, False))]
    screen = Console(width=MOST_WIDE)
    yield next((table for table in tables if screen.measure(table).maximum <= width), tables[-1])
    if len(told) > N_DIRECTIONS:
        yield Text(f"... and {count_of(len(told) - N_DIRECTIONS, 'more direction')}", style="dim")


def _lay_directions(directions: Sequence[Record], has_intervals: bool, has_counts: bool) -> Table:
    table = plain_table()
    table.add_column("Scored lower", overflow="fold")
    table.add_column("than", overflow="fold")
    for title in (*(("pairs",) * has_counts), "lower /\nhigher", "mean gap", "p\n(Holm)"):
        table.add_column(title, justify="right")
    for one in directions:
        gap = signed_percent(one["mean_gap"])
        if one["low"] is not None and has_intervals:
            gap += f" ({signed_percent(one['low'])} to {signed_percent(one['high'])})"
        table.add_row(
            Text(_joined(one["target"])),
            Text(_joined(one["origin"])),
            *((f"{one['n_pairs']:,}",) * has_counts),
            f"{one['n_lower']:,} / {one['n_higher']:,}",
            gap,
            probability(one["p_adjusted"]),
        )
    return table


def _or_one(p: float | None) -> float:
    return 1.0 if p is None else p


def _joined(values: Sequence[Any]) -> str:
    return ", ".join(shown(value) for value in values) or "(none)"


def _worst(record: Record, width: int, out: Path | None) -> Iterator[RenderableType]:
    """Show the worst pairs of different people: the very worst may all have one person in common."""
    used: set[int] = set()
    examples: list[Example] = []
    for case in record["worst_pairs"]:
        rows = {case["left_row"], case["right_row"]}
        if case["gap"] and used.isdisjoint(rows) and len(examples) < N_PAIRS:
            used |= rows
            examples.append(_example(case, record))
    if examples:
        yield Text("The worst pairs, everybody at most once (rows count from 0)", "bold")
        yield show_side_by_side(examples, record["roles"]["sensitive"], width)
        n_others = len(record["worst_pairs"]) - len(examples)
        if out is not None and n_others:
            verb = "is" if n_others == 1 else "are"
            yield Text(one_line(f"{n_others:,} more of the worst pairs {verb} in {out / 'worst_pairs.csv'}."))


def _example(case: Record, record: Record) -> Example:
    has_ids = record["roles"]["row_id"] is not None
    ids, rows = (case["left_id"], case["right_id"]), (case["left_row"], case["right_row"])
    left, right = (shown(one, 20) for one in ids) if has_ids else (f"row {row:,}" for row in rows)
    columns = [one["column"] for one in case["factors"]]
    score = "score" if "score" not in (*columns, record["command"]["label"]) else _name_apart(record, columns)
    values = {score: (_score(case["left_score"]), _score(case["right_score"]))}
    if record["task"] != "regression":
        values[record["command"]["label"]] = (case["label"], case["label"])
    values |= {one["column"]: (one["left"], one["right"]) for one in case["factors"]}
    differing = {one["column"] for one in case["factors"] if one["differs"]}
    return Example((left, right), values, frozenset(differing | ({score} if case["gap"] else set())))


def _name_apart(record: Record, columns: Sequence[str]) -> str:
    """Call the scores what no column is called."""
    scores = record["command"]["scores"]
    name = f"score of {scores[0]}" if len(scores) == 1 else "score by the model"
    while name in columns:
        name += "'"
    return name


def _score(score: Any) -> str:
    return " ".join(f"{one:.3g}" for one in score) if isinstance(score, list) else f"{score:.4g}"


def _notes(record: Record) -> Iterator[RenderableType]:
    """Say what limits the numbers before they are read."""
    if record["notes"]:
        style = STYLES["inconclusive"] if record["is_collapsed"] else ""
        lines = [
            Text(f"- {one_line(note)}", style if not position else "") for position, note in enumerate(record["notes"])
        ]
        yield Text("\n").join(lines)
