"""A section for the validation of a model: data, rule, results, coverage, intervals, and what was not tested."""

from __future__ import annotations

from likewise.record import AuditRecord
from likewise.report import _evidence as evidence
from likewise.report import _measures as measures
from likewise.report import _summary as summary
from likewise.report._parts import Part
from likewise.report._text import UNKNOWN, measured, tidy


def list_parts(record: AuditRecord) -> list[Part]:
    """Take the parts of the page from a record."""
    calibration = measures.calibration_table(record)
    excess = measures.excess_table(record)
    targets = measures.target_table(record)
    gaps = [one.table for one in measures.gap_slices(record, excess=False) if one.table is not None]
    has_performance = measures.has_performance(record)
    notes = tuple(summary.list_notes(record))
    coverage = summary.describe_coverage(record)
    pair_facts = tuple(fact for fact in summary.list_facts(record) if fact.is_of_pairs)
    return [
        Part(title="Data and scores", facts=summary.data_facts(record)),
        Part(title="Comparability rule and its limits", facts=pair_facts),
        _policy_part(record),
        Part(
            title="Differences between comparable people",
            texts=(measures.ABOUT_GAPS, *([measures.ABOUT_BASELINE] if measures.has_baseline(record) else [])),
            tables=(*gaps, *([excess] if excess else []), *([targets] if targets else [])),
        ),
        Part(
            title="Model performance and calibration" if has_performance else "Spread of the scores",
            texts=(measures.ABOUT_PERFORMANCE if has_performance else measures.ABOUT_SPREAD,),
            tables=(measures.performance_table(record), *([calibration] if calibration else [])),
        ),
        Part(
            title="Coverage",
            texts=(coverage or summary.ABSENT,),
            tables=tuple(evidence.coverage_tables(record)),
        ),
        Part(title="Intervals", texts=(_describe_method(record),)),
        Part(
            title="Notes",
            texts=() if notes else ("The audit has no notes.",),
            items=notes,
            tables=tuple(filter(None, [summary.departure_table(record)])),
        ),
        Part(
            title="What was not tested",
            items=(*_list_untested(record), *summary.list_caveats(record), summary.NO_OPINION),
        ),
        Part(
            title="How to reproduce",
            texts=(
                f"{summary.ABOUT_REPRODUCTION} Given the record and the data, this command recomputes them: "
                f"{summary.verify_command(record)}",
            ),
            tables=(summary.provenance_table(record),),
        ),
    ]


def _policy_part(record: AuditRecord) -> Part:
    verdict, checks = record.verdict, summary.check_table(record)
    if verdict is None:
        return Part(title="Policy and verdict", texts=("No policy was given, so there is no verdict.",))
    return Part(
        title="Policy and verdict",
        texts=(verdict.headline,),
        tables=() if checks is None else (checks,),
        items=tuple(f"{check.full_name}: {check.reason}" for check in summary.open_checks(record)),
    )


def _describe_method(record: AuditRecord) -> str:
    if not record.settings.n_resamples:
        return measures.describe_intervals(record)
    named = f"Method, as the settings name it: {tidy(record.settings.intervals or '')}."
    rates = (
        " Selection rates have Wilson's intervals, impact ratios those of the delta method on their logarithm."
        if any(one.selection_interval for one in record.groups)
        else ""
    )
    return f"{measures.describe_intervals(record)} {named}{rates}"


def _list_untested(record: AuditRecord) -> list[str]:
    """List what this record lacks, then what no record of an audit holds."""
    has_performance = measures.has_performance(record)
    sample = summary.describe_sample(record)
    known = {
        "Model performance and calibration: there are no labels to measure them by.": has_performance,
        "Calibration: it is measured for the probability of one label only.": bool(record.calibration)
        or not has_performance,
        "Different decisions within pairs: there are no decisions.": measured(record.measures, "flip_rate") != UNKNOWN,
        "Selection rates and impact ratios: the record has none.": evidence.has_rates(record),
        f"Differences between groups: {evidence.explain_no_directions(record)}": bool(record.directions),
        "Excess over same-group pairs: there is no baseline.": measures.has_baseline(record),
        "Sampling error: no confidence intervals were requested.": bool(record.settings.n_resamples),
        "Limits: no policy was given.": record.verdict is not None,
        f"All pairs: those measured are {sample}.": not record.pairs.is_sample,
    }
    return [
        *(text for text, is_tested in known.items() if not is_tested),
        "Not part of an audit of comparable people: the design of the model and its rationale, training data and their "
        "quality, implementation and controls, stability over time, use outside the audited people.",
    ]
