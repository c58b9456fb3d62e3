"""Why and for whom: gaps split over columns, people named, and certificates, as sentences, charts and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from likewise._format import count_of
from likewise.record import AuditRecord
from likewise.record._internal import (
    Attribution,
    CertificateRecord,
    CertifiedPerson,
    ColumnPart,
    Measure,
    show_interval,
)
from likewise.report._charts import (
    Dot,
    DotPlot,
    Histogram,
    as_percent,
    as_points,
    make_axis,
    make_histogram,
    make_series,
    mark_value,
)
from likewise.report._text import (
    MAX_ROWS,
    Cell,
    Number,
    Table,
    Value,
    as_text,
    clean,
    count,
    count_left_out,
    gap,
    join,
    measured,
    p_value,
    percent,
    shorten,
    show,
    show_score,
    signed_gap,
    tidy,
)

ABOUT: Final = (
    "The gap of every pair is split over the columns in which the two people differ. The model scores all rows that "
    "mix the two people's values; a column's part is what its value changes, averaged over all orders in which the "
    "columns can change (its Shapley value). The parts of a pair add up to its gap. This describes the model's "
    "arithmetic on these columns, not causes: a column may carry what another one stands for, and some mixtures "
    "describe nobody."
)
ABOUT_TRANSITIONS: Final = "The largest parts of each signed mean gap; all parts of a row add up to it."
MAX_COLUMNS: Final = 12  # of the chart
MAX_NAMED: Final = 200
ABOUT_NAMED: Final = (
    "People who are scored lower than comparable people with other sensitive values by more than equal people differ. "
    "How much those differ is known from same-group pairs. Of the people named, the expected share who are not worse "
    "off is at most the false discovery rate. Who is not named may still be worse off."
)
MAX_PARTS: Final = 4  # of a transition
MAX_CERTIFIED: Final = 10
MAX_CHANGES: Final = 8  # of a worst row
LOOKED_INTO: Final = {
    "linear": "a linear model, in closed form",
    "trees": "trees, by branch and bound",
}
ABOUT_CERTIFICATES: Final = (
    "Most people have no comparable person in the table. A certificate is about everybody who would be comparable to a "
    "person under the rule, in the table or not, and whatever the label: other sensitive values, the discrete changes "
    "that the rule allows, and numbers anywhere within the tolerance. No such row has a score further from the "
    "person's than the worst possible gap. It describes the model's arithmetic; a worst row may describe nobody."
)
ABOUT_PLAUSIBILITY: Final = (
    "Plausibility is the share of the people in this table whose own categories fit each other, and their numbers, no "
    "better than those of the row, by the conditional distributions of a Gibbs generator. Rows below 5% are marked as "
    "implausible. It is a rank, not a probability that such a person exists."
)
IMPLAUSIBLE: Final = 0.05


def describe_attribution(found: Attribution, *, points: bool) -> str:
    """Sum up what was split, and how."""
    mean = gap(found.mean_gap, points=points)
    how = f"The model scored {count_of(found.n_scored, 'mixture')} of {count_of(found.n_pairs, 'pair')}"
    sampled = (
        f" {count_of(found.n_sampled, 'pair')} differ in more than {found.max_columns} columns; their parts are "
        f"estimated from {found.n_orders} random orders."
        if found.n_sampled
        else " All parts are exact."
    )
    return f"{how}, whose mean gap is {mean}.{sampled}"


def attribution_chart(record: AuditRecord) -> DotPlot | None:
    """The part of each column in the mean gap, from nil; largest first."""
    found = record.attribution
    if found is None or not found.columns:
        return None
    points = record.in_points
    dots = tuple(_dot(one, points) for one in _choose(found.columns, MAX_COLUMNS))
    ends = min(0.0, *(one.value for one in dots)), max(0.0, *(one.value for one in dots))
    left_out = f" The chart shows {len(dots)} of {len(found.columns)}." if len(dots) < len(found.columns) else ""
    return DotPlot(
        "Parts of the mean gap by column",
        f"What each of {count_of(len(found.columns), 'column')} adds to the mean gap.{left_out}",
        make_axis("Part of the mean gap", *ends, as_points if points else as_percent, is_grown=True),
        dots,
        "Sensitive",
        "Not sensitive",
        ("", ""),
    )


def _dot(one: ColumnPart, points: bool) -> Dot:
    return Dot(
        (shorten(clean(as_text(one.column)), 32),),
        signed_gap(one.mean_part, points=points),
        f"{shorten(clean(as_text(one.column)), 80)} ({one.role}): {signed_gap(one.mean_part, points=points)} of the "
        f"mean gap; the two people differ in it in {count_of(one.n_pairs, 'pair')}",
        one.mean_part,
        is_filled=one.role == "sensitive",
        is_bar=True,
    )


def _part(one: ColumnPart, points: bool) -> Number:
    ends = (None, None) if one.part is None else (one.part.low, one.part.high)
    return Number(signed_gap(one.mean_part, points=points), one.mean_part, show_interval("part", *ends, points=points))


def _choose(columns: Sequence[ColumnPart], most: int) -> list[ColumnPart]:
    """Keep the largest parts, and those of sensitive columns, however small."""
    return [one for place, one in enumerate(columns) if place < most or one.role == "sensitive"]


def column_table(record: AuditRecord, most: int = MAX_ROWS) -> Table | None:
    """The part of each column; None where gaps were not split."""
    found, points = record.attribution, record.in_points
    if found is None:
        return None
    rows = tuple(
        (
            show(one.column),
            one.role,
            _part(one, points),
            Number(gap(one.mean_size, points=points), one.mean_size),
            count(one.n_pairs),
        )
        for one in _choose(found.columns, most)
    )
    head = ("Column", "Role", "Part of the mean gap", "Mean size of its parts", "Pairs that differ in it")
    more = count_left_out(len(found.columns), len(rows), "columns")
    return Table(caption="Parts by column", head=head, rows=rows, n_text=2, more=more, is_sortable=True)


def transition_table(record: AuditRecord) -> Table | None:
    """The largest parts of each signed mean gap; None without."""
    found, points = record.attribution, record.in_points
    if found is None or not found.transitions:
        return None
    rows: list[tuple[Cell, ...]] = []
    for one in found.transitions[:MAX_ROWS]:
        parts = [Value(f"{shorten(clean(part.column))} {signed_gap(part.value, points=points)}") for part in one.parts]
        rows.append(
            (
                join(map(show, one.origin)),
                join(map(show, one.target)),
                join(parts[:MAX_PARTS]),
                Number(signed_gap(one.mean_gap, points=points), one.mean_gap),
                count(one.n_pairs),
            )
        )
    head = ("From", "To", "Largest parts", "Signed mean gap", "Pairs (N)")
    more = count_left_out(len(found.transitions), MAX_ROWS, "transitions")
    return Table(caption="Parts by transition", head=head, rows=tuple(rows), n_text=3, more=more)


def named_table(record: AuditRecord) -> Table | None:
    """The people who are named; None where there are none."""
    found, points = record.named, record.in_points
    if found is None or not found.people:
        return None
    rows = tuple(
        (
            show(one.id),
            "" if one.label is None else show(one.label),
            Number(f"{one.score:.4g}", one.score),
            Number(signed_gap(one.mean_difference, points=points), one.mean_difference),
            count(one.n_partners),
            Number(p_value(one.p_value), one.p_value),
            Number(p_value(one.p_adjusted), one.p_adjusted),
        )
        for one in found.people[:MAX_NAMED]
    )
    who = "Person (id)" if record.has_row_ids else "Person (row, counted from 0)"
    head = (who, "Label", "Score", "Mean difference", "Comparable people", "p", "p (adjusted)")
    more = count_left_out(len(found.people), MAX_NAMED, "people")
    return Table(caption="People named", head=head, rows=rows, n_text=2, more=more, is_sortable=True)


def parts_of_pairs(record: AuditRecord) -> dict[int, str]:
    """How the gap of each of the worst pairs, counted from 1, splits over columns, in a sentence."""
    worst = () if record.attribution is None else record.attribution.worst
    found = {}
    for number, parts in enumerate(worst, start=1):
        listed = [f"{tidy(one.column, 40)} {signed_gap(one.value, points=record.in_points)}" for one in parts]
        if listed:
            found[number] = f"Parts of the gap: {', '.join(listed)}."
    return found


def describe_certificates(found: CertificateRecord) -> str:
    """Sum up who was certified, how exactly, and under what conditions."""
    people = count_of(found.n_people, "person", "people")
    told = [f"{people} certified ({LOOKED_INTO[found.method]}), {percent(found.n_exact / found.n_people)} exactly."]
    if found.n_exact < found.n_people:
        told.append("Where a certificate is not exact, the true worst gap is between what is reached and the bound.")
    if found.n_alone:
        told.append(f"Nobody comparable is possible for {count_of(found.n_alone, 'person', 'people')}: their gap is 0.")
    if not found.within_range:
        told.append("Numbers may leave the range of the training rows and of the table.")
    if found.fixed_columns:
        told.append(f"Not in the rule, so kept as they are: {join(map(show, found.fixed_columns))}.")
    if found.refused_categories:
        counts = found.refused_categories.items()
        listed = ", ".join(f"{count_of(n, 'category', 'categories')} of {tidy(name)}" for name, n in counts)
        told.append(f"The model cannot score, so nobody has: {listed}.")
    return " ".join(told)


def describe_plausibility(found: CertificateRecord) -> str:
    """Sum up how plausible worst rows are; "" where that was not asked for."""
    ranks = found.plausibility
    if ranks is None:
        return ""
    if ranks.least:
        return (
            f"Only rows with a plausibility of at least {percent(ranks.least)} are shown as worst rows; for "
            f"{count_of(ranks.n_without, 'person', 'people')} none was found. The bounds hold for all rows, so that a "
            "bound may rest on an implausible one."
        )
    share = percent(ranks.n_implausible / found.n_people)
    return f"The worst row of {count_of(ranks.n_implausible, 'person', 'people')} ({share}) is implausible."


def certificate_chart(record: AuditRecord) -> Histogram | None:
    """Distribution of the worst possible gap of each person; None without certificates."""
    found, points = record.certificates, record.in_points
    if found is None:
        return None
    marks = (("Median", "Median", found.median), ("Q95", "95th percentile", found.q95))
    markers = [mark_value(short, long, Measure(value), points) for short, long, value in marks]
    spoken = "".join(f" {one.tip}." for one in markers)
    people = count_of(found.n_people, "person", "people")
    return make_histogram(
        "Worst possible gap per person",
        f"Distribution of the worst possible gap of {people}.{spoken}",
        ("Worst possible gap of a person", "Share of people"),
        found.edges,
        [make_series("Certified people", found.counts, found.n_people)],
        [found.counts],
        markers,
        "Worst possible gap",
        as_points if points else as_percent,
    )


def limit_table(record: AuditRecord) -> Table | None:
    """Shares of people certified within limits, with intervals for the population; None without certificates."""
    found, points = record.certificates, record.in_points
    if found is None:
        return None
    rows = tuple(
        (
            Number(gap(one.limit, points=points), one.limit),
            measured({"certified_share": Measure(one.n_within / found.n_people, one.low, one.high)}, "certified_share"),
            count(one.n_within),
            count(one.n_beyond),
            count(found.n_people - one.n_within - one.n_beyond),
        )
        for one in found.limits
    )
    head = ("Worst possible gap at most", "Share of people", "Within", "Beyond (a row is found)", "Undecided")
    sure = f"{100 * found.confidence:g}% interval for the population"
    caption = f"People within a limit of everybody comparable ({sure})"
    return Table(caption=caption, head=head, rows=rows)


def certified_table(record: AuditRecord) -> Table | None:
    """The people with the largest gaps reached, and the row that reaches each; None where there are none."""
    found = record.certificates
    if found is None or not found.people:
        return None
    is_ranked = found.plausibility is not None
    rows = tuple(_certified(one, record.in_points, is_ranked) for one in found.people[:MAX_CERTIFIED])
    who = "Person (id)" if record.has_row_ids else "Person (row, counted from 0)"
    head = (who, "From the person to the worst row", "Scores", "Gap reached")
    more = count_left_out(len(found.people), MAX_CERTIFIED, "people")
    return Table(
        caption="People with the largest possible gaps",
        head=(*head, "Plausibility") if is_ranked else head,
        rows=rows,
        n_text=2,
        more=more,
    )


def _certified(one: CertifiedPerson, points: bool, is_ranked: bool) -> tuple[Cell, ...]:
    changes = [
        Value(f"{tidy(change.column, 40)} {show(change.person)} → {show(change.comparable)}")
        for change in one.changes[:MAX_CHANGES]
    ]
    left_out = len(one.changes) - MAX_CHANGES
    changes += [Value(f"and {left_out:,} more")] if left_out > 0 else []
    bound = "exact" if one.is_exact else f"bound {gap(one.gap, points=points)}"
    cells = (
        show(one.id),
        join(changes, "; "),
        Number(f"{show_score(one.score)} → {show_score(one.comparable_score)}", one.score),
        Number(gap(one.reached, points=points), one.reached, bound),
    )
    if not is_ranked:
        return cells
    mark = "implausible" if (one.plausibility or 0.0) < IMPLAUSIBLE else ""
    return (*cells, Number(percent(one.plausibility), one.plausibility, mark))
