"""The record of an audit as tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from likewise._format import count_of, one_line
from likewise.cli._console import Example, plain_table, share, show_side_by_side, shown, stack
from likewise.record import AuditRecord
from likewise.record._internal import (
    SAME_GROUP_OF,
    Coverage,
    Direction,
    PairCase,
    of_every_part,
    show_limit,
    title_of,
)
from likewise.report._internal import (
    DIRECTED,
    NOTHING,
    PERFORMANCE,
    UNKNOWN,
    Number,
    adjusted_gap,
    certified_table,
    column_table,
    describe_certificates,
    describe_plausibility,
    has_performance,
    lead_sentence,
    limit_table,
    list_answers,
    list_disagreements,
    measured,
    named_table,
    p_value,
    percent,
    regression_table,
    signed_gap,
    sum_up_plan,
    title_in,
)

N_LABELS: Final = 4
N_GROUPS: Final = 12
N_DIRECTIONS: Final = 6
N_PAIRS: Final = 3
N_COLUMNS: Final = 8
N_NAMED: Final = 5
N_CERTIFIED: Final = 3
UNLIMITED: Final = 1000  # columns, to measure the natural width of a table
SHOWN: Final = ("gap_mean", "excess", "excess_equal", "gap_q3", "gap_max", "flip_rate", "rank_gap_mean")
STYLES: Final = {"pass": "bold green", "fail": "bold red", "inconclusive": "bold yellow"}


def show_audit(record: AuditRecord, width: int, out: Path | None = None, *, rows: bool = True) -> RenderableType:
    """Lay out answers, evidence and numbers, and the verdict again at the end; ``out`` is the folder of the files.

    Without ``rows``, nobody is shown: neither the worst pairs, nor people by name.
    """
    parts = [
        _answers(record),
        *_limits(record),
        _headline(record),
        *_plan(record),
        *_notes(record, rows),
        *_directions(record, width),
        *_groups(record),
        *_gaps(record, width),
        _people(record),
        *_attribution(record),
        *_named(record, rows),
        *_certificates(record, rows),
        *(_worst(record, width, out) if rows else _tell_left_out(record, out)),
        *_outcome(record),
    ]
    return stack(parts)


def _answers(record: AuditRecord) -> Text:
    """Answer what readers ask first, in the order in which they do."""
    told = Text(one_line(lead_sentence(record)), "bold")
    for fact in list_answers(record):
        style = "" if fact.name != "Policy" or record.verdict is None else STYLES[record.verdict.outcome]
        told.append("\n").append(f"{fact.name}: ", "dim").append(one_line(fact.text), style or "not bold")
    return told


def _limits(record: AuditRecord) -> Iterator[RenderableType]:
    verdict = record.verdict
    if verdict is None or not verdict.checks:
        return
    table = plain_table("limit", "", "value", "outcome", n_text=4, n_folded=4)
    for check in verdict.checks:
        found = str(measured({check.of: check.measure}, check.of, points=record.in_points))
        outcome = Text(check.outcome, STYLES[check.outcome])
        table.add_row(
            Text(one_line(check.full_name)), show_limit(check.of, check.limit, points=record.in_points), found, outcome
        )
    yield table
    unknown = [check for check in verdict.checks if check.outcome == "inconclusive"]
    if unknown:
        yield Text("\n".join(f"{one_line(check.full_name)}: {one_line(check.reason)}" for check in unknown))


def _outcome(record: AuditRecord) -> Iterator[Text]:
    if record.verdict is not None:
        yield Text(record.verdict.headline, STYLES[record.verdict.outcome])


def _headline(record: AuditRecord) -> Text:
    pairs, data = record.pairs, record.data
    unit = f" A gap of 100% is a difference of {record.scale:,.6g}." if record.task == "regression" else ""
    sampled = f" (a sample of {pairs.n:,} is measured)" if pairs.is_sample else ""
    direction = f" {record.direction}." if record.direction else ""
    about = "About " if pairs.n_total_error is not None else ""
    return Text.assemble(
        (f"{about}{count_of(pairs.n_total, 'comparable pair')}", "bold"),
        f"{sampled} among the {count_of(data.n_rows, 'row')} of {shown(data.file, 60)}, scored by "
        f"{one_line(data.scores)}.{unit}{direction}\n{one_line(record.rule_in_words)}",
    )


def _plan(record: AuditRecord) -> Iterator[Text]:
    """Show the plan that the audit was made under, and every departure from it."""
    if record.plan is not None:
        departures = record.plan.departures
        lines = [f"Plan: {sum_up_plan(record)}", *(f"- {one}" for one in departures)]
        yield Text("\n".join(map(one_line, lines)), STYLES["inconclusive"] if departures else "")


def _gaps(record: AuditRecord, width: int) -> Iterator[RenderableType]:
    """Show a table for each label, with the same-group pairs (baseline) beside the comparable ones."""
    parts: list[tuple[str, Any]] = [("All pairs", None)]
    if record.has_labels and len(record.labels) <= N_LABELS:
        signs = {True: " (positive)", False: ""}
        name = shown(record.label_name)
        parts = [(f"{name} = {shown(one)}{signs[one == record.positive]}", one) for one in record.labels]
    points = record.in_points
    for heading, label in parts:
        measures = record.measures_of(label)
        n = measures["flip_rate"].n
        if not n:
            yield Text(f"{heading}: no pairs.")
            continue
        baseline = measures.get("same_group_gap_mean")
        beside = [] if baseline is None else [count_of(baseline.n, "same-group pair")]
        whole, narrow = (
            plain_table(Text(heading), count_of(n, "pair"), *titles)
            for titles in (beside, [title.replace(" ", "\n", 1) for title in beside])
        )
        for name in SHOWN:
            found = measured(measures, name, points=points)
            if found != UNKNOWN:
                equal = measured(measures, SAME_GROUP_OF[name], points=points) if name in SAME_GROUP_OF else None
                for table, cell in ((whole, str(equal or "")), (narrow, equal.shown if equal else "")):
                    table.add_row(title_in(record, name), *[str(found), cell][: 1 + len(beside)])
        yield _fitting([whole, narrow], width)


def _people(record: AuditRecord) -> RenderableType:
    title = "Model performance" if has_performance(record) else "Scores"
    n_people = record.data.n_rows if record.weights is None else record.weights.n_people
    table = plain_table(title, count_of(n_people, "person", "people"))
    for name in PERFORMANCE:
        found = measured(record.measures, name)
        if found != UNKNOWN:
            table.add_row(title_of(name), str(found))
    return table


def _groups(record: AuditRecord) -> Iterator[RenderableType]:
    """Show a table for each sensitive column: coverage, selection rate and mean score by group."""
    coverage = {(*one.columns, *one.values): one for one in record.coverage}
    for column in record.sensitive:
        groups = [one for one in record.groups if one.columns == (column,)]
        if not groups:
            continue
        decided = any(one.selection_rate is not None for one in groups)
        scored = any(one.mean_score is not None for one in groups)
        titles = ("people", "matched", *(("selection\nrate", "impact\nratio") * decided), *(("mean\nscore",) * scored))
        table = plain_table(Text(shown(column)), *titles, n_folded=1)
        for one in groups[:N_GROUPS]:
            covered, ratio, mean = coverage.get((column, *one.values)), one.impact_ratio, one.mean_score
            cells = [f"{one.n_people:,}"]
            cells.append("" if covered is None else _matched(covered))
            if decided:
                cells += [percent(one.selection_rate), NOTHING if ratio is None else f"{ratio:.2f}"]
            if scored:
                cells.append(NOTHING if mean is None else f"{mean:.3f}")
            table.add_row(Text(shown(one.values[0])), *cells)
        if len(groups) > N_GROUPS:
            table.add_row(Text(f"{len(groups) - N_GROUPS:,} other values", "dim"))
        yield table


def _matched(one: Coverage) -> str:
    """Format the share of matched people, by their weights where they have any."""
    return share(one.n_with_partner, one.n_people) if one.weighted_share is None else percent(one.share)


def _directions(record: AuditRecord, width: int) -> Iterator[RenderableType]:
    """Show the directions with the smallest p-values, as much of each as there is room for."""
    found = [one for one in record.directions if one.lean]
    targets = of_every_part(DIRECTED, record.measures)
    if targets:
        table = plain_table("Target and control", "", "pairs")
        for name in targets:
            shown_as = str(measured(record.measures, name, points=record.in_points))
            table.add_row(shown(title_of(name)), shown_as, f"{record.measures[name].n:,}")
        yield table
    if not found:
        return
    chosen = sorted(found, key=lambda one: one.rank)[:N_DIRECTIONS]
    tables = [
        _direction_table(chosen, record, *shown_too) for shown_too in ((True, True), (False, True), (False, False))
    ]
    yield _fitting(tables, width)
    if len(found) > N_DIRECTIONS:
        yield Text(f"... and {count_of(len(found) - N_DIRECTIONS, 'more direction')}", style="dim")
    if record.column_directions:
        yield _column_directions(record)
    yield from _regression(record, width)


def _regression(record: AuditRecord, width: int) -> Iterator[RenderableType]:
    """Show what a regression makes of the groups; without intervals, where there is no room for them."""
    found = regression_table(record)
    if found is None:
        return
    titles = ("Regression beside\nthe pairs", "compared with", "effect", "adjusted gap\nof the pairs")
    tables = [plain_table(*titles, n_text=2, n_folded=2) for _ in range(2)]
    for column, group, reference, *effect_and_gap, _ in found.rows[:N_DIRECTIONS]:
        names = shown(f"{column} {group}"), shown(str(reference))
        tables[0].add_row(*names, *map(str, effect_and_gap))
        tables[1].add_row(*names, *(cell.shown if isinstance(cell, Number) else str(cell) for cell in effect_and_gap))
    yield _fitting(tables, width)
    for sentence in list_disagreements(record):
        yield Text(sentence)


def _fitting(tables: Sequence[Table], width: int) -> Table:
    """Return the first table that there is room for, or the last."""
    screen = Console(width=UNLIMITED)
    return next((table for table in tables if screen.measure(table).maximum <= width), tables[-1])


def _column_directions(record: AuditRecord) -> Table:
    """Show the directions with the smallest p-values by each sensitive column alone."""
    table = plain_table("By one sensitive column", "adjusted\ngap", "p\n(Holm)", "pairs", n_folded=1)
    found = [(one, part.column) for part in record.column_directions for one in part.directions if one.lean]
    for one, column in sorted(found, key=lambda two: two[0].rank)[:N_DIRECTIONS]:
        gap = signed_gap(one.adjusted_gap, points=record.in_points)
        table.add_row(shown(one.name((column,))), gap, p_value(one.p_adjusted), f"{one.n_pairs:,}")
    return table


def _attribution(record: AuditRecord) -> Iterator[RenderableType]:
    """Show the largest parts of the mean gap by column, and those of sensitive ones."""
    columns = column_table(record, N_COLUMNS)
    if columns is not None and record.attribution is not None:
        table = plain_table("Part of the mean gap by column", "", "pairs that differ")
        for column, _, part, _, n_pairs in columns.rows:
            table.add_row(shown(str(column)), str(part), str(n_pairs))
        for unseen in sorted({*record.sensitive}.difference(record.attribution.seen)):
            table.add_row(shown(unseen), NOTHING, "the model does not see it")
        yield table


def _named(record: AuditRecord, rows: bool) -> Iterator[RenderableType]:
    if record.named is not None:
        yield Text(f"{record.named.headline}. {record.named.reference}")
    found = named_table(record) if rows else None
    if found is not None:
        table = plain_table("Worse off beyond chance", "difference", "partners", "adjusted p")
        for who, _, _, difference, n_partners, _, p_adjusted in found.rows[:N_NAMED]:
            table.add_row(shown(str(who)), str(difference), str(n_partners), str(p_adjusted))
        yield table


def _certificates(record: AuditRecord, rows: bool) -> Iterator[RenderableType]:
    """Show how many people are certified within limits, and the worst rows."""
    found, limits, people = record.certificates, limit_table(record), certified_table(record)
    if found is None or limits is None:
        return
    yield Text(f"{describe_certificates(found)} {describe_plausibility(found)}".rstrip())
    table = plain_table("Worst possible gap at most", "people", "undecided")
    for limit, within, _, _, undecided in limits.rows:
        table.add_row(str(limit), str(within), str(undecided))
    yield table
    if people is not None and rows:
        ranked = ("plausibility",) if found.plausibility is not None else ()
        head = ("Worst of", "from the person to the worst row", "gap", *ranked)
        table = plain_table(*head, n_text=2, n_folded=2)
        for who, changes, _, *numbers in people.rows[:N_CERTIFIED]:
            table.add_row(shown(str(who)), Text(one_line(str(changes))), *map(str, numbers))
        yield table


def _direction_table(
    directions: Sequence[Direction], record: AuditRecord, has_intervals: bool, is_whole: bool
) -> Table:
    is_low, points = record.favours_low, record.in_points
    counted = "worse /\nbetter" if is_low else "lower /\nhigher"
    titles = (*(("pairs",) * is_whole), counted, *(("mean\ngap",) * is_whole), "adjusted\ngap", "p\n(Holm)")
    sides = (
        ("Worse off" if is_low else "Scored lower", "than")
        if not record.settings.reference
        else ("Group", "compared with")
    )
    table = plain_table(*sides, *titles, n_text=2, n_folded=2)
    for one in directions:
        adjusted = signed_gap(one.adjusted_gap, points=points)
        table.add_row(
            Text(_joined(one.target)),
            Text(_joined(one.origin)),
            *((f"{one.n_pairs:,}",) * is_whole),
            f"{one.n_lower:,} / {one.n_higher:,}"
            if one.lower_share is None
            else f"{percent(one.lower_share)} / {percent(one.higher_share)}",
            *((signed_gap(one.mean_gap, points=points),) * is_whole),
            str(adjusted_gap(one, points=points)) if has_intervals else adjusted,
            p_value(one.p_adjusted),
        )
    return table


def _joined(values: Sequence[Any]) -> str:
    return ", ".join(shown(value) for value in values) or "(none)"


def _tell_left_out(record: AuditRecord, out: Path | None) -> Iterator[RenderableType]:
    """Say where the worst pairs are that a log is better without."""
    if any(case.gap for case in record.worst_pairs):
        where = "" if out is None else f"; they are in {out / 'report.html'}"
        yield Text(
            one_line(f"The worst pairs are left out, as a log may show this{where}. Print them by --set rows=true.")
        )


def _worst(record: AuditRecord, width: int, out: Path | None) -> Iterator[RenderableType]:
    """Show the worst pairs that share no person: the very worst may all have one in common."""
    used: set[int] = set()
    examples: list[Example] = []
    for case in record.worst_pairs:
        rows = {case.left_row, case.right_row}
        if case.gap and used.isdisjoint(rows) and len(examples) < N_PAIRS:
            used |= rows
            examples.append(_example(case, record))
    if examples:
        yield Text("Worst pairs, each person at most once (rows count from 0)", "bold")
        yield show_side_by_side(examples, record.sensitive, width)
        n_others = len(record.worst_pairs) - len(examples)
        if out is not None and n_others:
            verb = "is" if n_others == 1 else "are"
            yield Text(one_line(f"{n_others:,} more worst pairs {verb} in {out / 'review_sheet.csv'}."))


def _example(case: PairCase, record: AuditRecord) -> Example:
    ids, rows = (case.left_id, case.right_id), (case.left_row, case.right_row)
    left, right = (shown(one, 20) for one in ids) if record.has_row_ids else (f"row {row:,}" for row in rows)
    columns = [one.column for one in case.factors]
    score = "score" if "score" not in (*columns, record.label_name) else _name_apart(record, columns)
    values = {score: (_score(case.left_score), _score(case.right_score))}
    if record.has_labels:
        values[record.label_name] = (case.label, case.label)
    values |= {one.column: (one.left, one.right) for one in case.factors}
    differing = {one.column for one in case.factors if one.differs}
    return Example((left, right), values, frozenset(differing | ({score} if case.gap else set())))


def _name_apart(record: AuditRecord, columns: Sequence[str]) -> str:
    """Name the scores as no column is named."""
    scores = () if record.command is None else record.command.scores
    name = f"score of {scores[0]}" if len(scores) == 1 else "score by the model"
    while name in columns:
        name += "'"
    return name


def _score(score: float | tuple[float, ...]) -> str:
    return " ".join(f"{one:.3g}" for one in score) if isinstance(score, tuple) else f"{score:.4g}"


def _notes(record: AuditRecord, rows: bool) -> Iterator[RenderableType]:
    """Show the notes before the numbers."""
    notes = [note for note in record.notes if rows or note.kind != "that_person"]
    if notes:
        styles = ["" if note.kind != "collapsed" else STYLES["inconclusive"] for note in notes]
        lines = [Text(f"- {one_line(note.text)}", style) for note, style in zip(notes, styles, strict=True)]
        yield Text("\n").join(lines)
