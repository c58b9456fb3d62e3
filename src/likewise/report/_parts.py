"""The report of an audit as a list of parts, in the order in which readers ask: HTML and Markdown lay out the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from likewise.record import AuditRecord
from likewise.record._internal import Comparison
from likewise.report import _attribution as attribution
from likewise.report import _charts as charts
from likewise.report import _evidence as evidence
from likewise.report import _measures as measures
from likewise.report import _summary as summary
from likewise.report._charts import DotPlot, Histogram, Reliability
from likewise.report._summary import Fact
from likewise.report._text import Table, clean, count_left_out

TITLE: Final = "How differently similar people are scored"
ABOUT_PAIRS: Final = (
    "Each pair is a person and a comparable person under the rule. Factors that differ are in bold, with the "
    "difference and the tolerance. Rows are counted from 0. To review the pairs, fill in review_sheet.csv, which "
    "likewise review merge reads back."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a page: paragraphs, facts, charts, tables and a list, as far as there are any.

    ``name`` is where links lead. Charts, the matrix and pairs side by side are for pages that can draw them; ``pairs``
    and what ``is_of_rows`` show single people. ``parts`` stand below it, each under a title of its own.
    """

    title: str
    name: str = ""
    texts: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    tables: tuple[Table, ...] = ()
    items: tuple[str, ...] = ()
    charts: tuple[Histogram | DotPlot | Reliability, ...] = ()
    matrix: evidence.Matrix | None = None
    pairs: tuple[evidence.PairView, ...] = ()
    beside: dict[int, str] | None = None  # what is said of a pair, by its number
    more: str = ""
    parts: tuple[Part, ...] = ()
    is_of_rows: bool = False


def list_parts(record: AuditRecord, n_pairs: int, changes: Part | None = None) -> list[Part]:
    """Take the parts of the report from a record, but its first answers; ``changes`` come first."""
    parts = [
        changes,
        _directions(record),
        _rates(record),
        _pairs(record, n_pairs),
        _reviews(record),
        _compared(record),
        _gaps(record),
        _baseline(record),
        *_explained(record),
        _people(record),
        _performance(record),
        _coverage(record),
        _reproduction(record),
        Part(name="caveats", title="What this does not show", items=tuple(summary.list_caveats(record))),
    ]
    return [part for part in parts if part is not None]


def change_part(record: AuditRecord, before: AuditRecord, comparison: Comparison) -> Part:
    """What changed since another audit of the same people: what it comes to, then the numbers."""
    table = measures.change_table(comparison, points=record.in_points)
    return Part(
        name="changes",
        title="Before and after",
        items=tuple(str(one) for one in comparison.conclusions),
        texts=tuple(clean(str(note)) for note in comparison.notes),
        charts=_known(charts.change_chart(comparison, points=record.in_points)),
        parts=(
            Part(
                title="All measures before and after",
                texts=(measures.about_changes(table),),
                tables=(summary.origin_table(before, record), table),
            ),
        ),
    )


def _known(*found: Any) -> tuple[Any, ...]:
    return tuple(one for one in found if one is not None)


def _folded(*tables: Table | None) -> tuple[Table, ...]:
    return tuple(replace(one, is_folded=True) for one in tables if one is not None)


def _directions(record: AuditRecord) -> Part:
    targets, table = measures.target_table(record), evidence.direction_table(record)
    by_column = evidence.column_direction_table(record)
    if table is None:
        return Part(
            name="directions",
            title="Differences between groups",
            texts=(evidence.explain_no_directions(record),),
            tables=_known(targets),
        )
    alone = Part(title="By one sensitive column", texts=(evidence.ABOUT_COLUMN_DIRECTIONS,), tables=_known(by_column))
    everything = Part(
        title="All transitions",
        texts=(evidence.about_directions(record),),
        tables=_folded(table, summary.balance_table(record)),
    )
    matrix = evidence.direction_matrix(record)
    drawn = Part(title="Every two groups", texts=(evidence.about_matrix(record),), matrix=matrix)
    return Part(
        name="directions",
        title="Differences between groups",
        tables=_known(targets),
        charts=_known(charts.direction_chart(record)),
        parts=(
            *((alone,) if by_column else ()),
            *_regression(record),
            *((drawn,) if matrix else ()),
            everything,
        ),
    )


def _regression(record: AuditRecord) -> Iterator[Part]:
    """Yield what a regression makes of the groups, and where the pairs disagree."""
    table = measures.regression_table(record)
    if table is not None:
        yield Part(title="Regression beside the pairs", texts=(measures.about_regression(record),), tables=(table,))


def _rates(record: AuditRecord) -> Part:
    tables = tuple(evidence.rate_tables(record))
    none = () if tables else ("No group was measured.",)
    return Part(name="rates", title="Selection rates by group", texts=none, tables=tables)


def _pairs(record: AuditRecord, n_pairs: int) -> Part:
    pairs = tuple(evidence.pair_views(record, n_pairs))
    return Part(
        name="pairs",
        title="Worst pairs, side by side",
        texts=(ABOUT_PAIRS if pairs else "All comparable people have equal scores.",),
        pairs=pairs,
        beside=attribution.parts_of_pairs(record),
        more=count_left_out(len(evidence.worst_pairs(record)), n_pairs, "pairs"),
        is_of_rows=bool(pairs),
    )


