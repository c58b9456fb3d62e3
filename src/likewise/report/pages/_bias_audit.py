"""A bias audit in the style of New York City's Local Law 144: rates and ratios by group, and unknown values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from likewise.record import AuditRecord
from likewise.record._internal import GroupRate
from likewise.report import _evidence as evidence
from likewise.report import _summary as summary
from likewise.report._summary import Fact, Part
from likewise.report._text import Cell, Table, count, join, show

MAX_GROUPS: Final = 500  # of one table; a summary by group should be whole
BIAS_RATES: Final = ("selection_rate", "impact_ratio", "mean_score")


def list_parts(record: AuditRecord) -> list[Part]:
    """Take the parts of the page from a record."""
    families: dict[tuple[str, ...], list[GroupRate]] = {}
    for one in record.groups:
        families.setdefault(one.columns, []).append(one)
    sensitive = join(show(name) for name in record.sensitive).shown or "None."
    return [
        Part(
            title="What was assessed",
            facts=(*summary.data_facts(record), Fact("Sensitive columns", sensitive)),
            texts=(_explain_rates(record),),
        ),
        *(_family_part(columns, groups) for columns, groups in families.items()),
        *([] if any(len(columns) > 1 for columns in families) else [_no_intersections(record)]),
        _unknown_part(families),
        Part(
            title="What this page does not show",
            items=(
                "How comparable people are treated. The report on the same record (likewise report) shows it.",
                "Scoring rates (the share of a group above the median score): they are not in the record.",
                "Who made and who reviewed this audit, and when the system was first used.",
                "Confidence intervals, where shown, reflect sampling of people, not errors in the data.",
                summary.NO_OPINION,
            ),
        ),
    ]


def _explain_rates(record: AuditRecord) -> str:
    """Say what the rates are shares of, or why there are none."""
    if evidence.has_rates(record):
        return (
            "The selection rate of a group is the share of its people who are selected. The adverse impact ratio "
            "divides it by the rate of another group, named below. No group is left out for being small."
        )
    if not record.groups:
        return "No group was measured: the record has neither selection rates nor impact ratios."
    if record.task == "multiclass":
        return (
            "With more than two labels no single outcome is a selection, so the record has neither selection rates nor "
            "impact ratios. People are counted by group."
        )
    what = "Predicted numbers" if record.task == "regression" else "Scores"
    return (
        f"{what} without a decision threshold select nobody, so the record has neither selection rates nor impact "
        "ratios. Mean scores are shown instead. To have rates, audit with a threshold."
    )


def _family_part(columns: tuple[str, ...], groups: Sequence[GroupRate]) -> Part:
    names = join((show(name) for name in columns), " and ").shown
    together = (
        (f"Intersections of all {len(columns)} sensitive columns; those of fewer columns are not in the record.",)
        if len(columns) > 2
        else ()
    )
    return Part(
        title=f"By {names}",
        texts=(*together, *_explain_ratio(groups)),
        tables=(evidence.rate_table(groups, f"Groups by {names}", names=BIAS_RATES, most=MAX_GROUPS),),
    )


def _explain_ratio(groups: Sequence[GroupRate]) -> tuple[str, ...]:
    """Say by whose rate the others were divided."""
    if all(one.impact_ratio is None for one in groups):
        nobody = "Nobody is selected, so there are no impact ratios."
        return (nobody,) if any(one.selection_rate is not None for one in groups) else ()
    controls = [one for one in groups if one.is_reference]
    if controls:
        named = join((evidence.name_group(one.columns, one.values) for one in controls), "; ")
        return (
            f"Impact ratios are relative to the reference named for this audit: {named}. Those relative to the most "
            "selected group are not in the record; audit without a reference to have them.",
        )
    most = max(groups, key=lambda one: one.selection_rate or 0.0)
    named = evidence.name_group(most.columns, most.values)
    unknown = (
        " Its people have an unknown value; to have ratios among known groups only, audit the table without them."
        if None in most.values
        else ""
    )
    return (f"Impact ratios are relative to the most selected group: {named}.{unknown}",)


def _no_intersections(record: AuditRecord) -> Part:
    one = "There is one sensitive column, so there are no intersections."
    return Part(title="Intersections", texts=(one if len(record.sensitive) == 1 else summary.ABSENT,))


def _unknown_part(families: Mapping[tuple[str, ...], Sequence[GroupRate]]) -> Part:
    """Count the people whose value is missing: they are groups of the record like others."""
    title = "People with unknown values"
    if not families:
        return Part(title=title, texts=(f"No group was measured. Counts of unknown values: {summary.ABSENT.lower()}",))
    rows: list[tuple[Cell, ...]] = []
    for columns, groups in families.items():
        name = join((show(one) for one in columns), " or ")
        rows.append((name, count(sum(one.n_people for one in groups if None in one.values))))
    told = (
        "People whose value is missing are a group of their own above, “(missing)”, with rates like the others. A text "
        "that stands for an unknown value is a group under its own name, and is not counted here."
    )
    return Part(
        title=title,
        texts=(told,),
        tables=(Table(caption="People with a missing value", head=("Missing in", "People"), rows=tuple(rows)),),
    )