def _reviews(record: AuditRecord) -> Part | None:
    if not record.reviews:
        return None
    tables = _known(summary.standing_table(record), summary.agreement_table(record), summary.review_log(record))
    texts = (f"{record.review_summary} {summary.ABOUT_REVIEWS}",)
    return Part(name="review", title="Reviews", texts=texts, tables=tables)


def _compared(record: AuditRecord) -> Part:
    notes = tuple(summary.list_notes(record))
    return Part(
        name="compared",
        title="What was compared",
        facts=tuple(summary.list_facts(record)),
        tables=_known(summary.departure_table(record)),
        parts=(Part(title="Notes", items=notes),) if notes else (),
    )


def _gaps(record: AuditRecord) -> Part:
    charted = [one for one in record.distributions.slices if one.n]
    drawn = {(one.of, one.label): chart for one, chart in zip(charted, charts.gap_charts(record), strict=True)}
    slices = []
    for one in measures.gap_slices(record):
        chart = drawn.get(("all", None) if one.is_all else ("label", one.label))
        none = () if one.table else ("Nothing could be measured.",)
        title = f"{one.title}: {one.counted}"
        slices.append(Part(title=title, texts=none, charts=_known(chart), tables=_folded(one.table)))
    return Part(
        name="gaps",
        title="Gaps by label" if record.has_labels else "Gaps",
        texts=(f"{measures.ABOUT_GAPS} {measures.ABOUT_RANKS} {measures.describe_intervals(record)}",),
        parts=tuple(slices),
        more=measures.count_labels_left_out(record),
    )


def _baseline(record: AuditRecord) -> Part:
    is_known = measures.has_baseline(record)
    return Part(
        name="baseline",
        title="Excess over the same-group baseline",
        texts=(measures.ABOUT_BASELINE if is_known else "No baseline: no same-group pairs were measured.",),
        tables=_known(measures.excess_table(record) if is_known else None),
    )


def _explained(record: AuditRecord) -> Iterator[Part]:
    """Yield what was added to the audit: gaps by column, people named, certificates."""
    if record.attribution is not None:
        transitions = attribution.transition_table(record)
        below = Part(title="Transitions", texts=(attribution.ABOUT_TRANSITIONS,), tables=_folded(transitions))
        yield Part(
            name="attribution",
            title="Gaps by column",
            texts=(
                attribution.ABOUT,
                attribution.describe_attribution(record.attribution, points=record.in_points),
            ),
            charts=_known(attribution.attribution_chart(record)),
            tables=_known(attribution.column_table(record)),
            parts=() if transitions is None else (below,),
        )
    if record.named is not None:
        yield Part(
            name="named",
            title="People worse off beyond chance",
            texts=(f"{record.named.headline}. {record.named.reference}", attribution.ABOUT_NAMED),
            parts=(Part(title="Who", tables=_known(attribution.named_table(record)), is_of_rows=True),),
        )
    found = record.certificates
    if found is not None:
        ranked = f"{attribution.ABOUT_PLAUSIBILITY} {attribution.describe_plausibility(found)}"
        texts = (attribution.ABOUT_CERTIFICATES, attribution.describe_certificates(found))
        people = attribution.certified_table(record)
        yield Part(
            name="certificates",
            title="Worst possible gap per person",
            texts=(*texts, *((ranked,) if found.plausibility is not None else ())),
            charts=_known(attribution.certificate_chart(record)),
            tables=_known(attribution.limit_table(record)),
            parts=() if people is None else (Part(title="Who", tables=_folded(people), is_of_rows=True),),
        )


def _people(record: AuditRecord) -> Part:
    table = evidence.people_table(record)
    return Part(
        name="people",
        title="Largest gap per person",
        texts=(f"{evidence.ABOUT_PEOPLE} {evidence.summarize_people(record)}",),
        charts=_known(charts.person_chart(record)),
        parts=() if table is None else (Part(title="Who", tables=_folded(table), is_of_rows=True),),
    )


def _performance(record: AuditRecord) -> Part:
    is_known = measures.has_performance(record)
    about = measures.ABOUT_PERFORMANCE if is_known else measures.ABOUT_SPREAD
    varied = "The scores vary between people: they have not collapsed."
    collapsed = None if record.collapse is None else summary.tidy_text(record.collapse.text)
    return Part(
        name="performance",
        title="Model performance and calibration" if is_known else "Spread of the scores",
        texts=(f"{varied} {about}" if collapsed is None else f"Warning. {collapsed}",),
        tables=(measures.performance_table(record), *_folded(measures.calibration_table(record))),
        charts=_known(charts.calibration_chart(record), charts.score_chart(record)),
    )


def _coverage(record: AuditRecord) -> Part | None:
    tables = _folded(*evidence.coverage_tables(record))
    if not tables:
        return None
    return Part(name="coverage", title="Coverage by group", texts=(summary.describe_coverage(record),), tables=tables)


def _reproduction(record: AuditRecord) -> Part:
    return Part(
        name="reproduce",
        title="How to reproduce",
        texts=(
            f"{summary.ABOUT_REPRODUCTION} Given this audit's record (audit.json) and the data, this command "
            f"recomputes them and reports whether they agree: {summary.verify_command(record)}",
        ),
        tables=_folded(summary.provenance_table(record)),
    )
